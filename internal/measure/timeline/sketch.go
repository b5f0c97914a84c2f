package timeline

import (
	"encoding/binary"
	"math"
	"math/bits"

	"brunt/internal/measure"
)

// Sketch is a distribution of times in nanoseconds. Each bucket is 1/32 of an octave wide, so values have an error of
// at most 3 %: accurate enough for charts, and small enough to keep one per slot. It lists the non-empty buckets in
// ascending order.
type Sketch measure.Steps

const (
	octaveBits = 5
	octaveSize = 1 << octaveBits
)

// IndexOf returns the bucket of a value. Values below 64 have one bucket each; every further octave has 32.
func IndexOf(ns int64) int {
	v := uint64(max(ns, 0))
	octave := bits.Len64(v|(2*octaveSize-1)) - (octaveBits + 1)
	return octave<<octaveBits + int(v>>octave)
}

// EdgeOf returns the least value of a bucket.
func EdgeOf(index int) int64 {
	if index < 2*octaveSize {
		return int64(index)
	}
	octave := index>>octaveBits - 1
	return int64(index&(octaveSize-1)|octaveSize) << octave
}

// middleOf returns the value that represents a bucket: the geometric mean of its edges.
func middleOf(index int) float64 {
	if index < 2*octaveSize {
		return float64(index)
	}
	return math.Sqrt(float64(EdgeOf(index)) * float64(EdgeOf(index+1)))
}

// SketchOf returns the sketch of a histogram, which may be nil.
func SketchOf(h *measure.Histogram) Sketch {
	return Sketch(h.Steps(func(lo, _ int64) int { return IndexOf(lo) }))
}

// Add returns the sum of both sketches. The result shares no memory with them.
func (s Sketch) Add(o Sketch) Sketch { return Sketch(measure.Steps(s).Add(measure.Steps(o))) }

// Count returns the number of values.
func (s Sketch) Count() uint64 { return measure.Steps(s).Count() }

// Quantile returns the value at q in [0, 1], with an error of at most 3 %, over the values and noAnswer infinite values
// for arrivals without an answer. It returns +Inf if the quantile is one of these, and NaN if there are no values at
// all.
func (s Sketch) Quantile(q float64, noAnswer uint64) float64 {
	all := s.Count() + noAnswer
	if all == 0 {
		return math.NaN()
	}
	rank := max(uint64(math.Ceil(q*float64(all)-1e-9)), 1)
	for _, b := range s {
		if rank <= b.N {
			return middleOf(b.Index)
		}
		rank -= b.N
	}
	return math.Inf(1)
}

// append encodes the sketch as variable-length integers: the number of buckets, and for each bucket the difference of
// its index from the previous one, and its count.
func (s Sketch) append(to []byte) []byte {
	to = binary.AppendUvarint(to, uint64(len(s)))
	before := 0
	for _, b := range s {
		to = binary.AppendUvarint(to, uint64(b.Index-before))
		to = binary.AppendUvarint(to, b.N)
		before = b.Index
	}
	return to
}
