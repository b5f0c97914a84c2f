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
// takes. Otherwise it is closed: each session begins an operation when its last one has ended. A load of several Phases
// may have both.
type Load struct {
	Name       string      // of the result and its bundle; "" means "load"
	Do         Func        // the operation
	Operations []Operation // several operations, instead of Do; each is chosen by its weight

	Rate     float64       // operations a second; 0 makes the load closed
	Duration time.Duration // of the load, the warm-up excluded
	// Count ends a closed load after this number of operations; 0 means no limit. An open load ends after its Duration.
	Count uint64
	// Phases are the parts of a load, one after the other, in place of Rate, Duration and Count.
	Phases []Phase
	WarmUp time.Duration // before the load, at the same rate; not part of the result
	// Sessions is how many operations may be in progress at once. 0 means 1 in a closed load, and as many as needed, up
	// to 10000, in an open one.
	Sessions int
	// Think is how long each session of a closed load waits after an operation. If ThinkMost is longer, the time is
	// random, from Think to ThinkMost.
	Think, ThinkMost time.Duration
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

// Phase is a part of a load. It is open if it has a rate.
type Phase struct {
	Name     string        // "" means its number, as in "phase 2"
	Rate     float64       // operations a second, at the beginning
	RateTo   float64       // operations a second at the end, if not 0: the rate changes evenly
	Duration time.Duration // of an open phase; of a closed one, 0 means until Count operations are done
	Count    uint64        // ends a closed phase; 0 means no limit
	// Sessions is how many operations are in progress in a closed phase; 0 means those of the load. It is 0 in an open
	// phase.
	Sessions int
}

// open reports whether operations begin on schedule.
func (p *Phase) open() bool { return p.Rate > 0 || p.RateTo > 0 }

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
		p.Operations = append(p.Operations, plan.Operation{Name: o.Name, Weight: o.Weight, Think: l.think(),
			Steps: []plan.Step{{
				Request: protocol.Request{Name: o.Name, Verb: protocol.Call, Text: o.Name, Params: []gen.Kind{gen.Uint}},
				Params:  []plan.Param{{Name: "n", Value: numbers()}},
			}}})
	}
	if err := l.setPhases(p); err != nil {
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

// think returns the time between the operations of a session.
func (l Load) think() plan.Think {
	if l.ThinkMost > l.Think {
		return plan.Think{Distribution: "uniform", Min: l.Think, Max: l.ThinkMost}
	}
	if l.Think > 0 {
		return plan.Think{Distribution: "constant", Min: l.Think}
	}
	return plan.Think{}
}

// phases returns the phases of the load, which has at least one.
func (l Load) phases() ([]Phase, error) {
	if len(l.Phases) == 0 {
		return []Phase{{Name: "load", Rate: l.Rate, Duration: l.Duration, Count: l.Count}}, nil
	}
	if l.Rate != 0 || l.Duration != 0 || l.Count != 0 {
		return nil, errors.New("brunt: the load has Phases, and Rate, Duration or Count; set Phases or the others")
	}
	all := slices.Clone(l.Phases)
	for i := range all {
		if all[i].Name == "" {
			all[i].Name = fmt.Sprint("phase ", i+1)
		}
	}
	return all, nil
}

// check returns what is wrong with a phase.
func (p *Phase) check() error {
	wrong := func(x float64) bool { return x < 0 || math.IsNaN(x) || math.IsInf(x, 0) }
	switch {
	case wrong(p.Rate):
		return fmt.Errorf("the Rate is %g; give operations a second", p.Rate)
	case wrong(p.RateTo):
		return fmt.Errorf("the RateTo is %g; give operations a second", p.RateTo)
	case p.Duration < 0 || p.Sessions < 0:
		return errors.New("the Duration and Sessions can't be negative")
	case p.open() && p.Count > 0:
		return errors.New("a Count is for closed loads; a load with a Rate ends after its Duration")
	case p.open() && p.Sessions > 0:
		return errors.New("the Sessions of a phase are for closed loads; those of the load limit an open phase")
	case p.Duration == 0 && p.Count == 0:
		return errors.New("the load has no end; set Duration, or Count of a load without a Rate")
	}
	return nil
}

// check returns what is wrong with the load as a whole, given whether some of its phases are open.
func (l Load) check(open bool) error {
	switch {
	case l.WarmUp < 0 || l.Timeout < 0 || l.Sessions < 0 || l.Think < 0 || l.ThinkMost < 0:
		return errors.New("brunt: WarmUp, Timeout, Sessions, Think and ThinkMost can't be negative")
	case l.ThinkMost > 0 && l.ThinkMost < l.Think:
		return fmt.Errorf("brunt: ThinkMost is %s, less than Think, which is %s", l.ThinkMost, l.Think)
	case open && (l.Think > 0 || l.ThinkMost > 0):
		return errors.New("brunt: Think is for closed loads; with a Rate, operations begin on schedule")
	case !open && l.Random:
		return errors.New("brunt: Random is for loads with a Rate")
	}
	return nil
}

// setPhases sets the phases of p and what belongs to them.
func (l Load) setPhases(p *plan.Plan) error {
	phases, err := l.phases()
	if err != nil {
		return err
	}
	open := slices.ContainsFunc(phases, func(ph Phase) bool { return ph.open() })
	for i := range phases {
		if err := phases[i].check(); err != nil && len(l.Phases) > 0 {
			return fmt.Errorf("brunt: phase %q: %w", phases[i].Name, err)
		} else if err != nil {
			return fmt.Errorf("brunt: %w", err)
		}
	}
	if err := l.check(open); err != nil {
		return err
	}
	for i := range phases {
		if n := phases[i].Sessions; l.Sessions > 0 && n > l.Sessions {
			return fmt.Errorf("brunt: phase %q has %d sessions, and the load has %d", phases[i].Name, n, l.Sessions)
		}
		p.Load = append(p.Load, l.planned(&phases[i]))
		p.Settings.Sessions = max(p.Settings.Sessions, phases[i].Sessions)
	}
	if open && l.Sessions == 0 {
		p.Settings.Sessions, p.Settings.SessionsAsNeeded = max(mostSessions, p.Settings.Sessions), true
	}
	if l.WarmUp > 0 {
		if err := plan.WarmUp(p, l.WarmUp); err != nil {
			return fmt.Errorf("brunt: WarmUp: %w", err)
		}
	}
	return nil
}

// planned returns a phase of the load's plan.
func (l Load) planned(p *Phase) plan.Phase {
	if !p.open() {
		sessions := p.Sessions
		if sessions == 0 && len(l.Phases) > 0 {
			sessions = max(l.Sessions, 1)
		}
		return plan.Phase{Name: p.Name, Kind: plan.Closed, Duration: p.Duration, Operations: p.Count, Sessions: sessions}
	}
	out := plan.Phase{Name: p.Name, Kind: plan.Open, Duration: p.Duration, RateFrom: p.Rate, RateTo: p.RateTo}
	if p.RateTo == 0 {
		out.RateTo = p.Rate
	}
	if l.Random {
		out.Arrivals = "poisson"
	}
	return out
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
