package planfile

import (
	"math"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
)

func typeNames() form.Choice {
	return form.Choice{"Integer", "Unsigned", "Double", "Decimal", "String", "Boolean", "Datetime", "UUID", "JSON",
		"Constant", "OneOf", "Reference", "Varint"}
}

func distributionNames() form.Choice {
	return form.Choice{"Uniform", "Normal", "Zipf", "Exponential", "Hotspot", "Sequential", "Histogram"}
}

// valueFields returns the keys that say how the values of a column or parameter are generated.
func valueFields() []form.Field {
	bucket := form.NewMapping("bucket", "a histogram's part",
		form.Key("range", "", form.Custom[gen.Bucket]{In: bucketRange, Out: bucketRangeNode, As: pairSchema("number")},
			"part of the range; equal parts if none has one"),
		form.Required("weight", "Weight", form.Decimal{Bounded: true, Always: true},
			"how often compared with the other parts"),
	)
	return []form.Field{
		form.Required("type", "Type", typeNames(), "type of the values"),
		form.Key("distribution", "Distribution", distributionNames(), "how values spread over their range; Uniform"),
		form.Key("distribution_param", "Param", form.Positive(),
			"Zipf exponent (1.1), Exponential rate over the range (5), Hotspot share of draws (0.8), Normal standard deviations to an end (3)"),
		form.Key("hot_fraction", "HotFraction", form.Positive(), "Hotspot: share of the range that is hot; 0.2"),
		form.Key("histogram", "Buckets", form.List{Of: bucket}, "Histogram: the parts of the range"),
		form.Key("range", "Spec", form.Custom[gen.Spec]{In: rangeIn, Out: rangeNode, As: pairSchema("number", "string")},
			"first and last: numbers, times, or lengths of texts"),
		form.Key("scale", "Spec",
			form.Custom[gen.Spec]{In: scaleIn, Out: scaleNode, As: form.Whole(0, gen.MaxDecimalScale).Schema},
			"Decimal: digits after the point; 2"),
		form.Key("alphabet", "Alphabet", form.List{Of: form.Words{}, Flow: true, Full: true},
			"String: en, ru, digits, hex, or custom: followed by the letters; en"),
		form.Key("is_nullable", "Nullable", form.Flag{}, "may be null; false"),
		form.Key("null_percentage", "NullPercent", form.Decimal{}, "share of nulls in percent; 0"),
		form.Key("unique", "Unique", form.Flag{}, "no value twice; false"),
		form.Key("value", "Spec", form.Custom[gen.Spec]{In: constantIn, Out: constantNode,
			As: typesSchema("string", "number", "boolean", "null")}, "Constant: the value"),
		form.Key("values", "Values", form.List{Of: form.Words{}, Flow: true, Full: true},
			"OneOf: the texts that are chosen from"),
		form.Key("size", "Size", form.Whole(0, gen.MaxVarintSize), "Varint: bytes of a value"),
		form.Key("group", "Group", form.Whole(0, 1_000_000), "Varint: numbers are taken in groups of so many; 1"),
		form.Key("member", "Member", form.Whole(0, 1_000_000), "Varint: which number of its group the value is; 0"),
		form.Key("table", "Table", form.Words{}, "Reference: the table that holds the value"),
		form.Key("column", "Column", form.Words{}, "Reference: the column that holds the value"),
		form.Key("same_row", "SameRow", form.Words{},
			"Reference: references with one name here take their values from one row"),
	}
}

func pairSchema(types ...string) func(*form.Definitions) form.Schema {
	return func(d *form.Definitions) form.Schema {
		return form.Schema{"type": "array", "minItems": 2, "maxItems": 2, "items": typesSchema(types...)(d)}
	}
}

func typesSchema(types ...string) func(*form.Definitions) form.Schema {
	return func(*form.Definitions) form.Schema { return form.Schema{"type": types} }
}

// checkValue reports keys that are missing, or that have no meaning for a type or distribution.
func checkValue(o *form.Object, v *plan.ValueSpec) {
	t := v.Type
	if o == nil || t == "" {
		return
	}
	only := func(fix string, allowed bool, keys ...string) {
		if !allowed {
			o.Refuse(fix, "for this "+string(t), keys...)
		}
	}
	only("remove it or use type: Constant", t == gen.TypeConstant, "value")
	only("remove it or use type: OneOf", t == gen.TypeOneOf, "values")
	only("remove it or use type: Reference", t == gen.TypeReference || v.Start == plan.StartAfter, "table", "column")
	only("remove it or use type: Reference", t == gen.TypeReference, "same_row")
	only("remove it or use type: Decimal", t == gen.TypeDecimal, "scale")
	only("remove it or use type: String", t == gen.TypeString, "alphabet")
	only("remove it or use type: Varint", t == gen.TypeVarint, "size", "group", "member")
	only("remove it or use distribution: Hotspot", v.Distribution == gen.Hotspot, "hot_fraction")
	only("remove it or use distribution: Histogram", v.Distribution == gen.Histogram, "histogram")
	switch t {
	case gen.TypeVarint:
		o.Require("a varint", "size")
	case gen.TypeConstant:
		o.Require("a constant", "value")
		o.Refuse("remove it", "for this constant", "range")
	case gen.TypeReference:
		o.Require("a reference", "table", "column")
		o.Refuse("remove it", "for this reference", "range")
	case gen.TypeOneOf:
		o.Require("a choice", "values")
		o.Refuse("remove it", "for this oneof", "range")
	case gen.TypeBoolean, gen.TypeUUID:
		o.Refuse("remove it", "for this "+string(t), "range")
	}
}

// valueRules returns the rules of checkValue as JSON Schemas for editors.
func valueRules() []any {
	d := &form.Definitions{}
	is := func(key string, words ...string) form.Schema {
		return form.Schema{"required": []string{key}, "properties": form.Schema{key: form.Choice(words).Schema(d)}}
	}
	only := func(when form.Schema, keys ...string) form.Schema {
		return form.Schema{"if": when, "else": form.Schema{"not": form.Schema{"anyOf": form.Each(keys)}}}
	}
	constant, reference, oneOf := only(is("type", "Constant"), "value"), only(is("type", "Reference"), "same_row"),
		only(is("type", "OneOf"), "values")
	constant["then"] = form.Schema{"required": []string{"value"}}
	reference["then"] = form.Schema{"required": []string{"table", "column"}}
	oneOf["then"] = form.Schema{"required": []string{"values"}}
	return []any{
		constant, reference, oneOf, only(is("type", "Decimal"), "scale"), only(is("type", "String"), "alphabet"),
		only(form.Schema{"anyOf": []any{is("type", "Reference"), is("start", string(plan.StartAfter))}}, "table", "column"),
		only(is("distribution", "Hotspot"), "hot_fraction"), only(is("distribution", "Histogram"), "histogram"),
		only(is("type", "Integer", "Unsigned", "Double", "Decimal", "String", "Datetime", "JSON"), "range"),
	}
}

func pair(r *form.Reader, n *yaml.Node) (lo, hi *yaml.Node, ok bool) {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		r.ProblemAt(n, "write [first, last]", "range is %s instead of a list of two", form.KindName(n))
		return nil, nil, false
	}
	return form.Resolve(n.Content[0]), form.Resolve(n.Content[1]), true
}

func bucketRange(r *form.Reader, _ string, n *yaml.Node, b *gen.Bucket) {
	if lo, hi, ok := pair(r, n); ok {
		b.Lo, b.Hi = r.NumberOf(lo, "range"), r.NumberOf(hi, "range")
	}
}

func bucketRangeNode(b *gen.Bucket) *yaml.Node {
	if b.Lo == 0 && b.Hi == 0 {
		return nil
	}
	return flow(form.Float(b.Lo), form.Float(b.Hi))
}

// rangeIn reads a range as its type requires.
func rangeIn(r *form.Reader, _ string, n *yaml.Node, s *gen.Spec) {
	switch s.Type {
	case "", gen.TypeBoolean, gen.TypeUUID, gen.TypeConstant, gen.TypeReference, gen.TypeOneOf:
		return
	}
	lo, hi, ok := pair(r, n)
	if !ok {
		return
	}
	switch s.Type {
	case gen.TypeInteger, gen.TypeVarint:
		s.IntLo = r.IntegerOf(lo, "range", math.MinInt64, math.MaxInt64)
		s.IntHi = r.IntegerOf(hi, "range", math.MinInt64, math.MaxInt64)
	case gen.TypeUnsigned:
		s.IntLo, s.IntHi = int64(r.UnsignedOf(lo, "range")), int64(r.UnsignedOf(hi, "range"))
	case gen.TypeString, gen.TypeJSON:
		s.IntLo = r.IntegerOf(lo, "range (of lengths)", 0, gen.MaxLength)
		s.IntHi = r.IntegerOf(hi, "range (of lengths)", 0, gen.MaxLength)
	case gen.TypeDatetime:
		s.IntLo, s.IntHi = timeOf(r, lo).UnixMicro(), timeOf(r, hi).UnixMicro()
	case gen.TypeDouble, gen.TypeDecimal:
		s.FloatLo, s.FloatHi = r.NumberOf(lo, "range"), r.NumberOf(hi, "range")
	}
	s.HasRange = true
}

func rangeNode(s *gen.Spec) *yaml.Node {
	if !s.HasRange {
		return nil
	}
	switch s.Type {
	case gen.TypeUnsigned:
		return flow(form.Number(uint64(s.IntLo)), form.Number(uint64(s.IntHi)))
	case gen.TypeDouble, gen.TypeDecimal:
		return flow(form.Float(s.FloatLo), form.Float(s.FloatHi))
	case gen.TypeDatetime:
		return flow(timeText(s.IntLo), timeText(s.IntHi))
	}
	return flow(form.Number(s.IntLo), form.Number(s.IntHi))
}

func scaleIn(r *form.Reader, key string, n *yaml.Node, s *gen.Spec) {
	if s.DecimalScale = int(r.IntegerOf(n, key, 0, gen.MaxDecimalScale)); s.DecimalScale == 0 {
		s.DecimalScale = -1
	}
}

func scaleNode(s *gen.Spec) *yaml.Node {
	if s.DecimalScale == 0 {
		return nil
	}
	return form.Number(max(s.DecimalScale, 0))
}

// timeOf reads an RFC 3339 time, a date, or a date and time without a zone, which is then UTC.
func timeOf(r *form.Reader, n *yaml.Node) time.Time {
	if !form.TagIs(n, "!!str", "!!timestamp") {
		r.Wrong(n, "range", "a time", "write for example '2020-01-31T00:00:00Z'")
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, n.Value); err == nil {
			return t.UTC()
		}
	}
	r.ProblemAt(n, "write for example '2020-01-31T00:00:00Z'", "%q is no time", n.Value)
	return time.Time{}
}

func timeText(us int64) *yaml.Node {
	n := form.Text(time.UnixMicro(us).UTC().Format(time.RFC3339Nano))
	n.Style = yaml.SingleQuotedStyle
	return n
}

// constantIn reads a value and keeps its YAML type.
func constantIn(r *form.Reader, _ string, n *yaml.Node, s *gen.Spec) {
	switch {
	case form.TagIs(n, "!!null"):
		s.Constant = nil
	case form.TagIs(n, "!!bool"):
		s.Constant = strings.EqualFold(n.Value, "true")
	case form.TagIs(n, "!!int"):
		if n.Value[0] != '-' {
			if u := r.UnsignedOf(n, "value"); u > math.MaxInt64 {
				s.Constant = u
				return
			}
		}
		s.Constant = r.IntegerOf(n, "value", math.MinInt64, math.MaxInt64)
	case form.TagIs(n, "!!float"):
		s.Constant = r.NumberOf(n, "value")
	case form.TagIs(n, "!!timestamp"):
		s.Constant = timeOf(r, n)
	case form.TagIs(n, "!!str", "!!binary"):
		s.Constant = r.TextOf(n, "value")
	default:
		r.Wrong(n, "value", "a text, number, true, false, time or null", "write one value")
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
		return form.Number(c)
	case uint64:
		return form.Number(c)
	case float64:
		return constantFloat(c)
	case bool:
		return form.Flag{Always: true}.Write(form.ValueOf(&c))
	case time.Time:
		return form.Scalar("!!timestamp", c.UTC().Format(time.RFC3339Nano))
	}
	return form.Scalar("!!null", "null")
}
