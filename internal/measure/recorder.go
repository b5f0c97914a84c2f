package measure

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"brunt/internal/protocol"
)

// LateNs is the lag from which an operation counts as late.
const LateNs = 1_000_000

// Sample is one finished operation. Times are nanoseconds on the run's monotonic clock.
type Sample struct {
	Operation      int
	Address        int
	Open           bool  // the operation is an arrival of an open load
	Intended       int64 // intended start; closed loads: equal to Sent
	Ready          int64 // when its session became free, after think time; 0 means unknown
	GeneratorDelay int64 // how much earlier Ready would have been if the generator had never been late
	Sent           int64 // actual send of the first attempt
	End            int64 // the last byte of the last attempt's answer
	Attempts       int   // ≥ 1
	Class          protocol.Class
	Counted        []uint32 // what a script counted, at most ScriptCounters; nil for other operations
	protocol.Facts
}

// Recorder stores the samples of one owner (an event loop, or a group of sessions). Only the owner may call Record,
// GiveUp, Unfinished, Abort, Offer, Stall, Reconnect, SetGauges, NextPhase, Asked, Poll and Close. They take no lock,
// and allocate only for the first sample of an operation at an address and for the first value of an octave: see
// Histogram. A Collector collects the samples through Poll, which swaps a double buffer.
//
// Padding keeps the owner's words off the cache lines of other owners and of the shared word.
type Recorder struct {
	_      [cacheLine]byte
	active *buffer // the owner's
	// prior is the owner's buffer of the phase before, until the fate of its arrivals is known or the collector asks for
	// it; nil otherwise. undecided counts those whose fate isn't known. extra is used for the next phase; nil if there is
	// a prior.
	prior     *buffer
	undecided uint64
	extra     *buffer
	_         [cacheLine - 32]byte

	state  atomic.Uint32
	handed *buffer      // used by the collector in states handed and closedHanded
	spare  *buffer      // in states idle and asked: used by the owner at the next hand-over
	end    atomic.Int64 // in state asked: the end of the interval for which the collector asks
	last   gauges       // used by the collector: as of the last hand-over
	until  int64        // used by the collector: untilNs of the last hand-over
	told   told         // the collector's
	toldOf []told       // the collector's, by operation; nil if there is one operation only
	_      [cacheLine]byte
}

const cacheLine = 64

// The states of the shared word. Only the owner leaves asked, and only the owner closes.
const (
	idle         uint32 = iota // nothing to do; spare is set
	asked                      // the collector wants the active buffer
	handed                     // the owner has swapped; the collector may take handed
	closed                     // closed by the owner; the collector may take prior and active
	closedHanded               // closed by the owner; the collector may take handed, prior and active
)

// Record adds a finished operation.
func (r *Recorder) Record(s *Sample) {
	if r.prior != nil && s.Intended < r.active.fromNs {
		r.recordPrior(s)
		return
	}
	r.active.record(s)
}

// recordPrior adds a finished operation to the phase before. The gaps between successes are one sequence, whatever
// phases they belong to.
func (r *Recorder) recordPrior(s *Sample) {
	swapGaps(r.prior, r.active)
	r.prior.record(s)
	swapGaps(r.prior, r.active)
	r.decided()
}

// decided notes that the fate of an arrival of the phase before is known.
func (r *Recorder) decided() {
	if r.undecided = max(r.undecided, 1) - 1; r.undecided == 0 {
		r.Poll()
	}
}

// OwnLag adds lag that the generator caused, for an arrival without a Sample. Record adds the own lag of samples.
func (r *Recorder) OwnLag(ns int64) { r.active.ownLag.Record(ns) }

// GiveUpAt counts an arrival of an operation with the intended start intendedNs that is given up at nowNs without being
// sent.
func (r *Recorder) GiveUpAt(operation int, why Unsent, intendedNs, nowNs int64) {
	b, prior := r.phaseOf(intendedNs)
	b.fates[operation].Unsent[why]++
	b.noteLost(operation, NoAddress, intendedNs, nowNs, why == UnsentGenerator)
	if prior {
		r.decided()
	}
}

// UnfinishedAt counts an operation at an address with the intended start intendedNs that is in flight when the load is
// cut off at nowNs. Such an operation has no Sample.
func (r *Recorder) UnfinishedAt(operation, address int, intendedNs, nowNs int64) {
	b, prior := r.phaseOf(intendedNs)
	b.fates[operation].Unfinished++
	b.noteLost(operation, address, intendedNs, nowNs, false)
	if prior {
		r.decided()
	}
}

// phaseOf returns the buffer of an arrival's phase, and whether that is the phase before.
func (r *Recorder) phaseOf(intendedNs int64) (b *buffer, prior bool) {
	if r.prior != nil && intendedNs < r.active.fromNs {
		return r.prior, true
	}
	return r.active, false
}

// GiveUp counts n arrivals of an operation that were given up without being sent.
func (r *Recorder) GiveUp(operation int, why Unsent, n uint64) {
	r.active.fates[operation].Unsent[why] += n
}

// Unfinished counts n operations that were sent and are in flight when the load is cut off. They have no Sample.
func (r *Recorder) Unfinished(operation int, n uint64) { r.active.fates[operation].Unfinished += n }

// Abort counts a session that takes no further operations after a failure of an operation.
func (r *Recorder) Abort(operation int) { r.active.fates[operation].Aborted++ }

// Offer counts n arrivals that fell due.
func (r *Recorder) Offer(n uint64) { r.active.offered += n }

// Stall counts a write that found the socket's buffer full.
func (r *Recorder) Stall() { r.active.stalls++ }

// Reconnect counts a session of an address that was connected again.
func (r *Recorder) Reconnect(address int) { r.active.reconnects[address]++ }

// SetGauges sets the current state: connected sessions by address, sessions that wait for an answer, arrivals that are
// due and not sent, and the share of time for which the loop was not asleep since the last call (0 for owners that
// aren't loops). If it is called several times in an interval, the last numbers count, and the mean of the shares. So
// call it at regular times, or when Asked returns true.
func (r *Recorder) SetGauges(up []int, busy int, backlog uint64, loopBusy float64) {
	g := &r.active.gauges
	copy(g.up, up)
	g.busy, g.backlog = busy, backlog
	g.loopBusy += loopBusy
	g.calls++
}

// SetUp adds the time for which sessions were connected, summed over them, during the last spanNs. Without it, the
// sessions connected at an interval's end stand for all of it. It is called together with SetGauges.
func (r *Recorder) SetUp(upNs float64, spanNs int64) {
	g := &r.active.gauges
	g.upNs, g.spanNs = g.upNs+upNs, g.spanNs+spanNs
}

// Asked reports whether the next Poll will hand over, so that the owner can set gauges first. It
// costs one atomic load.
func (r *Recorder) Asked() bool { return r.state.Load() == asked }

// Poll hands over what was recorded if the Collector has asked for it. The owner must call it at least every 100 ms.
// Otherwise it costs one atomic load.
func (r *Recorder) Poll() {
	switch s := r.state.Load(); {
	case s == asked && r.prior != nil && r.end.Load() < r.active.fromNs:
		r.handOver(&r.prior, &r.spare) // the phase before goes on
	case r.prior != nil && (s == asked || s == idle && r.undecided == 0):
		r.handOverPrior()
	case s == asked:
		r.handOver(&r.active, &r.spare)
	}
}

// NextPhase separates the arrivals of the phase that begins at ns on the run's clock, which the owner records from now
// on, from those before. The owner calls it before it counts or records the first arrival that falls due at ns or
// later, and sets gauges first. undecided is how many arrivals have fallen due before whose fate hasn't been recorded.
// Until it is, or the collector asks for the phase before, they are counted there. Then the phase before is handed over
// without being asked.
func (r *Recorder) NextPhase(ns int64, undecided uint64) {
	if r.prior != nil {
		r.Poll()
	}
	if r.prior != nil {
		return // the collector is late by a whole phase; its next cut has the arrivals of both
	}
	r.prior, r.undecided = r.active, undecided
	r.active, r.extra = r.extra, nil
	r.active.follow(r.prior)
	r.active.fromNs = ns
	r.Poll()
}

// handOver hands over a buffer of the owner, which goes on with another one.
func (r *Recorder) handOver(full, next **buffer) {
	b := *full
	b.flush()
	*full, *next = *next, nil
	(*full).follow(b)
	r.handed = b
	r.state.Store(handed)
}

// handOverPrior hands over the phase before. What follows of it is counted in the current phase.
func (r *Recorder) handOverPrior() {
	b := r.prior
	b.flush()
	b.untilNs = r.active.fromNs
	r.prior, r.undecided = nil, 0
	r.extra, r.spare = r.spare, nil
	r.handed = b
	r.state.Store(handed)
}

// Close hands over everything. The owner must not use r afterwards. A second call does nothing.
func (r *Recorder) Close() {
	if s := r.state.Load(); s == closed || s == closedHanded {
		return
	}
	if r.prior != nil {
		r.prior.flush()
		r.prior.untilNs = r.active.fromNs
	}
	r.active.flush()
	for {
		switch state := r.state.Load(); state {
		case idle, asked:
			if r.state.CompareAndSwap(state, closed) {
				return
			}
		case handed:
			if r.state.CompareAndSwap(state, closedHanded) {
				return
			}
		default:
			return
		}
	}
}

// request makes the owner hand over what belongs to an interval at its next Poll, if it hasn't already done so.
func (r *Recorder) request(endNs int64) {
	r.end.Store(endNs)
	r.state.CompareAndSwap(idle, asked)
}

// collect passes the buffers that the owner has handed over to take, except those of phases that begin at endNs or
// later. It reports whether the owner has answered the request, and whether the recorder is closed.
func (r *Recorder) collect(endNs int64, take func(*buffer)) (answered, gone bool) {
	switch r.state.Load() {
	case handed:
		if r.handed.fromNs >= endNs {
			return true, false
		}
		r.taken(r.handed, take)
		r.spare = r.handed
		// A failed exchange means that the owner has closed the recorder in between. The next call then finds the
		// active buffer, and an empty handed buffer.
		return r.state.CompareAndSwap(handed, idle), false
	case closedHanded:
		if r.handed.fromNs >= endNs {
			return true, false
		}
		r.taken(r.handed, take)
		r.state.Store(closed) // the owner changes nothing after closing
		return r.collect(endNs, take)
	case closed:
		if p := r.prior; p != nil && p.fromNs < endNs {
			r.taken(p, take)
			r.prior = nil
		}
		if r.prior != nil || r.active.fromNs >= endNs {
			return true, false
		}
		r.taken(r.active, take)
		return true, true
	}
	return false, false
}

func (r *Recorder) taken(b *buffer, take func(*buffer)) {
	take(b)
	r.last.follow(&b.gauges)
	r.until = b.untilNs
	r.told.take(&b.gaps)
	for i := range b.gapsOf {
		r.toldOf[i].take(&b.gapsOf[i])
	}
	b.reset()
}

// Shared is a Recorder with a mutex, for many goroutines with few samples each. It needs no Poll.
type Shared struct {
	mu    sync.Mutex
	r     *Recorder
	state func(*Recorder) // see Tell; may be nil
}

// Tell sets a function that is called just before each hand-over, with exclusive use of the Recorder, so that gauges
// and offered arrivals are of the same moment as the samples. Tell must be called before the first Cut.
func (s *Shared) Tell(f func(r *Recorder)) { s.state = f }

// Record adds a finished operation.
func (s *Shared) Record(sample *Sample) {
	s.mu.Lock()
	s.r.Record(sample)
	s.mu.Unlock()
}

// Do calls f with exclusive use of the Recorder. f must not keep it.
func (s *Shared) Do(f func(r *Recorder)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.r)
}

// Close hands over everything. Nothing may be recorded afterwards.
func (s *Shared) Close() { s.Do((*Recorder).Close) }

func (s *Shared) poll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != nil && s.r.Asked() {
		s.state(s.r)
	}
	s.r.Poll()
}

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
	answers  []answerTimes // by operation
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
	return NewCollectorWaiting(operations, addresses, waitTwoSeconds)
}

// NewCollectorWaiting returns a collector whose Cut waits for owners by wait: Cut calls it with 0, 1, 2 … while some
// owners have not polled, until it returns false. NewCollector's sleeps for 1 ms at a time, for 2 s.
func NewCollectorWaiting(operations, addresses int, wait func(attempt int) bool) *Collector {
	c := &Collector{
		operations: operations,
		addresses:  addresses,
		wait:       wait,
		interval:   newInterval(operations, addresses),
		answers:    slices.Repeat([]answerTimes{{now: noPace(), before: noPace()}}, operations),
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

// Begin makes the next interval begin at ns, because a stage of the load begins then and nothing was due since the last
// one ended. It must not be called while a stage is running.
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
		active: newBuffer(c.operations, c.addresses, &c.shown, c.deadlineNs()),
		spare:  newBuffer(c.operations, c.addresses, &c.shown, c.deadlineNs()),
		extra:  newBuffer(c.operations, c.addresses, &c.shown, c.deadlineNs()),
		last:   gauges{up: make([]int, c.addresses)},
	}
	if c.operations > 1 {
		r.toldOf = make([]told, c.operations)
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
// returns it. Samples recorded later, and those of a phase that begins at endNs, belong to the next interval. No sample
// is lost or counted twice. The Interval is valid until the next Cut. LoopBusy and SendStalls in meta's Health are
// raised to the recorders' values.
//
// Cut asks all owners and waits for their Poll. If an owner doesn't poll within 2 s (see NewCollectorWaiting), the next
// Cut collects its samples. Until then its gauges keep their last values, and its standstills are not reported.
func (c *Collector) Cut(endNs int64, meta Meta) *Interval {
	c.begin(endNs, meta)
	c.mu.Lock()
	all := append([]member(nil), c.members...)
	c.interval.Events, c.events = append(c.interval.Events, c.events...), c.events[:0]
	c.mu.Unlock()

	var waiting []member
	var gone []*Recorder
	for _, m := range all {
		// Begin with buffers that were handed over after the last Cut had stopped waiting, or because a phase ended.
		m.recorder.collect(endNs, c.take)
		if m.recorder.until >= endNs {
			continue
		}
		m.recorder.request(endNs)
		waiting = append(waiting, m)
	}
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
	c.noteAnswers(all)
	iv.Standstills = c.still.find(owners, c.answers, iv.EndNs, idle, iv.Standstills)
	total := &c.tally.total
	for i := range c.stillOf {
		for k, m := range all {
			owners[k] = &m.recorder.toldOf[i]
		}
		o, so := &iv.Operations[i], OperationAccount{}
		if i < len(total.Operations) {
			so = total.Operations[i]
		}
		o.Standstills = c.stillOf[i].find(owners, c.answers, iv.EndNs, idle, o.Standstills)
		// If an operation is rare, every gap between two of its successes is long.
		o.Standstills = slices.DeleteFunc(o.Standstills, func(s Standstill) bool {
			length := s.EndNs - s.StartNs
			lostNs := int64(so.StandstillLengths.Sum()) + length
			return length < LeastStandstillNs(total.LoadNs+iv.DurationNs(), lostNs, so.OK()+o.OK())
		})
	}
	c.tolds = owners
}

// noteAnswers notes how fast the operations were answered in the interval.
func (c *Collector) noteAnswers(all []member) {
	for i := range c.answers {
		a := &c.answers[i]
		for _, m := range all {
			t := &m.recorder.told
			if c.stillOf != nil {
				t = &m.recorder.toldOf[i]
			}
			a.newest = max(a.newest, t.newest)
		}
		a.interval(c.interval.Operations[i].Service)
	}
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
		answered, closed := m.recorder.collect(c.interval.EndNs, c.take)
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
		for _, h := range o.Times() {
			if *h != nil {
				(*h).Reset()
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
	iv.Control, iv.SessionsMean = meta.Control, 0
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
		if s := from.streams; s != nil {
			merge(&to.StreamFirst, &s.first)
			merge(&to.StreamBetween, &s.between)
			merge(&to.StreamLag, &s.lag)
		}
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
	up := 0
	for i, n := range g.up {
		iv.Addresses[i].Up += n
		up += n
	}
	iv.Sessions += up
	iv.Busy += g.busy
	iv.Backlog += g.backlog
	if g.spanNs > 0 {
		iv.SessionsMean += g.upNs / float64(g.spanNs)
	} else {
		iv.SessionsMean += float64(up)
	}
}
