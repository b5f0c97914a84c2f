package inspect

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// diary is an inspector that records its calls.
type diary struct {
	mu     sync.Mutex
	notes  []string
	fails  error
	asked  chan string
	ending Load
}

func (d *diary) note(what string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, what)
	if d.asked != nil {
		d.asked <- what
	}
	return d.fails
}

func (d *diary) Name() string                                { return "diary" }
func (d *diary) Begin(context.Context) error                 { return d.note("begin") }
func (d *diary) Snapshot(context.Context) error              { return d.note("snapshot") }
func (d *diary) Mark(p Phase)                                { _ = d.note("mark " + p.Name) }
func (d *diary) Sample(context.Context, time.Duration) error { return nil }
func (d *diary) Close()                                      {}
func (d *diary) End(_ context.Context, last Phase, load Load) (*record.Inspection, error) {
	d.ending = load
	return &record.Inspection{Source: "diary"}, d.note("end " + last.Name)
}

func (d *diary) wait(what string) {
	for got := range d.asked {
		if got == what {
			return
		}
	}
}

// A snapshot is taken when a phase is due to end, and the phase is marked when the next one has begun.
func TestPhasesEndAtSnapshots(t *testing.T) {
	d := &diary{asked: make(chan string, 100)}
	w := NewWatch([]Inspector{d})
	second := int64(time.Second)
	run := &record.Run{Phases: []record.Phase{{Name: "warm", DurationNs: 2 * second, WarmUp: true},
		{Name: "load", DurationNs: 2 * second}}}
	if err := w.Start(run); err != nil {
		t.Fatal(err)
	}
	for k, name := range []string{"warm", "warm", "load", "load"} {
		iv := measure.Interval{Phase: name, WarmUp: name == "warm"}
		iv.StartNs, iv.EndNs = int64(k)*second, int64(k+1)*second
		if err := w.Interval(&iv); err != nil {
			t.Fatal(err)
		}
		if k%2 == 1 {
			d.wait("snapshot")
		}
	}
	out, warnings := w.Finish(nil, record.Nowhere{}, "", nil)
	want := []string{"begin", "snapshot", "mark warm", "snapshot", "end load"}
	if !slices.Equal(d.notes, want) || len(out) != 1 || len(warnings) != 0 {
		t.Errorf("%q, want %q; %+v, %+v", d.notes, want, out, warnings)
	}
	w.Close()
}

func TestTroublesAreTold(t *testing.T) {
	d := &diary{fails: errors.New("no more")}
	w := NewWatch([]Inspector{d})
	if err := w.Start(&record.Run{}); err == nil {
		t.Error("begun")
	}
	if out, warnings := w.Finish(nil, record.Nowhere{}, "", nil); len(out)+len(warnings) > 0 {
		t.Errorf("%+v, %+v: it never began", out, warnings)
	}
	d.fails = nil
	w = NewWatch([]Inspector{d})
	if err := w.Start(&record.Run{Phases: make([]record.Phase, 1)}); err != nil {
		t.Fatal(err)
	}
	d.fails = errors.New("no more")
	if out, warnings := w.Finish(nil, record.Nowhere{}, "", nil); len(out) != 1 || len(warnings) != 1 ||
		warnings[0].ID != "inspect" {
		t.Errorf("%+v, %+v", out, warnings)
	}
}

// Waiting for a server that executes a long command isn't the cost of a question.
func TestWaitingIsNoCost(t *testing.T) {
	var a asked
	for _, took := range []time.Duration{time.Millisecond, 0, 2 * time.Millisecond, time.Second, time.Microsecond} {
		a.add(took)
	}
	if a.n != 3 || a.spent() != 9*time.Millisecond || a.total != 1003*time.Millisecond {
		t.Errorf("%+v: %v spent", a, a.spent())
	}
}

// worker is an inspector whose server is at work or not.
type worker struct {
	diary
	works bool
}

func (w *worker) AtWork() bool { return w.works }

// A server that does nothing is asked less often, and one that answers slowly, too.
func TestServersAtRestAreAskedLessOften(t *testing.T) {
	fast := []time.Duration{0, 0, 0, 0}
	slow := []time.Duration{time.Second, 10 * time.Millisecond, time.Second, time.Second}
	for name, c := range map[string]struct {
		inspector Inspector
		recent    []time.Duration
		want      time.Duration
	}{
		"at work":       {&worker{works: true}, fast, samplePeriod},
		"at rest":       {&worker{}, fast, restPeriod},
		"not known":     {&diary{}, fast, samplePeriod},
		"slow at work":  {&worker{works: true}, slow, 2 * time.Second},
		"slow at first": {&worker{works: true}, slow[:2], fewPeriods * samplePeriod},
	} {
		t.Run(name, func(t *testing.T) {
			s := server{inspector: c.inspector}
			if got := nextPeriod(c.recent, s.leastPeriod()); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
