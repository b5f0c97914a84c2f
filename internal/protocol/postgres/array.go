package postgres

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"

	"brunt/internal/load/gen"
)

// arrays maps the OID of an array type in pg_type to the form of its elements.
var arrays = map[uint32]form{
	1000: formBool, 1005: formInt2, 1007: formInt4, 1016: formInt8, 1028: formOid, 1021: formFloat4, 1022: formFloat8,
	1231: formNumeric, 1009: formText, 1015: formText, 1014: formText, 1003: formText, 2951: formUUID, 1001: formBytea,
	1115: formTimestamp, 1185: formTimestamp, 1182: formDate, 1183: formTime, 199: formJSON, 3807: formJSONB,
	1187: formOther, 1041: formOther, 651: formOther, // interval, inet, cidr
}

// mostNested is the maximum nesting depth of arrays. PostgreSQL's own limit is 6 dimensions.
const mostNested = 6

// arrayToJSON appends the JSON form of an array given in PostgreSQL's text form ("Array Input and Output Syntax"
// in its manual). Numbers that a JavaScript number holds exactly become JSON numbers; other elements that aren't
// JSON themselves become strings. Explicit bounds are dropped. ok is false if the text isn't an array.
func arrayToJSON(dst []byte, element form, text []byte) (_ []byte, ok bool) {
	if len(text) > 0 && text[0] == '[' { // [2:3]={1,2}
		_, rest, found := bytes.Cut(text, []byte{'='})
		if !found {
			return dst, false
		}
		text = rest
	}
	p := arrayReader{text: text, element: element}
	dst, ok = p.array(dst, 1)
	return dst, ok && p.at == len(text)
}

// arrayReader parses the text form of an array.
type arrayReader struct {
	text    []byte
	at      int
	element form
}

func (p *arrayReader) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *arrayReader) array(dst []byte, depth int) (_ []byte, ok bool) {
	if depth > mostNested || p.peek() != '{' {
		return dst, false
	}
	p.at++
	dst = append(dst, '[')
	if p.peek() == '}' {
		p.at++
		return append(dst, ']'), true
	}
	for {
		switch p.peek() {
		case '{':
			dst, ok = p.array(dst, depth+1)
		case '"':
			dst, ok = p.quoted(dst)
		default:
			dst, ok = p.bare(dst)
		}
		if !ok {
			return dst, false
		}
		c := p.peek()
		p.at++
		switch c {
		case ',':
			dst = append(dst, ',')
		case '}':
			return append(dst, ']'), true
		default:
			return dst, false
		}
	}
}

func (p *arrayReader) quoted(dst []byte) (_ []byte, ok bool) {
	var b []byte
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return p.value(dst, b)
		case c == '\\' && p.at+1 < len(p.text):
			p.at++
			b = append(b, p.text[p.at])
		default:
			b = append(b, c)
		}
	}
	return dst, false
}

func (p *arrayReader) bare(dst []byte) (_ []byte, ok bool) {
	start := p.at
	for c := p.peek(); p.at < len(p.text) && c != ',' && c != '}' && c != '{' && c != '"'; c = p.peek() {
		p.at++
	}
	b := p.text[start:p.at]
	switch {
	case len(b) == 0:
		return dst, false
	case strings.EqualFold(string(b), "NULL"):
		return append(dst, "null"...), true
	}
	return p.value(dst, b)
}

// value appends an element's JSON form.
func (p *arrayReader) value(dst, b []byte) (_ []byte, ok bool) {
	switch p.element {
	case formInt2, formInt4, formInt8, formOid, formFloat4, formFloat8, formNumeric:
		if exact(b) {
			return append(dst, b...), true
		}
	case formBool:
		if len(b) == 1 && (b[0] == 't' || b[0] == 'f') {
			if b[0] == 't' {
				return append(dst, "true"...), true
			}
			return append(dst, "false"...), true
		}
	case formBytea: // in the hex format, whatever bytea_output is
		content, valid := appendBytea(nil, b)
		if !valid {
			return dst, false
		}
		b = append([]byte(`\x`), hex.AppendEncode(nil, content)...)
	case formJSON, formJSONB:
		if json.Valid(b) {
			return append(dst, b...), true
		}
	}
	text, err := json.Marshal(string(b))
	return append(dst, text...), err == nil
}

// exact reports whether a number is valid JSON with at most 15 significant digits, so that a float64 holds it.
func exact(b []byte) bool {
	digits := 0
	for _, c := range b {
		if c == 'e' || c == 'E' {
			break
		}
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	return digits <= 15 && json.Valid(b)
}

// appendArray appends the text form of an array given as JSON. ok is false if b isn't a JSON array.
func appendArray(dst, b []byte) (_ []byte, ok bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var list []any
	if d.Decode(&list) != nil {
		return dst, false
	}
	return appendElements(dst, list)
}

func appendElements(dst []byte, list []any) (_ []byte, ok bool) {
	dst = append(dst, '{')
	for i, x := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch x := x.(type) {
		case nil:
			dst = append(dst, "NULL"...)
		case bool:
			v := gen.Value{Kind: gen.Bool}
			if x {
				v.I = 1
			}
			dst = appendText(dst, &v)
		case json.Number:
			dst = append(dst, x...)
		case string:
			dst = appendElement(dst, x)
		case []any:
			if dst, ok = appendElements(dst, x); !ok {
				return dst, false
			}
		default: // an object, for json[]
			text, err := json.Marshal(x)
			if err != nil {
				return dst, false
			}
			dst = appendElement(dst, string(text))
		}
	}
	return append(dst, '}'), true
}

func appendElement(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}
