package measure

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Collector divides the run into intervals over all recorders and keeps totals. NewRecorder and NewShared are safe for
// concurrent use. Cut, Total and Tally must be called by one goroutine.
type Collector struct {
	operations, addresses int

	wait func(attempt int) bool

	mu      sync.Mutex // guards members and events
	members []member
	events  []Event // not yet in an interval

	interval Interval
	all      []AddressAccount // of the interval, including those that aren't shown
	shown    atomic.Int64
	tally    Tally
	still    standstills
	stillOf  []standstills // by operation; nil if there is one operation only
	tolds    []*told       // of all owners; see findStandstills
	cuts     int

	arrivals *arrivalSums // nil without an account of outages
}

// member is a recorder and its mutex, which may be nil.
type member struct {
	recorder *Recorder
	shared   *Shared
}

// NewCollector returns a collector for the given numbers of operations and addresses.
func NewCollector(operations, addresses int) *Collector {
	c := &Collector{
		operations: operations,
		addresses:  addresses,
		wait:       waitTwoSeconds,
		interval:   newInterval(operations, addresses),
	}
	if operations > 1 {
		c.stillOf = make([]standstills, operations)
	}
	c.all = c.interval.Addresses
	c.shown.Store(int64(addresses))
	return c
}

// Show sets how many addresses an interval includes. Addresses of nodes that may join later must be last, and are left
// out until then. Show must be called before anything is recorded for a new address. It is safe for concurrent use.
func (c *Collector) Show(addresses int) { c.shown.Store(int64(min(addresses, c.addresses))) }

// Begin makes the first interval begin at ns instead of 0, because the load begins then. It must be called before the
// first Cut.
func (c *Collector) Begin(ns int64) {
	c.interval.EndNs, c.still.from = ns, ns
	for i := range c.stillOf {
		c.stillOf[i].from = ns
	}
}

func waitTwoSeconds(attempt int) bool {
	time.Sleep(time.Millisecond)
	return attempt < 2000
}

// SetWait replaces the way in which Cut waits for owners. Cut calls wait with 0, 1, 2 … while some owners have not
// polled, until wait returns false. By default it sleeps for 1 ms at a time, for 2 s. SetWait must be called before the
// first Cut.
func (c *Collector) SetWait(wait func(attempt int) bool) { c.wait = wait }

// NewRecorder returns a recorder whose owner polls.
func (c *Collector) NewRecorder() *Recorder {
	r := c.recorder()
	c.add(member{recorder: r})
	return r
}

// NewShared returns a recorder behind a mutex.
func (c *Collector) NewShared() *Shared {
	s := &Shared{r: c.recorder()}
	c.add(member{recorder: s.r, shared: s})
	return s
}

func (c *Collector) recorder() *Recorder {
	r := &Recorder{
		active: newBuffer(c.operations, c.addresses, c.deadlineNs()),
		spare:  newBuffer(c.operations, c.addresses, c.deadlineNs()),
		last:   gauges{up: make([]int, c.addresses)},
		told:   newTold(),
	}
	if c.operations > 1 {
		r.toldOf = slices.Repeat([]told{newTold()}, c.operations)
	}
	return r
}

// KeepArrivals makes intervals list their arrivals by intended start. An arrival is good if it succeeds within
// deadlineNs of its intended start. KeepArrivals must be called before the first recorder is created.
func (c *Collector) KeepArrivals(deadlineNs int64) {
	c.arrivals = &arrivalSums{
		pool:  pagePool{deadlineNs: deadlineNs},
		cells: make([]pages, c.operations*(c.addresses+1)),
	}
}

func (c *Collector) deadlineNs() int64 {
	if c.arrivals == nil {
		return 0
	}
	return c.arrivals.pool.deadlineNs
}

func (c *Collector) add(m member) {
	c.mu.Lock()
	c.members = append(c.members, m)
	c.mu.Unlock()
}

// Cut ends the current interval at endNs, merges the contents of all recorders, adds the interval to the totals, and
// returns it. Samples recorded later belong to the next interval. No sample is lost or counted twice. The Interval is
// valid until the next Cut. LoopBusy and SendStalls in meta's Health are raised to the recorders' values.
//
// Cut asks all owners and waits for their Poll. If an owner doesn't poll within 2 s (see SetWait), the next Cut
// collects its samples. Until then its gauges keep their last values, and its standstills are not reported.
func (c *Collector) Cut(endNs int64, meta Meta) *Interval {
	c.begin(endNs, meta)
	c.mu.Lock()
	waiting := append([]member(nil), c.members...)
	c.interval.Events, c.events = append(c.interval.Events, c.events...), c.events[:0]
	c.mu.Unlock()

	var gone []*Recorder
	for _, m := range waiting {
		// Begin with buffers that were handed over after the last Cut had stopped waiting.
		m.recorder.collect(c.take)
		m.recorder.request()
	}
	all := waiting
	for attempt := 0; ; attempt++ {
		waiting, gone = c.gather(waiting, gone)
		if len(waiting) == 0 || !c.wait(attempt) {
			break
		}
	}
	for _, m := range all {
		c.interval.addGauges(&m.recorder.last)
	}
	c.findStandstills(all, len(waiting) == 0, meta.Idle)
	c.forget(gone)
	c.interval.Addresses = c.all[:c.shown.Load()]
	if c.arrivals != nil {
		c.interval.Arrivals, c.interval.ArrivalsLost = c.arrivals.list(c.addresses + 1)
	}
	if meta.ScheduleEnd {
		c.interval.Overdue = c.interval.Backlog
	}
	c.interval.Settle()
	_ = c.tally.Interval(&c.interval)
	return &c.interval
}

// findStandstills adds the standstills that have ended to the interval, unless some owners have not reported.
func (c *Collector) findStandstills(all []member, complete, idle bool) {
	iv := &c.interval
	c.still.slept(iv)
	for i := range c.stillOf {
		c.stillOf[i].slept(iv)
	}
	if !complete {
		return
	}
	owners := c.tolds[:0]
	for _, m := range all {
		owners = append(owners, &m.recorder.told)
	}
	iv.Standstills = c.still.find(owners, iv.EndNs, idle, iv.Standstills)
	total := &c.tally.total
	for i := range c.stillOf {
		for k, m := range all {
			owners[k] = &m.recorder.toldOf[i]
		}
		o, so := &iv.Operations[i], OperationAccount{}
		if i < len(total.Operations) {
			so = total.Operations[i]
		}
		o.Standstills = c.stillOf[i].find(owners, iv.EndNs, idle, o.Standstills)
		// If an operation is rare, every gap between two of its successes is long.
		o.Standstills = slices.DeleteFunc(o.Standstills, func(s Standstill) bool {
			length := s.EndNs - s.StartNs
			lostNs := int64(so.StandstillLengths.Sum()) + length
			return length < LeastStandstillNs(total.LoadNs+iv.DurationNs(), lostNs, so.OK()+o.OK())
		})
	}
	c.tolds = owners
}

// Note adds an event to the current interval. It is safe for concurrent use. Events beyond MaxEvents per interval are
// dropped.
func (c *Collector) Note(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.events) < MaxEvents {
		c.events = append(c.events, e)
	}
}

// gather collects from the members that have answered and returns the others.
func (c *Collector) gather(from []member, gone []*Recorder) (waiting []member, alsoGone []*Recorder) {
	waiting = from[:0:0]
	for _, m := range from {
		if m.shared != nil {
			m.shared.poll()
		}
		answered, closed := m.recorder.collect(c.take)
		if closed {
			gone = append(gone, m.recorder)
		}
		if !answered {
			waiting = append(waiting, m)
		}
	}
	return waiting, gone
}

func (c *Collector) forget(gone []*Recorder) {
	if len(gone) == 0 {
		return
	}
	closed := make(map[*Recorder]bool, len(gone))
	for _, r := range gone {
		closed[r] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.members[:0:0]
	for _, m := range c.members {
		if !closed[m.recorder] {
			kept = append(kept, m)
		}
	}
	c.members = kept
}

// Total returns the sum of all intervals so far, without warm-up. It is valid until the next Cut.
func (c *Collector) Total() *Account { return &c.tally.total }

// Tally returns the sums of all intervals so far. They are valid until the next Cut.
func (c *Collector) Tally() *Tally { return &c.tally }

// newInterval returns an interval with memory for all operations and addresses.
func newInterval(operations, addresses int) Interval {
	iv := Interval{Account: Account{
		Operations: make([]OperationAccount, operations),
		Addresses:  make([]AddressAccount, addresses),
		OwnLag:     NewHistogram(),
		Turnaround: NewHistogram(),
	}}
	for i := range iv.Addresses {
		iv.Addresses[i].Service = NewHistogram()
	}
	return iv
}

// begin resets the interval for the time up to endNs.
func (c *Collector) begin(endNs int64, meta Meta) {
	iv := &c.interval
	iv.Addresses = c.all
	for i := range iv.Operations {
		o := &iv.Operations[i]
		o.Counts, o.Standstills = Counts{}, o.Standstills[:0]
		for _, h := range [...]*Histogram{o.Response, o.WithoutGenerator, o.Service, o.Lag, o.FailedResponse} {
			if h != nil {
				h.Reset()
			}
		}
	}
	for i := range iv.Addresses {
		a := &iv.Addresses[i]
		a.Counts = Counts{}
		a.Service.Reset()
		a.Up, a.Reconnects = 0, 0
	}
	iv.OwnLag.Reset()
	iv.Turnaround.Reset()
	iv.Account = Account{
		StartNs: iv.EndNs, EndNs: endNs, Health: meta.Health,
		Operations: iv.Operations, Addresses: iv.Addresses, OwnLag: iv.OwnLag, Turnaround: iv.Turnaround,
		Standstills: iv.Standstills[:0], Events: iv.Events[:0],
	}
	iv.Index, iv.UnixNs = c.cuts, meta.UnixNs
	iv.Phase, iv.Kind, iv.WarmUp, iv.Drain = meta.Phase, meta.Kind, meta.WarmUp, meta.Drain
	iv.Control = meta.Control
	c.cuts++
}

// take adds the buffer that an owner handed over to the interval.
func (c *Collector) take(b *buffer) {
	iv := &c.interval
	if c.arrivals != nil {
		c.arrivals.take(b)
	}
	for i, from := range b.cells {
		if from == nil || from.empty() {
			continue
		}
		from.Attempts = from.Done + from.Retries
		from.ownLag.RecordN(0, from.onTime)
		from.otherLag.RecordN(0, from.closed)
		to := &iv.Operations[i/b.columns]
		to.Counts.Add(&from.Counts)
		merge(&to.Response, &from.response.Histogram)
		merge(&to.Response, &from.prompt.Histogram)
		merge(&to.WithoutGenerator, &from.prompt.Histogram)
		merge(&to.WithoutGenerator, &from.free.Histogram)
		merge(&to.WithoutGenerator, &from.waited)
		merge(&to.Lag, &from.ownLag.Histogram)
		merge(&to.Lag, &from.otherLag)
		iv.OwnLag.Merge(&from.ownLag.Histogram)
		merge(&to.FailedResponse, &from.failed)
		services := [...]*Histogram{&from.prompt.Histogram, &from.free.Histogram, &from.service}
		for _, h := range services {
			merge(&to.Service, h)
		}
		if address := i % b.columns; address < len(iv.Addresses) {
			to := &iv.Addresses[address]
			to.Counts.Add(&from.Counts)
			for _, h := range services {
				to.Service.Merge(h)
			}
		}
	}
	for i := range b.fates {
		iv.Operations[i].Counts.Add(&b.fates[i])
	}
	for i, n := range b.reconnects {
		iv.Addresses[i].Reconnects += n
	}
	iv.Offered += b.offered
	iv.OwnLag.Merge(&b.ownLag)
	iv.Turnaround.Merge(&b.turnaround.Histogram)
	iv.Health.SendStalls += b.stalls
	if g := &b.gauges; g.calls > 0 {
		iv.Health.LoopBusy = max(iv.Health.LoopBusy, g.loopBusy/float64(g.calls))
	}
}

func (iv *Interval) addGauges(g *gauges) {
	for i, up := range g.up {
		iv.Addresses[i].Up += up
		iv.Sessions += up
	}
	iv.Busy += g.busy
	iv.Backlog += g.backlog
}
