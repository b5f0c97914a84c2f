// Package formtest compares files with the JSON Schema of their format in tests.
package formtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// Schema is a compiled JSON Schema.
type Schema struct{ compiled *jsonschema.Schema }

// Compile compiles a JSON Schema (draft 2020-12), given as JSON text.
func Compile(t testing.TB, text []byte) Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const id = "format.schema.json"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(id, doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return Schema{compiled}
}

// Validate returns an error if the schema refuses the YAML text. The test fails if the text is not YAML, or has no
// equivalent in JSON.
func (s Schema) Validate(t testing.TB, text []byte) error {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Load(text, &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	unquoted(&doc)
	var v any
	if err := doc.Decode(&v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out, err := json.Marshal(stringKeys(v))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if v, err = jsonschema.UnmarshalJSON(bytes.NewReader(out)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s.compiled.Validate(v)
}

// unquoted converts values that JSON has no type for into texts.
func unquoted(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!timestamp" || n.ShortTag() == "!!binary") {
		n.Tag = "!!str"
	}
	for _, c := range n.Content {
		unquoted(c)
	}
}

// stringKeys converts the keys of mappings into texts.
func stringKeys(v any) any {
	switch v := v.(type) {
	case map[any]any:
		m := map[string]any{}
		for k, x := range v {
			m[fmt.Sprint(k)] = stringKeys(x)
		}
		return m
	case map[string]any:
		for k, x := range v {
			v[k] = stringKeys(x)
		}
	case []any:
		for i, x := range v {
			v[i] = stringKeys(x)
		}
	}
	return v
}
