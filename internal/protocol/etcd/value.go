package etcd

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"brunt/internal/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"
)

// appendKey appends the key of a record.
func appendKey(dst []byte, table string, key *gen.Value) []byte {
	dst = append(dst, table...)
	dst = append(dst, ':')
	return kv.AppendText(dst, key)
}

// tableEnd is the first key after those of a table.
func tableEnd(table string) []byte { return []byte(table + ";") } // ':' + 1

// fieldPrefix is a field's place in the JSON object: which argument, and what stands before its
// content.
type fieldPrefix struct {
	argument int // counted from the first field
	text     []byte
}

// fieldPrefixes orders fields by name, as JSON libraries write maps.
func fieldPrefixes(fields []string) []fieldPrefix {
	order := make([]int, len(fields))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(fields[a], fields[b]) })
	out := make([]fieldPrefix, len(fields))
	for i, argument := range order {
		name, _ := json.Marshal(fields[argument])
		opening := `","`
		if i == 0 {
			opening = `{"`
		}
		text := opening + string(name[1:len(name)-1]) + `":"`
		out[i] = fieldPrefix{argument, []byte(text)}
	}
	return out
}

// appendValue appends a record as JSON. scratch is used and returned.
func appendValue(dst []byte, fields []fieldPrefix, values []gen.Value, scratch []byte) (out, space []byte) {
	for i := range fields {
		f := &fields[i]
		dst = append(dst, f.text...)
		v := &values[f.argument]
		content := v.B
		if v.Kind != gen.String && v.Kind != gen.Bytes {
			scratch = kv.AppendText(scratch[:0], v)
			content = scratch
		}
		dst = base64.StdEncoding.AppendEncode(dst, content)
	}
	return append(dst, '"', '}'), scratch
}

// findField finds a field's content, in base64, in a record. plain is false if the record isn't
// written in the plain form that appendValue has.
func findField(record []byte, field string) (content []byte, found, plain bool) {
	if len(record) < 2 || record[0] != '{' {
		return nil, false, false
	}
	rest := record
	for {
		name, after, ok := quoted(rest[1:])
		if !ok || len(after) == 0 || after[0] != ':' {
			return nil, false, false
		}
		value, after, ok := quoted(after[1:])
		if !ok || len(after) == 0 {
			return nil, false, false
		}
		if string(name) == field {
			return value, true, true
		}
		if after[0] == '}' {
			return nil, false, true
		}
		if after[0] != ',' {
			return nil, false, false
		}
		rest = after
	}
}

// quoted reads a string without escapes.
func quoted(b []byte) (content, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	end := bytes.IndexByte(b[1:], '"')
	if end < 0 || bytes.IndexByte(b[1:1+end], '\\') >= 0 {
		return nil, nil, false
	}
	return b[1 : 1+end], b[2+end:], true
}

// document is a record as it is stored.
type document struct {
	text  []byte
	slow  map[string][]byte // its fields, if it isn't in the plain form
	fault *protocol.Error   // why it can't be read
}

// field is a field's content.
func (d *document) field(name string) ([]byte, bool) {
	if d.slow == nil {
		content, found, plain := findField(d.text, name)
		if plain {
			if !found {
				return nil, false
			}
			decoded, err := base64.StdEncoding.AppendDecode(nil, content)
			if err == nil {
				return decoded, true
			}
		}
		d.decode()
	}
	content, ok := d.slow[name]
	return content, ok
}

func (d *document) decode() {
	if err := json.Unmarshal(d.text, &d.slow); err != nil || d.slow == nil {
		d.slow = map[string][]byte{}
		if err != nil {
			d.fault = &protocol.Error{Class: protocol.Protocol, Text: "the stored value isn't a JSON object of fields in base64"}
		}
	}
}

// names are those of all fields.
func (d *document) names() []string {
	if d.slow == nil {
		d.decode()
	}
	return slices.Sorted(maps.Keys(d.slow))
}

// capture gives reply the captured fields of a record.
func capture(r *kv.Request, record []byte, reply *protocol.Reply) *protocol.Error {
	d := document{text: record}
	r.Capture(reply, d.field)
	return d.fault
}
