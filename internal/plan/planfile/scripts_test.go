package planfile

import (
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// lines is a language of scripts whose lines are statements.
type lines struct{}

func (lines) Name() string { return "lines" }

func (lines) Compile(s *script.Source) (script.Program, error) {
	var p program
	for i, op := range s.Operations {
		var of []protocol.Request
		for n, text := range strings.Split(strings.TrimSpace(op.Text), "\n") {
			if !strings.Contains(text, "select") && strings.TrimSpace(text) != "" {
				return nil, &script.Error{Operation: i, Line: n + 1, Text: "a line isn't a query"}
			}
			of = append(of, protocol.Request{Verb: protocol.SQL, Text: text, Params: []gen.Kind{gen.Int}})
		}
		p = append(p, of)
	}
	return p, nil
}

type program [][]protocol.Request

func (p program) Requests(operation int) []protocol.Request { return p[operation] }
func (program) Session(int) script.Session                  { return nil }

func init() { script.Register(lines{}) }

const scripted = `target: {protocol: pg, addresses: [localhost]}
scripts: {language: lines, options: {mode: "2"}}
transactions:
  - name: two
    weight: 3
    script: |
      select 1
      select 2
  - {name: one, weight: 1, script: select 3}
load: [{closed: {operations: 5}}]
`

func TestScriptsAreReadAndWritten(t *testing.T) {
	p, err := Read("plan.yml", []byte(scripted))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		op := &p.Operations[0]
		switch {
		case p.Scripts.Language != "lines" || p.Scripts.Options["mode"] != "2":
			t.Errorf("scripts %+v", p.Scripts)
		case op.Script != "select 1\nselect 2\n" || op.Transaction || op.Weight != 3:
			t.Errorf("operation %+v", op)
		case len(op.Steps) != 2 || op.Steps[1].Request.Text != "select 2" || len(p.Operations[1].Steps) != 1:
			t.Errorf("steps %+v", op.Steps)
		}
		text, err := Write(p)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "script: |\n    select 1\n    select 2\n") {
			t.Errorf("the script is written as\n%s", text)
		}
		if p, err = Read("plan.yml", text); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
}

func TestWrongScripts(t *testing.T) {
	for from, to := range map[string][2]string{
		"      select 2\n":       {"      insert\n", `plan.yml:6:13: operation "two", line 2: a line isn't a query`},
		"language: lines":        {"language: none", `plan.yml:2:21: the language of scripts "none" is unknown`},
		"scripts: {":             {"x-s: {", `operation "two" is a script, and the plan doesn't say in which language`},
		"script: select 3":       {"statements: []", "operation \"one\" does nothing"},
		", script: select 3":     {"", "a transaction has no statements"},
		"1, script: select 3":    {"1, script: select 3, isolation: serializable", "isolation has no meaning next to script"},
		"1, script: select 3}\n": {"1, script: \"\"}\n", "the script is empty"},
	} {
		text := strings.Replace(scripted, from, to[0], 1)
		_, err := Read("plan.yml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), to[1]) {
			t.Errorf("%q: %v, want %s", to[0], err, to[1])
		}
	}
	_, err := (&plan.Plan{Scripts: plan.Scripts{Language: "lines"}}).CompileScripts()
	if err == nil || !strings.Contains(err.Error(), "no operation has a script") {
		t.Errorf("a language without scripts: %v", err)
	}
}

// TestScriptsKeepTheirText writes texts that YAML could change.
func TestScriptsKeepTheirText(t *testing.T) {
	for _, text := range []string{
		"select 1\n\tselect 2\n", "select 1 \nselect 2", "select 1\r\nselect 2\r\n", "select '\u00a0é'\n\n\nselect 2\n\n",
		"select '# not a comment: {'\nselect 2\n", "select 1\nselect '\x01'\n", "select 1\nselect '\u2028'\n",
	} {
		p := &plan.Plan{Name: "a", Scripts: plan.Scripts{Language: "lines"},
			Target:     plan.Target{Protocol: "pg", Addresses: []string{"localhost"}},
			Operations: []plan.Operation{{Name: "one", Weight: 1, Script: text}}}
		written, err := Write(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read("plan.yml", written)
		if err != nil && !strings.Contains(err.Error(), "a line isn't a query") {
			t.Errorf("%q: %v in\n%s", text, err, written)
			continue
		}
		if err == nil && again.Operations[0].Script != text {
			t.Errorf("%q is read as %q from\n%s", text, again.Operations[0].Script, written)
		}
	}
}
