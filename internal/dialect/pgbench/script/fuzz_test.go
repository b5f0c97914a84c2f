package script

import (
	"errors"
	"strings"
	"testing"

	planscript "brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// FuzzScript parses scripts and runs what is accepted.
func FuzzScript(f *testing.F) {
	for _, c := range scriptsOf() {
		f.Add(c.scripts[0], uint8(0))
		f.Add(c.scripts[0], uint8(1))
	}
	for _, c := range faults() {
		f.Add(c.script, uint8(2))
	}
	for _, list := range expressionsOf() {
		f.Add(debugs(list...), uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, choice uint8) {
		modes := [...]string{Simple, Extended, Prepared}
		o := Options{Mode: modes[int(choice)%len(modes)], Clients: 1, Variables: map[string]string{"v": "1", "t": "x"}}
		script, err := Parse("s", text, o)
		if err != nil {
			checkFault(t, text, err)
			return
		}
		program, wrong := compileAll([]planscript.Operation{{Name: "s", Text: text, Weight: 1}}, o.complete())
		if wrong != nil {
			checkFault(t, text, &Error{Line: wrong.Line, Column: wrong.Column, Message: wrong.Text})
			return
		}
		s := program.session(0)
		step := s.Begin(0, 0)
		for range 2 * len(script.Commands) {
			switch step.Move {
			case planscript.End:
				return
			case planscript.Pause:
				if step.Pause < 0 {
					t.Fatalf("a pause of %v", step.Pause)
				}
				step = s.Resume()
			case planscript.Send:
				r := program.Requests(0)[step.Request]
				if len(step.Args) != len(r.Params) {
					t.Fatalf("%d arguments for %d parameters of %q", len(step.Args), len(r.Params), r.Text)
				}
				step = s.Answered(&protocol.Reply{})
			}
		}
	})
}

// checkFault checks that an error names a place within the script.
func checkFault(t *testing.T, text string, err error) {
	t.Helper()
	fault := (*Error)(nil)
	if !errors.As(err, &fault) {
		t.Fatalf("%T %v", err, err)
	}
	if lines := 1 + strings.Count(text, "\n"); fault.Line < 0 || fault.Line > lines+1 || fault.Column < 0 {
		t.Fatalf("fault at %d:%d of a script of %d lines: %s", fault.Line, fault.Column, lines, fault.Text)
	}
}

// FuzzExpression evaluates expressions.
func FuzzExpression(f *testing.F) {
	for _, list := range expressionsOf() {
		for _, e := range list {
			f.Add(e)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := &line{text: text}
		names := newTable()
		n, err := l.expression(names)
		if err != nil {
			return
		}
		m := &machine{names: names.names, vars: make([]variable, len(names.names)), random: newPRNG(1)}
		for i := range m.vars {
			m.vars[i].set(intValue(int64(i)))
		}
		v, ok := m.eval(n)
		if ok && (v.kind == none || v.kind == boolean && v.i != 0 && v.i != 1) {
			t.Fatalf("%q is %+v", text, v)
		}
		if !ok && m.problem == "" {
			t.Fatalf("%q fails without a reason", text)
		}
	})
}
