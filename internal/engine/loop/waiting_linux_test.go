package loop_test

import (
	"context"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/postgres"
)

// patiently is a language of scripts whose sessions wait twice before each of five operations, and then quit. The first
// session has nothing to send.
type patiently struct{}

func (patiently) Name() string { return "patiently" }

func (patiently) Compile(*script.Source) (script.Program, error) { return patient{}, nil }

type patient struct{}

func (patient) Requests(int) []protocol.Request {
	return []protocol.Request{{Verb: protocol.SQL, Text: "SELECT 1"}}
}

func (patient) Session(number int) script.Session { return &waiter{number: number} }

type waiter struct{ number, waits, done int }

func (w *waiter) Wait() (time.Duration, bool) {
	if w.number == 0 || w.done == 5 {
		return 0, true
	}
	if w.waits++; w.waits%3 == 0 {
		return 0, false
	}
	return time.Microsecond, false
}

func (w *waiter) Begin(int, uint64) script.Step { return w.Again() }

func (w *waiter) Again() script.Step { return script.Step{Move: script.Send, Last: true} }

func (w *waiter) Resume() script.Step { return script.Step{} }

func (w *waiter) Answered(r *protocol.Reply) script.Step {
	w.done++
	return script.Step{Failure: r.Failure}
}

func init() { script.Register(patiently{}) }

// TestSessionsWait: sessions decide when they begin operations and whether there is another one, so that a load without
// an end of its own ends.
func TestSessionsWait(t *testing.T) {
	s := servers.Postgres(t)
	p := &plan.Plan{Seed: 5, Scripts: plan.Scripts{Language: "patiently"},
		Operations: []plan.Operation{{Name: "one", Weight: 1, Script: "one"}}, Settings: plan.Settings{Sessions: 4}}
	for _, codec := range []bool{false, true} {
		w, err := workload.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		cfg := engine.FleetConfig{
			Workload: w, Driver: postgres.New(), Sessions: 4, OperationTimeout: 30 * time.Second,
			Clock: engine.NewClock(time.Now()), Collector: measure.NewCollector(len(w.Operations), 1),
			Where: engine.Where{Targets: []protocol.Target{
				{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}}},
			Dialing: engine.Dialing{ConnectTimeout: 10 * time.Second}, ForLoops: engine.ForLoops{Pipeline: 1},
		}
		fleet := connect(t, &cfg, postgres.New(), codec)
		stage := schedule.Stage{StartNs: cfg.Clock.Now(), DurationNs: 600e9}
		if _, err := fleet.Run(context.Background(), nil, stage); err != nil {
			t.Fatal(err)
		}
		cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
		if o := cfg.Collector.Total().Operations[0]; o.Done != 15 || o.Failed() != 0 {
			t.Errorf("codec tier %v: %d operations, %d failed; want 15", codec, o.Done, o.Failed())
		}
	}
}
