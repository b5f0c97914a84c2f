// Package protocols lists the protocols that this program supports: those of brunt that are linked into it (see package
// all), and those that it has registered.
package protocols

import "brunt/internal/protocol"

// linked are the protocols of this program. It is one list for the whole process, like those of database/sql and of
// k6's modules, because the packages that register a protocol are linked in without being called, and because plans,
// flags, scripts and workers must all know the same names.
var linked = &List{}

// Register adds a protocol to those of this program. It fails if the declaration is incomplete, or if one of its names
// is taken; the error is one line that says what to change. It is safe for concurrent use.
func Register(d protocol.Declaration) error { return linked.Add(d) }

// Link adds protocols of brunt to those of this program, in front of registered ones. Those that are linked already are
// left out. It is called when the program starts. If a name is taken, Faults has the error.
func Link(all ...protocol.Declaration) { linked.Link(all...) }

// Fault makes Faults return an error about the protocols of this program.
func Fault(err error) { linked.fault(err) }

// Faults returns what is wrong with the protocols that packages linked or registered when the program started, nil if
// nothing is. Such a package can't return an error to anybody.
func Faults() error { return linked.Faults() }

// Find returns the protocol that has a name, which may be an alias. For an unknown name it returns the zero value, and
// an error that lists the known names and says how to link others.
func Find(name string) (protocol.Declaration, error) { return linked.Find(name) }

// Of returns what Find does, and the zero value for an unknown name.
func Of(name string) protocol.Declaration {
	d, _ := linked.Find(name)
	return d
}

// Has reports whether the program has a protocol.
func Has(name string) bool {
	_, err := linked.Find(name)
	return err == nil
}

// All returns the protocols, brunt's own first, then the registered ones in the order of registration.
func All() []protocol.Declaration { return linked.All() }

// Names returns the canonical names of the protocols, in the order of All.
func Names() []string { return linked.Names() }
