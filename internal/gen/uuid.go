package gen

import "encoding/binary"

// uuids makes UUIDs of version 4 (RFC 9562), with the random bits from the stream. Unique ones
// hold a permutation of the row numbers in 64 of their 122 random bits.
type uuids struct {
	stream Stream
	unique bool
	order  Permutation // of 2^64
}

func newUUIDs(spec *Spec, stream Stream) Generator {
	g := &uuids{stream: stream, unique: spec.Unique}
	if spec.Unique {
		g.order = NewPermutation(stream.Sub("order"), 0)
	}
	return g
}

func (g *uuids) Value(v *Value, index uint64) {
	r := g.stream.At(index)
	hi, lo := r.Uint64(), r.Uint64()
	if g.unique {
		hi = g.order.At(index)
		lo = lo&^(0xF<<58) | hi>>12&0xF<<58 // the bits that the version takes
	}
	hi = hi&^0xF000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	v.Kind = UUID
	v.B = binary.BigEndian.AppendUint64(v.B[:0], hi)
	v.B = binary.BigEndian.AppendUint64(v.B, lo)
}
