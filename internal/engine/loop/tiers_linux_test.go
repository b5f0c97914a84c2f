package loop_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/gen"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/postgres"
)

// outcome returns the results in which the two tiers must agree.
func outcome(iv *measure.Account) (out []string) {
	for i := range iv.Operations {
		o := &iv.Operations[i]
		out = append(out, fmt.Sprintf("operation %d: %d done, errors %v, missing %d", i, o.Done, o.Errors, o.Missing))
	}
	return out
}

// onTier runs the stages and returns what was recorded.
func onTier(t *testing.T, p *plan.Plan, target protocol.Target, d protocol.CodecDriver, codec bool) []string {
	t.Helper()
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	cfg := engine.FleetConfig{
		Workload: w, Driver: d, Sessions: 4, OperationTimeout: 30 * time.Second, Clock: engine.NewClock(time.Now()),
		Collector: measure.NewCollector(len(w.Operations), 1), Where: engine.Where{Targets: []protocol.Target{target}},
		Dialing: engine.Dialing{ConnectTimeout: 10 * time.Second}, Retrying: engine.Retrying{Retries: 100},
		ForLoops: engine.ForLoops{Pipeline: 1},
	}
	if why, ok := d.Takes(target, &w.Program); codec && !ok {
		t.Fatal(why)
	}
	fleet := connect(t, &cfg, d, codec)
	shape, err := schedule.NewShape([]schedule.Segment{{DurationNs: 2e8, RateFrom: 1000, RateTo: 1000}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	next := uint64(0)
	for _, s := range []schedule.Stage{{Operations: 400}, {Shape: shape}} {
		s.First, s.StartNs = next, cfg.Clock.Now()
		if next, err = fleet.Run(context.Background(), nil, s); err != nil {
			t.Fatal(err)
		}
	}
	if next != 600 {
		t.Errorf("codec tier %v: next is %d, want 600", codec, next)
	}
	cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
	return outcome(cfg.Collector.Total())
}

func between(lo, hi int64) plan.Param {
	return plan.Param{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger, HasRange: true, IntLo: lo, IntHi: hi}}}
}

func statement(text string, params ...plan.Param) plan.Step {
	return plan.Step{Request: protocol.Request{Verb: protocol.SQL, Text: text}, Params: params}
}

func TestTiersAgreeOnPostgreSQL(t *testing.T) {
	s := servers.Postgres(t)
	target := protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
	admin, err := postgres.New().Admin(context.Background(), target)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	for _, q := range []string{
		"DROP TABLE IF EXISTS account",
		"CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL)",
		"INSERT INTO account SELECT g, 0 FROM generate_series(0, 9) g",
	} {
		if _, err := admin.Exec(context.Background(), q); err != nil {
			t.Fatal(err)
		}
	}
	read := statement("SELECT balance FROM account WHERE id = $1", between(0, 9))
	read.Request.Capture = []protocol.Capture{{Column: 0, Kind: gen.Int}}
	write := statement("UPDATE account SET balance = $1::bigint + 1 WHERE id = $2",
		plan.Param{Step: 0, Index: 0}, plan.Param{Step: 0, Index: 0, Argument: true})
	p := &plan.Plan{Seed: 5, Operations: []plan.Operation{
		{Name: "count up", Weight: 2, Transaction: true, Isolation: "serializable", Steps: []plan.Step{read, write}},
		{Name: "read", Weight: 2, Steps: []plan.Step{statement("SELECT * FROM account WHERE id = $1", between(0, 20))}},
		{Name: "fail", Weight: 1, Steps: []plan.Step{statement("SELECT 1/($1::bigint - $1::bigint)", between(0, 9))}},
		{Name: "fail inside", Weight: 1, Transaction: true, Steps: []plan.Step{
			statement("UPDATE account SET balance = -1000000 WHERE id = $1", between(0, 9)),
			statement("SELECT 1/($1::bigint - $1::bigint)", between(0, 9)),
		}},
	}}
	library, codec := onTier(t, p, target, postgres.New(), false), onTier(t, p, target, postgres.New(), true)
	if !slices.Equal(library, codec) {
		t.Errorf("library tier: %v\ncodec tier:   %v", library, codec)
	}
	var sum string
	err = admin.Query(context.Background(), "SELECT sum(balance)::text FROM account",
		func(v []*string) error { sum = *v[0]; return nil })
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	ups := 0
	for i := range uint64(600) {
		if w.Pick(i) == 0 {
			ups++
		}
	}
	if want := fmt.Sprint(2 * ups); sum != want {
		t.Errorf("the accounts hold %s after %s increments", sum, want)
	}
}
