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

// Wish is what a machine asks for in a closed stage.
type Wish struct {
	Stage  int    `json:"stage"`            // of the load, from 0
	Limit  uint64 `json:"limit,omitempty"`  // operations of the stage, of all machines; 0: no limit
	Blocks int    `json:"blocks"`           // how many of the stage the machine has been given
	Number uint64 `json:"number,omitempty"` // how many further operations it wants; 0: none now
	Least  uint64 `json:"least,omitempty"`  // how many operations it begins at a time
	Ended  bool   `json:"ended,omitempty"`  // the stage is over at the machine
}

// Grant answers a Wish.
type Grant struct {
	Stage  int     `json:"stage"`
	First  int     `json:"first"` // number of the first of Blocks among the machine's of the stage
	Blocks []Block `json:"blocks,omitempty"`
	Over   bool    `json:"over,omitempty"` // there are no further operations
	// Ends is what follows the stage's last operation on all machines. It is known once a machine's stage has ended.
	Ends uint64 `json:"ends,omitempty"`
}

// Granter gives the operations of closed stages to machines, each operation once. It belongs to the coordinator. It
// isn't safe for concurrent use.
type Granter struct {
	machines uint64
	stages   map[int]*granted
}

// granted is a stage, as far as it was given to machines.
type granted struct {
	limit  uint64 // 0: none
	given  uint64 // operations before this one were given to machines
	blocks map[int][]Block
	ends   uint64 // see Grant; 0: not known
}

// NewGranter returns a Granter for so many machines that has given nothing.
func NewGranter(machines int) *Granter {
	return &Granter{machines: uint64(max(machines, 1)), stages: map[int]*granted{}}
}

func (g *Granter) stage(number int) *granted {
	s := g.stages[number]
	if s == nil {
		s = &granted{blocks: map[int][]Block{}}
		g.stages[number] = s
	}
	return s
}

// Restore repeats what an earlier Granter of the same load has given, or has decided to be the end of a stage.
func (g *Granter) Restore(e GrantEvent) {
	s := g.stage(e.Stage)
	s.limit, s.ends = max(s.limit, e.Limit), max(s.ends, e.Ends)
	if e.Block != nil {
		s.blocks[e.Machine] = append(s.blocks[e.Machine], *e.Block)
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

// Grant answers a machine's Wish. alive is how many machines there still are. events are the decisions that it took,
// which must be kept before the answer is sent if the Granter is to be restored. A Wish that comes again, or too late,
// gets the blocks that the machine lacks and nothing new.
func (g *Granter) Grant(machine int, w *Wish, alive int) (answer Grant, events []GrantEvent) {
	s := g.stage(w.Stage)
	if s.limit == 0 {
		s.limit = w.Limit
	}
	if w.Ended && s.ends == 0 {
		s.ends = s.end(g.machines, w.Least)
		events = append(events, GrantEvent{Stage: w.Stage, Machine: machine, Limit: s.limit, Ends: s.ends})
	}
	if n := s.next(w, uint64(max(alive, 1))); !w.Ended && w.Blocks == len(s.blocks[machine]) && n > 0 {
		b := Block{From: s.given, To: s.given + n}
		s.given = b.To
		s.blocks[machine] = append(s.blocks[machine], b)
		events = append(events, GrantEvent{Stage: w.Stage, Machine: machine, Limit: s.limit, Block: &b})
	}
	most, limited := s.most()
	answer = Grant{Stage: w.Stage, First: w.Blocks, Over: limited && s.given >= most, Ends: s.ends}
	if all := s.blocks[machine]; w.Blocks < len(all) {
		answer.Blocks = all[w.Blocks:]
	}
	return answer, events
}

// most is how many operations may be given, if that is limited.
func (s *granted) most() (n uint64, limited bool) {
	switch {
	case s.ends > 0:
		return s.ends, true
	case s.limit > 0:
		return s.limit, true
	}
	return 0, false
}

// next is how many operations a machine gets for a wish. Of operations that are running short it gets half of its share
// only, so that all machines end at about the same time.
func (s *granted) next(w *Wish, alive uint64) uint64 {
	most, limited := s.most()
	if !limited {
		return w.Number
	}
	left := most - min(s.given, most)
	return min(w.Number, left, max(left/(2*alive), w.Least, 1))
}

// end is what follows the stage's last operation when the first machine has ended it. There are some left for machines
// that end it a little later.
func (s *granted) end(machines, least uint64) uint64 {
	ends := s.given + s.given/4 + machines*max(least, 1)
	ends = (ends + machines - 1) / machines * machines
	if s.limit > 0 {
		ends = min(ends, s.limit)
	}
	return max(ends, s.given, 1)
}

// Unneeded is how many operations of stages that have ended no machine was given.
func (g *Granter) Unneeded() (n uint64) {
	for _, s := range g.stages {
		n += max(s.ends, s.given) - s.given
	}
	return n
}

// Numbers are the operations of a closed stage that a machine was given so far. Any number of goroutines take them.
type Numbers struct {
	stage int
	first uint64 // number of the stage's first operation, counted from the load's
	limit uint64
	least uint64
	tell  func()

	current atomic.Pointer[block]

	mu      sync.Mutex
	waiting []Block // given, and not begun
	blocks  []Block // all that were given; adjoining ones are one
	had     int     // how many were given
	batch   uint64  // how many are asked for at a time
	movedNs int64   // when current was set
	over    bool    // there are no more
	ended   bool    // the machine needs no more
	ends    uint64  // see Grant
	changed chan struct{}
}

// block is a Block that is being taken.
type block struct {
	next atomic.Uint64
	to   uint64
}

// How long a block lasts, about. What a lost machine was given and has not sent is missing, so it should be short; but
// longer than it takes to get another, so that no machine waits.
const (
	shortNs = 250_000_000
	longNs  = 1_000_000_000
)

// mostAtOnce bounds the operations of one block.
const mostAtOnce = 1 << 24

// Taken says what came of Numbers.Take.
type Taken uint8

// What comes of Numbers.Take.
const (
	Took   Taken = iota // an operation
	NotYet              // nothing: none has been given, but may be
	None                // nothing: there are no more
)

// Take takes an operation, counted from the stage's first. nowNs is the time on a clock that doesn't step.
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

// Over reports whether there is nothing to take, and never will be.
func (n *Numbers) Over() bool {
	if b := n.current.Load(); b != nil && b.next.Load() < b.to {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.over && len(n.waiting) == 0
}

// move begins the next block in place of b, unless another goroutine has.
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

// wish is what the machine asks for now; nil if nothing.
func (n *Numbers) wish() *Wish {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := &Wish{Stage: n.stage, Limit: n.limit, Blocks: n.had, Least: n.least, Ended: n.ended}
	switch {
	case n.ended && n.ends == 0:
		return w
	case n.ended || n.over || len(n.waiting) > 0:
		return nil
	}
	w.Number = n.batch
	return w
}

// grant takes what the coordinator has given.
func (n *Numbers) grant(g *Grant) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, b := range g.Blocks {
		if g.First+i != n.had { // it has come before
			continue
		}
		n.had++
		if last := len(n.blocks) - 1; last >= 0 && n.blocks[last].To == b.From {
			n.blocks[last].To = b.To
		} else {
			n.blocks = append(n.blocks, b)
		}
		if !n.over {
			n.waiting = append(n.waiting, b)
		}
	}
	n.over = n.over || g.Over && g.First+len(g.Blocks) >= n.had
	n.ends = max(n.ends, g.Ends)
	close(n.changed)
	n.changed = make(chan struct{})
}

// End ends the stage on this machine. It waits until the coordinator has said what follows the stage's last operation,
// or ctx ends: then ok is false. If ctx has ended before, the stage isn't over for the other machines. unneeded is how
// many of the operations given to the machine it has not taken.
func (n *Numbers) End(ctx context.Context) (ends, unneeded uint64, ok bool) {
	unneeded = n.finish(ctx.Err() != nil)
	if ctx.Err() != nil {
		return 0, unneeded, false
	}
	n.tell()
	for {
		n.mu.Lock()
		ends, changed := n.ends, n.changed
		n.mu.Unlock()
		if ends > 0 {
			return ends, unneeded, true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, unneeded, false
		}
	}
}

// finish gives back what was not taken. The load may have been stopped; then the stage isn't over for other machines.
func (n *Numbers) finish(stopped bool) (unneeded uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended, n.over = !stopped, true
	if b := n.current.Load(); b != nil {
		next := min(b.next.Swap(b.to), b.to)
		unneeded = b.to - next
		n.forget(Block{next, b.to})
	}
	for _, b := range n.waiting {
		unneeded += b.To - b.From
		n.forget(b)
	}
	n.waiting = nil
	return unneeded
}

// forget takes an unused block out of blocks. Blocks are given in order, so it is at the end of one.
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

// spans reports whether operation number of the load, counted from its first, may be one of the stage's.
func (n *Numbers) spans(number uint64) bool {
	if number < n.first || n.limit > 0 && number-n.first >= n.limit {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ends == 0 || number-n.first < n.ends
}

// has reports whether an operation, counted from the stage's first, is the machine's, or may still become so.
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
