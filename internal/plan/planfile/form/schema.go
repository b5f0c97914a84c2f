package form

import (
	"bytes"
	"encoding/json"
	"maps"
)

// Schema is a JSON Schema (draft 2020-12) or a part of one.
type Schema = map[string]any

// Definitions are the named parts of a JSON Schema.
type Definitions struct{ made map[string]Schema }

// Document returns the JSON text of the JSON Schema of a format. more are further keys of it.
func (m *Mapping) Document(id string, more Schema) []byte {
	d := &Definitions{made: map[string]Schema{}}
	top := m.body(d)
	top["$schema"], top["$id"], top["$defs"] = "https://json-schema.org/draft/2020-12/schema", id, d.made
	maps.Copy(top, more)
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	// maps, lists and plain values can always be encoded
	_ = e.Encode(top)
	return out.Bytes()
}

// AnyOf returns the schema of a value that may have one of several forms.
func AnyOf(forms ...Form) func(d *Definitions) Schema {
	return func(d *Definitions) Schema {
		var all []any
		for _, f := range forms {
			all = append(all, f.Schema(d))
		}
		return Schema{"anyOf": all}
	}
}

// Exclude returns rules that at most one of the keys is present.
func Exclude(keys ...string) []any {
	var all []any
	for i, a := range keys {
		for _, b := range keys[:i] {
			all = append(all, Schema{"not": Schema{"required": []string{b, a}}})
		}
	}
	return all
}

// Exactly returns the rule that exactly one of the keys is present.
func Exactly(keys []string) Schema { return Schema{"oneOf": Each(keys)} }

// Each returns for each key the schema of mappings that have it.
func Each(keys []string) (all []any) {
	for _, k := range keys {
		all = append(all, Schema{"required": []string{k}})
	}
	return all
}
