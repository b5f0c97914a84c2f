package loop_test

import (
	"context"
	"fmt"
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
	"brunt/internal/protocol/balance"
	"brunt/internal/protocol/echo"
)

// parity is a load that must have the same result in both tiers.
type parity struct {
	plan    *plan.Plan
	servers []func(*match) echo.Config // one for each address
	absent  bool                       // nothing listens
	dead    int                        // number of addresses, at the end, that don't listen
	config  engine.FleetConfig
	stages  []schedule.Stage
	release func(m *match) // called with each finished operation
	shows   func(m *match, total *measure.Account) string
}

// match is the run of one tier.
type match struct {
	mu      sync.Mutex
	servers []*echo.Server
	done    int
	byClass [protocol.NumClasses]int
	tries   map[int64]int
	open    chan struct{} // closed when withheld answers may be sent
	once    sync.Once
}

func (m *match) goOn() { m.once.Do(func() { close(m.open) }) }

// plainEcho returns a server that answers every call.
func plainEcho(*match) echo.Config { return echo.Config{} }

// failing returns a server that answers some calls with a status, each of them the given number of times.
func failing(status echo.Status, times int, which func(n int64) bool) func(*match) echo.Config {
	return func(m *match) echo.Config {
		return echo.Config{Answer: func(f echo.Frame) bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			n := f.Number(0)
			if f.Request() == 0 && which(n) && m.tries[n] < times {
				m.tries[n]++
				f.SetStatus(status)
			}
			return true
		}}
	}
}

// withholding returns a server that answers some calls only at the end.
func withholding(which func(n int64) bool) func(*match) echo.Config {
	return func(m *match) echo.Config {
		return echo.Config{Answer: func(f echo.Frame) bool {
			if which(f.Number(0)) {
				<-m.open
			}
			return true
		}}
	}
}

func play(t *testing.T, p parity, codec bool) string {
	t.Helper()
	m := &match{tries: map[int64]int{}, open: make(chan struct{})}
	w, err := workload.Compile(p.plan)
	if err != nil {
		t.Fatal(err)
	}
	w.Done = func(_ int, _ uint64, class protocol.Class) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.done++
		m.byClass[class]++
		if p.release != nil {
			p.release(m)
		}
	}
	cfg := p.config
	for i, c := range p.servers {
		s := listen(t, c(m))
		defer s.Close()
		m.servers = append(m.servers, s)
		cfg.Targets = append(cfg.Targets, protocol.Target{Address: s.Address()})
		if p.absent || i >= len(p.servers)-p.dead {
			s.Kill()
		}
	}
	defer m.goOn()
	cfg.Workload, cfg.Driver, cfg.Clock = w, echo.Driver{}, engine.NewClock(time.Now())
	cfg.Collector = measure.NewCollector(len(w.Operations), len(cfg.Targets))
	cfg.ConnectTimeout = 5 * time.Second
	if cfg.OperationTimeout == 0 {
		cfg.OperationTimeout = 20 * time.Second
	}
	var fleet engine.Fleet
	if codec {
		fleet, err = loop.NewFleet(cfg, echo.Driver{})
	} else {
		fleet, err = pool.NewPool(cfg)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	if err := fleet.Connect(context.Background()); (err != nil) != p.absent {
		t.Fatal(err)
	}
	next := uint64(0)
	for _, s := range p.stages {
		s.First, s.StartNs = next, cfg.Clock.Now()
		if next, err = fleet.Run(context.Background(), nil, s); err != nil {
			t.Fatal(err)
		}
	}
	cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
	total := cfg.Collector.Total()
	out := fmt.Sprintf("next %d, offered %d, own lags %d, backlog %d, hooks %v", next, total.Offered, count(total.OwnLag),
		total.Backlog, m.byClass)
	for i := range total.Operations {
		o := &total.Operations[i]
		out += fmt.Sprintf("; %d done, %v, %d attempts, %d retries, %d dropped", o.Done, o.Errors, o.Attempts, o.Retries,
			o.Dropped())
		if count(o.Lag) != o.Done || count(o.Response) != o.OK() || count(o.Service) != o.OK() ||
			count(o.FailedResponse) != o.Failed() {
			t.Errorf("codec %v: histograms of %d, %d, %d and %d values for %+v", codec, count(o.Lag), count(o.Response),
				count(o.Service), count(o.FailedResponse), o.Counts)
		}
	}
	if p.shows != nil {
		out += "; " + p.shows(m, total)
	}
	return out
}

// count returns the number of values in a histogram, which may be nil.
func count(h *measure.Histogram) uint64 {
	if h == nil {
		return 0
	}
	return h.Count()
}

// requests returns the number of frames that the servers answered.
func requests(m *match, _ *measure.Account) string {
	var n uint64
	for _, s := range m.servers {
		n += s.Requests()
	}
	return fmt.Sprintf("%d requests", n)
}

func closedStage(n uint64) schedule.Stage { return schedule.Stage{Operations: n} }

func tenth(n int64) bool { return n%10 == 3 }

// paused returns a transaction: begin, two calls with a pause between them, and commit.
func paused(think time.Duration) *plan.Plan {
	first, second := call(), call()
	first.Think = plan.Think{Min: think, Max: think}
	return &plan.Plan{Seed: 7, Operations: []plan.Operation{{
		Name: "transaction", Weight: 1, Transaction: true, Steps: []plan.Step{first, second},
		Think: plan.Think{Min: think, Max: 2 * think},
	}}}
}

// inTransaction is failing for the second call of a transaction. Request 0 is its begin.
func inTransaction(status echo.Status, times int) func(*match) echo.Config {
	return func(m *match) echo.Config {
		return echo.Config{Answer: func(f echo.Frame) bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			if n := f.Number(0); f.Request() == 2 && tenth(n) && m.tries[n] < times {
				m.tries[n]++
				f.SetStatus(status)
			}
			return true
		}}
	}
}

func twice() *plan.Plan {
	p := single()
	other := p.Operations[0]
	other.Name, other.Weight = "other", 3
	p.Operations = append(p.Operations, other)
	return p
}

func parities(t *testing.T) map[string]parity {
	one := []func(*match) echo.Config{plainEcho}
	two := []func(*match) echo.Config{plainEcho, plainEcho}
	poisson := openStage(t, 2000, 200*time.Millisecond)
	poisson.Process, poisson.Seed = schedule.Poisson, 11
	third := openStage(t, 3000, 200*time.Millisecond)
	third.Part = schedule.Part{Of: 3, Takes: []uint64{1}}
	weighted, err := balance.New("weighted", 2, []int{1, 3}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]parity{
		"closed": {plan: twice(), servers: two, config: engine.FleetConfig{Sessions: 7},
			stages: []schedule.Stage{closedStage(500), closedStage(77)}, shows: requests},
		"closed, some sessions": {plan: single(), servers: two, config: engine.FleetConfig{Sessions: 8},
			stages: []schedule.Stage{{Operations: 100, Sessions: 3}, closedStage(50)}, shows: requests},
		"closed, three of each five": {plan: single(), servers: one, config: engine.FleetConfig{Sessions: 4},
			stages: []schedule.Stage{{Operations: 100, Part: schedule.Part{Of: 5, Takes: []uint64{0, 1, 3}}}, closedStage(10)},
			shows:  requests},
		"open": {plan: twice(), servers: two, config: engine.FleetConfig{Sessions: 5},
			stages: []schedule.Stage{openStage(t, 2000, 200*time.Millisecond), closedStage(20)}, shows: requests},
		"open, Poisson": {plan: single(), servers: one, config: engine.FleetConfig{Sessions: 5},
			stages: []schedule.Stage{poisson}, shows: requests},
		"open, one machine of three": {plan: single(), servers: one, config: engine.FleetConfig{Sessions: 5},
			stages: []schedule.Stage{third}, shows: requests},
		"think": {plan: paused(time.Millisecond), servers: one, config: engine.FleetConfig{Sessions: 6},
			stages: []schedule.Stage{closedStage(60)}, shows: requests},
		"drop": {plan: single(), servers: []func(*match) echo.Config{withholding(func(int64) bool { return true })},
			config: engine.FleetConfig{Sessions: 3, Lateness: engine.Lateness{DropLate: true}},
			stages: []schedule.Stage{openStage(t, 1000, 150*time.Millisecond)},
			release: func(m *match) {
				if m.byClass[protocol.Client] == 147 {
					m.goOn()
				}
			}},
		"drop after a while": {plan: single(),
			servers: []func(*match) echo.Config{withholding(func(int64) bool { return true })},
			config: engine.FleetConfig{
				Sessions: 3, Lateness: engine.Lateness{DropLate: true, DropAfter: 20 * time.Millisecond},
			},
			stages: []schedule.Stage{openStage(t, 1000, 150*time.Millisecond)},
			release: func(m *match) {
				if m.byClass[protocol.Client] == 147 {
					m.goOn()
				}
			}},
		"errors": {plan: single(), servers: []func(*match) echo.Config{failing(echo.Refused, 1, tenth)},
			config: engine.FleetConfig{Sessions: 4, Retrying: engine.Retrying{Retries: 5}},
			stages: []schedule.Stage{closedStage(200)}, shows: requests},
		"retries": {plan: single(), servers: []func(*match) echo.Config{failing(echo.Later, 2, tenth)},
			config: engine.FleetConfig{Sessions: 4, Retrying: engine.Retrying{Retries: 2}},
			stages: []schedule.Stage{closedStage(200), openStage(t, 1000, 100*time.Millisecond)}, shows: requests},
		"retries after a pause": {plan: single(), servers: []func(*match) echo.Config{failing(echo.Later, 1, tenth)},
			config: engine.FleetConfig{Sessions: 4, Retrying: engine.Retrying{Retries: 1, RetryPause: 3 * time.Millisecond}},
			stages: []schedule.Stage{closedStage(100)},
			shows: func(_ *match, total *measure.Account) string {
				// The answers to every tenth operation come after a pause of at least 2.4 ms.
				return fmt.Sprint(total.Operations[0].Response.CountAbove(2_400_000) >= 10)
			}},
		"too few retries": {plan: single(), servers: []func(*match) echo.Config{failing(echo.Later, 3, tenth)},
			config: engine.FleetConfig{Sessions: 4, Retrying: engine.Retrying{Retries: 2}},
			stages: []schedule.Stage{closedStage(200)}, shows: requests},
		"no retries": {plan: single(), servers: []func(*match) echo.Config{failing(echo.Later, 1, tenth)},
			config: engine.FleetConfig{Sessions: 4},
			stages: []schedule.Stage{closedStage(200)}, shows: requests},
		"fatal errors": {plan: single(), servers: []func(*match) echo.Config{failing(echo.Fatal, 1, tenth)},
			config: engine.FleetConfig{Sessions: 4, Retrying: engine.Retrying{Retries: 2}},
			stages: []schedule.Stage{closedStage(100)}, shows: requests},
		"transactions": {plan: paused(0), servers: []func(*match) echo.Config{plainEcho},
			config: engine.FleetConfig{Sessions: 4},
			stages: []schedule.Stage{closedStage(100), openStage(t, 1000, 50*time.Millisecond)}, shows: requests},
		"transactions that fail": {plan: paused(0), servers: []func(*match) echo.Config{inTransaction(echo.Refused, 1)},
			config: engine.FleetConfig{Sessions: 4},
			stages: []schedule.Stage{closedStage(100)}, shows: requests},
		"transactions that are retried": {plan: paused(time.Millisecond),
			servers: []func(*match) echo.Config{inTransaction(echo.Later, 2)},
			config: engine.FleetConfig{
				Sessions: 4, Retrying: engine.Retrying{Retries: 3},
			}, stages: []schedule.Stage{closedStage(100)}, shows: requests},
		"timeouts while thinking": {plan: paused(400 * time.Millisecond), servers: one,
			config: engine.FleetConfig{
				Sessions: 3, OperationTimeout: 100 * time.Millisecond, Retrying: engine.Retrying{Retries: 3},
			},
			stages: []schedule.Stage{closedStage(6)}, shows: func(m *match, total *measure.Account) string {
				// For each operation: begin, the first call, and the end of its transaction.
				return fmt.Sprint(requests(m, total), " of 18, ", total.Operations[0].Errors[protocol.Timeout], " of 6 too late, ",
					total.Addresses[0].Reconnects, " reconnects")
			}},
		"timeouts": {plan: single(),
			servers: []func(*match) echo.Config{withholding(func(n int64) bool { return n%40 == 5 })},
			config:  engine.FleetConfig{Sessions: 4, OperationTimeout: 400 * time.Millisecond},
			stages:  []schedule.Stage{closedStage(120)}},
		"nothing listens, open": {plan: single(), servers: one, absent: true,
			config: engine.FleetConfig{Sessions: 4, OperationTimeout: 50 * time.Millisecond},
			stages: []schedule.Stage{openStage(t, 200, 100*time.Millisecond)},
			shows: func(_ *match, total *measure.Account) string {
				return fmt.Sprintf("lag up to %d ns, own %d", total.Operations[0].Lag.Max(), count(total.OwnLag))
			}},
		"a dead address": {plan: single(), servers: two, dead: 1, config: engine.FleetConfig{Sessions: 6},
			stages: []schedule.Stage{closedStage(300), openStage(t, 1000, 200*time.Millisecond)},
			shows: func(_ *match, total *measure.Account) string {
				return fmt.Sprint(total.Addresses[0].Done, total.Addresses[0].Up, total.Addresses[1].Done, total.Addresses[1].Up)
			}},
		"policy": {plan: single(), servers: two, config: engine.FleetConfig{
			Sessions: 8, Where: engine.Where{Balance: weighted},
		},
			stages: []schedule.Stage{closedStage(50)}, shows: func(_ *match, total *measure.Account) string {
				return fmt.Sprint(total.Addresses[0].Up, total.Addresses[1].Up)
			}},
	}
}

func TestTiersAgree(t *testing.T) {
	for name, p := range parities(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A machine without a free core may make one of them late, each time in another way.
			library, codec := play(t, p, false), play(t, p, true)
			for n := 1; n < 4 && library != codec; n++ {
				library, codec = play(t, p, false), play(t, p, true)
			}
			if library != codec {
				t.Errorf("library tier: %s\n                         codec tier:   %s", library, codec)
			}
		})
	}
}

// After a soft stop, operations in flight are completed, including their retries.
func TestSoftStopsLetOperationsRetry(t *testing.T) {
	onBothTiers(t, func(t *testing.T, codec bool) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		m := &match{tries: map[int64]int{}}
		s := listen(t, echo.Config{Answer: func(f echo.Frame) bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			n := f.Number(0)
			if m.tries[n]++; m.tries[n] == 1 {
				f.SetStatus(echo.Later)
			}
			if n == 20 {
				stop()
			}
			return true
		}})
		defer s.Close()
		fleet, cfg := newFleet(t, codec, s.Address(), engine.FleetConfig{
			Sessions: 4, Retrying: engine.Retrying{Retries: 1},
		}, &outcomes{})
		if err := fleet.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := fleet.Run(ctx, nil, schedule.Stage{StartNs: cfg.Clock.Now()}); err != nil {
			t.Fatal(err)
		}
		cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
		if o := &cfg.Collector.Total().Operations[0]; o.Done < 21 || o.Failed() != 0 || o.Retries != o.Done {
			t.Errorf("%d done, failures %v, %d retries", o.Done, o.Errors, o.Retries)
		}
	})
}

// When one of two addresses dies and returns under 200 sessions, every arrival is counted exactly once.
func TestManySessionsSurviveDeaths(t *testing.T) {
	for _, codec := range []bool{false, true} {
		var killed, returned atomic.Bool
		p := parity{
			plan: single(), servers: []func(*match) echo.Config{plainEcho, plainEcho},
			config: engine.FleetConfig{Sessions: 200, OperationTimeout: 5 * time.Second},
			stages: []schedule.Stage{openStage(t, 3000, 1500*time.Millisecond), closedStage(2000)},
			release: func(m *match) {
				switch {
				case m.done == 500 && killed.CompareAndSwap(false, true):
					go m.servers[1].Kill()
				case m.done == 2000 && returned.CompareAndSwap(false, true):
					go func() {
						if err := m.servers[1].Return(); err != nil {
							t.Error(err)
						}
					}()
				}
			},
			shows: func(m *match, total *measure.Account) string {
				o := &total.Operations[0]
				if total.Offered != 4500 || o.Done+o.Dropped() != 6500 || uint64(m.done) != 6500 || o.Dropped() != 0 {
					t.Errorf("codec %v: offered %d, done %d, dropped %d, hooks %d", codec, total.Offered, o.Done, o.Dropped(), m.done)
				}
				a := total.Addresses
				if a[0].Failed() > 0 || a[0].Up != 100 || a[1].Done == 0 {
					t.Errorf("codec %v: %+v, %d up; %+v, %d up", codec, a[0].Counts, a[0].Up, a[1].Counts, a[1].Up)
				}
				return ""
			},
		}
		play(t, p, codec)
		if !killed.Load() || !returned.Load() {
			t.Errorf("codec %v: the server wasn't killed and restarted", codec)
		}
	}
}
