package program

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/units"
)

// A cell that the generator distorted is measured again, up to three times. Cells that remain invalid or fail their
// thresholds are reported.
func TestMatrixRepeatsWhatTheGeneratorSpoiled(t *testing.T) {
	spoiled := map[string]int{"3": 1, "4": 9} // how many of the first runs are distorted, by the value of the setting
	var ran []string
	m := &Matrix{
		MatrixOptions: MatrixOptions{Repetitions: 2, By: "response.p(95)", N: 1,
			Cells: []Cell{{{Name: "POOL", Value: "3"}}, {{Name: "POOL", Value: "4"}}, {{Name: "POOL", Value: "5"}}}},
		Plan:        &plan.Plan{},
		Reconfigure: func(context.Context, Cell) error { return nil },
		Drive: func(_ context.Context, o Load) (*Outcome, error) {
			ran = append(ran, o.Name)
			run := &record.Run{}
			run.Total.Response.P95Ns = 1e6 + record.Ns(len(ran))
			pool := strings.ReplaceAll(o.Name, "-again", "")
			pool = pool[strings.LastIndexByte(pool, '-')+1:]
			run.Verdict.Result = verdict.Pass
			if pool == "5" {
				run.Verdict.Result = verdict.Fail
			}
			if spoiled[pool] > 0 {
				spoiled[pool]--
				run.Verdict.Result = verdict.Invalid
			}
			return &Outcome{Dir: filepath.Join("series", o.Name), Run: run}, nil
		},
	}
	log, err := m.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{verdict.Pass, verdict.Pass}, {verdict.Invalid, verdict.Invalid},
		{verdict.Fail, verdict.Fail}} {
		if !slices.Equal(log.Cells[i].Verdicts, want) {
			t.Errorf("%s: %v, want %v", log.Cells[i].Settings, log.Cells[i].Verdicts, want)
		}
	}
	if len(ran) != 3+6+2 || len(ran) != len(slices.Compact(slices.Sorted(slices.Values(ran)))) {
		t.Errorf("ran %q", ran)
	}
	if again := log.Cells[0].Dirs; !slices.ContainsFunc(again,
		func(dir string) bool { return strings.HasSuffix(dir, "-again") }) {
		t.Errorf("the bundles that count are %q", again)
	}
	tables := (&Report{Matrix: log}).Tables(units.English)
	text := strings.Join(tables[0].Foot, "\n")
	for _, row := range tables[0].Rows {
		text += "\n" + row[len(row)-1].Text
	}
	for _, want := range []string{"count all the same: 2", "fails in 2 of 2 runs"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q isn't said in %s", want, text)
		}
	}
}

// The smallest of the cells that pass is advised. If the differences may be due to chance, the report says so.
func TestWhatAMatrixAdvises(t *testing.T) {
	cellOf := func(pool, result string, values ...float64) CellLog {
		c := CellLog{Settings: Cell{{Name: "POOL", Value: pool}}}
		runs := make([]*Outcome, 0, len(values))
		for _, v := range values {
			o := &Outcome{Run: &record.Run{}}
			o.Run.Verdict.Result = result
			runs = append(runs, o)
			c.add(o, v)
		}
		c.sumUp(runs)
		return c
	}
	noise := []float64{100, 140, 90}
	for _, c := range []struct {
		name    string
		cells   []CellLog
		advised int
		alike   bool
		said    string
	}{
		{"chance alone", []CellLog{cellOf("9", verdict.Pass, 80, 120, 100), cellOf("6", verdict.Pass, noise...),
			cellOf("3", verdict.Pass, 110, 150, 95)}, 2, true, "can't be told apart. The smallest that pass: POOL=3"},
		{"chance alone, the smallest fails", []CellLog{cellOf("9", verdict.Pass, 80, 120, 100),
			cellOf("6", verdict.Pass, noise...), cellOf("3", verdict.Fail, 110, 150, 95)}, 1, true,
			"can't be told apart. The smallest that pass: POOL=6"},
		{"only one passes, each twice", []CellLog{cellOf("2", verdict.Fail, 8200, 8300), cellOf("4", verdict.Fail, 4200, 4100),
			cellOf("8", verdict.Pass, 330, 340)}, 2, false, "best, and advised"},
		{"twice each", []CellLog{cellOf("9", verdict.Pass, 100, 101), cellOf("6", verdict.Pass, 103, 102),
			cellOf("3", verdict.Pass, 500, 520)}, 1, false, "within 5.00 % of the best"},
		{"one run each", []CellLog{cellOf("9", verdict.Pass, 80), cellOf("3", verdict.Pass, 500)}, 1, true,
			"can't be told apart"},
		{"the smallest is worse", []CellLog{cellOf("9", verdict.Pass, 100, 101, 102),
			cellOf("3", verdict.Pass, 200, 201, 202)}, 0, false, "best, and advised"},
		{"the best fails", []CellLog{cellOf("9", verdict.Fail, 100, 101, 102), cellOf("6", verdict.Pass, 199, 200, 201),
			cellOf("5", verdict.Pass, 200, 201, 202), cellOf("3", verdict.Pass, 400, 401, 402)}, 2, false, "advised"},
		{"none passes", []CellLog{cellOf("9", verdict.Fail, 100, 101, 102), cellOf("3", verdict.Fail, 200, 201, 202)}, -1,
			false, "No settings keep the thresholds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &MatrixLog{Options: MatrixOptions{Tolerance: .05, By: "response.p(95)", Repetitions: len(noise)},
				Cells: c.cells, Best: -1, Advised: -1}
			log.judge(true)
			if log.Advised != c.advised || log.Alike != c.alike {
				t.Errorf("advised %d, alike %t, want %d and %t", log.Advised, log.Alike, c.advised, c.alike)
			}
			tables := (&Report{Matrix: log}).Tables(units.English)
			text := strings.Join(tables[0].Foot, "\n")
			for _, row := range tables[0].Rows {
				text += "\n" + row[len(row)-1].Text
			}
			if !strings.Contains(text, c.said) {
				t.Errorf("%q isn't said in %s", c.said, text)
			}
		})
	}
}

// An operation that is slower in a cell is named, though the figure over all operations doesn't show it.
func TestMatrixComparesOperations(t *testing.T) {
	cellOf := func(pool string, quickMs ...float64) CellLog {
		c := CellLog{Settings: Cell{{Name: "POOL", Value: pool}}}
		var runs []*Outcome
		for i, ms := range quickMs {
			o := &Outcome{Run: &record.Run{}}
			o.Run.Verdict.Result = verdict.Pass
			for name, p50 := range map[string]float64{"slow": 300 + float64(i), "quick": ms} {
				ns := record.Ns(1e6 * p50)
				o.Run.Operations = append(o.Run.Operations, record.Operation{Name: name,
					Response: record.Latency{Count: 100, P50Ns: ns, P95Ns: 2 * ns}})
			}
			runs = append(runs, o)
			c.add(o, 300e6+1e6*float64(i))
		}
		c.sumUp(runs)
		return c
	}
	log := &MatrixLog{Options: MatrixOptions{Tolerance: .05, By: "response.p(95)", Repetitions: 3}, Best: -1, Advised: -1,
		Cells: []CellLog{cellOf("9", 2.3, 2.4, 2.2), cellOf("3", 10.7, 10.1, 11)}}
	log.judge(true)
	if log.Alike || log.Advised != 0 || !slices.Equal(log.Cells[1].Slower, []string{"quick"}) {
		t.Errorf("alike %v, advised %d, %+v", log.Alike, log.Advised, log.Cells)
	}
	tables := (&Report{Matrix: log}).Tables(units.English)
	if len(tables) != 2 || len(tables[1].Rows) != 2 || len(tables[1].Rows[0]) != 3 {
		t.Errorf("%+v", tables)
	}
}

// Each run of a matrix sends other requests, including repeated runs.
func TestMatrixSendsOtherRequests(t *testing.T) {
	want, runs := uint64(7), 0
	m := &Matrix{
		MatrixOptions: MatrixOptions{Repetitions: 2, By: "rate", N: 1,
			Cells: []Cell{{{Name: "POOL", Value: "3"}}, {{Name: "POOL", Value: "4"}}}},
		Plan:        &plan.Plan{First: 7},
		Reconfigure: func(context.Context, Cell) error { return nil },
		Drive: func(_ context.Context, o Load) (*Outcome, error) {
			if runs++; o.Plan.First != want {
				t.Errorf("run %d begins with request %d, want %d", runs, o.Plan.First, want)
			}
			want += 30
			run := &record.Run{Phases: []record.Phase{{Offered: 10, WarmUp: true}, {Offered: 20}}}
			if run.Verdict.Result = verdict.Pass; runs == 2 {
				run.Verdict.Result = verdict.Invalid
			}
			return &Outcome{Dir: o.Name, Run: run}, nil
		},
	}
	if _, err := m.Run(t.Context()); err != nil || runs != 5 {
		t.Errorf("%d runs: %v", runs, err)
	}
}
