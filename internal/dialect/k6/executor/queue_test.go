package executor

import (
	"slices"
	"testing"

	"go.k6.io/k6/v2/lib"

	"brunt/internal/load/schedule"
)

func tenPerS(t *testing.T) *schedule.Shape {
	t.Helper()
	s, err := schedule.NewShape([]schedule.Segment{{DurationNs: 1e9, RateFrom: 10, RateTo: 10}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drain returns the starts of all arrivals that are left.
func drain(q *queue) (starts []int64) {
	for ns, ok := q.take(); ok; ns, ok = q.take() {
		starts = append(starts, ns)
	}
	return starts
}

// TestPartsOfAScheduleAreK6s holds the arrivals of instances against k6's own iteration by striped offsets.
func TestPartsOfAScheduleAreK6s(t *testing.T) {
	for _, process := range []schedule.Process{schedule.Uniform, schedule.Poisson} {
		stage := schedule.Stage{Shape: tenPerS(t), Process: process, Seed: 7}
		whole := drain(newQueue(&stage))
		for _, sequence := range []string{"0,1", "0,2/3,1", "0,1/4,1/2,1", "0,1/7,3/5,1", "0,1/3,2/3,1"} {
			all, err := lib.NewExecutionSegmentSequenceFromString(sequence)
			if err != nil {
				t.Fatal(err)
			}
			for _, segment := range all {
				et, err := lib.NewExecutionTuple(segment, &all)
				if err != nil {
					t.Fatal(err)
				}
				var want []int64
				index := lib.NewSegmentedIndex(et)
				for _, n := index.Next(); int(n) <= len(whole); _, n = index.Next() {
					want = append(want, whole[n-1])
				}
				stage.Part = part(et)
				if got := drain(newQueue(&stage)); !slices.Equal(got, want) {
					t.Errorf("process %d: %s of %s takes the arrivals at %d, k6 %d", process, segment, sequence, got, want)
				}
			}
		}
	}
}

func TestAQueueKnowsWhatWaits(t *testing.T) {
	q := newQueue(&schedule.Stage{Shape: tenPerS(t), Seed: 1})
	if ns, ok := q.take(); ns != 0 || !ok {
		t.Fatalf("first arrival at %d", ns)
	}
	q.begin()
	for _, c := range []struct {
		at             int64
		fresh, waiting uint64
	}{{50e6, 1, 0}, {250e6, 2, 2}, {250e6, 0, 2}, {2e9, 7, 9}} {
		fresh, waiting, running := q.state(c.at)
		if fresh != c.fresh || waiting != c.waiting || running != 1 {
			t.Errorf("at %d: %d fell due, %d wait, %d at work; want %d, %d, 1", c.at, fresh, waiting, running, c.fresh,
				c.waiting)
		}
	}
	q.end()
	for range 9 {
		q.begin()
	}
	if _, waiting, running := q.state(3e9); waiting != 0 || running != 9 {
		t.Errorf("%d wait, %d at work", waiting, running)
	}
	for range 9 {
		if _, ok := q.take(); !ok {
			t.Fatal("an arrival is missing")
		}
	}
	if _, ok := q.take(); ok {
		t.Error("an arrival too many")
	}
}
