package loop_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/protocol/echo"
)

// ledger sums up the fates in the intervals and compares them with the arrivals that fell due.
type ledger struct {
	t                       *testing.T
	most                    int // largest number of operations in flight
	offered, fates, carried uint64
}

func (g *ledger) add(iv *measure.Interval) {
	g.t.Helper()
	var c measure.Counts
	for i := range iv.Operations {
		c.Add(&iv.Operations[i].Counts)
	}
	g.offered += iv.Offered
	g.fates += c.OK() + c.Failed() + c.Dropped() + c.Unfinished
	if g.carried = iv.Backlog + uint64(iv.Busy); g.offered != g.fates+g.carried {
		g.t.Errorf("%d fell due, %d met their fate, %d wait and %d are in flight", g.offered, g.fates, iv.Backlog, iv.Busy)
	}
	if iv.Busy > g.most || iv.Sessions > g.most {
		g.t.Errorf("%d in flight over %d sessions, at most %d are possible", iv.Busy, iv.Sessions, g.most)
	}
}

// mayhem is a server that at random times is slow, refuses, closes connections, stops, dies and returns.
type mayhem struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func (m *mayhem) chance(n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rand.IntN(n) == 0
}

func (m *mayhem) answer(f echo.Frame) bool {
	switch {
	case m.chance(40):
		time.Sleep(20 * time.Millisecond)
	case m.chance(30):
		f.SetStatus(echo.Later)
	case m.chance(30):
		f.SetStatus(echo.Refused)
	case m.chance(60):
		return false
	}
	return true
}

// disturb changes the server's behaviour until ctx ends.
func (m *mayhem) disturb(ctx context.Context, t *testing.T, s *echo.Server) {
	pause := func() {
		m.mu.Lock()
		d := time.Duration(m.rand.IntN(40)) * time.Millisecond
		m.mu.Unlock()
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil {
		pause()
		if m.chance(2) {
			s.Kill()
			pause()
			if err := s.Return(); err != nil {
				t.Error(err)
			}
		} else {
			s.Pause()
			pause()
			s.Resume()
		}
	}
}

// Every arrival has exactly one fate, for any behaviour of the server and any end of the load. At the end of each
// interval, arrivals without a fate are either waiting or in flight.
func TestFatesAddUp(t *testing.T) {
	onBothTiers(t, func(t *testing.T, codec bool) {
		for seed := range uint64(6) {
			fates(t, codec, seed)
		}
	})
}

func fates(t *testing.T, codec bool, seed uint64) {
	m := &mayhem{rand: rand.New(rand.NewPCG(seed, 1))}
	s := listen(t, echo.Config{Answer: m.answer})
	defer s.Close()
	r := rand.New(rand.NewPCG(seed, 2))
	config := engine.FleetConfig{
		Sessions: 1 + r.IntN(6), OperationTimeout: time.Duration(5+r.IntN(40)) * time.Millisecond,
		Retrying: engine.Retrying{Retries: r.IntN(3)},
		Lateness: engine.Lateness{OutageWait: r.IntN(2) == 0, DropLate: r.IntN(2) == 0,
			DropAfter: time.Duration(r.IntN(3)) * 5 * time.Millisecond},
		ForLoops: engine.ForLoops{Pipeline: 1, Loops: 1 + r.IntN(2)},
	}
	if codec {
		config.Pipeline += r.IntN(3)
	}
	o := &outcomes{}
	fleet, cfg := newFleet(t, codec, s.Address(), config, o)
	if err := fleet.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	disturbed := make(chan struct{})
	go func() { defer close(disturbed); m.disturb(ctx, t, s) }()
	g := &ledger{t: t, most: config.Sessions * config.Pipeline}
	stage := openStage(t, float64(200+r.IntN(2000)), 300*time.Millisecond)
	stage.Process, stage.Seed = schedule.Poisson, seed
	next := g.carryOut(fleet, cfg, stage, r.IntN(3), time.Duration(r.IntN(250))*time.Millisecond)
	if g.carried != 0 {
		t.Errorf("seed %d: %d arrivals have no fate at the end", seed, g.carried)
	}
	if uint64(len(o.class)) != g.fates || g.fates == 0 {
		t.Errorf("seed %d: %d operations ended, %d have a fate", seed, len(o.class), g.fates)
	}
	// In a closed stage that follows, operations that were begun finish or are cut off.
	g.offered, g.fates = 0, 0
	clear(o.class)
	closed := &ledger{t: t, most: g.most}
	closed.carryOut(fleet, cfg, schedule.Stage{First: next, DurationNs: int64(100 * time.Millisecond)}, r.IntN(3),
		50*time.Millisecond)
	if uint64(len(o.class)) != closed.fates {
		t.Errorf("seed %d, closed: %d operations ended, %d have a fate", seed, len(o.class), closed.fates)
	}
	end()
	<-disturbed
}

// carryOut runs a stage while intervals are cut. how is 0 to let the stage end, 1 to stop it after a while, and 2 to
// cut it off after that.
func (g *ledger) carryOut(fleet engine.Fleet, cfg engine.FleetConfig, stage schedule.Stage, how int,
	after time.Duration) (next uint64) {
	ctx, stop := context.WithCancel(g.t.Context())
	defer stop()
	hard := make(chan struct{})
	if how > 0 {
		time.AfterFunc(after, func() {
			if stop(); how == 2 {
				close(hard)
			}
		})
	}
	open := stage.Open()
	done := make(chan struct{})
	stage.StartNs = cfg.Clock.Now()
	go func() {
		defer close(done)
		var err error
		if next, err = fleet.Run(ctx, hard, stage); err != nil {
			g.t.Error(err)
		}
	}()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		case <-time.After(7 * time.Millisecond):
		}
		iv := cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{Phase: "x"})
		if !open {
			iv.Offered = 0 // operations of closed loads don't fall due; count those that began instead
			for i := range iv.Operations {
				c := &iv.Operations[i].Counts
				iv.Offered += c.Done + c.Dropped() + c.Unfinished
			}
			iv.Offered += uint64(iv.Busy) - g.carried
		}
		g.add(iv)
	}
	return next
}
