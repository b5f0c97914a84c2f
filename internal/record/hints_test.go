package record

import (
	"testing"
	"time"

	"brunt/internal/measure"
)

// TestHintsStandInTheRecord records a load that pauses and recovers, and one whose generator stood still, and reads the
// hints of the killed runs back from their intervals.
func TestHintsStandInTheRecord(t *testing.T) {
	fsys := OS{}
	b, err := CreateIn(fsys, t.TempDir(), Options{SyncEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	run := &Run{Operations: []Operation{{Name: "get"}}, Targets: []Target{{Address: "a:1"}},
		Phases: []Phase{{Name: "p", Kind: "open"}}}
	if err := b.Start(nil, run); err != nil {
		t.Fatal(err)
	}
	told := 0
	taker := NewHintTaker(run, func(Hint) { told++ })
	c := measure.NewCollector(1, 1)
	s := c.NewShared()
	second := func(i, n int, health measure.Health) {
		for range n {
			s.Record(&measure.Sample{End: 1e6, Attempts: 1})
		}
		iv := c.Cut(int64(i+1)*1e9, measure.Meta{Phase: "p", UnixNs: int64(i) * 1e9, Health: health})
		for _, sink := range []measure.Sink{b, taker} {
			if err := sink.Interval(iv); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 40 {
		n := 100
		if i >= 30 && i < 33 {
			n = 0
		}
		var h measure.Health
		if i == 36 {
			h.PausedNs = 7e8
		}
		second(i, n, h)
	}
	b.Abandon()
	want := []Hint{
		{Interval: 30, AtNs: 31e9, Metric: "throughput", Kind: "pause", From: 100},
		{Interval: 33, AtNs: 34e9, Metric: "throughput", Kind: "recovery", To: 100},
		{Interval: 36, AtNs: 37e9, Metric: "generator", Kind: "pause", To: 7e8},
	}
	opened, err := Open(fsys, b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	rebuilt, _, err := opened.Rebuild()
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]Hint{"live": run.Hints, "rebuilt": rebuilt.Hints} {
		if len(got) != len(want) {
			t.Fatalf("%s: %+v", name, got)
		}
		for i, w := range want {
			w.Operation, w.LengthNs, w.BeganNs, w.Time = "all", 1e9, w.AtNs-1e9, time.Unix(0, w.AtNs).UTC()
			if got[i] != w {
				t.Errorf("%s: %+v, want %+v", name, got[i], w)
			}
		}
	}
	if told != len(want) {
		t.Errorf("told of %d hints, want %d", told, len(want))
	}
}

func TestHintsAreBounded(t *testing.T) {
	run := &Run{Operations: []Operation{{Name: "get"}}}
	taker := NewHintTaker(run, nil)
	c := measure.NewCollector(1, 1)
	for i := range MaxHints + 5 {
		iv := c.Cut(int64(i+1)*1e9, measure.Meta{Health: measure.Health{PausedNs: 5e8}})
		if err := taker.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	if len(run.Hints) != MaxHints || run.HintsMore != 5 {
		t.Errorf("%d hints and %d more", len(run.Hints), run.HintsMore)
	}
}
