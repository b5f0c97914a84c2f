package verdict

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/render/units"
)

func mustParse(t *testing.T, text string) plan.Threshold {
	t.Helper()
	th, err := plan.ParseThreshold(text)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func answered(n uint64, ns int64) *measure.Account {
	a := &measure.Account{Operations: make([]measure.OperationAccount, 1)}
	o := &a.Operations[0]
	o.Done, o.Response = n, measure.NewHistogram()
	o.Response.RecordN(ns, n)
	return a
}

// If a server stops answering, a limit on response times fails when the arrivals have waited that long, and not only
// when they are answered.
func TestWaitingArrivalsBreakTheRule(t *testing.T) {
	th := mustParse(t, "p(99) < 900ms")
	th.AbortOnFail = true
	w := NewWatch(Rules{Thresholds: []plan.Threshold{th}})
	a := answered(1000, ms)
	a.Offered = 1000
	for at := int64(1); at <= 10; at++ { // every 100 ms 10 more fall due, and none is answered
		a.Offered += 10
		if why := w.Check(a, at*100*ms); !why.IsZero() {
			t.Fatalf("stopped after %d00 ms: %s", at, why)
		}
	}
	// After 1.1 s 1110 have fallen due, and 20 have waited for 900 ms: 1.96 % of those with a known fate.
	a.Offered += 10
	if why := w.Check(a, 1100*ms); !strings.Contains(why.String(), "p(99) < 900ms") || w.Aborted() != 0 {
		t.Errorf("not stopped: %q", why)
	}
}

func TestErrorPercentage(t *testing.T) {
	for _, c := range []struct {
		queue, done, failed uint64
		percent             float64
		stops               bool
	}{
		{100_000, 20, 10, 0.01, true}, {100_000, 20, 9, 0.01, false}, {0, 99, 99, 1, false}, {0, 100, 1, 1, true},
		{0, 1000, 9, 1, false}, {0, 1000, 1000, 0, false},
	} {
		a := answered(c.done, ms)
		a.Operations[0].Errors[protocol.Server] = c.failed
		if why := NewWatch(Rules{ErrorPercent: c.percent, Queue: c.queue}).Check(a, s); (!why.IsZero()) != c.stops {
			t.Errorf("%+v: %q", c, why)
		}
	}
}

// The delay before a threshold may stop the run counts time under load, without connecting and warm-up.
func TestDelayIsOfTheLoad(t *testing.T) {
	th := mustParse(t, "p(99) < 1ms")
	th.AbortOnFail, th.AbortDelay = true, 10*time.Second
	for name, row := range map[string]struct {
		loadNs int64
		stops  bool
	}{
		"a minute of warm-up, then 9 s":  {9000 * ms, false},
		"a minute of warm-up, then 10 s": {10_000 * ms, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := answered(1000, 5*ms)
			a.Offered, a.LoadNs = 1000, row.loadNs
			if why := NewWatch(Rules{Thresholds: []plan.Threshold{th}}).Check(a,
				60_000*ms+row.loadNs); (!why.IsZero()) != row.stops {
				t.Errorf("got %q, want stopped %v", why, row.stops)
			}
		})
	}
}

// Watched figures that may leak have names in Russian.
func TestWatchedFiguresHaveRussianNames(t *testing.T) {
	leaking := regexp.MustCompile(`Metric\{Name: "(\w+)"[^}]*Leak: true`)
	files, err := filepath.Glob("../../inspect/observe/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range leaking.FindAllSubmatch(source, -1) {
			found++
			name := FigureName(string(m[1]))
			if name.In(units.Russian) == name.String() {
				t.Errorf("%s: %q has no Russian name", file, name)
			}
		}
	}
	if found < 9 {
		t.Errorf("found %d figures that may leak in internal/inspect/observe", found)
	}
}
