package measure

import (
	"slices"
	"testing"
)

func TestStepsOfAHistogram(t *testing.T) {
	h := NewHistogram()
	for _, v := range []int64{0, 1, 9, 10, 11, 25, 25} {
		h.Record(v)
	}
	tens := func(lo, _ int64) int { return int(lo / 10) }
	if got, want := h.Steps(tens), (Steps{{0, 3}, {1, 2}, {2, 2}}); !slices.Equal(got, want) || got.Count() != h.Count() {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := (*Histogram)(nil).Steps(tens); got != nil {
		t.Errorf("of none: %v", got)
	}
}

func TestStepsAddUp(t *testing.T) {
	for name, row := range map[string]struct{ a, b, want Steps }{
		"empty":       {nil, nil, Steps{}},
		"one":         {Steps{{3, 1}}, nil, Steps{{3, 1}}},
		"the other":   {nil, Steps{{3, 1}}, Steps{{3, 1}}},
		"alternately": {Steps{{1, 1}, {3, 1}}, Steps{{2, 5}, {4, 5}}, Steps{{1, 1}, {2, 5}, {3, 1}, {4, 5}}},
		"the same":    {Steps{{1, 1}, {3, 1}}, Steps{{1, 5}, {3, 5}}, Steps{{1, 6}, {3, 6}}},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(row.a)
			if got := row.a.Add(row.b); !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
			if !slices.Equal(row.a, before) {
				t.Errorf("a has become %v", row.a)
			}
		})
	}
}
