package keyspace

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// blockBits sets how many operations one entry of Inserts' directory covers: 256, so that the
// directory takes 1/32 byte an operation and finding a number looks at 127 operations on average.
const blockBits = 8

// Inserts numbers the records that the operations of a run insert: without gaps, in the order of
// the operations, whatever fails and whichever session runs them. It also knows up to which number
// all records are there. It is safe for concurrent use.
type Inserts struct {
	// Strict keeps Last below the first record whose insert failed. It is set before the first use.
	Strict bool

	first int64  // number of the first record inserted
	rows  uint64 // records an operation

	mu     sync.RWMutex // guards before
	is     func(i uint64) bool
	before []uint64 // inserts before each block

	acks   sync.Mutex // guards done and failed
	last   atomic.Int64
	done   map[int64]struct{} // acknowledged beyond last
	failed bitmap
	holes  atomic.Int64 // records in failed

	mine    func(i uint64) bool // see Share; the following are for it, and guarded by acks
	own     map[uint64]struct{} // own operations that are over, from next on
	next    uint64              // the first operation that Last hasn't passed
	highest uint64              // operation that is over
}

// NewInserts numbers from first, rows records an operation. Until Follow is called every operation
// is taken for an insert.
func NewInserts(first int64, rows int) *Inserts {
	s := &Inserts{first: first, rows: uint64(max(rows, 1)), done: map[int64]struct{}{}, failed: bitmap{}}
	s.last.Store(first - 1)
	return s
}

// Follow sets which operations are inserts. is must be pure, and Follow come before the first use.
func (s *Inserts) Follow(is func(i uint64) bool) { s.is = is }

// Share says that other processes send all operations but those of which mine is true, beginning with first. When their
// inserts are over isn't known: Last passes them with the own ones before them. Share must come before the first use.
func (s *Inserts) Share(first uint64, mine func(i uint64) bool) {
	s.mine, s.own, s.next = mine, map[uint64]struct{}{}, first
}

// Number is the number of the record that belongs to index idx: operation idx/rows, row idx mod
// rows.
func (s *Inserts) Number(idx uint64) int64 {
	return s.first + int64(s.Before(idx/s.rows)*s.rows+idx%s.rows)
}

// Before is how many of the operations before number i are inserts.
func (s *Inserts) Before(i uint64) uint64 {
	if s.is == nil {
		return i
	}
	block := i >> blockBits
	n := s.blockStart(block)
	for k := block << blockBits; k < i; k++ {
		if s.is(k) {
			n++
		}
	}
	return n
}

// blockStart is how many inserts stand before a block, extending the directory up to it.
func (s *Inserts) blockStart(block uint64) uint64 {
	s.mu.RLock()
	if block < uint64(len(s.before)) {
		defer s.mu.RUnlock()
		return s.before[block]
	}
	s.mu.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.before) == 0 {
		s.before = append(s.before, 0)
	}
	for b := uint64(len(s.before)); b <= block; b++ {
		n := s.before[b-1]
		for k := (b - 1) << blockBits; k < b<<blockBits; k++ {
			if s.is(k) {
				n++
			}
		}
		s.before = append(s.before, n)
	}
	return s.before[block]
}

// mostPending bounds how many acknowledged records may wait for an earlier one. Beyond it, Last
// stays where it is.
const mostPending = 1 << 22

// Acknowledge tells that operation i, an insert, is over, and whether its records are there. Last
// passes records that aren't, unless Strict.
func (s *Inserts) Acknowledge(i uint64, ok bool) {
	if s.Strict && !ok {
		return
	}
	first := s.Number(i * s.rows)
	s.acks.Lock()
	defer s.acks.Unlock()
	if len(s.done)+len(s.own) > mostPending {
		return
	}
	if s.mine != nil {
		s.pass(i, first, ok)
		return
	}
	for n := first; n < first+int64(s.rows); n++ {
		s.done[n] = struct{}{}
		if !ok && !s.failed.has(n) {
			s.failed.set(n)
			s.holes.Add(1)
		}
	}
	last := s.last.Load()
	for {
		if _, there := s.done[last+1]; !there {
			break
		}
		last++
		delete(s.done, last)
	}
	s.last.Store(last)
}

// pass is Acknowledge for an operation of a shared load, whose first record that is. acks is held.
func (s *Inserts) pass(i uint64, first int64, ok bool) {
	s.own[i] = struct{}{}
	s.highest = max(s.highest, i)
	for n := first; !ok && n < first+int64(s.rows); n++ {
		if !s.failed.has(n) {
			s.failed.set(n)
			s.holes.Add(1)
		}
	}
	for ; s.next <= s.highest; s.next++ {
		if s.is != nil && !s.is(s.next) {
			continue
		}
		if _, over := s.own[s.next]; s.mine(s.next) && !over {
			return
		}
		delete(s.own, s.next)
		s.last.Add(int64(s.rows))
	}
}

// Last is the number up to which all records are there, but for those whose insert failed.
func (s *Inserts) Last() int64 { return s.last.Load() }

// Missing reports whether record n isn't there: its insert failed, or isn't over.
func (s *Inserts) Missing(n int64) bool {
	if n > s.last.Load() {
		return true
	}
	if s.holes.Load() == 0 {
		return false
	}
	s.acks.Lock()
	defer s.acks.Unlock()
	return s.failed.has(n)
}

// bitmap is a set of record numbers: a bit for each of the pages that have any, so that an outage of hours, in which
// every insert fails, costs a bit a record.
type bitmap map[int64]*[pageWords]uint64

// A page has 4096 records.
const (
	pageBits  = 12
	pageWords = 1 << pageBits / 64
)

func (b bitmap) set(n int64) {
	page := b[n>>pageBits]
	if page == nil {
		page = new([pageWords]uint64)
		b[n>>pageBits] = page
	}
	bit := n & (1<<pageBits - 1)
	page[bit/64] |= 1 << (bit % 64)
}

func (b bitmap) has(n int64) bool {
	page := b[n>>pageBits]
	bit := n & (1<<pageBits - 1)
	return page != nil && page[bit/64]&(1<<(bit%64)) != 0
}

// Memo remembers which record an operation drew where the draw depends on more than its number, so
// that all parts of the operation agree. Records are forgotten when their operation is over. It is
// safe for concurrent use.
type Memo struct {
	draw   func(idx uint64) int64
	shards [64]struct {
		mu    sync.Mutex
		drawn map[uint64]int64
	}
}

// NewMemo remembers what draw gives.
func NewMemo(draw func(idx uint64) int64) *Memo {
	m := &Memo{draw: draw}
	for i := range m.shards {
		m.shards[i].drawn = map[uint64]int64{}
	}
	return m
}

// Number is what draw gave when first asked for idx.
func (m *Memo) Number(idx uint64) int64 {
	s := &m.shards[bits.Reverse64(idx*0x9E3779B97F4A7C15)&63]
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.drawn[idx]
	if !ok {
		n = m.draw(idx)
		s.drawn[idx] = n
	}
	return n
}

// Forget drops idx.
func (m *Memo) Forget(idx uint64) {
	s := &m.shards[bits.Reverse64(idx*0x9E3779B97F4A7C15)&63]
	s.mu.Lock()
	delete(s.drawn, idx)
	s.mu.Unlock()
}
