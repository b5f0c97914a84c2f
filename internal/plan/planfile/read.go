// Package planfile reads and writes plans as YAML. The format is a strict superset of that of Picostress configuration
// files, which have the same meaning here. docs/plan.md describes every key; docs/plan.schema.json is the JSON Schema
// for editors.
package planfile

import (
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
)

// MaxBytes is the size of the largest file that Read accepts.
const MaxBytes = form.MaxBytes

// Read parses and checks a plan. name is the file's name as shown in problems. The error is a plan.Problems with all
// problems in the order of the file; the plan is then nil.
func Read(name string, data []byte) (*plan.Plan, error) {
	r := &form.Reader{File: name, Kind: form.Plan}
	root := r.Document(data)
	if root == nil {
		return nil, r.Problems.Sort()
	}
	p := &plan.Plan{}
	newFormat().Read(r, "", root, form.ValueOf(p))
	if root.Kind != yaml.MappingNode {
		return nil, r.Problems.Sort()
	}
	if p.Name == "" {
		p.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	consequence := r.Consequences()
	for _, f := range p.Validate() {
		if !consequence(f) {
			r.Problems = append(r.Problems, f)
		}
	}
	if len(r.Problems) > 0 {
		return nil, r.Problems.Sort()
	}
	_, err := p.CompileScripts()
	return p, err
}

// state is what the forms of a plan remember while they read one.
type state struct {
	rated  bool // operations have rates
	shares []share
	refs   references // of the operation being read
	target plan.Places
}

// Schema returns the JSON Schema of plans for editors: docs/plan.schema.json. It covers the rules that concern
// single keys.
func Schema() []byte {
	return newFormat().Document("plan.schema.json", form.Schema{"title": "brunt plan", "minProperties": 1,
		"description": "A load test: schema, operations, load and rules. A strict superset of Picostress configuration files."})
}
