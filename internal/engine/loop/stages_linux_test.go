package loop_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/load/schedule"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/echo"
)

func TestClosedSendsEachOperationOnce(t *testing.T) {
	for _, c := range []struct {
		name                      string
		sessions, loops, pipeline int
		part                      schedule.Part
		first, want, operations   uint64
		numbers                   []int64
	}{
		{"one session", 1, 1, 1, schedule.Part{}, 0, 500, 500, series(0, 1, 500)},
		{"several loops", 7, 3, 1, schedule.Part{}, 1000, 1500, 500, series(1000, 1, 500)},
		{"pipelined", 2, 1, 16, schedule.Part{}, 0, 500, 500, series(0, 1, 500)},
		{"one machine of three", 4, 2, 1, schedule.Part{Of: 3, Takes: []uint64{1}}, 30, 530, 500, series(31, 3, 167)},
		{"two of each five", 4, 3, 1, schedule.Part{Of: 5, Takes: []uint64{1, 3}}, 30, 42, 12, []int64{31, 33, 36, 38, 41}},
		{"fewer operations than sessions", 8, 2, 4, schedule.Part{}, 0, 3, 3, series(0, 1, 3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var x indices
			b := newBench(t, options{
				servers: []echo.Config{{Answer: x.add}},
				config: engine.FleetConfig{
					Sessions: c.sessions, ForLoops: engine.ForLoops{Loops: c.loops, Pipeline: c.pipeline},
				},
			})
			if b.fleet.Loops() != c.loops {
				t.Fatalf("%d loops, want %d", b.fleet.Loops(), c.loops)
			}
			next := b.run(schedule.Stage{First: c.first, Operations: c.operations, Part: c.part})
			if next != c.want {
				t.Errorf("next is %d, want %d", next, c.want)
			}
			same(t, "numbers at the server", x.sorted(), c.numbers)
			n, total := uint64(len(c.numbers)), b.total().Operations[0]
			if total.OK() != n || total.Attempts != n || total.BytesIn != n*echo.Size {
				t.Errorf("recorded %d OK, %d attempts, %d bytes; want %d of them", total.OK(), total.Attempts, total.BytesIn, n)
			}
			for _, s := range b.watcher.samples {
				if s.Intended != s.Sent || s.End < s.Sent {
					t.Fatalf("in a closed load a sample was intended at %d, sent at %d and ended at %d", s.Intended, s.Sent, s.End)
				}
			}
		})
	}
}

func TestClosedStopsByTheClock(t *testing.T) {
	var x indices
	b := newBench(t, options{servers: []echo.Config{{Answer: x.add}}, config: engine.FleetConfig{Sessions: 3}})
	start := b.clock.Now()
	next := b.run(schedule.Stage{DurationNs: 50e6})
	same(t, "numbers at the server", x.sorted(), series(0, 1, int(next)))
	if next == 0 || b.clock.Now()-start < 50e6 {
		t.Errorf("%d operations in %d ns", next, b.clock.Now()-start)
	}
	for _, s := range b.watcher.samples {
		if s.Sent > start+50e6+int64(10*time.Second) {
			t.Errorf("sent %d ns after the start", s.Sent-start)
		}
	}
}

func TestClosedUsesAsManySessionsAsAsked(t *testing.T) {
	b := newBench(t, options{servers: make([]echo.Config, 4), config: engine.FleetConfig{
		Sessions: 8, ForLoops: engine.ForLoops{Loops: 2},
	}})
	b.run(schedule.Stage{Operations: 100, Sessions: 2})
	for _, s := range b.watcher.samples {
		if s.Address > 1 {
			t.Fatalf("session %d took part", s.Address)
		}
	}
	b.run(schedule.Stage{First: 100, Operations: 400})
	used := map[int]int{}
	for _, s := range b.watcher.samples {
		used[s.Address]++
	}
	if len(b.watcher.samples) != 500 || len(used) != 4 {
		t.Errorf("%d samples over %d addresses, want 500 over 4", len(b.watcher.samples), len(used))
	}
}

func TestClosedThinks(t *testing.T) {
	p := single()
	p.Operations[0].Think = plan.Think{Distribution: "constant", Min: 2 * time.Millisecond}
	b := newBench(t, options{plan: p})
	b.run(schedule.Stage{Operations: 20})
	s := b.watcher.samples
	if len(s) != 20 {
		t.Fatalf("%d samples, want 20", len(s))
	}
	for i := 1; i < len(s); i++ {
		if s[i].Sent-s[i-1].End < 2e6 {
			t.Errorf("operation %d was sent %d ns after the one before", i, s[i].Sent-s[i-1].End)
		}
	}
}

func TestOpenSendsEachArrivalOnceInOrder(t *testing.T) {
	for _, c := range []struct {
		name            string
		sessions, loops int
		config          engine.FleetConfig
		process         schedule.Process
		prepare         func(*loop.Fleet) error
	}{
		{name: "one session", sessions: 1, loops: 1},
		{name: "many sessions", sessions: 16, loops: 1},
		{name: "three loops", sessions: 9, loops: 3},
		{name: "coalesced", sessions: 16, loops: 1, config: engine.FleetConfig{
			ForLoops: engine.ForLoops{TimingTolerance: time.Millisecond},
		}},
		{name: "spinning", sessions: 4, loops: 1, config: engine.FleetConfig{Spin: 50 * time.Microsecond}},
		{name: "pipelined", sessions: 1, loops: 1, config: engine.FleetConfig{ForLoops: engine.ForLoops{Pipeline: 8}}},
		{name: "poisson", sessions: 4, loops: 2, process: schedule.Poisson},
		{name: "without epoll_pwait2", sessions: 4, loops: 1, prepare: (*loop.Fleet).WithoutPwait2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var x indices
			c.config.Sessions, c.config.Loops = c.sessions, c.loops
			b := newBench(t, options{servers: []echo.Config{{Answer: x.add}}, config: c.config, prepare: c.prepare})
			stage := openStage(t, 4000, 250*time.Millisecond)
			stage.First, stage.Process, stage.Seed = 50, c.process, 3
			want := map[int64]bool{}
			start := b.clock.Now()
			stage.StartNs = start
			n := 0
			for it := stage.Shape.Arrivals(c.process, 3); ; n++ {
				at, ok := it.Next()
				if !ok {
					break
				}
				want[start+at] = true
			}
			next, err := b.fleet.Run(context.Background(), nil, stage)
			if err != nil || next != 50+uint64(n) {
				t.Fatalf("next is %d, error %v; want %d", next, err, 50+n)
			}
			same(t, "numbers at the server", x.sorted(), series(50, 1, n))
			if c.sessions == 1 {
				same(t, "their order", x.inOrder(), series(50, 1, n))
			}
			total := b.total()
			if total.Offered != uint64(n) || total.Operations[0].OK() != uint64(n) || total.Backlog != 0 {
				t.Errorf("offered %d, done %d, backlog %d; want %d, as many, 0", total.Offered, total.Operations[0].OK(),
					total.Backlog, n)
			}
			for _, s := range b.watcher.samples {
				if !want[s.Intended] || s.Sent < s.Intended || s.End < s.Sent {
					t.Fatalf("intended %d, sent %d, ended %d", s.Intended, s.Sent, s.End)
				}
			}
		})
	}
}

// A wait for arrivals that is longer than the gap between them leaves time for answers: the second step of an operation
// doesn't wait until no session is free.
func TestSpinningLeavesTimeForAnswers(t *testing.T) {
	onBothTiers(t, func(t *testing.T, codec bool) {
		const sessions, rate, n = 256, 500, 512
		var x indices
		p := single()
		p.Operations[0].Steps = append(p.Operations[0].Steps, call())
		w, err := workload.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		fleet, cfg := newFleetOf(t, codec, w, listen(t, echo.Config{Answer: x.add}).Address(),
			engine.FleetConfig{Sessions: sessions, Spin: 10 * time.Millisecond})
		if err := fleet.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all := runOpen(t, fleet, cfg, rate, n*time.Second/rate); all.OK() != n {
			t.Fatalf("%d of %d succeeded", all.OK(), n)
		}
		seen, second, turns := map[int64]bool{}, false, 0 // how often a second step follows a first one
		for _, i := range x.inOrder() {
			if seen[i] && !second {
				turns++
			}
			second, seen[i] = seen[i], true
		}
		// Otherwise, all sessions send their first steps, and then all their second ones.
		if turns <= 4*n/sessions {
			t.Errorf("second steps followed first ones only %d times", turns)
		}
	})
}

func TestOpenOnOneMachineOfThree(t *testing.T) {
	var x indices
	b := newBench(t, options{servers: []echo.Config{{Answer: x.add}}, config: engine.FleetConfig{
		Sessions: 4, ForLoops: engine.ForLoops{Loops: 2},
	}})
	stage := openStage(t, 3000, 200*time.Millisecond)
	stage.Part = schedule.Part{Of: 3, Takes: []uint64{2}}
	if next := b.run(stage); next != 600 {
		t.Errorf("next is %d, want 600", next)
	}
	same(t, "numbers at the server", x.sorted(), series(2, 3, 200))
}

func TestStallIsChargedToEveryArrival(t *testing.T) {
	const gap = 500 * time.Microsecond
	b := newBench(t, options{config: engine.FleetConfig{Sessions: 4}})
	stage := openStage(t, float64(time.Second/gap), time.Hour)
	stage.StartNs = b.clock.Now()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var paused, resumed int64
	answered := func(n uint64) {
		for b.servers[0].Requests() < n {
			time.Sleep(time.Millisecond)
		}
	}
	go func() {
		defer cancel()
		answered(100)
		b.servers[0].Pause()
		paused = b.clock.Now()
		time.Sleep(150 * time.Millisecond)
		resumed = b.clock.Now()
		b.servers[0].Resume()
		answered(uint64(resumed-stage.StartNs)/uint64(gap) + 100) // all that fell due before, and more
	}()
	if _, err := b.fleet.Run(ctx, nil, stage); err != nil {
		t.Fatal(err)
	}
	during := 0
	for _, s := range b.watcher.samples {
		if s.Intended < paused || s.Intended >= resumed {
			continue
		}
		during++
		if s.End < resumed {
			t.Errorf("intended %d ns into a stall of %d, ended at %d", s.Intended-paused, resumed-paused, s.End-paused)
		}
	}
	if want := int((resumed - paused) / int64(gap)); during < want-1 || during > want+1 {
		t.Errorf("%d arrivals during the stall, want %d", during, want)
	}
}

// If an arrival waits for a session, only the time after the answer counts as the generator's own lag.
func TestOwnLagBeginsWhereTheSessionBecameFree(t *testing.T) {
	b := newBench(t, options{servers: []echo.Config{{Answer: func(f echo.Frame) bool {
		if f.Number(0) == 0 {
			time.Sleep(50 * time.Millisecond) // 100 arrivals
		}
		return true
	}}}, config: engine.FleetConfig{Sessions: 1}})
	b.run(openStage(t, 2000, 100*time.Millisecond))
	waited, before := 0, b.watcher.samples[0]
	if len(b.watcher.samples) != 200 {
		t.Fatalf("%d samples", len(b.watcher.samples))
	}
	for _, s := range b.watcher.samples[1:] {
		if s.Ready != before.End || s.Sent < s.Ready {
			t.Fatalf("intended %d, free at %d, sent %d; the answer before came at %d", s.Intended, s.Ready, s.Sent, before.End)
		}
		if s.Ready > s.Intended {
			waited++
		}
		before = s
	}
	total := b.total()
	if own := total.OwnLag; waited < 50 || own.Count() != 200 || own.Mean() >= total.Operations[0].Lag.Mean() {
		t.Errorf("%d arrivals waited; own lag of %d, mean %g ns, lag %g ns", waited, own.Count(), own.Mean(),
			total.Operations[0].Lag.Mean())
	}
	b.run(schedule.Stage{Operations: 10})
	if own := b.total().OwnLag; own.Count() != 200 {
		t.Errorf("%d own lags after a closed stage", own.Count())
	}
}

func TestLateArrivalsAreDropped(t *testing.T) {
	for _, after := range []time.Duration{0, 20 * time.Millisecond} {
		b := newBench(t, options{config: engine.FleetConfig{
			Sessions: 1, Lateness: engine.Lateness{DropLate: true, DropAfter: after},
		}})
		b.servers[0].Pause()
		b.watcher.onDrop = func(total uint64) {
			if total == 199 {
				b.servers[0].Resume()
			}
		}
		if next := b.run(openStage(t, 1000, 200*time.Millisecond)); next != 200 {
			t.Errorf("next is %d, want 200", next)
		}
		total := b.total()
		if o := total.Operations[0]; o.Dropped() != 199 || o.OK() != 1 || total.Offered != 200 {
			t.Errorf("dropped %d, done %d, offered %d; want 199, 1, 200", o.Dropped(), o.OK(), total.Offered)
		}
	}
}

func TestArrivalsAreGivenUpAfterTheStage(t *testing.T) {
	b := newBench(t, options{config: engine.FleetConfig{Sessions: 1, OperationTimeout: 100 * time.Millisecond}})
	b.servers[0].Pause()
	b.run(openStage(t, 1000, 50*time.Millisecond))
	total := b.total()
	o := total.Operations[0]
	// Requests are sent until 150 ms, and each occupies the session for at least 100 ms, so at most two are sent. The
	// others wait, or fail if the loop gets no core for so long that nothing was connected in the meantime.
	if sent := o.Done - o.Errors[protocol.Connect]; sent == 0 || sent > 2 || o.Done+o.Dropped() != 50 ||
		total.Offered != 50 || o.OK() != 0 || o.Errors[protocol.Server] != 0 {
		t.Errorf("offered %d, done %d (%v), dropped %d (%v)", total.Offered, o.Done, o.Errors, o.Dropped(), o.Unsent)
	}
}

func TestCancelLosesNothing(t *testing.T) {
	for _, open := range []bool{false, true} {
		var x indices
		b := newBench(t, options{servers: []echo.Config{{Answer: x.add}}, config: engine.FleetConfig{
			Sessions: 4, ForLoops: engine.ForLoops{Loops: 2},
		}})
		stage := schedule.Stage{}
		if open {
			stage = openStage(t, 5000, time.Hour)
		}
		stage.StartNs = b.clock.Now()
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			for b.servers[0].Requests() < 300 {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		next, err := b.fleet.Run(ctx, nil, stage)
		if err != nil {
			t.Fatal(err)
		}
		seen, total := x.sorted(), b.total()
		o := total.Operations[0]
		if o.OK() != uint64(len(seen)) || o.Failed() != 0 || len(slices.Compact(seen)) != len(seen) {
			t.Errorf("open %v: %d at the server, %d recorded, %d failed", open, len(seen), o.OK(), o.Failed())
		}
		if open && total.Offered != o.Done+o.Dropped() {
			t.Errorf("offered %d, but %d done and %d dropped", total.Offered, o.Done, o.Dropped())
		}
		if last := seen[len(seen)-1]; next <= uint64(last) {
			t.Errorf("open %v: next is %d, but %d was sent", open, next, last)
		}
		if after := b.run(schedule.Stage{First: next, Operations: 10}); after != next+10 {
			t.Errorf("after another stage next is %d, want %d", after, next+10)
		}
	}
}

func TestHardStop(t *testing.T) {
	var seen atomic.Int64
	release := make(chan struct{})
	defer close(release)
	b := newBench(t, options{
		servers: []echo.Config{{Answer: func(echo.Frame) bool { seen.Add(1); <-release; return false }}},
		config:  engine.FleetConfig{Sessions: 3, OperationTimeout: time.Hour}})
	hard := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for seen.Load() < 3 {
			time.Sleep(time.Millisecond)
		}
		cancel()
		close(hard)
	}()
	next, err := b.fleet.Run(ctx, hard, schedule.Stage{StartNs: b.clock.Now()})
	if err != nil || next != 3 {
		t.Fatalf("next is %d, error %v; want 3", next, err)
	}
	if o := b.total().Operations[0]; o.Unfinished != 3 || o.Arrivals() != 3 {
		t.Errorf("%d done, %d unfinished; want 3 unfinished", o.Done, o.Unfinished)
	}
}

// In a closed load, a session is ready when its last operation and the following think time are over.
func TestClosedLoadsSayWhenSessionsWereReady(t *testing.T) {
	for _, think := range []int64{0, 2e6} {
		p := single()
		p.Operations[0].Think = plan.Think{Min: time.Duration(think)}
		b := newBench(t, options{plan: p})
		b.run(schedule.Stage{Operations: 20})
		for i, s := range b.watcher.samples {
			switch {
			case s.Open || s.Intended != s.Sent || s.Ready > s.Sent:
				t.Errorf("%+v", s)
			case i > 0 && s.Ready != b.watcher.samples[i-1].End+think:
				t.Errorf("ready %d ns after the answer before, want %d", s.Ready-b.watcher.samples[i-1].End, think)
			}
		}
	}
}

func TestTimingSaysWhatIsUsed(t *testing.T) {
	for closedOnly, want := range map[bool]string{false: "SO_TIMESTAMPNS", true: "when it is read"} {
		b := newBench(t, options{config: engine.FleetConfig{ForLoops: engine.ForLoops{ClosedOnly: closedOnly}}})
		b.run(schedule.Stage{Operations: 1})
		if got := b.fleet.Timing().String(); !strings.Contains(got, want) ||
			strings.Contains(got, "SO_TIMESTAMPNS") == closedOnly {
			t.Errorf("only closed stages: %v; timing: %s", closedOnly, got)
		}
	}
}
