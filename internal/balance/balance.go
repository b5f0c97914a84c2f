// Package balance says which address gets the next session, by pure functions of the session's number (Policy), and
// which gets the next request, as things are (Balancer). It knows no protocol.
package balance

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"brunt/internal/gen"
	"brunt/internal/protocol"
)

// Policy spreads sessions over addresses: it returns the address, from 0, that session number session ≥ 0
// belongs to.
type Policy func(session int) (address int)

// RoundRobin gives each of so many addresses a session in turn.
func RoundRobin(addresses int) Policy { return func(session int) int { return session % addresses } }

// Names are the policies that New knows. The other modes of a Balancer depend on more than a session's number: see
// NewHomes.
func Names() []string { return []string{"round-robin", "weighted", "random"} }

// IsPolicy reports whether New knows a policy.
func IsPolicy(name string) bool { return slices.Contains(Names(), name) }

// maxCycle bounds the sum of weights, divided by their greatest common divisor, of "weighted".
const maxCycle = 100_000

// New returns the policy called name ("" means round-robin) over so many addresses. Weights are
// one positive number an address, or none for equal ones; round-robin takes none. The seed is of
// "random" alone. An error is one line that says what to change.
func New(name string, addresses int, weights []int, seed uint64) (Policy, error) {
	if addresses < 1 {
		return nil, errors.New("balance: there is no address: name at least one")
	}
	if len(weights) != 0 && len(weights) != addresses {
		return nil, fmt.Errorf("balance: %d weights for %d addresses: give one each, or none", len(weights), addresses)
	}
	if err := checkWeights(weights); err != nil {
		return nil, err
	}
	switch name {
	case "", "round-robin":
		if len(weights) != 0 {
			return nil, errors.New(`balance: round-robin takes no weights: use "weighted"`)
		}
		return RoundRobin(addresses), nil
	case "weighted":
		if len(weights) == 0 {
			return RoundRobin(addresses), nil
		}
		cycle, err := cycleOf(weights)
		if err != nil {
			return nil, err
		}
		return func(session int) int { return cycle[session%len(cycle)] }, nil
	case "random":
		return random(addresses, weights, seed), nil
	}
	return nil, fmt.Errorf("balance: unknown policy %q: use one of %q", name, Names())
}

func checkWeights(weights []int) error {
	for i, w := range weights {
		if w < 1 || w > math.MaxInt32 {
			return fmt.Errorf("balance: weight %d of address %d is not between 1 and %d", w, i+1, math.MaxInt32)
		}
	}
	return nil
}

// cycleOf lays out one cycle of turns by weights, of which there is at least one.
func cycleOf(weights []int) ([]int, error) {
	sum, divisor := 0, 0
	for _, w := range weights {
		sum += w
		divisor = gcd(divisor, w)
	}
	if sum/divisor > maxCycle {
		return nil, fmt.Errorf("balance: weights add up to %d, at most %d is possible: use smaller ones", sum/divisor,
			maxCycle)
	}
	return smooth(weights, sum, divisor), nil
}

// random draws an address for each session independently, in proportion to its weight.
func random(addresses int, weights []int, seed uint64) Policy {
	upTo, sum := make([]uint64, addresses), uint64(0) // sums of weights
	for i := range upTo {
		if len(weights) == 0 {
			sum++
		} else {
			sum += uint64(weights[i])
		}
		upTo[i] = sum
	}
	stream := gen.NewStream(seed, "balance")
	return func(session int) int {
		r := stream.At(uint64(session))
		at, _ := slices.BinarySearch(upTo, r.Uint64n(sum)+1)
		return at
	}
}

// smooth lays out one cycle of sessions in which each address has its weight's share, as evenly spread as
// possible (nginx's smooth weighted round robin): at each turn every address gains its weight, the richest is taken
// and pays the sum.
func smooth(weights []int, sum, divisor int) []int {
	cycle := make([]int, sum/divisor)
	credit := make([]int, len(weights))
	for turn := range cycle {
		best := 0
		for i, w := range weights {
			credit[i] += w
			if credit[i] > credit[best] {
				best = i
			}
		}
		credit[best] -= sum
		cycle[turn] = best
	}
	return cycle
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Route is the answer to "which address?" for everything that a fleet does: sessions have one of their own by a
// Policy, requests may belong to another by a Router, and those that may go to any are spread by a Balancer. It is
// safe for concurrent use.
type Route struct {
	homes    *Homes
	requests protocol.Router
	spread   *Balancer
	driven   bool // requests is the driver's
}

// NewRoute returns the route of a program's requests over nodes. homes are the sessions' own addresses; spread chooses
// for each request that may go to several nodes, nil that sessions send them to their own address.
func NewRoute(homes *Homes, spread *Balancer, d protocol.Driver, nodes *protocol.Nodes, p *protocol.Program) Route {
	r := Route{homes: homes, spread: spread}
	if routed, ok := d.(protocol.Routed); ok {
		r.requests = routed.Router(nodes, p)
	}
	r.driven = r.requests != nil
	if r.requests == nil && spread != nil {
		anywhere := make(protocol.Places, len(p.Requests))
		for i := range anywhere {
			anywhere[i] = -1
		}
		r.requests = anywhere
	}
	return r
}

// Driven reports whether the protocol itself knows where requests belong.
func (r *Route) Driven() bool { return r.driven }

// Balancer is what chooses for each request; nil if nothing does.
func (r *Route) Balancer() *Balancer { return r.spread }

// Home is a session's own address: where it connects to, and where requests go that may go to any.
func (r *Route) Home(session int) int { return r.homes.Of(session) }

// Move gives sessions other addresses after changes of the nodes; see Homes.Move.
func (r *Route) Move(changes []protocol.Change) { r.homes.Move(changes) }

// Of is the address that a request of a session goes to, whose own one is home.
func (r *Route) Of(home int, req *protocol.Request, args []gen.Value) int {
	if r.requests == nil {
		return home
	}
	if address, ok := r.requests.Route(req, args); ok {
		return address
	}
	return home
}

// Router is what knows where requests belong; nil if every address serves all.
func (r *Route) Router() protocol.Router { return r.requests }
