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
	net.Listener
	server string
	on     atomic.Bool
	all    sync.WaitGroup
}

func newMuffler(t *testing.T, server string) *muffler {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &muffler{Listener: l, server: server}
	m.all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			m.all.Go(func() { m.relay(client) })
		}
	})
	t.Cleanup(func() { l.Close(); m.all.Wait() })
	return m
}

func (m *muffler) relay(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", m.server)
	if err != nil {
		return
	}
	m.all.Go(func() { io.Copy(server, client); server.Close() })
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

// Updates that the server has applied but answers late are counted as failures with an unknown outcome.
func TestLateUpdatesAreOfUnknownOutcome(t *testing.T) {
	s := servers.Postgres(t)
	m := newMuffler(t, s.Addr)
	target := protocol.Target{Address: m.Addr().String(), User: s.User, Password: s.Password, Database: s.Database,
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
