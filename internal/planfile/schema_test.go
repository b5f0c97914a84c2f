package planfile

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

const schemaPath = "../../docs/plan.schema.json"

func loadSchema(t *testing.T) (*jsonschema.Schema, map[string]any) {
	t.Helper()
	data, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("plan.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("plan.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s, doc.(map[string]any)
}

// instance turns YAML into what a JSON Schema is about.
func instance(t *testing.T, data []byte) any {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	unquoted(&doc)
	var v any
	if err := doc.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := jsonText(v)
	if err != nil {
		t.Fatal(err)
	}
	v, err = jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// unquoted makes texts of what JSON has no type for.
func unquoted(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!timestamp" || n.ShortTag() == "!!binary") {
		n.Tag = "!!str"
	}
	for _, c := range n.Content {
		unquoted(c)
	}
}

func TestSchemaAgreesOnGoodFiles(t *testing.T) {
	schema, _ := loadSchema(t)
	for _, path := range goodFiles(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance(t, data)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		written, err := Write(mustRead(t, path))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance(t, written)); err != nil {
			t.Errorf("%s as written: %v", path, err)
		}
	}
}

// TestSchemaAgreesOnBadFiles: a schema must refuse problems of form, and can't see those of logic.
func TestSchemaAgreesOnBadFiles(t *testing.T) {
	schema, _ := loadSchema(t)
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
			if schema.Validate(instance(t, data)) == nil {
				t.Errorf("the schema accepts %s", path)
			}
		case strings.HasPrefix(name, "logic-"):
			logics++
			if err := schema.Validate(instance(t, data)); err != nil {
				t.Errorf("the schema refuses %s: %v", path, err)
			}
		}
	}
	if forms < 15 || logics < 20 {
		t.Errorf("only %d files with problems of form and %d of logic", forms, logics)
	}
}

// TestSchemaHasTheReadersKeys: both know the same keys everywhere.
func TestSchemaHasTheReadersKeys(t *testing.T) {
	_, doc := loadSchema(t)
	at := func(path ...string) []string {
		var v any = doc
		for _, p := range path {
			v = v.(map[string]any)[p]
		}
		var keys []string
		for k := range v.(map[string]any)["properties"].(map[string]any) {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		return keys
	}
	phase := func(kind string) []string { return at("$defs", "phase", "properties", kind) }
	for name, pair := range map[string][2][]string{
		"plan":        {append(at(), "x-*"), topKeys()},
		"target":      {at("$defs", "target"), targetKeys()},
		"timeouts":    {at("properties", "timeouts"), timeoutKeys()},
		"table":       {at("$defs", "table"), tableKeys()},
		"column":      {at("$defs", "column"), valueKeys()},
		"param":       {at("$defs", "param"), paramKeys()},
		"bucket":      {at("$defs", "bucket"), bucketKeys()},
		"index":       {at("$defs", "index"), indexKeys()},
		"query":       {at("$defs", "query"), queryKeys()},
		"statement":   {at("$defs", "statement"), statementKeys()},
		"transaction": {at("$defs", "transaction"), transactionKeys()},
		"http":        {at("$defs", "http"), webKeys()},
		"phase":       {at("$defs", "phase"), phaseKeys()},
		"constant":    {phase("constant"), constantKeys()},
		"ramp":        {phase("ramp"), rampKeys()},
		"step":        {phase("step"), stepKeys()},
		"spike":       {phase("spike"), spikeKeys()},
		"closed":      {phase("closed"), closedKeys()},
	} {
		want := slices.Sorted(slices.Values(pair[1]))
		slices.Sort(pair[0])
		if !reflect.DeepEqual(pair[0], want) {
			t.Errorf("%s: the schema has %v, the reader %v", name, pair[0], want)
		}
	}
}

// TestDocumentation reads the YAML blocks of the reference, which must be whole plans, and looks
// for every key in its text.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile("../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	schema, _ := loadSchema(t)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(data, -1)
	if len(blocks) < 7 {
		t.Fatalf("only %d YAML blocks", len(blocks))
	}
	for _, b := range blocks {
		if _, err := Read("plan.md", b[1]); err != nil {
			t.Errorf("%v\n%s", err, b[1])
		}
		if err := schema.Validate(instance(t, b[1])); err != nil {
			t.Errorf("%v\n%s", err, b[1])
		}
	}
	for _, keys := range [][]string{topKeys(), targetKeys(), timeoutKeys(), tableKeys(), paramKeys(), bucketKeys(), indexKeys(),
		queryKeys(), statementKeys(), transactionKeys(), webKeys(), phaseKeys(), constantKeys(), rampKeys(), stepKeys(),
		spikeKeys(), closedKeys(), thinkKeys(), thresholdKeys(), tlsKeys(), captureKeys()} {
		for _, k := range keys {
			if !bytes.Contains(data, []byte("`"+k+"`")) {
				t.Errorf("docs/plan.md doesn't explain `%s`", k)
			}
		}
	}
}
