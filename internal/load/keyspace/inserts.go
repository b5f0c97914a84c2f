package keyspace

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// blockBits is the binary logarithm of the number of operations per entry of Inserts' directory, 256. The directory
// takes 1/32 byte per operation, and finding a number examines 127 operations on average.
const blockBits = 8

// Inserts numbers the records that the operations of a run insert: without gaps and in the order of the operations,
// regardless of failures and of the sessions that run them. It also knows up to which number all records exist. It is
// safe for concurrent use.
type Inserts struct {
	// Strict keeps Last below the first record whose insert failed. It must be set before the first use.
	Strict bool

	first int64  // number of the first inserted record
	rows  uint64 // records per operation

	mu     sync.RWMutex // guards before
	is     func(i uint64) bool
	before []uint64 // number of inserts before each block

	acks   sync.Mutex // guards done and failed
	last   atomic.Int64
	done   map[int64]struct{} // acknowledged records after last
	failed bitmap
	holes  atomic.Int64 // number of records in failed

	mine    func(i uint64) bool // see Share, which the following fields are for; acks guards them
	own     map[uint64]struct{} // this process's completed operations, from next
	next    uint64              // first operation that Last hasn't passed
	highest uint64              // highest completed operation
}

// NewInserts returns an Inserts that numbers records from first, with rows records per operation. Until Follow is
// called, every operation counts as an insert.
func NewInserts(first int64, rows int) *Inserts {
	s := &Inserts{first: first, rows: uint64(max(rows, 1)), done: map[int64]struct{}{}, failed: bitmap{}}
	s.last.Store(first - 1)
	return s
}

// Follow sets which operations are inserts. is must be a pure function. Follow must be called before the first use.
func (s *Inserts) Follow(is func(i uint64) bool) { s.is = is }

// Share declares that from operation first on other processes send all operations for which mine returns false. It
// isn't known when their inserts complete, so Last passes them together with this process's operations before them.
// Share must be called before the first use.
func (s *Inserts) Share(first uint64, mine func(i uint64) bool) {
	s.mine, s.own, s.next = mine, map[uint64]struct{}{}, first
}

// Number returns the number of the record of index idx: operation idx/rows, row idx mod rows.
func (s *Inserts) Number(idx uint64) int64 {
	return s.first + int64(s.Before(idx/s.rows)*s.rows+idx%s.rows)
}

// Before returns how many of the operations before operation i are inserts.
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

// blockStart returns the number of inserts before a block. It extends the directory if necessary.
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

// mostPending limits how many acknowledged records may wait for an earlier one. Beyond it, Last no longer advances.
const mostPending = 1 << 22

// Acknowledge reports that operation i, an insert, has completed, and whether its records exist. Last passes records
// that don't exist unless Strict is set.
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

// pass does the work of Acknowledge for a shared load. first is the operation's first record. acks must be held.
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

// Last returns the number up to which all records exist, except for those whose insert failed.
func (s *Inserts) Last() int64 { return s.last.Load() }

// Missing reports whether record n doesn't exist: its insert failed or has not completed.
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

// bitmap is a set of record numbers. It stores one bit for each record of the pages that have any members. So even an
// outage of hours, in which every insert fails, costs only one bit per record.
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

// Memo remembers which record an operation drew if the draw depends on more than the operation's number, so that all
// parts of the operation agree. A record is forgotten when its operation completes. Memo is safe for concurrent use.
type Memo struct {
	draw   func(idx uint64) int64
	shards [64]struct {
		mu    sync.Mutex
		drawn map[uint64]int64
	}
}

// NewMemo returns a Memo of the results of draw.
func NewMemo(draw func(idx uint64) int64) *Memo {
	m := &Memo{draw: draw}
	for i := range m.shards {
		m.shards[i].drawn = map[uint64]int64{}
	}
	return m
}

// Number returns the result of draw for the first call with idx.
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

// Forget removes the result for idx.
func (m *Memo) Forget(idx uint64) {
	s := &m.shards[bits.Reverse64(idx*0x9E3779B97F4A7C15)&63]
	s.mu.Lock()
	delete(s.drawn, idx)
	s.mu.Unlock()
}
