package redis

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/testserver"
)

var pool testserver.Pool

func TestMain(m *testing.M) { os.Exit(pool.Run(m)) }

// driver sends commands to a server.
type driver struct {
	t *testing.T
	client
}

func drive(t *testing.T, address string) *driver {
	t.Helper()
	d := &driver{t, client{target: protocol.Target{Address: address}, asked: map[string]float64{}}}
	if err := d.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	d.do("CLIENT SETNAME driver") // sessions of inspectors aren't looked at
	return d
}

// do sends a command, whose words are separated by spaces.
func (d *driver) do(text string) any {
	answer, err := d.ask(d.t.Context(), strings.Fields(text)...)
	if err != nil && code(err) == "" {
		d.t.Fatalf("%s: %v", text, err)
	}
	return answer
}

func (d *driver) times(n int, text string) {
	for range n {
		d.do(text)
	}
}

// watched inspects a server while load runs. It samples after load.
func watched(t *testing.T, url string, operations []inspect.Operation, load func(i *Inspector)) *record.Inspection {
	t.Helper()
	i, err := New(url)
	if err != nil {
		t.Fatal(err)
	}
	return inspecttest.Run(t, i, load, operations...)
}

func ids(in *record.Inspection) (all []string) {
	for _, f := range in.Findings {
		all = append(all, f.ID)
	}
	return all
}

func operation(name string, words ...string) inspect.Operation {
	return inspect.Operation{Name: name, Done: 1, Requests: []*protocol.Request{{Verb: protocol.Command, Words: words}}}
}

// A planted cause is found, and nothing is found in a healthy server.
func TestPlantedCauses(t *testing.T) {
	operations := []inspect.Operation{operation("one", "GET", "k:$1"), operation("all", "KEYS", "k:*$1")}
	for _, c := range []struct {
		name, want string
		prepare    string
		load       func(d *driver)
		says       string
	}{
		{"healthy", "", "", func(d *driver) {
			for k := range 300 {
				d.do(fmt.Sprintf("SET k:%d 1", k))
				d.do(fmt.Sprintf("GET k:%d", k))
			}
		}, ""},
		{"keys", FindSlowCommand, "EVAL fill 0", func(d *driver) { d.times(4, "KEYS k:*7") }, "KEYS (all)"},
		{"script", FindSlowScript, "", func(d *driver) {
			for range 4 {
				_, _ = d.ask(d.t.Context(), "EVAL", "local n=0 for i=1,3000000 do n=n+i end return n", "0")
			}
		}, "EVAL"},
		{"large", FindBigValue, "", func(d *driver) {
			_, _ = d.ask(d.t.Context(), "SET", "k:large", strings.Repeat("x", 1<<20))
			d.times(10, "GET k:large")
		}, ""},
		{"oom", FindOOM, "CONFIG SET maxmemory 1", func(d *driver) { d.times(5, "SET k:1 1") }, ""},
		{"eviction", FindEviction, "CONFIG SET maxmemory-policy allkeys-lru", func(d *driver) {
			for k := range 200 {
				d.do(fmt.Sprintf("SET k:%d 1", k))
			}
			d.do("CONFIG SET maxmemory 1")
			d.times(5, "SET k:1 1")
		}, ""},
		{"errors", FindErrors, "SET k:1 1", func(d *driver) { d.times(50, "LPUSH k:1 1") }, "WRONGTYPE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := pool.Get(t, "plain", func(t testserver.TB) *testserver.Server { return testserver.Redis(t) })
			d := drive(t, s.Addr)
			for _, text := range []string{"CONFIG SET maxmemory 0", "CONFIG SET maxmemory-policy noeviction", "FLUSHALL"} {
				d.do(text)
			}
			if c.prepare == "EVAL fill 0" {
				_, _ = d.ask(t.Context(), "EVAL", "for i=1,200000 do redis.call('SET','k:'..i,'x') end", "0")
			} else if c.prepare != "" {
				d.do(c.prepare)
			}
			d.do("CONFIG RESETSTAT")
			out := watched(t, "redis://"+s.Addr, operations, func(*Inspector) { c.load(d) })
			if c.want == "" {
				if len(out.Findings) > 0 {
					t.Errorf("found %v in a healthy server: %s", ids(out), out.Findings[0].Evidence.String())
				}
				if got := out.Windows[0].Statements; !slices.ContainsFunc(got, func(s record.Statement) bool {
					return s.ID == "get" && s.Calls == 300 && slices.Equal(s.Operations, []string{"one"})
				}) || slices.ContainsFunc(got, func(s record.Statement) bool { return s.ID == "info" }) {
					t.Errorf("statements %+v, want 300 of get by one, and none of info", got)
				}
				return
			}
			if !slices.Contains(ids(out), c.want) || !strings.Contains(out.Findings[0].Subject, c.says) {
				t.Errorf("found %+v, want %s about %q", out.Findings, c.want, c.says)
			}
		})
	}
}

// Answers that a client doesn't read stay in the server's memory.
func TestSlowReader(t *testing.T) {
	s := pool.Get(t, "plain", func(t testserver.TB) *testserver.Server { return testserver.Redis(t) })
	d, lazy := drive(t, s.Addr), drive(t, s.Addr)
	d.do("CONFIG SET maxmemory 0")
	_, _ = d.ask(t.Context(), "SET", "k:large", strings.Repeat("x", 4<<20))
	out := watched(t, s.Addr, nil, func(i *Inspector) {
		for range 4 {
			if _, err := lazy.conn.Write(encode([]string{"GET", "k:large"})); err != nil {
				t.Fatal(err)
			}
		}
		n := i.nodes[0]
		slow := 0
		for tries := 0; slow < 2 && tries < 500; tries++ {
			if err := n.sample(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, h := range n.held {
				slow = max(slow, h.times)
			}
		}
	})
	if !slices.Contains(ids(out), FindSlowReader) {
		t.Errorf("found %v, want %s", ids(out), FindSlowReader)
	}
}

// Whose connections there are is known by their names and, of those of this process, by their addresses. If the load
// sends commands over sessions of neither kind, theirs can't be told from others.
func TestConnectionsAreCounted(t *testing.T) {
	s := testserver.Redis(t)
	for _, name := range []string{protocol.SessionName, protocol.SessionName, "cart"} {
		elsewhere(t, s, name)
	}
	drive(t, s.Addr) // a session of a script, which has a name of its own
	sampled := func(i *Inspector) {
		for range 3 {
			if err := i.sample(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	out := watched(t, s.Addr, []inspect.Operation{operation("get", "GET", "k")}, sampled)
	if out.SeesWork() || len(out.Activity.Clients) != 2 {
		t.Fatalf("%+v", out.Activity.Clients)
	}
	for k, want := range []record.ClientPool{
		{Application: protocol.SessionName, Address: s.Host, Mean: 3, Max: 3, Generator: true},
		{Application: "cart", Address: s.Host, Mean: 1, Max: 1},
	} {
		if got := out.Activity.Clients[k]; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	unnamed := testserver.Redis(t)
	elsewhere(t, unnamed, "cart")
	out = watched(t, unnamed.Addr, []inspect.Operation{operation("get", "GET", "k")}, sampled)
	if out.Activity.Clients != nil {
		t.Errorf("%+v, though the load's sessions have no name", out.Activity.Clients)
	}
}

// elsewhere opens a session of another program.
func elsewhere(t *testing.T, s *testserver.Server, name string) {
	t.Helper()
	cmd := exec.Command("redis-cli", "-h", s.Host, "-p", fmt.Sprint(s.Port))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("redis-cli (apt-get install -y redis-tools): %v", err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	fmt.Fprintf(in, "CLIENT SETNAME %s\n", name)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "OK\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

// A replica that is synchronized in full again is found.
func TestResync(t *testing.T) {
	primary, replica := testserver.Redis(t), testserver.Redis(t)
	to := drive(t, replica.Addr)
	out := watched(t, primary.Addr, nil, func(i *Inspector) {
		to.do(fmt.Sprintf("REPLICAOF %s %d", primary.Host, primary.Port))
		for tries := 0; i.nodes[0].last.number("sync_full") == 0 && tries < 2000; tries++ {
			protocol.Sleep(t.Context(), 5*time.Millisecond)
			if err := i.nodes[0].sample(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
	if !slices.Contains(ids(out), FindResync) {
		t.Errorf("found %v, want %s", ids(out), FindResync)
	}
}

// What a user may not ask is said, with what to grant; the rest works.
func TestRights(t *testing.T) {
	s := pool.Get(t, "plain", func(t testserver.TB) *testserver.Server { return testserver.Redis(t) })
	d := drive(t, s.Addr)
	d.do("ACL SETUSER some on >word ~* +info +get")
	d.do("ACL SETUSER none on >word ~* +get")
	out := watched(t, "redis://some:word@"+s.Addr, nil, func(*Inspector) { d.do("GET k") })
	if len(out.Missing) == 0 || !strings.Contains(out.Missing[0].Remedy.String(), "ACL SETUSER some") {
		t.Errorf("missing %+v", out.Missing)
	}
	for url, want := range map[string]string{
		"redis://none:word@" + s.Addr:  "ACL SETUSER none +info",
		"redis://none:wrong@" + s.Addr: "check user and password",
		"redis://127.0.0.1:1":          "",
	} {
		i, err := New(url)
		if err != nil {
			t.Fatal(err)
		}
		err = i.Begin(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
		i.Close()
	}
}

// What was counted before a reset isn't lost, and the reset is said. The latency monitor is switched on and off again.
func TestResetDuringTheLoad(t *testing.T) {
	s := pool.Get(t, "plain", func(t testserver.TB) *testserver.Server { return testserver.Redis(t) })
	d := drive(t, s.Addr)
	out := watched(t, s.Addr+"?latency-monitor=3", nil, func(i *Inspector) {
		if got := d.do("CONFIG GET latency-monitor-threshold"); fmt.Sprint(got) != "[latency-monitor-threshold 3]" {
			t.Errorf("%v", got)
		}
		d.times(100, "GET k")
		if err := i.nodes[0].sample(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.do("CONFIG RESETSTAT")
		d.times(20, "GET k")
	})
	for _, s := range out.Windows[0].Statements {
		if s.ID == "get" && s.Calls != 120 {
			t.Errorf("%v calls, want 120", s.Calls)
		}
	}
	if len(out.Missing) != 1 || out.Missing[0].Text.ID != "inspect-redis-reset" {
		t.Errorf("%+v", out.Missing)
	}
	if got := d.do("CONFIG GET latency-monitor-threshold"); fmt.Sprint(got) != "[latency-monitor-threshold 0]" {
		t.Errorf("%v", got)
	}
}

// Each node of a cluster is asked, whichever is named.
func TestCluster(t *testing.T) {
	c := testserver.RedisCluster(t)
	i, err := New(c.Nodes[1].Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if err := i.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := drive(t, c.Nodes[0].Addr)
	for k := range 60 {
		d.do(fmt.Sprintf("GET k:%d", k)) // two thirds of the keys are at other nodes
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := i.End(ctx, inspect.Phase{Name: "load"}, inspect.Load{})
	if err != nil || len(i.nodes) != 3 {
		t.Fatalf("%d nodes, %v", len(i.nodes), err)
	}
	if !slices.Contains(ids(out), FindMoved) {
		t.Errorf("found %v, want %s", ids(out), FindMoved)
	}
}

// A proxy that passes on connections is no hindrance. With several servers behind it, whose figures can't be compared,
// that is said.
func TestProxyOfConnections(t *testing.T) {
	s := pool.Get(t, "plain", func(t testserver.TB) *testserver.Server { return testserver.Redis(t) })
	out := watched(t, testserver.HAProxyTCP(t, s.Addr).Addr, nil, func(*Inspector) {
		drive(t, s.Addr).times(20, "GET k")
	})
	if len(out.Missing) > 0 || !slices.ContainsFunc(out.Windows[0].Statements, func(s record.Statement) bool {
		return s.ID == "get" && s.Calls == 20
	}) {
		t.Errorf("%+v, %+v", out.Missing, out.Windows[0].Statements)
	}
	other := testserver.Redis(t)
	out = watched(t, testserver.HAProxyTCP(t, s.Addr, other.Addr).Addr, nil, func(i *Inspector) {
		n := i.nodes[0]
		n.began = time.Now().Add(time.Hour) // both servers were there before
		for k := 0; k < 10 && n.other == ""; k++ {
			n.client.close()
			if err := n.snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
	if len(out.Missing) != 1 || !strings.Contains(out.Missing[0].Text.String(), "several servers") {
		t.Errorf("%+v", out.Missing)
	}
	out = watched(t, other.Addr, nil, func(i *Inspector) {
		other.Restart()
		i.nodes[0].client.close()
	})
	if len(out.Missing) != 1 || out.Missing[0].Text.ID != "inspect-restarted" {
		t.Errorf("%+v", out.Missing)
	}
}

// A proxy that passes on the load's commands doesn't answer questions: that is said, with what to do, and isn't waited
// for.
func TestProxyIsSaid(t *testing.T) {
	s := pool.Get(t, "plain", func(t testserver.TB) *testserver.Server { return testserver.Redis(t) })
	p := testserver.Twemproxy(t, s.Addr)
	c, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(encode([]string{"GET", "nothing"})); err != nil {
		t.Fatal(err)
	}
	if got, err := read(bufio.NewReader(c)); got != nil || err != nil {
		t.Fatalf("the proxy says %v, %v", got, err)
	}
	i, err := New("redis://" + p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if err := i.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "name the servers behind it") {
		t.Error(err)
	}
}
