package schedule

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Block is a range of the operations of a closed stage, counted from the stage's first.
type Block struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"` // exclusive
}

// Request is a machine's request for operations of a closed stage.
type Request struct {
	Stage  int    `json:"stage"`            // index in the load, from 0
	Limit  uint64 `json:"limit,omitempty"`  // operations of the stage on all machines; 0: no limit
	Blocks int    `json:"blocks"`           // blocks of the stage that the machine has received
	Number uint64 `json:"number,omitempty"` // further operations requested; 0: none now
	Least  uint64 `json:"least,omitempty"`  // operations that the machine begins at a time
	Ended  bool   `json:"ended,omitempty"`  // the stage is over at the machine
}

// Grant answers a Request.
type Grant struct {
	Stage  int     `json:"stage"`
	First  int     `json:"first"` // index of Blocks[0] among all blocks of the stage that the machine was given
	Blocks []Block `json:"blocks,omitempty"`
	Over   bool    `json:"over,omitempty"` // there are no further operations
	// Ends is one more than the number of the stage's last operation on all machines. It is 0 until the stage has ended
	// on a machine.
	Ends uint64 `json:"ends,omitempty"`
}

// Granter gives the operations of closed stages to machines, each operation once. It belongs to the coordinator. It
// isn't safe for concurrent use.
type Granter struct {
	machines uint64
	stages   map[int]*granted
}

// granted records which operations of a stage were given to machines.
type granted struct {
	limit    uint64 // 0: none
	given    uint64 // operations with smaller numbers were given to machines
	machines map[int]*receiver
	ends     uint64 // see Grant; 0: not known
}

// receiver is a machine that was given blocks of a stage.
type receiver struct {
	received int     // blocks that the machine has received
	blocks   []Block // blocks after these
}

func (s *granted) receiver(machine int) *receiver {
	r := s.machines[machine]
	if r == nil {
		r = &receiver{}
		s.machines[machine] = r
	}
	return r
}

// NewGranter returns a Granter for a number of machines, at least 1. It has given no operations yet.
func NewGranter(machines int) *Granter {
	return &Granter{machines: uint64(max(machines, 1)), stages: map[int]*granted{}}
}

func (g *Granter) stage(number int) *granted {
	s := g.stages[number]
	if s == nil {
		s = &granted{machines: map[int]*receiver{}}
		g.stages[number] = s
	}
	return s
}

// Restore repeats a decision of an earlier Granter of the same load: a block that it gave, or the end of a stage.
func (g *Granter) Restore(e GrantEvent) {
	s := g.stage(e.Stage)
	s.limit, s.ends = max(s.limit, e.Limit), max(s.ends, e.Ends)
	if e.Block != nil {
		r := s.receiver(e.Machine)
		r.blocks = append(r.blocks, *e.Block)
		s.given = max(s.given, e.Block.To)
	}
}

// GrantEvent is a decision of a Granter; see Restore.
type GrantEvent struct {
	Stage   int    `json:"stage"`
	Machine int    `json:"machine"`
	Limit   uint64 `json:"limit,omitempty"`
	Block   *Block `json:"block,omitempty"`
	Ends    uint64 `json:"ends,omitempty"`
}

// Grant answers a machine's Request. alive is the number of machines that are not lost. events are the decisions made.
// A caller that may need Restore must store them before it sends the answer. A repeated or outdated Request is answered
// with the blocks that the machine has not received, and with no new ones.
func (g *Granter) Grant(machine int, w *Request, alive int) (answer Grant, events []GrantEvent) {
	s := g.stage(w.Stage)
	if s.limit == 0 {
		s.limit = w.Limit
	}
	if w.Ended && s.ends == 0 {
		s.ends = s.end(g.machines, w.Least)
		events = append(events, GrantEvent{Stage: w.Stage, Machine: machine, Limit: s.limit, Ends: s.ends})
	}
	r := s.receiver(machine)
	news := w.Blocks - r.received
	if news >= 0 && news <= len(r.blocks) { // the machine doesn't ask for these again
		r.received, r.blocks = w.Blocks, slices.Delete(r.blocks, 0, news)
	}
	if n := s.next(w, uint64(max(alive, 1))); !w.Ended && w.Blocks == r.received && len(r.blocks) == 0 && n > 0 {
		b := Block{From: s.given, To: s.given + n}
		s.given = b.To
		r.blocks = append(r.blocks, b)
		events = append(events, GrantEvent{Stage: w.Stage, Machine: machine, Limit: s.limit, Block: &b})
	}
	most, limited := s.most()
	answer = Grant{Stage: w.Stage, First: w.Blocks, Over: limited && s.given >= most, Ends: s.ends}
	if w.Blocks == r.received {
		answer.Blocks = slices.Clone(r.blocks)
	}
	return answer, events
}

// most returns how many operations of the stage may be given to all machines. limited is false if there is no limit.
func (s *granted) most() (n uint64, limited bool) {
	switch {
	case s.ends > 0:
		return s.ends, true
	case s.limit > 0:
		return s.limit, true
	}
	return 0, false
}

// next returns how many operations a machine gets for a request. If the stage is limited, the machine gets at most half
// of an equal share of the remaining operations (but may get w.Least), so that all machines end at about the same time.
func (s *granted) next(w *Request, alive uint64) uint64 {
	most, limited := s.most()
	if !limited {
		return w.Number
	}
	left := most - min(s.given, most)
	return min(w.Number, left, max(left/(2*alive), w.Least, 1))
}

// end returns Grant.Ends when the stage has ended on the first machine. It leaves some operations for machines on which
// the stage ends a little later.
func (s *granted) end(machines, least uint64) uint64 {
	ends := s.given + s.given/4 + machines*max(least, 1)
	ends = (ends + machines - 1) / machines * machines
	if s.limit > 0 {
		ends = min(ends, s.limit)
	}
	return max(ends, s.given, 1)
}

// Unneeded returns how many operations of ended stages were given to no machine.
func (g *Granter) Unneeded() (n uint64) {
	for _, s := range g.stages {
		n += max(s.ends, s.given) - s.given
	}
	return n
}

// Numbers contains the operations of a closed stage that a machine was given so far. It is safe for concurrent use.
type Numbers struct {
	stage int
	first uint64 // number of the stage's first operation, counted from the load's
	limit uint64
	least uint64
	tell  func()

	current atomic.Pointer[block]

	mu      sync.Mutex
	waiting []Block // given, but not begun
	blocks  []Block // all blocks given; adjacent blocks are merged
	had     int     // number of blocks given
	batch   uint64  // operations requested at a time
	movedNs int64   // time at which current was set
	over    bool    // no more blocks will be given
	ended   bool    // the machine needs no more
	ends    uint64  // see Grant
	unused  uint64  // operations that were given, but not taken before the end of the stage
	changed chan struct{}
}

// block is a Block whose operations are being taken.
type block struct {
	next atomic.Uint64
	to   uint64
}

// A block should last from shortNs to longNs. Blocks should be short, because the operations of a lost machine that
// were given but not sent are missing. They should last longer than it takes to get the next block, so that no machine
// waits.
const (
	shortNs = 250_000_000
	longNs  = 1_000_000_000
)

// mostAtOnce is the maximum number of operations of one block.
const mostAtOnce = 1 << 24

// Taken is the outcome of Numbers.Take.
type Taken uint8

// Outcomes of Numbers.Take.
const (
	Took   Taken = iota // an operation was taken
	NotYet              // no operation is available now, but more may be given
	None                // no operation is left
)

// Take takes an operation and returns its number, counted from the stage's first. nowNs is the time in ns of a
// monotonic clock.
func (n *Numbers) Take(nowNs int64) (k uint64, what Taken) {
	for {
		b := n.current.Load()
		if b != nil {
			if k := b.next.Add(1) - 1; k < b.to {
				return k, Took
			}
		}
		if what := n.move(b, nowNs); what != Took {
			return 0, what
		}
	}
}

// Over reports whether no operation is left and none will be given.
func (n *Numbers) Over() bool {
	if b := n.current.Load(); b != nil && b.next.Load() < b.to {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.over && len(n.waiting) == 0
}

// move replaces the current block b by the next one, unless another goroutine has replaced it. It adjusts the size of
// the blocks to request by how long b lasted.
func (n *Numbers) move(b *block, nowNs int64) Taken {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.current.Load() != b:
		return Took
	case len(n.waiting) == 0 && n.over:
		return None
	case len(n.waiting) == 0:
		return NotYet
	}
	next := n.waiting[0]
	n.waiting = n.waiting[1:]
	switch lasted := nowNs - n.movedNs; {
	case b == nil:
	case lasted < shortNs:
		n.batch = min(2*n.batch, mostAtOnce)
	case lasted > longNs:
		n.batch = max(n.batch/2, n.least)
	}
	n.movedNs = nowNs
	taking := &block{to: next.To}
	taking.next.Store(next.From)
	n.current.Store(taking)
	if len(n.waiting) == 0 && !n.over {
		n.tell()
	}
	return Took
}

// request returns what the machine requests now; nil if it requests nothing.
func (n *Numbers) request() *Request {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := &Request{Stage: n.stage, Limit: n.limit, Blocks: n.had, Least: n.least, Ended: n.ended}
	switch {
	case n.ended && n.ends == 0:
		return w
	case n.ended || n.over || len(n.waiting) > 0:
		return nil
	}
	w.Number = n.batch
	return w
}

// grant adds the blocks that the coordinator has given.
func (n *Numbers) grant(g *Grant) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, b := range g.Blocks {
		if g.First+i != n.had { // received before
			continue
		}
		n.had++
		if n.over { // the stage has ended while the coordinator answered
			n.unused += b.To - b.From
			continue
		}
		n.waiting = append(n.waiting, b)
		if last := len(n.blocks) - 1; last >= 0 && n.blocks[last].To == b.From {
			n.blocks[last].To = b.To
		} else {
			n.blocks = append(n.blocks, b)
		}
	}
	n.over = n.over || g.Over && g.First+len(g.Blocks) >= n.had
	n.ends = max(n.ends, g.Ends)
	close(n.changed)
	n.changed = make(chan struct{})
}

// End ends the stage on this machine. It waits until the coordinator has sent ends (see Grant.Ends). If ctx ends first,
// ok is false. If ctx has ended before the call, the stage isn't over on the other machines. unneeded is the number of
// operations that the machine was given but has not taken.
func (n *Numbers) End(ctx context.Context) (ends, unneeded uint64, ok bool) {
	n.finish(ctx.Err() != nil)
	n.tell()
	for {
		n.mu.Lock()
		ends, unneeded, changed := n.ends, n.unused, n.changed
		n.mu.Unlock()
		if ctx.Err() != nil {
			return 0, unneeded, false
		}
		if ends > 0 {
			return ends, unneeded, true
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// finish removes the operations that were not taken. If the load was stopped, the stage isn't over on other machines.
func (n *Numbers) finish(stopped bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended, n.over = !stopped, true
	if b := n.current.Load(); b != nil {
		next := min(b.next.Swap(b.to), b.to)
		n.unused += b.to - next
		n.forget(Block{next, b.to})
	}
	for _, b := range n.waiting {
		n.unused += b.To - b.From
		n.forget(b)
	}
	n.waiting = nil
}

// forget removes the unused block b from blocks. If b is in the middle of one of them, that one is split.
func (n *Numbers) forget(b Block) {
	for i := range n.blocks {
		if own := &n.blocks[i]; own.From <= b.From && b.From < own.To {
			if rest := *own; rest.To > b.To {
				n.blocks = slices.Insert(n.blocks, i+1, Block{b.To, rest.To})
			}
			n.blocks[i].To = b.From
			return
		}
	}
}

// spans reports whether an operation may belong to the stage. number is counted from the load's first operation.
func (n *Numbers) spans(number uint64) bool {
	if number < n.first || n.limit > 0 && number-n.first >= n.limit {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ends == 0 || number-n.first < n.ends
}

// has reports whether operation k, counted from the stage's first, was given to the machine or may still be.
func (n *Numbers) has(k uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	i, _ := slices.BinarySearchFunc(n.blocks, k, func(b Block, k uint64) int {
		if b.To <= k {
			return -1
		}
		return 1
	})
	if i < len(n.blocks) {
		return n.blocks[i].From <= k
	}
	return !n.over
}
