// Package template inserts generated values into texts with placeholders: "$1" stands for the first parameter,
// "$2" for the second, "$$" for a dollar sign. A dollar sign before anything else stands for itself.
package template

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"brunt/internal/load/gen"
)

// Template is a parsed text that can be filled in many times. It is immutable. Its zero value is the empty text.
type Template struct {
	pieces []piece
}

// piece is constant text followed by a parameter, if param isn't negative.
type piece struct {
	text  []byte
	param int
}

// Parse parses a text that may use params parameters. It fails if a placeholder has a greater number.
func Parse(text string, params int) (Template, error) {
	var t Template
	var literal []byte
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			literal = append(literal, text[i])
			continue
		}
		if text[i+1] == '$' {
			literal = append(literal, '$')
			i++
			continue
		}
		number, digits := leadingNumber(text[i+1:])
		if digits == 0 {
			literal = append(literal, '$')
			continue
		}
		if number < 1 || number > params {
			return Template{}, fmt.Errorf("$%s names no parameter: there are %d, counted from $1; write $$ for a dollar sign",
				text[i+1:i+1+digits], params)
		}
		t.pieces = append(t.pieces, piece{literal, number - 1})
		literal = nil
		i += digits
	}
	if len(literal) > 0 {
		t.pieces = append(t.pieces, piece{literal, -1})
	}
	return t, nil
}

// leadingNumber parses the digits at the start of a text. The number is capped at a million, which is more than
// any request has parameters.
func leadingNumber(text string) (number, digits int) {
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		number = min(number*10+int(text[digits]-'0'), 1_000_000)
		digits++
	}
	return number, digits
}

// Fixed returns the text if it has no parameters.
func (t *Template) Fixed() (text []byte, ok bool) {
	switch {
	case len(t.pieces) == 0:
		return nil, true
	case len(t.pieces) == 1 && t.pieces[0].param < 0:
		return t.pieces[0].text, true
	}
	return nil, false
}

// Only returns the parameter, counted from 0, if the text consists of a single parameter.
func (t *Template) Only() (param int, ok bool) {
	if len(t.pieces) == 1 && len(t.pieces[0].text) == 0 && t.pieces[0].param >= 0 {
		return t.pieces[0].param, true
	}
	return 0, false
}

// Single returns the text before and after the parameter, counted from 0. ok is false unless there is exactly
// one.
func (t *Template) Single() (before []byte, param int, after []byte, ok bool) {
	switch {
	case len(t.pieces) == 0 || len(t.pieces) > 2 || t.pieces[0].param < 0:
		return nil, 0, nil, false
	case len(t.pieces) == 1:
		return t.pieces[0].text, t.pieces[0].param, nil, true
	case t.pieces[1].param >= 0:
		return nil, 0, nil, false
	}
	return t.pieces[0].text, t.pieces[0].param, t.pieces[1].text, true
}

// Escape escapes dst[from:], the text of a value just inserted. ok is false if the value isn't allowed there.
type Escape func(dst []byte, from int) (out []byte, ok bool)

// Append appends the text with args inserted, each escaped by escape (nil: not at all). ok is false if a value
// isn't allowed in its place. It allocates only to grow dst.
func (t *Template) Append(dst []byte, args []gen.Value, escape Escape) (out []byte, ok bool) {
	for i := range t.pieces {
		p := &t.pieces[i]
		dst = append(dst, p.text...)
		if p.param < 0 {
			continue
		}
		from := len(dst)
		dst = AppendValue(dst, &args[p.param])
		if escape == nil {
			continue
		}
		if dst, ok = escape(dst, from); !ok {
			return dst, false
		}
	}
	return dst, true
}

// Plain is Append without an escape function. If dst is on the caller's stack, it stays there.
func (t *Template) Plain(dst []byte, args []gen.Value) []byte {
	for i := range t.pieces {
		p := &t.pieces[i]
		dst = append(dst, p.text...)
		if p.param >= 0 {
			dst = AppendValue(dst, &args[p.param])
		}
	}
	return dst
}

// Literal returns a template of text without placeholders. It keeps text.
func Literal(text []byte) Template { return Template{[]piece{{text, -1}}} }

// AppendValue appends a value in the form used by text-only protocols: numbers in decimal (infinities as inf and -inf,
// as Redis writes them), booleans as true and false, times by RFC 3339 in UTC with up to microseconds, UUIDs with
// hyphens, null as nothing, everything else byte by byte.
func AppendValue(dst []byte, v *gen.Value) []byte {
	switch v.Kind {
	case gen.Null:
		return dst
	case gen.String, gen.JSON, gen.Bytes:
		return append(dst, v.B...)
	case gen.Float:
		switch {
		case math.IsInf(v.F, 1):
			return append(dst, "inf"...)
		case math.IsInf(v.F, -1):
			return append(dst, "-inf"...)
		}
		return strconv.AppendFloat(dst, v.F, 'g', -1, 64)
	case gen.Datetime:
		return time.UnixMicro(v.I).UTC().AppendFormat(dst, time.RFC3339Nano)
	}
	return v.AppendText(dst)
}

// SetText sets v to a text, or to the value that the text denotes if kind is a boolean or a number other than a
// decimal. If the text doesn't denote such a value, v becomes null. text may be v's own buffer.
func SetText(v *gen.Value, kind gen.Kind, text []byte) {
	v.SetNull()
	switch kind {
	case gen.Bool:
		if b, err := strconv.ParseBool(string(text)); err == nil {
			v.SetAny(b)
		}
	case gen.Int:
		if i, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			v.SetInt(i)
		}
	case gen.Uint:
		if u, err := strconv.ParseUint(string(text), 10, 64); err == nil {
			v.Kind, v.I = gen.Uint, int64(u)
		}
	case gen.Float:
		if f, err := strconv.ParseFloat(string(text), 64); err == nil {
			v.Kind, v.F = gen.Float, f
		}
	case gen.Bytes, gen.JSON:
		v.Kind, v.B = kind, append(v.B[:0], text...)
	default:
		v.Kind, v.B = gen.String, append(v.B[:0], text...)
	}
}
