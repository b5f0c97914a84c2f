package gen

import (
	"math"
	"testing"
)

func TestWeightedFits(t *testing.T) {
	weights := []float64{10, 0, 10, 6, 5, 1e-300, 1, 1, 1}
	w, err := NewWeighted(weights)
	if err != nil {
		t.Fatal(err)
	}
	const draws = 100000
	counts, p := make([]float64, w.Len()), make([]float64, w.Len())
	for i := range weights {
		p[i] = weights[i] / 34
	}
	for i := uint64(0); i < draws; i++ {
		counts[w.At(NewStream(4), i)]++
		r := NewStream(4).At(i)
		if w.Pick(&r) != w.At(NewStream(4), i) {
			t.Fatalf("Pick and At disagree at %d", i)
		}
	}
	if counts[1] != 0 || counts[5] != 0 {
		t.Errorf("weights 0 and 1e-300 were picked: %v", counts)
	}
	fit(t, "weights", counts, p, draws)
}

// The shares of the alias table must add up to the weights exactly, not only in a sample.
func TestWeightedShares(t *testing.T) {
	for _, weights := range [][]float64{{1}, {0, 1}, {1, 0}, {1, 2, 3, 4}, {0.1, 0.1, 0.1}, {1e308, 1, 0},
		{3, 0, 0, 0, 0, 0, 1}} {
		w, err := NewWeighted(weights)
		if err != nil {
			t.Fatal(err)
		}
		got, sum := make([]float64, len(weights)), 0.0
		for c, keep := range w.keep {
			got[c] += float64(keep) * 0x1p-64
			got[w.alias[c]] += 1 - float64(keep)*0x1p-64
			sum += weights[c]
		}
		for i := range got {
			want := weights[i] / sum * float64(len(weights))
			if math.Abs(got[i]-want) > 1e-12 || weights[i] == 0 && got[i] != 0 {
				t.Errorf("%v: index %d has share %v, want %v", weights, i, got[i], want)
			}
		}
	}
}

func TestWeightedRefuses(t *testing.T) {
	for _, weights := range [][]float64{nil, {0}, {-1, 2}, {math.NaN()}, {math.Inf(1)}, {1e308, 1e308}} {
		if _, err := NewWeighted(weights); err == nil {
			t.Errorf("NewWeighted(%v) accepts", weights)
		}
	}
}
