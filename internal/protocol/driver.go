package protocol

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol/socket"
	"brunt/internal/render/message"
)

// Verb is the operation that a Request asks for.
type Verb uint8

// The verbs. Dial fails if a program has a verb that the protocol lacks.
const (
	SQL   Verb = iota // Text is a statement with $1… parameters
	Begin             // start a transaction; Text may hold an isolation level
	Commit
	Rollback
	Call    // Text is a stored function; the parameters are its arguments
	Eval    // Text is a program for the server; the parameters are its arguments
	Select  // Text is "space" or "space.index"; the parameters are the key
	Insert  // Text is the table or space; the parameters are the tuple or (key, fields…)
	Replace // as Insert, overwriting
	Update  // Text is the table or space; the parameters are (key, fields…)
	Upsert  // as Insert, updating on conflict
	Delete  // Text is the table or space; the parameters are the key
	Read    // Text is the table; the parameter is the key
	Scan    // Text is the table; the parameters are the first key and the count
	Command // Words is the command; "$n" stands for parameter n
	HTTP    // Web is the request
	Batch   // Text names the verb of the rows, see Request.Rows
	GRPC    // RPC is the call
)

// Name returns the verb's name as users write it.
func (v Verb) Name() string {
	names := [...]string{"SQL", "BEGIN", "COMMIT", "ROLLBACK", "call", "eval", "select", "insert", "replace", "update",
		"upsert", "delete",
		"read", "scan", "command", "http", "batch", "grpc"}
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("verb %d", uint8(v))
}

// Request is one request of a program. It is resolved once before the run and executed many times. It must not
// change after it has been passed to Dial.
type Request struct {
	ID      int    // its index in Program.Requests
	Name    string // for messages
	Verb    Verb
	Text    string     // see Verb
	Words   []string   // Command: the words; "$1" … stand for parameters, "$$" for a dollar sign
	Fields  []string   // Read, Scan, Insert, Update: the names of the fields, in order
	Web     *Web       // HTTP
	RPC     *RPC       // GRPC
	Params  []gen.Kind // kind of each parameter; any parameter may also be null
	Capture []Capture  // values that later statements of the transaction need
	Rows    int        // Batch: number of rows in one request; the parameters repeat for each row
	Simple  bool       // SQL: send as text without preparing
	// Verbatim, CaptureAll and Pipeline are for languages whose statements are known in part only (package script).
	// Verbatim says that the first argument is the text of the SQL to send, and that Text is for people. It is sent as
	// simple query or, with Unnamed, parsed with each request. The other arguments are its parameters.
	Verbatim   bool
	CaptureAll Row            // SQL: capture every column of rows, see Reply.Columns and Reply.Results
	Pipeline   []PipelinePart // SQL: statements that are sent at once; their parameters follow each other in Params
	// Unnamed and Late are ways to send a statement, or a pipeline, with parameters and columns as text whose types the
	// server infers. Nothing is prepared when the session connects.
	Unnamed bool // SQL: parsed with each request
	Late    bool // SQL: prepared with the session's first request that sends it, under a name that stands for its text
	Notices bool // SQL: notices of the server are kept, see Reply.Notices
	// ExpectError says that the server may refuse the statement when it is prepared or checked. The statement is
	// then sent as text, and fails each time that it is sent.
	ExpectError bool
	Creates     Creation // what it means if the record to insert is there already
	// Page is how many rows an answer has at most, for CQL. The last parameter, which no place of the statement names, is
	// then the Page.Next of the answer that this one continues, or null. 0: the answer has all rows.
	Page int
}

// Row names rows of an answer.
type Row uint8

// The rows of CaptureAll.
const (
	NoRow Row = iota
	// FirstRow is the first row of the last statement's result. Reply.Rows is then the number of rows of that result,
	// 0 if the statement has none.
	FirstRow
	// LastRow is the last row of each statement's result that has a row, one after the other.
	LastRow
	// AllRows is every row of every result: see Reply.Results.
	AllRows
)

// MostCaptured limits what AllRows captures of an answer, in bytes of values. Further rows are only counted.
const MostCaptured = 16 << 20

// Result is what one statement returned, with Request.CaptureAll and AllRows. The values of its rows are in
// Reply.Captured, after those of the results before it, as texts in the server's form.
type Result struct {
	Columns  []string // nil if the statement returns no rows
	Types    []ColumnType
	Rows     int64 // that it returned
	Captured int   // rows that are in Reply.Captured: all, or the first
	Affected int64 // rows changed
}

// ColumnType is the type of a column of a Result, as far as the text of its values depends on it.
type ColumnType uint8

// The types of columns.
const (
	OtherColumn   ColumnType = iota
	IntegerColumn            // whole numbers of any size
	DecimalColumn
	RealColumn      // binary, of 4 bytes
	DoubleColumn    // binary, of 8 bytes
	BoolColumn      // t or f, true or false, 1 or 0
	BytesColumn     // the bytes themselves
	DateColumn      // year-month-day
	TimeColumn      // hour:minute:second, perhaps with a fraction
	TimestampColumn // a date and a time with a space between them
	ZonedColumn     // a timestamp with the offset of its zone
	YearColumn
)

// PipelinePart is a statement of a pipeline.
type PipelinePart struct {
	Text   string // "" for a synchronization point without a statement
	Params int    // number of its parameters
	Sync   bool   // a synchronization point follows. After the last part there is always one.
}

// Creation says what it means if an answer says that the record to insert was there already. Drivers whose server says
// so only if it is asked ask for it, unless it is Unasked, and set Reply.Missing.
type Creation string

// The meanings.
const (
	Unasked   Creation = ""            // what the protocol says
	MustBeNew Creation = "must-be-new" // the request fails, with code NothingInserted
	MayExist  Creation = "may-exist"   // it succeeds and counts as Missing
)

// Capture names one value of a reply's first row: by the column's name or, if Name is "", by its zero-based
// number.
type Capture struct {
	Name   string
	Column int
	Kind   gen.Kind // kind to decode the value to; Null means the column's own type
}

// Web is an HTTP request. Path, header values and Body may hold "$1" … for parameters.
type Web struct {
	Method string
	Path   string      // path and query, as sent in the request line
	Header [][2]string // in the order sent; Host included if it differs from the address
	Body   []byte
	// SecretBody says that the body must never be printed or stored.
	SecretBody bool
	// Origin is the "scheme://host:port" (RFC 6454) of a request that goes to another address than the session's
	// own; "" means the session's own address. Only the library tier sends such requests, over additional
	// connections of the session. The origin of a Raw request may be "$1": the value of the first parameter. A session
	// with such requests has no address of its own; it connects to each origin when a request needs it, and takes
	// several requests at a time (Parallel). Words may follow in the value, each after a space: "at ADDRESS,ADDRESS" (IP
	// addresses that are tried instead of the host's), "from ADDRESS" (the local IP address), "within 300ms" (to
	// connect), and, as the last, "via http://user:password@proxy:port" (a tunnel through a proxy by CONNECT).
	Origin string
	// Hash is the expected FNV-1a 64 hash of the reply's body. The driver verifies it on every HashEvery-th reply.
	Hash      uint64
	HashEvery uint32 // 0 means never
	// Raw says that Body is the whole request, encoded for HTTP/1, instead of what the other fields say. It may hold
	// several requests, which are answered one after the other.
	Raw bool
}

// Program holds all requests that a session may send. Sessions prepare what they need from it. It must not be
// copied or changed once sessions use it.
type Program struct {
	Requests []Request

	mu     sync.Mutex
	shared map[any]any
}

// Share returns the value for a driver's key, which must be comparable. The first call for a key creates the
// value with prepare. Sessions use it to keep one copy of data that doesn't change. It is safe for concurrent
// use.
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

// Target is one address with its credentials and options.
type Target struct {
	Address        string // host:port, or a file's path for an embedded database
	User, Password string // Password is never printed or stored
	Database       string
	TLS            *tls.Config       // nil means plain text
	Options        map[string]string // the protocol's own settings, validated by Dial
	ConnectTimeout time.Duration     // 0 means 5 s
	Way            *socket.Way       // how connections are opened; nil: directly
	// Named says that sessions tell the server that they are brunt's, so that whoever asks the server can tell them from
	// others. Drivers whose sessions have a name anyway, or that can't give them one, ignore it.
	Named bool
	// Notice, if not nil, is given the notices of set-up sessions.
	Notice func(*Report)
}

// SessionName is the name that brunt's sessions have at servers that know names of sessions.
const SessionName = "brunt"

// ConnectTime returns how long opening a session may take.
func (t Target) ConnectTime() time.Duration {
	if t.ConnectTimeout <= 0 {
		return 5 * time.Second
	}
	return t.ConnectTimeout
}

// Connecting returns ctx bounded by ConnectTime. Package socket goes the target's way in it.
func (t Target) Connecting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(socket.With(ctx, t.Way), t.ConnectTime())
}

// Reply is the outcome of one request. It is reused: call Reset before each use.
type Reply struct {
	Rows     int64 // rows, tuples or elements returned
	Affected int64 // rows changed, where the server says so
	Status   int   // HTTP status; 0 for other protocols
	BytesIn  int64 // size of the answer on the wire, if known
	BadHash  bool  // HTTP: the body's hash differs from Web.Hash
	Missing  bool  // nothing was found, changed or inserted (Kind.Missed); Request.Kind tells what should have been
	// Again says that it failed without effect, and will probably succeed if it is sent again at once. If the failure
	// is fatal to the connection, it is sent over the next one.
	Again    bool
	Unsent   bool        // ctx was done before any byte of it was sent
	Reopened bool        // an additional connection of the session had been lost and was opened again
	Captured []gen.Value // one for each of Request.Capture; Null if the reply had no row
	Columns  []string    // names of Captured with Request.CaptureAll
	Results  []Result    // what the statements returned, with Request.CaptureAll and AllRows
	InBlock  bool        // SQL: a transaction block is open after the answer, as far as the protocol tells
	// Statements is how many of the statements that the request consists of have succeeded, as far as the protocol
	// tells. It is for SQL only.
	Statements int
	Page       *Page     // with Request.Page
	Parts      Parts     // where its time went, if the protocol has been told to measure that
	Pacing     *Pacing   // how the request's messages were sent, if they were due at times of their own
	Stream     *Stream   // times of the answer's messages, if it was a stream and had one
	Failure              // what went wrong; Class is OK if nothing did
	Report     *Report   // PostgreSQL: what the server says of its failure besides
	Notices    []*Report // what it says otherwise, with Request.Notices
	// Each, if not nil, is called with every row of the answer. The row is valid during the call only. Event loops
	// don't call it. For records of key-value stores, the first column is the key. Reset keeps Each.
	Each func(columns []string, row []gen.Value)
}

// Page is what a page of an answer says of itself.
type Page struct {
	Next []byte // where the next page begins; nil: this is the last one
	// Groups is how often its first column, in which equal values follow each other, has another value. First and Last
	// are the values of the first and the last row.
	Groups      int64
	First, Last gen.Value
}

// Parts are the parts of the time of a request, in ns; 0 if unknown.
type Parts struct {
	LookupNs  int64 // of ConnectNs: asking for the address of the server's name
	ConnectNs int64 // connecting, if that was part of the request
	WriteNs   int64 // sending the request
	WaitNs    int64 // from then to the first byte of the answer
	ReadNs    int64 // from then to the end of the answer
	BodyBytes int64 // of the answer's body, as sent
}

// Patient is implemented by connections that can limit how long the server may be silent.
type Patient interface {
	// LimitSilence says how long the server may send nothing while an answer is awaited, for the requests that follow; 0:
	// as long as the context lets it. The request then fails like one that has no answer in time.
	LimitSilence(d time.Duration)
}

// Parallel is implemented by connections that may consist of several.
type Parallel interface {
	// Parallel reports whether Do may be called concurrently.
	Parallel() bool
}

// Report is what PostgreSQL's server says of a failure, or a notice of it, in the words of its protocol. Texts may have
// several lines.
type Report struct {
	Severity              string // such as ERROR or WARNING
	Message, Detail, Hint string
	Where                 string // the context, such as the functions that called each other
	Position              int    // in characters of the request's text, from 1; 0: none
	Internal              string // the text of a statement that the server made itself
	InternalPosition      int    // in characters of Internal
}

// Failure is a classified failure, held by value so that successful replies allocate nothing.
type Failure struct {
	Class Class
	Code  string
	State string // SQLSTATE, if the server sends one besides Code
	Text  string
	Fatal bool // the connection can't be used any more
	// Misdirected says that the node that answered isn't the one that has the key: it refused the request, or named
	// another node. In a Reply it is also true if the request was then sent to another node and succeeded there.
	Misdirected bool
}

// Err returns f as an error, nil if its class is OK.
func (f *Failure) Err() *Error {
	if f.Class == OK {
		return nil
	}
	return &Error{Class: f.Class, Code: f.Code, State: f.State, Text: f.Text, Fatal: f.Fatal, Misdirected: f.Misdirected}
}

// mostKept is how many values a reply keeps the buffers of.
const mostKept = 1 << 12

// Capture appends a value to Captured, null, and returns it.
func (r *Reply) Capture() *gen.Value {
	if n := len(r.Captured); n < cap(r.Captured) {
		r.Captured = r.Captured[:n+1]
	} else {
		r.Captured = append(r.Captured, gen.Value{})
	}
	v := &r.Captured[len(r.Captured)-1]
	v.SetNull()
	return v
}

// Reset clears r for a request with n captures. It keeps buffers and Each.
func (r *Reply) Reset(n int) {
	c := r.Captured
	if cap(c) < n || cap(c) > mostKept {
		c = make([]gen.Value, n)
	}
	c = c[:n]
	for i := range c {
		c[i].Kind = gen.Null
	}
	columns, results, each := r.Columns[:0], r.Results[:0], r.Each
	*r = Reply{} // in place: a composite literal with values would be built elsewhere, and copied
	r.Captured, r.Columns, r.Results, r.Each = c, columns, results, each
}

// Fail stores e as the reply's failure.
func (r *Reply) Fail(e *Error) {
	r.Failure = Failure{Class: e.Class, Code: e.Code, State: e.State, Text: e.Text, Fatal: e.Fatal,
		Misdirected: e.Misdirected}
}

// Conn is a blocking connection. It is used by one goroutine at a time.
type Conn interface {
	// Do executes request req of the Program with args and fills reply, including failures (reply.Failure). It
	// returns when the whole answer has been read, ctx is done, or the connection is broken. args are valid only
	// during the call. A request that was sent but not answered fails as described at Unanswered, and the server is
	// asked to stop its work on it, by closing the connection if that suffices. A driver never sleeps or backs off
	// by itself.
	Do(ctx context.Context, req *Request, args []gen.Value, reply *Reply)
	// Close releases the connection; it is safe to call twice.
	Close() error
}

// Perishable is implemented by connections that know whether the server has ended them while no request was in flight.
type Perishable interface {
	// Ended reports whether nothing can be sent any more, because the server has closed the connection or said that it
	// will. It doesn't wait. It is called between requests by the goroutine that uses the connection.
	Ended() bool
}

// Ended reports whether a connection is known to have been ended by its server. Whoever keeps connections asks before
// each use, as servers end idle connections by design (HTTP keep-alive, idle_session_timeout, wait_timeout, timeout in
// Redis): a request that can be sent over a new connection hasn't failed.
func Ended(c Conn) bool {
	p, ok := c.(Perishable)
	return ok && p.Ended()
}

// Stateless is implemented by connections, and by their codecs, whose requests may not depend on the connection that
// earlier ones of the operation went over (HTTP): an operation then goes on after its server has closed the connection.
type Stateless interface {
	// Stateless reports whether no request depends on the connection.
	Stateless() bool
}

// IsStateless reports whether no request over a connection or codec depends on the connection.
func IsStateless(c any) bool {
	s, ok := c.(Stateless)
	return ok && s.Stateless()
}

// Driver is one protocol.
type Driver interface {
	// Name is the protocol's name as in the plan ("pg", "iproto", …).
	Name() string
	// Dial opens a session and prepares what can be prepared. An error is an *Error.
	Dial(ctx context.Context, t Target, p *Program) (Conn, error)
	// Describe returns the server's product, version and settings. It opens and closes its own connection.
	Describe(ctx context.Context, t Target) (ServerInfo, error)
}

// ServerInfo is what a server reports about itself.
type ServerInfo struct {
	Product  string            // "PostgreSQL", "Picodata", "Tarantool", "SQLite", "Redis", …
	Version  string            // "15.8"
	Settings map[string]string // settings that affect performance: shared_buffers, fsync, …
}

// Learner is implemented by protocols that don't query the server before the load, because any request may be
// charged for. They learn about the server from its answers.
type Learner interface {
	// Learned returns what the server at a target's address has revealed about itself so far; false if nothing.
	Learned(t Target) (ServerInfo, bool)
}

// Noting is implemented by protocols that have something to say about a load when it is over.
type Noting interface {
	// Notes returns texts for the warnings of the record. It is called once the load has ended.
	Notes() []message.Message
}

// Sleep waits for d or until ctx is done. It reports whether ctx is still active.
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

// Until returns a context that ends when ctx ends or hard is closed, which may be nil. The caller must call cancel.
func Until(ctx context.Context, hard <-chan struct{}) (_ context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(ctx)
	go func() {
		select {
		case <-hard:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// Routed is implemented by protocols in which the address that a request must go to depends on the request, not
// on the session that sends it.
type Routed interface {
	// Router returns the Router for the nodes, or nil if all nodes serve every request. The Router may call
	// nodes.Update with nodes that it discovers.
	Router(nodes *Nodes, p *Program) Router
}

// Router decides which node of a fleet a request belongs to. All sessions of a fleet share one Router; its
// methods are safe for concurrent use. Addresses are node numbers, from 0.
type Router interface {
	// Refresh asks the servers which node serves what. It is called from goroutines, never from an event loop:
	// before the first connection, and when the assignment seems to have changed.
	Refresh(ctx context.Context) error
	// Serves reports whether any request belongs to the address. Other addresses don't need connections.
	Serves(address int) bool
	// Route returns the address that a request belongs to. ok is false if the request may go to any. It takes no
	// lock and allocates nothing.
	Route(req *Request, args []gen.Value) (address int, ok bool)
	// Redirect interprets a failure in which a server names the address to ask instead. If ask is true, this applies
	// to the current request only, which must be encoded by Asker.EncodeAsk; otherwise the Router also records the
	// new assignment. redirects is how often the operation has been redirected already. ok is false if the failure
	// isn't a redirection, if it names a server that isn't among the targets, or if the limit of redirections is
	// reached.
	Redirect(f *Failure, redirects int) (address int, ask, ok bool)
}

// Places is a Router for requests that name their addresses. It maps Request.ID to the number of the target, or
// to −1 if the request may go to any.
type Places []int

var _ Router = Places(nil)

// Refresh does nothing: the assignment never changes.
func (Places) Refresh(context.Context) error { return nil }

// Serves returns true.
func (Places) Serves(int) bool { return true }

// Route returns the target that the request names.
func (p Places) Route(req *Request, _ []gen.Value) (address int, ok bool) {
	return p[req.ID], p[req.ID] >= 0
}

// Redirect reports that there is no other address.
func (Places) Redirect(*Failure, int) (address int, ask, ok bool) { return 0, true, false }

// Pooled is implemented by drivers that can find out during a load that a pooler shares the server's sessions among
// clients, so that each request must carry what other sessions keep.
type Pooled interface {
	// Pooled reports whether a session of the program has met a pooler.
	Pooled(p *Program) bool
}
