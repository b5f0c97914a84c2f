package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"brunt/internal/plan/script"
)

// Scripts says how the operations with a Script are compiled.
type Scripts struct {
	Language string // one of script.Languages; "" if no operation is a script
	Options  map[string]string
	// ScaledBy is the option that a load's factor is given in, if the scripts say themselves how fast they send; ""
	// otherwise. RatePerS is the rate of the whole load at the factor 1, in operations a second.
	ScaledBy string
	RatePerS float64
	At       Position
	Where    Places // positions of its keys
}

// Scripted returns the indexes of the operations that are scripts.
func (p *Plan) Scripted() (operations []int) {
	for i := range p.Operations {
		if p.Operations[i].Script != "" {
			operations = append(operations, i)
		}
	}
	return operations
}

// unlimited removes the limits of the scripts of a plan, whose load another one replaces.
func (s *Scripts) unlimited() {
	language, _ := script.Lookup(s.Language)
	if l, ok := language.(script.Limited); ok && s.Options != nil {
		s.Options = maps.Clone(s.Options)
		l.Unlimited(s.Options)
	}
}

// CompileScripts compiles the operations that are scripts, which program calls by their number among Scripted, and sets
// their steps to the requests that they may send. The program is nil if there are none. Errors are Problems.
func (p *Plan) CompileScripts() (script.Program, error) {
	all := p.Scripted()
	if len(all) == 0 {
		if p.Scripts.Language != "" {
			return nil, Problems{{At: p.Scripts.At, Text: "no operation has a script", Fix: "leave scripts out"}}
		}
		return nil, nil
	}
	language, ok := script.Lookup(p.Scripts.Language)
	if !ok {
		return nil, Problems{p.noLanguage(all[0])}
	}
	source := script.Source{Protocol: p.Target.Protocol, Seed: p.Seed, Options: maps.Clone(p.Scripts.Options),
		Sessions: max(p.Settings.SessionsOfAll, p.MostSessions())}
	for _, i := range all {
		op := &p.Operations[i]
		source.Operations = append(source.Operations, script.Operation{Name: op.Name, Text: op.Script, Weight: op.Weight})
	}
	program, err := language.Compile(&source)
	if err != nil {
		return nil, Problems{p.scriptProblem(all, err)}
	}
	for n, i := range all {
		op := &p.Operations[i]
		requests := program.Requests(n)
		op.Steps = make([]Step, len(requests))
		for k := range requests {
			op.Steps[k] = Step{Request: requests[k], At: op.At, Where: op.Where}
		}
	}
	return program, nil
}

func (p *Plan) noLanguage(first int) Problem {
	op := &p.Operations[first]
	if p.Scripts.Language == "" {
		return Problem{At: op.Where.At("script", op.At), Fix: "add scripts with a language",
			Text: fmt.Sprintf("operation %q is a script, and the plan doesn't say in which language", op.Name)}
	}
	fix := "use a program that has it; this one has none"
	if languages := script.Languages(); len(languages) > 0 {
		fix = "this program has " + strings.Join(languages, ", ")
	}
	return Problem{At: p.Scripts.Where.At("language", p.Scripts.At), Fix: fix,
		Text: fmt.Sprintf("the language of scripts %q is unknown", p.Scripts.Language)}
}

// scriptProblem returns the problem that a language reports. The lines of a script in a plan file are those after its
// key.
func (p *Plan) scriptProblem(all []int, err error) Problem {
	var e *script.Error
	if !errors.As(err, &e) || e.Operation < 0 || e.Operation >= len(all) {
		return Problem{At: p.Scripts.At, Text: err.Error()}
	}
	op := &p.Operations[all[e.Operation]]
	where := fmt.Sprintf("operation %q", op.Name)
	if e.Line > 0 {
		where += fmt.Sprintf(", line %d", e.Line)
	}
	if e.Column > 0 {
		where += fmt.Sprintf(", column %d", e.Column)
	}
	return Problem{At: op.Where.At("script", op.At), Text: where + ": " + e.Text}
}

// scripts reports scripts that can't be compiled, and what has no meaning next to a script.
func (c *checker) scripts() {
	all := c.plan.Scripted()
	for _, i := range all {
		op := &c.plan.Operations[i]
		at := op.Where.At("script", op.At)
		if op.Transaction || op.Isolation != "" || op.Inserts {
			c.add(at, "leave atomic, isolation and inserts out, and write it into the script",
				"operation %q is a script, which says itself when transactions begin", op.Name)
		}
	}
	if len(all) == 0 && c.plan.Scripts.Language == "" {
		return
	}
	if s := &c.plan.Scripts; (s.ScaledBy != "") != (s.RatePerS > 0) {
		c.add(s.Where.At("scaled_by", s.At), "give both, the rate above 0", "scaled_by and rate belong together")
	}
	checked := *c.plan
	checked.Operations = slices.Clone(checked.Operations)
	var problems Problems
	if _, err := checked.CompileScripts(); errors.As(err, &problems) {
		for _, f := range problems {
			c.add(f.At, f.Fix, "%s", f.Text)
		}
	}
}
