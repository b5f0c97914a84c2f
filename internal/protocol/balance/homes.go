package balance

import (
	"sync"
	"sync/atomic"

	"brunt/internal/protocol"
)

// Homes holds the home addresses of sessions while nodes join and leave. It is safe for concurrent use.
type Homes struct {
	nodes *protocol.Nodes
	by    *Balancer // counts sessions instead of requests; nil: use a policy
	of    []atomic.Int32

	mu sync.Mutex // serializes changes
}

// NewHomes assigns an address to each of the given number of sessions: by policy if by is nil, otherwise by the
// Balancer, whose keys are derived from the sessions' numbers.
func NewHomes(sessions int, policy Policy, by *Balancer, nodes *protocol.Nodes) *Homes {
	h := &Homes{nodes: nodes, by: by, of: make([]atomic.Int32, sessions)}
	all := h.active()
	for i := range h.of {
		if by == nil {
			h.of[i].Store(int32(policy(i)))
			continue
		}
		if node, ok := by.Pick(protocol.AnyRole, keyOf(i), all); ok {
			h.settle(i, node)
		}
	}
	return h
}

// keyOf maps session numbers to evenly distributed keys (the finalizer of SplitMix64).
func keyOf(session int) uint64 {
	x := uint64(session) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (h *Homes) active() Set {
	all := NewSet(h.nodes.Cap())
	for i := range h.nodes.Len() {
		if h.nodes.Active(i) {
			all.Add(i)
		}
	}
	return all
}

func (h *Homes) settle(session, node int) {
	h.by.Begin(node)
	h.of[session].Store(int32(node))
}

// Of returns a session's address.
func (h *Homes) Of(session int) int { return int(h.of[session].Load()) }

// Move moves sessions after changes of the nodes. Sessions of a node that has left get another one, and nodes
// that have joined get their share: with a policy, an equal number of sessions; with a Balancer, the sessions
// that it assigns to them. No other session moves.
func (h *Homes) Move(changes []protocol.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.active()
	if h.by != nil {
		h.moveBy(all)
		return
	}
	joined := NewSet(h.nodes.Cap())
	for _, c := range changes {
		if c.What == protocol.Joined {
			joined.Add(c.Number)
		}
	}
	count, members := make([]int, h.nodes.Cap()), []int(nil)
	for i := range h.nodes.Len() {
		if all.Has(i) {
			members = append(members, i)
		}
	}
	if len(members) == 0 {
		return
	}
	for i := range h.of {
		count[h.Of(i)]++
	}
	fewest := func() int {
		at := members[0]
		for _, m := range members {
			if count[m] < count[at] {
				at = m
			}
		}
		return at
	}
	for i := range h.of {
		from, to := h.Of(i), fewest()
		share := len(h.of) / len(members)
		if !all.Has(from) || joined.Has(to) && count[to] < share && count[from] > share {
			count[from]--
			count[to]++
			h.of[i].Store(int32(to))
		}
	}
}

// moveBy lets the Balancer choose again: in modes hash and nearest for all sessions, in other modes for sessions
// whose node has left or has at least two sessions more than the least loaded node.
func (h *Homes) moveBy(all Set) {
	for i := range h.of {
		from := h.Of(i)
		if all.Has(from) && h.by.mode != hashed && h.by.mode != nearest {
			if to, ok := h.by.least(h.by.view.Load().of[0].nodes, all); !ok ||
				h.by.outstanding[from].Load()-h.by.outstanding[to].Load() < 2 {
				continue
			}
		}
		h.by.End(from)
		to, ok := h.by.Pick(protocol.AnyRole, keyOf(i), all)
		if !ok {
			to = from
		}
		h.settle(i, to)
	}
}
