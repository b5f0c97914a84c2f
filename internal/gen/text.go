package gen

import (
	"math"
	"math/bits"
)

// parameterTexts is how many unique texts a parameter gets before they repeat, if there are as
// many.
const parameterTexts = 1 << 32

// texts makes strings: a length by the distribution, characters uniform.
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

// uniqueTexts makes strings that differ: the first characters encode a permutation of the row
// numbers, the rest are random up to a length by the distribution.
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

// allTexts makes strings that differ where the rows need texts of several lengths: it counts
// through all texts of the range, in a permuted order.
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

func newTexts(spec *Spec, stream Stream, rows uint64) (Generator, *FieldError) {
	letters, err := newAlphabet(spec.Alphabet)
	if err != nil {
		return nil, err
	}
	a, top, err := spec.ranked()
	if err != nil {
		return nil, err
	}
	lengths, err := newRanks(spec, top, a)
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

// codeFor returns how many characters tell need texts apart, and how many texts they make
// (need, if that number overflows).
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
