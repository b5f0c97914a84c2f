package grpc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/internal/protocol/socket"
	"brunt/test/testserver/grpcserver"
)

// request returns a request for a method of the test's service.
func request(method string, params int, captures []string, messages ...string) protocol.Request {
	r := protocol.Request{Name: method, Verb: protocol.GRPC, Params: make([]gen.Kind, params),
		RPC: &protocol.RPC{Method: "brunt.test.Echo/" + method, Messages: messages}}
	for _, c := range captures {
		r.Capture = append(r.Capture, protocol.Capture{Name: c})
	}
	return r
}

func program(requests ...protocol.Request) *protocol.Program {
	for i := range requests {
		requests[i].ID = i
	}
	return &protocol.Program{Requests: requests}
}

// tiers calls f with a connection over TCP whose reads are of some sizes.
func tiers(t *testing.T, target protocol.Target, p *protocol.Program, f func(t *testing.T, c protocol.Conn)) {
	for _, piece := range []int{1, 64 << 10} {
		t.Run(fmt.Sprintf("by %d", piece), func(t *testing.T) { f(t, protocoltest.Take(t, New(), target, p, piece)) })
	}
}

// do sends a request and returns its reply.
func do(t *testing.T, c protocol.Conn, r *protocol.Request, args ...gen.Value) *protocol.Reply {
	t.Helper()
	reply := new(protocol.Reply)
	c.Do(protocoltest.Within(t, 20*time.Second), r, args, reply)
	return reply
}

// everyField has a parameter of every kind, and what is captured of the answer.
const everyField = `{"text": "$1 and $2", "number": "$2", "list": ["$2", 8, "$2"], "tags": {"a": "b", "k$2": "$1"},
	"color": "$3", "inner": {"text": "in$2", "number": 5, "inner": {"number": "$2"}}, "raw": "$1", "ratio": "$4",
	"at": "$5", "maybe": "$2", "flag": "$6", "below": "$7", "fixed": "$2", "unsigned": "$2", "small": "$4",
	"more": [{"text": "$1"}, {"text": "last"}], "signedFixed": "$7"}`

func TestMessagesArriveAsWritten(t *testing.T) {
	s := grpcserver.Start(t)
	captures := []string{"text", "number", "list", "list.2", "color", "inner.text", "inner.inner.number", "raw", "ratio",
		"at.seconds", "at.nanos", "maybe.value", "flag", "below", "fixed", "unsigned", "small", "more.0.text", "more.1.text",
		"signed_fixed", "list.3", "more.2.text"}
	p := program(request("Say", 7, captures, everyField), request("Say", 0, []string{"text", "number", "inner.text", "."},
		`{"text": "5 $$ for $$1", "number": "9"}`), request("Say", 0, nil))
	args := protocoltest.Values("ж\"", 42, "BLUE")
	args = append(args, gen.Value{Kind: gen.Float, F: 1.5}, gen.Value{Kind: gen.Datetime, I: -1}, gen.Value{Kind: gen.Bool,
		I: 1}, gen.Value{Kind: gen.Int, I: -3})
	for _, o := range []map[string]string{nil, {"compression": "gzip"}} {
		tiers(t, protocol.Target{Address: s.Addr, Options: o}, p, func(t *testing.T, c protocol.Conn) {
			r := do(t, c, &p.Requests[0], args...)
			if r.Class != protocol.OK {
				t.Fatalf("%+v", r.Failure)
			}
			want := []string{`6:"ж\" and 42"`, "2:42", "2:42", "2:42", `6:"BLUE"`, `6:"in42"`, "2:42", `7:"ж\""`, "4:1.5",
				"2:-1",
				"2:999999000", "2:42", "1:1", "2:-3", "3:42", "3:42", "4:1.5", `6:"ж\""`, `6:"last"`, "2:-3", "null", "null"}
			for i, w := range want {
				if got := protocoltest.Text(&r.Captured[i]); got != w {
					t.Errorf("%s: got %s, want %s", captures[i], got, w)
				}
			}
			r = do(t, c, &p.Requests[1])
			if r.Class != protocol.OK || string(r.Captured[0].B) != "5 $ for $1" || r.Captured[1].I != 9 ||
				r.Captured[2].Kind != gen.Null || string(r.Captured[3].B) != `{"text":"5 $ for $1","number":"9"}` {
				t.Errorf("%+v", r)
			}
			if r = do(t, c, &p.Requests[2]); r.Class != protocol.OK || r.Rows != 1 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestArgumentsThatDontFit(t *testing.T) {
	s := grpcserver.Start(t)
	p := program(request("Say", 1, nil, `{"number": "$1"}`), request("Say", 1, nil, `{"unsigned": "$1"}`),
		request("Say", 1, nil, `{"at": "$1"}`), request("Say", 1, nil, `{"color": "$1"}`))
	c := protocoltest.Take(t, New(), protocol.Target{Address: s.Addr}, p, 1000)
	for i := range p.Requests {
		r := do(t, c, &p.Requests[i], protocoltest.Values("-x")...)
		if r.Class != protocol.Client || !strings.Contains(r.Text, "a parameter doesn't fit") {
			t.Errorf("%d: %+v", i, r.Failure)
		}
		if r = do(t, c, &p.Requests[i], gen.Value{}); r.Class != protocol.OK {
			t.Errorf("%d, null: %+v", i, r.Failure)
		}
	}
}

func TestStreams(t *testing.T) {
	s := grpcserver.Start(t)
	p := program(request("List", 1, []string{"number"}, `{"count": "$1", "size": 100000}`),
		request("Gather", 1, []string{"number"}, `{"text": "$1"}`, `{}`, `{"number": 3}`),
		request("Chat", 1, []string{"text"}, `{"text": "$1"}`, `{"text": "two"}`), request("Gather", 0, []string{"number"}),
		request("Endless", 0, nil))
	p.Requests[4].RPC.Receive = 3
	c, err := New().Dial(t.Context(), protocol.Target{Address: s.Addr}, p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if r := do(t, c, &p.Requests[0], protocoltest.Values(50)...); r.Class != protocol.OK || r.Rows != 50 ||
		r.BytesIn < 5e6 || r.Stream == nil || r.Stream.FirstNs <= 0 || r.Stream.Between.N != 49 ||
		r.Stream.Between.SumNs == 0 {
		t.Errorf("%d rows, %d bytes, %+v", r.Rows, r.BytesIn, r.Failure)
	}
	if r := do(t, c, &p.Requests[0], protocoltest.Values(0)...); r.Class != protocol.OK || r.Rows != 0 ||
		r.Stream != nil {
		t.Errorf("an empty stream: %d rows, %+v", r.Rows, r.Failure)
	}
	if r := do(t, c, &p.Requests[1], protocoltest.Values("x")...); r.Class != protocol.OK || r.Captured[0].I != 3 {
		t.Errorf("%+v", r)
	}
	if r := do(t, c, &p.Requests[2], protocoltest.Values("x")...); r.Class != protocol.OK || r.Rows != 2 ||
		string(r.Captured[0].B) != "x" {
		t.Errorf("%+v", r)
	}
	for range 2 { // the stream that was ended doesn't disturb the next one
		if r := do(t, c, &p.Requests[4]); r.Class != protocol.OK || r.Rows != 3 {
			t.Errorf("%+v", r)
		}
	}
}

// until is a context whose time is over when the channel is closed.
type until struct {
	context.Context
	over chan struct{}
}

func (u until) Done() <-chan struct{} { return u.over }

func (u until) Err() error {
	select {
	case <-u.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestAStreamThatNeverEnds(t *testing.T) {
	asked := make(chan struct{})
	once := sync.OnceFunc(func() { close(asked) })
	s := grpcserver.Start(t, grpcserver.Seen(func(metadata.MD) { once() }))
	p := program(request("Endless", 0, nil))
	c := protocoltest.Take(t, New(), protocol.Target{Address: s.Addr}, p, 1000)
	var r protocol.Reply
	c.Do(until{t.Context(), asked}, &p.Requests[0], nil, &r)
	if r.Class != protocol.UnknownOutcome || !strings.Contains(r.Text, "no answer within the operation's timeout") {
		t.Errorf("%+v", r.Failure)
	}
	p = program(request("Endless", 0, nil))
	p.Requests[0].RPC.Deadline = 50 * time.Millisecond
	c = protocoltest.Take(t, New(), protocol.Target{Address: s.Addr}, p, 1000)
	if r := do(t, c, &p.Requests[0]); r.Code != "DeadlineExceeded" || r.Class != protocol.UnknownOutcome || r.Fatal {
		t.Errorf("with a deadline: %+v", r.Failure)
	}
}

func TestStatus(t *testing.T) {
	s := grpcserver.Start(t)
	p := program(request("End", 2, nil, `{"code": "$1", "text": "$2"}`))
	tiers(t, protocol.Target{Address: s.Addr}, p, func(t *testing.T, c protocol.Conn) {
		for code, want := range map[int]string{2: "server Unknown", 4: "unknown-outcome DeadlineExceeded",
			5: "server NotFound", 8: "server ResourceExhausted", 10: "retryable Aborted", 14: "retryable Unavailable",
			16: "server Unauthenticated"} {
			r := do(t, c, &p.Requests[0], protocoltest.Values(code, "нет 100%")...)
			if got := fmt.Sprint(r.Class, " ", r.Code); got != want || r.Text != "нет 100%" || r.Fatal {
				t.Errorf("%d: %s, %+v; want %s", code, got, r.Failure, want)
			}
		}
	})
}

func TestMetadata(t *testing.T) {
	var mu sync.Mutex
	var seen metadata.MD
	s := grpcserver.Start(t, grpcserver.Seen(func(md metadata.MD) {
		mu.Lock()
		defer mu.Unlock()
		seen = md
	}))
	r := request("Say", 1, nil)
	r.RPC.Metadata = [][2]string{{"authorization", "Bearer x"}, {"id", "n$1"}, {"id", "m"}, {"raw-bin", "\x00\xff"},
		{"more-bin", "$1"}}
	r.RPC.Deadline = time.Minute
	p := program(r)
	const zoned = "[fe80::1%eth0]:81" // servers aren't told the zone
	c := protocoltest.Take(t, New(), protocol.Target{Address: zoned,
		Way: &socket.Way{Resolve: map[string]string{zoned: s.Addr}}}, p, 1000)
	answer := do(t, c, &p.Requests[0], protocoltest.Values("7")...)
	mu.Lock()
	if got := fmt.Sprint(seen[":authority"]); answer.Class != protocol.OK || got != "[[fe80::1]:81]" {
		t.Errorf("%s, %+v", got, answer.Failure)
	}
	mu.Unlock()
	c = protocoltest.Take(t, New(), protocol.Target{Address: s.Addr, Options: map[string]string{"authority": "other"}}, p,
		1000)
	for range 3 {
		if r := do(t, c, &p.Requests[0], protocoltest.Values(strings.Repeat("7", 200))...); r.Class != protocol.OK {
			t.Fatalf("%+v", r.Failure)
		}
		mu.Lock()
		got := fmt.Sprint(seen["authorization"], len(seen["id"]), len(seen["more-bin"][0]), seen[":authority"],
			seen["raw-bin"][0] == "\x00\xff")
		mu.Unlock()
		if got != "[Bearer x] 2 200 [other] true" {
			t.Errorf("got %s", got)
		}
	}
}

func TestTLS(t *testing.T) {
	server, client := grpcserver.Certificates(t)
	s := grpcserver.Start(t, grpcserver.TLS(credentials.NewTLS(server)))
	p := program(request("Say", 1, []string{"text"}, `{"text": "$1"}`))
	target := protocol.Target{Address: s.Addr, TLS: client}
	c, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if r := do(t, c, &p.Requests[0], protocoltest.Values("x")...); r.Class != protocol.OK ||
		string(r.Captured[0].B) != "x" {
		t.Errorf("%+v", r)
	}
	if why, ok := protocol.LoopsTake(New(), target, p); ok || !strings.Contains(why, "TLS") {
		t.Errorf("event loops take TLS: %q", why)
	}
}

func TestSources(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	none := grpcserver.Start(t, grpcserver.Reflection())
	set, err := proto.Marshal(none.Set)
	if err != nil {
		t.Fatal(err)
	}
	whole, file := write("set.pb", set), write("echo.proto", []byte(grpcserver.EchoProto))
	importing := write("sub/b.proto", []byte(
		"syntax = \"proto3\";\nimport \"away/echo.proto\";\nmessage X { Nothing n = 1; }"))
	write("elsewhere/away/echo.proto", []byte("syntax = \"proto3\"; message Nothing {}"))
	say := request("Say", 0, nil, "{}")
	guarded := grpcserver.Start(t, grpcserver.Guarded("token", "x")).Addr
	for _, c := range []struct {
		name    string
		address string
		options map[string]string
		request protocol.Request
		want    string // of the failure; "" for none
	}{
		{"v1", grpcserver.Start(t, grpcserver.Reflection("v1")).Addr, nil, say, ""},
		{"v1alpha", grpcserver.Start(t, grpcserver.Reflection("v1alpha")).Addr, nil, say, ""},
		{"reflection for those who may ask", guarded, map[string]string{"reflect.token": "x"}, say, ""},
		{"reflection for others", guarded, nil, say, "the methods of " + guarded + ": who asks?"},
		{"without reflection", none.Addr, nil, say, "has no reflection: give its .proto files by option proto"},
		{"proto", none.Addr, map[string]string{"proto": file}, say, ""},
		{"proto in a folder", none.Addr, map[string]string{"proto": "echo.proto", "import": dir}, say, ""},
		{"set", none.Addr, map[string]string{"protoset": whole}, say, ""},
		{"no file", none.Addr, map[string]string{"proto": dir + "/none.proto"}, say, "none.proto isn't there"},
		{"no set", none.Addr, map[string]string{"protoset": dir + "/none.pb"}, say, "no such file"},
		{"a wrong set", none.Addr, map[string]string{"protoset": file}, say, "isn't a descriptor set"},
		{"an import that is missing", none.Addr, map[string]string{"proto": importing}, say,
			"name the folder that it is in by option import"},
		{"no service", none.Addr, map[string]string{"proto": importing, "import": dir + "/elsewhere"}, say,
			"there is no service brunt.test.Echo"},
		{"no method", none.Addr, map[string]string{"proto": file}, request("Sai", 0, nil), "did you mean Say?"},
		{"no field", none.Addr, map[string]string{"proto": file}, request("Say", 1, nil, `{"texd": "$1"}`),
			`brunt.test.Note has no field "texd"; did you mean text?`},
		{"a field that isn't there, constant", none.Addr, map[string]string{"proto": file},
			request("Say", 0, nil, `{"texd": "x"}`), `unknown field "texd"`},
		{"a text for a message", none.Addr, map[string]string{"proto": file},
			request("Say", 1, nil, `{"inner": "$1"}`), "inner is a text where there must be a brunt.test.Note"},
		{"a wrong number", none.Addr, map[string]string{"proto": file},
			request("Say", 1, nil, `{"text": "$1", "number": "x"}`), "the message doesn't fit brunt.test.Note"},
		{"no JSON", none.Addr, map[string]string{"proto": file}, request("Say", 0, nil, `{`), "isn't JSON"},
		{"two messages", none.Addr, map[string]string{"proto": file}, request("Say", 0, nil, `{}`, `{}`),
			"takes one message"},
		{"no capture", none.Addr, map[string]string{"proto": file}, request("Say", 0, []string{"inner.texd"}, `{}`),
			`has no field "texd"`},
		{"an unknown option", none.Addr, map[string]string{"protos": file}, say, `unknown option "protos"`},
		{"another verb", none.Addr, nil, protocol.Request{Name: "q", Verb: protocol.SQL, Text: "SELECT 1"},
			"SQL isn't possible with gRPC"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := program(c.request)
			conn, err := New().Dial(t.Context(), protocol.Target{Address: c.address, Options: c.options}, p)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
					t.Fatalf("got %v; want %s", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if r := do(t, conn, &p.Requests[0]); r.Class != protocol.OK {
				t.Errorf("%+v", r.Failure)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	info, err := New().Describe(t.Context(), protocol.Target{Address: grpcserver.Start(t).Addr})
	if err != nil || info.Settings["health"] != "SERVING" ||
		!strings.Contains(info.Settings["services"], "brunt.test.Echo") {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err = New().Describe(t.Context(), protocol.Target{Address: "127.0.0.1:1"}); err == nil {
		t.Error("a server that isn't there is described")
	}
}

// The health service is known although the server has no reflection.
func TestHealthIsAlwaysKnown(t *testing.T) {
	s := grpcserver.Start(t, grpcserver.Reflection())
	r := request("x", 0, []string{"status"}, "{}")
	r.RPC.Method = "grpc.health.v1.Health/Check"
	p := program(r)
	tiers(t, protocol.Target{Address: s.Addr}, p, func(t *testing.T, c protocol.Conn) {
		if r := do(t, c, &p.Requests[0]); r.Class != protocol.OK || string(r.Captured[0].B) != "SERVING" {
			t.Errorf("%+v, %s", r.Failure, r.Captured[0].B)
		}
	})
}

// Reflection takes the way, too: the program's method is known from it only.
func TestWays(t *testing.T) {
	s := grpcserver.Start(t)
	p := func() *protocol.Program { return program(request("Say", 0, nil, `{"text": "x"}`)) }
	for _, way := range protocoltest.Ways(t, protocol.Target{Address: s.Addr}, protocoltest.Plain) {
		t.Run(way.Name, func(t *testing.T) { way.Takes(t, New(), p()) })
	}
}
