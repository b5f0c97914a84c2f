package protocols

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"brunt/internal/protocol"
)

// List is a list of protocols without two of one name. It is safe for concurrent use. The zero value is empty.
type List struct {
	mu  sync.RWMutex
	all []protocol.Declaration
}

// NewList returns a list of declarations that are known to be good, which it doesn't check.
func NewList(all ...protocol.Declaration) *List { return &List{all: all} }

// Add adds a protocol. It fails as Register does.
func (l *List) Add(d protocol.Declaration) error {
	if err := d.Check(); err != nil {
		return err
	}
	d.Names = slices.Clone(d.Names)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.all {
		for _, name := range d.Names {
			if have := &l.all[i]; have.Has(name) {
				return fmt.Errorf("protocol %s: protocol %s has the name %s already; choose another name", d.Name(), have.Name(),
					name)
			}
		}
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
	return protocol.Declaration{}, fmt.Errorf("unknown protocol %q; brunt speaks %s; to use another, build a brunt "+
		"with it (docs/contributing.md, \"Adding a protocol\")", name, strings.Join(l.names(), ", "))
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
