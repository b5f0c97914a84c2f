// Package kv is shared by the drivers of key-value stores: parsed requests on records, the encoding of records
// as bytes, and sessions on in-process stores.
package kv

import (
	"context"
	"slices"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
)

// Request is a parsed and validated protocol.Request on records. It is immutable.
type Request struct {
	Verb     protocol.Verb // operation on one row: Read, Scan, Insert, Update or Delete
	Table    string
	Fields   []string // fields to write or to return; none: all
	Rows     int      // at least 1; more than 1 in batches only
	PerRow   int      // number of parameters of one row
	Captures []protocol.Capture
	Creates  bool // an insert whose answer must say whether the record is new
}

// Requests holds a session's requests by ID.
type Requests []Request

// Program parses all requests of a program. An error names the request.
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

// Parse parses one request; see protocol.KeyValueAdmin for its form.
func Parse(req *protocol.Request) (Request, *protocol.Error) {
	r := Request{Verb: req.Verb, Table: req.Text, Fields: req.Fields, Rows: 1, Captures: req.Capture,
		Creates: req.Creates != protocol.Unasked}
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
	if r.Creates && r.Verb != protocol.Insert {
		return r, protocol.Bad("creates is for inserts only; remove it")
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

// Check returns an error unless the request takes that many arguments.
func (r *Request) Check(args []gen.Value) *protocol.Error {
	return protocol.Arguments(args, r.Rows*r.PerRow)
}

// Count returns the second argument of a scan: the number of records to return, at least 1.
func Count(args []gen.Value) (int, *protocol.Error) {
	v := &args[1]
	if v.Kind != gen.Int && v.Kind != gen.Uint || v.I < 1 || v.I > 1<<31-1 {
		return 0, protocol.Bad("a scan's count must be a whole number of at least 1")
	}
	return int(v.I), nil
}

// Distinct returns the number of different keys in a batch. Stores answer once for each key.
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

// AppendText appends an argument in the form in which byte-oriented stores keep it.
func AppendText(dst []byte, v *gen.Value) []byte { return template.AppendValue(dst, v) }

// Text returns an argument as a string.
func Text(v *gen.Value) string { return string(AppendText(nil, v)) }

// Wants reports whether the fields of the next record of a reply are needed.
func (r *Request) Wants(reply *protocol.Reply) bool {
	return reply.Rows == 0 && len(r.Captures) > 0 || reply.Each != nil
}

// Capture stores the captured fields of a record in reply. It must be called for the first record of a reply only.
func (r *Request) Capture(reply *protocol.Reply, record Record) {
	for i, c := range r.Captures {
		if c.Kind == gen.Null && record.Own != nil && record.Own(c.Name, &reply.Captured[i]) {
			continue
		}
		if content, ok := record.Field(c.Name); ok {
			template.SetText(&reply.Captured[i], c.Kind, content)
		}
	}
}

// Record is a record that a store has found. Its functions are called only if Request.Wants is true.
type Record struct {
	Key   []byte
	Field func(name string) (content []byte, ok bool)
	Names func() []string // names of the existing fields
	// Own sets v to a field as the store encodes it (gen.Packed), and returns true, if the field has a type that its
	// content alone doesn't tell. Stores whose fields are all bytes have none.
	Own func(name string, v *gen.Value) bool
}

// Take adds a record to reply. It captures values from the first record.
func (r *Request) Take(reply *protocol.Reply, record Record) {
	if reply.Rows == 0 && record.Field != nil {
		r.Capture(reply, record)
	}
	if reply.Each != nil {
		r.tell(reply, &record)
	}
	reply.Rows++
}

// tell passes a record to Reply.Each.
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

// Begin resets a reply for request req of a program and checks the arguments. If the request can't be sent, it
// stores the failure in reply and returns nil.
func (all Requests) Begin(req *protocol.Request, args []gen.Value, reply *protocol.Reply) *Request {
	reply.Reset(len(req.Capture))
	r := &all[req.ID]
	if err := r.Check(args); err != nil {
		reply.Fail(err)
		return nil
	}
	return r
}

// Add prepares a request that isn't part of the program; see protocol.AdHoc.
func (all *Requests) Add(_ context.Context, req *protocol.Request) error {
	r, refused := Parse(req)
	if refused != nil {
		return protocol.Refused(req, "%s", refused.Text)
	}
	*all = protocol.Put(*all, req.ID, r)
	return nil
}
