package driver

import (
	"context"

	"brunt/internal/gen"
)

// Routed is implemented by protocols whose requests may belong to certain addresses, whichever session
// sends them.
type Routed interface {
	// Router returns what knows where requests belong, or nil if all targets serve every request.
	Router(targets []Target, p *Program) Router
}

// Router says which address of a fleet a request belongs to. All sessions of a fleet share it: its
// methods are safe for concurrent use. Addresses are numbers of targets, from 0.
type Router interface {
	// Refresh asks the servers who serves what. It is called from goroutines, never from a loop: before
	// the first connection, and when something seems to have moved.
	Refresh(ctx context.Context) error
	// Serves reports whether any request belongs to an address; others needn't be connected.
	Serves(address int) bool
	// Route returns the address that a request belongs to; ok is false if it may go to any. It takes
	// no lock and allocates nothing.
	Route(req *Request, args []gen.Value) (address int, ok bool)
	// Redirect reads a failure by which a server names the address to ask instead: for this request
	// only, in the way of wire.Asker, if ask; else it takes note. redirects is how often the operation has
	// been sent on already. ok is false if the failure says nothing of the kind, or names a server that
	// isn't among the targets, or if enough is enough.
	Redirect(f *Failure, redirects int) (address int, ask, ok bool)
}

// Places is a Router for requests that name their addresses: the number of the target that each goes
// to, by Request.ID, or −1 if it may go to any.
type Places []int

var _ Router = Places(nil)

// Refresh does nothing: names don't change.
func (Places) Refresh(context.Context) error { return nil }

// Serves returns true.
func (Places) Serves(int) bool { return true }

// Route returns the target that the request names.
func (p Places) Route(req *Request, _ []gen.Value) (address int, ok bool) {
	return p[req.ID], p[req.ID] >= 0
}

// Redirect knows of no other address.
func (Places) Redirect(*Failure, int) (address int, ask, ok bool) { return 0, true, false }
