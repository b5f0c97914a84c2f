package program

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/units"
	"brunt/internal/verdict"
)

// What the generator spoiled is measured again, three times at most; what stays invalid, and what fails its
// thresholds, is said.
func TestMatrixRepeatsWhatTheGeneratorSpoiled(t *testing.T) {
	spoiled := map[string]int{"3": 1, "4": 9} // value of the setting: how many of its first runs
	var ran []string
	m := &Matrix{
		MatrixOptions: MatrixOptions{Repetitions: 2, By: "response.p(95)", N: 1,
			Cells: []Cell{{{Name: "POOL", Value: "3"}}, {{Name: "POOL", Value: "4"}}, {{Name: "POOL", Value: "5"}}}},
		Plan:        &plan.Plan{},
		Reconfigure: func(context.Context, Cell) error { return nil },
		Conduct: func(_ context.Context, o Order) (*Outcome, error) {
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
