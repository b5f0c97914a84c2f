package protocol

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Role is the role of a node in its cluster.
type Role uint8

// The roles. For a node, AnyRole means that the role is unknown; for a request, that any node may serve it.
const (
	AnyRole Role = iota
	Primary
	Replica
)

// String returns the role as plans write it: "any", "primary" or "replica".
func (r Role) String() string { return [...]string{"any", "primary", "replica"}[min(r, Replica)] }

// Node is a member of a cluster, as discovered.
type Node struct {
	Address string // host:port
	Role    Role
	Zone    string // "" if it has none
}

// Change is a change of a node's membership or role.
type Change struct {
	Number  int // number of the node, see Nodes
	Address string
	What    ChangeKind
	Role    Role // role after the change
}

// ChangeKind is the kind of a Change.
type ChangeKind uint8

// The kinds of changes.
const (
	Joined ChangeKind = iota
	Left
	RoleChanged
)

// Nodes holds the addresses of a run. They may change during the run, as nodes join, leave and change roles. A
// node's number, from 0, is given in the order of joining; a node that returns keeps its earlier number. All
// methods are safe for concurrent use; those that only read take no lock.
type Nodes struct {
	targets []Target // allocated at full capacity; elements below known never change
	known   atomic.Int32
	members []member

	mu        sync.Mutex // guards changes
	onJoin    []func(number int, t Target)
	onChange  []func(changes []Change)
	abandoned int // number of joining nodes left out for lack of room
}

type member struct {
	active atomic.Bool
	role   atomic.Uint32
	zone   atomic.Pointer[string]
}

// NewNodes returns Nodes with the given targets, all of them active. room is the number of further nodes that may
// join.
func NewNodes(targets []Target, room int) *Nodes {
	n := &Nodes{targets: make([]Target, len(targets)+room), members: make([]member, len(targets)+room)}
	copy(n.targets, targets)
	n.known.Store(int32(len(targets)))
	for i := range targets {
		n.members[i].active.Store(true)
	}
	return n
}

// Len returns how many nodes have been known so far. Node numbers are less than Len.
func (n *Nodes) Len() int { return int(n.known.Load()) }

// Cap returns the maximum number of nodes.
func (n *Nodes) Cap() int { return len(n.targets) }

// At returns the target of a node.
func (n *Nodes) At(number int) Target { return n.targets[number] }

// All returns the targets of all nodes known so far. The caller must not modify the slice.
func (n *Nodes) All() []Target { return n.targets[:n.Len()] }

// Active reports whether a node is currently a member.
func (n *Nodes) Active(number int) bool {
	return number >= 0 && number < len(n.members) && n.members[number].active.Load()
}

// Role returns a node's role.
func (n *Nodes) Role(number int) Role { return Role(n.members[number].role.Load()) }

// Zone returns a node's zone; "" if unknown.
func (n *Nodes) Zone(number int) string {
	if z := n.members[number].zone.Load(); z != nil {
		return *z
	}
	return ""
}

// OnJoin registers a function that is called for each node seen for the first time, before the node becomes
// visible to others.
func (n *Nodes) OnJoin(f func(number int, t Target)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.onJoin = append(n.onJoin, f)
}

// OnChange registers a function that is called after changes, by the goroutine that calls Update. It must return
// quickly.
func (n *Nodes) OnChange(f func([]Change)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.onChange = append(n.onChange, f)
}

// Update sets the current members and returns what has changed. With all, now is the complete list, and nodes
// missing from it have left. Nodes that join get like's credentials and options. Nodes for which there is no
// room are left out, see Abandoned.
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

// admit adds a new node and returns its number, or −1 if there is no room.
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

// note stores the role and zone of one node, marks it active, and appends the resulting change, if any, to
// changes.
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

// Abandoned returns how often a joining node was left out because there was no room for it.
func (n *Nodes) Abandoned() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.abandoned
}

// RoleReader is implemented by drivers that can ask a server for its role.
type RoleReader interface {
	// Role asks the server at the target's address for its role. An error is an *Error.
	Role(ctx context.Context, t Target) (Role, error)
}

// BucketRange is a range of buckets of a sharded cluster that one node holds, both ends inclusive. Buckets are
// numbered from 1.
type BucketRange struct {
	From, To uint64
	Address  string // address of the node; "" means the node that was asked
}

// BucketReader is implemented by drivers whose servers can run a program that returns which node holds which
// buckets.
type BucketReader interface {
	// Buckets runs a program on the server at the target's address and returns the ranges that the program returns.
	// The empty program asks a vshard storage for its own buckets. An error is an *Error.
	Buckets(ctx context.Context, t Target, program string) ([]BucketRange, error)
}

// Discoverer is implemented by drivers whose servers know the nodes of their cluster.
type Discoverer interface {
	// Discovers reports whether Discover implements the source that a plan's topology names, such as "members".
	Discovers(source string) bool
	// Discover asks the server at the target's address for the nodes. name is the name of the cluster, for servers
	// that know several. An error is an *Error.
	Discover(ctx context.Context, t Target, name string) ([]Node, error)
}
