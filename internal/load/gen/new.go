package gen

// New returns the generator of a Spec's values. rows is the row count of the table for a
// column, so that unique values are different from row 0 to rows-1, or 0 for a parameter, whose
// unique values are different until the range (or 2^32 values) has been gone through. lookup
// serves references and may be nil for other types. The error is a *FieldError, or what lookup
// returned.
//
// Values by type; ranges without HasRange are those of the Default… constants:
//
//   - integer, unsigned, datetime, decimal: drawn by the distribution. Unique integers of a
//     table are lo, lo+1, … by row; unique parameters, datetimes and decimals go through the
//     range in a permuted order, datetimes and decimals of a table in equal steps over it.
//   - double: drawn by the distribution over [lo, hi); zipf and sequential take steps of a
//     millionth of the range. Default 0 to 1.
//   - string, JSON: the distribution gives the length.
//   - boolean: uniform and normal are a fair coin, or true with probability Param if that is
//     below 1; others have false as first and true as second value.
//   - oneof: one of Values, the distribution over their numbers.
//   - uuid: version 4; the distribution means nothing.
//   - varint: Size bytes that begin with the zigzag varint of an integer from the range, uniform or sequential; the
//     rest is what earlier, longer varints have left in the buffer, as in the keys of etcd's benchmark.
func New(spec *Spec, stream Stream, rows uint64, lookup Lookup) (Generator, error) {
	if spec.Type == TypeReference {
		return NewReference(spec, stream, rows, lookup)
	}
	if faults := spec.Validate(rows); len(faults) > 0 {
		return nil, faults[0]
	}
	g, err := newValues(spec, stream, rows)
	if err != nil {
		return nil, err
	}
	return withNulls(spec, stream, g), nil
}

func newValues(spec *Spec, stream Stream, rows uint64) (Generator, *FieldError) {
	switch spec.Type {
	case TypeString:
		return newTexts(spec, stream, rows)
	case TypeBoolean:
		return newBooleans(spec, stream, rows)
	case TypeDouble:
		return newDoubles(spec, stream, rows)
	case TypeUUID:
		return newUUIDs(spec, stream), nil
	case TypeJSON:
		return newJSONs(spec, stream, rows)
	case TypeOneOf:
		return newOneOf(spec, stream, rows)
	case TypeConstant:
		return newConstant(spec.Constant), nil
	case TypeVarint:
		return newVarints(spec, stream), nil
	}
	return newIntegers(spec, stream, rows)
}

// newConstant returns a generator of a single value.
func newConstant(x any) Generator {
	var c Value
	c.SetAny(x)
	return Func(func(v *Value, _ uint64) { v.Set(&c) })
}

// newOneOf returns a generator of texts from a list.
func newOneOf(spec *Spec, stream Stream, rows uint64) (Generator, *FieldError) {
	s, _, err := newSource(spec, stream, rows)
	if err != nil {
		return nil, err
	}
	texts := spec.Values
	return Func(func(v *Value, index uint64) { v.SetString(texts[s.rank(index)]) }), nil
}
