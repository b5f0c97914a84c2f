package protocol

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Role is what a node does in its cluster.
type Role uint8

// The roles. AnyRole of a node means that nobody knows, of a request that every node may serve it.
const (
	AnyRole Role = iota
	Primary
	Replica
)

// String is the role's word in plans: "any", "primary" or "replica".
func (r Role) String() string { return [...]string{"any", "primary", "replica"}[min(r, Replica)] }

// Node is a member of a cluster, as it is found.
type Node struct {
	Address string // host:port
	Role    Role
	Zone    string // "" if it has none
}

// Change is what became of a node.
type Change struct {
	Number  int // of the node, see Nodes
	Address string
	What    ChangeKind
	Role    Role // after it
}

// ChangeKind says what became of a node.
type ChangeKind uint8

// The kinds of changes.
const (
	Joined ChangeKind = iota
	Left
	RoleChanged
)

// Nodes are the addresses of a run, which may change while it goes on: nodes join, leave and change their roles. A
// node keeps its number, from 0 in the order in which nodes came; one that returns has the one that it had. Its
// methods are safe for concurrent use; those that only read take no lock.
type Nodes struct {
	targets []Target // at full length; those below known never change
	known   atomic.Int32
	members []member

	mu        sync.Mutex // guards changes
	onJoin    []func(number int, t Target)
	onChange  []func(changes []Change)
	abandoned int // nodes that there was no room for
}

type member struct {
	active atomic.Bool
	role   atomic.Uint32
	zone   atomic.Pointer[string]
}

// NewNodes returns the nodes of targets, all of which are members, with room for so many that join.
func NewNodes(targets []Target, room int) *Nodes {
	n := &Nodes{targets: make([]Target, len(targets)+room), members: make([]member, len(targets)+room)}
	copy(n.targets, targets)
	n.known.Store(int32(len(targets)))
	for i := range targets {
		n.members[i].active.Store(true)
	}
	return n
}

// Len is how many nodes have been known so far. Their numbers are less.
func (n *Nodes) Len() int { return int(n.known.Load()) }

// Cap is how many nodes there can be at most.
func (n *Nodes) Cap() int { return len(n.targets) }

// At returns the target of a node.
func (n *Nodes) At(number int) Target { return n.targets[number] }

// All returns the targets of all nodes that have been known so far. It must not be changed.
func (n *Nodes) All() []Target { return n.targets[:n.Len()] }

// Active reports whether a node is a member now.
func (n *Nodes) Active(number int) bool {
	return number >= 0 && number < len(n.members) && n.members[number].active.Load()
}

// Role is what a node does.
func (n *Nodes) Role(number int) Role { return Role(n.members[number].role.Load()) }

// Zone is where a node is; "" if nobody knows.
func (n *Nodes) Zone(number int) string {
	if z := n.members[number].zone.Load(); z != nil {
		return *z
	}
	return ""
}

// OnJoin has f called with each node that has never been known before, before anybody else can see it.
func (n *Nodes) OnJoin(f func(number int, t Target)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.onJoin = append(n.onJoin, f)
}

// OnChange has f called after changes, by the goroutine that brought them. It must be quick.
func (n *Nodes) OnChange(f func([]Change)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.onChange = append(n.onChange, f)
}

// Update takes over who the members are, and returns what has changed. Those that aren't named have left if all is
// true. Nodes that join have like's credentials and options. What there is no room for is left out, see Abandoned.
func (n *Nodes) Update(now []Node, all bool, like Target) (changes []Change) {
	n.mu.Lock()
	defer n.mu.Unlock()
	seen := make([]bool, len(n.members))
	for _, m := range now {
		number := slices.IndexFunc(n.All(), func(t Target) bool { return t.Address == m.Address })
		fresh := number < 0
		if fresh {
			if number = n.admit(m.Address, like); number < 0 {
				continue
			}
		}
		seen[number] = true
		changes = n.note(changes, number, m)
	}
	for i := range n.Len() {
		if all && !seen[i] && n.members[i].active.Swap(false) {
			changes = append(changes, Change{Number: i, Address: n.targets[i].Address, What: Left, Role: n.Role(i)})
		}
	}
	if len(changes) > 0 {
		for _, f := range n.onChange {
			f(changes)
		}
	}
	return changes
}

// admit gives a node that was never known a number; −1 if there is no room.
func (n *Nodes) admit(address string, like Target) int {
	number := n.Len()
	if number == n.Cap() {
		n.abandoned++
		return -1
	}
	like.Address = address
	n.targets[number] = like
	for _, f := range n.onJoin {
		f(number, like)
	}
	n.known.Store(int32(number + 1))
	return number
}

// note takes over what is said of one node.
func (n *Nodes) note(changes []Change, number int, m Node) []Change {
	to := &n.members[number]
	if m.Zone != "" {
		to.zone.Store(&m.Zone)
	}
	before := AnyRole
	if m.Role != AnyRole {
		before = Role(to.role.Swap(uint32(m.Role)))
	}
	change := Change{Number: number, Address: n.targets[number].Address, Role: n.Role(number)}
	switch {
	case !to.active.Swap(true):
		change.What = Joined
	case m.Role != AnyRole && m.Role != before:
		change.What = RoleChanged
	default:
		return changes
	}
	return append(changes, change)
}

// Abandoned is how often a node that joined was left out because there was no room for it.
func (n *Nodes) Abandoned() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.abandoned
}

// RoleTeller is implemented by drivers that can ask a server for its role.
type RoleTeller interface {
	// Role asks the server at a target's address. An error is an *Error.
	Role(ctx context.Context, t Target) (Role, error)
}

// BucketRange is buckets of a sharded cluster that a node has, both ends among them. Buckets are numbered from 1.
type BucketRange struct {
	From, To uint64
	Address  string // of the node; "" means the one that was asked
}

// BucketTeller is implemented by drivers whose servers run a program that tells which node has which buckets.
type BucketTeller interface {
	// Buckets runs a program on the server at a target's address and returns the ranges that it returns; "" is one for
	// the buckets that a storage of vshard has itself. An error is an *Error.
	Buckets(ctx context.Context, t Target, program string) ([]BucketRange, error)
}

// Discoverer is implemented by drivers whose servers know the nodes of their cluster.
type Discoverer interface {
	// Discovers reports whether Discover is the way that a plan's topology names by a word, such as "members".
	Discovers(source string) bool
	// Discover asks the server at a target's address for the nodes. name is that of the cluster, where servers know
	// several. An error is an *Error.
	Discover(ctx context.Context, t Target, name string) ([]Node, error)
}
