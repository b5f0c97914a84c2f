//go:build !nok6

// Package brunt is the JavaScript module k6/x/brunt: every protocol that brunt speaks, for scripts, and
// whole plans. Connections belong to all virtual users together; a transaction has one to itself.
package brunt

import (
	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/modules"

	"brunt/internal/gen"
	"brunt/internal/k6x/bind"
	"brunt/internal/k6x/native"
	"brunt/internal/k6x/session"
	"brunt/internal/record"
)

// New returns the module.
func New(s *session.Session) modules.Module {
	return bind.Module(s, func(vu *bind.VU) *sobek.Object {
		i := &instance{vu: vu}
		functions := map[string]bind.Func{"open": i.open, "runPlan": i.runPlan}
		for name, f := range bind.Types() {
			functions[name] = f
		}
		return vu.Object("brunt", functions)
	})
}

// instance is the module of one virtual user.
type instance struct{ vu *bind.VU }

// open(target) returns a database. Connections are made when they are needed.
func (i *instance) open(a *bind.Args) (any, error) {
	t := readTarget(a)
	if err := a.Err(); err != nil {
		return nil, err
	}
	pool, err := t.pool(i.vu.Session)
	if err != nil {
		return nil, err
	}
	d := &database{vu: i.vu, pool: pool, timeout: t.timeout, numbers: map[string]int{}}
	return i.vu.Object("db", map[string]bind.Func{
		"exec": d.exec, "query": d.query, "prepare": d.prepare,
		"begin": d.begin, "commit": d.commit, "rollback": d.rollback, "close": d.close,
	}), nil
}

// runPlan(file) runs a plan by brunt's engine as a part of this run. It returns what became of it, in the
// form of Picostress' summaries.
func (i *instance) runPlan(a *bind.Args) (any, error) {
	file := a.Text(0, "the plan's file")
	if err := a.Err(); err != nil {
		return nil, err
	}
	run, err := native.Run(i.vu.Context(), i.vu.Session, native.Plan{File: file})
	if err != nil || run == nil {
		return nil, err
	}
	text, err := record.SummaryOf(run).JSON()
	return &gen.Value{Kind: gen.JSON, B: text}, err
}
