package brunt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/own"
)

// Func is an operation. n is its number, from 0 over the whole load: the data of an operation that is derived from n is
// the same in every run. ctx is done when the operation's time is up, and after the operation. An error makes the
// operation a failed one; [Failure] is an error that says of which class. Func is called concurrently.
type Func func(ctx context.Context, n uint64) error

// Operation is one of several operations of a load.
type Operation struct {
	Name   string  // unique
	Weight float64 // share of the load, relative to the weights of the other operations; 0 means 1
	Do     Func
}

// Load is a load of a Go function. It is open if it has a Rate: operations begin on schedule, however long the function
// takes. Otherwise it is closed: each session begins an operation when its last one has ended.
type Load struct {
	Name       string      // of the result and its bundle; "" means "load"
	Do         Func        // the operation
	Operations []Operation // several operations, instead of Do; each is chosen by its weight

	Rate     float64       // operations a second; 0 makes the load closed
	Duration time.Duration // of the load, the warm-up excluded
	// Count ends a closed load after this number of operations; 0 means no limit. An open load ends after its Duration.
	Count  uint64
	WarmUp time.Duration // before the load, at the same rate; not part of the result
	// Sessions is how many operations may be in progress at once. 0 means 1 in a closed load, and as many as needed, up
	// to 10000, in an open one.
	Sessions int
	// Random makes the times between operations of an open load random (a Poisson process) instead of equal.
	Random  bool
	Timeout time.Duration // of an operation; 0 means 30 s
	// Rules must hold, such as "response.p(99) < 20ms", "errors < 0.1%" or "rate > 490". Without rules, less than 1 % of
	// the operations may fail, and 95 % must begin in time. docs/plan.md describes them as thresholds.
	Rules []string
	Seed  uint64 // of the choice among Operations, and of random times

	// Results is the folder in which the bundle is made, as a folder of its own. "" means that nothing is written.
	Results string
	// Progress receives lines about the load while it runs; nil means none. A writer that blocks doesn't stop the load.
	Progress io.Writer
}

// Limits and defaults of a Load.
const (
	mostSessions = 10000
	functionName = "go" // protocol of a Go function's load in its record
)

// interruptedFor is how long operations in progress may go on when the context of a run has ended.
const interruptedFor = time.Second

// A PanicError is the error of a load whose function panicked, or ended its goroutine as FailNow does. The load ends
// with the first panic.
type PanicError struct {
	Value any    // of the panic
	Stack string // of its goroutine
}

// Error returns the value of the panic and the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("brunt: panic: %v\n%s", e.Value, e.Stack) }

// Run sends the load and returns its result. If ctx ends, no further operation begins, operations in progress have a
// second to end, and the result is that of an interrupted run. The error says why there is no load, that its record
// can't be written, or, as a *PanicError next to a result, that the function panicked.
func (l Load) Run(ctx context.Context) (*Result, error) {
	p, err := l.plan()
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	d := own.New(functionName, "the function", l.connect, end)
	declared := &protocol.Declaration{Names: []string{functionName}, Embedded: true,
		Open: func() protocol.Driver { return d }}
	r, err := execution{plan: p, protocol: declared, results: l.Results, progress: l.Progress}.run(ctx)
	if p := d.Panicked(); p != nil {
		return r, errors.Join(&PanicError{Value: p.Value, Stack: string(p.Stack)}, err)
	}
	return r, err
}

// operations returns the load's operations.
func (l Load) operations() ([]Operation, error) {
	all := slices.Clone(l.Operations)
	switch {
	case l.Do == nil && len(all) == 0:
		return nil, errors.New("brunt: the load has no function; set Do or Operations")
	case l.Do != nil && len(all) > 0:
		return nil, errors.New("brunt: the load has Do and Operations; set one of them")
	case l.Do != nil:
		all = []Operation{{Name: l.name(), Do: l.Do}}
	}
	for i := range all {
		if all[i].Do == nil {
			return nil, fmt.Errorf("brunt: operation %q has no function", all[i].Name)
		}
		if all[i].Weight == 0 {
			all[i].Weight = 1
		}
	}
	return all, nil
}

func (l Load) name() string {
	if l.Name == "" {
		return "load"
	}
	return l.Name
}

// plan returns the load as a plan. Its error is that of the load's fields.
func (l Load) plan() (*plan.Plan, error) {
	operations, err := l.operations()
	if err != nil {
		return nil, err
	}
	p := &plan.Plan{Name: l.name(), Seed: l.Seed,
		Target:   plan.Target{Protocol: functionName, Addresses: []string{"function"}},
		Settings: plan.Settings{Sessions: l.Sessions, OperationTimeout: l.Timeout},
	}
	for _, o := range operations {
		p.Operations = append(p.Operations, plan.Operation{Name: o.Name, Weight: o.Weight, Steps: []plan.Step{{
			Request: protocol.Request{Name: o.Name, Verb: protocol.Call, Text: o.Name, Params: []gen.Kind{gen.Uint}},
			Params:  []plan.Param{{Name: "n", Value: numbers()}},
		}}})
	}
	if err := l.phase(p); err != nil {
		return nil, err
	}
	if p.Thresholds, err = rules(l.Rules); err != nil {
		return nil, err
	}
	return p, valid(p)
}

// numbers returns the specification of the numbers of operations.
func numbers() *plan.ValueSpec {
	return &plan.ValueSpec{Start: plan.StartRange, Spec: gen.Spec{
		Type: gen.TypeUnsigned, Distribution: gen.Sequential, HasRange: true, IntHi: math.MaxInt64}}
}

// phase sets the phases of p and what belongs to them.
func (l Load) phase(p *plan.Plan) error {
	switch {
	case l.Rate < 0 || math.IsNaN(l.Rate) || math.IsInf(l.Rate, 0):
		return fmt.Errorf("brunt: Rate is %g; give operations a second", l.Rate)
	case l.Duration < 0 || l.WarmUp < 0 || l.Timeout < 0 || l.Sessions < 0:
		return errors.New("brunt: Duration, WarmUp, Timeout and Sessions can't be negative")
	case l.Rate > 0 && l.Count > 0:
		return errors.New("brunt: Count is for closed loads; a load with a Rate ends after its Duration")
	case l.Duration == 0 && l.Count == 0:
		return errors.New("brunt: the load has no end; set Duration, or Count of a load without a Rate")
	case l.Rate == 0 && l.Random:
		return errors.New("brunt: Random is for loads with a Rate")
	}
	phase := plan.Phase{Name: "load", Kind: plan.Closed, Duration: l.Duration, Operations: l.Count}
	if l.Rate > 0 {
		phase = plan.Phase{Name: "load", Kind: plan.Open, Duration: l.Duration, RateFrom: l.Rate, RateTo: l.Rate}
		if l.Random {
			phase.Arrivals = "poisson"
		}
		if l.Sessions == 0 {
			p.Settings.Sessions, p.Settings.SessionsAsNeeded = mostSessions, true
		}
	}
	p.Load = []plan.Phase{phase}
	if l.WarmUp > 0 {
		if err := plan.WarmUp(p, l.WarmUp); err != nil {
			return fmt.Errorf("brunt: WarmUp: %w", err)
		}
	}
	return nil
}

// rules parses rules.
func rules(texts []string) (all []plan.Threshold, err error) {
	for _, text := range texts {
		t, err := plan.ParseThreshold(text)
		if err != nil {
			return nil, fmt.Errorf("brunt: rule %q: %w", text, err)
		}
		all = append(all, t)
	}
	return all, nil
}

// connect returns a session that calls the load's functions.
func (l Load) connect(context.Context, protocol.Target) (own.Session, error) {
	operations, err := l.operations()
	if err != nil {
		return nil, err
	}
	s := functions{}
	for _, o := range operations {
		s[o.Name] = o.Do
	}
	return s, nil
}

// functions are the functions of a load by the names of their operations.
type functions map[string]Func

// Do calls the function that the request names.
func (f functions) Do(ctx context.Context, r *protocol.Request, args []gen.Value, reply *own.Reply) {
	if err := f[r.Text](ctx, uint64(args[0].I)); err != nil {
		reply.Fail(failureOf(ctx, r, err, nil))
	}
}

// Close does nothing.
func (functions) Close() error { return nil }

var _ own.Session = functions(nil)
