package loop_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/postgres"
)

// TestReconnect lets each operation write down the process that served it: the server has one for each connection.
func TestReconnect(t *testing.T) {
	s := servers.Postgres(t)
	target := protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
	admin, err := postgres.New().Admin(context.Background(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	p := &plan.Plan{Seed: 1, Operations: []plan.Operation{{Name: "who", Weight: 1,
		Steps: []plan.Step{statement("INSERT INTO served VALUES (pg_backend_pid())")}}}}
	for _, codec := range []bool{false, true} {
		for _, sql := range []string{"DROP TABLE IF EXISTS served", "CREATE TABLE served (pid int)"} {
			if _, err := admin.Exec(context.Background(), sql); err != nil {
				t.Fatal(err)
			}
		}
		w, err := workload.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		var dialed atomic.Int64
		cfg := engine.FleetConfig{
			Workload: w, Driver: postgres.New(), Sessions: 2, OperationTimeout: 30 * time.Second,
			Clock: engine.NewClock(time.Now()), Collector: measure.NewCollector(len(w.Operations), 1),
			Where:    engine.Where{Targets: []protocol.Target{target}},
			Dialing:  engine.Dialing{ConnectTimeout: 10 * time.Second, Reconnect: true, OnDial: func(int64) { dialed.Add(1) }},
			ForLoops: engine.ForLoops{Pipeline: 1},
		}
		fleet := connect(t, &cfg, postgres.New(), codec)
		shape, err := schedule.NewShape([]schedule.Segment{{DurationNs: 2e8, RateFrom: 50, RateTo: 50}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		next := uint64(0)
		for _, stage := range []schedule.Stage{{Operations: 10}, {Shape: shape}} {
			stage.First, stage.StartNs = next, cfg.Clock.Now()
			if next, err = fleet.Run(context.Background(), nil, stage); err != nil {
				t.Fatal(err)
			}
		}
		cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
		total := cfg.Collector.Total()
		if o := &total.Operations[0]; o.Done != 20 || o.Failed() != 0 {
			t.Errorf("codec tier %v: %d done, %d failed, want 20 and 0", codec, o.Done, o.Failed())
		}
		if n := total.Addresses[0].Reconnects; n != 0 {
			t.Errorf("codec tier %v: %d connections count as lost", codec, n)
		}
		if n := dialed.Load(); n < 20 || n > 22 {
			t.Errorf("codec tier %v: %d connections, want one for each of 20 operations", codec, n)
		}
		var served string
		err = admin.Query(context.Background(), "SELECT count(DISTINCT pid) FROM served", func(v []*string) error {
			served = *v[0]
			return nil
		})
		if err != nil || served != "20" {
			t.Errorf("codec tier %v: %s processes served 20 operations: %v", codec, served, err)
		}
	}
}
