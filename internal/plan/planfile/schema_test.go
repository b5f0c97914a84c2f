package planfile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brunt/internal/plan/planfile/form/formtest"
)

const schemaPath = "../../../docs/plan.schema.json"

// compiledSchema returns the schema in docs.
func compiledSchema(t *testing.T) formtest.Schema {
	t.Helper()
	text, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	return formtest.Compile(t, text)
}

func TestSchemaAgreesOnGoodFiles(t *testing.T) {
	schema := compiledSchema(t)
	for _, path := range goodFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(t, data); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		written, err := Write(mustRead(t, path))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(t, written); err != nil {
			t.Errorf("%s as written: %v", path, err)
		}
	}
}

// TestSchemaAgreesOnBadFiles checks that the schema refuses problems of form. It can't find problems of logic.
func TestSchemaAgreesOnBadFiles(t *testing.T) {
	schema := compiledSchema(t)
	files, _ := filepath.Glob("testdata/bad/*.yml")
	forms, logics := 0, 0
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		switch {
		case strings.HasPrefix(name, "form-"):
			forms++
			if schema.Validate(t, data) == nil {
				t.Errorf("the schema accepts %s", path)
			}
		case strings.HasPrefix(name, "logic-"):
			logics++
			if err := schema.Validate(t, data); err != nil {
				t.Errorf("the schema refuses %s: %v", path, err)
			}
		}
	}
	if forms < 15 || logics < 20 {
		t.Errorf("only %d files with problems of form and %d of logic", forms, logics)
	}
}

// TestSchemaIsWritten compares docs/plan.schema.json with the table of fields. BRUNT_UPDATE=1 writes the file.
func TestSchemaIsWritten(t *testing.T) {
	want := Schema()
	if os.Getenv("BRUNT_UPDATE") != "" {
		if err := os.WriteFile(schemaPath, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is old; write it with BRUNT_UPDATE=1 go test -run SchemaIsWritten ./internal/plan/planfile", schemaPath)
	}
}

// keysOfSchema collects the keys of all mappings of a JSON Schema.
func keysOfSchema(v any, keys map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok && v["type"] == "object" {
			for k := range properties {
				keys[k] = true
			}
		}
		for _, x := range v {
			keysOfSchema(x, keys)
		}
	case []any:
		for _, x := range v {
			keysOfSchema(x, keys)
		}
	}
}

// TestDocumentation reads the YAML blocks of the reference, which must be complete plans, and looks for each key in its
// text.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile("../../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	schema := compiledSchema(t)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(data, -1)
	if len(blocks) < 7 {
		t.Fatalf("only %d YAML blocks", len(blocks))
	}
	for _, b := range blocks {
		if _, err := Read("plan.md", b[1]); err != nil {
			t.Errorf("%v\n%s", err, b[1])
		}
		if err := schema.Validate(t, b[1]); err != nil {
			t.Errorf("%v\n%s", err, b[1])
		}
	}
	var doc any
	if err := json.Unmarshal(Schema(), &doc); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	if keysOfSchema(doc, keys); len(keys) < 100 {
		t.Fatalf("only %d keys", len(keys))
	}
	for k := range keys {
		if !bytes.Contains(data, []byte("`"+k+"`")) {
			t.Errorf("docs/plan.md doesn't explain `%s`", k)
		}
	}
}
