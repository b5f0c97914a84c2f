// Package protocol is the contract between the engine and the protocols. Each protocol lives in a package of its own
// below this one and knows nothing of plans or reports.
//
// Every protocol gives Dial: a Conn, which a goroutine uses. Those that matter most have a codec as well and
// implement CodecDriver: event loops drive it over the bare socket, and package blocking makes a Conn of the same
// codec.
// The others' connections are well-kept client libraries'.
package protocol

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"time"

	"brunt/internal/gen"
)

// Verb says what a Request asks for.
type Verb uint8

// The verbs. A driver refuses those that its protocol lacks when Dial is called.
const (
	SQL      Verb = iota // Text is a statement with $1… parameters
	Begin                // start a transaction; Text may hold an isolation level
	Commit               //
	Rollback             //
	Call                 // Text is a stored function; parameters are its arguments
	Eval                 // Text is a program for the server; parameters are its arguments
	Select               // Text is "space" or "space.index"; parameters are the key
	Insert               // Text is the table or space; parameters are the tuple or (key, fields…)
	Replace              // as Insert, overwriting
	Update               // Text is the table or space; parameters are (key, fields…)
	Upsert               // as Insert, updating on conflict
	Delete               // Text is the table or space; parameters are the key
	Read                 // Text is the table; parameter is the key
	Scan                 // Text is the table; parameters are the first key and the count
	Command              // a command of words: Words, where "$n" stands for parameter n
	HTTP                 // Web
	Batch                // Text names the verb of its rows, see Request.Rows
)

// Name is the verb as people write it.
func (v Verb) Name() string {
	names := [...]string{"SQL", "BEGIN", "COMMIT", "ROLLBACK", "call", "eval", "select", "insert", "replace", "update",
		"upsert", "delete",
		"read", "scan", "command", "http", "batch"}
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("verb %d", uint8(v))
}

// Request is one thing to send, resolved once before the run and executed many times. It is
// immutable after Dial has seen it.
type Request struct {
	ID      int        // its index in Program.Requests
	Name    string     // for people
	Verb    Verb       //
	Text    string     // see Verb
	Words   []string   // Command: the words; "$1" … stand for parameters, "$$" for a dollar sign
	Fields  []string   // Read, Scan, Insert, Update: the names of the fields, in order
	Web     *Web       // HTTP
	Params  []gen.Kind // the kind of each parameter; nulls may appear anywhere
	Capture []Capture  // values that later statements of the transaction need
	Rows    int        // Batch: how many rows one request carries; its parameters repeat
	Simple  bool       // SQL: send as text without preparing
	// ExpectError says that the server may refuse the statement when it is prepared or checked: it is
	// then sent as text, and fails as often as it is sent.
	ExpectError bool
}

// Capture names one value of a reply: the column's name, or its zero-based number if Name is "".
// The first row is meant.
type Capture struct {
	Name   string
	Column int
	Kind   gen.Kind // what to decode it to; Null means as the server describes it
}

// Web is an HTTP request. Path, header values and Body may hold "$1" … for parameters.
type Web struct {
	Method string
	Path   string      // path and query, as sent in the request line
	Header [][2]string // in the order sent; Host included if it differs from the address
	Body   []byte
	// SecretBody says that the body is never printed or stored.
	SecretBody bool
	// Origin is "scheme://host:port" of a request that doesn't go to the session's own address (RFC
	// 6454); "" means that it does. Only the library tier sends such requests, over connections of
	// the session next to its own.
	Origin string
	// Hash asks the driver to verify the FNV-1a 64 of the reply's body on every HashEvery-th reply.
	Hash      uint64
	HashEvery uint32 // 0 means never
}

// Program is all the requests that a session may send. Sessions prepare what they need from it. It must
// not be copied once sessions use it, nor changed.
type Program struct {
	Requests []Request

	mu     sync.Mutex
	shared map[any]any
}

// Share returns what prepare returned for a driver's key, which must be comparable, the first time, so that
// sessions keep one copy of what doesn't change. It is safe for concurrent use.
func (p *Program) Share(key any, prepare func() any) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	have, ok := p.shared[key]
	if !ok {
		if p.shared == nil {
			p.shared = map[any]any{}
		}
		have = prepare()
		p.shared[key] = have
	}
	return have
}

// Target is one address with its credentials and role.
type Target struct {
	Address        string            // host:port, or a file's path for an embedded database
	User, Password string            // Password is never printed or stored
	Database       string            //
	TLS            *tls.Config       // nil means plain text
	Options        map[string]string // the protocol's own settings, validated by Dial
	ConnectTimeout time.Duration     // 0 means 5 s
}

// ConnectTime is how long opening a session may take.
func (t Target) ConnectTime() time.Duration {
	if t.ConnectTimeout <= 0 {
		return 5 * time.Second
	}
	return t.ConnectTimeout
}

// Connecting bounds ctx by the time that opening a session may take.
func (t Target) Connecting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, t.ConnectTime())
}

// Reply is what a session learns from one request. It is reused: Reset before each use.
type Reply struct {
	Rows     int64       // rows, tuples or elements returned
	Affected int64       // rows changed, where the server says so
	Status   int         // HTTP status; 0 elsewhere
	BytesIn  int64       // size of the answer on the wire, where known
	BadHash  bool        // HTTP: the body's hash was not the one expected
	Missing  bool        // what was to be read, updated or deleted wasn't there; Request.Kind tells which
	Again    bool        // it failed with nothing done, and succeeds in all likelihood if it is sent once more at once
	Unsent   bool        // ctx was over before anything of it was sent
	Reopened bool        // a connection next to the session's own had been lost and was made again
	Captured []gen.Value // one for each of Request.Capture; Null where the reply had no row
	Failure              // what went wrong, if anything; Class OK otherwise
	// Each, unless it is nil, is called with every row of the answer, which is valid during the call only. Event loops
	// don't call it. Of records in key-value stores the first column is the key. Reset keeps it.
	Each func(columns []string, row []gen.Value)
}

// Failure is a classified failure that allocates nothing unless it happens.
type Failure struct {
	Class Class
	Code  string
	Text  string
	Fatal bool // the connection can't be used any more
	// Misdirected says that the node which answered isn't the one that has the key: it refused the request, or named
	// another node. Of replies, it is also true if another node was asked then, and answered well.
	Misdirected bool
}

// Reset prepares r for a request with n captures, keeping buffers.
func (r *Reply) Reset(n int) {
	c := r.Captured
	if cap(c) < n {
		c = make([]gen.Value, n)
	}
	c = c[:n]
	for i := range c {
		c[i].Kind = gen.Null
	}
	*r = Reply{Captured: c, Each: r.Each}
}

// Fail records a failure.
func (r *Reply) Fail(e *Error) {
	r.Failure = Failure{Class: e.Class, Code: e.Code, Text: e.Text, Fatal: e.Fatal, Misdirected: e.Misdirected}
}

// Conn is a connection that blocks. It is used by one goroutine at a time.
type Conn interface {
	// Do executes request req of the Program with args and fills reply, failures included
	// (reply.Failure). It returns when the whole answer has been read, ctx is done, or the
	// connection broke. args are valid only during the call. A request that was sent and not
	// answered fails as Unanswered says, and the server is asked to stop what it does for it, by
	// closing the connection where that suffices. A driver never sleeps or backs off by itself.
	Do(ctx context.Context, req *Request, args []gen.Value, reply *Reply)
	// Close releases the connection; it is safe to call twice.
	Close() error
}

// Driver is one protocol.
type Driver interface {
	// Name is the protocol's name as in the plan ("pg", "iproto", …).
	Name() string
	// Dial opens a session and prepares whatever is worth preparing. An error is an *Error.
	Dial(ctx context.Context, t Target, p *Program) (Conn, error)
	// Describe says what the server is. It opens and closes its own connection.
	Describe(ctx context.Context, t Target) (ServerInfo, error)
}

// ServerInfo is what a server says it is.
type ServerInfo struct {
	Product  string            // "PostgreSQL", "Picodata", "Tarantool", "SQLite", "Redis", …
	Version  string            // "15.8"
	Settings map[string]string // what bears on performance: shared_buffers, fsync, …
}

// Learner is implemented by protocols that don't ask a server what it is before the load, since any request may cost
// it something: they learn that from its answers.
type Learner interface {
	// Learned returns what the server at a target's address has said of itself so far; false if nothing.
	Learned(t Target) (ServerInfo, bool)
}

// Sleep waits for d and reports whether ctx is still alive.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Routed is implemented by protocols whose requests may belong to certain addresses, whichever session
// sends them.
type Routed interface {
	// Router returns what knows where requests belong, or nil if all nodes serve every request. It may have
	// nodes join that it learns of.
	Router(nodes *Nodes, p *Program) Router
}

// Router says which address of a fleet a request belongs to. All sessions of a fleet share it: its
// methods are safe for concurrent use. Addresses are numbers of nodes, from 0.
type Router interface {
	// Refresh asks the servers who serves what. It is called from goroutines, never from a loop: before
	// the first connection, and when something seems to have moved.
	Refresh(ctx context.Context) error
	// Serves reports whether any request belongs to an address; others needn't be connected.
	Serves(address int) bool
	// Route returns the address that a request belongs to; ok is false if it may go to any. It takes
	// no lock and allocates nothing.
	Route(req *Request, args []gen.Value) (address int, ok bool)
	// Redirect reads a failure by which a server names the address to ask instead: for this request
	// only, in the way of protocol.Asker, if ask; else it takes note. redirects is how often the operation has
	// been sent on already. ok is false if the failure says nothing of the kind, or names a server that
	// isn't among the targets, or if enough is enough.
	Redirect(f *Failure, redirects int) (address int, ask, ok bool)
}

// Places is a Router for requests that name their addresses: the number of the target that each goes
// to, by Request.ID, or −1 if it may go to any.
type Places []int

var _ Router = Places(nil)

// Refresh does nothing: names don't change.
func (Places) Refresh(context.Context) error { return nil }

// Serves returns true.
func (Places) Serves(int) bool { return true }

// Route returns the target that the request names.
func (p Places) Route(req *Request, _ []gen.Value) (address int, ok bool) {
	return p[req.ID], p[req.ID] >= 0
}

// Redirect knows of no other address.
func (Places) Redirect(*Failure, int) (address int, ask, ok bool) { return 0, true, false }
