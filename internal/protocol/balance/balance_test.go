package balance

import (
	"slices"
	"strings"
	"testing"
)

func assign(t *testing.T, name string, addresses int, weights []int, seed uint64, sessions int) []int {
	t.Helper()
	p, err := New(name, addresses, weights, seed)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]int, sessions)
	for i := range got {
		got[i] = p(i)
	}
	return got
}

func TestTurns(t *testing.T) {
	for _, c := range []struct {
		name      string
		addresses int
		weights   []int
		want      []int
	}{
		{"", 3, nil, []int{0, 1, 2, 0, 1, 2, 0}},
		{"round-robin", 1, nil, []int{0, 0, 0}},
		{"weighted", 2, nil, []int{0, 1, 0, 1}},
		// The example of nginx's commit message for smooth weighted balancing.
		{"weighted", 3, []int{5, 1, 1}, []int{0, 0, 1, 0, 2, 0, 0, 0, 0, 1}},
		{"weighted", 2, []int{2_000_000_000, 1_000_000_000}, []int{0, 1, 0, 0, 1, 0}},
	} {
		if got := assign(t, c.name, c.addresses, c.weights, 0, len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %v, want %v", c.name, c.weights, got, c.want)
		}
	}
}

func TestRandomKeepsToWeights(t *testing.T) {
	const n = 60_000
	for _, weights := range [][]int{nil, {1, 2, 3}} {
		got := assign(t, "random", 3, weights, 9, n)
		if again := assign(t, "random", 3, weights, 9, n); !slices.Equal(got, again) {
			t.Error("one seed, two answers")
		}
		var counts [3]float64
		for _, a := range got {
			counts[a]++
		}
		chi := 0.0
		for i := range counts {
			want := n / 3.0
			if weights != nil {
				want = n * float64(weights[i]) / 6
			}
			chi += (counts[i] - want) * (counts[i] - want) / want
		}
		if chi > 18.42 { // χ²(2) at 10⁻⁴
			t.Errorf("weights %v gave %v, χ² = %.1f", weights, counts, chi)
		}
	}
	if slices.Equal(assign(t, "random", 3, nil, 1, 50), assign(t, "random", 3, nil, 2, 50)) {
		t.Error("two seeds, one answer")
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name      string
		addresses int
		weights   []int
		say       string
	}{
		{"round-robin", 0, nil, "no address"},
		{"round-robin", 2, []int{1, 2}, "weighted"},
		{"random", 2, []int{1}, "1 weights for 2"},
		{"random", 2, []int{1, 0}, "weight 0 of address 2"},
		{"weighted", 2, []int{1_000_003, 999_983}, "smaller"},
		{"nearest", 2, nil, "unknown policy"},
	} {
		_, err := New(c.name, c.addresses, c.weights, 0)
		if err == nil || !strings.Contains(err.Error(), c.say) || strings.Contains(err.Error(), "\n") {
			t.Errorf("New(%q, %d, %v): %v, want a line with %q", c.name, c.addresses, c.weights, err, c.say)
		}
	}
}
