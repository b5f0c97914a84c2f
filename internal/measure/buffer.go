package measure

import (
	"sync/atomic"

	"brunt/internal/protocol"
)

// buffer contains what one owner has recorded since its last hand-over. Samples are kept by operation and address
// together, so that each sample is counted once. The sums by operation and by address in an interval are computed from
// these cells.
type buffer struct {
	cells      []*cell       // [operation · columns + address]; nil until first used
	columns    int           // number of addresses, plus one for samples without an address
	shown      *atomic.Int64 // how many addresses exist; samples of others have no address
	gaps       gapFinder
	gapsOf     []gapFinder // by operation; nil if there is one operation only
	fates      []Counts    // by operation, of arrivals without a sample
	pool       *pagePool   // of the cells' arrivals; nil without an account of outages
	reconnects []uint64    // by address
	offered    uint64
	stalls     uint64
	ownLag     Histogram // the generator's part of the cells' otherLag, and own lag without a sample
	turnaround batch
	gauges     gauges
	fromNs     int64 // when the phase of its arrivals began, if it is not the first of the stage
	untilNs    int64 // when this phase ended; 0 if the buffer was handed over before
}

// cell is what was recorded of one operation at one address.
type cell struct {
	_ [cacheLine]byte
	Counts
	response batch     // of operations with a lag
	service  Histogram // of operations whose lag was not entirely the generator's
	waited   Histogram // response times of the same operations without the generator's part
	free     batch     // service times of operations whose lag was entirely the generator's: the session was free
	prompt   batch     // service times of operations with no lag
	ownLag   batch     // lag that was entirely the generator's
	otherLag Histogram // any other lag
	failed   Histogram
	streams  *streamTimes // nil until an answer was a stream
	onTime   uint64       // arrivals with no lag, not in ownLag
	closed   uint64       // operations of closed loads with no lag, not in otherLag
	arrivals *pages       // by intended start; nil without an account of outages
	_        [cacheLine]byte
}

// streamTimes are the times of messages of answers that were streams.
type streamTimes struct {
	first   Histogram // from the send to the first message
	between Histogram // from each message to the next
	lag     Histogram // from when a message was due to when it was sent
}

// stream adds the times of an answer that was a stream, and of messages that were sent at times; either may be nil.
func (c *cell) stream(s *protocol.Stream, p *protocol.Pacing) {
	if c.streams == nil {
		c.streams = new(streamTimes)
	}
	if s != nil {
		c.streams.first.Record(s.FirstNs)
		c.streams.between.addTimes(&s.Between)
	}
	if p != nil {
		c.streams.lag.addTimes(&p.Lag)
	}
}

// gauges describe the current state of the owner.
type gauges struct {
	up       []int
	busy     int
	backlog  uint64
	loopBusy float64 // sum over calls
	calls    int
	upNs     float64 // connected sessions, integrated over spanNs
	spanNs   int64
}

// follow makes g continue from o: it copies the state and resets the shares of time.
func (g *gauges) follow(o *gauges) {
	copy(g.up, o.up)
	g.busy, g.backlog, g.loopBusy, g.calls = o.busy, o.backlog, 0, 0
	if o.spanNs > 0 {
		g.upNs, g.spanNs = o.upNs, o.spanNs
	}
}

func newBuffer(operations, addresses int, shown *atomic.Int64, deadlineNs int64) *buffer {
	b := &buffer{
		shown:      shown,
		cells:      make([]*cell, operations*(addresses+1)),
		columns:    addresses + 1,
		fates:      make([]Counts, operations),
		reconnects: make([]uint64, addresses),
		gauges:     gauges{up: make([]int, addresses)},
	}
	if operations > 1 {
		b.gapsOf = make([]gapFinder, operations)
	}
	if deadlineNs > 0 {
		b.pool = &pagePool{deadlineNs: deadlineNs}
	}
	return b
}

// cell returns the cell of a sample and creates it if needed.
func (b *buffer) cell(operation, address int) *cell {
	column := min(uint(address), uint(b.columns-1))
	if int64(column) >= b.shown.Load() {
		column = uint(b.columns - 1) // nobody's address yet
	}
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
	if s.Stream != nil || s.Pacing != nil {
		c.stream(s.Stream, s.Pacing)
	}
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

// follow makes b, which is empty, continue from o.
func (b *buffer) follow(o *buffer) {
	b.fromNs = o.fromNs
	b.gauges.follow(&o.gauges)
	b.gauges.upNs, b.gauges.spanNs = 0, 0
	b.gaps.lastOK = o.gaps.lastOK
	for i := range o.gapsOf {
		b.gapsOf[i].lastOK = o.gapsOf[i].lastOK
	}
}

// swapGaps exchanges what two buffers know of the gaps between successes.
func swapGaps(a, b *buffer) {
	a.gaps, b.gaps = b.gaps, a.gaps
	a.gapsOf, b.gapsOf = b.gapsOf, a.gapsOf
}

// scheduled reports whether the sample is an arrival whose session's free time is known.
func (s *Sample) scheduled() bool { return s.Open && s.Ready != 0 }

// own returns the part of an arrival's lag that the generator caused, ns.
func (s *Sample) own() int64 {
	if !s.scheduled() {
		return 0
	}
	return max(s.Sent-max(s.Intended, s.Ready), 0)
}

// generatorDelay returns how much earlier an arrival would have been sent by a generator that is never late, ns. It
// includes the arrival's own lag, and that of earlier arrivals on the session if the session was not ready in time
// because of it. So backlog that builds up during a generator stall is attributed to the generator in full.
func (s *Sample) generatorDelay() int64 {
	if !s.scheduled() {
		return 0
	}
	return max(s.Sent-max(s.Intended, s.Ready-s.GeneratorDelay), 0)
}

// Carry returns the GeneratorDelay of the next sample of the same session. It does not grow for a session that has more
// work than it can do even with a perfect generator: short delays between two operations then do not add up, because
// the server has other requests to work on.
func (s *Sample) Carry() int64 {
	if s.Ready-s.GeneratorDelay > s.Intended {
		return s.GeneratorDelay
	}
	return s.generatorDelay()
}

// recordLag adds a lag above 0. The common case, an arrival whose session was free, updates only one histogram.
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

// flush counts the values in the batches.
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
		if c.streams != nil {
			c.streams.first.Reset()
			c.streams.between.Reset()
			c.streams.lag.Reset()
		}
		c.onTime, c.closed = 0, 0
	}
	if b.pool != nil {
		b.pool.lost = 0
	}
	clear(b.fates)
	clear(b.reconnects)
	b.offered, b.stalls = 0, 0
	b.fromNs, b.untilNs = 0, 0
	b.ownLag.Reset()
	b.turnaround.Reset()
	b.gaps.reset()
	for i := range b.gapsOf {
		b.gapsOf[i].reset()
	}
	b.gauges.loopBusy, b.gauges.calls, b.gauges.upNs, b.gauges.spanNs = 0, 0, 0, 0
}

// empty reports whether nothing was recorded.
func (c *cell) empty() bool { return c.Done == 0 }
