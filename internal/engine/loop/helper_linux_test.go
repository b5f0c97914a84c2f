package loop_test

import (
	"context"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/load/gen"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/echo"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// bench is a fleet, its servers, and what was observed of it.
type bench struct {
	t         testing.TB
	fleet     *loop.Fleet
	servers   []*echo.Server
	collector *measure.Collector
	clock     engine.Clock
	watcher   *watcher

	mu     sync.Mutex
	errors []engine.ErrorEvent
	done   []uint64 // indices in the order finished
}

// watcher records what the loops pass to their recorders.
type watcher struct {
	mu          sync.Mutex
	samples     []measure.Sample
	dropped     uint64
	stalls      int
	reconnects  []int
	onDrop      func(total uint64)
	onReconnect func()
	onStall     func()
}

type watched struct {
	*measure.Recorder
	w *watcher
}

func (r watched) Record(s *measure.Sample) {
	r.w.mu.Lock()
	r.w.samples = append(r.w.samples, *s)
	r.w.mu.Unlock()
	r.Recorder.Record(s)
}

func (r watched) GiveUpAt(operation int, why measure.Unsent, intendedNs, nowNs int64) {
	r.w.mu.Lock()
	r.w.dropped++
	total, f := r.w.dropped, r.w.onDrop
	r.w.mu.Unlock()
	if f != nil {
		f(total)
	}
	r.Recorder.GiveUpAt(operation, why, intendedNs, nowNs)
}

func (r watched) Stall() {
	r.w.mu.Lock()
	r.w.stalls++
	f := r.w.onStall
	r.w.mu.Unlock()
	if f != nil {
		f()
	}
	r.Recorder.Stall()
}

func (r watched) Reconnect(address int) {
	r.w.mu.Lock()
	r.w.reconnects = append(r.w.reconnects, address)
	f := r.w.onReconnect
	r.w.mu.Unlock()
	if f != nil {
		f()
	}
	r.Recorder.Reconnect(address)
}

// number returns a parameter whose value is the operation's number.
func number() plan.Param {
	return plan.Param{Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger, Distribution: gen.Sequential}}}
}

// call returns a step that sends the operation's number.
func call() plan.Step {
	return plan.Step{Request: protocol.Request{Verb: protocol.Call, Text: "echo"}, Params: []plan.Param{number()}}
}

// single returns a workload of one call.
func single() *plan.Plan {
	return &plan.Plan{Seed: 7, Operations: []plan.Operation{{Name: "echo", Weight: 1, Steps: []plan.Step{call()}}}}
}

// options describe how a bench differs from the default: one server, one session.
type options struct {
	plan    *plan.Plan
	servers []echo.Config
	target  map[string]string
	config  engine.FleetConfig
	prepare func(*loop.Fleet) error
	convert func(gen.Generator) gen.Generator // of parameters
	absent  bool                              // the servers are killed before the sessions connect
}

func newBench(t testing.TB, o options) *bench {
	t.Helper()
	b := &bench{t: t, watcher: &watcher{}, clock: engine.NewClock(time.Now())}
	if o.plan == nil {
		o.plan = single()
	}
	if o.servers == nil {
		o.servers = []echo.Config{{}}
	}
	w, err := workload.Compile(o.plan)
	if err != nil {
		t.Fatal(err)
	}
	if o.convert != nil {
		w.Convert(o.convert)
	}
	w.Done = func(_ int, index uint64, _ protocol.Class) {
		b.mu.Lock()
		b.done = append(b.done, index)
		b.mu.Unlock()
	}
	cfg := o.config
	for _, c := range o.servers {
		s := listen(t, c)
		b.servers = append(b.servers, s)
		cfg.Targets = append(cfg.Targets, protocol.Target{Address: s.Address(), Options: o.target})
	}
	cfg.Workload, cfg.Driver, cfg.Clock = w, echo.Driver{}, b.clock
	cfg.Collector = measure.NewCollector(len(w.Operations), len(cfg.Targets))
	cfg.OnError = func(e engine.ErrorEvent) {
		b.mu.Lock()
		b.errors = append(b.errors, e)
		b.mu.Unlock()
	}
	b.collector = cfg.Collector
	if b.fleet, err = loop.NewFleet(cfg, echo.Driver{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.fleet.Close)
	b.fleet.Watch(func(r *measure.Recorder) loop.Recorder { return watched{r, b.watcher} })
	if o.prepare != nil {
		if err := o.prepare(b.fleet); err != nil {
			t.Fatal(err)
		}
	}
	if !o.absent {
		if err := b.fleet.Connect(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// run executes a stage that begins now, and returns the number of the next operation.
func (b *bench) run(stage schedule.Stage) uint64 {
	b.t.Helper()
	stage.StartNs = b.clock.Now()
	next, err := b.fleet.Run(context.Background(), nil, stage)
	if err != nil {
		b.t.Fatal(err)
	}
	return next
}

// total returns everything recorded so far.
func (b *bench) total() *measure.Account {
	b.collector.Cut(b.clock.Now(), measure.Meta{})
	return b.collector.Total()
}

// openStage returns a stage with a rate in arrivals per second and a duration.
func openStage(t testing.TB, rate float64, d time.Duration) schedule.Stage {
	t.Helper()
	shape, err := schedule.NewShape([]schedule.Segment{{DurationNs: int64(d), RateFrom: rate, RateTo: rate}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return schedule.Stage{Shape: shape}
}

// indices collects the numbers that reach a server, in order.
type indices struct {
	mu   sync.Mutex
	seen []int64
}

func (x *indices) add(f echo.Frame) bool {
	x.mu.Lock()
	x.seen = append(x.seen, f.Number(0))
	x.mu.Unlock()
	return true
}

func (x *indices) inOrder() []int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.seen)
}

func (x *indices) sorted() []int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(slices.Values(x.seen))
}

// series returns n numbers: first, first+step, …
func series(first, step int64, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = first + int64(i)*step
	}
	return out
}

// same fails the test unless got is want.
func same(t testing.TB, what string, got, want []int64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: got %d of them (%v …), want %d (%v …)", what, len(got), got[:min(len(got), 12)], len(want),
			want[:min(len(want), 12)])
	}
}

// errorsOf counts the failed attempts by class, failed connections excluded.
func (b *bench) errorsOf(c protocol.Class) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.errors {
		if e.Operation >= 0 && e.Failure.Class == c {
			n++
		}
	}
	return n
}

// listen starts an echo server at a port that no other process takes while the server is down. It is closed at the end
// of the test.
func listen(t testing.TB, c echo.Config) *echo.Server {
	t.Helper()
	s, err := echo.Listen(testserver.Address(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
