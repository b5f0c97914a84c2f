// Package balance chooses the address of the next session, by pure functions of the session's number (Policy),
// and the address of the next request, by the current state of the nodes (Balancer). It is independent of
// protocols.
package balance

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Policy distributes sessions over addresses: it returns the address, from 0, for session number session ≥ 0.
type Policy func(session int) (address int)

// RoundRobin assigns sessions to the given number of addresses in rotation.
func RoundRobin(addresses int) Policy { return func(session int) int { return session % addresses } }

// Names returns the policies that New supports. The other modes of a Balancer depend on more than a session's
// number: see NewHomes.
func Names() []string { return []string{"round-robin", "weighted", "random"} }

// IsPolicy reports whether New supports a policy.
func IsPolicy(name string) bool { return slices.Contains(Names(), name) }

// maxCycle is the maximum length of a cycle of "weighted": the sum of the weights divided by their greatest
// common divisor.
const maxCycle = 100_000

// New returns the policy called name ("" means round-robin) over the given number of addresses. weights holds
// one positive number per address, or is empty for equal weights; round-robin accepts no weights. seed is used
// by "random" only. An error is one line that says what to change.
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

// cycleOf returns one cycle of turns by weights. There must be at least one weight.
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

// random chooses an address for each session independently, in proportion to the addresses' weights.
func random(addresses int, weights []int, seed uint64) Policy {
	upTo, sum := make([]uint64, addresses), uint64(0) // cumulative sums of weights
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

// smooth returns one cycle of turns in which each address has its share by weight, spread as evenly as possible
// (nginx's smooth weighted round robin): at each turn, every address is credited with its weight, and the
// address with the highest credit is chosen and debited with the sum of the weights.
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

// Route chooses the address for everything that a fleet does. Each session has a home address, by a Policy or a
// Balancer. A Router may assign a request to another address. Requests that may go to any address are
// distributed by a Balancer, if there is one. Route is safe for concurrent use.
type Route struct {
	homes    *Homes
	requests protocol.Router
	spread   *Balancer
	driven   bool // requests is the driver's router
}

// NewRoute returns the route of a program's requests over nodes. homes holds the home addresses of sessions.
// spread chooses the node of each request that may go to several; nil means that sessions send these to their
// home address.
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

// Driven reports whether the protocol itself determines the addresses of requests.
func (r *Route) Driven() bool { return r.driven }

// Balancer returns the Balancer that chooses for each request, or nil.
func (r *Route) Balancer() *Balancer { return r.spread }

// Home returns a session's home address: the address that it connects to, and that receives its requests that
// may go to any.
func (r *Route) Home(session int) int { return r.homes.Of(session) }

// Move gives sessions other home addresses after changes of the nodes; see Homes.Move.
func (r *Route) Move(changes []protocol.Change) { r.homes.Move(changes) }

// Of returns the address for a request of a session whose home address is home.
func (r *Route) Of(home int, req *protocol.Request, args []gen.Value) int {
	if r.requests == nil {
		return home
	}
	if address, ok := r.requests.Route(req, args); ok {
		return address
	}
	return home
}

// Router returns the Router of requests, or nil if every address serves all requests.
func (r *Route) Router() protocol.Router { return r.requests }
