package pool

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/gen"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// fake is an in-memory protocol whose answers are chosen by the test.
type fake struct {
	answer func(ctx context.Context, address string, req *protocol.Request, args []gen.Value, reply *protocol.Reply)
	refuse func(address string) bool

	lingers chan struct{} // of all connections; see protocol.Lingering

	mu    sync.Mutex
	seen  []string // requests in order of arrival
	dials atomic.Int64
}

func (f *fake) Name() string { return "fake" }

func (f *fake) Dial(_ context.Context, t protocol.Target, _ *protocol.Program) (protocol.Conn, error) {
	f.dials.Add(1)
	if f.refuse != nil && f.refuse(t.Address) {
		return nil, &protocol.Error{Class: protocol.Connect, Text: "refused"}
	}
	return &fakeConn{f, t.Address}, nil
}

func (f *fake) Describe(context.Context, protocol.Target) (protocol.ServerInfo, error) {
	return protocol.ServerInfo{Product: "fake"}, nil
}

type fakeConn struct {
	f       *fake
	address string
}

func (c *fakeConn) Do(ctx context.Context, req *protocol.Request, args []gen.Value, reply *protocol.Reply) {
	c.f.mu.Lock()
	c.f.seen = append(c.f.seen, req.Name)
	c.f.mu.Unlock()
	if c.f.answer != nil {
		c.f.answer(ctx, c.address, req, args, reply)
	}
}

func (c *fakeConn) Close() error { return nil }

func (c *fakeConn) Lingers() <-chan struct{} { return c.f.lingers }

// one returns an operation with one request and one integer parameter.
func one(name string) plan.Operation {
	return plan.Operation{Name: name, Weight: 1, Count: 1, Steps: []plan.Step{{
		Request: protocol.Request{Name: name, Verb: protocol.SQL, Text: "select $1", Params: []gen.Kind{gen.Int}},
		Params: []plan.Param{{Value: &plan.ValueSpec{Spec: gen.Spec{
			Type: gen.TypeInteger, HasRange: true, IntLo: 1, IntHi: 1000}}}},
	}}}
}

// bench is a plan with all that is needed to run it.
type bench struct {
	cfg  engine.Config
	pool *Pool
	seen []engine.ErrorEvent
	ivs  []snapshot
	cut  func(*measure.Interval) // receives every interval, if not nil
	mu   sync.Mutex
}

type snapshot struct {
	phase        string
	start, end   int64
	done, failed uint64
	backlog      uint64
	offered      uint64
}

func (b *bench) Interval(iv *measure.Interval) error {
	var c measure.Counts
	for i := range iv.Operations {
		c.Add(&iv.Operations[i].Counts)
	}
	b.ivs = append(b.ivs, snapshot{iv.Phase, iv.StartNs, iv.EndNs, c.Done, c.Failed(), iv.Backlog, iv.Offered})
	if b.cut != nil {
		b.cut(iv)
	}
	return nil
}

func newBench(t *testing.T, f *fake, p *plan.Plan, addresses ...string) *bench {
	t.Helper()
	if len(addresses) == 0 {
		addresses = []string{"one"}
	}
	p.Settings = p.Settings.WithDefaults()
	w, err := workload.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{}
	c := measure.NewCollector(len(w.Operations), len(addresses))
	clock := engine.NewClock(time.Now())
	var targets []protocol.Target
	for _, a := range addresses {
		targets = append(targets, protocol.Target{Address: a})
	}
	s := p.Settings
	b.pool, err = NewPool(engine.FleetConfig{
		Workload: w, Driver: f, Sessions: s.Sessions, Collector: c, Clock: clock, OnError: func(e engine.ErrorEvent) {
			b.mu.Lock()
			b.seen = append(b.seen, e)
			b.mu.Unlock()
		}, OperationTimeout: s.OperationTimeout, Where: engine.Where{Targets: targets},
		Dialing: engine.Dialing{ConnectTimeout: s.ConnectTimeout}, Retrying: engine.Retrying{Retries: s.Retries},
		Lateness: engine.Lateness{DropLate: s.LatePolicy == "drop", DropAfter: s.DropAfter},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.cfg = engine.Config{Workload: w, Fleet: b.pool, Collector: c, Clock: clock, Sinks: []measure.Sink{b}}
	t.Cleanup(b.pool.Close)
	return b
}

// ended is the outcome of a run and its measurements.
type ended struct {
	*engine.Outcome
	Total *measure.Account
}

func (b *bench) run(t *testing.T, ctx context.Context) ended {
	t.Helper()
	if err := b.pool.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	out, err := engine.Drive(ctx, make(chan struct{}), b.cfg, engine.Walk(b.cfg.Workload.Plan.Load))
	if err != nil {
		t.Fatal(err)
	}
	var done uint64
	for _, iv := range b.ivs {
		done += iv.done
	}
	total := b.cfg.Collector.Total()
	if total := total.Totals(); total.Done != done {
		t.Errorf("intervals hold %d operations, the totals %d", done, total.Done)
	}
	return ended{out, total}
}
