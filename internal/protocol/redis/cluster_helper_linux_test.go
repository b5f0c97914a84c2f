package redis

import (
	"context"
	"sync"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/engine/loop"
	"brunt/internal/engine/pool"
	"brunt/internal/load/gen"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// patience is the longest time that a test waits for a condition, and a request for its answer.
const patience = 5 * time.Minute

// load is a fleet for a cluster, with the results of its operations.
type load struct {
	t         *testing.T
	fleet     engine.Fleet
	workload  *workload.Workload
	collector *measure.Collector
	clock     engine.Clock
	next      uint64

	mu     sync.Mutex
	failed []engine.ErrorEvent
	done   func(ok bool)
}

// options of a load.
type loadOptions struct {
	plan     *plan.Plan
	protocol protocol.CodecDriver // nil means New()
	library  bool
	sessions int
	loops    int
	pipeline int
}

// newLoad connects a fleet that is given the address of only one node.
func newLoad(t *testing.T, seed string, o loadOptions) *load {
	t.Helper()
	if o.protocol == nil {
		o.protocol = New()
	}
	target := protocol.Target{Address: seed, Options: map[string]string{"mode": "cluster"}}
	targets, err := New().Expand(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	if len(targets) != 3 {
		t.Fatalf("the cluster has %d nodes, want 3: %v", len(targets), targets)
	}
	l := &load{t: t, clock: engine.NewClock(time.Now())}
	if l.workload, err = workload.Compile(o.plan); err != nil {
		t.Fatal(err)
	}
	if why, ok := o.protocol.Takes(target, &l.workload.Program); !ok {
		t.Fatal(why)
	}
	l.workload.Done = func(_ int, _ uint64, class protocol.Class) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.done != nil {
			l.done(class == protocol.OK)
		}
	}
	l.collector = measure.NewCollector(len(l.workload.Operations), len(targets))
	cfg := engine.FleetConfig{
		Workload: l.workload, Driver: o.protocol, Sessions: o.sessions, OperationTimeout: patience, Clock: l.clock,
		Collector: l.collector, OnError: func(e engine.ErrorEvent) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.failed = append(l.failed, e)
		}, Where: engine.Where{Targets: targets}, Dialing: engine.Dialing{ConnectTimeout: patience},
		ForLoops: engine.ForLoops{Pipeline: o.pipeline, Loops: o.loops},
	}
	if o.library {
		l.fleet, err = pool.NewPool(cfg)
	} else {
		l.fleet, err = loop.NewFleet(cfg, o.protocol)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.fleet.Close)
	if err := l.fleet.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// run executes a stage.
func (l *load) run(ctx context.Context, s schedule.Stage) {
	l.t.Helper()
	s.First, s.StartNs = l.next, l.clock.Now()
	next, err := l.fleet.Run(ctx, nil, s)
	if err != nil {
		l.t.Error(err)
	}
	l.next = next
}

// background executes a closed stage until stop is called.
func (l *load) background() (stop func()) {
	ctx, cancel := context.WithCancel(l.t.Context())
	over := make(chan struct{})
	go func() { defer close(over); l.run(ctx, schedule.Stage{}) }()
	return func() { cancel(); <-over }
}

// after waits until n operations in a row have the wanted result.
func (l *load) after(what string, n int, wanted func(ok bool) bool) {
	l.t.Helper()
	reached := make(chan struct{})
	left := n
	l.mu.Lock()
	l.done = func(ok bool) {
		if !wanted(ok) {
			left = n
		} else if left--; left == 0 {
			l.done = nil
			close(reached)
		}
	}
	l.mu.Unlock()
	select {
	case <-reached:
	case <-time.After(patience):
		l.t.Errorf("%s: waited in vain; last failures: %v", what, l.failures()[max(0, len(l.failures())-3):])
	}
	l.mu.Lock()
	l.done = nil
	l.mu.Unlock()
}

func succeeds(ok bool) bool { return ok }
func either(bool) bool      { return true }

func (l *load) failures() []engine.ErrorEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]engine.ErrorEvent(nil), l.failed...)
}

// counts returns the sum of everything recorded so far.
func (l *load) counts() (sum measure.Counts, total *measure.Account) {
	l.collector.Cut(l.clock.Now(), measure.Meta{})
	total = l.collector.Total()
	for i := range total.Operations {
		sum.Add(&total.Operations[i].Counts)
	}
	return sum, total
}

func step(words ...string) plan.Step {
	return plan.Step{Request: protocol.Request{Verb: protocol.Command, Words: words}, Params: []plan.Param{{
		Value: &plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger, HasRange: true, IntLo: 0, IntHi: 1 << 40}},
	}}}
}
