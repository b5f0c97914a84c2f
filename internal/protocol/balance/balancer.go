package balance

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// Options are the options of a Balancer.
type Options struct {
	Mode      string            // one of Modes; "" means round-robin
	Weights   []int             // weighted, random, hash: one per address; nil: equal. Nodes that join have weight 1
	Seed      uint64            // for random choices
	Bound     float64           // hash: see Balancer.hash; 0 means 1.25
	Window    time.Duration     // nearest: how much longer connecting may take than to the fastest node; 0 means 1 ms
	Zone      string            // nearest: the generator's zone; "": compare nodes by connect time
	Zones     map[string]string // nearest: zones by address; for other addresses, the node's own zone
	SlowStart time.Duration     // weighted: time over which a returned node's share grows; 0: none
	Now       func() int64      // nanoseconds of a monotonic clock; required for SlowStart
}

// Modes returns the modes of a Balancer.
func Modes() []string {
	return []string{"round-robin", "random", "weighted", "bucket", "least-outstanding", "two-choices", "hash", "nearest"}
}

type mode uint8

const (
	roundRobin mode = iota
	randomly
	weighted
	bucketed
	leastOutstanding // this and the following modes count requests in flight
	twoChoices
	hashed
	nearest
)

// Set is a set of nodes by their numbers.
type Set []uint64

// NewSet returns an empty set with room for the given number of nodes.
func NewSet(nodes int) Set { return make(Set, (nodes+63)/64) }

// Add adds a node to the set.
func (s Set) Add(number int) { s[number/64] |= 1 << (number % 64) }

// Remove removes a node from the set.
func (s Set) Remove(number int) { s[number/64] &^= 1 << (number % 64) }

// Has reports whether a node is in the set.
func (s Set) Has(number int) bool { return s[number/64]&(1<<(number%64)) != 0 }

// Balancer chooses a node for each request or session. Pick, Begin and End take no lock and allocate nothing.
// All methods are safe for concurrent use.
type Balancer struct {
	o     Options
	mode  mode
	nodes *protocol.Nodes
	draws gen.Stream

	turn        atomic.Uint64 // number of choices made
	outstanding []load        // by node
	total       atomic.Int64  // sum of outstanding
	connectNs   []atomic.Int64
	returnedAt  []atomic.Int64 // slow start: when the node returned; 0: it has its full share
	missed      []atomic.Int64 // slow start: turns in a row in which the node wasn't connected

	owner atomic.Pointer[[]int32] // mode bucket, see SetBuckets

	mu   sync.Mutex // serializes the creation of views
	view atomic.Pointer[view]
}

// load is the number of requests in flight at one node, padded to a cache line of its own.
type load struct {
	atomic.Int64
	_ [56]byte
}

// view is the state that is constant between changes of the nodes: the choices by role.
type view struct {
	of [protocol.Replica + 1]choice
}

// choice holds the nodes that may be chosen for one role.
type choice struct {
	nodes []int     // in ascending order
	cycle []int     // weighted: one cycle of turns
	upTo  []uint64  // random: cumulative sums of weights
	ring  []point   // hash: points in ascending order
	share []float64 // hash: each node's share of the weights, by node
	near  []int     // nearest: the preferred nodes
}

// point is a position on the hash ring and the node that it belongs to.
type point struct {
	at   uint64
	node int
}

// NewBalancer returns a Balancer over nodes. An error is one line that says what to change.
func NewBalancer(o Options, nodes *protocol.Nodes) (*Balancer, error) {
	if o.Mode == "" {
		o.Mode = Modes()[roundRobin]
	}
	at := slices.Index(Modes(), o.Mode)
	if at < 0 {
		return nil, fmt.Errorf("balance: unknown mode %q: use one of %q", o.Mode, Modes())
	}
	if o.Bound == 0 {
		o.Bound = 1.25
	}
	if o.Bound <= 1 {
		return nil, fmt.Errorf("balance: bound is %g: use a number above 1", o.Bound)
	}
	if o.SlowStart > 0 && o.Now == nil {
		return nil, errors.New("balance: slow start needs a clock")
	}
	if o.Window <= 0 {
		o.Window = time.Millisecond
	}
	if err := checkWeights(o.Weights); err != nil {
		return nil, err
	}
	if o.Mode == "weighted" && len(o.Weights) > 0 {
		if _, err := cycleOf(o.Weights); err != nil {
			return nil, err
		}
	}
	b := &Balancer{
		o: o, mode: mode(at), nodes: nodes, draws: gen.NewStream(o.Seed, "balance"),
		outstanding: make([]load, nodes.Cap()), connectNs: make([]atomic.Int64, nodes.Cap()),
		returnedAt: make([]atomic.Int64, nodes.Cap()), missed: make([]atomic.Int64, nodes.Cap()),
	}
	b.look()
	nodes.OnChange(func(changes []protocol.Change) {
		for _, c := range changes {
			if c.What == protocol.Joined {
				b.Returned(c.Number)
			}
		}
		b.look()
	})
	return b, nil
}

// weight returns the weight of a node.
func (b *Balancer) weight(node int) int {
	if node < len(b.o.Weights) {
		return b.o.Weights[node]
	}
	return 1
}

// look creates the view of the current nodes.
func (b *Balancer) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := &view{}
	for role := range v.of {
		v.of[role] = b.choiceOf(protocol.Role(role))
	}
	b.view.Store(v)
}

func (b *Balancer) choiceOf(role protocol.Role) (c choice) {
	var weights []int
	for i := range b.nodes.Cap() {
		if b.nodes.Active(i) && (role == protocol.AnyRole || b.nodes.Role(i) == role) {
			c.nodes, weights = append(c.nodes, i), append(weights, b.weight(i))
		}
	}
	if len(c.nodes) == 0 {
		return c
	}
	switch b.mode {
	case weighted:
		turns, err := cycleOf(weights)
		if err != nil { // nodes that joined make the cycle too long: use equal shares
			turns = c.nodes
		}
		for _, turn := range turns {
			c.cycle = append(c.cycle, c.nodes[turn])
		}
	case randomly:
		sum := uint64(0)
		for _, w := range weights {
			sum += uint64(w)
			c.upTo = append(c.upTo, sum)
		}
	case hashed:
		c.ring, c.share = b.ringOf(c.nodes, weights)
	case nearest:
		c.near = b.nearOf(c.nodes)
	}
	return c
}

// Connected records the time in ns that connecting to a node took, for mode nearest. It keeps a moving average
// in which the new value has weight ¼.
func (b *Balancer) Connected(node int, ns int64) {
	if b.mode != nearest || b.o.Zone != "" {
		return
	}
	to := &b.connectNs[node]
	if before := to.Load(); before > 0 {
		ns = (3*before + ns) / 4
	}
	to.Store(max(ns, 1))
	b.look()
}

// Returned begins the slow start of a node that has returned.
func (b *Balancer) Returned(node int) {
	if b.o.SlowStart > 0 {
		b.returnedAt[node].Store(max(b.o.Now(), 1))
	}
}

// nearOf returns the nodes in the generator's zone or, without a zone, those to which connecting takes at most
// Window longer than to the fastest. MongoDB's drivers choose servers in the same way (localThresholdMS).
func (b *Balancer) nearOf(nodes []int) (near []int) {
	if b.o.Zone != "" {
		for _, i := range nodes {
			if b.zone(i) == b.o.Zone {
				near = append(near, i)
			}
		}
		return near
	}
	least := int64(math.MaxInt64)
	for _, i := range nodes {
		if ns := b.connectNs[i].Load(); ns > 0 {
			least = min(least, ns)
		}
	}
	for _, i := range nodes {
		if ns := b.connectNs[i].Load(); ns > 0 && ns-least <= int64(b.o.Window) {
			near = append(near, i)
		}
	}
	return near
}

func (b *Balancer) zone(node int) string {
	if z := b.o.Zones[b.nodes.At(node).Address]; z != "" {
		return z
	}
	return b.nodes.Zone(node)
}

// Begin records that a node has one more request or session in flight.
func (b *Balancer) Begin(node int) {
	if b.mode >= leastOutstanding {
		b.outstanding[node].Add(1)
		b.total.Add(1)
	}
}

// End records that one has ended.
func (b *Balancer) End(node int) {
	if b.mode >= leastOutstanding {
		b.outstanding[node].Add(-1)
		b.total.Add(-1)
	}
}

// Hashes reports whether Pick uses its key.
func (b *Balancer) Hashes() bool { return b.mode == hashed || b.mode == bucketed }

// Buckets reports whether Pick's keys are bucket numbers.
func (b *Balancer) Buckets() bool { return b.mode == bucketed }

// SetBuckets sets the owner of each bucket. owner is indexed by bucket number; bucket 0 doesn't exist. An
// element is the node's number plus 1, or 0 if the owner is unknown. SetBuckets is called before the first Pick,
// and again when buckets have moved. owner must not change afterwards.
func (b *Balancer) SetBuckets(owner []int32) { b.owner.Store(&owner) }

// Placed reports whether the owner of a bucket is known, and whether it is the given node, which Pick chose.
func (b *Balancer) Placed(bucket uint64, node int) (known, right bool) {
	at, known := b.ownerOf(bucket)
	return known, at == node
}

func (b *Balancer) ownerOf(bucket uint64) (node int, known bool) {
	owner := b.owner.Load()
	if owner == nil || bucket >= uint64(len(*owner)) {
		return 0, false
	}
	node = int((*owner)[bucket]) - 1
	return node, node >= 0
}

// Serves reports whether a node may currently be chosen for a role.
func (b *Balancer) Serves(node int, role protocol.Role) bool {
	return slices.Contains(b.view.Load().of[role].nodes, node)
}

// Pick chooses a node with the given role among those in up; ok is false if there is none. key is the key for
// modes hash and bucket.
func (b *Balancer) Pick(role protocol.Role, key uint64, up Set) (node int, ok bool) {
	c := &b.view.Load().of[role]
	if len(c.nodes) == 0 {
		return 0, false
	}
	switch b.mode {
	case randomly:
		r := b.draws.Uint64n(b.turn.Add(1), c.upTo[len(c.upTo)-1]) + 1
		at, _ := slices.BinarySearch(c.upTo, r)
		return after(c.nodes, at, up)
	case weighted:
		return b.weighted(c, up)
	case leastOutstanding:
		return b.least(c.nodes, up)
	case twoChoices:
		return b.two(c.nodes, up)
	case bucketed:
		if node, ok = b.ownerOf(key); ok && up.Has(node) {
			return node, true
		}
	case hashed:
		return b.hash(c, key, up)
	case nearest:
		if node, ok = after(c.near, b.next(len(c.near)), up); ok {
			return node, true
		}
	}
	return after(c.nodes, b.next(len(c.nodes)), up)
}

// next returns the next index of a rotation through the given number of elements.
func (b *Balancer) next(of int) int {
	if of == 0 {
		return 0
	}
	return int((b.turn.Add(1) - 1) % uint64(of))
}

// after returns the first node in up at or after index at, wrapping around.
func after(nodes []int, at int, up Set) (node int, ok bool) {
	for i := range nodes {
		k := at + i
		if k >= len(nodes) {
			k -= len(nodes)
		}
		if node = nodes[k]; up.Has(node) {
			return node, true
		}
	}
	return 0, false
}

// weighted returns the next node of the cycle. A node in slow start skips turns with a probability equal to the
// part of its start time that is left.
func (b *Balancer) weighted(c *choice, up Set) (node int, ok bool) {
	turn := b.turn.Add(1) - 1
	at := int(turn % uint64(len(c.cycle)))
	for i := range c.cycle {
		k := (at + i) % len(c.cycle)
		if node = c.cycle[k]; b.o.SlowStart > 0 {
			b.meet(node, up.Has(node))
		}
		if up.Has(node) && (b.o.SlowStart == 0 || b.started(node, turn+uint64(i))) {
			return node, true
		}
	}
	return after(c.nodes, 0, up)
}

// awayTurns is the number of turns in a row in which a node must not have been connected to count as lost. A single
// session that connects again doesn't make a node lost that others use in the meantime.
const awayTurns = 16

// meet notes whether a node was connected when it had a turn. A node that was lost and is connected again has returned:
// no topology reports that of a server that was restarted.
func (b *Balancer) meet(node int, connected bool) {
	switch {
	case !connected:
		b.missed[node].Add(1)
	case b.missed[node].Load() > 0 && b.missed[node].Swap(0) >= awayTurns:
		b.Returned(node)
	}
}

// started reports whether a node, which may be in slow start, takes its turn.
func (b *Balancer) started(node int, turn uint64) bool {
	since := b.returnedAt[node].Load()
	if since == 0 {
		return true
	}
	passed := b.o.Now() - since
	if passed >= int64(b.o.SlowStart) {
		b.returnedAt[node].CompareAndSwap(since, 0)
		return true
	}
	return b.draws.Float64(turn) < float64(passed)/float64(b.o.SlowStart)
}

// least returns the node with the fewest requests in flight. Ties are broken by rotation.
func (b *Balancer) least(nodes []int, up Set) (node int, ok bool) {
	at, fewest := b.next(len(nodes)), int64(math.MaxInt64)
	for i := range nodes {
		k := at + i
		if k >= len(nodes) {
			k -= len(nodes)
		}
		if n := b.outstanding[nodes[k]].Load(); n < fewest && up.Has(nodes[k]) {
			node, fewest, ok = nodes[k], n, true
		}
	}
	return node, ok
}

// two returns the node with fewer requests in flight of two different nodes chosen at random (Mitzenmacher
// 2001).
func (b *Balancer) two(nodes []int, up Set) (node int, ok bool) {
	n := uint64(len(nodes))
	r := b.draws.Uint64(b.turn.Add(1))
	i := (r >> 32) % n
	j := i
	if n > 1 {
		j = (i + 1 + (r&math.MaxUint32)%(n-1)) % n
	}
	first, second := nodes[i], nodes[j]
	switch {
	case !up.Has(first) && !up.Has(second):
		return b.least(nodes, up)
	case !up.Has(first), up.Has(second) && b.outstanding[second].Load() < b.outstanding[first].Load():
		return second, true
	}
	return first, true
}
