package measure

import "brunt/internal/driver"

// buffer is what one owner has recorded since its last hand-over.
type buffer struct {
	operations []operationBuffer
	addresses  []addressBuffer
	offered    uint64
	stalls     uint64
	gauges     gauges
}

type operationBuffer struct {
	Counts
	response Histogram
	service  Histogram
	lag      Histogram
	failed   Histogram
	prompt   Histogram // service times of operations with no lag, not yet in response and service
	onTime   uint64    // operations with no lag, not yet in lag
	_        [cacheLine]byte
}

type addressBuffer struct {
	Counts
	service    Histogram
	reconnects uint64
	_          [cacheLine]byte
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
		operations: make([]operationBuffer, operations),
		addresses:  make([]addressBuffer, addresses),
		gauges:     gauges{up: make([]int, addresses)},
	}
}

func (b *buffer) record(s *Sample) {
	o := &b.operations[s.Operation]
	o.count(s)
	lag := s.Sent - s.Intended
	if lag > 0 {
		o.lag.Record(lag)
		if lag > LateNs {
			o.Late++
		}
	} else {
		o.onTime++
	}
	var a *addressBuffer
	if uint(s.Address) < uint(len(b.addresses)) {
		a = &b.addresses[s.Address]
		a.count(s)
		if lag > LateNs {
			a.Late++
		}
	}
	if s.Class != driver.OK {
		o.failed.Record(s.End - s.Intended)
		return
	}
	service := clamp(s.End - s.Sent)
	bucket := bucketOf(service)
	if lag == 0 {
		o.prompt.recordIn(bucket, service)
	} else {
		o.service.recordIn(bucket, service)
		o.response.Record(s.End - s.Intended)
	}
	if a != nil {
		a.service.recordIn(bucket, service)
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

// settle completes what was counted in short.
func (b *buffer) settle() {
	for i := range b.operations {
		o := &b.operations[i]
		o.Attempts = o.Done + o.Retries
		o.lag.RecordN(0, o.onTime)
		o.onTime = 0
	}
	for i := range b.addresses {
		a := &b.addresses[i]
		a.Attempts = a.Done + a.Retries
	}
}

func (b *buffer) reset() {
	for i := range b.operations {
		o := &b.operations[i]
		o.Counts = Counts{}
		o.response.Reset()
		o.service.Reset()
		o.prompt.Reset()
		o.lag.Reset()
		o.failed.Reset()
		o.onTime = 0
	}
	for i := range b.addresses {
		a := &b.addresses[i]
		a.Counts = Counts{}
		a.service.Reset()
		a.reconnects = 0
	}
	b.offered, b.stalls = 0, 0
	b.gauges.loopBusy, b.gauges.calls = 0, 0
}
