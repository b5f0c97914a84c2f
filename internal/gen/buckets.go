package gen

import (
	"math"
	"math/bits"
)

func bucketWeights(buckets []Bucket) []float64 {
	w := make([]float64, len(buckets))
	for i, b := range buckets {
		w[i] = b.Weight
	}
	return w
}

// equalParts reports whether no bucket names its part.
func equalParts(buckets []Bucket) bool {
	for _, b := range buckets {
		if b.Lo != 0 || b.Hi != 0 {
			return false
		}
	}
	return true
}

// checkBuckets checks what doesn't depend on the range.
func checkBuckets(buckets []Bucket) *FieldError {
	if len(buckets) == 0 {
		return fault("histogram", "it has no buckets: list at least one with its weight")
	}
	for i, b := range buckets {
		if !isFinite(b.Lo) || !isFinite(b.Hi) || b.Lo > b.Hi {
			return fault("histogram", "bucket %d goes from %v to %v: its start must not exceed its end", i+1, b.Lo, b.Hi)
		}
	}
	if _, err := NewWeighted(bucketWeights(buckets)); err != nil {
		return fault("histogram", "%v", err)
	}
	return nil
}

// rankSpans translates buckets into ranks 0 to top.
func rankSpans(buckets []Bucket, top uint64, a axis) ([]span, *FieldError) {
	spans := make([]span, len(buckets))
	if equalParts(buckets) {
		k := uint64(len(buckets))
		if k-1 > top {
			return nil, fault("histogram", "%d buckets are more than the range's %d values", k, top+1)
		}
		for i := range spans {
			spans[i] = span{part(uint64(i), k, top), part(uint64(i)+1, k, top) - 1}
		}
		return spans, nil
	}
	for i, b := range buckets {
		first, ok1 := a.rank(b.Lo, true)
		last, ok2 := a.rank(b.Hi, false)
		switch {
		case !ok1 || !ok2 || first > top || last > top:
			return nil, fault("histogram", "bucket %d, from %v to %v, leaves the range: keep it inside", i+1, b.Lo, b.Hi)
		case first > last:
			return nil, fault("histogram", "bucket %d, from %v to %v, holds no value: widen it", i+1, b.Lo, b.Hi)
		}
		spans[i] = span{first, last}
	}
	return spans, nil
}

// part returns ⌊i·n/k⌋ for n = top+1, i ≤ k; 2^64 comes out as 0.
func part(i, k, top uint64) uint64 {
	if i == k {
		return top + 1
	}
	hi, lo := bits.Mul64(i, top)
	lo, carry := bits.Add64(lo, i, 0)
	q, _ := bits.Div64(hi+carry, lo, k)
	return q
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
