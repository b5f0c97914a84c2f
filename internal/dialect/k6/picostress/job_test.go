//go:build !nok6

package picostress

import (
	"strings"
	"testing"
)

func TestSchemas(t *testing.T) {
	t.Parallel()
	const rules = `"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "n": {"$ref": "#/DEFS/n"}},
		"DEFS": {"n": {"type": "integer", "minimum": 1}}`
	old := `{"$schema": "http://json-schema.org/draft-07/schema#", ` + strings.ReplaceAll(rules, "DEFS", "definitions") +
		"}"
	recent := `{"$schema": "https://json-schema.org/draft/2020-12/schema", ` + strings.ReplaceAll(rules, "DEFS", "$defs") +
		"}"
	for name, row := range map[string]struct {
		schema, config, want string
	}{
		"draft 7 holds":       {old, "name: cars\nn: 3\n", ""},
		"draft 2020-12 holds": {recent, "name: cars\nn: 3\n", ""},
		"none named":          {"{" + strings.ReplaceAll(rules, "DEFS", "$defs") + "}", "name: cars\n", ""},
		"a relative $id":      {`{"$id": "plan.schema.json", "type": "object"}`, "name: cars\n", ""},
		"missing":             {recent, "n: 3\n", "isn't what s.json asks for"},
		"wrong type":          {old, "name: [1]\n", "isn't what s.json asks for"},
		"too small, by $ref":  {old, "name: cars\nn: 0\n", "minimum"},
		"no mapping":          {recent, "- 1\n", "isn't what s.json asks for"},
		"no schema":           {"]", "name: cars\n", "schema s.json: "},
		"not a schema": {`{"required": "a"}`, "a: 1\n",
			"isn't a JSON Schema: one of its keywords can't have the type string"},
		"a $ref to nothing": {`{"$ref": "#/$defs/x"}`, "name: cars\n", "schema s.json: "},
		"an older draft": {`{"$schema": "http://json-schema.org/draft-04/schema#", "id": "x"}`, "name: cars\n",
			"schema s.json: "},
		"not YAML": {recent, "a: [", "configuration: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := validate("s.json", []byte(row.schema), []byte(row.config))
			if row.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("%v, wanted %q", err, row.want)
			}
		})
	}
}
