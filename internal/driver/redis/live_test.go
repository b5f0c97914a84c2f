package redis

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/driver"
	"brunt/internal/driver/drivertest"
	"brunt/internal/gen"
	"brunt/internal/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// tiers opens a session of each tier for a program, in both versions of the protocol, and runs f
// with each.
func tiers(t *testing.T, target driver.Target, p *driver.Program, f func(t *testing.T, c driver.Conn)) {
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
			t.Run(fmt.Sprintf("codec %s by %d", resp, piece), func(t *testing.T) { f(t, drivertest.Take(t, New(), target, p, piece)) })
		}
	}
}

func do(t *testing.T, c driver.Conn, req *driver.Request, args ...gen.Value) driver.Reply {
	t.Helper()
	var reply driver.Reply
	c.Do(drivertest.Within(t, 10*time.Second), req, args, &reply)
	return reply
}

func program(requests ...driver.Request) *driver.Program {
	return &driver.Program{Requests: requests}
}

func text(s string) gen.Value { return gen.Value{Kind: gen.String, B: []byte(s)} }

func TestBothTiersAgree(t *testing.T) {
	first := driver.Capture{}
	with := func(req driver.Request) driver.Request {
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
		capturing(command("HMGET", "h", "g", "x", "f"), first, driver.Capture{Column: 1}, driver.Capture{Column: 2, Kind: gen.Int}),
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
		"class=ok rows=1", "class=ok rows=1", `class=ok rows=1 captured=v`, "class=ok rows=1 affected=15000 captured=2:15000", "class=ok rows=0 missing",
		"affected=2", `class=ok rows=3 captured=6:"2" captured=null captured=2:1`, "class=ok", "class=ok rows=0 missing",
		`class=server code=WRONGTYPE`, `class=server code=ERR`, "class=ok affected=2", "class=ok rows=1", "class=ok", "class=ok",
		"class=server code=WRONGTYPE rows=2", "class=ok rows=3", "class=retryable code=BUSY",
	}
	tiers(t, driver.Target{Address: servers.Redis(t).Addr}, p, func(t *testing.T, c driver.Conn) {
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

// What isn't there is counted on both tiers and in both versions of the protocol.
func TestMissing(t *testing.T) {
	s := servers.Redis(t)
	commands := []struct {
		words string
		want  bool
	}{
		{"DEL m n h l", true}, {"SET m v", false}, {"HSET h f 1", false}, {"RPUSH l a", false}, {"GET m", false}, {"GET n", true},
		{"MGET m", false}, {"MGET m n", true}, {"HMGET h f x", false}, {"HMGET n f x", true}, {"HGET h x", true}, {"HGETALL h", false}, {"HGETALL n", true},
		{"LRANGE l 0 -1", false}, {"LRANGE n 0 -1", true}, {"LLEN n", true}, {"EXISTS m", false}, {"EXISTS n", true}, {"SET n v XX", true},
		{"EXPIRE n 1000", true}, {"HDEL h x", true}, {"HDEL h f", false}, {"LPUSH m x", false}, {"DEL m", false}, {"DEL m", true}, {"PING", false},
	}
	p := &driver.Program{}
	for i, c := range commands {
		r := command(strings.Fields(c.words)...)
		r.ID = i
		p.Requests = append(p.Requests, r)
	}
	tiers(t, driver.Target{Address: s.Addr}, p, func(t *testing.T, conn driver.Conn) {
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
	tiers(t, driver.Target{Address: path}, p, func(t *testing.T, c driver.Conn) {
		if r := do(t, c, &p.Requests[0]); r.Class != driver.OK || r.BytesIn != 5 {
			t.Errorf("got %+v", r)
		}
	})
	if info, err := New().Describe(t.Context(), driver.Target{Address: path}); err != nil || info.Product != "Redis" {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := New().Dial(t.Context(), driver.Target{Address: path + "x"}, p); err == nil || !strings.Contains(err.Error(), "there is no such socket") {
		t.Errorf("no such socket: %v", err)
	}
}

func show(r *driver.Reply) string {
	s := fmt.Sprintf("class=%v code=%s rows=%d affected=%d", r.Class, r.Code, r.Rows, r.Affected)
	if r.Missing {
		s += " missing"
	}
	for i := range r.Captured {
		s += " captured=" + drivertest.Text(&r.Captured[i])
	}
	return s
}

func TestPasswordAndDatabase(t *testing.T) {
	s := servers.Get(t, "with password", func(t testserver.TB) *testserver.Server {
		return testserver.Redis(t, testserver.Password("geheimnis"), testserver.Settings("user alice on >geheim2 allkeys allcommands"))
	})
	p := program(capturing(command("CLIENT", "INFO"), driver.Capture{}))
	for _, c := range []struct{ user, password, database, want string }{
		{"", "geheimnis", "3", " db=3 "},
		{"alice", "geheim2", "", " db=0 "},
	} {
		tiers(t, driver.Target{Address: s.Addr, User: c.user, Password: c.password, Database: c.database}, p, func(t *testing.T, conn driver.Conn) {
			if r := do(t, conn, &p.Requests[0]); r.Class != driver.OK || !strings.Contains(string(r.Captured[0].B), c.want) {
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
		target := driver.Target{Address: s.Addr, User: c.user, Password: c.password, Database: c.database}
		_, dial := New().Dial(t.Context(), target, p)
		_, take := New().Takeover(t.Context(), target, p)
		for tier, err := range map[string]error{"library": dial, "codec": take} {
			e := driver.AsError(err)
			if e == nil || e.Class != driver.Connect || e.Code != c.code || !strings.Contains(e.Text, c.want) || strings.Contains(e.Text, "geheim") || strings.Contains(e.Text, "falsches") {
				t.Errorf("%s, %+v: got %+v", tier, c, e)
			}
		}
	}
}

func TestTLS(t *testing.T) {
	s := testserver.Redis(t, testserver.TLS())
	p := program(command("SET", "a", "b"))
	c, err := New().Dial(t.Context(), driver.Target{Address: s.Addr, TLS: s.TLS}, p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if r := do(t, c, &p.Requests[0]); r.Class != driver.OK {
		t.Errorf("got %+v", r)
	}
	if why, ok := New().Takes(driver.Target{Address: s.Addr, TLS: s.TLS}, p); ok || !strings.Contains(why, "TLS") {
		t.Errorf("the codec takes TLS: %q", why)
	}
}

func TestCluster(t *testing.T) {
	cluster := servers.RedisCluster(t)
	set, get := command("SET", "key:$1", "$1"), capturing(command("GET", "key:$1"), driver.Capture{})
	set.Params, get.Params = []gen.Kind{gen.Int}, []gen.Kind{gen.Int}
	p := program(set, get)
	p.Requests[1].ID = 1
	target := driver.Target{Address: cluster.Addrs()[1], Options: map[string]string{"mode": "cluster"}}
	if why, ok := New().Takes(target, p); !ok {
		t.Errorf("the codec doesn't take a cluster: %q", why)
	}
	replicas := driver.Target{Address: target.Address, Options: map[string]string{"mode": "cluster", "read_only": "on"}}
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
		if r := do(t, c, &p.Requests[0], arg); r.Class != driver.OK {
			t.Fatalf("SET %d: %+v", i, r)
		}
		if r := do(t, c, &p.Requests[1], arg); r.Class != driver.OK || string(r.Captured[0].B) != fmt.Sprint(i) {
			t.Fatalf("GET %d: %+v", i, r)
		}
	}
	var moved driver.Reply
	for _, addr := range cluster.Addrs() {
		single := drivertest.Take(t, New(), driver.Target{Address: addr}, p, 100)
		if r := do(t, single, &p.Requests[1], gen.Value{Kind: gen.Int, I: 7}); r.Class == driver.Retryable {
			moved = r
		}
	}
	to, ok := ParseRedirect(moved.Text)
	if !ok || to.Slot != Slot([]byte("key:7")) {
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
	_, dial := New().Dial(t.Context(), driver.Target{Address: address}, p)
	_, take := New().Takeover(t.Context(), driver.Target{Address: address}, p)
	_, cluster := New().Dial(t.Context(), driver.Target{Address: address, Options: map[string]string{"mode": "cluster"}}, p)
	for tier, err := range map[string]error{"library": dial, "codec": take, "cluster": cluster} {
		if e := driver.AsError(err); e == nil || e.Class != driver.Connect || !strings.Contains(e.Text, "connection refused; is the server running there?") {
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
	target := driver.Target{Address: l.Addr().String(), ConnectTimeout: 100 * time.Millisecond}
	_, dial := New().Dial(t.Context(), target, p)
	_, take := New().Takeover(t.Context(), target, p)
	for tier, err := range map[string]error{"library": dial, "codec": take} {
		if e := driver.AsError(err); e == nil || e.Class != driver.Connect || !strings.Contains(e.Text, "no answer in time") {
			t.Errorf("%s: got %v", tier, err)
		}
	}
}

func TestServerDiesMidRequest(t *testing.T) {
	s := testserver.Redis(t)
	p := program(command("SET", "a", "b"))
	tiers(t, driver.Target{Address: s.Addr}, p, func(t *testing.T, c driver.Conn) {
		s.Pause()
		var reply driver.Reply
		c.Do(drivertest.Within(t, 100*time.Millisecond), &p.Requests[0], nil, &reply)
		s.Resume()
		if reply.Class != driver.UnknownOutcome || !reply.Fatal {
			t.Errorf("while paused: %+v", reply)
		}
	})
	tiers(t, driver.Target{Address: s.Addr}, p, func(t *testing.T, c driver.Conn) {
		s.Pause()
		done := make(chan driver.Reply)
		go func() { done <- do(t, c, &p.Requests[0]) }()
		s.Kill()
		if r := <-done; r.Class != driver.UnknownOutcome || !r.Fatal {
			t.Errorf("killed: %+v", r)
		}
		s.Restart()
	})
}

func TestDescribe(t *testing.T) {
	info, err := New().Describe(t.Context(), driver.Target{Address: servers.Redis(t).Addr})
	if err != nil {
		t.Fatal(err)
	}
	if info.Product != "Redis" || !strings.Contains(info.Version, ".") || info.Settings["redis_mode"] != "standalone" || info.Settings["aof_enabled"] != "0" {
		t.Errorf("got %+v", info)
	}
}
