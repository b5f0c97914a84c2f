package gen

import "math"

// The ranges of types for a Spec without one, and the limits of ranges.
const (
	DefaultIntegerHi    = math.MaxInt32           // integer and unsigned: 0 to this
	DefaultDecimalHi    = 10000                   // decimal: 0 to this
	DefaultStringLo     = 1                       // characters
	DefaultStringHi     = 16                      // characters
	DefaultJSONLo       = 80                      // bytes of text
	DefaultJSONHi       = 160                     // bytes of text
	DefaultDatetimeLo   = 946_684_800_000_000     // 2000-01-01T00:00:00Z, µs
	DefaultDatetimeHi   = 1_893_455_999_999_999   // 2029-12-31T23:59:59.999999Z, µs
	DefaultDecimalScale = 2                       // digits after the point
	MaxDecimalScale     = 18                      // digits after the point
	MaxLength           = 1 << 28                 // of strings and JSON texts, in characters
	minDatetime         = -62_135_596_800_000_000 // year 1, µs
	maxDatetime         = 253_402_300_799_999_999 // end of year 9999, µs
)

// Kind returns the kind of the values that a Spec generates, apart from nulls. It is Null for references, whose kind is
// that of the column they refer to, and for the constant nil.
func (s *Spec) Kind() Kind {
	if s.Type == TypeConstant {
		var v Value
		v.SetAny(s.Constant)
		return v.Kind
	}
	return kinds[s.Type]
}

// kinds maps types to the kinds of their values.
var kinds = map[Type]Kind{
	TypeInteger: Int, TypeUnsigned: Uint, TypeDouble: Float, TypeDecimal: Decimal, TypeString: String, TypeOneOf: String,
	TypeBoolean: Bool, TypeDatetime: Datetime, TypeUUID: UUID, TypeJSON: JSON,
	TypeVarint: Bytes,
}

// Holds returns the type of a Spec's values: its own type, the type of its constant ("" if there is none), or string
// for one of several texts.
func (s *Spec) Holds() Type {
	switch s.Type {
	case TypeOneOf:
		return TypeString
	case TypeConstant:
		return constants[s.Kind()]
	}
	return s.Type
}

// constants maps the kinds of constants to their types.
var constants = map[Kind]Type{
	Bool: TypeBoolean, Int: TypeInteger, Uint: TypeUnsigned, Float: TypeDouble, String: TypeString, Datetime: TypeDatetime,
}

// scale returns the digits after the point of a decimal.
func (s *Spec) scale() int {
	switch {
	case s.DecimalScale < 0:
		return 0
	case s.DecimalScale == 0:
		return DefaultDecimalScale
	}
	return s.DecimalScale
}

// ranked returns the axis and the last rank of types whose values can be numbered. For other types top is 0.
func (s *Spec) ranked() (a axis, top uint64, err *FieldError) {
	var lo, hi int64
	a.signed = true
	switch s.Type {
	case TypeInteger:
		lo, hi = s.intRange(0, DefaultIntegerHi)
	case TypeUnsigned:
		lo, hi = s.intRange(0, DefaultIntegerHi)
		a.signed = false
		if uint64(lo) > uint64(hi) {
			return a, 0, fault("range", "its start %d is above its end %d: swap them", uint64(lo), uint64(hi))
		}
	case TypeString:
		lo, hi = s.intRange(DefaultStringLo, DefaultStringHi)
		err = withinLimits(lo, hi, 0, MaxLength, "lengths")
	case TypeJSON:
		lo, hi = s.intRange(DefaultJSONLo, DefaultJSONHi)
		err = withinLimits(lo, hi, 2, MaxLength, "lengths of JSON texts")
	case TypeDatetime:
		lo, hi = s.intRange(DefaultDatetimeLo, DefaultDatetimeHi)
		err = withinLimits(lo, hi, minDatetime, maxDatetime, "times (µs since 1970)")
	case TypeDecimal:
		return s.decimalRange()
	case TypeBoolean:
		lo, hi = 0, 1
	case TypeOneOf:
		lo, hi = 0, int64(len(s.Values))-1
	default:
		lo, hi = 0, 0
	}
	if a.signed && lo > hi {
		err = fault("range", "its start %d is above its end %d: swap them", lo, hi)
	}
	a.lo = uint64(lo)
	return a, uint64(hi) - uint64(lo), err
}

func (s *Spec) intRange(lo, hi int64) (int64, int64) {
	if s.HasRange {
		return s.IntLo, s.IntHi
	}
	return lo, hi
}

func withinLimits(lo, hi, least, most int64, what string) *FieldError {
	if lo < least || hi > most {
		return fault("range", "%d to %d leaves the %s that are possible, %d to %d", lo, hi, what, least, most)
	}
	return nil
}

func (s *Spec) floatRange(hi float64) (float64, float64) {
	if s.HasRange {
		return s.FloatLo, s.FloatHi
	}
	return 0, hi
}

func checkFloats(lo, hi float64) *FieldError {
	switch {
	case !isFinite(lo) || !isFinite(hi):
		return fault("range", "%v to %v is not finite: give two numbers", lo, hi)
	case lo > hi:
		return fault("range", "its start %v is above its end %v: swap them", lo, hi)
	}
	return nil
}

// decimalRange returns the range in units of the last digit.
func (s *Spec) decimalRange() (axis, uint64, *FieldError) {
	a := axis{signed: true, scale: math.Pow10(min(s.scale(), MaxDecimalScale))}
	lo, hi := s.floatRange(DefaultDecimalHi)
	if err := checkFloats(lo, hi); err != nil {
		return a, 0, err
	}
	first, ok1 := a.integer(lo, true)
	last, ok2 := a.integer(hi, false)
	switch {
	case !ok1 || !ok2:
		return a, 0, fault("range", "%v to %v has more than 18 digits at scale %d: lower the scale", lo, hi, s.scale())
	case int64(first) > int64(last):
		return a, 0, fault("range", "%v to %v holds no number of scale %d: widen it or raise the scale", lo, hi, s.scale())
	}
	a.lo = first
	return a, last - first, nil
}

// axis maps the ranks of a range to values: rank k is the integer lo + k, in units of 1/scale.
type axis struct {
	lo     uint64 // bits of a signed or unsigned integer
	signed bool
	scale  float64 // 0 means 1
}

// rank returns the rank of a value, rounded up or down to the next integer, and whether it is
// at least the axis' lo. The caller compares it with the range's end.
func (a axis) rank(x float64, up bool) (uint64, bool) {
	n, ok := a.integer(x, up)
	if !ok {
		return 0, false
	}
	if a.signed {
		return n - a.lo, int64(n) >= int64(a.lo)
	}
	return n - a.lo, n >= a.lo
}

// integer scales a value and rounds it up or down, but to the nearest integer if it is within
// the error of scaling. It reports whether the integer fits.
func (a axis) integer(x float64, up bool) (uint64, bool) {
	if a.scale != 0 {
		x *= a.scale
	}
	near := math.Round(x)
	switch {
	case math.Abs(x-near) <= 1e-14*math.Abs(x)+1e-12 && a.scale != 0:
		x = near
	case up:
		x = math.Ceil(x)
	default:
		x = math.Floor(x)
	}
	if a.signed {
		return uint64(int64(x)), x >= -0x1p63 && x < 0x1p63
	}
	return uint64(x), x >= 0 && x < 0x1p64
}
