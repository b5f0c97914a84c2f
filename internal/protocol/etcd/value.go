package etcd

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"
)

// appendKey appends the key of a record.
func appendKey(dst []byte, table string, key *gen.Value) []byte {
	dst = append(dst, table...)
	dst = append(dst, ':')
	return kv.AppendText(dst, key)
}

// tableEnd returns the first key after all keys of a table.
func tableEnd(table string) []byte { return []byte(table + ";") } // ':' + 1

// fieldPrefix describes a field of the JSON object: the number of its argument, and the text that precedes its
// content.
type fieldPrefix struct {
	argument int // counted from the first field's argument
	text     []byte
}

// fieldPrefixes returns the prefixes of the fields, ordered by name, as JSON libraries write maps.
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

// appendValue appends a record as JSON. It uses scratch as a buffer and returns it.
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

// findField returns a field's content, in base64, from a record. plain is false if the record isn't in the
// simple form that appendValue writes; it must then be decoded by a JSON library.
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

// quoted reads a JSON string without escapes.
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

// document is a stored record.
type document struct {
	text  []byte
	slow  map[string][]byte // its fields, decoded by encoding/json, if needed
	fault *protocol.Error   // why it can't be read
}

// field returns a field's content.
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

// names returns the names of all fields, sorted.
func (d *document) names() []string {
	if d.slow == nil {
		d.decode()
	}
	return slices.Sorted(maps.Keys(d.slow))
}

// capture stores the captured fields of a record in reply.
func capture(r *kv.Request, record []byte, reply *protocol.Reply) *protocol.Error {
	d := document{text: record}
	r.Capture(reply, kv.Record{Field: d.field})
	return d.fault
}
