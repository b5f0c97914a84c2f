package timeline

import (
	"encoding/binary"
	"math"
	"math/bits"

	"brunt/internal/measure"
)

// Sketch is a distribution of nanoseconds in buckets that are a 32nd of their octave wide, so that a
// value is known to 3 %: enough to draw, and small enough for every slot to have one. It is a list of the
// buckets that aren't empty, in ascending order.
type Sketch measure.Steps

const (
	octaveBits = 5
	octaveSize = 1 << octaveBits
)

// IndexOf is the bucket of a value: values below 64 have one each, every further octave has 32.
func IndexOf(ns int64) int {
	v := uint64(max(ns, 0))
	octave := bits.Len64(v|(2*octaveSize-1)) - (octaveBits + 1)
	return octave<<octaveBits + int(v>>octave)
}

// EdgeOf is the least value of a bucket.
func EdgeOf(index int) int64 {
	if index < 2*octaveSize {
		return int64(index)
	}
	octave := index>>octaveBits - 1
	return int64(index&(octaveSize-1)|octaveSize) << octave
}

// middleOf stands for the values of a bucket: the geometric mean of its edges.
func middleOf(index int) float64 {
	if index < 2*octaveSize {
		return float64(index)
	}
	return math.Sqrt(float64(EdgeOf(index)) * float64(EdgeOf(index+1)))
}

// SketchOf is the sketch of a histogram, which may be nil.
func SketchOf(h *measure.Histogram) Sketch {
	return Sketch(h.Steps(func(lo, _ int64) int { return IndexOf(lo) }))
}

// Add returns the sum of both, in memory of its own.
func (s Sketch) Add(o Sketch) Sketch { return Sketch(measure.Steps(s).Add(measure.Steps(o))) }

// Count is the number of values.
func (s Sketch) Count() uint64 { return measure.Steps(s).Count() }

// Quantile is the value at q in [0, 1], to 3 %, of the values and of others that were never answered,
// which lie beyond all; +Inf among those, NaN if there are none at all.
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

// append writes the sketch: how many buckets, then of each how far it is from the one before, and its
// count, as variable-length integers.
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
