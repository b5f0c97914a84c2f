package measure

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"brunt/internal/protocol"
)

// polling makes Cut call poll instead of sleeping.
func polling(c *Collector, recorders ...*Recorder) {
	c.SetWait(func(int) bool {
		for _, r := range recorders {
			r.Poll()
		}
		return true
	})
}

func TestRecordSorts(t *testing.T) {
	c := NewCollector(2, 2)
	r := c.NewRecorder()
	polling(c, r)
	for _, s := range []Sample{
		{Operation: 0, Address: 0, Intended: 100, Sent: 100, End: 1100, Attempts: 1,
			Facts: protocol.Facts{Status: 204, BytesIn: 10}},
		{Operation: 0, Address: 1, Intended: 100, Sent: 600, End: 1600, Attempts: 3,
			Facts: protocol.Facts{Missing: true, Misdirected: true, Unmapped: true, Status: 99}},
		{Operation: 0, Address: 1, Intended: 0, Sent: LateNs + 1, End: LateNs + 2001,
			Facts: protocol.Facts{BadHash: true, Status: 600}},
		{Operation: 0, Address: 9, Intended: 0, Sent: LateNs, End: LateNs + 5000, Attempts: 2, Class: protocol.Timeout,
			Facts: protocol.Facts{Status: 503}},
		{Operation: 1, Address: -1, Intended: 0, Sent: 0, End: 7, Attempts: 1, Class: protocol.Server,
			Facts: protocol.Facts{BytesIn: -1}},
	} {
		r.Record(&s)
	}
	r.GiveUp(1, UnsentNoSession, 4)
	r.Unfinished(1, 2)
	r.Offer(9)
	r.Stall()
	r.Reconnect(1)
	iv := c.Cut(1e9, Meta{Phase: "p", UnixNs: 5})

	o := &iv.Operations[0]
	want := Counts{Done: 4, Attempts: 7, Retries: 3, Late: 1, Missing: 1, BadHash: 1, Misdirected: 1, Unmapped: 1,
		BytesIn: 10}
	want.Errors[protocol.Timeout], want.Status[2], want.Status[5] = 1, 1, 1
	if o.Counts != want {
		t.Errorf("operation 0: %+v\nwant %+v", o.Counts, want)
	}
	if o.OK() != 3 || o.Response.Count() != 3 || o.Service.Count() != 3 || o.Lag.Count() != 4 ||
		o.FailedResponse.Count() != 1 {
		t.Errorf("histograms hold %d, %d, %d, %d", o.Response.Count(), o.Service.Count(), o.Lag.Count(),
			o.FailedResponse.Count())
	}
	if o.Service.Max() != 2000 || o.Service.Min() != 1000 || o.Response.Max() != LateNs+2001 || o.Lag.Min() != 0 ||
		o.Lag.Max() != LateNs+1 || o.FailedResponse.Max() != LateNs+5000 {
		t.Errorf("service %d–%d, response ≤ %d, lag %d–%d, failed %d", o.Service.Min(), o.Service.Max(), o.Response.Max(),
			o.Lag.Min(), o.Lag.Max(), o.FailedResponse.Max())
	}
	if p := &iv.Operations[1]; p.Dropped() != 4 || p.Unfinished != 2 || p.NoAnswer() != 7 || p.Failed() != 1 ||
		p.Attempts != 1 || p.BytesIn != 0 {
		t.Errorf("operation 1: %+v", p.Counts)
	}
	a := &iv.Addresses[1]
	if a.Done != 2 || a.Attempts != 4 || a.Late != 1 || a.Service.Count() != 2 || a.Reconnects != 1 ||
		iv.Addresses[0].Done != 1 {
		t.Errorf("address 1: %+v", a)
	}
	if iv.Offered != 9 || iv.Health.SendStalls != 1 || iv.Phase != "p" || iv.UnixNs != 5 || iv.StartNs != 0 ||
		iv.EndNs != 1e9 {
		t.Errorf("interval: %+v", iv)
	}

	if iv = c.Cut(2e9, Meta{}); iv.Index != 1 || iv.StartNs != 1e9 || iv.Operations[0].Done != 0 ||
		iv.Operations[0].Lag.Count() != 0 || iv.Addresses[1].Reconnects != 0 {
		t.Errorf("the second interval isn't empty: %+v", iv)
	}
	if total := c.Total(); total.Operations[0].Done != 4 || total.Addresses[1].Reconnects != 1 || total.EndNs != 2e9 ||
		total.StartNs != 0 {
		t.Errorf("total: %+v", total)
	}
}

// The generator's own lag counts from the intended start, or from the time at which the session became free.
func TestOwnLag(t *testing.T) {
	c := NewCollector(1, 1)
	r := c.NewRecorder()
	polling(c, r)
	for _, s := range []Sample{
		// the session was free before: 7
		{Open: true, Intended: 1000, Ready: 500, Sent: 1007, End: 9000},
		{Open: true, Intended: 1000, Ready: 5000, Sent: 5003, End: 9000},                        // waited for a session: 3
		{Open: true, Intended: 1000, Ready: 5000, Sent: 4000, End: 9000},                        // inconsistent times: 0
		{Open: true, Intended: 1000, Ready: 900, Sent: 1011, End: 9000, Class: protocol.Server}, // failures count as well: 11
		{Intended: 1000, Sent: 9000, End: 9000},                                                 // a closed load: unknown
	} {
		r.Record(&s)
	}
	r.OwnLag(2000)
	check := func(what string, h *Histogram) {
		t.Helper()
		if h.Count() != 5 || h.Min() != 0 || h.Max() != 2000 || h.Mean() != 2021.0/5 {
			t.Errorf("%s: %d own lags, %d to %d ns, mean %g ns", what, h.Count(), h.Min(), h.Max(), h.Mean())
		}
	}
	check("interval", c.Cut(1e9, Meta{}).OwnLag)
	if iv := c.Cut(2e9, Meta{}); iv.OwnLag.Count() != 0 {
		t.Errorf("the next interval holds %d of them", iv.OwnLag.Count())
	}
	check("total", c.Total().OwnLag)
}

// Backlog that builds up during a stall of the generator is attributed to the generator in full. Backlog before busy
// sessions is not, even if the generator is slow between two operations.
func TestUnhinderedByWhatPiledUp(t *testing.T) {
	const service, turn = 1_000_000, 100_000
	play := func(gap, standsUntil int64, n int) (response, unhindered *Histogram) {
		c := NewCollector(1, 1)
		r := c.NewRecorder()
		polling(c, r)
		ready, behind := int64(1), int64(0)
		for i := range n {
			intended := int64(i+1) * gap
			sent := max(intended, ready+turn, standsUntil)
			s := Sample{Open: true, Intended: intended, Ready: ready, GeneratorDelay: behind, Sent: sent, End: sent + service}
			r.Record(&s)
			ready, behind = s.End, s.Carry()
		}
		o := &c.Cut(1e9, Meta{}).Operations[0]
		return o.Response, o.WithoutGenerator
	}
	response, unhindered := play(2*service, 500*service, 400)
	if response.Quantile(0.5) < 150*service || unhindered.Max() > service*101/100 {
		t.Errorf("after a standstill: response p50 %d ns, without the generator's part at most %d ns of %d",
			response.Quantile(0.5), unhindered.Max(), service)
	}
	response, unhindered = play(service/2, 0, 400)
	if own := float64(response.Max()-unhindered.Max()) / float64(response.Max()); own > 0.02 {
		t.Errorf("with a session that can't keep up %.3f of the longest response, %d ns, are the generator's", own,
			response.Max())
	}
}

func TestWarmUpStaysOutOfTotals(t *testing.T) {
	c := NewCollector(1, 1)
	s := c.NewShared()
	for i, warm := range []bool{true, false, false} {
		s.Record(&Sample{End: int64(i+1) * 100})
		c.Cut(int64(i+1)*1e9, Meta{WarmUp: warm, Health: Health{ProcessCPU: float64(i), GCPauseNsMax: int64(10 - i),
			GCCycles: 2, PausedNs: 1}})
	}
	total := c.Total()
	if o := &total.Operations[0]; o.Done != 2 || o.Response.Min() != 200 || total.Addresses[0].Done != 2 {
		t.Errorf("total: %+v", o)
	}
	if h := total.Health; h.ProcessCPU != 1.5 || h.GCPauseNsMax != 9 || h.GCCycles != 4 || h.PausedNs != 2 {
		t.Errorf("health: %+v", h)
	}
}

func TestGauges(t *testing.T) {
	c := NewCollector(1, 2)
	loop, shared := c.NewRecorder(), c.NewShared()
	asked := 0
	c.SetWait(func(int) bool {
		if loop.Asked() {
			asked++
			loop.Poll()
		}
		return true
	})
	loop.SetGauges([]int{3, 4}, 5, 6, 0.5)
	loop.SetGauges([]int{2, 4}, 1, 7, 0.9)
	shared.Do(func(r *Recorder) { r.SetGauges([]int{10, 0}, 2, 3, 0) })
	iv := c.Cut(1, Meta{})
	if iv.Sessions != 16 || iv.Busy != 3 || iv.Backlog != 10 || iv.Addresses[0].Up != 12 || iv.Health.LoopBusy != 0.7 ||
		asked != 1 {
		t.Errorf("%+v, asked %d times", iv, asked)
	}
	shared.Close()
	if iv = c.Cut(2, Meta{}); iv.Sessions != 16 || iv.Health.LoopBusy != 0 {
		t.Errorf("gauges should stand until told otherwise: %+v", iv)
	}
	if iv = c.Cut(3, Meta{}); iv.Sessions != 6 || c.Total().Sessions != 6 {
		t.Errorf("a closed recorder still has sessions: %+v", iv)
	}
}

// An owner that doesn't poll delays a cut only for a limited time, and its samples are not lost.
func TestSilentOwner(t *testing.T) {
	c := NewCollector(1, 1)
	r := c.NewRecorder()
	waits := 0
	c.SetWait(func(attempt int) bool { waits++; return attempt < 3 })
	r.Record(&Sample{End: 10})
	if iv := c.Cut(1, Meta{}); iv.Operations[0].Done != 0 || waits != 4 {
		t.Errorf("%d done after %d waits", iv.Operations[0].Done, waits)
	}
	r.Record(&Sample{End: 20})
	r.Poll() // too late for the first cut
	r.Record(&Sample{End: 30})
	r.Poll() // no hand-over was requested
	if iv := c.Cut(2, Meta{}); iv.Operations[0].Done != 2 || iv.Operations[0].Response.Max() != 20 {
		t.Errorf("%d done, want the 2 handed over late", iv.Operations[0].Done)
	}
	r.Record(&Sample{End: 40})
	r.Close()
	r.Close()
	if iv := c.Cut(3, Meta{}); iv.Operations[0].Done != 2 || iv.Operations[0].Response.Min() != 30 {
		t.Errorf("%d done, want the last 2", iv.Operations[0].Done)
	}
	waits = 0
	if iv := c.Cut(4, Meta{}); iv.Operations[0].Done != 0 || waits != 0 || len(c.members) != 0 {
		t.Errorf("a closed recorder gave %d more and made Cut wait %d times", iv.Operations[0].Done, waits)
	}
	if c.Total().Operations[0].Done != 4 {
		t.Errorf("%d in total, want 4", c.Total().Operations[0].Done)
	}
}

func TestCloseWithHandOverPending(t *testing.T) {
	c := NewCollector(1, 1)
	r := c.NewRecorder()
	c.SetWait(func(int) bool { return false })
	r.Record(&Sample{End: 10})
	c.Cut(1, Meta{})
	r.Poll()
	r.Record(&Sample{End: 20})
	r.Close()
	if iv := c.Cut(2, Meta{}); iv.Operations[0].Done != 2 {
		t.Errorf("%d done, want both", iv.Operations[0].Done)
	}
}

// The intervals together contain exactly what was recorded, for any concurrency of owners and collector. Some owners
// close, and new ones are added.
func TestConservation(t *testing.T) {
	const owners, rounds, each = 4, 6, 3000
	c := NewCollector(3, 2)
	// The short wait is intended: owners that are slow to poll are left for later.
	c.SetWait(func(attempt int) bool { runtime.Gosched(); return attempt < 20 })
	var recorded, sum, offered atomic.Uint64
	var running sync.WaitGroup
	for owner := range owners {
		running.Go(func() {
			for round := range rounds {
				own(c, owner, round, each, &recorded, &sum, &offered)
			}
		})
	}
	shared := c.NewShared()
	for owner := range owners {
		running.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(owner), 77))
			for range each {
				s := randomSample(rnd)
				recorded.Add(1)
				sum.Add(uint64(s.End - s.Intended))
				shared.Record(&s)
			}
		})
	}
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()

	var got, gotSum, gotOffered, gotAddress uint64
	add := func(iv *Interval) {
		gotOffered += iv.Offered
		for i := range iv.Operations {
			o := &iv.Operations[i]
			got += o.Done
			gotSum += sumOf(o.Response) + sumOf(o.FailedResponse)
			if o.Lag.Count() != o.Done || o.Response.Count() != o.OK() || o.Service.Count() != o.OK() ||
				o.FailedResponse.Count() != o.Failed() {
				t.Errorf("interval %d, operation %d: histograms and counts differ", iv.Index, i)
			}
		}
		for i := range iv.Addresses {
			gotAddress += iv.Addresses[i].Done
		}
	}
	end := int64(0)
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		end++
		add(c.Cut(end, Meta{}))
	}
	if got != recorded.Load() || gotAddress != got || gotSum != sum.Load() || gotOffered != offered.Load() {
		t.Errorf("%d samples (%d by address) of %d ns, %d offered; recorded %d of %d ns, %d offered",
			got, gotAddress, gotSum, gotOffered, recorded.Load(), sum.Load(), offered.Load())
	}
	if got != owners*(rounds+1)*each {
		t.Errorf("%d samples, want %d", got, owners*(rounds+1)*each)
	}
	total := uint64(0)
	for i := range c.Total().Operations {
		total += c.Total().Operations[i].Done
	}
	if total != got {
		t.Errorf("totals hold %d, intervals %d", total, got)
	}
}

func randomSample(rnd *rand.Rand) Sample {
	s := Sample{Operation: rnd.IntN(3), Address: rnd.IntN(2), Intended: rnd.Int64N(1000), Attempts: 1 + rnd.IntN(2)}
	s.Sent = s.Intended + max(0, rnd.Int64N(2000)-1000)
	s.End = s.Sent + rnd.Int64N(1_000_000)
	if rnd.IntN(10) == 0 {
		s.Class = protocol.Server
	}
	return s
}

// own records samples as one owner does, from creation to close.
func own(c *Collector, owner, round, n int, recorded, sum, offered *atomic.Uint64) {
	r := c.NewRecorder()
	rnd := rand.New(rand.NewPCG(uint64(owner), uint64(round)))
	for i := range n {
		s := randomSample(rnd)
		recorded.Add(1)
		sum.Add(uint64(s.End - s.Intended))
		offered.Add(1)
		r.Record(&s)
		r.Offer(1)
		if i%(5+owner*100) == 0 {
			r.SetGauges([]int{1, 2}, 1, 0, 0.1)
			r.Poll()
		}
	}
	r.Close()
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	r := NewCollector(1, 1).NewRecorder()
	s := Sample{Intended: 5, Sent: 10, End: 100_000, Attempts: 2, Class: protocol.OK}
	r.Record(&s)
	up := []int{3}
	if n := testing.AllocsPerRun(1000, func() {
		r.Record(&s)
		r.Offer(1)
		r.SetGauges(up, 1, 2, 0.5)
		r.Poll()
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestMemoryStaysFlat(t *testing.T) {
	c := NewCollector(2, 1)
	r := c.NewRecorder()
	polling(c, r)
	values := spread(9, 2000)
	round := func(n int) {
		for i := range n {
			for k, v := range values {
				r.Record(&Sample{Operation: k & 1, Sent: v / 2, End: v})
			}
			c.Cut(int64(i), Meta{})
		}
	}
	round(3)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	round(50)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<10 {
		t.Errorf("50 intervals allocated %d bytes", grown)
	}
}

func sumOf(h *Histogram) uint64 {
	if h == nil {
		return 0
	}
	return h.sumLo
}

// What is recorded after the owner has begun the next phase is left for that phase, whenever the cut comes.
func TestNextPhaseKeepsPhasesApart(t *testing.T) {
	for _, asked := range []bool{false, true} {
		c := NewCollector(1, 1)
		c.SetWait(func(int) bool { return false })
		r := c.NewRecorder()
		if asked {
			c.Cut(50, Meta{Phase: "warm-up"})
		}
		r.Offer(2)
		r.Record(&Sample{End: 90})
		r.NextPhase(100, 0)
		r.Offer(1)
		r.Record(&Sample{Intended: 105, End: 110})
		done := func(iv *Interval) uint64 { return iv.Operations[0].Done }
		if iv := c.Cut(80, Meta{Phase: "warm-up"}); done(iv) != 1 || iv.Offered != 2 {
			t.Errorf("asked %v: the warm-up has %d done of %d", asked, done(iv), iv.Offered)
		}
		r.Poll()
		if iv := c.Cut(100, Meta{Phase: "warm-up"}); done(iv) != 0 || iv.Offered != 0 {
			t.Errorf("asked %v: the warm-up has %d more of %d", asked, done(iv), iv.Offered)
		}
		r.Poll()
		r.Record(&Sample{Intended: 115, End: 120})
		r.Close()
		if iv := c.Cut(100, Meta{Phase: "warm-up"}); done(iv) != 0 {
			t.Errorf("asked %v: the warm-up has %d of a closed recorder", asked, done(iv))
		}
		if iv := c.Cut(200, Meta{Phase: "measure"}); done(iv) != 2 || iv.Offered != 1 {
			t.Errorf("asked %v: the phase after has %d done of %d, want 2 of 1", asked, done(iv), iv.Offered)
		}
	}
}

// What comes after the next phase has begun counts in the phase of its arrival until the collector asks for that phase.
func TestPriorPhase(t *testing.T) {
	c := NewCollector(2, 1)
	c.KeepArrivals(1e6)
	c.SetWait(func(int) bool { return false })
	r := c.NewRecorder()
	sample := func(operation int, intended, end int64) *Sample {
		return &Sample{Operation: operation, Open: true, Intended: intended, Ready: 1, Sent: intended, End: end, Attempts: 1}
	}
	r.Offer(5)
	r.Record(sample(0, 10, 20))
	r.NextPhase(100, 4)
	r.Offer(3)
	r.Record(sample(1, 100, 105))
	r.Record(sample(1, 99, 110))
	r.GiveUpAt(0, UnsentNoSession, 98, 111)
	r.UnfinishedAt(0, 0, 97, 112)
	counts := func(iv *Interval) string {
		a, b := &iv.Operations[0].Counts, &iv.Operations[1].Counts
		return fmt.Sprint(iv.Offered, " ", a.Done, b.Done, a.Unsent[UnsentNoSession], a.Unfinished)
	}
	_ = c.Cut(100, Meta{Phase: "first"}) // asks, and doesn't wait
	r.Poll()
	r.Record(sample(1, 96, 130)) // too late for its phase
	if iv := c.Cut(100, Meta{Phase: "first"}); counts(iv) != "5 1 1 1 1" {
		t.Errorf("the first phase has %s", counts(iv))
	}
	r.Poll()
	r.NextPhase(200, 1)
	r.Record(sample(0, 150, 210)) // the last one: handed over without being asked
	r.Record(sample(0, 200, 220))
	if iv := c.Cut(200, Meta{Phase: "second"}); counts(iv) != "3 1 2 0 0" {
		t.Errorf("the second phase has %s", counts(iv))
	}
	r.Poll()
	_ = c.Cut(250, Meta{Phase: "third"}) // asks for an interval before the boundary
	r.NextPhase(300, 2)
	r.Record(sample(0, 260, 310))
	if iv := c.Cut(250, Meta{Phase: "third"}); counts(iv) != "0 1 0 0 0" {
		t.Errorf("the third phase begins with %s", counts(iv))
	}
	r.Record(sample(0, 270, 320))
	r.Close()
	if iv := c.Cut(300, Meta{Phase: "third"}); counts(iv) != "0 2 0 0 0" {
		t.Errorf("the third phase goes on with %s", counts(iv))
	}
}

// Answers of two phases that alternate are one sequence of successes: there is no standstill between them.
func TestAlternatingAnswersOfTwoPhasesAreNoStandstill(t *testing.T) {
	const ms = 1e6
	c := NewCollector(1, 1)
	c.SetWait(func(int) bool { return false })
	r := c.NewRecorder()
	r.Record(&Sample{Open: true, Intended: 1 * ms, Ready: 1, Sent: 1 * ms, End: 2 * ms})
	r.NextPhase(10*ms, 5)
	for i := range int64(5) {
		r.Record(&Sample{Open: true, Intended: 9 * ms, Ready: 1, Sent: 9 * ms, End: (10 + 90*i) * ms})
	}
	r.Record(&Sample{Open: true, Intended: 11 * ms, Ready: 1, Sent: 11 * ms, End: 380 * ms})
	r.Close()
	first := len(c.Cut(10*ms, Meta{Phase: "first"}).Standstills)
	if n := len(c.Cut(400*ms, Meta{Phase: "second", Idle: true}).Standstills); first+n != 0 {
		t.Errorf("%d and %d standstills", first, n)
	}
}
