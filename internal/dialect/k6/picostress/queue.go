package picostress

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/grafana/sobek"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/dialect/k6/conns"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/run/runner"
)

// maxQueue is the most requests that generateQueue returns. They are all in memory, for each virtual user.
const maxQueue = 5_000_000

// generateQueue(seed) returns all requests of the queue in order, as [{Sql, Params}]. They depend only on the seed, and
// equal those that brunt queue --seed sends.
func (i *instance) generateQueue(a *bind.Args) (any, error) {
	seed, err := seedOf(a, 0)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	w, err := i.seeded(i.vu.Context(), seed)
	if err != nil {
		return nil, err
	}
	if w.Plan.Mix != plan.ByCount {
		return nil, fmt.Errorf("generateQueue: the queries of %s say no count, so there is no queue", w.Plan.Name)
	}
	if w.Total > maxQueue {
		return nil, fmt.Errorf(
			"generateQueue: the queue has %d requests, more than the %d that fit into the memory of scripts; use brunt queue, which keeps none of them", w.Total, maxQueue)
	}
	var st workload.State
	list := make([]any, w.Total)
	for n := range w.Total {
		at := w.Pick(n)
		o := i.vu.Runtime().NewObject()
		_ = o.Set("Sql", i.plan.Operations[at].Steps[0].Request.Text)
		_ = o.Set("Params", i.params(w.Args(&st, at, 0, n)))
		list[n] = o
	}
	return i.vu.Runtime().NewArray(list...), nil
}

// seeded returns the workload for a seed.
func (i *instance) seeded(ctx context.Context, seed uint64) (*workload.Workload, error) {
	switch {
	case i.plan == nil:
		return nil, errNoConfig
	case i.work == nil:
		return nil, errNoPool
	case seed == i.work.Plan.Seed:
		return i.work, nil
	}
	p := *i.plan
	p.Seed = seed
	r, err := runner.Open(ctx, &p, runner.Options{Recording: runner.Recording{None: true}, NoSetup: true,
		NoTeardown: true})
	if err != nil {
		return nil, err
	}
	return r.Workload, r.Close()
}

// params returns arguments as values that survive JSON, through which setup() passes them on: whole numbers that JSON
// would round become strings.
func (i *instance) params(args []gen.Value) *sobek.Object {
	list := make([]any, len(args))
	for k := range args {
		v := &args[k]
		switch {
		case v.Kind == gen.Int && (v.I > 1<<53-1 || v.I < -(1<<53-1)), v.Kind == gen.Uint && uint64(v.I) > 1<<53-1:
			list[k] = string(v.AppendText(nil))
		case v.Kind == gen.Null, v.Kind == gen.Bool, v.Kind == gen.Int, v.Kind == gen.Uint, v.Kind == gen.Float &&
			!math.IsInf(v.F, 0) && !math.IsNaN(v.F):
			list[k] = i.vu.Value(v.Any())
		default:
			list[k] = string(v.AppendText(nil))
		}
	}
	return i.vu.Runtime().NewArray(list...)
}

// call(sql, params) sends one request: one of the queue, or another statement.
func (i *instance) call(a *bind.Args) (any, error) {
	text, list := a.Text(0, "the statement"), a.ListOr(1, "the parameters")
	if err := a.Err(); err != nil {
		return nil, err
	}
	return i.outcome(i.send(text, list))
}

func (i *instance) send(text string, list []any) error {
	i.mu.Lock()
	pool, work, at, ours := i.pool, i.work, 0, false
	if pool != nil {
		at, ours = i.bySQL[text]
	}
	i.mu.Unlock()
	if pool == nil {
		return errNoPool
	}
	r := conns.Request{Key: text, Request: protocol.Request{Name: "call", Verb: protocol.SQL, Text: text}}
	args := make([]gen.Value, len(list))
	for k, x := range list {
		kind := gen.Null
		if ours {
			r.Request = *work.Operations[at].Steps[0].Request
			if k < len(r.Params) {
				kind = r.Params[k]
			}
		}
		var ok bool
		if args[k], ok = valueOf(x, kind); !ok {
			return protocol.Bad("parameter %d of %.60q: %s can't be sent as the plan says", k+1, text, bind.Kind(x))
		}
	}
	if ours {
		r.Request = *work.Operations[at].Steps[0].Request
	} else {
		r.Key = fmt.Sprintf("%d %s", len(list), text)
		r.Params = make([]gen.Kind, len(list))
	}
	var reply protocol.Reply
	if failure := conns.Ask(i.vu.Context(), i.vu, pool, i.timeout(), &r, args, &reply); failure != nil {
		return failure
	}
	return nil
}

func (i *instance) timeout() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if t := i.plan.Settings.OperationTimeout; t > 0 {
		return t
	}
	return 30 * time.Second
}
