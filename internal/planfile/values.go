package planfile

import (
	"math"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"brunt/internal/gen"
	"brunt/internal/plan"
)

func valueKeys() []string {
	return []string{"name", "type", "distribution", "distribution_param", "hot_fraction", "histogram", "range", "scale",
		"alphabet", "is_nullable", "null_percentage", "unique", "value", "table", "column", "same_row"}
}

func typeNames() []string {
	return []string{"Integer", "Unsigned", "Double", "Decimal", "String", "Boolean", "Datetime", "UUID", "JSON", "Constant", "Reference"}
}

func distributionNames() []string {
	return []string{"Uniform", "Normal", "Zipf", "Exponential", "Hotspot", "Sequential", "Histogram"}
}

// choice reads a word that must be one of those known, whatever its case, and returns it in
// lower case.
func (o *object) choice(key string, known []string) string {
	word := o.text(key)
	if word == "" {
		if n := o.get(key); n != nil && tagIs(n, "!!str") {
			o.r.problemAt(n, "use "+strings.Join(known, ", "), "%s is empty", key)
		}
		return ""
	}
	for _, k := range known {
		if strings.EqualFold(k, word) {
			return strings.ToLower(word)
		}
	}
	fix := "use " + strings.Join(known, ", ")
	if near := plan.Nearest(word, known); near != "" {
		fix = "did you mean " + near + "?"
	}
	o.r.problemAt(o.get(key), fix, "unknown %s %q", key, word)
	return ""
}

// value reads how the values of a column or parameter are made.
func (r *reader) value(o *object, what string) plan.ValueSpec {
	v := plan.ValueSpec{At: r.at(o.node), Where: o.where()}
	o.require(what, "type")
	v.Type = gen.Type(o.choice("type", typeNames()))
	v.Distribution = gen.Distribution(o.choice("distribution", distributionNames()))
	v.Param = o.number("distribution_param")
	v.HotFraction = o.number("hot_fraction")
	o.list("histogram", func(_ int, n *yaml.Node) { v.Buckets = append(v.Buckets, r.bucket(n)) })
	v.Alphabet = o.words("alphabet")
	v.Nullable = o.flag("is_nullable")
	v.NullPercent = o.number("null_percentage")
	v.Unique = o.flag("unique")
	v.Table, v.Column = o.text("table"), o.text("column")
	v.SameRow = o.text("same_row")
	if o.has("scale") {
		if v.DecimalScale = int(o.integer("scale", 0, gen.MaxDecimalScale)); v.DecimalScale == 0 {
			v.DecimalScale = -1
		}
	}
	r.onlyFor(o, v.Type, v.Distribution)
	if n := o.get("value"); n != nil {
		v.Constant = r.constant(n)
	}
	if n := o.get("range"); n != nil {
		r.rangeOf(n, &v.Spec)
	}
	if v.Type == gen.TypeConstant {
		o.require("a constant", "value")
	}
	if v.Type == gen.TypeReference {
		o.require("a reference", "table", "column")
	}
	return v
}

// onlyFor reports keys that mean nothing for a type or distribution.
func (r *reader) onlyFor(o *object, t gen.Type, d gen.Distribution) {
	if t == "" {
		return
	}
	check := func(key string, allowed bool, fix string) {
		if n := o.get(key); n != nil && !allowed {
			r.problemAt(n, fix, "%s has no meaning for this %s", key, t)
		}
	}
	check("value", t == gen.TypeConstant, "remove it or use type: Constant")
	for _, key := range []string{"table", "column", "same_row"} {
		check(key, t == gen.TypeReference, "remove it or use type: Reference")
	}
	check("scale", t == gen.TypeDecimal, "remove it or use type: Decimal")
	check("alphabet", t == gen.TypeString, "remove it or use type: String")
	check("hot_fraction", d == gen.Hotspot, "remove it or use distribution: Hotspot")
	check("histogram", d == gen.Histogram, "remove it or use distribution: Histogram")
	check("range", t != gen.TypeBoolean && t != gen.TypeUUID && t != gen.TypeConstant && t != gen.TypeReference, "remove it")
}

func bucketKeys() []string { return []string{"range", "weight"} }

func (r *reader) bucket(n *yaml.Node) gen.Bucket {
	var b gen.Bucket
	o := r.object(n, "a histogram's part", bucketKeys())
	o.require("a histogram's part", "weight")
	b.Weight = o.number("weight")
	if n := o.get("range"); n != nil {
		if lo, hi, ok := r.pair(n); ok {
			b.Lo, b.Hi = r.numberOf(lo, "range"), r.numberOf(hi, "range")
		}
	}
	return b
}

func (r *reader) pair(n *yaml.Node) (lo, hi *yaml.Node, ok bool) {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		r.problemAt(n, "write [first, last]", "range is %s instead of a list of two", kindName(n))
		return nil, nil, false
	}
	return resolve(n.Content[0]), resolve(n.Content[1]), true
}

// rangeOf reads a range as the type needs it.
func (r *reader) rangeOf(n *yaml.Node, s *gen.Spec) {
	lo, hi, ok := r.pair(n)
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
		s.IntLo, s.IntHi = r.timeOf(lo).UnixMicro(), r.timeOf(hi).UnixMicro()
	case gen.TypeDouble, gen.TypeDecimal:
		s.FloatLo, s.FloatHi = r.numberOf(lo, "range"), r.numberOf(hi, "range")
	default:
		return
	}
	s.HasRange = true
}

// timeOf reads RFC 3339, or a date, or date and time without a zone, which means UTC.
func (r *reader) timeOf(n *yaml.Node) time.Time {
	if !tagIs(n, "!!str", "!!timestamp") {
		r.wrong(n, "range", "a time", "write for example '2020-01-31T00:00:00Z'")
		return time.Time{}
	}
	t, ok := parseTime(n.Value)
	if !ok {
		r.problemAt(n, "write for example '2020-01-31T00:00:00Z'", "%q is no time", n.Value)
	}
	return t
}

func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// constant reads a value of its own type.
func (r *reader) constant(n *yaml.Node) any {
	switch {
	case tagIs(n, "!!null"):
		return nil
	case tagIs(n, "!!bool"):
		return strings.EqualFold(n.Value, "true")
	case tagIs(n, "!!int"):
		if n.Value[0] != '-' {
			if u := r.unsignedOf(n, "value"); u > math.MaxInt64 {
				return u
			}
		}
		return r.integerOf(n, "value", math.MinInt64, math.MaxInt64)
	case tagIs(n, "!!float"):
		return r.numberOf(n, "value")
	case tagIs(n, "!!timestamp"):
		return r.timeOf(n)
	case tagIs(n, "!!str", "!!binary"):
		return r.textOf(n, "value")
	}
	r.wrong(n, "value", "a text, number, true, false, time or null", "write one value")
	return nil
}
