package pool

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// transfer returns a transaction whose second statement uses a value from the answer to the first one.
func transfer() plan.Operation {
	first := one("read").Steps[0]
	first.Request.Capture = []protocol.Capture{{Name: "v", Kind: gen.Int}}
	second := plan.Step{
		Request: protocol.Request{Name: "write", Verb: protocol.SQL, Text: "update $1", Params: []gen.Kind{gen.Null}},
		Params:  []plan.Param{{Step: 0, Index: 0}},
	}
	return plan.Operation{Name: "transfer", Weight: 1, Transaction: true, Steps: []plan.Step{first, second}}
}

func TestTransactionCarriesCapturedValues(t *testing.T) {
	var wrong atomic.Int64
	f := &fake{answer: func(_ context.Context, _ string, req *protocol.Request, args []gen.Value, r *protocol.Reply) {
		switch req.Name {
		case "read":
			r.Captured[0].SetInt(args[0].I * 10)
		case "write":
			if args[0].Kind != gen.Int || args[0].I%10 != 0 || args[0].I < 10 {
				wrong.Add(1)
			}
		}
	}}
	bn := newBench(t, f, &plan.Plan{
		Operations: []plan.Operation{transfer()},
		Load:       []plan.Phase{{Name: "closed", Kind: plan.Closed, Operations: 100}},
	})
	out := bn.run(t, context.Background())
	if done := out.Total.Operations[0].Done; done != 100 || len(f.seen) != 400 {
		t.Errorf("%d transactions of %d requests, want 100 of 4 each", done, len(f.seen))
	}
	if wrong.Load() > 0 {
		t.Errorf("%d writes didn't get the value that the read had returned", wrong.Load())
	}
	if !slices.Equal(f.seen[:4], []string{"begin", "read", "write", "commit"}) {
		t.Errorf("order of requests %v", f.seen[:4])
	}
}

func TestRetriesKeepArgumentsAndCountApart(t *testing.T) {
	var mu sync.Mutex
	sent := map[int64]int{}
	f := &fake{answer: func(_ context.Context, _ string, req *protocol.Request, args []gen.Value, r *protocol.Reply) {
		switch req.Name {
		case "read":
			mu.Lock()
			sent[args[0].I]++
			n := sent[args[0].I]
			mu.Unlock()
			r.Captured[0].SetInt(int64(n))
		case "write":
			if args[0].I == 1 {
				r.Fail(&protocol.Error{Class: protocol.Retryable, Code: "40001", Text: "serialization"})
			}
		}
	}}
	op := transfer()
	op.Steps[0].Params[0].Value.IntHi = 1 << 40
	bn := newBench(t, f, &plan.Plan{
		Operations: []plan.Operation{op},
		Load:       []plan.Phase{{Name: "closed", Kind: plan.Closed, Operations: 20}},
	})
	out := bn.run(t, context.Background())
	c := out.Total.Operations[0].Counts
	if c.Done != 20 || c.Failed() != 0 || c.Attempts != 40 || c.Retries != 20 {
		t.Errorf("done %d, failed %d, attempts %d, retries %d; want 20, 0, 40, 20", c.Done, c.Failed(), c.Attempts, c.Retries)
	}
	for v, n := range sent {
		if n != 2 {
			t.Errorf("value %d was sent %d times, want the first attempt and its retry", v, n)
		}
	}
	rollbacks := 0
	for _, name := range f.seen {
		if name == "rollback" {
			rollbacks++
		}
	}
	if rollbacks != 20 {
		t.Errorf("%d rollbacks, want one for each failed attempt", rollbacks)
	}
}

func TestHangingRequestTimesOutAndTheSessionReturns(t *testing.T) {
	var n atomic.Int64
	f := &fake{answer: func(ctx context.Context, _ string, _ *protocol.Request, _ []gen.Value, r *protocol.Reply) {
		if n.Add(1) == 5 {
			<-ctx.Done()
			r.Failure = protocol.Failure{Class: protocol.Timeout, Text: "no answer", Fatal: true}
		}
	}}
	bn := newBench(t, f, &plan.Plan{
		Operations: []plan.Operation{one("a")},
		Load:       []plan.Phase{{Name: "closed", Kind: plan.Closed, Operations: 20}},
		Settings:   plan.Settings{OperationTimeout: 50 * time.Millisecond},
	})
	out := bn.run(t, context.Background())
	c := out.Total.Operations[0].Counts
	if c.Done != 20 || c.Errors[protocol.Timeout] != 1 || c.Failed() != 1 {
		t.Errorf("done %d with errors %v, want 20 with one timeout", c.Done, c.Errors)
	}
	if got := out.Total.Addresses[0].Reconnects; got != 1 {
		t.Errorf("%d reconnects, want 1", got)
	}
}

func TestDeadAddressCostsItsRequestsNotTheRun(t *testing.T) {
	var dead atomic.Bool
	f := &fake{refuse: func(a string) bool { return a == "two" && dead.Load() }}
	var n atomic.Int64
	f.answer = func(_ context.Context, a string, _ *protocol.Request, _ []gen.Value, r *protocol.Reply) {
		switch n.Add(1) {
		case 100:
			dead.Store(true)
		case 200: // the other goes on
			dead.Store(false)
		}
		if a == "two" && dead.Load() {
			r.Failure = protocol.Failure{Class: protocol.UnknownOutcome, Text: "reset", Fatal: true}
		}
	}
	bn := newBench(t, f, &plan.Plan{
		Operations: []plan.Operation{one("a")},
		Load:       []plan.Phase{{Name: "hold", Kind: plan.Open, Duration: time.Hour, RateFrom: 400, RateTo: 400}},
		Settings:   plan.Settings{Sessions: 4},
	}, "one", "two")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	reconnects := uint64(0)
	bn.cut = func(iv *measure.Interval) {
		if reconnects += iv.Addresses[1].Reconnects; reconnects == 2 && iv.Addresses[1].Up == 2 {
			cancel()
		}
	}
	out := bn.run(t, ctx)
	c := out.Total.Totals()
	// They are reads, of which nothing can have been applied.
	if lost := c.Errors[protocol.Connect]; lost == 0 || lost > 2 || c.Failed() != lost {
		t.Errorf("%d requests lost, %d failed; want those in flight on two sessions", lost, c.Failed())
	}
	if out.Total.Offered != c.Arrivals() || c.OK() < 200-2 {
		t.Errorf("offered %d, met their fate %d, succeeded %d", out.Total.Offered, c.Arrivals(), c.OK())
	}
}

func TestNothingReachableFailsOperationsInstead(t *testing.T) {
	var dead atomic.Bool
	f := &fake{refuse: func(string) bool { return dead.Load() }}
	f.answer = func(_ context.Context, _ string, _ *protocol.Request, _ []gen.Value, r *protocol.Reply) {
		dead.Store(true)
		r.Failure = protocol.Failure{Class: protocol.UnknownOutcome, Text: "reset", Fatal: true}
	}
	bn := newBench(t, f, &plan.Plan{
		Operations: []plan.Operation{one("a")},
		Load: []plan.Phase{{Name: "hold", Kind: plan.Open, Duration: 500 * time.Millisecond, RateFrom: 100,
			RateTo: 100}},
		Settings: plan.Settings{Sessions: 1, OperationTimeout: 100 * time.Millisecond},
	})
	out := bn.run(t, context.Background())
	c := out.Total.Totals()
	if c.Done+c.Dropped() != 50 || c.Errors[protocol.Connect] == 0 {
		t.Errorf("done %d, dropped %d, errors %v; want all 50 accounted for, most as connect errors", c.Done, c.Dropped(),
			c.Errors)
	}
}

// In a closed load, a session is ready when its last operation and the following think time are over.
func TestClosedLoadsSayWhenSessionsWereReady(t *testing.T) {
	for _, think := range []time.Duration{0, 2 * time.Millisecond} {
		a := one("a")
		a.Think = plan.Think{Min: think}
		bn := newBench(t, &fake{}, &plan.Plan{
			Operations: []plan.Operation{a},
			Load:       []plan.Phase{{Name: "closed", Kind: plan.Closed, Operations: 5}},
		})
		var ends []int64
		bn.cfg.Workload.Timed = func(m workload.Timing) {
			ends = append(ends, m.EndNs)
		}
		bn.run(t, context.Background())
		if m := bn.pool.sessions[0].sample; m.Open || m.Ready != ends[3]+int64(think) || m.Sent < m.Ready ||
			m.Intended != m.Sent {
			t.Errorf("think %v: the last sample is %+v; its session's operation before ended at %d", think, m, ends[3])
		}
	}
}

// The end of a load waits until servers have been asked to stop what they do for connections that failed.
func TestCloseWaitsForWhatLingers(t *testing.T) {
	f := &fake{lingers: make(chan struct{})}
	p := &Pool{}
	p.close(&fakeConn{f: f})
	closed := make(chan struct{})
	go func() { p.Close(); close(closed) }()
	select {
	case <-closed:
		t.Error("it didn't wait")
	default:
	}
	close(f.lingers)
	<-closed
}
