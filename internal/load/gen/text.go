package gen

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// parameterTexts is the number of unique texts of a parameter before they repeat, if the range has that many.
const parameterTexts = 1 << 32

// texts generates strings: their lengths follow the distribution, their characters are uniform.
type texts struct {
	stream  Stream
	letters *alphabet
	lo      uint64
	lengths Ranks
}

func (g *texts) Value(v *Value, index uint64) {
	r := g.stream.At(index)
	n := g.lo + g.lengths.Draw(&r, index)
	v.Kind, v.B = String, g.letters.append(v.B[:0], &r, n)
}

// uniqueTexts generates distinct strings: the first characters encode a permutation of the row numbers, the rest are
// random, up to a length that follows the distribution.
type uniqueTexts struct {
	texts
	order Permutation
	code  uint64 // characters that encode
}

func (g *uniqueTexts) Value(v *Value, index uint64) {
	r := g.stream.At(index)
	n := max(g.lo+g.lengths.Draw(&r, index), g.code)
	b := g.letters.appendCode(v.B[:0], g.order.At(index), g.code)
	v.Kind, v.B = String, g.letters.append(b, &r, n-g.code)
}

// allTexts generates distinct strings if the rows need texts of several lengths: it enumerates all texts of the range
// in a permuted order.
type allTexts struct {
	letters *alphabet
	order   Permutation
	lo      uint64
}

func (g *allTexts) Value(v *Value, index uint64) {
	code, n := g.order.At(index), g.lo
	for {
		p := g.letters.power(n)
		if code < p {
			break
		}
		code -= p
		n++
	}
	v.Kind, v.B = String, g.letters.appendCode(v.B[:0], code, n)
}

// newLengths returns the distribution of the lengths of texts: ranks from 0 to top on the axis a.
func newLengths(spec *Spec) (a axis, top uint64, lengths Ranks, err *FieldError) {
	if a, top, err = spec.ranked(); err == nil {
		lengths, err = newRanks(spec, top, a)
	}
	return a, top, lengths, err
}

func newTexts(spec *Spec, stream Stream, rows uint64) (Generator, *FieldError) {
	letters, err := newAlphabet(spec.Alphabet)
	if err != nil {
		return nil, err
	}
	a, top, lengths, err := newLengths(spec)
	if err != nil {
		return nil, err
	}
	plain := texts{stream: stream, letters: letters, lo: a.lo, lengths: lengths}
	if !spec.Unique {
		return &plain, nil
	}
	space := letters.texts(a.lo, a.lo+top)
	need := rows
	if rows == 0 {
		need = min(parameterTexts, space)
	}
	order := stream.Sub("order")
	code, domain := letters.codeFor(need)
	if code <= a.lo+top {
		return &uniqueTexts{texts: plain, order: NewPermutation(order, domain), code: code}, nil
	}
	return &allTexts{letters: letters, order: NewPermutation(order, space), lo: a.lo}, nil
}

// codeFor returns how many characters are needed to distinguish need texts, and how many texts they can encode (need,
// if that number overflows).
func (a *alphabet) codeFor(need uint64) (n, domain uint64) {
	if a.size() == 1 && need > 1 {
		return math.MaxUint64, need
	}
	for domain = 1; domain < need; n++ {
		hi, lo := bits.Mul64(domain, a.size())
		if hi > 0 {
			return n + 1, need
		}
		domain = lo
	}
	return n, domain
}

// uuids generates UUIDs of version 4 (RFC 9562) with random bits from the stream. In unique ones, 64 of the 122 random
// bits hold a permutation of the row numbers.
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

// The forms of generated JSON texts by length in bytes; see jsons.
const (
	jsonFull  = 66 // the shortest text that holds every field at its widest
	jsonShort = 11 // the shortest that holds a field
)

// jsons generates JSON objects. The length of the text follows the distribution:
//
//	{"id":…,"active":true,"score":0.123,"text":"…"}   from 66 bytes on
//	{"text":"…"}                                      from 11 bytes on
//	{}                                                below, padded with spaces
//
// id is a random number below 2^31 or, if unique, a different number for each row.
type jsons struct {
	stream  Stream
	letters *alphabet
	lo      uint64
	lengths Ranks
	unique  bool
	order   Permutation
}

func (g *jsons) Value(v *Value, index uint64) {
	r := g.stream.At(index)
	n := g.lo + g.lengths.Draw(&r, index)
	v.Kind, v.B = JSON, g.append(v.B[:0], &r, index, n)
}

func (g *jsons) append(b []byte, r *Rand, index, n uint64) []byte {
	const tail = `"}`
	switch {
	case n >= jsonFull:
		b = append(b, `{"id":`...)
		if id := r.Uint64n(1 << 31); g.unique {
			b = strconv.AppendUint(b, g.order.At(index), 10)
		} else {
			b = strconv.AppendUint(b, id, 10)
		}
		b = append(b, `,"active":`...)
		b = strconv.AppendBool(b, r.Uint64n(2) == 1)
		b = append(b, `,"score":0.`...)
		score := r.Uint64n(1000)
		b = append(b, byte('0'+score/100), byte('0'+score/10%10), byte('0'+score%10))
		b = append(b, `,"text":"`...)
	case n >= jsonShort:
		b = append(b, `{"text":"`...)
	default:
		b = append(b, '{')
		for ; n > 2; n-- {
			b = append(b, ' ')
		}
		return append(b, '}')
	}
	b = g.letters.append(b, r, n-uint64(len(b))-uint64(len(tail)))
	return append(b, tail...)
}

func newJSONs(spec *Spec, stream Stream, rows uint64) (Generator, *FieldError) {
	a, _, lengths, err := newLengths(spec)
	if err != nil {
		return nil, err
	}
	letters, _ := newAlphabet(nil)
	g := &jsons{stream: stream, letters: letters, lo: a.lo, lengths: lengths, unique: spec.Unique}
	if spec.Unique {
		g.order = NewPermutation(stream.Sub("order"), rows)
	}
	return g, nil
}
