package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
)

// prompt is a fleet that answers everything at once.
type prompt struct{ Fleet }

func (prompt) Run(context.Context, <-chan struct{}, schedule.Stage) (uint64, error) { return 0, nil }

// busy is a sink that takes longer than what follows the interval, as on a machine without a free core.
type busy struct{ lengths []time.Duration }

func (b *busy) Interval(iv *measure.Interval) error {
	b.lengths = append(b.lengths, time.Duration(iv.DurationNs()))
	time.Sleep(30 * time.Millisecond)
	return nil
}

// A phase in which everything was answered lasts as long as its schedule, however late this process sees its end.
func TestPhasesLastAsLongAsTheirSchedules(t *testing.T) {
	p := &plan.Plan{}
	p.Settings.Interval = 20 * time.Millisecond
	phases := []plan.Phase{
		{Name: "a", Kind: plan.Open, Duration: 35 * time.Millisecond, RateFrom: 100, RateTo: 100},
		{Name: "rest", Kind: plan.Pause, Duration: 10 * time.Millisecond},
		{Name: "b", Kind: plan.Open, Duration: 5 * time.Millisecond, RateFrom: 100, RateTo: 100},
	}
	sink, collector := &busy{}, measure.NewCollector(1, 1)
	_, err := Drive(t.Context(), nil, Config{Workload: &workload.Workload{Plan: p}, Fleet: prompt{}, Collector: collector,
		Clock: NewClock(time.Now()), Sinks: []measure.Sink{sink}}, Walk(phases))
	if err != nil {
		t.Fatal(err)
	}
	var got []time.Duration
	for _, phase := range collector.Tally().Phases() {
		got = append(got, time.Duration(phase.DurationNs()))
	}
	want := []time.Duration{35 * time.Millisecond, 10 * time.Millisecond, 5 * time.Millisecond}
	if !slices.Equal(got, want) {
		t.Errorf("the phases lasted %v, want %v; intervals %v", got, want, sink.lengths)
	}
}
