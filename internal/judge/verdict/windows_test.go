package verdict

import (
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// second describes one second of a load.
type second struct {
	failed int   // number of failed operations, of 100
	ms     int64 // response time
	kind   string
	warmUp bool
	drain  bool
	ns     int64 // its length; 0 means a second
}

// course calls f with the intervals that recorders would produce for a load.
func course(t *testing.T, all []second, f func(*measure.Interval)) {
	t.Helper()
	var r *measure.Recorder
	c := measure.NewCollectorWaiting(1, 1, func(int) bool {
		r.Poll()
		return true
	})
	r = c.NewRecorder()
	at := int64(0)
	for _, s := range all {
		if s.ns == 0 {
			s.ns = 1e9
		}
		if s.kind == "" {
			s.kind = measure.KindClosed
		}
		for i := range 100 {
			if s.kind == measure.KindPause {
				break
			}
			sample := measure.Sample{Sent: at, Intended: at, End: at + s.ms*1e6, Attempts: 1}
			if i < s.failed {
				sample.Class = protocol.Server
			}
			r.Record(&sample)
		}
		at += s.ns
		f(c.Cut(at, measure.Meta{Kind: s.kind, WarmUp: s.warmUp, Drain: s.drain}))
	}
}

func repeated(n int, s second) (all []second) {
	for range n {
		all = append(all, s)
	}
	return all
}

func joined(parts ...[]second) (all []second) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestRulesOverWindows(t *testing.T) {
	well, bad := second{ms: 1}, second{ms: 500, failed: 50}
	for name, row := range map[string]struct {
		rule   string
		load   []second
		pass   bool
		broken time.Duration
	}{
		"well": {"p(99) < 200ms over 10s", repeated(30, well), true, 0},
		"slow for the whole window": {"service.p(50) < 200ms over 3s",
			joined(repeated(10, well), repeated(5, second{ms: 500}),
				repeated(10, well)), false, 5 * time.Second},
		"slow for less than half a window": {"service.p(50) < 200ms over 10s",
			joined(repeated(10, well), repeated(4, second{ms: 500}), repeated(10, well)), true, 0},
		"the whole load holds, a window doesn't": {"errors < 10% over 5s",
			joined(repeated(100, well), repeated(2, bad), repeated(100, well)), false, 6 * time.Second},
		"for so long in all it may": {"errors < 10% over 5s at most 6s in all",
			joined(repeated(100, well), repeated(2, bad), repeated(100, well)), true, 6 * time.Second},
		"but no longer": {"errors < 10% over 5s at most 5.9s in all",
			joined(repeated(100, well), repeated(2, bad), repeated(100, well)), false, 6 * time.Second},
		"availability": {"availability >= 99.9% over 2s",
			joined(repeated(5, well), repeated(1, second{failed: 1}),
				repeated(5, well)), false, 2 * time.Second},
		"a window longer than the load": {"errors < 10% over 1h",
			repeated(3, bad), false, 3 * time.Second},
		"a long window that holds": {"errors < 60% over 1h", repeated(3, bad), true, 0},
		"warm-up doesn't count": {"errors < 10% over 1s",
			joined(repeated(3, second{failed: 90, warmUp: true}), repeated(3, well)), true, 0},
		"no window reaches across a pause": {"errors < 40% over 4s",
			joined(repeated(4, well), repeated(2, bad), []second{{kind: measure.KindPause}}, repeated(2, bad),
				repeated(4, well)), true, 0},
		"a tail of answers lowers no rate": {"rate > 90 over 2s",
			joined(repeated(5, well), []second{{drain: true, failed: 100, ms: 1}}), true, 0},
		"intervals shorter than a second": {"errors < 10% over 1s",
			joined(repeated(40, second{ms: 1, ns: 1e8}), repeated(4, second{failed: 50, ns: 1e8}),
				repeated(40, second{ms: 1, ns: 1e8})), false, 1100 * time.Millisecond},
		"an interval longer than the window": {"errors < 10% over 1s",
			[]second{{ms: 1, ns: 5e9}, {failed: 20, ns: 5e9}}, false, 5 * time.Second},
		"intervals a little too short": {"errors < 40% over 1s",
			repeated(5, second{failed: 50, ns: 999e6}), false, 5 * 999 * time.Millisecond},
		"throughput": {"rate >= 100 over 3s",
			joined(repeated(5, well), repeated(1, bad), repeated(5, well)), false, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			run := &record.Run{Thresholds: []record.Threshold{{Text: "errors < 100%"}, {Text: row.rule}},
				Operations: []record.Operation{{Name: "read"}}}
			err := FillWindows(run, func(f func(*measure.Interval) error) error {
				course(t, row.load, func(iv *measure.Interval) {
					if err := f(iv); err != nil {
						t.Fatal(err)
					}
				})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			got := run.Thresholds[1]
			if !got.Windowed || run.Thresholds[0].Windowed {
				t.Fatalf("over windows: %v and %v", run.Thresholds[0].Windowed, got.Windowed)
			}
			if got.Pass != row.pass || got.BrokenNs != int64(row.broken) {
				t.Errorf("pass %v, broken for %v, worst %v; want %v, %v", got.Pass, time.Duration(got.BrokenNs), got.Value,
					row.pass, row.broken)
			}
		})
	}
}

// A threshold over windows stops the load at the interval after which it has failed for longer than allowed.
func TestRuleOverWindowsStopsTheLoad(t *testing.T) {
	threshold, err := plan.ParseThreshold("errors < 10% over 2s at most 3s in all")
	if err != nil {
		t.Fatal(err)
	}
	threshold.AbortOnFail = true
	w := NewWatch(Rules{Thresholds: []plan.Threshold{threshold}, Operations: []string{"read"}})
	stopped, n := 0, 0
	var total measure.Account
	course(t, joined(repeated(5, second{}), repeated(20, second{failed: 50})), func(iv *measure.Interval) {
		n++
		total.Add(&iv.Account)
		if err := w.Windows().Interval(iv); err != nil {
			t.Fatal(err)
		}
		if why := w.Check(&total, iv.EndNs); !why.IsZero() && stopped == 0 {
			stopped = n
		}
	})
	if stopped != 9 || w.Aborted() != 0 {
		t.Errorf("stopped after %d intervals by rule %d, want 9 and 0", stopped, w.Aborted())
	}
}

// The sums of a long window are the sums of its intervals, however often it has moved.
func TestQueueOfSlices(t *testing.T) {
	var q queue
	for i := range int64(500) {
		s := slice{loadNs: i}
		s.all.Done = uint64(i)
		q.push(s)
		if i >= 7 {
			q.pop()
		}
		from := max(i-6, 0)
		want := (from + i) * (i - from + 1) / 2
		all, loadNs := q.sum()
		if q.ns() != want || loadNs != want || all.Done != uint64(want) || q.firstNs() != from {
			t.Fatalf("after %d: %d ns, %d done, first %d; want %d, first %d", i, q.ns(), all.Done, q.firstNs(), want, from)
		}
	}
}
