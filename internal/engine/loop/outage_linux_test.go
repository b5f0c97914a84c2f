package loop_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/engine/pool"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/echo"
)

// onBothTiers runs a test once for each tier.
func onBothTiers(t *testing.T, test func(t *testing.T, codec bool)) {
	for _, codec := range []bool{false, true} {
		t.Run(map[bool]string{false: "library", true: "codec"}[codec], func(t *testing.T) { test(t, codec) })
	}
}

// outcomes records how each operation ended, by its number.
type outcomes struct {
	mu    sync.Mutex
	class map[uint64]protocol.Class
	then  func(index uint64, class protocol.Class) // called for each operation, one at a time
}

func (o *outcomes) done(_ int, index uint64, class protocol.Class) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, twice := o.class[index]; twice {
		panic(fmt.Sprintf("operation %d ended twice", index))
	}
	o.class[index] = class
	if o.then != nil {
		o.then(index, class)
	}
}

func (o *outcomes) of(index uint64) protocol.Class {
	o.mu.Lock()
	defer o.mu.Unlock()
	class, ok := o.class[index]
	if !ok {
		panic(fmt.Sprintf("operation %d hasn't ended", index))
	}
	return class
}

// newFleet returns a fleet of either tier that sends single calls to an address.
func newFleet(t *testing.T, codec bool, address string, cfg engine.FleetConfig, o *outcomes) (engine.Fleet,
	engine.FleetConfig) {
	t.Helper()
	w, err := workload.Compile(single())
	if err != nil {
		t.Fatal(err)
	}
	o.class = map[uint64]protocol.Class{}
	w.Done = o.done
	return newFleetOf(t, codec, w, address, cfg)
}

// newFleetOf returns a fleet of either tier that sends a workload of one operation to an address.
func newFleetOf(t *testing.T, codec bool, w *workload.Workload, address string, cfg engine.FleetConfig) (
	fleet engine.Fleet, _ engine.FleetConfig) {
	t.Helper()
	var err error
	if cfg.Driver == nil {
		cfg.Driver = echo.Driver{}
	}
	cfg.Workload, cfg.Clock = w, engine.NewClock(time.Now())
	cfg.Targets = []protocol.Target{{Address: address}}
	if cfg.Collector == nil {
		cfg.Collector = measure.NewCollector(1, 1)
	}
	cfg.ConnectTimeout = 5 * time.Second
	if cfg.OperationTimeout == 0 {
		cfg.OperationTimeout = 20 * time.Second
	}
	if codec {
		fleet, err = loop.NewFleet(cfg, cfg.Driver.(protocol.CodecDriver))
	} else {
		fleet, err = pool.NewPool(cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fleet.Close)
	return fleet, cfg
}

func runOpen(t *testing.T, fleet engine.Fleet, cfg engine.FleetConfig, rate float64,
	d time.Duration) *measure.OperationAccount {
	t.Helper()
	stage := openStage(t, rate, d)
	stage.StartNs = cfg.Clock.Now()
	if _, err := fleet.Run(t.Context(), nil, stage); err != nil {
		t.Fatal(err)
	}
	cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
	total := cfg.Collector.Total()
	if o := &total.Operations[0]; o.Done+o.Dropped() != total.Offered || total.Offered != uint64(rate*d.Seconds()) {
		t.Errorf("%d done and %d dropped of %d offered", o.Done, o.Dropped(), total.Offered)
	}
	return &total.Operations[0]
}

// A dead server fails exactly the requests that fall due while it is dead.
func TestDeadServerCostsWhatFallsDue(t *testing.T) {
	const sessions, killedAt, returnsAt = 4, 40, 140
	onBothTiers(t, func(t *testing.T, codec bool) {
		s := listen(t, echo.Config{})
		defer s.Close()
		o := &outcomes{then: func(index uint64, _ protocol.Class) {
			switch index {
			case killedAt:
				s.Kill()
			case returnsAt:
				if err := s.Return(); err != nil {
					t.Error(err)
				}
			}
		}}
		fleet, cfg := newFleet(t, codec, s.Address(), engine.FleetConfig{Sessions: sessions}, o)
		if err := fleet.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		runOpen(t, fleet, cfg, 200, 3*time.Second)
		other := 0
		for i := uint64(killedAt + sessions + 1); i <= returnsAt; i++ {
			switch o.of(i) {
			case protocol.OK:
				t.Errorf("arrival %d succeeded while the server was dead", i)
			case protocol.Connect:
			default:
				other++ // a session that had not noticed yet
			}
		}
		if other > sessions {
			t.Errorf("%d failed otherwise than as connect, want at most one a session", other)
		}
		for i := range uint64(killedAt) {
			if o.of(i) != protocol.OK {
				t.Errorf("arrival %d failed before the server died: %v", i, o.of(i))
			}
		}
		if last := o.of(599); last != protocol.OK {
			t.Errorf("the last arrival, 2.3 s after the server's return, failed: %v", last)
		}
	})
}

// Failures are charged to an address that there is. Nodes that may join have numbers, which are nobody's address yet.
func TestFailuresAreChargedToRealAddresses(t *testing.T) {
	const spare = 7
	onBothTiers(t, func(t *testing.T, codec bool) {
		s := listen(t, echo.Config{})
		defer s.Close()
		o := &outcomes{then: func(index uint64, _ protocol.Class) {
			if index == 20 {
				s.Kill()
			}
		}}
		c := measure.NewCollector(1, 1+spare)
		c.Show(1)
		fleet, cfg := newFleet(t, codec, s.Address(), engine.FleetConfig{
			Sessions: 2, Collector: c,
			Where: engine.Where{Nodes: protocol.NewNodes([]protocol.Target{{Address: s.Address()}}, spare)},
		}, o)
		if err := fleet.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := runOpen(t, fleet, cfg, 200, time.Second)
		total := cfg.Collector.Total()
		if at := &total.Addresses[0]; len(total.Addresses) != 1 || at.Done != all.Done || at.Failed() != all.Failed() {
			t.Errorf("%d addresses; the first has %d done, %d of them failed; the load has %d, %d", len(total.Addresses),
				at.Done, at.Failed(), all.Done, all.Failed())
		}
		if all.Failed() < 100 {
			t.Errorf("only %d failed", all.Failed())
		}
	})
}

// With outage: wait, arrivals wait until the server returns.
func TestPatientClientsWait(t *testing.T) {
	const sessions, killedAt = 4, 40
	onBothTiers(t, func(t *testing.T, codec bool) {
		s := listen(t, echo.Config{})
		defer s.Close()
		back := make(chan error, 1)
		o := &outcomes{then: func(index uint64, _ protocol.Class) {
			if index == killedAt {
				s.Kill()
				time.AfterFunc(300*time.Millisecond, func() { back <- s.Return() })
			}
		}}
		fleet, cfg := newFleet(t, codec, s.Address(), engine.FleetConfig{
			Sessions: sessions, Lateness: engine.Lateness{OutageWait: true},
		}, o)
		if err := fleet.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := runOpen(t, fleet, cfg, 200, time.Second)
		if err := <-back; err != nil {
			t.Error(err)
		}
		if c.Failed() > 2*sessions || c.Dropped() != 0 {
			t.Errorf("%d failed (%v), %d dropped; want at most one or two a session", c.Failed(), c.Errors, c.Dropped())
		}
	})
}

// routed is a protocol whose requests all belong to the first address.
type routed struct{ echo.Driver }

func (routed) Router(_ *protocol.Nodes, p *protocol.Program) protocol.Router {
	return make(protocol.Places, len(p.Requests))
}

// A server that answers only after the clients' timeout still receives all requests, except those for which a machine
// without a free core has no time. In that case the test is repeated.
func TestBrownOut(t *testing.T) {
	again := func(t *testing.T, codec bool, d protocol.Driver) {
		dropped := uint64(0)
		for range 5 {
			if dropped = brownOut(t, codec, d); dropped <= 20 {
				return
			}
		}
		t.Errorf("%d of 200 were dropped, five times nearly as many", dropped)
	}
	onBothTiers(t, func(t *testing.T, codec bool) { again(t, codec, echo.Driver{}) })
	t.Run("routed", func(t *testing.T) { again(t, true, routed{}) })
}

func brownOut(t *testing.T, codec bool, d protocol.Driver) (dropped uint64) {
	var seen atomic.Uint64
	s := listen(t, echo.Config{Answer: func(echo.Frame) bool {
		seen.Add(1)
		time.Sleep(300 * time.Millisecond)
		return true
	}})
	defer s.Close()
	fleet, cfg := newFleet(t, codec, s.Address(),
		engine.FleetConfig{Driver: d, Sessions: 40, OperationTimeout: 100 * time.Millisecond}, &outcomes{})
	if err := fleet.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := runOpen(t, fleet, cfg, 100, 2*time.Second)
	// A client that gets no time for 300 ms finds the answer instead of its timeout.
	sent := c.Errors[protocol.Timeout] + c.Errors[protocol.UnknownOutcome] + c.OK()
	if sent+c.Dropped() != 200 || c.OK() > 20 {
		t.Errorf("%v, %d ok, %d dropped; want 200", c.Errors, c.OK(), c.Dropped())
	}
	// The server may read a request only after the client has given it up.
	for end := time.Now().Add(time.Minute); seen.Load()+c.Dropped() < 200 &&
		time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if n := seen.Load(); n+c.Dropped() != 200 {
		t.Errorf("the server saw %d requests and %d were dropped, want 200", n, c.Dropped())
	}
	return c.Dropped()
}

// A proxy without a server accepts connections and closes them at once. This does not count as a connection, and the
// next attempt is not made at once.
func TestConnectionsThatLeadToNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var accepted atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			c.Close()
		}
	}()
	const sessions = 4
	fleet, cfg := newFleet(t, true, l.Addr().String(), engine.FleetConfig{Sessions: sessions}, &outcomes{})
	began := time.Now()
	if err := fleet.Connect(context.Background()); err != nil {
		t.Fatal(err)
	}
	c := runOpen(t, fleet, cfg, 100, time.Second)
	if most := sessions * (2 + int64(time.Since(began)/(25*time.Millisecond))); accepted.Load() > most+int64(c.Done) {
		t.Errorf("%d connections in %v, want at most %d and one a request", accepted.Load(), time.Since(began), most)
	}
	if c.OK() != 0 || c.Errors[protocol.Connect] == 0 {
		t.Errorf("%d succeeded, failures %v", c.OK(), c.Errors)
	}
}
