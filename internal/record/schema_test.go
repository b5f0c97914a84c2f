package record

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan/planfile/form/formtest"
	"brunt/internal/render/message"
)

var update = flag.Bool("update", false, "write the schemas in docs")

// schemaFile is a JSON Schema of a file of bundles. fixtures are records that the first program with this version of
// the format wrote: what they lack can't be required.
type schemaFile struct {
	path, title string
	of          reflect.Type
	fixtures    []string
	lines       bool
}

func schemaFiles() []schemaFile {
	return []schemaFile{
		{"../../docs/run.schema.json", "run.json of a bundle", reflect.TypeFor[Run](),
			[]string{"testdata/schema2/part-1/run.json", "testdata/schema2/part-2/run.json"}, false},
		{"../../docs/intervals.schema.json", "a line of intervals.ndjson of a bundle", reflect.TypeFor[intervalLine](),
			[]string{"testdata/schema2/part-1/intervals.ndjson", "testdata/schema2/part-2/intervals.ndjson"}, true},
	}
}

// documents returns the JSON documents of a fixture.
func (f *schemaFile) documents(t *testing.T, path string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !f.lines {
		return [][]byte{text}
	}
	return bytes.Split(bytes.TrimSpace(text), []byte("\n"))
}

// The schemas in docs are those of the types that write the files, with their comments. -update writes them.
func TestSchemasAreWritten(t *testing.T) {
	for _, f := range schemaFiles() {
		t.Run(filepath.Base(f.path), func(t *testing.T) {
			want := f.text(t, false)
			if *update {
				if err := os.WriteFile(f.path, want, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			have, err := os.ReadFile(f.path)
			if err != nil || !bytes.Equal(have, want) {
				t.Errorf("%s isn't that of the types (%v); run go test ./internal/record -run Schemas -update", f.path, err)
			}
		})
	}
}

// The schemas accept the records of all programs with this version of the format. A strict form of them, which knows no
// other fields, accepts what this program writes.
func TestSchemasAcceptBundles(t *testing.T) {
	for _, f := range schemaFiles() {
		t.Run(filepath.Base(f.path), func(t *testing.T) {
			schema := formtest.Compile(t, f.text(t, false))
			strict := formtest.Compile(t, f.text(t, true))
			for _, path := range f.fixtures {
				for i, d := range f.documents(t, path) {
					if err := schema.Validate(t, d); err != nil {
						t.Errorf("%s, document %d: %v", path, i+1, err)
					}
				}
				for i, d := range f.rewritten(t, path) {
					if err := strict.Validate(t, d); err != nil {
						t.Errorf("%s as written now, document %d: %v", path, i+1, err)
					}
				}
			}
			for name, bad := range map[string]string{"no object": "[]", "nothing": "{}", "a wrong type": `{"schema": "two"}`} {
				if schema.Validate(t, []byte(bad)) == nil {
					t.Errorf("%s is accepted", name)
				}
			}
		})
	}
}

// rewritten returns the documents of a fixture as this program writes them.
func (f *schemaFile) rewritten(t *testing.T, path string) (out [][]byte) {
	t.Helper()
	b, err := Open(OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	if !f.lines {
		text, err := json.Marshal(b.Run.Described())
		if err != nil {
			t.Fatal(err)
		}
		return [][]byte{text}
	}
	var e lineEncoder
	err = b.Intervals(func(iv *measure.Interval) error {
		line, err := e.encode(iv)
		out = append(out, bytes.Clone(line))
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%d lines: %v", len(out), err)
	}
	return out
}

// schemaMaker makes a JSON Schema (draft 2020-12) of Go types that are written as JSON.
type schemaMaker struct {
	comments map[string]string // by "Type.Field"
	defs     map[string]any
	strict   bool
}

// text returns the schema. If strict is set, it allows no other fields.
func (f *schemaFile) text(t *testing.T, strict bool) []byte {
	t.Helper()
	m := &schemaMaker{comments: map[string]string{}, defs: map[string]any{}, strict: strict}
	for _, dir := range []string{".", "../measure"} {
		m.readComments(t, dir)
	}
	root := m.object(f.of)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = filepath.Base(f.path)
	root["title"] = f.title
	root["description"] = "Version 2. Later versions of the program may add fields; docs/compatibility.md says what else " +
		"may change. Times that end in _ns are nanoseconds."
	root["required"] = f.always(t, m.properties(f.of))
	root["$defs"] = m.defs
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// always returns the fields that all fixtures have and that are written even if they are zero.
func (f *schemaFile) always(t *testing.T, properties map[string]any) (names []string) {
	t.Helper()
	for name := range properties {
		names = append(names, name)
	}
	for _, path := range f.fixtures {
		for _, d := range f.documents(t, path) {
			have := map[string]json.RawMessage{}
			if err := json.Unmarshal(d, &have); err != nil {
				t.Fatal(err)
			}
			names = slices.DeleteFunc(names, func(n string) bool { return have[n] == nil || omitted(f.of, n) })
		}
	}
	slices.Sort(names)
	return names
}

// omitted reports whether a field is left out if it is zero.
func omitted(of reflect.Type, name string) bool {
	for _, f := range reflect.VisibleFields(of) {
		own, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if own == name {
			return options != ""
		}
	}
	return false
}

// readComments collects the comments of the fields of a package's types.
func (m *schemaMaker) readComments(t *testing.T, dir string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				m.typeComments(s)
			}
			return true
		})
	}
}

func (m *schemaMaker) typeComments(s *ast.TypeSpec) {
	fields, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range fields.Fields.List {
		text := f.Doc.Text() + f.Comment.Text()
		for _, name := range f.Names {
			m.comments[s.Name.Name+"."+name.Name] = strings.Join(strings.Fields(text), " ")
		}
	}
}

// object returns the schema of a struct.
func (m *schemaMaker) object(of reflect.Type) map[string]any {
	out := map[string]any{"type": "object", "properties": m.properties(of)}
	if m.strict {
		out["additionalProperties"] = false
	}
	return out
}

// properties returns the schemas of a struct's fields by their names in JSON.
func (m *schemaMaker) properties(of reflect.Type) map[string]any {
	out := map[string]any{}
	for _, f := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		owner := of
		if len(f.Index) > 1 {
			owner = of.FieldByIndex(f.Index[:len(f.Index)-1]).Type
		}
		s := m.of(f.Type)
		if text := m.comments[owner.Name()+"."+f.Name]; text != "" {
			s["description"] = text
		}
		out[name] = s
	}
	return out
}

// of returns the schema of a type.
func (m *schemaMaker) of(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[Ns]():
		return map[string]any{"type": []string{"integer", "null"}}
	case reflect.TypeFor[Figure]():
		return map[string]any{"type": []string{"number", "null", "string"}}
	case reflect.TypeFor[message.Message]():
		return map[string]any{"type": "string"}
	case reflect.TypeFor[message.Table]():
		return map[string]any{"type": "object"}
	case reflect.TypeFor[measure.ByClass](), reflect.TypeFor[measure.ByReason]():
		return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "integer", "minimum": 0}}
	case reflect.TypeFor[[]byte]():
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.of(t.Elem())
	case reflect.Struct:
		if _, there := m.defs[t.Name()]; !there {
			m.defs[t.Name()] = nil // it may contain itself
			m.defs[t.Name()] = m.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": []string{"array", "null"}, "items": m.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": m.of(t.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64, reflect.Float32:
		return map[string]any{"type": "number"}
	case reflect.Uint, reflect.Uint64, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		return map[string]any{"type": "integer", "minimum": 0}
	}
	return map[string]any{"type": "integer"}
}
