package session

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"go.k6.io/k6/v2/metrics"

	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

func begun(t *testing.T, model string) *Session {
	t.Helper()
	s := New(Options{Dir: filepath.Join(t.TempDir(), "bundle")})
	if err := s.Begin(Script{Name: "test", LoadModel: model}); err != nil {
		t.Fatal(err)
	}
	return s
}

// ended closes the session and reads its record.
func ended(t *testing.T, s *Session, o Outcome) *record.Run {
	t.Helper()
	if err := s.Close(o); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(o); err != nil {
		t.Errorf("a second end: %v", err)
	}
	r, err := record.Open(record.OS{}, s.o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var sum uint64
	if err := r.Intervals(func(iv *measure.Interval) error {
		c := iv.Totals()
		sum += c.Done
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if sum != r.Run.Total.Done {
		t.Errorf("the intervals have %d operations, the totals %d", sum, r.Run.Total.Done)
	}
	return r.Run
}

func TestCallsAreCounted(t *testing.T) {
	s := begun(t, "closed")
	h := s.Handle(1)
	for i := range 2 * mostOperations {
		h.Done(Call{Operation: s.Operation(fmt.Sprint("call ", i)), Address: s.Address("pg", fmt.Sprint("host:", i)),
			Sent: s.Now(), Facts: protocol.Facts{BytesIn: 10}})
	}
	h.Done(Call{Operation: s.Operation("call 0"), Address: -1, Sent: s.Now(), Class: protocol.Timeout, Code: "57014",
		Text: "pg://user:secret@host failed"})
	run := ended(t, s, Outcome{Thresholds: []record.Threshold{
		{Text: "things: rate>1", Pass: true, Unit: "per_s", Limit: 1, Aggregate: &record.Aggregate{How: "rate", Holds: ">",
			Values: 3}},
		{Text: "good: rate>0.4", Pass: true, Unit: "fraction", Value: 0.5, Limit: 0.4,
			Aggregate: &record.Aggregate{How: "rate", Holds: ">", Values: 4}},
	}})
	if got, want := float64(run.Thresholds[0].Value), 3/(float64(run.DurationNs)/1e9); math.Abs(got-want) > 1e-9*want ||
		run.Thresholds[1].Value != 0.5 {
		t.Errorf("a counter's rate is %g, want %g; a rate's %g, want 0.5", got, want, run.Thresholds[1].Value)
	}
	if len(run.Operations) != mostOperations || len(run.Targets) != mostAddresses {
		t.Errorf("%d operations, %d addresses", len(run.Operations), len(run.Targets))
	}
	if last := run.Operations[mostOperations-1]; last.Name != record.OtherOperations || last.Done != mostOperations+1 {
		t.Errorf("%s has %d", last.Name, last.Done)
	}
	if run.Total.Done != 2*mostOperations+1 || run.Total.Errors[protocol.Timeout] != 1 ||
		run.Total.BytesIn != 20*mostOperations {
		t.Errorf("%+v", run.Total.Counts)
	}
	if len(run.Failures) != 1 || run.Failures[0].Code != "57014" ||
		run.Failures[0].Text == "pg://user:secret@host failed" {
		t.Errorf("failures %+v", run.Failures)
	}
}

func TestTheFirstCallOfAnArrivalCountsFromItsIntendedStart(t *testing.T) {
	s := begun(t, "open")
	h := s.Handle(1)
	now := s.Now()
	of := &Scenario{Name: "open"}
	h.Begin(of, Arrival{Intended: now - 500e6, Ready: now - 100e6, Began: now})
	h.Done(Call{Operation: s.Operation("a"), Address: -1, Sent: now + 10e6, End: now + 30e6})
	h.Done(Call{Operation: s.Operation("b"), Address: -1, Sent: now + 30e6, End: now + 35e6})
	h.End(now+36e6, protocol.OK, false)
	if operation := of.Operation(s); operation != 0 {
		t.Errorf("taken by %d", operation)
	}
	h.Begin(of, Arrival{Intended: now})
	h.End(now+40e6, protocol.OK, false)
	run := ended(t, s, Outcome{})
	// 500 ms of waiting and 20 ms of service. The 10 ms before the call belong to the script.
	if got := int64(run.Operations[0].Response.MaxNs); got < 519e6 || got > 521e6 {
		t.Errorf("response %d", got)
	}
	if got := int64(run.Operations[1].Response.MaxNs); got < 4e6 || got > 6e6 {
		t.Errorf("response of the second call %d", got)
	}
	if o := &run.Operations[2]; o.Name != "iteration open" || o.Done != 1 {
		t.Errorf("an iteration without a call was counted as %s, %d", o.Name, o.Done)
	}
}

// After two interrupts k6 closes its channel without waiting.
func TestFlushingIntoAClosedChannel(t *testing.T) {
	s := begun(t, "closed")
	s.Handle(1).Done(Call{Operation: s.Operation("a"), Address: -1, Sent: s.Now()})
	to := make(chan metrics.SampleContainer)
	s.Samples(to)
	r := metrics.NewRegistry()
	s.metrics.Store(&Metrics{Operations: r.MustNewMetric("brunt_operations", metrics.Counter), root: r.RootTagSet()})
	close(to)
	s.LoadOver()
	s.Flush()
	if run := ended(t, s, Outcome{Code: exitcode.Interrupted}); run.Total.Done != 1 || !run.Complete {
		t.Errorf("%+v", run.Total.Counts)
	}
}

// k6 closes its channel when its events have been handled, or at once after a second interrupt. Intervals may still be
// cut then, so the race detector would see a concurrent send.
func TestNothingIsSentOnceK6MayCloseItsChannel(t *testing.T) {
	for name, end := range map[string]func(*Session){"its end": (*Session).Flush, "an interrupt": (*Session).Abort} {
		t.Run(name, func(t *testing.T) {
			s := begun(t, "closed")
			to := make(chan metrics.SampleContainer, 1000)
			s.Samples(to)
			r := metrics.NewRegistry()
			m := &Metrics{Operations: r.MustNewMetric("brunt_operations", metrics.Counter), root: r.RootTagSet()}
			s.metrics.Store(m)
			offered, ended := make(chan bool), make(chan bool)
			go func() {
				defer close(offered)
				for running := true; running; {
					select {
					case <-ended:
						running = false
					default:
					}
					s.offer(metrics.Samples{{TimeSeries: metrics.TimeSeries{Metric: m.Operations, Tags: m.root}, Value: 1}})
				}
			}()
			if len((<-to).GetSamples()) != 1 {
				t.Error("there is no sample")
			}
			go func() {
				for range 10 {
					<-to // Flush waits for space
				}
			}()
			end(s)
			close(to)
			close(ended)
			<-offered
			if err := s.Close(Outcome{}); err != nil {
				t.Error(err)
			}
		})
	}
}

type closer struct{ closed *[]string }

func (c closer) Close() error { *c.closed = append(*c.closed, "shared"); return nil }

func TestWhatIsSharedIsOpenedOnceAndClosedAtTheEnd(t *testing.T) {
	s := New(Options{None: true})
	var order []string
	fails := true
	open := func() (io.Closer, error) {
		if fails {
			fails = false
			return nil, errors.New("down")
		}
		return closer{&order}, nil
	}
	if _, err := s.Shared("a", open); err == nil {
		t.Error("the failure is lost")
	}
	for range 3 {
		if _, err := s.Shared("a", open); err != nil {
			t.Error(err)
		}
	}
	s.AtEnd(func() error { order = append(order, "first"); return nil })
	s.AtEnd(func() error { order = append(order, "second"); return errors.New("stuck") })
	if err := s.Close(Outcome{}); err == nil || err.Error() != "stuck" {
		t.Errorf("error %v", err)
	}
	if !slices.Equal(order, []string{"second", "first", "shared"}) {
		t.Errorf("order %v", order)
	}
}

func TestDroppedIterationsFailARunWithoutRules(t *testing.T) {
	for dropped, want := range map[uint64]bool{0: false, 4: false, 6: true} {
		s := begun(t, "closed")
		run := &record.Run{LoadModel: "closed",
			Verdict: record.Verdict{Result: verdict.Pass, Reasons: []message.Message{message.Literal("fine")}}}
		s.iterations.Store(100 - dropped)
		s.dropped.Store(dropped)
		run.Iterations = s.counted()
		verdict.JudgeIterations(run)
		if failed := run.Verdict.Result == verdict.Fail; failed != want {
			t.Errorf("%d dropped: %+v", dropped, run.Verdict)
		}
		if saturated := run.Warnings[0].ID == verdict.WarnSaturated; saturated != (dropped > 0) {
			t.Errorf("%d dropped: %+v", dropped, run.Warnings)
		}
		if err := s.Close(Outcome{Code: 1}); err != nil {
			t.Error(err)
		}
	}
}

// In TestExceptionsFailARunWithoutRules every iteration throws an exception. The run fails, even on a machine that is
// too busy to measure.
func TestExceptionsFailARunWithoutRules(t *testing.T) {
	for _, c := range []struct {
		threw         uint64
		before, after string
	}{
		{0, verdict.Pass, verdict.Pass},
		{1, verdict.Pass, verdict.Fail},
		{99, verdict.Invalid, verdict.Invalid},
		{100, verdict.Invalid, verdict.Fail},
	} {
		s := begun(t, "closed")
		run := &record.Run{LoadModel: "closed",
			Verdict: record.Verdict{Result: c.before, Reasons: []message.Message{message.Literal("before")}}}
		s.iterations.Store(100)
		s.threw.Store(c.threw)
		run.Iterations = s.counted()
		verdict.JudgeIterations(run)
		v := &run.Verdict
		if v.Result != c.after || c.threw > 0 && v.Reasons[0].String() == "before" || c.before == verdict.Invalid &&
			v.Reasons[1].String() != "before" {
			t.Errorf("%d of 100 threw, %s before: %+v", c.threw, c.before, v)
		}
		if err := s.Close(Outcome{Code: 1}); err != nil {
			t.Error(err)
		}
	}
}

func TestSettingsOfTheOutput(t *testing.T) {
	s := New(Options{})
	s.Configure("dir=a,results=b,export=influx=http://h/?db=x,metrics-addr=:1,none")
	if s.o.Dir != "a" || s.o.Root != "b" || s.o.Live.Destinations[0] != "influx=http://h/?db=x" ||
		s.o.Live.MetricsAddr != ":1" || !s.o.None || s.o.Fault != nil {
		t.Errorf("%+v %v", s.o, s.o.Fault)
	}
	s.Configure("folder=x")
	if s.Begin(Script{Name: "x"}) == nil {
		t.Error("an unknown setting is taken")
	}
}
