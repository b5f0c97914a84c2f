// Package brunt is the JavaScript module k6/x/brunt. It gives scripts every protocol that brunt supports, and runs
// whole plans. All virtual users share connections; a transaction has a connection of its own.
package brunt

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/modules"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/dialect/k6/conns"
	"brunt/internal/dialect/k6/native"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/dialect/picostress/summary"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

var errClosed = errors.New("the database is closed")

// statement reads the arguments that say what to send, and its parameters.
func (d *database) statement(a *bind.Args) (what any, params []any) {
	switch x := a.Plain(0).(type) {
	case string, map[string]any:
		what = x
	default:
		a.Fault(0, "what to send", `a statement, or an object such as {call: "name"}`)
	}
	params = a.ListOr(1, "the parameters")
	if d.closed {
		a.Failf("%v", errClosed)
	}
	return what, params
}

// exec(what, parameters) sends a request and returns {affected, rows, missing, status}.
func (d *database) exec(a *bind.Args) (any, error) {
	what, params := d.statement(a)
	if err := a.Err(); err != nil {
		return nil, err
	}
	return d.change(what, params)
}

func (d *database) change(what any, params []any) (any, error) {
	if _, err := d.do(what, params, false); err != nil {
		return nil, err
	}
	o := d.vu.Runtime().NewObject()
	_ = o.Set("affected", d.reply.Affected)
	_ = o.Set("rows", d.reply.Rows)
	_ = o.Set("missing", d.reply.Missing)
	_ = o.Set("status", d.reply.Status)
	return o, nil
}

// query(what, parameters, {rows: "array"}) sends a request and returns its rows: objects with the column names as keys,
// or arrays.
func (d *database) query(a *bind.Args) (any, error) {
	what, params := d.statement(a)
	arrays := rowsAsArrays(a, 2)
	if err := a.Err(); err != nil {
		return nil, err
	}
	return d.rows(what, params, arrays)
}

func rowsAsArrays(a *bind.Args, at int) bool {
	form := a.Settings(at, "the options", "rows").Text("rows", "object")
	if form != "object" && form != "array" {
		a.Failf(`the options: "rows" is %q; give "object" or "array"`, form)
	}
	return form == "array"
}

func (d *database) rows(what any, params []any, arrays bool) (any, error) {
	out, err := d.do(what, params, true)
	if err != nil {
		return nil, err
	}
	list := make([]any, len(out.rows))
	for i, row := range out.rows {
		if arrays {
			items := make([]any, len(row))
			for k := range row {
				items[k] = row[k]
			}
			list[i] = d.vu.Runtime().NewArray(items...)
			continue
		}
		o := d.vu.Runtime().NewObject()
		for k := range row {
			_ = o.Set(out.columns[k], row[k])
		}
		list[i] = o
	}
	return d.vu.Runtime().NewArray(list...), nil
}

// prepare(what) returns a statement with exec(parameters) and query(parameters). Each connection prepares it when it is
// first used there.
func (d *database) prepare(a *bind.Args) (any, error) {
	what, _ := d.statement(a)
	if err := a.Err(); err != nil {
		return nil, err
	}
	params := func(a *bind.Args) []any {
		if d.closed {
			a.Failf("%v", errClosed)
		}
		return a.ListOr(0, "the parameters")
	}
	return d.vu.Object("statement", map[string]bind.Func{
		"exec": func(a *bind.Args) (any, error) {
			list := params(a)
			if err := a.Err(); err != nil {
				return nil, err
			}
			return d.change(what, list)
		},
		"query": func(a *bind.Args) (any, error) {
			list, arrays := params(a), rowsAsArrays(a, 1)
			if err := a.Err(); err != nil {
				return nil, err
			}
			return d.rows(what, list, arrays)
		},
	}), nil
}

// begin(isolation) starts a transaction. Requests go over its connection until commit or rollback.
func (d *database) begin(a *bind.Args) (any, error) {
	level := a.TextOr(0, "the isolation level", "")
	if d.closed {
		a.Failf("%v", errClosed)
	}
	if d.forget(); d.transaction != nil {
		a.Failf("a transaction is under way; commit or rollback it first")
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(d.vu.Context(), d.timeout)
	defer cancel()
	l, failure := d.Pool.Take(ctx)
	if failure != nil {
		d.vu.Rest(ctx, d.Rest())
		return nil, failure
	}
	if err := d.frame(ctx, l, protocol.Begin, "begin", level); err != nil {
		d.Pool.Give(l)
		return nil, err
	}
	d.transaction, d.iteration = l, d.now()
	return sobek.Undefined(), nil
}

// frame sends the request that begins or ends a transaction. The record doesn't count it as an operation.
func (d *database) frame(ctx context.Context, l *conns.Link, verb protocol.Verb, name, text string) error {
	asked := &conns.Request{Key: name + " " + text, Request: protocol.Request{Name: name, Verb: verb, Text: text}}
	r, failure := l.Ready(ctx, asked)
	if failure != nil {
		return failure
	}
	var reply protocol.Reply
	l.Conn.Do(ctx, r, nil, &reply)
	l.Broken = l.Broken || reply.Fatal
	if failure := reply.Err(); failure != nil {
		return fmt.Errorf("%s: %w", name, failure)
	}
	return nil
}

// end implements commit() and rollback().
func (d *database) end(verb protocol.Verb, name string) (any, error) {
	if d.forget(); d.transaction == nil {
		return nil, protocol.Bad(
			"%s: no transaction is under way: it never began in this iteration, or its connection was lost", name)
	}
	ctx, cancel := context.WithTimeout(d.vu.Context(), d.timeout)
	defer cancel()
	l := d.transaction
	d.transaction = nil
	err := d.frame(ctx, l, verb, name, "")
	if err != nil && verb == protocol.Commit && !l.Broken {
		l.Broken = d.frame(ctx, l, protocol.Rollback, "rollback", "") != nil
	}
	d.Pool.Give(l)
	return sobek.Undefined(), err
}

// now returns the number of the current iteration, −1 outside of iterations.
func (d *database) now() int64 {
	if s := d.vu.State(); s != nil {
		return s.Iteration
	}
	return -1
}

// forget rolls back a transaction that an earlier iteration left open.
func (d *database) forget() {
	if d.transaction == nil || d.iteration == d.now() {
		return
	}
	ctx, cancel := context.WithTimeout(d.vu.Context(), d.timeout)
	defer cancel()
	l := d.transaction
	d.transaction = nil
	if err := d.frame(ctx, l, protocol.Rollback, "rollback", ""); err != nil && !errors.Is(err, errClosed) {
		l.Broken = true
	}
	d.Pool.Give(l)
}

// close() ends this virtual user's use. The connections are shared, and are closed after the run.
func (d *database) close(*bind.Args) (any, error) {
	if d.closed {
		return nil, nil
	}
	if l := d.transaction; l != nil {
		d.iteration = -2 // no iteration, so that forget rolls it back
		d.forget()
	}
	d.closed = true
	return nil, nil
}

// New returns the module.
func New(s *session.Session) modules.Module {
	return bind.Module(s, func(vu *bind.VU) *sobek.Object {
		i := &instance{vu: vu}
		functions := map[string]bind.Func{"open": i.open, "runPlan": i.runPlan}
		maps.Copy(functions, bind.Types())
		return vu.Object("brunt", functions)
	})
}

// instance is the module of one virtual user.
type instance struct{ vu *bind.VU }

// open(target) returns a database. Connections are opened when they are needed.
func (i *instance) open(a *bind.Args) (any, error) {
	t := readTarget(a)
	if err := a.Err(); err != nil {
		return nil, err
	}
	pool, err := t.pool(i.vu.Session)
	if err != nil {
		return nil, err
	}
	d := &database{Pool: pool, vu: i.vu, timeout: t.timeout}
	return i.vu.Object("db", map[string]bind.Func{
		"exec": d.exec, "query": d.query, "prepare": d.prepare,
		"begin": d.begin, "close": d.close,
		"commit":   func(*bind.Args) (any, error) { return d.end(protocol.Commit, "commit") },
		"rollback": func(*bind.Args) (any, error) { return d.end(protocol.Rollback, "rollback") },
	}), nil
}

// runPlan(file) runs a plan on brunt's engine as part of this run. It returns the result in the format of Picostress'
// summaries.
func (i *instance) runPlan(a *bind.Args) (any, error) {
	file := a.Text(0, "the plan's file")
	if err := a.Err(); err != nil {
		return nil, err
	}
	run, err := native.Run(i.vu.Context(), i.vu.Session, native.Plan{File: file})
	if err != nil || run == nil {
		return nil, err
	}
	text, err := summary.Of(run).JSON()
	return &gen.Value{Kind: gen.JSON, B: text}, err
}
