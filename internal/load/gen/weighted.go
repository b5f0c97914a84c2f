package gen

import (
	"fmt"
	"math"
	"math/bits"
)

// Weighted picks indexes in proportion to weights, in constant time for any number of weights. It is immutable.
// (Walker's alias method, 1977, with Vose's construction, 1991.)
type Weighted struct {
	keep  []uint64 // of column c: the share, in 2^-64, of draws that stay c
	alias []int    // index for the other draws of a column
}

// NewWeighted returns a Weighted for weights, which must be finite and ≥ 0, with at least one above 0. An index with
// weight 0 is never picked.
func NewWeighted(weights []float64) (*Weighted, error) {
	sum, best := 0.0, 0
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("weight %d is %v: give a number of at least 0", i+1, w)
		}
		sum += w
		if w > weights[best] {
			best = i
		}
	}
	if !(sum > 0) {
		return nil, fmt.Errorf("all weights are 0: give at least one a weight above 0")
	}
	if math.IsInf(sum, 0) {
		return nil, fmt.Errorf("the weights' sum is too large: scale them down")
	}
	return aliasTable(weights, sum, best), nil
}

func aliasTable(weights []float64, sum float64, best int) *Weighted {
	n := len(weights)
	t := &Weighted{keep: make([]uint64, n), alias: make([]int, n)}
	share := make([]float64, n) // of each column, 1 = full
	var small, large []int
	for i, w := range weights {
		t.alias[i] = i
		share[i] = w / sum * float64(n)
		if share[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		t.keep[s], t.alias[s] = uint64(share[s]*0x1p64), l
		share[l] -= 1 - share[s]
		if share[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	// Because of rounding, columns that should be full may be left over. They become their own alias, unless their
	// weight is 0.
	for _, s := range small {
		if weights[s] == 0 {
			t.alias[s] = best
		}
	}
	return t
}

// At returns the pick number i of a stream.
func (t *Weighted) At(s Stream, i uint64) int { return t.of(s.Uint64(i)) }

// Pick returns a pick that uses one number of r.
func (t *Weighted) Pick(r *Rand) int { return t.of(r.Uint64()) }

// Len returns the number of weights.
func (t *Weighted) Len() int { return len(t.keep) }

func (t *Weighted) of(w uint64) int {
	column, rest := bits.Mul64(w, uint64(len(t.keep)))
	if rest < t.keep[column] {
		return int(column)
	}
	return t.alias[column]
}
