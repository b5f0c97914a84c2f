package measure

import "brunt/internal/driver"

// buffer is what one owner has recorded since its last hand-over. Samples are kept by operation
// and address together, so that each is counted once; what the interval shows are sums over
// either.
type buffer struct {
	cells      []*cell // [operation · columns + address]; nil until first used
	columns    int     // addresses, and one for samples without
	quiet      quiet
	dropped    []uint64 // by operation
	reconnects []uint64 // by address
	offered    uint64
	stalls     uint64
	ownLag     Histogram // the generator's own parts of cells' otherLag, and of what left no sample
	gauges     gauges
}

// cell is what was recorded of one operation at one address.
type cell struct {
	_ [cacheLine]byte
	Counts
	response Histogram
	service  Histogram
	prompt   Histogram // service times of operations with no lag, not in response and service
	ownLag   Histogram // lag that was the generator's own: the session had been free
	otherLag Histogram // any other lag
	failed   Histogram
	onTime   uint64 // arrivals with no lag, not in ownLag
	closed   uint64 // operations that were no arrivals, with no lag, not in otherLag
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

func newBuffer(operations, addresses int) *buffer {
	return &buffer{
		cells:      make([]*cell, operations*(addresses+1)),
		columns:    addresses + 1,
		dropped:    make([]uint64, operations),
		reconnects: make([]uint64, addresses),
		gauges:     gauges{up: make([]int, addresses)},
	}
}

// cell finds or makes the cell of a sample.
func (b *buffer) cell(operation, address int) *cell {
	column := min(uint(address), uint(b.columns-1))
	c := &b.cells[operation*b.columns+int(column)]
	if *c == nil {
		*c = new(cell)
	}
	return *c
}

func (b *buffer) record(s *Sample) {
	c := b.cell(s.Operation, s.Address)
	c.count(s)
	lag := s.Sent - s.Intended
	switch {
	case lag > 0:
		b.recordLag(c, s, lag)
	case s.Open && s.Ready != 0:
		c.onTime++
	default:
		c.closed++
	}
	switch {
	case s.Class != driver.OK:
		b.quiet.didntSucceed(s)
		c.failed.Record(s.End - s.Intended)
	case lag == 0:
		b.quiet.succeeded(s)
		c.prompt.Record(s.End - s.Sent)
	default:
		b.quiet.succeeded(s)
		c.service.Record(s.End - s.Sent)
		c.response.Record(s.End - s.Intended)
	}
}

// recordLag adds a lag above 0, so that the usual arrival, whose session had been free, takes one
// histogram only.
func (b *buffer) recordLag(c *cell, s *Sample, lag int64) {
	if lag > LateNs {
		c.Late++
	}
	if s.Open && s.Ready != 0 && s.Ready <= s.Intended {
		c.ownLag.Record(lag)
		return
	}
	c.otherLag.Record(lag)
	if s.Open && s.Ready != 0 {
		b.ownLag.Record(s.Sent - s.Ready)
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
	if s.Class == driver.OK && s.Attempts <= 1 && !s.Missing && !s.BadHash {
		return
	}
	if s.Class != driver.OK {
		c.Errors[s.Class]++
	}
	if s.Attempts > 1 {
		c.Retries += uint64(s.Attempts - 1)
	}
	if s.Missing {
		c.Missing++
	}
	if s.BadHash {
		c.BadHash++
	}
}

func (b *buffer) reset() {
	for _, c := range b.cells {
		if c == nil || c.Done == 0 {
			continue
		}
		c.Counts = Counts{}
		c.response.Reset()
		c.service.Reset()
		c.prompt.Reset()
		c.ownLag.Reset()
		c.otherLag.Reset()
		c.failed.Reset()
		c.onTime, c.closed = 0, 0
	}
	clear(b.dropped)
	clear(b.reconnects)
	b.offered, b.stalls = 0, 0
	b.ownLag.Reset()
	b.quiet.reset()
	b.gauges.loopBusy, b.gauges.calls = 0, 0
}
