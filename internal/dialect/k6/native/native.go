// Package native runs a plan on brunt's own engine as part of a run of k6, without JavaScript.
package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"brunt/internal/dialect/k6/session"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/protocol/protocols"
	"brunt/internal/record"
	"brunt/internal/run/runner"
	"brunt/internal/server/target"
)

// Plan is the plan to run, and the part of it.
type Plan struct {
	File string // a plan's file
	Text string // or its text
	// The fields below replace the plan's values, unless they are zero.
	Addresses      []string
	User, Password string
	Sessions       int
	Rate           float64       // operations a second, for Duration
	Duration       time.Duration // of the load at Rate
	Part           schedule.Part // the operations of this instance

	Grace    time.Duration         // how long to wait for operations in flight after ctx is done
	Interval func(finished uint64) // called for each interval with the number of finished operations; may be nil
}

// Read reads the plan. An error is the user's mistake.
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

// Inline reports whether text is a plan rather than the path of one.
func Inline(text string) bool { return strings.Contains(text, "\n") }

// Run sets up the plan, sends its load, and adds it to the record of s. It returns when the load is over or, if ctx is
// done earlier, when the operations in flight have ended or the grace period is over. The error may be a
// *target.UsageError or a *target.UnreachableError.
func Run(ctx context.Context, s *session.Session, n Plan) (run *record.Run, err error) {
	p, err := n.Read()
	if err != nil {
		return nil, &target.UsageError{Err: err}
	}
	if n.File != "" {
		if data, err := os.ReadFile(n.File); err == nil { // Read would have failed
			s.Uses(data)
		}
	}
	if err := place(s, p); err != nil {
		return nil, &target.UsageError{Err: err}
	}
	g := &engineSink{told: n.Interval}
	r, err := runner.Open(ctx, p, runner.Options{
		Recording: runner.Recording{None: true}, KeepCollector: true,
		Hooks: runner.Hooks{Sinks: []measure.Sink{g}, Failed: s.Failed}, Part: n.Part,
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

// place applies the script's options about addresses to a plan's target.
func place(s *session.Session, p *plan.Plan) error {
	if err := target.Unfold(p); err != nil || protocols.Of(p.Target.Protocol).Embedded {
		return err
	}
	for i, address := range p.Target.Addresses {
		placed, err := s.Place(address)
		if err != nil {
			return err
		}
		p.Target.Addresses[i] = placed
	}
	return nil
}

// after returns a channel that is closed once the grace period after the end of ctx is over.
func after(ctx context.Context, grace time.Duration) <-chan struct{} {
	hard := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, func() { close(hard) }) })
	return hard
}

// engineSink passes the plan's intervals on to the session.
type engineSink struct {
	in   *session.EngineRun
	told func(finished uint64)
}

// Interval implements measure.Sink.
func (g *engineSink) Interval(iv *measure.Interval) error {
	if g.told != nil {
		c := iv.Totals()
		g.told(c.Done)
	}
	return g.in.Interval(iv)
}
