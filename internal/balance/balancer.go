package balance

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/gen"
	"brunt/internal/protocol"
)

// Options say how a Balancer chooses.
type Options struct {
	Mode      string            // one of Modes; "" means round-robin
	Weights   []int             // weighted, random, hash: one an address; nil: equal ones. Nodes that join have 1
	Seed      uint64            // of random choices
	Bound     float64           // hash: see Balancer.hash; 0 means 1.25
	Window    time.Duration     // nearest: how much longer than the fastest node may take to connect; 0 means 1 ms
	Zone      string            // nearest: where the generator is; "": nodes are compared by connect time
	Zones     map[string]string // nearest: the zones of addresses; a node's own counts if it isn't in it
	SlowStart time.Duration     // weighted: how long the share of a node that returned grows; 0: not
	Now       func() int64      // nanoseconds on a clock that doesn't step; needed for SlowStart
}

// Modes are the ways to choose.
func Modes() []string {
	return []string{"round-robin", "random", "weighted", "bucket", "least-outstanding", "two-choices", "hash", "nearest"}
}

type mode uint8

const (
	roundRobin mode = iota
	randomly
	weighted
	bucketed
	leastOutstanding // from here on, requests under way are counted
	twoChoices
	hashed
	nearest
)

// Set is a set of nodes by their numbers.
type Set []uint64

// NewSet returns an empty set with room for so many nodes.
func NewSet(nodes int) Set { return make(Set, (nodes+63)/64) }

// Add puts a node into the set.
func (s Set) Add(number int) { s[number/64] |= 1 << (number % 64) }

// Remove takes a node out of it.
func (s Set) Remove(number int) { s[number/64] &^= 1 << (number % 64) }

// Has reports whether a node is in it.
func (s Set) Has(number int) bool { return s[number/64]&(1<<(number%64)) != 0 }

// Balancer chooses a node for each request, or for each session. Pick, Begin and End take no lock and allocate nothing;
// all methods are safe for concurrent use.
type Balancer struct {
	o     Options
	mode  mode
	nodes *protocol.Nodes
	draws gen.Stream

	turn        atomic.Uint64 // of choices
	outstanding []load        // by node
	total       atomic.Int64  // of outstanding
	connectNs   []atomic.Int64
	returnedAt  []atomic.Int64 // slow start: when the node came back; 0: it has its whole share

	owner atomic.Pointer[[]int32] // bucket: see SetBuckets

	mu   sync.Mutex // guards making of views
	view atomic.Pointer[view]
}

// load keeps what one node has under way off the cache lines of others.
type load struct {
	atomic.Int64
	_ [56]byte
}

// view is what doesn't change between two changes of the nodes: by role, which may be chosen.
type view struct {
	of [protocol.Replica + 1]choice
}

// choice is the nodes that may be chosen for one role.
type choice struct {
	nodes []int     // in order
	cycle []int     // weighted: a cycle of turns
	upTo  []uint64  // random: sums of weights
	ring  []point   // hash: by place
	share []float64 // hash: by node, its share of the weights
	near  []int     // nearest: those that are chosen among first
}

// point is a place on the ring and whose it is.
type point struct {
	at   uint64
	node int
}

// NewBalancer returns a balancer over nodes. An error is one line that says what to change.
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
		returnedAt: make([]atomic.Int64, nodes.Cap()),
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

// weight is that of a node.
func (b *Balancer) weight(node int) int {
	if node < len(b.o.Weights) {
		return b.o.Weights[node]
	}
	return 1
}

// look makes the view of the nodes as they are now.
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
		if err != nil { // those that joined make the cycle too long: their share is that of equals
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

// Connected notes how long it took to connect to a node, by which nearest goes: a moving average over four.
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

// Returned begins the slow start of a node that came back.
func (b *Balancer) Returned(node int) {
	if b.o.SlowStart > 0 {
		b.returnedAt[node].Store(max(b.o.Now(), 1))
	}
}

// nearOf is the nodes of the generator's zone, or those that take at most the window longer to connect to than the
// fastest: as MongoDB's drivers choose servers (localThresholdMS).
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

// Begin notes that a node has something more under way.
func (b *Balancer) Begin(node int) {
	if b.mode >= leastOutstanding {
		b.outstanding[node].Add(1)
		b.total.Add(1)
	}
}

// End notes that it is over.
func (b *Balancer) End(node int) {
	if b.mode >= leastOutstanding {
		b.outstanding[node].Add(-1)
		b.total.Add(-1)
	}
}

// Hashes reports whether Pick goes by its key.
func (b *Balancer) Hashes() bool { return b.mode == hashed || b.mode == bucketed }

// Buckets reports whether keys are buckets.
func (b *Balancer) Buckets() bool { return b.mode == bucketed }

// SetBuckets says which node has each bucket, by its number from 1; 0 means that nobody knows. Bucket 0 doesn't exist.
// It is called before the first Pick, and then when buckets have moved; owner must not change any more.
func (b *Balancer) SetBuckets(owner []int32) { b.owner.Store(&owner) }

// Placed reports whether the node of a bucket is known, and if so whether it is the one that Pick chose.
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

// Serves reports whether a node may ever be chosen for a role as things are.
func (b *Balancer) Serves(node int, role protocol.Role) bool {
	return slices.Contains(b.view.Load().of[role].nodes, node)
}

// Pick chooses a node of a role among those in up; ok is false if there is none. key is what hash goes by.
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

// next is whose turn it is of so many.
func (b *Balancer) next(of int) int {
	if of == 0 {
		return 0
	}
	return int((b.turn.Add(1) - 1) % uint64(of))
}

// after returns the first node from a place on, and around, that is up.
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

// weighted takes the next of the cycle. A node that starts slowly passes its turn on with the share of its time that is
// left.
func (b *Balancer) weighted(c *choice, up Set) (node int, ok bool) {
	turn := b.turn.Add(1) - 1
	at := int(turn % uint64(len(c.cycle)))
	for i := range c.cycle {
		k := (at + i) % len(c.cycle)
		if node = c.cycle[k]; up.Has(node) && (b.o.SlowStart == 0 || b.started(node, turn+uint64(i))) {
			return node, true
		}
	}
	return after(c.nodes, 0, up)
}

// started reports whether a node that may be starting slowly takes its turn.
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

// least is the node with the least under way, of equals the first from the one whose turn it is.
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

// two is the node with less under way of two different ones drawn at random (Mitzenmacher 2001).
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
