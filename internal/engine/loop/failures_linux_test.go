package loop_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/gen"
	"brunt/internal/load/schedule"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/echo"
)

func TestTimeout(t *testing.T) {
	for _, pipeline := range []int{1, 4} {
		b := newBench(t, options{config: engine.FleetConfig{
			OperationTimeout: 40 * time.Millisecond, ForLoops: engine.ForLoops{Pipeline: pipeline},
		}})
		b.servers[0].Pause()
		b.run(schedule.Stage{Operations: 4})
		o := b.total().Operations[0]
		if o.Errors[protocol.UnknownOutcome]+o.Errors[protocol.Connect] != 4 || o.Errors[protocol.UnknownOutcome] == 0 {
			t.Errorf("pipeline %d: errors %v; want 4 calls of unknown outcome, or that failed to connect", pipeline, o.Errors)
		}
		for _, s := range b.watcher.samples[:1] {
			if s.End-s.Sent < 39e6 {
				t.Errorf("timed out after %d ns", s.End-s.Sent)
			}
		}
		b.servers[0].Resume()
		b.run(schedule.Stage{First: 8, Operations: 80, DurationNs: int64(20 * time.Second)})
		if o := b.total().Operations[0]; o.OK() < 70 {
			t.Errorf("pipeline %d: %d succeeded after the timeouts, want 80", pipeline, o.OK())
		}
	}
}

func TestAddressDiesAndReturns(t *testing.T) {
	b := newBench(t, options{servers: make([]echo.Config, 2), config: engine.FleetConfig{
		Sessions: 6, ForLoops: engine.ForLoops{Loops: 2},
	}})
	ctx, cancel := context.WithCancel(context.Background())
	var back atomic.Int32
	b.watcher.onReconnect = func() {
		if back.Add(1) == 3 {
			cancel()
		}
	}
	go func() {
		for b.servers[1].Requests() < 100 {
			time.Sleep(time.Millisecond)
		}
		b.servers[1].Kill()
		at := b.servers[0].Requests()
		for b.servers[0].Requests() < at+100 {
			time.Sleep(time.Millisecond)
		}
		if err := b.servers[1].Return(); err != nil {
			t.Error(err)
			cancel()
		}
	}()
	next, err := b.fleet.Run(ctx, nil, schedule.Stage{StartNs: b.clock.Now()})
	if err != nil {
		t.Fatal(err)
	}
	b.run(schedule.Stage{First: next, Operations: 60})
	total := b.total()
	o := total.Operations[0]
	if o.Failed() != o.Errors[protocol.UnknownOutcome]+o.Errors[protocol.Connect] || o.Failed() > 3 {
		t.Errorf("failures by class: %v; want at most one a session of the dead address", o.Errors)
	}
	if a := total.Addresses; a[1].Reconnects != 3 || a[0].Reconnects != 0 || a[0].Failed() != 0 || a[1].Up != 3 {
		t.Errorf("reconnects %d and %d, failures %d and %d, up %d", a[0].Reconnects, a[1].Reconnects, a[0].Failed(),
			a[1].Failed(), a[1].Up)
	}
}

func TestNoServer(t *testing.T) {
	o := options{absent: true, config: engine.FleetConfig{Sessions: 2, OperationTimeout: 30 * time.Millisecond}}
	b := newBench(t, o)
	b.servers[0].Kill()
	var e *protocol.Error
	if err := b.fleet.Connect(context.Background()); !errors.As(err, &e) || e.Class != protocol.Connect {
		t.Fatalf("connected to nothing: %v", err)
	}
	b.run(openStage(t, 1000, 50*time.Millisecond))
	if o := b.total().Operations[0]; o.Errors[protocol.Connect]+o.Dropped() != 50 || o.Errors[protocol.Connect] == 0 {
		t.Errorf("%d failed to connect, %d dropped; want 50 together", o.Errors[protocol.Connect], o.Dropped())
	}
	b.run(schedule.Stage{First: 50, Operations: 2})
	if err := b.servers[0].Return(); err != nil {
		t.Fatal(err)
	}
	b.run(schedule.Stage{First: 52, Operations: 100, DurationNs: int64(20 * time.Second)})
	if o := b.total().Operations[0]; o.OK() == 0 {
		t.Error("nothing succeeded after the server's return")
	}
}

// answers chooses the answers by the operation's number.
type answers struct {
	mu    sync.Mutex
	tries map[int64]int
	say   func(number int64, try int) echo.Status
}

func (s *answers) answer(f echo.Frame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tries == nil {
		s.tries = map[int64]int{}
	}
	s.tries[f.Number(0)]++
	f.SetStatus(s.say(f.Number(0), s.tries[f.Number(0)]))
	return true
}

func TestRetries(t *testing.T) {
	s := answers{say: func(n int64, try int) echo.Status {
		switch {
		case n%4 == 0:
			return echo.Later
		case n%4 == 1 && try == 1:
			return echo.Later
		case n%4 == 2:
			return echo.Refused
		}
		return echo.Done
	}}
	for _, pipeline := range []int{1, 4} {
		s.mu.Lock()
		s.tries = nil
		s.mu.Unlock()
		b := newBench(t, options{
			servers: []echo.Config{{Answer: s.answer}},
			config: engine.FleetConfig{
				Sessions: 2, Retrying: engine.Retrying{Retries: 2}, ForLoops: engine.ForLoops{Pipeline: pipeline},
			},
		})
		b.run(schedule.Stage{Operations: 40})
		o := b.total().Operations[0]
		if o.OK() != 20 || o.Errors[protocol.Retryable] != 10 || o.Errors[protocol.Server] != 10 || o.Attempts != 70 ||
			o.Retries != 30 {
			t.Errorf("OK %d, errors %v, attempts %d, retries %d", o.OK(), o.Errors, o.Attempts, o.Retries)
		}
		if n := b.errorsOf(protocol.Retryable); n != 40 {
			t.Errorf("told of %d retryable failures, want 40", n)
		}
	}
}

// transaction returns a transaction: begin, a call whose answer is captured, a call with the captured number, commit.
func transaction() *plan.Plan {
	first, second := call(), call()
	first.Request.Capture = []protocol.Capture{{Column: 1, Kind: gen.Int}}
	first.Request.Name, second.Request.Name = "first", "second"
	second.Params = append(second.Params, plan.Param{Step: 0, Index: 0})
	return &plan.Plan{Operations: []plan.Operation{{
		Name: "transfer", Weight: 1, Transaction: true, Steps: []plan.Step{first, second},
	}}}
}

func TestTransactionCarriesValues(t *testing.T) {
	var mu sync.Mutex
	counts := map[int]int{}
	wrong, refusals := 0, map[int64]bool{}
	answer := func(f echo.Frame) bool {
		mu.Lock()
		defer mu.Unlock()
		counts[f.Request()]++
		switch f.Request() {
		case 1:
			f.SetNumber(1, 1000+f.Number(0))
		case 2:
			if f.Number(1) != 1000+f.Number(0) {
				wrong++
			}
			if n := f.Number(0); n%5 == 0 && !refusals[n] {
				refusals[n] = true
				f.SetStatus(echo.Later)
			}
		}
		return true
	}
	for _, open := range []bool{false, true} {
		mu.Lock()
		clear(counts)
		clear(refusals)
		mu.Unlock()
		b := newBench(t, options{
			plan: transaction(), servers: []echo.Config{{Answer: answer}},
			config: engine.FleetConfig{
				Sessions: 3, Retrying: engine.Retrying{Retries: 3}, ForLoops: engine.ForLoops{Pipeline: 8},
			},
		})
		if open {
			b.run(openStage(t, 500, 200*time.Millisecond))
		} else {
			b.run(schedule.Stage{Operations: 100})
		}
		o := b.total().Operations[0]
		mu.Lock()
		if wrong != 0 || o.OK() != 100 || o.Attempts != 120 {
			t.Errorf("open %v: %d wrong values, %d OK, %d attempts; want 0, 100, 120", open, wrong, o.OK(), o.Attempts)
		}
		// begin, first, second, commit, rollback
		if counts[0] != 120 || counts[1] != 120 || counts[2] != 120 || counts[3] != 100 || counts[4] != 20 {
			t.Errorf("open %v: requests at the server by number: %v", open, counts)
		}
		mu.Unlock()
	}
}

func TestStalledWritesGoOn(t *testing.T) {
	var x indices
	b := newBench(t, options{
		servers: []echo.Config{{Answer: x.add, ReadBuffer: 32 << 10}},
		target:  map[string]string{"sndbuf": "32768"},
		config:  engine.FleetConfig{ForLoops: engine.ForLoops{Pipeline: 4096}},
	})
	b.servers[0].Pause()
	b.watcher.onStall = func() { b.servers[0].Resume() }
	b.run(schedule.Stage{Operations: 20000})
	same(t, "numbers at the server", x.inOrder(), series(0, 1, 20000))
	if o := b.total().Operations[0]; o.OK() != 20000 || b.watcher.stalls == 0 {
		t.Errorf("%d OK, %d stalls", o.OK(), b.watcher.stalls)
	}
}

func TestTornAnswers(t *testing.T) {
	for _, piece := range []int{1, 7, 63, 65} {
		b := newBench(t, options{
			servers: []echo.Config{{Piece: piece}, {Piece: piece}},
			config:  engine.FleetConfig{Sessions: 4, ForLoops: engine.ForLoops{Pipeline: 4}},
		})
		b.run(schedule.Stage{Operations: 400})
		b.run(openStage(t, 1000, 100*time.Millisecond))
		if o := b.total().Operations[0]; o.OK() != 500 || o.BytesIn != 500*echo.Size {
			t.Errorf("pieces of %d: %d OK, %d bytes", piece, o.OK(), o.BytesIn)
		}
	}
}

func TestHostileAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		mangle func([]byte) []byte
		class  protocol.Class
	}{
		{"garbage", func(a []byte) []byte { return slices.Repeat([]byte{0xff}, len(a)) }, protocol.Protocol},
		{"too much", func(a []byte) []byte { return append(slices.Clone(a), make([]byte, 3<<20)...) }, protocol.OK},
		{"an answer too many", func(a []byte) []byte { return slices.Repeat(a, 2) }, protocol.Protocol},
		{"unknown status", func(a []byte) []byte { a[4] = 99; return a }, protocol.Protocol},
		{"fatal", func(a []byte) []byte { a[4] = byte(echo.Fatal); return a }, protocol.Server},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, options{servers: []echo.Config{{Mangle: c.mangle}}, config: engine.FleetConfig{Sessions: 2}})
			b.run(schedule.Stage{Operations: 10, Sessions: 2})
			o := b.total().Operations[0]
			if o.Done != 10 {
				t.Errorf("%d done, want 10", o.Done)
			}
			if c.class != protocol.OK && o.Errors[c.class] == 0 {
				t.Errorf("no failure of class %s: %v", c.class, o.Errors)
			}
		})
	}
}

func TestServerClosesInsteadOfAnswering(t *testing.T) {
	var n atomic.Int64
	b := newBench(t, options{servers: []echo.Config{{Answer: func(echo.Frame) bool { return n.Add(1)%3 != 0 }}}})
	b.run(schedule.Stage{Operations: 9})
	total := b.total()
	if o := total.Operations[0]; o.Errors[protocol.UnknownOutcome] != 3 || o.OK() != 6 {
		t.Errorf("%d of unknown outcome, %d OK; want 3, 6", o.Errors[protocol.UnknownOutcome], o.OK())
	}
	if total.Addresses[0].Reconnects < 2 {
		t.Errorf("%d reconnects", total.Addresses[0].Reconnects)
	}
}

func TestRequestsThatCannotBeEncoded(t *testing.T) {
	odd := func(numbers gen.Generator) gen.Generator {
		return gen.Func(func(v *gen.Value, i uint64) {
			if numbers.Value(v, i); i%2 == 1 {
				v.SetString("no number")
			}
		})
	}
	for _, pipeline := range []int{1, 4} {
		b := newBench(t, options{convert: odd, config: engine.FleetConfig{
			Sessions: 2, ForLoops: engine.ForLoops{Pipeline: pipeline},
		}})
		b.run(schedule.Stage{Operations: 50})
		b.run(openStage(t, 1000, 50*time.Millisecond))
		o := b.total().Operations[0]
		if o.Errors[protocol.Client] != 50 || o.OK() != 50 || b.servers[0].Requests() != 50 {
			t.Errorf("%d client errors, %d OK, %d at the server; want 50 of each", o.Errors[protocol.Client], o.OK(),
				b.servers[0].Requests())
		}
	}
}
