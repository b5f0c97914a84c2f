// Package native runs a plan on brunt's own engine as part of a run of k6: no JavaScript is in its way.
package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"brunt/internal/k6x/session"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/planfile"
	"brunt/internal/record"
	"brunt/internal/runner"
	"brunt/internal/schedule"
	"brunt/internal/target"
)

// Plan is what to run, and which part of it.
type Plan struct {
	File string // a plan's file
	Text string // or its text
	// What follows replaces what the plan says, where it isn't zero.
	Addresses      []string
	User, Password string
	Sessions       int
	Rate           float64       // operations a second, for Duration
	Duration       time.Duration // of the load at Rate
	Part           schedule.Part // this instance's operations

	Grace    time.Duration         // for what is in flight when ctx ends
	Interval func(finished uint64) // receives each interval; may be nil
}

// Read reads the plan. The error is the user's.
func (n Plan) Read() (*plan.Plan, error) {
	name, data := "plan", []byte(n.Text)
	if n.Text == "" {
		name = n.File
		var err error
		if data, err = os.ReadFile(n.File); err != nil {
			return nil, fmt.Errorf("the plan can't be read: %w", err)
		}
	}
	p, err := planfile.Read(name, data)
	if err != nil {
		return nil, err
	}
	if len(n.Addresses) > 0 {
		p.Target.Addresses = n.Addresses
	}
	if n.User != "" {
		p.Target.User = n.User
	}
	p.Target.Password = cmp.Or(n.Password, p.Target.Password, os.Getenv("BRUNT_PASSWORD"))
	if n.Sessions > 0 {
		p.Settings.Sessions = n.Sessions
	}
	if n.Rate > 0 {
		load := plan.RateLoad(n.Rate, n.Duration)
		p.Mix, p.Load = load.Mix, load.Phases
	}
	return p, planfile.Secrets(p, os.LookupEnv)
}

// Inline reports whether what a script names as a plan is its text, and not a file.
func Inline(text string) bool { return strings.Contains(text, "\n") }

// Run sets up the plan, sends its load, and takes it into s's record. It returns when the load is over, or
// ctx is done and what was in flight then has been waited for. The error may be a *target.UsageError or a
// *target.UnreachableError.
func Run(ctx context.Context, s *session.Session, n Plan) (run *record.Run, err error) {
	p, err := n.Read()
	if err != nil {
		return nil, &target.UsageError{Err: err}
	}
	if n.File != "" {
		if data, err := os.ReadFile(n.File); err == nil { // Read has read it
			s.Uses(data)
		}
	}
	g := &guest{told: n.Interval}
	r, err := runner.Open(ctx, p, runner.Options{
		Recording: runner.Recording{None: true}, KeepCollector: true,
		Sinks: []measure.Sink{g}, Part: n.Part,
		Tell: runner.Listener{Failed: s.Failed},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.SetUp(ctx); err != nil {
		return nil, err
	}
	g.in = s.Join(r.Record)
	defer g.in.Leave()
	defer s.Working(p.LoadModel() != "closed")()
	if err := r.Drive(ctx, after(ctx, n.Grace), nil); err != nil {
		return nil, err
	}
	return r.Record, r.Finish()
}

// after is closed a while after ctx is done.
func after(ctx context.Context, grace time.Duration) <-chan struct{} {
	hard := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, func() { close(hard) }) })
	return hard
}

// guest passes the plan's intervals on.
type guest struct {
	in   *session.EngineRun
	told func(finished uint64)
}

// Interval implements measure.Sink.
func (g *guest) Interval(iv *measure.Interval) error {
	if g.told != nil {
		c := iv.Totals()
		g.told(c.Done)
	}
	return g.in.Interval(iv)
}
