package gen

import (
	"encoding/binary"
	"math"
)

// MaxVarintSize is the greatest Size of a Spec, in bytes.
const MaxVarintSize = 1 << 20

// varints makes byte strings of one size, as etcd's benchmark makes keys: the zigzag varint of an integer (package
// encoding/binary), written over the previous key of the same buffer. So the bytes after a varint are those of the last
// longer one, and zero before there was one.
//
// Value number n of a sequence is computed from n alone. Of values that are drawn at random, each has the distribution
// that it has in the benchmark; but two values depend on each other only by the seed, where the benchmark's share bytes
// until a longer varint is drawn.
type varints struct {
	stream        Stream
	lo, n         uint64 // the first integer, and how many there are
	sequential    bool
	size          int
	group, member uint64
	// longer[p] is the number of integers of the range whose varint has more than p bytes, the last ones of the range.
	longer [binary.MaxVarintLen64]uint64
}

// checkVarint checks the fields of a TypeVarint.
func (s *Spec) checkVarint() *FieldError {
	lo, hi := s.intRange(0, DefaultIntegerHi)
	switch {
	case s.Size < 1 || s.Size > MaxVarintSize:
		return fault("size", "%d is not a number of bytes from 1 to %d", s.Size, MaxVarintSize)
	case lo < 0 || hi < lo:
		return fault("range", "%d to %d is no range of numbers from 0", lo, hi)
	case s.Distribution != "" && s.Distribution != Uniform && s.Distribution != Sequential:
		return fault("distribution", "a varint's is uniform or sequential, not %s", s.Distribution)
	case s.Unique:
		return fault("unique", "a varint can't be unique: use distribution: Sequential")
	case s.Member < 0 || s.Group < 0 || s.Member >= max(s.Group, 1):
		return fault("member", "%d is not a number from 0 to below group, %d", s.Member, max(s.Group, 1))
	case varintLen(uint64(hi)) > s.Size:
		return fault("size", "%d bytes can't hold %d, which takes %d", s.Size, hi, varintLen(uint64(hi)))
	}
	return nil
}

func newVarints(spec *Spec, stream Stream) Generator {
	lo, hi := spec.intRange(0, DefaultIntegerHi)
	g := &varints{
		stream: stream, lo: uint64(lo), n: uint64(hi-lo) + 1, sequential: spec.Distribution == Sequential,
		size: spec.Size, group: uint64(max(spec.Group, 1)), member: uint64(spec.Member),
	}
	for p := range g.longer {
		first := uint64(0) // with more than p bytes
		if p > 0 {
			first = 1 << (7*p - 1)
		}
		if first <= uint64(hi) {
			g.longer[p] = uint64(hi) - max(first, g.lo) + 1
		}
	}
	return g
}

// varintLen returns the length of the zigzag varint of a number that isn't negative.
func varintLen(x uint64) int {
	var b [binary.MaxVarintLen64]byte
	return binary.PutVarint(b[:], int64(x))
}

// Value implements Generator.
func (g *varints) Value(v *Value, index uint64) {
	v.Kind = Bytes
	if cap(v.B) < g.size {
		v.B = make([]byte, g.size)
	}
	v.B = v.B[:g.size]
	clear(v.B)
	number := index*g.group + g.member
	var b [binary.MaxVarintLen64]byte
	if g.sequential {
		if number >= g.n { // the range was gone through before: its last number has left its bytes
			copy(v.B, b[:binary.PutVarint(b[:], int64(g.lo+g.n-1))])
		}
		copy(v.B, b[:binary.PutVarint(b[:], int64(g.lo+number%g.n))])
		return
	}
	r := g.stream.At(number)
	x := g.lo + r.Uint64n(g.n)
	length := binary.PutVarint(b[:], int64(x))
	copy(v.B, b[:length])
	for p := length; g.longer[p] > 0; {
		// The last draw before this one with more than p bytes is one of the longer numbers, all alike. It was made so
		// many draws ago, or there was none.
		share := float64(g.longer[p]) / float64(g.n)
		age := 1 + math.Floor(math.Log1p(-r.Float64())/math.Log1p(-share))
		if age > float64(number) {
			return // nor was there a still longer one
		}
		last := g.lo + g.n - 1 - r.Uint64n(g.longer[p])
		var c [binary.MaxVarintLen64]byte
		longer := binary.PutVarint(c[:], int64(last))
		copy(v.B[p:], c[p:longer])
		number -= uint64(age)
		p = longer
	}
}
