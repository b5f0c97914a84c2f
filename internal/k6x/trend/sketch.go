//go:build !nok6

package trend

import (
	"maps"
	"math"
	"slices"
)

// mantissaBits is how finely each power of two is cut: values of a bucket differ by less than 0.1 %.
const mantissaBits = 10

// sketch counts numbers of any size and sign in logarithmic buckets: by their sign, exponent, and the
// first bits of their mantissa. The smallest, the greatest, the number and the sum are exact.
type sketch struct {
	buckets  map[int32]uint64 // by order
	sorted   []int32          // the keys of buckets, as far as known
	n        uint64
	sum      float64
	min, max float64
}

// order numbers the bucket of v, so that greater values have greater numbers.
func order(v float64) int32 {
	b := int32(math.Float64bits(math.Abs(v)) >> (52 - mantissaBits))
	if v < 0 {
		return -b - 1
	}
	return b
}

// edges are the least and the greatest value of a bucket.
func edges(order int32) (lo, hi float64) {
	if order < 0 {
		lo, hi = edges(-order - 1)
		return -hi, -lo
	}
	return math.Float64frombits(uint64(order) << (52 - mantissaBits)), math.Float64frombits(uint64(order+1)<<(52-mantissaBits) - 1)
}

func (s *sketch) add(v float64) {
	if s.buckets == nil {
		s.buckets = map[int32]uint64{}
	}
	if s.n == 0 || v < s.min {
		s.min = v
	}
	if s.n == 0 || v > s.max {
		s.max = v
	}
	s.n++
	s.sum += v
	s.buckets[order(v)]++
}

// each calls f with each bucket in ascending order.
func (s *sketch) each(f func(lo, hi float64, n uint64)) {
	if len(s.sorted) != len(s.buckets) {
		s.sorted = slices.Sorted(maps.Keys(s.buckets))
	}
	for _, k := range s.sorted {
		lo, hi := edges(k)
		f(lo, hi, s.buckets[k])
	}
}
