package postgres

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/test/testserver"

	"github.com/jackc/pgx/v5/pgconn"
)

const password = "very-Secret-42"

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// server is a server shared by tests that leave it unchanged.
func server(t testserver.TB) *testserver.Server {
	t.Helper()
	return servers.Get(t, "password and TLS", func(t testserver.TB) *testserver.Server {
		return testserver.Postgres(t, testserver.Password(password), testserver.TLS())
	})
}

func targetOf(s *testserver.Server) protocol.Target {
	return protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// wired drives a codec over a socket as an event loop does, one request at a time.
type wired struct {
	file  net.Conn
	codec protocol.Codec
	out   []byte
	in    []byte
	piece int // maximum number of bytes of a read; 0 means no limit
}

func (w *wired) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	reply.Reset(len(req.Capture))
	out, refused := w.codec.Encode(w.out[:0], req, args)
	w.out = out
	if refused != nil {
		reply.Fail(refused)
		return
	}
	deadline, _ := ctx.Deadline()
	w.file.SetDeadline(deadline)
	if _, err := w.file.Write(out); err != nil {
		reply.Fail(protocol.Unanswered(context.Background(), req, err, ""))
		return
	}
	w.await(req, reply)
}

// await reads the answer to the oldest request.
func (w *wired) await(req *protocol.Request, reply *protocol.Reply) {
	chunk := make([]byte, 64<<10)
	if w.piece > 0 {
		chunk = chunk[:w.piece]
	}
	for {
		n, done, _ := w.codec.Scan(w.in, req, reply)
		w.in = w.in[n:]
		if done {
			return
		}
		k, err := w.file.Read(chunk)
		if err != nil {
			reply.Fail(protocol.Unanswered(context.Background(), req, err, ""))
			return
		}
		w.in = append(w.in, chunk[:k]...)
	}
}

func (w *wired) Close() error { return w.file.Close() }

// takeover opens a session that is driven as in the codec tier.
func takeover(t testing.TB, target protocol.Target, p *protocol.Program) *wired {
	t.Helper()
	session, err := New().Open(testContext(t), target, p)
	if err != nil {
		t.Fatalf("takeover: %v", err)
	}
	w := &wired{file: session.Net, codec: session.Codec, in: session.Extra}
	t.Cleanup(func() { w.Close() })
	return w
}

func dial(t testing.TB, target protocol.Target, p *protocol.Program) protocol.Conn {
	t.Helper()
	c, err := New().Dial(testContext(t), target, p)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// tiers runs a test with the codec on a blocking connection, without and with TLS, and driven as by an event loop.
func tiers(t *testing.T, test func(t *testing.T, open func(protocol.Target, *protocol.Program) protocol.Conn)) {
	t.Run("library", func(t *testing.T) {
		test(t, func(target protocol.Target, p *protocol.Program) protocol.Conn { return dial(t, target, p) })
	})
	t.Run("library, TLS", func(t *testing.T) {
		test(t, func(target protocol.Target, p *protocol.Program) protocol.Conn {
			if target.Address == server(t).Addr { // the server with TLS
				target.TLS = server(t).TLS
			}
			return dial(t, target, p)
		})
	})
	t.Run("codec", func(t *testing.T) {
		test(t, func(target protocol.Target, p *protocol.Program) protocol.Conn { return takeover(t, target, p) })
	})
}

// program returns a program of requests, with their numbers set.
func program(requests ...protocol.Request) *protocol.Program {
	for i := range requests {
		requests[i].ID = i
		if requests[i].Name == "" {
			requests[i].Name = "r"
		}
	}
	return &protocol.Program{Requests: requests}
}

func sql(text string, params ...gen.Kind) protocol.Request {
	return protocol.Request{Verb: protocol.SQL, Text: text, Params: params}
}

func openAdmin(t testing.TB, target protocol.Target) protocol.Admin {
	t.Helper()
	a, err := New().Admin(testContext(t), target)
	if err != nil {
		t.Fatalf("admin: %v", err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func execute(t testing.TB, a protocol.Admin, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := a.Exec(testContext(t), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// column returns the first column of a query's rows. Null is "NULL".
func column(t testing.TB, a protocol.Admin, query string) []string {
	t.Helper()
	var out []string
	err := a.Query(testContext(t), query, func(values []*string) error {
		if values[0] == nil {
			out = append(out, "NULL")
		} else {
			out = append(out, *values[0])
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

func integer(i int64) gen.Value          { return gen.Value{Kind: gen.Int, I: i} }
func text(s string) gen.Value            { return gen.Value{Kind: gen.String, B: []byte(s)} }
func decimal(i int64, s uint8) gen.Value { return gen.Value{Kind: gen.Decimal, I: i, Scale: s} }
func float(f float64) gen.Value          { return gen.Value{Kind: gen.Float, F: f} }
func raw(k gen.Kind, b string) gen.Value { return gen.Value{Kind: k, B: []byte(b)} }
func moment(us int64) gen.Value          { return gen.Value{Kind: gen.Datetime, I: us} }

// show returns a value as text for comparison.
func show(v *gen.Value) string {
	if v.Kind == gen.Null {
		return "null"
	}
	names := [...]string{"null", "bool", "int", "uint", "float", "decimal", "string", "bytes", "datetime", "uuid", "json",
		"number", "packed"}
	return names[v.Kind] + " " + string(appendText(nil, v))
}

// fieldsOf returns the description of a result with columns of these types.
func fieldsOf(types ...uint32) (fields []pgconn.FieldDescription) {
	for _, oid := range types {
		fields = append(fields, pgconn.FieldDescription{Name: "c", DataTypeOID: oid})
	}
	return fields
}
