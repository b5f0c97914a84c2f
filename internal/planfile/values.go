package planfile

import (
	"math"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/gen"
	"brunt/internal/plan"
)

func typeNames() choice {
	return choice{"Integer", "Unsigned", "Double", "Decimal", "String", "Boolean", "Datetime", "UUID", "JSON", "Constant",
		"OneOf", "Reference"}
}

func distributionNames() choice {
	return choice{"Uniform", "Normal", "Zipf", "Exponential", "Hotspot", "Sequential", "Histogram"}
}

// valueFields returns the keys that say how the values of a column or parameter are generated.
func valueFields() []field {
	bucket := newMapping("bucket", "a histogram's part",
		field{"range", "", custom[gen.Bucket]{bucketRange, bucketRangeNode, pairSchema("number")},
			"part of the range; equal parts if none has one", false},
		field{"weight", "Weight", decimal{bounded: true, always: true}, "how often compared with the other parts", true},
	)
	return []field{
		{"type", "Type", typeNames(), "type of the values", true},
		{"distribution", "Distribution", distributionNames(), "how values spread over their range; Uniform", false},
		{"distribution_param", "Param", positive(),
			"Zipf exponent (1.1), Exponential rate over the range (5), Hotspot share of draws (0.8), Normal standard deviations to an end (3)", false},
		{"hot_fraction", "HotFraction", positive(), "Hotspot: share of the range that is hot; 0.2", false},
		{"histogram", "Buckets", list{of: bucket}, "Histogram: the parts of the range", false},
		{"range", "Spec", custom[gen.Spec]{rangeIn, rangeNode, pairSchema("number", "string")},
			"first and last: numbers, times, or lengths of texts", false},
		{"scale", "Spec", custom[gen.Spec]{scaleIn, scaleNode, whole{0, gen.MaxDecimalScale}.schema},
			"Decimal: digits after the point; 2", false},
		{"alphabet", "Alphabet", list{of: words{}, flow: true, full: true},
			"String: en, ru, digits, hex, or custom: followed by the letters; en", false},
		{"is_nullable", "Nullable", flag{}, "may be null; false", false},
		{"null_percentage", "NullPercent", decimal{}, "share of nulls in percent; 0", false},
		{"unique", "Unique", flag{}, "no value twice; false", false},
		{"value", "Spec", custom[gen.Spec]{constantIn, constantNode, typesSchema("string", "number", "boolean", "null")},
			"Constant: the value", false},
		{"values", "Values", list{of: words{}, flow: true, full: true}, "OneOf: the texts that are chosen from", false},
		{"table", "Table", words{}, "Reference: the table that holds the value", false},
		{"column", "Column", words{}, "Reference: the column that holds the value", false},
		{"same_row", "SameRow", words{}, "Reference: references with one name here take their values from one row", false},
	}
}

// checkValue reports keys that are missing, or that have no meaning for a type or distribution.
func checkValue(o *object, v *plan.ValueSpec) {
	t := v.Type
	if o == nil || t == "" {
		return
	}
	only := func(fix string, allowed bool, keys ...string) {
		if !allowed {
			o.refuse(fix, "for this "+string(t), keys...)
		}
	}
	only("remove it or use type: Constant", t == gen.TypeConstant, "value")
	only("remove it or use type: OneOf", t == gen.TypeOneOf, "values")
	only("remove it or use type: Reference", t == gen.TypeReference || v.Start == plan.StartAfter, "table", "column")
	only("remove it or use type: Reference", t == gen.TypeReference, "same_row")
	only("remove it or use type: Decimal", t == gen.TypeDecimal, "scale")
	only("remove it or use type: String", t == gen.TypeString, "alphabet")
	only("remove it or use distribution: Hotspot", v.Distribution == gen.Hotspot, "hot_fraction")
	only("remove it or use distribution: Histogram", v.Distribution == gen.Histogram, "histogram")
	switch t {
	case gen.TypeConstant:
		o.require("a constant", "value")
		o.refuse("remove it", "for this constant", "range")
	case gen.TypeReference:
		o.require("a reference", "table", "column")
		o.refuse("remove it", "for this reference", "range")
	case gen.TypeOneOf:
		o.require("a choice", "values")
		o.refuse("remove it", "for this oneof", "range")
	case gen.TypeBoolean, gen.TypeUUID:
		o.refuse("remove it", "for this "+string(t), "range")
	}
}

// valueRules returns the rules of checkValue as JSON Schemas for editors.
func valueRules() []any {
	d := &definitions{}
	is := func(key string, words ...string) schema {
		return schema{"required": []string{key}, "properties": schema{key: choice(words).schema(d)}}
	}
	only := func(when schema, keys ...string) schema {
		var given []any
		for _, k := range keys {
			given = append(given, schema{"required": []string{k}})
		}
		return schema{"if": when, "else": schema{"not": schema{"anyOf": given}}}
	}
	constant, reference, oneOf := only(is("type", "Constant"), "value"), only(is("type", "Reference"), "same_row"),
		only(is("type", "OneOf"), "values")
	constant["then"] = schema{"required": []string{"value"}}
	reference["then"] = schema{"required": []string{"table", "column"}}
	oneOf["then"] = schema{"required": []string{"values"}}
	return []any{
		constant, reference, oneOf, only(is("type", "Decimal"), "scale"), only(is("type", "String"), "alphabet"),
		only(schema{"anyOf": []any{is("type", "Reference"), is("start", string(plan.StartAfter))}}, "table", "column"),
		only(is("distribution", "Hotspot"), "hot_fraction"), only(is("distribution", "Histogram"), "histogram"),
		only(is("type", "Integer", "Unsigned", "Double", "Decimal", "String", "Datetime", "JSON"), "range"),
	}
}

func pair(r *reader, n *yaml.Node) (lo, hi *yaml.Node, ok bool) {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		r.problemAt(n, "write [first, last]", "range is %s instead of a list of two", kindName(n))
		return nil, nil, false
	}
	return resolve(n.Content[0]), resolve(n.Content[1]), true
}

func bucketRange(r *reader, _ string, n *yaml.Node, b *gen.Bucket) {
	if lo, hi, ok := pair(r, n); ok {
		b.Lo, b.Hi = r.numberOf(lo, "range"), r.numberOf(hi, "range")
	}
}

func bucketRangeNode(b *gen.Bucket) *yaml.Node {
	if b.Lo == 0 && b.Hi == 0 {
		return nil
	}
	return flow(float(b.Lo), float(b.Hi))
}

// rangeIn reads a range as its type requires.
func rangeIn(r *reader, _ string, n *yaml.Node, s *gen.Spec) {
	switch s.Type {
	case "", gen.TypeBoolean, gen.TypeUUID, gen.TypeConstant, gen.TypeReference, gen.TypeOneOf:
		return
	}
	lo, hi, ok := pair(r, n)
	if !ok {
		return
	}
	switch s.Type {
	case gen.TypeInteger:
		s.IntLo = r.integerOf(lo, "range", math.MinInt64, math.MaxInt64)
		s.IntHi = r.integerOf(hi, "range", math.MinInt64, math.MaxInt64)
	case gen.TypeUnsigned:
		s.IntLo, s.IntHi = int64(r.unsignedOf(lo, "range")), int64(r.unsignedOf(hi, "range"))
	case gen.TypeString, gen.TypeJSON:
		s.IntLo = r.integerOf(lo, "range (of lengths)", 0, gen.MaxLength)
		s.IntHi = r.integerOf(hi, "range (of lengths)", 0, gen.MaxLength)
	case gen.TypeDatetime:
		s.IntLo, s.IntHi = timeOf(r, lo).UnixMicro(), timeOf(r, hi).UnixMicro()
	case gen.TypeDouble, gen.TypeDecimal:
		s.FloatLo, s.FloatHi = r.numberOf(lo, "range"), r.numberOf(hi, "range")
	}
	s.HasRange = true
}

func rangeNode(s *gen.Spec) *yaml.Node {
	if !s.HasRange {
		return nil
	}
	switch s.Type {
	case gen.TypeUnsigned:
		return flow(number(uint64(s.IntLo)), number(uint64(s.IntHi)))
	case gen.TypeDouble, gen.TypeDecimal:
		return flow(float(s.FloatLo), float(s.FloatHi))
	case gen.TypeDatetime:
		return flow(timeText(s.IntLo), timeText(s.IntHi))
	}
	return flow(number(s.IntLo), number(s.IntHi))
}

func scaleIn(r *reader, key string, n *yaml.Node, s *gen.Spec) {
	if s.DecimalScale = int(r.integerOf(n, key, 0, gen.MaxDecimalScale)); s.DecimalScale == 0 {
		s.DecimalScale = -1
	}
}

func scaleNode(s *gen.Spec) *yaml.Node {
	if s.DecimalScale == 0 {
		return nil
	}
	return number(max(s.DecimalScale, 0))
}

// timeOf reads an RFC 3339 time, a date, or a date and time without a zone, which is then UTC.
func timeOf(r *reader, n *yaml.Node) time.Time {
	if !tagIs(n, "!!str", "!!timestamp") {
		r.wrong(n, "range", "a time", "write for example '2020-01-31T00:00:00Z'")
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, n.Value); err == nil {
			return t.UTC()
		}
	}
	r.problemAt(n, "write for example '2020-01-31T00:00:00Z'", "%q is no time", n.Value)
	return time.Time{}
}

func timeText(us int64) *yaml.Node {
	n := text(time.UnixMicro(us).UTC().Format(time.RFC3339Nano))
	n.Style = yaml.SingleQuotedStyle
	return n
}

// constantIn reads a value and keeps its YAML type.
func constantIn(r *reader, _ string, n *yaml.Node, s *gen.Spec) {
	switch {
	case tagIs(n, "!!null"):
		s.Constant = nil
	case tagIs(n, "!!bool"):
		s.Constant = strings.EqualFold(n.Value, "true")
	case tagIs(n, "!!int"):
		if n.Value[0] != '-' {
			if u := r.unsignedOf(n, "value"); u > math.MaxInt64 {
				s.Constant = u
				return
			}
		}
		s.Constant = r.integerOf(n, "value", math.MinInt64, math.MaxInt64)
	case tagIs(n, "!!float"):
		s.Constant = r.numberOf(n, "value")
	case tagIs(n, "!!timestamp"):
		s.Constant = timeOf(r, n)
	case tagIs(n, "!!str", "!!binary"):
		s.Constant = r.textOf(n, "value")
	default:
		r.wrong(n, "value", "a text, number, true, false, time or null", "write one value")
	}
}

func constantNode(s *gen.Spec) *yaml.Node {
	if s.Type != gen.TypeConstant {
		return nil
	}
	switch c := s.Constant.(type) {
	case string:
		return binary([]byte(c))
	case int64:
		return number(c)
	case uint64:
		return number(c)
	case float64:
		return constantFloat(c)
	case bool:
		return flag{always: true}.write(valueOf(&c))
	case time.Time:
		return scalar("!!timestamp", c.UTC().Format(time.RFC3339Nano))
	}
	return scalar("!!null", "null")
}
