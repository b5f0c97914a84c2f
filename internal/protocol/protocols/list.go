package protocols

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"brunt/internal/protocol"
)

// List is a list of protocols without two of one name. It is safe for concurrent use. The zero value is empty.
type List struct {
	mu     sync.RWMutex
	all    []protocol.Declaration
	own    int // how many of all, the first, are brunt's
	faults []error
}

// Link adds protocols of brunt, as the function Link does. It doesn't check their declarations.
func (l *List) Link(all ...protocol.Declaration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range all {
		if slices.ContainsFunc(l.all[:l.own], func(have protocol.Declaration) bool { return have.Has(d.Name()) }) {
			continue
		}
		if err := l.taken(&d); err != nil {
			l.faults = append(l.faults, err)
			continue
		}
		l.all = slices.Insert(l.all, l.own, d)
		l.own++
	}
}

// taken returns an error if the list has one of the protocol's names.
func (l *List) taken(d *protocol.Declaration) error {
	for i := range l.all {
		for _, name := range d.Names {
			if have := &l.all[i]; have.Has(name) {
				return fmt.Errorf("protocol %s: protocol %s has the name %s already; choose another name", d.Name(), have.Name(),
					name)
			}
		}
	}
	return nil
}

func (l *List) fault(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, err)
}

// Faults returns what the function Faults does.
func (l *List) Faults() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return errors.Join(l.faults...)
}

// Add adds a protocol. It fails as Register does.
func (l *List) Add(d protocol.Declaration) error {
	if err := d.Check(); err != nil {
		return err
	}
	d.Names = slices.Clone(d.Names)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.taken(&d); err != nil {
		return err
	}
	l.all = append(l.all, d)
	return nil
}

// Find returns the protocol that has a name, as the function Find does.
func (l *List) Find(name string) (protocol.Declaration, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for i := range l.all {
		if l.all[i].Has(name) {
			return l.all[i], nil
		}
	}
	there := strings.Join(l.names(), ", ")
	if there == "" {
		there = "none"
	}
	text := "unknown protocol %q; this program has %s"
	if l.own == 0 {
		text += "; import brunt/protocols for those of brunt"
	}
	return protocol.Declaration{}, fmt.Errorf(text+"; to add your own, register it with brunt.Register in a program that "+
		"calls command.Main, and run the plan with that program (docs/go.md)", name, there)
}

// All returns all protocols in the order in which they were added.
func (l *List) All() []protocol.Declaration {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Clone(l.all)
}

// Names returns the canonical names of all protocols.
func (l *List) Names() []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.names()
}

func (l *List) names() []string {
	var out []string
	for i := range l.all {
		out = append(out, l.all[i].Name())
	}
	return out
}
