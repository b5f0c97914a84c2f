package report

import (
	"testing"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/units"
)

// A load of three seconds is reported as such, even if its last answers arrive later.
func TestHowLongALoadWas(t *testing.T) {
	for _, c := range []struct {
		name   string
		lasted int64
		phases []record.Phase
		want   string
	}{
		{"closed, with late last answers", 3.15e9, []record.Phase{{Kind: measure.KindClosed, ScheduleNs: 3e9}},
			"in 3 s, and 150 ms until the last answers"},
		{"closed, with answers at once", 3.003e9, []record.Phase{{Kind: measure.KindClosed, ScheduleNs: 3e9}}, "in 3 s"},
		{"closed, after a warm-up and around a pause", 3.15e9, []record.Phase{
			{Kind: measure.KindClosed, ScheduleNs: 9e9, WarmUp: true}, {Kind: measure.KindClosed, ScheduleNs: 1e9},
			{Kind: measure.KindPause}, {Kind: measure.KindClosed, ScheduleNs: 2e9}},
			"in 3 s, and 150 ms until the last answers"},
		{"closed, until a count is reached", 3.15e9, []record.Phase{{Kind: measure.KindClosed}}, "in 3.15 s"},
		{"closed, stopped early", 1.5e9, []record.Phase{{Kind: measure.KindClosed, ScheduleNs: 3e9}}, "in 1.5 s"},
		{"open", 3.15e9, []record.Phase{{Kind: measure.KindOpen, ScheduleNs: 3e9}}, "in 3.15 s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &writer{run: &record.Run{DurationNs: c.lasted, Phases: c.phases}}
			w.l = units.English
			if got := w.lasted(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
