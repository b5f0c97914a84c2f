package jmeter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// jdbcSession is what a thread knows of its connection to a database, and the sample under way.
type jdbcSession struct {
	open    bool // a transaction is open
	failed  bool // … and a statement of it has failed
	limited bool // a time limit of statements was set
	timeout int  // the limit, in seconds; −1: unknown

	before []string    // statements that are sent before the sample's own
	query  string      // the sample's own
	begins bool        // it begins a transaction
	args   []gen.Value // of the sample's own
	values []gen.Value // of its parameters
	other  gen.Value   // the text of a statement that isn't the sample's own
	stage  jdbcStage
	table  string // what the sample's own statement returned
	asks   bool   // the parameters that the database has set are asked for then
}

// jdbcStage says which statement of a sample is in flight.
type jdbcStage uint8

const (
	beforeStage jdbcStage = iota
	ownStage
	afterStage // asks for the parameters that the database has set
)

// sendSQL begins a sample.
func (t *thread) sendSQL() script.Step {
	j := t.leaf.s.jdbc
	r := &result{label: t.label, url: "null", kind: "text", start: t.program.now()}
	t.total = r
	q := &t.sql
	q.before, q.stage, q.table, q.asks, q.begins = q.before[:0], beforeStage, "", false, false
	query, raw, err := j.query, j.raw, error(nil)
	if j.changes != nil {
		raw = j.changes.eval(t)
		query, _, err = j.statement(raw)
	}
	q.query = query
	line := j.args.eval(t)
	r.requestBody = "[" + j.said + "] " + raw + "\n" + line + "\n" + j.types
	if err == nil {
		q.values, err = j.arguments(line, q.values)
	}
	if err != nil {
		return t.unsentSQL(err)
	}
	q.asks = j.outs() && !j.source.postgres && !strings.HasPrefix(query, "select ")
	q.args = q.args[:0]
	if j.changes != nil {
		q.add().SetString(query)
	}
	for i := range q.values {
		switch p := &j.params[i]; {
		case p.given(j.source):
			q.add().Set(&q.values[i])
		case p.in:
			q.before = append(q.before, "set "+outVariable(i+1)+" = "+literal(&q.values[i]))
		}
	}
	if done, failure := t.transact(j); failure != nil || done {
		if failure != nil {
			return t.unsentSQL(failure)
		}
		return t.finishSQL(&protocol.Reply{}, j.said)
	}
	return t.nextSQL()
}

// given reports whether a parameter is one of the statement that is sent.
func (p *jdbcParameter) given(d *dataSource) bool { return p.in && (d.postgres || !p.out) }

// add appends an argument, reusing its buffer.
func (q *jdbcSession) add() *gen.Value {
	if n := len(q.args); n < cap(q.args) {
		q.args = q.args[:n+1]
	} else {
		q.args = append(q.args, gen.Value{})
	}
	return &q.args[len(q.args)-1]
}

// transact adds what must be sent before a statement: the beginning of its transaction, and its time limit. done says
// that the sample sends nothing.
func (t *thread) transact(j *jdbcRequest) (done bool, failure error) {
	q, d := &t.sql, j.source
	if j.kind == manualKind || j.kind == automaticKind && !d.manual {
		return true, nil // the pool sets it again before each sample
	}
	if !d.postgres {
		return false, nil
	}
	ends := j.kind == commitKind || j.kind == rollbackKind || j.kind == automaticKind
	if d.manual && q.failed && d.isolated && q.open {
		q.before = append(q.before, rollbackKind) // the pool takes another connection
		q.open = false
	}
	switch {
	case ends && !d.manual:
		return false, &sampleError{"25P01 0", "there is no transaction to end: auto commit is on"}
	case ends && !q.open && len(q.before) == 0:
		return true, nil
	case ends:
		return false, nil
	}
	if limit := max(j.timeout, 0); limit != q.timeout && (limit > 0 || q.timeout != 0) {
		to := "default"
		if limit > 0 {
			to = strconv.Itoa(limit * 1000)
		}
		q.before = append(q.before, "set statement_timeout to "+to)
		q.limited, q.timeout = true, limit
		if q.open { // a rollback undoes it
			q.timeout = -1
		}
	}
	if q.begins = d.manual && !q.open; q.begins && j.changes != nil && j.prepared() {
		q.before, q.begins = append(q.before, "begin"), false
	}
	return false, nil
}

// unsentSQL ends a sample whose statement can't be sent.
func (t *thread) unsentSQL(err error) script.Step {
	r := t.total
	r.end, r.code, r.message = r.start, "000", err.Error()
	if a, ok := errors.AsType[*sampleError](err); ok {
		r.code = a.code
	}
	r.body, r.unpacked = []byte(r.message), true
	r.bytes = int64(len(r.body))
	t.finish(r)
	return t.ends(r)
}

// nextSQL sends the next statement of the sample.
func (t *thread) nextSQL() script.Step {
	q, s := &t.sql, t.leaf.s
	if len(q.before) > 0 {
		text := q.before[0]
		q.before = q.before[:copy(q.before, q.before[1:])]
		return t.otherSQL(text, beforeStage)
	}
	request := s.request
	switch {
	case q.begins && s.jdbc.prepared():
		request = s.begin
	case q.begins:
		step := t.otherSQL("begin; "+q.query, ownStage)
		step.Last = true
		return step
	}
	q.stage = ownStage
	return script.Step{Move: script.Send, Request: request, Args: q.args, Last: !q.asks}
}

// otherSQL sends a statement that isn't the sample's own.
func (t *thread) otherSQL(text string, stage jdbcStage) script.Step {
	q := &t.sql
	q.stage = stage
	q.other.SetString(text)
	return script.Step{Move: script.Send, Request: t.leaf.s.other, Args: []gen.Value{q.other}}
}

// answeredSQL continues with an answer.
func (t *thread) answeredSQL(reply *protocol.Reply) script.Step {
	q, j := &t.sql, t.leaf.s.jdbc
	q.open = reply.InBlock
	q.failed = q.open && reply.Class != protocol.OK
	if q.limited && (q.failed || reply.Fatal || j.kind == rollbackKind) {
		q.timeout = -1
	}
	if reply.Fatal {
		q.open, q.failed = false, false
	}
	switch {
	case reply.Class != protocol.OK || reply.Fatal:
		return t.finishSQL(reply, "")
	case q.stage == beforeStage:
		return t.nextSQL()
	case q.stage == afterStage:
		return t.finishSQL(reply, q.table+t.outputs(j, reply))
	}
	text, failure := t.told(j, reply)
	if failure != nil {
		state, code, _ := strings.Cut(failure.code, " ")
		reply.Fail(&protocol.Error{Class: protocol.Server, State: state, Code: code, Text: failure.text})
		return t.finishSQL(reply, "")
	}
	if q.asks {
		q.table = text
		var names []string
		for i, p := range j.params {
			if p.out {
				names = append(names, outVariable(i+1))
			}
		}
		return t.otherSQL("select "+strings.Join(names, ", "), afterStage)
	}
	return t.finishSQL(reply, text)
}

// finishSQL ends a sample with an answer and its text.
func (t *thread) finishSQL(reply *protocol.Reply, text string) script.Step {
	r := t.total
	r.end = t.program.now()
	r.latency = r.elapsed()
	if reply.Class == protocol.OK {
		r.code, r.message, r.success = "200", "OK", true
	} else {
		r.code, r.message, text = sqlCode(&reply.Failure), reply.Text, reply.Text
	}
	r.body, r.unpacked = []byte(text), true
	r.bytes = int64(len(r.body))
	t.finish(r)
	step := script.Step{Failure: reply.Failure}
	if r.success && reply.Class != protocol.OK {
		step.Failure = protocol.Failure{Fatal: reply.Fatal}
	}
	if !r.success && reply.Class == protocol.OK {
		step = t.ends(r)
		step.Failure.Fatal = reply.Fatal
	}
	return step
}

// sqlCode is a failure's code as JMeter has it: the SQLSTATE and the server's own number, 0 without one.
func sqlCode(f *protocol.Failure) string {
	if f.State != "" {
		return f.State + " " + f.Code
	}
	return f.Code + " 0"
}

// The failures of statements that return something else than their kind says.
const (
	withoutRows = "the statement returned no rows; make it an update statement"
	withRows    = "the statement returned rows; make it a select statement"
)

// told returns the text of an answer, and sets the variables that it gives values to.
func (t *thread) told(j *jdbcRequest, reply *protocol.Reply) (text string, failure *sampleError) {
	noRows, rows := &sampleError{"null 0", withoutRows}, &sampleError{"HY000 -1", withRows}
	if j.source.postgres {
		noRows.code, rows.code = "02000 0", "0100E 0"
	}
	values := reply.Captured
	var b strings.Builder
	switch j.kind {
	case commitKind, rollbackKind, automaticKind:
		return j.said, nil
	case selectKind, preparedSelectKind:
		for i := range reply.Results {
			if res := &reply.Results[i]; res.Columns != nil {
				t.table(&b, j, res, values)
				return b.String(), nil
			}
		}
		return "", noRows
	case updateKind, preparedUpdateKind:
		for i := range reply.Results {
			if reply.Results[i].Columns != nil {
				return "", rows
			}
		}
		if j.kind == updateKind {
			return strconv.FormatInt(reply.Affected, 10) + " updates", nil
		}
		return strconv.FormatInt(reply.Affected, 10) + " updates.\n", nil
	}
	asked := j.outs() && !t.sql.asks // the rows are the parameters
	for i := range reply.Results {
		switch res := &reply.Results[i]; {
		case asked:
		case res.Columns != nil:
			t.table(&b, j, res, values)
			b.WriteByte('\n')
			values = values[res.Captured*len(res.Columns):]
		case !j.source.postgres:
			fmt.Fprintf(&b, "%d updates.\n", res.Affected)
		}
	}
	if asked || b.Len() == 0 {
		b.WriteString("-1 updates.\n")
	}
	b.WriteString("Output variables by position:\n")
	if asked {
		b.WriteString(t.outputs(j, reply))
	}
	return b.String(), nil
}

// outputs returns the parameters that the database has set, which are the first row of the answer, as text, and sets
// variables to them.
func (t *thread) outputs(j *jdbcRequest, reply *protocol.Reply) string {
	var b strings.Builder
	names := strings.Split(j.names.eval(t), ",")
	k := 0
	for i, p := range j.params {
		if !p.out {
			continue
		}
		text, null := "null", true
		if len(reply.Results) > 0 && k < len(reply.Results[0].Columns) && k < len(reply.Captured) {
			v := &reply.Captured[k]
			text, null = javaText(v, reply.Results[0].Types[k]), v.Kind == gen.Null
		}
		fmt.Fprintf(&b, "[%d] %s\n", i+1, text)
		if k < len(names) && strings.TrimSpace(names[k]) != "" {
			t.setVariable(strings.TrimSpace(names[k]), text, null)
		}
		k++
	}
	return b.String()
}

func (t *thread) setVariable(name, value string, null bool) {
	if null {
		delete(t.vars, name)
		return
	}
	t.vars[name] = value
}
