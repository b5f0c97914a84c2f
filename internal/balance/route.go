package balance

import (
	"brunt/internal/driver"
	"brunt/internal/gen"
)

// Route is the answer to "which address?" for everything that a fleet does: sessions have one of their
// own by a Policy, requests may belong to another by a Router. It is safe for concurrent use.
type Route struct {
	sessions Policy
	requests driver.Router
}

// NewRoute returns the route of a program's requests over so many targets. A nil policy means in turn.
func NewRoute(policy Policy, d driver.Driver, targets []driver.Target, p *driver.Program) Route {
	r := Route{sessions: policy}
	if policy == nil {
		r.sessions = RoundRobin{Addresses: len(targets)}
	}
	if routed, ok := d.(driver.Routed); ok {
		r.requests = routed.Router(targets, p)
	}
	return r
}

// Home is a session's own address: where it connects to, and where requests go that may go to any.
func (r *Route) Home(session int) int { return r.sessions.Assign(session) }

// Of is the address that a request of a session goes to, whose own one is home.
func (r *Route) Of(home int, req *driver.Request, args []gen.Value) int {
	if r.requests == nil {
		return home
	}
	if address, ok := r.requests.Route(req, args); ok {
		return address
	}
	return home
}

// Router is what knows where requests belong; nil if every address serves all.
func (r *Route) Router() driver.Router { return r.requests }
