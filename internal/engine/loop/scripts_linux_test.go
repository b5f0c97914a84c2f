package loop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/gen"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/postgres"
)

// stepping is a language of scripts with five words: walk sends a second request, after a pause, if the answer to the
// first is odd; again fails the first attempt at every operation; quiet sends nothing; hasty awaits the answer to a
// long request for a moment, and forks sends requests together. A session quits after turns, and has given up then if
// its last operation failed.
type stepping struct {
	turns int
	mu    sync.Mutex
	seen  []int // numbers of the sessions that have run something
}

func (*stepping) Name() string { return "stepping" }

func (l *stepping) Compile(s *script.Source) (script.Program, error) {
	p := steps{l: l}
	for i, op := range s.Operations {
		if !slices.Contains([]string{"walk", "again", "quiet", "hasty", "forks"}, op.Text) {
			return nil, &script.Error{Operation: i, Line: 1, Column: 2, Text: fmt.Sprintf("%q is unknown", op.Text)}
		}
		p.words = append(p.words, op.Text)
	}
	return p, nil
}

type steps struct {
	l     *stepping
	words []string
}

func (steps) Requests(int) []protocol.Request {
	return []protocol.Request{
		{Verb: protocol.SQL, Text: "SELECT $1::bigint", Params: []gen.Kind{gen.Int},
			Capture: []protocol.Capture{{Column: 0, Kind: gen.Int}}},
		{Verb: protocol.SQL, Text: "SELECT $1::bigint, 'odd'", Params: []gen.Kind{gen.Int}},
		{Verb: protocol.SQL, Text: "SELECT $1::bigint, pg_sleep(3600)", Params: []gen.Kind{gen.Int}},
	}
}

// Counters: walk counts its second requests, and again its attempts.
func (p steps) Counters(operation int) []string {
	return map[string][]string{"walk": {"calls", "second requests"}, "again": {"attempts"}}[p.words[operation]]
}

func (p steps) Session(number int) script.Session { return &stepper{p: p, number: number} }

type stepper struct {
	p         steps
	number    int
	done      int
	word      string
	args      [1]gen.Value
	attempts  int
	answers   int
	failed    bool
	counts    [2]uint32
	lastIndex uint64
}

func (s *stepper) Begin(operation int, index uint64) script.Step {
	if s.done++; s.done == 1 {
		s.p.l.mu.Lock()
		s.p.l.seen = append(s.p.l.seen, s.number)
		s.p.l.mu.Unlock()
	}
	s.word, s.attempts, s.lastIndex = s.p.words[operation], 0, index
	return s.Again()
}

func (s *stepper) Again() script.Step {
	s.attempts++
	s.answers = 0
	if s.word == "quiet" {
		return s.end(protocol.Failure{})
	}
	s.args[0].SetInt(int64(s.lastIndex))
	switch s.word {
	case "hasty":
		return script.Step{Move: script.Send, Request: 2, Args: s.args[:], Silence: 20 * time.Millisecond, Last: true}
	case "forks":
		return script.Step{Move: script.Fork}
	}
	return script.Step{Move: script.Send, Args: s.args[:]}
}

func (s *stepper) Aborted() bool { return s.failed }

func (s *stepper) end(f protocol.Failure) script.Step {
	s.failed = f.Class != protocol.OK
	s.counts = [2]uint32{1, uint32(max(s.answers-1, 0))}
	if s.word == "again" {
		s.counts[0] = uint32(s.attempts)
	}
	fails := s.word == "hasty" || s.word == "forks"
	quit := s.p.l.turns > 0 && s.done >= s.p.l.turns && (f.Class == protocol.OK || fails)
	return script.Step{Failure: f, Counts: s.counts[:], Quit: quit}
}

func (s *stepper) Answered(r *protocol.Reply) script.Step {
	s.answers++
	switch {
	case r.Class != protocol.OK:
		return s.end(r.Failure)
	case s.word == "again" && s.attempts == 1:
		return s.end(protocol.Failure{Class: protocol.Retryable, Code: "once", Text: "the first attempt"})
	case s.word == "walk" && s.answers == 1 && r.Captured[0].I%2 == 1:
		return script.Step{Move: script.Pause, Pause: time.Microsecond}
	}
	return s.end(protocol.Failure{})
}

func (s *stepper) Resume() script.Step {
	return script.Step{Move: script.Send, Request: 1, Args: s.args[:], Last: true}
}

var language = &stepping{}

func init() { script.Register(language) }

// TestScriptsOnBothTiers lets sessions quit after 100 operations each, so that a load without an end of its own ends.
func TestScriptsOnBothTiers(t *testing.T) {
	s := servers.Postgres(t)
	target := protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
	p := &plan.Plan{Seed: 5, Scripts: plan.Scripts{Language: "stepping"}, Operations: []plan.Operation{
		{Name: "walk", Weight: 1, Script: "walk"},
		{Name: "again", Weight: 1, Script: "again"},
		{Name: "quiet", Weight: 1, Script: "quiet"},
		{Name: "plain", Weight: 1, Steps: []plan.Step{statement("SELECT $1::bigint", between(0, 9))}},
	}, Settings: plan.Settings{Sessions: 4, SessionsBefore: 10}}
	language.turns = 100
	defer func() { language.turns = 0 }()
	for _, codec := range []bool{false, true} {
		language.seen = nil
		w, err := workload.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		requests, whole := map[[2]int]int{}, uint64(0)
		w.TimedRequests = func(m workload.Timing) {
			language.mu.Lock()
			defer language.mu.Unlock()
			requests[[2]int{m.Operation, m.Step}]++
			if m.Session < 0 || m.Session > 3 {
				t.Errorf("a request of session %d", m.Session)
			}
		}
		w.Timed = func(workload.Timing) {
			language.mu.Lock()
			defer language.mu.Unlock()
			whole++
		}
		cfg := engine.FleetConfig{
			Workload: w, Driver: postgres.New(), Sessions: 4, OperationTimeout: 30 * time.Second,
			Clock: engine.NewClock(time.Now()), Collector: measure.NewCollector(len(w.Operations), 1),
			Where:   engine.Where{Targets: []protocol.Target{target}},
			Dialing: engine.Dialing{ConnectTimeout: 10 * time.Second}, Retrying: engine.Retrying{Retries: 3},
			ForLoops: engine.ForLoops{Pipeline: 1},
		}
		fleet := connect(t, &cfg, postgres.New(), codec)
		next, err := fleet.Run(context.Background(), nil, schedule.Stage{StartNs: cfg.Clock.Now(), DurationNs: 600e9})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
		total := cfg.Collector.Total()
		done, odd := make([]uint64, 4), 0
		for i := range next {
			if w.Pick(i) == 0 && i%2 == 1 {
				odd++
			}
		}
		scripted := uint64(0)
		for i := range total.Operations {
			o := &total.Operations[i]
			if done[i] = o.Done; o.Failed() != 0 {
				t.Errorf("codec tier %v: %s: %d failed", codec, w.Operations[i].Name, o.Failed())
			}
			if i < 3 {
				scripted += o.Done
			}
		}
		if scripted != 400 {
			t.Errorf("codec tier %v: %v operations are done, want 400 that are scripts", codec, done)
		}
		if n := total.Operations[0].Script; n[0] != done[0] || n[1] != uint64(odd) {
			t.Errorf("codec tier %v: counted %v, want %d calls and %d second requests", codec, n, done[0], odd)
		}
		if n := total.Operations[1].Script[0]; n != 2*done[1] {
			t.Errorf("codec tier %v: counted %d attempts of %d operations", codec, n, done[1])
		}
		if names := w.Operations[0].Counters; !slices.Equal(names, []string{"calls", "second requests"}) {
			t.Errorf("counters are called %q", names)
		}
		if a := total.Operations[1]; a.Attempts != 2*a.Done {
			t.Errorf("codec tier %v: %d attempts at %d operations that fail once", codec, a.Attempts, a.Done)
		}
		if whole != next {
			t.Errorf("codec tier %v: %d of %d operations are timed", codec, whole, next)
		}
		if n := requests[[2]int{0, 0}]; uint64(n) != done[0] {
			t.Errorf("codec tier %v: %d first requests of %d operations", codec, n, done[0])
		}
		if n := requests[[2]int{0, 1}]; n != odd {
			t.Errorf("codec tier %v: %d second requests, want %d for the odd answers", codec, n, odd)
		}
		slices.Sort(language.seen)
		if want := []int{10, 11, 12, 13}; !slices.Equal(language.seen, want) {
			t.Errorf("codec tier %v: sessions %v, want %v", codec, language.seen, want)
		}
	}
}

// A script limits how long its server may be silent, and is told what its connection can't do.
func TestScriptsThatFailOnBothTiers(t *testing.T) {
	s := servers.Postgres(t)
	target := protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
	language.turns = 3
	defer func() { language.turns = 0 }()
	for word, class := range map[string]protocol.Class{"hasty": protocol.Timeout, "forks": protocol.Client} {
		for _, codec := range []bool{false, true} {
			w, err := workload.Compile(&plan.Plan{Scripts: plan.Scripts{Language: "stepping"},
				Operations: []plan.Operation{{Name: word, Weight: 1, Script: word}}, Settings: plan.Settings{Sessions: 2}})
			if err != nil {
				t.Fatal(err)
			}
			cfg := engine.FleetConfig{
				Workload: w, Driver: postgres.New(), Sessions: 2, OperationTimeout: time.Hour,
				Clock: engine.NewClock(time.Now()), Collector: measure.NewCollector(1, 1),
				Where:    engine.Where{Targets: []protocol.Target{target}},
				Dialing:  engine.Dialing{ConnectTimeout: 10 * time.Second},
				ForLoops: engine.ForLoops{Pipeline: 1},
			}
			fleet := connect(t, &cfg, postgres.New(), codec)
			stage := schedule.Stage{StartNs: cfg.Clock.Now(), DurationNs: 3600e9}
			if _, err := fleet.Run(context.Background(), nil, stage); err != nil {
				t.Fatal(err)
			}
			cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
			if o := &cfg.Collector.Total().Operations[0]; o.Done != 6 || o.Errors[class] != 6 || o.Aborted != 2 {
				t.Errorf("codec tier %v: %s: %d done, failures %v, %d sessions gave up", codec, word, o.Done, o.Errors, o.Aborted)
			}
		}
	}
}

func TestScriptProblems(t *testing.T) {
	op := plan.Operation{Name: "a", Weight: 1, Script: "run"}
	for want, p := range map[string]*plan.Plan{
		`operation "a", line 1, column 2: "run" is unknown`:                                                  {Scripts: plan.Scripts{Language: "stepping"}},
		`the language of scripts "none" is unknown; this program has patiently, stepping`:                    {Scripts: plan.Scripts{Language: "none"}},
		`operation "a" is a script, and the plan doesn't say in which language; add scripts with a language`: {},
	} {
		p.Operations = []plan.Operation{op}
		_, err := workload.Compile(p)
		var problems plan.Problems
		if !errors.As(err, &problems) || len(problems) != 1 || problems[0].String() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
