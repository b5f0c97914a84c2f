package planfile

import (
	"bytes"
	"encoding/json"
	"maps"
)

// schema is a JSON Schema (draft 2020-12) or a part of one.
type schema = map[string]any

// definitions are the named parts of a JSON Schema.
type definitions struct{ made map[string]schema }

// PlanSchema returns the JSON Schema of plans for editors: docs/plan.schema.json. It covers the rules that concern
// single keys.
func PlanSchema() []byte {
	return newFormat().document("plan.schema.json", schema{"title": "brunt plan", "minProperties": 1,
		"description": "A load test: schema, operations, load and rules. A strict superset of Picostress configuration files."})
}

// document returns the JSON text of the JSON Schema of a format. more are further keys of it.
func (m *mapping) document(id string, more schema) []byte {
	d := &definitions{made: map[string]schema{}}
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

func pairSchema(types ...string) func(*definitions) schema {
	return func(d *definitions) schema {
		return schema{"type": "array", "minItems": 2, "maxItems": 2, "items": typesSchema(types...)(d)}
	}
}

func typesSchema(types ...string) func(*definitions) schema {
	return func(*definitions) schema { return schema{"type": types} }
}

// anyOf returns the schema of a value that may have one of several forms.
func anyOf(forms ...form) func(d *definitions) schema {
	return func(d *definitions) schema {
		var all []any
		for _, f := range forms {
			all = append(all, f.schema(d))
		}
		return schema{"anyOf": all}
	}
}

// exclude returns rules that at most one of the keys is present.
func exclude(keys ...string) []any {
	var all []any
	for i, a := range keys {
		for _, b := range keys[:i] {
			all = append(all, schema{"not": schema{"required": []string{b, a}}})
		}
	}
	return all
}

// exactly returns the rule that exactly one of the keys is present.
func exactly(keys []string) schema {
	return schema{"oneOf": each(keys)}
}

// each returns for each key the schema of mappings that have it.
func each(keys []string) (all []any) {
	for _, k := range keys {
		all = append(all, schema{"required": []string{k}})
	}
	return all
}

// needs returns the rule that key is present only together with at least one of others.
func needs(key string, others ...string) schema {
	return schema{"if": schema{"required": []string{key}}, "then": schema{"anyOf": each(others)}}
}
