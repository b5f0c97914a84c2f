package window

import (
	"testing"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/record"
)

func at(second int, calls, keys float64) *Snapshot {
	node := Key{"node", "a"}
	return &Snapshot{
		At:       time.Unix(int64(second), 0),
		Counters: map[Key]map[string]float64{node: {"commands": calls}},
		Gauges:   map[Key]map[string]float64{node: {"keys": keys}},
		Calls:    map[string]map[string]float64{"get": {"calls": calls}},
	}
}

func TestPhasesAreWindows(t *testing.T) {
	var p Phases
	p.Add(at(0, 100, 1))
	p.Add(at(2, 150, 2))
	p.Mark(inspect.Phase{Name: "warm", WarmUp: true})
	p.Add(at(3, 160, 3))
	p.Add(at(4, 180, 4))
	p.Mark(inspect.Phase{Name: "load"})
	got := p.Record(func(part *Part) []record.Statement {
		return []record.Statement{{ID: "get", Calls: part.Calls["get"]["calls"]}}
	})
	if len(got) != 3 {
		t.Fatalf("%+v, want the load and two phases", got)
	}
	for i, want := range []struct {
		phase       string
		seconds     float64
		calls, keys float64
	}{{"", 2, 30, 4}, {"warm", 2, 50, 2}, {"load", 2, 30, 4}} {
		w := got[i]
		v := w.Counters[0].Values
		if w.Phase != want.phase || float64(w.DurationNs)/1e9 != want.seconds || w.Statements[0].Calls != want.calls ||
			v["commands"] != want.calls || v["keys"] != want.keys {
			t.Errorf("window %d: %+v, want %+v", i, w, want)
		}
	}
	if all := p.All(); all.Calls["get"]["calls"] != 80 || all.Resets != 0 {
		t.Errorf("%+v", all)
	}
}

// After a restart or a reset, counters begin at 0: what was counted before the last snapshot and after the reset
// remains.
func TestCountersAreReset(t *testing.T) {
	var p Phases
	p.Add(at(0, 1000, 1))
	p.Add(at(1, 1010, 1))
	p.Add(at(2, 7, 1))
	p.Mark(inspect.Phase{Name: "load"})
	if all := p.Load(); all.Calls["get"]["calls"] != 17 || all.Resets != 2 {
		t.Errorf("%+v, want 17 calls and 2 resets", all)
	}
}
