package brunt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"brunt/internal/base/sqltext"
	"brunt/internal/dialect/k6/bind"
	"brunt/internal/dialect/k6/conns"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
)

// database is an open target of one virtual user.
type database struct {
	*conns.Pool
	vu      *bind.VU
	timeout time.Duration // of a request
	cache   map[string]*conns.Request
	closed  bool

	transaction *conns.Link // the connection of the current transaction
	iteration   int64       // the iteration in which it began
	reply       protocol.Reply
}

// answer is the result of a request for a script.
type answer struct {
	columns []string
	rows    [][]sobek.Value
}

// do sends a request and returns its answer. whole says that the rows are needed.
func (d *database) do(what any, list []any, whole bool) (*answer, error) {
	args, err := bind.Values(list)
	if err != nil {
		return nil, protocol.Bad("%v", err)
	}
	a, err := d.asked(what, len(args))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(d.vu.Context(), d.timeout)
	defer cancel()
	out := &answer{}
	d.reply.Each = nil
	if whole {
		d.reply.Each = func(columns []string, values []gen.Value) {
			if len(out.rows) == 0 {
				out.columns = append([]string(nil), columns...)
			}
			row := make([]sobek.Value, len(values))
			for k := range values {
				row[k] = d.vu.Value(&values[k])
			}
			out.rows = append(out.rows, row)
		}
	}
	if failure := conns.Ask(ctx, d.vu, d, d.timeout, a, args, &d.reply); failure != nil {
		return nil, failure
	}
	return out, nil
}

// asked returns the request for what a script passed, from the cache if possible.
func (d *database) asked(what any, params int) (*conns.Request, error) {
	text, isText := what.(string)
	key := fmt.Sprintf("%d %s", params, text)
	if have := d.cache[key]; isText && have != nil {
		return have, nil
	}
	a, err := readRequest(d.Protocol, what, params)
	if err == nil && isText && len(d.cache) < conns.KeptRequests {
		if d.cache == nil {
			d.cache = map[string]*conns.Request{}
		}
		d.cache[key] = a
	}
	return a, err
}

// Take returns the connection for the next request: the transaction's, or one from the pool.
func (d *database) Take(ctx context.Context) (*conns.Link, *protocol.Error) {
	d.forget()
	if d.transaction != nil {
		return d.transaction, nil
	}
	return d.Pool.Take(ctx)
}

// Give returns a connection to the pool, unless a transaction needs it.
func (d *database) Give(l *conns.Link) {
	switch {
	case l != d.transaction:
		d.Pool.Give(l)
	case l.Broken:
		d.transaction = nil
		d.Pool.Give(l)
	}
}

// readRequest reads what to send: a statement, or a request in the form of plans ({command: […]}, {call: …}, {http: …},
// …).
func readRequest(proto string, what any, params int) (*conns.Request, error) {
	fields, ok := what.(map[string]any)
	if text, isText := what.(string); isText {
		fields, ok = shorthand(proto, text), true
	}
	if !ok {
		return nil, fmt.Errorf("what to send isn't a string or an object such as {call: \"name\"}")
	}
	list := slices.Repeat([]any{map[string]any{"type": "Constant", "value": 0}}, params)
	query := map[string]any{}
	maps.Copy(query, fields)
	query["params"] = list
	text, err := bind.JSON(map[string]any{"queries": []any{query}})
	if err != nil {
		return nil, fmt.Errorf("what to send can't be read: %w", err)
	}
	p, err := planfile.Read("", text)
	if err != nil {
		return nil, protocol.Bad("%v", plan.FirstProblem(err))
	}
	op := &p.Operations[0]
	a := &conns.Request{Key: string(text), Request: op.Steps[0].Request}
	if a.Name, ok = fields["name"].(string); !ok {
		a.Name = nameOf(&a.Request)
	}
	a.Params = slices.Repeat([]gen.Kind{gen.Null}, params)
	return a, nil
}

// shorthand returns the request that a text stands for: the words of a command for Redis, a path for HTTP, otherwise
// SQL.
func shorthand(name, text string) map[string]any {
	switch protocols.Of(name).Text {
	case protocol.Command:
		words := []any{}
		for w := range strings.FieldsSeq(text) {
			words = append(words, w)
		}
		return map[string]any{"command": words}
	case protocol.HTTP:
		return map[string]any{"http": text}
	}
	return map[string]any{"sql": text}
}

// nameOf returns the record's name for a request without a name: its verb and its object.
func nameOf(r *protocol.Request) string {
	switch r.Verb {
	case protocol.Command:
		return strings.ToUpper(r.Words[0])
	case protocol.HTTP:
		path, _, _ := strings.Cut(r.Web.Path, "?")
		return r.Web.Method + " " + path
	case protocol.Call:
		return "call " + r.Text
	case protocol.Eval:
		return "eval"
	case protocol.SQL:
		return statementName(r.Text)
	}
	return fmt.Sprintf("request %s", r.Text)
}

// statementName returns a statement's first word and the first table that it names.
func statementName(text string) string {
	first := strings.ToLower(sqltext.FirstWord(text))
	next := false
	for _, t := range sqltext.Split(text) {
		if t.Kind != sqltext.Word && t.Kind != sqltext.Quoted {
			continue
		}
		if next {
			return first + " " + strings.Trim(t.Text, `"`+"`")
		}
		next = t.Is("FROM") || t.Is("INTO") || t.Is("UPDATE") || t.Is("TABLE")
	}
	return first
}
