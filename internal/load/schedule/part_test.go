package schedule

import (
	"slices"
	"testing"
)

func TestPartsTakeEachOperationOnce(t *testing.T) {
	parts := []Part{{Of: 6, Takes: []uint64{0, 2, 4}}, {Of: 6, Takes: []uint64{1, 5}}, {Of: 6, Takes: []uint64{3}}}
	shape, err := NewShape([]Segment{{DurationNs: 2e9, RateFrom: 10, RateTo: 10}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	numbers := func(p Part, i, n uint64) (out []uint64) {
		s := Stage{Shape: shape, Part: p}
		for a, _ := s.Arrivals(p.Worker(i, n), 20); !a.Over; a.Advance() {
			out = append(out, a.Number)
		}
		return out
	}
	if got := numbers(parts[0], 1, 2); !slices.Equal(got, []uint64{2, 6, 10, 14, 18}) {
		t.Errorf("worker 1 of 2 has arrivals %v", got)
	}
	var all []uint64
	for _, p := range parts {
		all = append(all, numbers(p, 0, 1)...)
	}
	slices.Sort(all)
	if !slices.Equal(all, numbers(Part{}, 0, 1)) || len(all) != 20 {
		t.Errorf("the parts have arrivals %v", all)
	}
	for _, c := range []struct {
		part    Part
		k, want uint64
	}{{parts[0], 0, 0}, {parts[0], 3, 6}, {parts[0], 4, 12}, {parts[2], 2, 12}, {Part{}, 7, 7}} {
		if got := c.part.After(c.k); got != c.want {
			t.Errorf("after %d operations of %v comes %d, want %d", c.k, c.part, got, c.want)
		}
	}
}
