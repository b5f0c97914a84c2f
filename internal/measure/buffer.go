package measure

import (
	"slices"

	"brunt/internal/protocol"
)

// buffer is what one owner has recorded since its last hand-over. Samples are kept by operation
// and address together, so that each is counted once; what the interval shows are sums over
// either.
type buffer struct {
	cells      []*cell // [operation · columns + address]; nil until first used
	columns    int     // addresses, and one for samples without
	gaps       gapFinder
	gapsOf     []gapFinder // by operation; nil if there is one operation only
	fates      []Counts    // by operation: of arrivals that leave no sample
	pool       *pagePool   // of the cells' arrivals; nil where no account of outages is asked for
	reconnects []uint64    // by address
	offered    uint64
	stalls     uint64
	ownLag     Histogram // the generator's own parts of cells' otherLag, and of what left no sample
	turnaround batch
	gauges     gauges
}

// cell is what was recorded of one operation at one address.
type cell struct {
	_ [cacheLine]byte
	Counts
	response batch     // of operations with a lag
	service  Histogram // of those whose lag wasn't all the generator's own
	waited   Histogram // of the same, response times without the generator's own part
	free     batch     // service times of those whose lag was all the generator's own: the session had been free
	prompt   batch     // service times of operations with no lag
	ownLag   batch     // lag that was all the generator's own
	otherLag Histogram // any other lag
	failed   Histogram
	onTime   uint64 // arrivals with no lag, not in ownLag
	closed   uint64 // operations that were no arrivals, with no lag, not in otherLag
	arrivals *pages // by intended start; nil where no account of outages is asked for
	_        [cacheLine]byte
}

// gauges are the owner's present state.
type gauges struct {
	up       []int
	busy     int
	backlog  uint64
	loopBusy float64 // sum over calls
	calls    int
}

// follow makes g a continuation of o: its state, and no share of time yet.
func (g *gauges) follow(o *gauges) {
	copy(g.up, o.up)
	g.busy, g.backlog, g.loopBusy, g.calls = o.busy, o.backlog, 0, 0
}

func newBuffer(operations, addresses int, deadlineNs int64) *buffer {
	b := &buffer{
		cells:      make([]*cell, operations*(addresses+1)),
		columns:    addresses + 1,
		fates:      make([]Counts, operations),
		reconnects: make([]uint64, addresses),
		gauges:     gauges{up: make([]int, addresses)},
		gaps:       newGapFinder(),
	}
	if operations > 1 {
		b.gapsOf = slices.Repeat([]gapFinder{newGapFinder()}, operations)
	}
	if deadlineNs > 0 {
		b.pool = &pagePool{deadlineNs: deadlineNs}
	}
	return b
}

// cell finds or makes the cell of a sample.
func (b *buffer) cell(operation, address int) *cell {
	column := min(uint(address), uint(b.columns-1))
	c := &b.cells[operation*b.columns+int(column)]
	if *c == nil {
		*c = new(cell)
		if b.pool != nil {
			(*c).arrivals = &pages{}
		}
	}
	return *c
}

func (b *buffer) record(s *Sample) {
	c := b.cell(s.Operation, s.Address)
	c.count(s)
	if c.arrivals != nil {
		c.arrivals.note(s, b.pool)
	}
	lag := s.Sent - s.Intended
	switch {
	case lag > 0:
		b.recordLag(c, s, lag)
	case s.scheduled():
		c.onTime++
	default:
		c.closed++
		if !s.Open && s.Ready != 0 {
			b.turnaround.Record(s.Sent - s.Ready)
		}
	}
	if s.Class != protocol.OK {
		b.gaps.didntSucceed(s)
		if b.gapsOf != nil {
			b.gapsOf[s.Operation].didntSucceed(s)
		}
		c.failed.Record(s.End - s.Intended)
		return
	}
	b.gaps.succeeded(s)
	if b.gapsOf != nil {
		b.gapsOf[s.Operation].succeeded(s)
	}
	if lag <= 0 {
		c.prompt.Record(s.End - s.Sent)
		return
	}
	c.response.Record(s.End - s.Intended)
	if s.scheduled() && s.Ready <= s.Intended {
		c.free.Record(s.End - s.Sent)
		return
	}
	c.service.Record(s.End - s.Sent)
	c.waited.Record(s.End - s.Intended - s.generatorDelay())
}

// scheduled reports whether it is an arrival of which it is known when its session became free.
func (s *Sample) scheduled() bool { return s.Open && s.Ready != 0 }

// own is the part of the lag of an arrival, ns, that was the generator's own.
func (s *Sample) own() int64 {
	if !s.scheduled() {
		return 0
	}
	return max(s.Sent-max(s.Intended, s.Ready), 0)
}

// generatorDelay is by how much an arrival, ns, would have been sent earlier by a generator that is never
// late: its own lag, and that of the arrivals before it for which its session wasn't ready in time. So
// what piles up while the generator stands still is the generator's, to the last of it.
func (s *Sample) generatorDelay() int64 {
	if !s.scheduled() {
		return 0
	}
	return max(s.Sent-max(s.Intended, s.Ready-s.GeneratorDelay), 0)
}

// Carry is what Behind is of the next sample of the same session. A session that has more to do than it
// can, even if nothing were ever late, keeps its distance: that the generator takes a moment between
// two operations doesn't add up, because the server has others to work on.
func (s *Sample) Carry() int64 {
	if s.Ready-s.GeneratorDelay > s.Intended {
		return s.GeneratorDelay
	}
	return s.generatorDelay()
}

// recordLag adds a lag above 0, so that the usual arrival, whose session had been free, takes one
// histogram only.
func (b *buffer) recordLag(c *cell, s *Sample, lag int64) {
	if lag > LateNs {
		c.Late++
	}
	if s.scheduled() && s.Ready <= s.Intended {
		c.ownLag.Record(lag)
		return
	}
	c.otherLag.Record(lag)
	if s.scheduled() {
		b.ownLag.Record(s.own())
	}
}

// count adds a sample to the plain numbers, lateness and first attempts excepted.
func (c *Counts) count(s *Sample) {
	c.Done++
	if s.BytesIn > 0 {
		c.BytesIn += uint64(s.BytesIn)
	}
	if s.Status != 0 {
		if class := uint(s.Status) / 100; class-1 < uint(len(c.Status)-1) {
			c.Status[class]++
		}
	}
	if s.Class == protocol.OK && s.Attempts <= 1 && !s.Missing && !s.BadHash {
		return
	}
	if s.Class != protocol.OK {
		c.Errors[s.Class]++
	}
	if s.Attempts > 1 {
		c.Retries += uint64(s.Attempts - 1)
	}
	if s.Missing {
		switch s.Missed {
		case protocol.KindUpdate:
			c.MissingUpdates++
		case protocol.KindDelete:
			c.MissingDeletes++
		default:
			c.Missing++
		}
	}
	if s.BadHash {
		c.BadHash++
	}
}

// flush counts what batches keep.
func (b *buffer) flush() {
	for _, c := range b.cells {
		if c == nil {
			continue
		}
		for _, h := range [...]*batch{&c.response, &c.free, &c.prompt, &c.ownLag} {
			h.flush()
		}
	}
	b.turnaround.flush()
}

func (b *buffer) reset() {
	for _, c := range b.cells {
		if c != nil && c.arrivals != nil {
			c.arrivals.reset(b.pool)
		}
		if c == nil || c.empty() {
			continue
		}
		c.Counts = Counts{}
		for _, h := range [...]*Histogram{&c.response.Histogram, &c.service, &c.waited, &c.free.Histogram,
			&c.prompt.Histogram, &c.ownLag.Histogram, &c.otherLag, &c.failed} {
			h.Reset()
		}
		c.onTime, c.closed = 0, 0
	}
	if b.pool != nil {
		b.pool.lost = 0
	}
	clear(b.fates)
	clear(b.reconnects)
	b.offered, b.stalls = 0, 0
	b.ownLag.Reset()
	b.turnaround.Reset()
	b.gaps.reset()
	for i := range b.gapsOf {
		b.gapsOf[i].reset()
	}
	b.gauges.loopBusy, b.gauges.calls = 0, 0
}

// empty reports whether nothing was recorded.
func (c *cell) empty() bool { return c.Done == 0 }
