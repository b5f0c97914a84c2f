package executor

import (
	"testing"

	"brunt/internal/schedule"
)

func tenPerS(t *testing.T) *schedule.Shape {
	t.Helper()
	s, err := schedule.NewShape([]schedule.Segment{{DurationNs: 1e9, RateFrom: 10, RateTo: 10}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPartsOfAScheduleAreTheWhole uses k6's striped offsets for parts of different sizes.
func TestPartsOfAScheduleAreTheWhole(t *testing.T) {
	for _, process := range []schedule.Process{schedule.Uniform, schedule.Poisson} {
		whole := map[int64]int{}
		all := newIterator(tenPerS(t), process, 7, part{0, []int64{1}})
		for ns, ok := all.next(); ok; ns, ok = all.next() {
			whole[ns]++
		}
		// 2/3 takes two of every three arrivals, 1/3 takes the third.
		for _, p := range []part{{0, []int64{1, 2}}, {2, []int64{3}}} {
			it := newIterator(tenPerS(t), process, 7, p)
			for ns, ok := it.next(); ok; ns, ok = it.next() {
				whole[ns]--
			}
		}
		for ns, n := range whole {
			if n != 0 {
				t.Errorf("process %d: the arrival at %d is taken %d times", process, ns, 1-n)
			}
		}
	}
}

func TestAQueueKnowsWhatWaits(t *testing.T) {
	q := newQueue(tenPerS(t), schedule.Uniform, 1, part{0, []int64{1}})
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
