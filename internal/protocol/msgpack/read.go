package msgpack

import "math"

// ReadError is the reason why a Reader stopped.
type ReadError uint8

// The reasons.
const (
	Fine  ReadError = iota
	Short           // the input ends too early
	Bad             // the input isn't of the requested type
)

// Reader decodes MessagePack. It keeps the first error; all reads after that return zero values.
type Reader struct {
	B   []byte // the input, of which B[At:] is still to be read
	At  int
	Err ReadError // why it stopped
}

// Fail sets the error, unless there is one.
func (r *Reader) Fail(t ReadError) {
	if r.Err == Fine {
		r.Err = t
	}
}

// Take returns the next n bytes.
func (r *Reader) Take(n int) []byte {
	if r.Err != Fine {
		return nil
	}
	if n < 0 || n > len(r.B)-r.At {
		r.Fail(Short)
		return nil
	}
	b := r.B[r.At : r.At+n]
	r.At += n
	return b
}

// Peek returns the first byte of the next value, or 0xc1 (which is never used) at the end.
func (r *Reader) Peek() byte {
	if r.Err != Fine || r.At >= len(r.B) {
		r.Fail(Short)
		return 0xc1
	}
	return r.B[r.At]
}

// big reads a big-endian integer of n bytes.
func (r *Reader) big(n int) uint64 {
	var x uint64
	for _, c := range r.Take(n) {
		x = x<<8 | uint64(c)
	}
	return x
}

// Head reads the first bytes of a value: its family, and its number or size.
func (r *Reader) Head() (f Family, n uint64) {
	b := r.Take(1)
	if b == nil {
		return None, 0
	}
	switch c := b[0]; {
	case c < 0x80:
		return Unsigned, uint64(c)
	case c < 0x90:
		return Mapping, uint64(c & 15)
	case c < 0xa0:
		return List, uint64(c & 15)
	case c < 0xc0:
		return String, uint64(c & 31)
	case c >= 0xe0:
		return Signed, uint64(int64(int8(c)))
	case c == 0xc0:
		return Nil, 0
	case c == 0xc2, c == 0xc3:
		return Bool, uint64(c & 1)
	case c >= 0xc4 && c <= 0xc6:
		return Binary, r.big(1 << (c - 0xc4))
	case c >= 0xc7 && c <= 0xc9:
		return Extension, r.big(1 << (c - 0xc7))
	case c == 0xca:
		return Float, math.Float64bits(float64(math.Float32frombits(uint32(r.big(4)))))
	case c == 0xcb:
		return Float, r.big(8)
	case c >= 0xcc && c <= 0xcf:
		return Unsigned, r.big(1 << (c - 0xcc))
	case c >= 0xd0 && c <= 0xd3:
		size := 1 << (c - 0xd0)
		shift := 64 - 8*size
		return Signed, uint64(int64(r.big(size)<<shift) >> shift)
	case c >= 0xd4 && c <= 0xd8:
		return Extension, 1 << (c - 0xd4)
	case c >= 0xd9 && c <= 0xdb:
		return String, r.big(1 << (c - 0xd9))
	case c == 0xdc, c == 0xdd:
		return List, r.big(2 << (c - 0xdc))
	case c == 0xde, c == 0xdf:
		return Mapping, r.big(2 << (c - 0xde))
	}
	r.Fail(Bad)
	return None, 0
}

// Family is a group of formats that differ only in size.
type Family uint8

// The families. None is that of no value.
const (
	None Family = iota
	Nil
	Bool
	Unsigned
	Signed
	Float
	String
	Binary
	List
	Mapping
	Extension
)

// sized reads the head of a value of the given family and returns its number or size.
func (r *Reader) sized(want Family) uint64 {
	f, n := r.Head()
	if f != want {
		r.Fail(Bad)
		return 0
	}
	return n
}

// Array reads the head of an array and returns the number of its values.
func (r *Reader) Array() uint64 { return r.sized(List) }

// Map reads the head of a map and returns the number of its pairs.
func (r *Reader) Map() uint64 { return r.sized(Mapping) }

// Uint reads a non-negative integer.
func (r *Reader) Uint() uint64 {
	f, n := r.Head()
	if f != Unsigned && !(f == Signed && int64(n) >= 0) {
		r.Fail(Bad)
		return 0
	}
	return n
}

// Text reads a string. The result is a part of the input.
func (r *Reader) Text() []byte { return r.Body(r.sized(String)) }

// Body returns the n bytes of a value whose head has been read.
func (r *Reader) Body(n uint64) []byte {
	if n > math.MaxInt32 {
		r.Fail(Short)
		return nil
	}
	return r.Take(int(n))
}

// Skip skips one value of any type, without recursion.
func (r *Reader) Skip() {
	for left := uint64(1); left > 0 && r.Err == Fine; left-- {
		switch f, n := r.Head(); f {
		case String, Binary:
			r.Body(n)
		case Extension:
			r.Body(n + 1)
		case List:
			left += n
		case Mapping:
			left += 2 * n
		}
	}
}
