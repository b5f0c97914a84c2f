package gen

import (
	"fmt"
	"math"
)

// Validate returns the faults of a Spec; nil if there are none. rows is the row count of the column's table, for which
// there must be enough unique values, or 0 for a parameter. New checks what depends on the table of a reference.
func (s *Spec) Validate(rows uint64) []*FieldError {
	var faults []*FieldError
	add := func(err *FieldError) bool {
		if err != nil {
			faults = append(faults, err)
		}
		return err == nil
	}
	if !add(s.checkType()) {
		return faults
	}
	if !(s.NullPercent >= 0 && s.NullPercent <= 100) {
		add(fault("null_percentage", "%v is not between 0 and 100", s.NullPercent))
	}
	sound := add(checkDistribution(s))
	a, top, err := s.ranked()
	ranged := add(err)
	if sound && ranged {
		add(s.checkBucketRange(a, top))
	}
	letters := add(s.checkAlphabet())
	if ranged && letters && s.Unique && rows > 0 {
		add(s.checkUnique(rows, top))
	}
	return faults
}

// checkType checks the type and the fields that are specific to it.
func (s *Spec) checkType() *FieldError {
	switch s.Type {
	case TypeInteger, TypeUnsigned, TypeString, TypeBoolean, TypeDatetime, TypeUUID, TypeJSON:
	case TypeDouble:
		return checkFloats(s.floatRange(1))
	case TypeDecimal:
		if s.DecimalScale > MaxDecimalScale {
			return fault("scale", "%d digits after the point are too many: give at most %d", s.DecimalScale, MaxDecimalScale)
		}
	case TypeConstant:
		var v Value
		if !v.SetAny(s.Constant) {
			return fault("value", "a constant can't be a %T: give a text, number, true, false, time or null", s.Constant)
		}
	case TypeOneOf:
		if len(s.Values) == 0 {
			return fault("values", "nothing to choose from: give a list of texts")
		}
	case TypeVarint:
		return s.checkVarint()
	case TypeReference:
		if s.Table == "" {
			return fault("table", "a reference needs the table that it refers to")
		}
		if s.Column == "" {
			return fault("column", "a reference needs the column that it refers to")
		}
	default:
		return fault(
			"type", "%q is unknown: use integer, unsigned, double, decimal, string, boolean, datetime, uuid, json, constant, oneof, varint or reference", s.Type)
	}
	return nil
}

func (s *Spec) checkBucketRange(a axis, top uint64) *FieldError {
	if s.Distribution != Histogram {
		return nil
	}
	switch s.Type {
	case TypeUUID, TypeConstant, TypeReference:
		return nil
	case TypeDouble:
		_, err := newFractions(s)
		return err
	}
	_, err := rankSpans(s.Buckets, top, a)
	return err
}

func (s *Spec) checkAlphabet() *FieldError {
	if s.Type != TypeString {
		return nil
	}
	_, err := newAlphabet(s.Alphabet)
	return err
}

// checkUnique compares the number of different values with the rows that need them.
func (s *Spec) checkUnique(rows, top uint64) *FieldError {
	space := uint64(math.MaxUint64)
	switch s.Type {
	case TypeInteger, TypeUnsigned, TypeDecimal, TypeDatetime, TypeBoolean, TypeOneOf:
		space = sumUpTo(top, 1)
	case TypeConstant:
		space = 1
	case TypeDouble:
		space = s.doubleSpace()
	case TypeString:
		letters, _ := newAlphabet(s.Alphabet)
		lo, hi := s.intRange(DefaultStringLo, DefaultStringHi)
		space = letters.texts(uint64(lo), uint64(hi))
	case TypeJSON:
		if lo, _ := s.intRange(DefaultJSONLo, DefaultJSONHi); lo < jsonFull {
			return fault("range", "unique JSON texts are at least %d characters long: raise the start of %d", jsonFull, lo)
		}
	}
	if space < rows {
		field := "range"
		if s.Type == TypeBoolean || s.Type == TypeConstant || s.Type == TypeOneOf {
			field = "unique"
		}
		return fault(
			field, "%d rows need as many unique values, but only %d are possible: widen the range or lower the row count",
			rows, space)
	}
	return nil
}

// sumUpTo returns a + b, limited to the largest number.
func sumUpTo(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// checkDistribution checks a Spec's distribution and its parameters, except for what depends on the range.
func checkDistribution(spec *Spec) *FieldError {
	p := spec.Param
	if !isFinite(p) || p < 0 {
		return fault("distribution_param", "%v is not a number above 0", p)
	}
	switch spec.Distribution {
	case "", Uniform, Normal, Zipf, Exponential, Sequential:
	case Hotspot:
		if p > 1 {
			return fault("distribution_param", "hotspot's share of draws is %v: give a number from 0 to 1", p)
		}
		if h := spec.HotFraction; !(h >= 0 && h <= 1) {
			return fault("hot_fraction", "%v is not between 0 and 1", h)
		}
	case Histogram:
		return checkBuckets(spec.Buckets)
	default:
		return fault("distribution",
			"%q is unknown: use uniform, normal, zipf, exponential, hotspot, sequential or histogram", spec.Distribution)
	}
	return nil
}

// FieldError is a fault of a Spec. Field is the field's name as users write it in plans:
// "type", "distribution", "distribution_param", "hot_fraction", "histogram", "range", "scale",
// "alphabet", "null_percentage", "unique", "value", "size", "member", "table" or "column".
type FieldError struct {
	Field string
	Text  string // one line: what is wrong and what to do
}

// Error returns field and text on one line.
func (e *FieldError) Error() string { return e.Field + ": " + e.Text }

func fault(field, format string, args ...any) *FieldError {
	return &FieldError{Field: field, Text: fmt.Sprintf(format, args...)}
}
