package pool

import (
	"context"
	"slices"
	"testing"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// placing is a protocol whose requests name the address that they go to.
type placing struct{ *fake }

func (placing) Router(nodes *protocol.Nodes, p *protocol.Program) protocol.Router {
	places := make(protocol.Places, len(p.Requests))
	for i := range p.Requests {
		places[i] = slices.IndexFunc(nodes.All(), func(t protocol.Target) bool { return t.Address == p.Requests[i].Name })
	}
	return places
}

func newPlacing(t *testing.T, f *fake, p *plan.Plan, addresses ...string) *bench {
	b := newBench(t, f, p, addresses...)
	cfg := b.pool.cfg
	cfg.Driver = placing{f}
	var err error
	if b.pool, err = NewPool(cfg); err != nil {
		t.Fatal(err)
	}
	b.cfg.Fleet = b.pool
	t.Cleanup(b.pool.Close)
	return b
}

func TestRequestsCountAtTheAddressThatTheyName(t *testing.T) {
	f := &fake{answer: func(_ context.Context, _ string, req *protocol.Request, _ []gen.Value, r *protocol.Reply) {
		switch req.Name {
		case "b":
			r.Fail(&protocol.Error{Class: protocol.Server, Text: "no"})
		case "c":
			r.Reopened = true
		}
	}}
	p := &plan.Plan{Load: []plan.Phase{{Name: "closed", Kind: plan.Closed, Operations: 160}}}
	for _, name := range []string{"a", "b", "c", "elsewhere"} {
		p.Operations = append(p.Operations, one(name))
	}
	p.Settings.Sessions = 1
	b := newPlacing(t, f, p, "a", "b", "c")
	out := b.run(t, t.Context())
	// The session belongs to the first address, and so do requests without an address.
	done := func(operation int) uint64 { return out.Total.Operations[operation].Done }
	for i, want := range []struct{ done, failed, reconnects uint64 }{{done(0) + done(3), 0, 0}, {done(1), done(1), 0},
		{done(2), 0, done(2)}} {
		a := &out.Total.Addresses[i]
		if want.done == 0 || a.Done != want.done || a.Failed() != want.failed || a.Reconnects != want.reconnects {
			t.Errorf("address %d: %d done, %d failed, %d reconnects, want %+v", i, a.Done, a.Failed(), a.Reconnects, want)
		}
	}
	for _, e := range b.seen {
		if e.Address != 1 {
			t.Errorf("a failure of address %d", e.Address)
		}
	}
}

// A closed load pauses after a request that couldn't be sent, although the session itself stays connected.
func TestClosedLoadsPauseWhereNobodyIs(t *testing.T) {
	f := &fake{answer: func(_ context.Context, _ string, _ *protocol.Request, _ []gen.Value, r *protocol.Reply) {
		r.Fail(&protocol.Error{Class: protocol.Connect, Text: "nobody there"})
	}}
	p := &plan.Plan{
		Operations: []plan.Operation{one("a")},
		Load:       []plan.Phase{{Name: "closed", Kind: plan.Closed, Duration: 300 * time.Millisecond}},
	}
	p.Settings.Sessions, p.Settings.Retries = 1, -1
	out := newPlacing(t, f, p, "a").run(t, t.Context())
	if done := out.Total.Operations[0].Done; done < 1 || done > 300/25+1 || f.dials.Load() != 1 {
		t.Errorf("%d requests and %d connections in 300 ms", done, f.dials.Load())
	}
}
