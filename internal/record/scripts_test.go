package record

import (
	"slices"
	"strings"
	"testing"

	"brunt/internal/measure"
)

// segments writes two bundles, for the segments of a k6 script. The second has met the operations in another order.
func segments(t *testing.T) []*Recorded {
	t.Helper()
	ivs := intervalsOf(samples(100), everything)
	all := parts(openAll(t, write(t, OS{}, ivs, true), write(t, OS{}, ivs, true)))
	for _, p := range all {
		p.Run.Cut = "0,1/4,1"
	}
	slices.Reverse(all[1].Run.Operations)
	return all
}

func TestSegmentsAreMergedByTheNamesOfOperations(t *testing.T) {
	all := segments(t)
	merged, _, err := Merge(all...)
	if err != nil {
		t.Fatal(err)
	}
	ops := openAll(t, all[0].Dir)[0].Run.Operations
	last := len(ops) - 1
	if last < 1 || ops[0].OK == ops[last].OK {
		t.Fatalf("operations %+v can't be told apart", ops)
	}
	for i := range ops {
		if got, want := merged.Operations[i].OK, ops[i].OK+ops[last-i].OK; got != want ||
			merged.Operations[i].Name != ops[i].Name {
			t.Errorf("%s: %d well, want %d", merged.Operations[i].Name, got, want)
		}
	}
	joined := make([]uint64, len(ops))
	err = Together(merged, all, func(iv *measure.Interval) error {
		for i := range iv.Operations {
			if iv.WarmUp {
				break
			}
			joined[i] += iv.Operations[i].OK()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range joined {
		if joined[i] != merged.Operations[i].OK {
			t.Errorf("intervals: %d well of %s, want %d", joined[i], ops[i].Name, merged.Operations[i].OK)
		}
	}
	all[1].Run.Operations[0].Name = "seldom"
	if merged, _, err = Merge(all...); err != nil || merged.Operations[len(ops)].Name != "seldom" ||
		merged.Operations[len(ops)].OK != ops[0].OK {
		t.Errorf("an operation of one segment: %v, %+v", err, merged)
	}
}

func TestSegmentsThatAreNoWhole(t *testing.T) {
	for name, c := range map[string]struct {
		with func(a, b *Run)
		want string
	}{
		"the same segment twice": {func(_, b *Run) { b.Offset = 0 }, "both part 1 of 2"},
		"a missing one":          {func(a, b *Run) { a.Stride, b.Stride = 3, 3 }, "part 3 of 3 is missing"},
		"other cuts":             {func(_, b *Run) { b.Cut = "0,1/2,1" }, "cut at 0,1/4,1"},
		"thresholds of one": {func(a, _ *Run) { a.Thresholds = []Threshold{{Text: "x"}} },
			"thresholds were judged in one"},
	} {
		all := segments(t)
		c.with(all[0].Run, all[1].Run)
		if _, _, err := Merge(all...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFiguresOfSegments(t *testing.T) {
	all := segments(t)
	for i, p := range all {
		n := uint64(10 + 20*i) // 10, 30
		p.Run.Iterations = &Iterations{Done: n, Dropped: 1, Threw: 2}
		p.Run.Watched = []Watched{{Source: WatchedScript, Samples: 1, Metrics: []WatchedMetric{
			{Name: "seen", Kind: "counter", Mean: float64(n), Last: float64(n), Values: n},
			{Name: "check a", Kind: "rate", Min: float64(i), Mean: float64(i), Max: float64(i), Values: n},
		}}}
	}
	merged, _, err := Merge(all...)
	if err != nil {
		t.Fatal(err)
	}
	if *merged.Iterations != (Iterations{40, 2, 4}) || len(merged.Watched) != 1 {
		t.Fatalf("%+v, %+v", merged.Iterations, merged.Watched)
	}
	w := merged.Watched[0]
	if m := w.Metric("seen"); m.Last != 40 {
		t.Errorf("seen %+v", m)
	}
	if m := w.Metric("check a"); m.Mean != 0.75 || m.Min != 0 || m.Max != 1 || m.Values != 40 || w.Samples != 2 {
		t.Errorf("check %+v of %+v", m, w)
	}
}
