package brunt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"brunt/internal/base/password"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/run/runner"
	"brunt/internal/server/target"
)

// Plan is a load test as a file describes it: tables, operations, load and rules. docs/plan.md describes the format.
type Plan struct {
	// Results is the folder in which the bundle is made, as a folder of its own. "" means that nothing is written.
	Results string
	// Progress receives lines about the load while it runs; nil means none. A writer that blocks doesn't stop the load.
	Progress   io.Writer
	NoSetup    bool          // neither create nor fill tables
	NoTeardown bool          // keep the tables that the run created
	Wait       time.Duration // how long to wait until the servers answer

	plan *plan.Plan
}

// ReadPlan reads a plan from a file. A password that the plan doesn't have is taken from the environment variable
// BRUNT_PASSWORD, as by the command line.
func ReadPlan(path string) (*Plan, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("brunt: plan: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, planfile.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("brunt: plan: %w", err)
	}
	return ParsePlan(path, text)
}

// ParsePlan parses the text of a plan. name is what errors call the file. The error has a line for each problem, with
// its place.
func ParsePlan(name string, text []byte) (*Plan, error) {
	p, err := planfile.Read(name, text)
	if err != nil {
		return nil, fmt.Errorf("brunt: %w", err)
	}
	given, err := password.Find("", "", false, strings.NewReader(""), io.Discard)
	if err != nil {
		return nil, fmt.Errorf("brunt: %w", err)
	}
	if given != "" {
		p.Target.Password = given
	}
	return &Plan{plan: p}, nil
}

// Name returns the plan's name.
func (p *Plan) Name() string { return p.plan.Name }

// SetAddresses replaces the addresses of the plan's servers.
func (p *Plan) SetAddresses(addresses ...string) { p.plan.Target.Addresses = addresses }

// SetSessions sets the number of connections.
func (p *Plan) SetSessions(n int) { p.plan.Settings.Sessions = n }

// SetRules replaces the plan's rules; see Load.Rules.
func (p *Plan) SetRules(texts ...string) (err error) {
	p.plan.Thresholds, err = rules(texts)
	return err
}

// SetRate replaces the plan's load by an open one of a constant rate, operations a second.
func (p *Plan) SetRate(perS float64, duration time.Duration) error {
	return p.setLoad(plan.RateLoad(perS, duration))
}

// SetClosed replaces the plan's load by a closed one: each session sends as soon as it is free.
func (p *Plan) SetClosed(sessions int, duration time.Duration) error {
	p.SetSessions(sessions)
	return p.setLoad(plan.ClosedLoad(sessions, duration))
}

func (p *Plan) setLoad(l plan.Load) error {
	if err := p.plan.SetLoad(l); err != nil {
		return fmt.Errorf("brunt: %w", err)
	}
	return nil
}

// SetWarmUp puts a phase of the load's first rate before the load, which isn't part of the result.
func (p *Plan) SetWarmUp(d time.Duration) error {
	if err := plan.WarmUp(p.plan, d); err != nil {
		return fmt.Errorf("brunt: warm-up: %w", err)
	}
	return nil
}

// Run runs the plan and returns its result, as Load.Run does. It creates and fills the plan's tables first. The plan's
// protocol must be one that the program links: see the package brunt/protocols and Register. A plan may be run several
// times, but not at the same time.
func (p *Plan) Run(ctx context.Context) (*Result, error) {
	ready, err := p.ready()
	if err != nil {
		return nil, fmt.Errorf("brunt: %w", err)
	}
	return execution{plan: ready, results: p.Results, progress: p.Progress, options: runner.Options{
		NoSetup: p.NoSetup, NoTeardown: p.NoTeardown, Wait: p.Wait}}.run(ctx)
}

// ready returns a copy of the plan with the parts of its connection strings, and with what the environment adds.
func (p *Plan) ready() (*plan.Plan, error) {
	ready := *p.plan
	secured := strings.Contains(strings.Join(ready.Target.Addresses, ","), "sslmode=")
	if err := target.Unfold(&ready); err != nil {
		return nil, err
	}
	if ready.Target.Protocol == "" {
		return nil, errors.New("the plan has no target.protocol")
	}
	if err := target.Fill(&ready.Target, secured, os.Getenv, nil); err != nil {
		return nil, err
	}
	if err := planfile.Secrets(&ready, os.LookupEnv); err != nil {
		return nil, err
	}
	if found := ready.Validate(); len(found) > 0 {
		return nil, found
	}
	return &ready, nil
}
