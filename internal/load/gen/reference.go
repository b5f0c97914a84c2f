package gen

import "math"

// references makes values that rows of a table have in a column.
type references struct {
	values Generator
	stream Stream
	rows   Ranks
	unique bool
	order  Permutation
}

func (g *references) Value(v *Value, index uint64) {
	if g.unique {
		g.values.Value(v, g.order.At(index))
		return
	}
	g.values.Value(v, g.rows.At(g.stream, index))
}

// NewReference returns a generator of the values that rows of spec.Table have in spec.Column. The row for an index
// depends only on rowStream, the table's row count and the Spec's distribution and nulls: references that agree in
// these take their values from the same row. rows is as in New; a unique reference takes each row of the table at most
// once. The error is a *FieldError or the error of lookup.
func NewReference(spec *Spec, rowStream Stream, rows uint64, lookup Lookup) (Generator, error) {
	if faults := spec.Validate(rows); len(faults) > 0 {
		return nil, faults[0]
	}
	if lookup == nil {
		return nil, fault("table", "references are not possible here")
	}
	values, n, err := lookup(spec.Table, spec.Column)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fault("table", "%q has no rows to refer to: raise its row count", spec.Table)
	}
	g := &references{values: values, stream: rowStream, unique: spec.Unique}
	if spec.Unique {
		if rows > n {
			return nil, fault("unique", "%d rows can't each refer to a row of their own in %q, which has %d", rows,
				spec.Table, n)
		}
		g.order = NewPermutation(rowStream.Sub("order"), n)
		return withNulls(spec, rowStream, g), nil
	}
	var ferr *FieldError
	if g.rows, ferr = newRanks(spec, n-1, axis{}); ferr != nil {
		return nil, ferr
	}
	return withNulls(spec, rowStream, g), nil
}

// nulls replaces some values of a generator by null.
type nulls struct {
	values Generator
	stream Stream
	below  uint64 // of 2^64
}

func (g *nulls) Value(v *Value, index uint64) {
	if g.stream.Uint64(index) < g.below {
		v.SetNull()
		return
	}
	g.values.Value(v, index)
}

// withNulls wraps a generator if its Spec contains nulls. Which values are null is decided by a separate stream, so
// that the other values don't depend on the share of nulls.
func withNulls(spec *Spec, stream Stream, values Generator) Generator {
	switch {
	case spec.NullPercent <= 0:
		return values
	case spec.NullPercent >= 100:
		return Func(func(v *Value, _ uint64) { v.SetNull() })
	}
	below := math.Ldexp(spec.NullPercent/100, 64)
	return &nulls{values, stream.Sub("null"), uint64(below)}
}
