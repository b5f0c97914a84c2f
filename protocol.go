package brunt

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
	"brunt/internal/protocol/own"
	"brunt/internal/protocol/protocols"
)

// Protocol is a protocol that brunt doesn't come with. Its methods are called concurrently.
type Protocol interface {
	// Connect opens a session: usually one connection, authenticated and ready. ctx ends when the time for it is up.
	Connect(ctx context.Context, t Target) (Session, error)
	// Classify says of which class an error of Connect or of Do is. It isn't called for a *Failure, nor for errors of a
	// context whose time is up.
	Classify(err error) Failure
}

// Session is a connection. One request at a time is in progress on it.
type Session interface {
	// Do sends a request and returns when its whole answer has been read, or soon after ctx is done. It is an error to
	// return neither a reply nor an error. If it ignores the end of ctx, its session is closed, and a new one is opened.
	Do(ctx context.Context, r *Request) (*Reply, error)
	// Close releases the connection. It is called once, also while a Do that ignores its context is in progress.
	Close() error
}

// Target is where a session connects to.
type Target struct {
	Address        string // as in the plan: host:port, or what the protocol understands
	User, Password string
	Database       string
	Options        map[string]string // the target's options of the plan
}

// Request is what a plan, a script or a workload asks for. Which fields are set depends on the Verb, which is named as
// in plans.
type Request struct {
	Name string // of the query in the plan, for messages
	// Verb is "command" (Words), "call", "eval" or "sql" (Text and Args), or a verb of records: "read", "scan", "insert",
	// "replace", "update", "upsert" and "delete" (Text is the table; Args are the key and the values of Fields).
	Verb   string
	Text   string
	Words  []string // of a command, with the values of its parameters in place
	Args   []any    // nil, bool, int64, uint64, float64, string, []byte or time.Time
	Fields []string // names of the values, if the plan has them
}

// Reply is the outcome of a request that succeeded.
type Reply struct {
	Columns  []string // names of the values of a row; may be nil
	Rows     [][]any  // returned rows: what scripts see, and later statements of an operation use
	Affected int64    // number of changed records
	Missing  bool     // the record to read, change or delete wasn't there
	Bytes    int64    // size of the answer on the wire, if known
}

// Register makes a protocol known by a name: to plans, scripts, campaigns and workers of programs that call Main of the
// package brunt/command, and to the plans of this package. It is usually called by an init function. A name has
// lower-case letters, digits, +, - and . only. If it is wrong or taken, no load is sent: commands and Run return an
// error that says where it was registered.
func Register(name string, p Protocol) {
	place := "an unknown place"
	if _, file, line, ok := runtime.Caller(1); ok {
		place = fmt.Sprintf("%s:%d", file, line)
	}
	if p == nil {
		protocols.Fault(fmt.Errorf("protocol %s, registered at %s: it is nil", name, place))
		return
	}
	err := protocols.Register(protocol.Declaration{Names: []string{name}, Open: func() protocol.Driver {
		connect := func(ctx context.Context, t protocol.Target) (own.Session, error) { return open(ctx, p, t) }
		return own.New(name, "protocol "+name, connect, nil)
	}})
	if err != nil {
		protocols.Fault(fmt.Errorf("%w (registered at %s)", err, place))
	}
}

// open opens a session of a protocol.
func open(ctx context.Context, p Protocol, t protocol.Target) (own.Session, error) {
	s, err := p.Connect(ctx, Target{Address: t.Address, User: t.User, Password: t.Password, Database: t.Database,
		Options: t.Options})
	if err != nil {
		return nil, failureOf(ctx, nil, err, p.Classify)
	}
	if s == nil {
		return nil, nil
	}
	return &session{Session: s, protocol: p, words: map[*protocol.Request][]template.Template{}}, nil
}

// session is a Session in the form that the engine drives.
type session struct {
	Session
	protocol Protocol
	words    map[*protocol.Request][]template.Template // of commands
}

// mostCommands limits how many commands of scripts a session keeps in a parsed form.
const mostCommands = 1000

// command returns the words of a command with their parameters in place.
func (s *session) command(r *protocol.Request, args []gen.Value) ([]string, error) {
	words, ready := s.words[r]
	if !ready {
		for _, w := range r.Words {
			t, err := template.Parse(w, len(r.Params))
			if err != nil {
				return nil, err
			}
			words = append(words, t)
		}
		if len(s.words) >= mostCommands {
			clear(s.words)
		}
		s.words[r] = words
	}
	out := make([]string, len(words))
	for i := range words {
		out[i] = string(words[i].Plain(nil, args))
	}
	return out, nil
}

// Do implements own.Session.
func (s *session) Do(ctx context.Context, r *protocol.Request, args []gen.Value, reply *own.Reply) {
	request := &Request{Name: r.Name, Verb: strings.ToLower(r.Verb.Name()), Text: r.Text, Fields: r.Fields}
	if r.Verb == protocol.Command {
		var err error
		if request.Words, err = s.command(r, args); err != nil {
			reply.Fail(protocol.Refused(r, "%v", err))
			return
		}
	}
	for i := range args {
		request.Args = append(request.Args, anyOf(&args[i]))
	}
	got, err := s.Session.Do(ctx, request)
	switch {
	case err != nil:
		reply.Fail(failureOf(ctx, r, err, s.protocol.Classify))
	case got == nil:
		reply.Fail(&protocol.Error{Class: protocol.Client, Code: own.CodeSilent, Fatal: true,
			Text: "the protocol returned neither a reply nor an error"})
	default:
		got.fill(r, reply)
	}
}

// fill sets the reply to a request.
func (g *Reply) fill(r *protocol.Request, reply *own.Reply) {
	reply.Affected, reply.BytesIn, reply.Missing = g.Affected, g.Bytes, g.Missing
	reply.Rows = int64(len(g.Rows))
	reply.Columns = g.Columns
	for _, row := range g.Rows {
		values := make([]gen.Value, len(row))
		for i := range row {
			if !values[i].SetAny(row[i]) {
				values[i].SetString(fmt.Sprint(row[i]))
			}
		}
		reply.Values = append(reply.Values, values)
	}
	for i, c := range r.Capture {
		at := c.Column
		for k := range g.Columns {
			if c.Name != "" && g.Columns[k] == c.Name {
				at = k
			}
		}
		if len(reply.Values) > 0 && at < len(reply.Values[0]) {
			reply.Captured[i].Set(&reply.Values[0][at])
		}
	}
}

// anyOf returns a value as Go has it. It shares no memory with v.
func anyOf(v *gen.Value) any {
	switch v.Kind {
	case gen.Bytes, gen.Packed:
		return bytes.Clone(v.B)
	case gen.UUID:
		return string(v.AppendText(nil))
	}
	return v.Any()
}
