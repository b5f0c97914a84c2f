package measure

import (
	"sync"
	"time"
)

// Collector cuts the run into intervals over all recorders and keeps totals. NewRecorder and
// NewShared may be called at any time by anybody; Cut, Total and Tally by one goroutine.
type Collector struct {
	operations, addresses int

	wait func(attempt int) bool

	mu      sync.Mutex // guards members and events
	members []member
	events  []Event // not yet in an interval

	interval Interval
	tally    Tally
	still    standstills
	cuts     int
}

// member is a recorder, with its mutex if it has one.
type member struct {
	recorder *Recorder
	shared   *Shared
}

// NewCollector returns a collector for so many operations and addresses.
func NewCollector(operations, addresses int) *Collector {
	return &Collector{
		operations: operations,
		addresses:  addresses,
		wait:       waitTwoSeconds,
		interval:   newInterval(operations, addresses),
	}
}

// Begin makes the first interval begin at ns instead of 0: what came before was no load. It must be
// called before the first Cut.
func (c *Collector) Begin(ns int64) { c.interval.EndNs, c.still.from = ns, ns }

func waitTwoSeconds(attempt int) bool {
	time.Sleep(time.Millisecond)
	return attempt < 2000
}

// SetWait replaces how Cut waits for owners: it calls wait with 0, 1, 2 … for as long as some
// haven't polled, until wait returns false. The default sleeps 1 ms at a time for 2 s. It must
// be set before the first Cut.
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
	return &Recorder{
		active: newBuffer(c.operations, c.addresses),
		spare:  newBuffer(c.operations, c.addresses),
		last:   gauges{up: make([]int, c.addresses)},
		told:   told{failed: never},
	}
}

func (c *Collector) add(m member) {
	c.mu.Lock()
	c.members = append(c.members, m)
	c.mu.Unlock()
}

// Cut ends the interval under way at endNs, merges what all recorders have, adds it to the
// totals, and returns it. Samples recorded later belong to the next interval; none is lost or
// counted twice. The Interval is valid until the next Cut. LoopBusy and SendStalls of meta's
// Health are raised by what the recorders say.
//
// Cut asks all owners and waits for their Poll. An owner that doesn't poll within 2 s (see
// SetWait) keeps what it has, and the next Cut takes it; its gauges stand as last told, and
// standstills come to light with that next Cut.
func (c *Collector) Cut(endNs int64, meta Meta) *Interval {
	c.begin(endNs, meta)
	c.mu.Lock()
	waiting := append([]member(nil), c.members...)
	c.interval.Events, c.events = append(c.interval.Events, c.events...), c.events[:0]
	c.mu.Unlock()

	var gone []*Recorder
	for _, m := range waiting {
		// What was handed over after the last Cut had given up comes first.
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
	c.still.slept(&c.interval)
	if len(waiting) == 0 {
		c.interval.Standstills = c.still.find(all, endNs, meta.Idle, c.interval.Standstills)
	}
	c.forget(gone)
	if meta.ScheduleEnd {
		c.interval.Overdue = c.interval.Backlog
	}
	c.interval.Settle()
	_ = c.tally.Interval(&c.interval)
	return &c.interval
}

// Note adds an event to the interval under way. It is safe for concurrent use. Beyond MaxEvents in
// an interval they are left out.
func (c *Collector) Note(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.events) < MaxEvents {
		c.events = append(c.events, e)
	}
}

// gather collects from those who have answered and returns the others.
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

// Total is the sum of all intervals so far, warm-up excluded, valid until the next Cut.
func (c *Collector) Total() *Account { return &c.tally.total }

// Tally is the sums of all intervals so far, valid until the next Cut.
func (c *Collector) Tally() *Tally { return &c.tally }
