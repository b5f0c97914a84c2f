package confidence

import (
	"slices"
	"testing"

	"brunt/internal/load/control"
	"brunt/internal/measure"
	"brunt/internal/record"
)

func TestAdaptiveLoadsAreSummedUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		rate   func(i int) float64
		reason control.Reason
		warns  string
	}{
		{"settled", func(i int) float64 { return min(100+10*float64(i), 500) }, control.Hold, ""},
		{"at the most", func(int) float64 { return 900 }, control.AtMost, WarnAdaptiveAtMost},
		{"at the least", func(int) float64 { return 1 }, control.AtLeast, WarnAdaptiveAtLeast},
		{"it swings", func(i int) float64 { return 100 + 90*float64(i%2) }, control.Raise, WarnAdaptiveUnsettled},
	} {
		t.Run(c.name, func(t *testing.T) {
			taker := NewTaker()
			for i := range 200 {
				iv := &measure.Interval{Phase: "adaptive", Kind: measure.KindOpen, Drain: i == 199,
					Control: &measure.Control{RatePerS: c.rate(i), Reason: string(c.reason)}}
				iv.StartNs, iv.EndNs = int64(i)*1e9, int64(i+1)*1e9
				iv.Settle()
				if err := taker.Interval(iv); err != nil {
					t.Fatal(err)
				}
			}
			run := &record.Run{Phases: []record.Phase{{Name: "adaptive", Adaptive: &record.Adaptive{}}}}
			taker.Fill(run)
			a := run.Phases[0].Adaptive
			if a.Decisions != 199 || a.Rate == nil || a.RatePerS < a.Rate.Low || a.RatePerS > a.Rate.High {
				t.Errorf("%+v", a)
			}
			if never := c.reason == control.AtLeast; a.NeverMet != never {
				t.Errorf("never met: %v", a.NeverMet)
			}
			var warned []string
			for _, w := range run.Warnings {
				warned = append(warned, w.ID)
			}
			if got := slices.Contains(warned, c.warns); got != (c.warns != "") {
				t.Errorf("warnings %q, want %q", warned, c.warns)
			}
		})
	}
}
