package redis

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// tiers opens a connection of each tier for a program, in both versions of the protocol, and calls f with each.
func tiers(t *testing.T, target protocol.Target, p *protocol.Program, f func(t *testing.T, c protocol.Conn)) {
	for i := range p.Requests {
		p.Requests[i].ID = i
	}
	for _, resp := range []string{"2", "3"} {
		target := target
		target.Options = map[string]string{"resp": resp}
		t.Run("library "+resp, func(t *testing.T) {
			c, err := New().Dial(t.Context(), target, p)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			f(t, c)
		})
		for _, piece := range []int{1, 64 << 10} {
			t.Run(fmt.Sprintf("codec %s by %d", resp, piece),
				func(t *testing.T) { f(t, protocoltest.Take(t, New(), target, p, piece)) })
		}
	}
}

func do(t *testing.T, c protocol.Conn, req *protocol.Request, args ...gen.Value) protocol.Reply {
	t.Helper()
	var reply protocol.Reply
	c.Do(protocoltest.Within(t, 10*time.Second), req, args, &reply)
	return reply
}

func program(requests ...protocol.Request) *protocol.Program {
	return &protocol.Program{Requests: requests}
}

func text(s string) gen.Value { return gen.Value{Kind: gen.String, B: []byte(s)} }

func TestBothTiersAgree(t *testing.T) {
	first := protocol.Capture{}
	with := func(req protocol.Request) protocol.Request {
		for _, w := range req.Words {
			if w == "$1" {
				req.Params = []gen.Kind{gen.String}
			}
		}
		return req
	}
	p := program(
		command("FLUSHDB"),
		with(command("SET", "k", "$1")),
		capturing(command("GET", "k"), first),
		capturing(command("STRLEN", "k"), first),
		command("GET", "nothing"),
		command("HSET", "h", "f", "1", "g", "2"),
		capturing(command("HMGET", "h", "g", "x", "f"), first, protocol.Capture{Column: 1},
			protocol.Capture{Column: 2, Kind: gen.Int}),
		command("HGETALL", "h"),
		command("HGETALL", "nothing"),
		command("LPUSH", "k", "x"),
		command("NO-SUCH-COMMAND"),
		command("DEL", "k", "h"),
		command("MULTI"),
		command("LPUSH", "l", "a"),
		command("INCR", "l"),
		command("EXEC"),
		command("EVAL", "return {1, {2, {3, 'x'}}, 'y'}", "0"),
		capturing(command("EVAL", "return redis.error_reply('BUSY me')", "0"), first),
	)
	value := text(strings.Repeat("v\r\n", 5000))
	want := []string{
		"class=ok rows=1", "class=ok rows=1", `class=ok rows=1 captured=v`, "class=ok rows=1 affected=15000 captured=2:15000",
		"class=ok rows=0 missing",
		"affected=2", `class=ok rows=3 captured=6:"2" captured=null captured=2:1`, "class=ok", "class=ok rows=0 missing",
		`class=server code=WRONGTYPE`, `class=server code=ERR`, "class=ok affected=2", "class=ok rows=1", "class=ok",
		"class=ok",
		"class=server code=WRONGTYPE rows=2", "class=ok rows=3", "class=retryable code=BUSY",
	}
	tiers(t, protocol.Target{Address: servers.Redis(t).Addr}, p, func(t *testing.T, c protocol.Conn) {
		for i := range p.Requests {
			req := &p.Requests[i]
			var args []gen.Value
			if len(req.Params) > 0 {
				args = []gen.Value{value}
			}
			r := do(t, c, req, args...)
			if r.Fatal || r.BytesIn == 0 {
				t.Fatalf("%q: %+v", req.Words, r)
			}
			got := show(&r)
			for part := range strings.SplitSeq(want[i], " ") {
				if part == "captured=v" {
					if string(r.Captured[0].B) != string(value.B) {
						t.Errorf("%q: the value came back changed", req.Words)
					}
				} else if !strings.Contains(got+" ", part+" ") {
					t.Errorf("%q: got %s; want %s", req.Words, got, part)
				}
			}
		}
	})
}

// Missing keys are counted in both tiers and in both versions of the protocol.
func TestMissing(t *testing.T) {
	s := servers.Redis(t)
	commands := []struct {
		words string
		want  bool
	}{
		{"DEL m n h l", true}, {"SET m v", false}, {"HSET h f 1", false}, {"RPUSH l a", false}, {"GET m", false},
		{"GET n", true},
		{"MGET m", false}, {"MGET m n", true}, {"HMGET h f x", false}, {"HMGET n f x", true}, {"HGET h x", true},
		{"HGETALL h", false}, {"HGETALL n", true},
		{"LRANGE l 0 -1", false}, {"LRANGE n 0 -1", true}, {"LLEN n", true}, {"EXISTS m", false}, {"EXISTS n", true},
		{"SET n v XX", true},
		{"EXPIRE n 1000", true}, {"HDEL h x", true}, {"HDEL h f", false}, {"LPUSH m x", false}, {"DEL m", false},
		{"DEL m", true}, {"PING", false},
		{"DEL l new once z g pf old", false}, {"SETNX new a", false}, {"SETNX new b", true}, {"SET new b NX", true},
		{"SET once b NX", false}, {"MSETNX new a other b", true}, {"HSETNX h f 1", false}, {"HSETNX h f 2", true},
		{"SADD l a", false}, {"SADD l a", true}, {"SADD l a b", false}, {"ZADD z 1 a", false}, {"ZADD z 2 a", false},
		{"ZADD z NX 3 a", true}, {"PFADD pf a", false}, {"PFADD pf a", true}, {"LPUSHX n a", true},
		{"RENAMENX new once", true}, {"COPY new once", true}, {"SMOVE l n x", true}, {"HSET h f 3", false},
		{"DEL old", true}, {"GETSET old 1", false}, {"SET old 2 GET", false}, {"DEL old", false}, {"SET old 1 GET", false},
		{"SET n v XX GET", true}, {"SET old 3 NX GET", true}, {"GET old", false},
	}
	p := &protocol.Program{}
	for i, c := range commands {
		r := command(strings.Fields(c.words)...)
		r.ID = i
		p.Requests = append(p.Requests, r)
	}
	tiers(t, protocol.Target{Address: s.Addr}, p, func(t *testing.T, conn protocol.Conn) {
		do(t, conn, &p.Requests[0])
		for i, c := range commands {
			if r := do(t, conn, &p.Requests[i]); r.Missing != c.want {
				t.Errorf("%s: missing %v, want %v (%+v)", c.words, r.Missing, c.want, r.Failure)
			}
		}
	})
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "redis.sock")
	testserver.Redis(t, testserver.Settings("unixsocket "+path))
	p := program(command("SET", "a", "b"))
	tiers(t, protocol.Target{Address: path}, p, func(t *testing.T, c protocol.Conn) {
		if r := do(t, c, &p.Requests[0]); r.Class != protocol.OK || r.BytesIn != 5 {
			t.Errorf("got %+v", r)
		}
	})
	if info, err := New().Describe(t.Context(), protocol.Target{Address: path}); err != nil || info.Product != "Redis" {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := New().Dial(t.Context(), protocol.Target{Address: path + "x"}, p); err == nil ||
		!strings.Contains(err.Error(), "there is no such socket") {
		t.Errorf("no such socket: %v", err)
	}
}

func show(r *protocol.Reply) string {
	s := fmt.Sprintf("class=%v code=%s rows=%d affected=%d", r.Class, r.Code, r.Rows, r.Affected)
	if r.Missing {
		s += " missing"
	}
	for i := range r.Captured {
		s += " captured=" + protocoltest.Text(&r.Captured[i])
	}
	return s
}

func TestPasswordAndDatabase(t *testing.T) {
	s := servers.Get(t, "with password", func(t testserver.TB) *testserver.Server {
		return testserver.Redis(t, testserver.Password("geheimnis"),
			testserver.Settings("user alice on >geheim2 allkeys allcommands"))
	})
	p := program(capturing(command("CLIENT", "INFO"), protocol.Capture{}))
	for _, c := range []struct{ user, password, database, want string }{
		{"", "geheimnis", "3", " db=3 "},
		{"alice", "geheim2", "", " db=0 "},
	} {
		tiers(t, protocol.Target{Address: s.Addr, User: c.user, Password: c.password, Database: c.database}, p,
			func(t *testing.T, conn protocol.Conn) {
				if r := do(t, conn, &p.Requests[0]); r.Class != protocol.OK || !strings.Contains(string(r.Captured[0].B), c.want) {
					t.Errorf("got %q, %+v", r.Captured[0].B, r.Failure)
				}
			})
	}
	for _, c := range []struct{ user, password, database, code, want string }{
		{"", "falsches", "", "WRONGPASS", "check user and password"},
		{"alice", "falsches", "", "WRONGPASS", "check user and password"},
		{"", "", "", "NOAUTH", "give a password"},
		{"", "geheimnis", "99", "ERR", "check the database's number"},
	} {
		target := protocol.Target{Address: s.Addr, User: c.user, Password: c.password, Database: c.database}
		_, dial := New().Dial(t.Context(), target, p)
		_, take := New().Open(t.Context(), target, p)
		for tier, err := range map[string]error{"library": dial, "codec": take} {
			e := protocol.AsError(err)
			if e == nil || e.Class != protocol.Connect || e.Code != c.code || !strings.Contains(e.Text, c.want) ||
				strings.Contains(e.Text, "geheim") || strings.Contains(e.Text, "falsches") {
				t.Errorf("%s, %+v: got %+v", tier, c, e)
			}
		}
	}
}

// Sessions say whose they are if they are to. A user without the right, and a proxy that ends the connection at the
// command, serve them without a name.
func TestSessionsAreNamed(t *testing.T) {
	s := servers.Get(t, "", func(t testserver.TB) *testserver.Server { return testserver.Redis(t) })
	allow := program(command("ACL", "SETUSER", "few", "on", ">geheim2", "~*", "+get", "+ping", "+hello"))
	admin, err := New().Dial(t.Context(), protocol.Target{Address: s.Addr}, allow)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if r := do(t, admin, &allow.Requests[0]); r.Class != protocol.OK {
		t.Fatalf("%+v", r.Failure)
	}
	name := program(capturing(command("CLIENT", "GETNAME"), protocol.Capture{}))
	for _, want := range []string{"", protocol.SessionName} {
		tiers(t, protocol.Target{Address: s.Addr, Named: want != ""}, name, func(t *testing.T, c protocol.Conn) {
			if r := do(t, c, &name.Requests[0]); r.Class != protocol.OK || string(r.Captured[0].B) != want {
				t.Errorf("got %q, %+v, want %q", r.Captured[0].B, r.Failure, want)
			}
		})
	}
	get := program(command("GET", "nothing"))
	tiers(t, protocol.Target{Address: s.Addr, User: "few", Password: "geheim2", Named: true}, get,
		func(t *testing.T, c protocol.Conn) {
			if r := do(t, c, &get.Requests[0]); r.Class != protocol.OK {
				t.Errorf("without the right: %+v", r.Failure)
			}
		})
	proxy := testserver.Twemproxy(t, s.Addr)
	through, err := New().Dial(t.Context(), protocol.Target{Address: proxy.Addr, Named: true}, get)
	if err != nil {
		t.Fatal(err)
	}
	defer through.Close()
	if r := do(t, through, &get.Requests[0]); r.Class != protocol.OK {
		t.Errorf("through a proxy: %+v", r.Failure)
	}
}

func TestTLS(t *testing.T) {
	s := testserver.Redis(t, testserver.TLS())
	p := program(command("SET", "a", "b"))
	c, err := New().Dial(t.Context(), protocol.Target{Address: s.Addr, TLS: s.TLS}, p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if r := do(t, c, &p.Requests[0]); r.Class != protocol.OK {
		t.Errorf("got %+v", r)
	}
	if why, ok := protocol.LoopsTake(New(), protocol.Target{Address: s.Addr, TLS: s.TLS}, p); ok ||
		!strings.Contains(why, "TLS") {
		t.Errorf("event loops take TLS: %q", why)
	}
}

func TestCluster(t *testing.T) {
	cluster := servers.RedisCluster(t)
	set, get := command("SET", "key:$1", "$1"), capturing(command("GET", "key:$1"), protocol.Capture{})
	set.Params, get.Params = []gen.Kind{gen.Int}, []gen.Kind{gen.Int}
	p := program(set, get)
	p.Requests[1].ID = 1
	target := protocol.Target{Address: cluster.Addrs()[1], Options: map[string]string{"mode": "cluster"}}
	if why, ok := New().Takes(target, p); !ok {
		t.Errorf("the codec doesn't take a cluster: %q", why)
	}
	replicas := protocol.Target{Address: target.Address, Options: map[string]string{"mode": "cluster", "read_only": "on"}}
	if why, ok := New().Takes(replicas, p); ok || !strings.Contains(why, "read_only") {
		t.Errorf("the codec reads from replicas: %q", why)
	}
	c, err := New().Dial(t.Context(), target, p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range int64(100) {
		arg := gen.Value{Kind: gen.Int, I: i}
		if r := do(t, c, &p.Requests[0], arg); r.Class != protocol.OK {
			t.Fatalf("SET %d: %+v", i, r)
		}
		if r := do(t, c, &p.Requests[1], arg); r.Class != protocol.OK || string(r.Captured[0].B) != fmt.Sprint(i) {
			t.Fatalf("GET %d: %+v", i, r)
		}
	}
	var moved protocol.Reply
	for _, addr := range cluster.Addrs() {
		single := protocoltest.Take(t, New(), protocol.Target{Address: addr}, p, 100)
		if r := do(t, single, &p.Requests[1], gen.Value{Kind: gen.Int, I: 7}); r.Class == protocol.Retryable {
			moved = r
		}
	}
	answer, hint, _ := strings.Cut(moved.Text, "; ")
	to, ok := ParseRedirect(answer)
	if !ok || !strings.Contains(hint, "mode to cluster") || to.Slot != Slot([]byte("key:7")) {
		t.Errorf("a node that hasn't the key answered %q", moved.Text)
	}
}

func TestRefusedPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	p := program(command("PING"))
	_, dial := New().Dial(t.Context(), protocol.Target{Address: address}, p)
	_, take := New().Open(t.Context(), protocol.Target{Address: address}, p)
	_, cluster := New().Dial(t.Context(), protocol.Target{Address: address, Options: map[string]string{"mode": "cluster"}},
		p)
	for tier, err := range map[string]error{"library": dial, "codec": take, "cluster": cluster} {
		if e := protocol.AsError(err); e == nil || e.Class != protocol.Connect ||
			!strings.Contains(e.Text, "connection refused; is the server running there?") {
			t.Errorf("%s: got %v", tier, err)
		}
	}
}

func TestServerThatNeverAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := program(command("PING"))
	target := protocol.Target{Address: l.Addr().String(), ConnectTimeout: 100 * time.Millisecond}
	_, dial := New().Dial(t.Context(), target, p)
	_, take := New().Open(t.Context(), target, p)
	for tier, err := range map[string]error{"library": dial, "codec": take} {
		if e := protocol.AsError(err); e == nil || e.Class != protocol.Connect ||
			!strings.Contains(e.Text, "no answer in time") {
			t.Errorf("%s: got %v", tier, err)
		}
	}
}

func TestServerDiesMidRequest(t *testing.T) {
	s := testserver.Redis(t)
	p := program(command("SET", "a", "b"))
	tiers(t, protocol.Target{Address: s.Addr}, p, func(t *testing.T, c protocol.Conn) {
		s.Pause()
		var reply protocol.Reply
		c.Do(protocoltest.Within(t, 100*time.Millisecond), &p.Requests[0], nil, &reply)
		s.Resume()
		if reply.Class != protocol.UnknownOutcome || !reply.Fatal {
			t.Errorf("while paused: %+v", reply)
		}
	})
	tiers(t, protocol.Target{Address: s.Addr}, p, func(t *testing.T, c protocol.Conn) {
		s.Pause()
		done := make(chan protocol.Reply)
		go func() { done <- do(t, c, &p.Requests[0]) }()
		s.Kill()
		if r := <-done; r.Class != protocol.UnknownOutcome || !r.Fatal {
			t.Errorf("killed: %+v", r)
		}
		s.Restart()
	})
}

func TestDescribe(t *testing.T) {
	info, err := New().Describe(t.Context(), protocol.Target{Address: servers.Redis(t).Addr})
	if err != nil {
		t.Fatal(err)
	}
	if info.Product != "Redis" || !strings.Contains(info.Version, ".") || info.Settings["redis_mode"] != "standalone" ||
		info.Settings["aof_enabled"] != "0" {
		t.Errorf("got %+v", info)
	}
}
