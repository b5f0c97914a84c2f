// Package kv is what the drivers of key-value stores share: requests on records understood once,
// records as bytes, and sessions on stores inside the process.
package kv

import (
	"context"
	"slices"
	"strings"

	"brunt/internal/gen"
	"brunt/internal/protocol"
	"brunt/internal/template"
)

// Request is a protocol.Request on records, checked and understood. It is immutable.
type Request struct {
	Verb     protocol.Verb // of one row: Read, Scan, Insert, Update or Delete
	Table    string
	Fields   []string // written, or to be returned; none: all
	Rows     int      // at least 1; more than 1 in batches only
	PerRow   int      // parameters of one row
	Captures []protocol.Capture
}

// Requests are those that a session knows, by ID.
type Requests []Request

// Program understands all requests of a program. The error names the request.
func Program(p *protocol.Program) (Requests, *protocol.Error) {
	all := make(Requests, len(p.Requests))
	for i := range p.Requests {
		r, err := Parse(&p.Requests[i])
		if err != nil {
			return nil, protocol.Bad("request %q: %s", p.Requests[i].Name, err.Text)
		}
		all[i] = r
	}
	return all, nil
}

// Parse understands one request (see protocol.KeyValueAdmin for its form).
func Parse(req *protocol.Request) (Request, *protocol.Error) {
	r := Request{Verb: req.Verb, Table: req.Text, Fields: req.Fields, Rows: 1, Captures: req.Capture}
	if req.Verb == protocol.Batch {
		verb, table, ok := strings.Cut(req.Text, " ")
		known := map[string]protocol.Verb{"read": protocol.Read, "insert": protocol.Insert, "update": protocol.Update,
			"delete": protocol.Delete}
		r.Verb, ok = known[verb], ok && known[verb] != 0
		if !ok || req.Rows < 1 {
			return r, protocol.Bad(
				"a batch is read, insert, update or delete, a space and the table, of at least one row; not %q of %d", req.Text,
				req.Rows)
		}
		r.Table, r.Rows = table, req.Rows
	}
	switch r.Verb {
	case protocol.Read, protocol.Delete:
		r.PerRow = 1
	case protocol.Scan:
		r.PerRow = 2
	case protocol.Insert, protocol.Update:
		r.PerRow = 1 + len(r.Fields)
		if len(r.Fields) == 0 {
			return r, protocol.Bad("no fields to write")
		}
	default:
		return r, protocol.Bad("a key-value store takes read, scan, insert, update, delete and batches of them")
	}
	if r.Table == "" {
		return r, protocol.Bad("no table given")
	}
	if len(req.Params) != 0 && len(req.Params) != r.Rows*r.PerRow {
		return r, protocol.Bad("%d parameters where there must be %d", len(req.Params), r.Rows*r.PerRow)
	}
	return r, r.checkCaptures()
}

func (r *Request) checkCaptures() *protocol.Error {
	if len(r.Captures) > 0 && r.Verb != protocol.Read && r.Verb != protocol.Scan {
		return protocol.Bad("only reads and scans return fields to capture")
	}
	for _, c := range r.Captures {
		if c.Name == "" || len(r.Fields) > 0 && !slices.Contains(r.Fields, c.Name) {
			return protocol.Bad("capture %q isn't among the fields that are read", c.Name)
		}
	}
	return nil
}

// Check says whether args are as many as the request takes.
func (r *Request) Check(args []gen.Value) *protocol.Error {
	return protocol.Arguments(args, r.Rows*r.PerRow)
}

// Count is the second argument of a scan: how many records it asks for, at least 1.
func Count(args []gen.Value) (int, *protocol.Error) {
	v := &args[1]
	if v.Kind != gen.Int && v.Kind != gen.Uint || v.I < 1 || v.I > 1<<31-1 {
		return 0, protocol.Bad("a scan's count must be a whole number of at least 1")
	}
	return int(v.I), nil
}

// Distinct is how many different keys the rows of a batch name; stores answer for each key once.
func (r *Request) Distinct(args []gen.Value) int64 {
	if r.Rows == 1 {
		return 1
	}
	keys := make(map[string]bool, r.Rows)
	for row := range r.Rows {
		keys[Text(&args[row*r.PerRow])] = true
	}
	return int64(len(keys))
}

// AppendText appends an argument as stores of bytes keep it.
func AppendText(dst []byte, v *gen.Value) []byte { return template.AppendValue(dst, v) }

// Text is an argument as a string.
func Text(v *gen.Value) string { return string(AppendText(nil, v)) }

// Wants reports whether the content of the next record of a reply is asked for.
func (r *Request) Wants(reply *protocol.Reply) bool {
	return reply.Rows == 0 && len(r.Captures) > 0 || reply.Each != nil
}

// Capture gives reply the captured fields of a record; value finds a field's content. Only the
// first record of a reply is to be given.
func (r *Request) Capture(reply *protocol.Reply, value func(field string) (content []byte, ok bool)) {
	for i, c := range r.Captures {
		if content, ok := value(c.Name); ok {
			template.SetText(&reply.Captured[i], c.Kind, content)
		}
	}
}

// Record is a record that a store has found. Fields are called only if the request Wants them.
type Record struct {
	Key   []byte
	Field func(name string) (content []byte, ok bool)
	Names func() []string // of the fields that are there
}

// Take adds a record to reply, and captures from it if it is the first.
func (r *Request) Take(reply *protocol.Reply, record Record) {
	if reply.Rows == 0 && record.Field != nil {
		r.Capture(reply, record.Field)
	}
	if reply.Each != nil {
		r.tell(reply, &record)
	}
	reply.Rows++
}

// tell gives a record to who asked for each.
func (r *Request) tell(reply *protocol.Reply, record *Record) {
	names := r.Fields
	if len(names) == 0 {
		names = record.Names()
	}
	columns := append([]string{"key"}, names...)
	row := make([]gen.Value, len(columns))
	row[0] = gen.Value{Kind: gen.String, B: record.Key}
	for i, name := range names {
		if content, ok := record.Field(name); ok {
			row[i+1] = gen.Value{Kind: gen.String, B: content}
		}
	}
	reply.Each(columns, row)
}

// Begin resets a reply for request req of a program and checks the arguments. It returns nil,
// with the failure in reply, if the request can't be sent.
func (all Requests) Begin(req *protocol.Request, args []gen.Value, reply *protocol.Reply) *Request {
	reply.Reset(len(req.Capture))
	r := &all[req.ID]
	if err := r.Check(args); err != nil {
		reply.Fail(err)
		return nil
	}
	return r
}

// Add makes a request ready that isn't part of the program; see protocol.AdHoc.
func (all *Requests) Add(_ context.Context, req *protocol.Request) error {
	r, refused := Parse(req)
	if refused != nil {
		return protocol.Refused(req, "%s", refused.Text)
	}
	*all = protocol.Put(*all, req.ID, r)
	return nil
}
