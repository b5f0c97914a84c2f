package gen

import "strconv"

// The forms of generated JSON texts by length in bytes; see jsons.
const (
	jsonFull  = 66 // the shortest text that holds every field at its widest
	jsonShort = 11 // the shortest that holds a field
)

// jsons makes JSON objects whose text has a length by the distribution:
//
//	{"id":…,"active":true,"score":0.123,"text":"…"}   from 66 bytes on
//	{"text":"…"}                                      from 11 bytes on
//	{}                                                below, padded with spaces
//
// id is a random number below 2^31, or a number of its own for each row if unique.
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
	a, top, err := spec.ranked()
	if err != nil {
		return nil, err
	}
	lengths, err := newRanks(spec, top, a)
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
