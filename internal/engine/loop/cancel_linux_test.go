package loop_test

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/engine/pool"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/postgres"
	"brunt/test/testserver"
)

// muffler is a proxy that forwards requests and, while it is on, withholds the answers.
type muffler struct {
	address string
	on      atomic.Bool
}

func newMuffler(t *testing.T, server string) *muffler {
	t.Helper()
	m := &muffler{}
	m.address = proxy(t, server, func(server, client net.Conn) {
		buffer := make([]byte, 32<<10)
		for {
			n, err := server.Read(buffer)
			if !m.on.Load() {
				client.Write(buffer[:n])
			}
			if err != nil {
				return
			}
		}
	}, func(server, client net.Conn) { io.Copy(server, client) })
	return m
}

// proxy returns the address of a proxy whose connections are served by two functions, one for each direction. Both
// connections are closed when one of them returns.
func proxy(t *testing.T, server string, answers, requests func(server, client net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer client.Close()
				server, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				all.Go(func() { requests(server, client); server.Close() })
				answers(server, client)
			})
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return l.Addr().String()
}

// connect returns the connected sessions of a configuration, on event loops or as goroutines, until the test ends.
func connect(t *testing.T, cfg *engine.FleetConfig, d protocol.CodecDriver, onLoops bool) (fleet engine.Fleet) {
	t.Helper()
	var err error
	if onLoops {
		fleet, err = loop.NewFleet(*cfg, d)
	} else {
		fleet, err = pool.NewPool(*cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fleet.Close)
	if err := fleet.Connect(context.Background()); err != nil {
		t.Fatal(err)
	}
	return fleet
}

// onTiers runs a stage of a plan on each tier.
func onTiers(t *testing.T, d protocol.CodecDriver, p *plan.Plan, target protocol.Target, config engine.FleetConfig,
	stage schedule.Stage,
	connected func(), check func(t *testing.T, total *measure.Account)) {
	for _, name := range []string{"library", "codec"} {
		t.Run(name, func(t *testing.T) {
			w, err := workload.Compile(p)
			if err != nil {
				t.Fatal(err)
			}
			cfg := config
			cfg.Workload, cfg.Driver, cfg.Targets = w, d, []protocol.Target{target}
			cfg.ConnectTimeout, cfg.Clock = 10*time.Second, engine.NewClock(time.Now())
			cfg.Collector = measure.NewCollector(len(w.Operations), 1)
			fleet := connect(t, &cfg, d, name == "codec")
			connected()
			stage.StartNs = cfg.Clock.Now()
			if _, err := fleet.Run(context.Background(), nil, stage); err != nil {
				t.Fatal(err)
			}
			cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
			check(t, cfg.Collector.Total())
		})
	}
}

// ask returns the first value of a query's answer.
func ask(t *testing.T, s *testserver.Server, query string) (first string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	admin, err := postgres.New().Admin(ctx, protocol.Target{Address: s.Addr, User: s.User, Password: s.Password,
		Database: s.Database})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.Query(ctx, query, func(v []*string) error { first = *v[0]; return nil }); err != nil {
		t.Fatal(err)
	}
	return first
}

func awaitAnswer(t *testing.T, s *testserver.Server, query, want string) {
	t.Helper()
	got := ""
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
		if got = ask(t, s, query); got == want {
			return
		}
	}
	t.Errorf("%s: %s, want %s", query, got, want)
}

// A statement whose timeout has expired is no longer waited for, and is cancelled on the server.
func TestTimeoutCancelsTheStatement(t *testing.T) {
	s := servers.Postgres(t)
	target := protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
	p := &plan.Plan{Seed: 5,
		Operations: []plan.Operation{{Name: "sleep", Weight: 1, Steps: []plan.Step{statement("SELECT pg_sleep(1000)")}}}}
	// The server has begun a statement long before its timeout, even on a busy machine: what it begins later isn't
	// cancelled.
	onTiers(t, postgres.New(), p, target, engine.FleetConfig{Sessions: 4, OperationTimeout: 600 * time.Millisecond},
		schedule.Stage{Operations: 12}, func() {}, func(t *testing.T, total *measure.Account) {
			if o := total.Operations[0]; o.Errors[protocol.Timeout] != 12 || o.Done != 12 {
				t.Errorf("errors %v of %d, want 12 timeouts: a SELECT has written nothing", o.Errors, o.Done)
			}
			awaitAnswer(
				t, s, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()", "0")
		})
}

// late is a proxy that holds what the clients of its beginning send, once it is armed, until a request to cancel has
// been executed by the server.
type late struct {
	armed   atomic.Bool
	cancels atomic.Int64
	passed  chan struct{} // has an element for each request to cancel
}

// requests passes on what a client sends. The code of a CancelRequest is in "Message Formats" of PostgreSQL's manual.
func (l *late) requests(server, client net.Conn) {
	const cancelRequest = "\x04\xd2\x16\x2e"
	hold, buffer := !l.armed.Load(), make([]byte, 32<<10)
	for first := true; ; first = false {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if hold && l.armed.Load() {
			<-l.passed
			hold = false
		}
		server.Write(buffer[:n])
		if first && n >= 8 && string(buffer[4:8]) == cancelRequest {
			io.Copy(io.Discard, client) // it ends after the server, which closes the connection after the signal
			l.cancels.Add(1)
			l.passed <- struct{}{}
			return
		}
	}
}

// A server that hasn't begun a statement takes no notice of a request to cancel it, and is asked again.
func TestStatementsThatBeginLateAreCancelled(t *testing.T) {
	s := servers.Postgres(t)
	p := &plan.Plan{Seed: 5,
		Operations: []plan.Operation{{Name: "sleep", Weight: 1, Steps: []plan.Step{statement("SELECT pg_sleep(2000)")}}}}
	l := &late{passed: make(chan struct{}, 1000)}
	target := protocol.Target{User: s.User, Password: s.Password, Database: s.Database, Address: proxy(t, s.Addr,
		func(server, client net.Conn) { io.Copy(client, server) }, l.requests)}
	onTiers(t, postgres.New(), p, target, engine.FleetConfig{Sessions: 1, OperationTimeout: 50 * time.Millisecond},
		schedule.Stage{Operations: 1}, func() { l.armed.Store(true) }, func(t *testing.T, total *measure.Account) {
			if o := total.Operations[0]; o.Errors[protocol.Timeout] != 1 {
				t.Errorf("errors %v of %d, want a timeout", o.Errors, o.Done)
			}
			for end := time.Now().Add(time.Minute); l.cancels.Load() < 2; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("the server was asked %d times to cancel", l.cancels.Load())
				}
			}
			awaitAnswer(t, s, "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' "+
				"AND query LIKE '%pg_sleep(2000)%' AND pid <> pg_backend_pid()", "0")
			l.cancels.Store(0)
			l.armed.Store(false)
			for len(l.passed) > 0 {
				<-l.passed
			}
		})
}

// Updates that the server has applied but answers late are counted as failures with an unknown outcome.
func TestLateUpdatesAreOfUnknownOutcome(t *testing.T) {
	s := servers.Postgres(t)
	m := newMuffler(t, s.Addr)
	target := protocol.Target{Address: m.address, User: s.User, Password: s.Password, Database: s.Database,
		ConnectTimeout: 5 * time.Second}
	ask(t, s, "DROP TABLE IF EXISTS applied; CREATE TABLE applied (n int); INSERT INTO applied VALUES (0) RETURNING n")
	p := &plan.Plan{Seed: 5, Operations: []plan.Operation{
		{Name: "update", Weight: 1, Steps: []plan.Step{statement("UPDATE applied SET n = n + 1")}},
	}}
	muffle := func() { m.on.Store(true) }
	want := 0
	onTiers(t, postgres.New(), p, target, engine.FleetConfig{Sessions: 5, OperationTimeout: 300 * time.Millisecond},
		schedule.Stage{Operations: 5}, muffle, func(t *testing.T, total *measure.Account) {
			m.on.Store(false)
			if o := total.Operations[0]; o.Errors[protocol.UnknownOutcome] != 5 || o.Done != 5 {
				t.Errorf("errors %v of %d, want 5 of unknown outcome", o.Errors, o.Done)
			}
			want += 5
			awaitAnswer(t, s, "SELECT n FROM applied", map[int]string{5: "5", 10: "10"}[want])
		})
}
