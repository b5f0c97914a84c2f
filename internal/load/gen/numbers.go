package gen

// source returns the rank for an index: drawn by a distribution, or different for each index.
type source struct {
	stream Stream
	mode   sourceMode
	ranks  Ranks
	order  Permutation
	step   uint64
}

type sourceMode uint8

const (
	drawn    sourceMode = iota // by the distribution
	inOrder                    // the index itself, modulo the number of ranks
	permuted                   // in a permuted order, spread evenly over the range
)

// newSource returns the source for a type whose values can be numbered. Unique integers of a table are in order, as in
// Picostress; other unique values are permuted.
func newSource(spec *Spec, stream Stream, rows uint64) (*source, axis, *FieldError) {
	a, top, err := spec.ranked()
	if err != nil {
		return nil, a, err
	}
	g := &source{stream: stream}
	switch {
	case !spec.Unique:
		g.ranks, err = newRanks(spec, top, a)
	case rows > 0 && (spec.Type == TypeInteger || spec.Type == TypeUnsigned):
		g.mode, g.ranks = inOrder, Ranks{shape: sequentialShape, top: top}
	case rows > 0:
		g.mode, g.order = permuted, NewPermutation(stream.Sub("order"), rows)
		g.step = max(part(1, rows, top), 1)
	default:
		g.mode, g.order, g.step = permuted, NewPermutation(stream.Sub("order"), top+1), 1
	}
	return g, a, err
}

func (g *source) rank(index uint64) uint64 {
	switch g.mode {
	case inOrder:
		return g.ranks.Draw(nil, index)
	case permuted:
		return g.order.At(index) * g.step
	}
	return g.ranks.At(g.stream, index)
}

// integers generates values that are stored as an integer: lo + rank.
type integers struct {
	source
	lo    uint64
	kind  Kind
	scale uint8
}

func (g *integers) Value(v *Value, index uint64) {
	v.Kind, v.Scale, v.I = g.kind, g.scale, int64(g.lo+g.rank(index))
}

func newIntegers(spec *Spec, stream Stream, rows uint64) (Generator, *FieldError) {
	s, a, err := newSource(spec, stream, rows)
	if err != nil {
		return nil, err
	}
	g := integers{source: *s, lo: a.lo, kind: spec.Kind()}
	if spec.Type == TypeDecimal {
		g.scale = uint8(spec.scale())
	}
	if g.mode == drawn && g.ranks.shape == uniformShape {
		return &uniformIntegers{g.stream, g.ranks.top + 1, g.lo, g.kind, g.scale}, nil
	}
	return &g, nil
}

// uniformIntegers is integers for ranks that are equally likely.
type uniformIntegers struct {
	stream Stream
	n      uint64 // how many there are; 0 means 2^64
	lo     uint64
	kind   Kind
	scale  uint8
}

func (g *uniformIntegers) Value(v *Value, index uint64) {
	v.Kind, v.Scale, v.I = g.kind, g.scale, int64(g.lo+g.stream.Uint64n(index, g.n))
}

// coin makes booleans that are true with a probability.
type coin struct {
	stream Stream
	p      float64
}

func (g *coin) Value(v *Value, index uint64) {
	v.Kind, v.I = Bool, int64(b2u(g.stream.Float64(index) < g.p))
}

// newBooleans returns a generator of booleans. Uniform and normal give a fair coin or, if Param is strictly between 0
// and 1, true with probability Param. For other distributions false is the start of the range and true its end.
func newBooleans(spec *Spec, stream Stream, rows uint64) (Generator, *FieldError) {
	shape := shapeOf(spec.Distribution)
	if spec.Unique || shape != uniformShape && shape != normalShape {
		return newIntegers(spec, stream, rows)
	}
	g := &coin{stream: stream, p: 0.5}
	if spec.Param > 0 && spec.Param < 1 {
		g.p = spec.Param
	}
	return g, nil
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
