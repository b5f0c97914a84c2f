// Package runner takes a plan from its first connection to its finished record: it joins the
// rooms that don't know each other (drivers, SQL flavors, loading, the engine, the record) and
// does nothing that one of them could do.
package runner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"brunt/internal/balance"
	"brunt/internal/driver"
	"brunt/internal/engine"
	"brunt/internal/load"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/tier"
	"brunt/internal/wire"
	"brunt/internal/workload"
)

// Options are what a run needs beside its plan.
type Options struct {
	Plan     *plan.Plan
	PlanText []byte   // the resolved plan as it goes into the bundle, without secrets
	Command  []string // the command line, without secrets
	Version  string   // of brunt
	Root     string   // folder that holds bundles; "" means record.DefaultRoot
	Dir      string   // this run's bundle, instead of a name under Root
	Stride   uint64   // this machine's part of the operations: see schedule.Stage
	Offset   uint64

	NoSetup    bool // neither create nor fill tables
	NoTeardown bool // leave what the run created
	Force      bool // fill tables that brunt didn't create

	Wait      time.Duration // for all addresses to answer; the load begins when they do, or if one does by then
	Waiting   func(error)   // told once that an address is waited for, and why
	StartDown bool          // begin although no address answers; for loads without SQL

	Sinks     []measure.Sink                       // told of each interval beside the record
	Starting  func(*record.Run, string)            // told of the run and its folder just before the load
	Ended     func()                               // told when the load has ended
	Finishing func(*record.Run)                    // may complete the record before it is judged and written
	Prepared  func(*workload.Workload)             // may set hooks before anything is sent
	Loading   func(load.Progress)                  // told how the filling of tables goes
	Notice    func(record.Warning)                 // told of each warning as it arises
	Failed    func(record.ErrorSample)             // told of each failed attempt, concurrently
	Hint      func(record.Hint)                    // told of each change seen, before Sinks are told of its interval
	Ceiling   func(protocol string) (perS float64) // the generator's known maximum here, 0 if none; may be nil
	Extra     map[string]string                    // kept in the record
}

// job is a run under way.
type job struct {
	o         Options
	stand     *stand
	workload  *workload.Workload
	collector *measure.Collector
	bundle    *record.Bundle
	run       *record.Run
	fleet     tier.Fleet
	sinkTold  bool
	admin     driver.Admin // open from set-up to teardown; nil without set-up
	created   []string     // tables that this run created
	marks     markers
}

// Run carries out a plan and returns its record and the folder that holds it. ctx ends the load
// gracefully: what is in flight is waited for until hard is closed, and the record is complete.
// An error of the plan is a *UsageError, of the connection an *UnreachableError; both come before
// any load.
func Run(ctx context.Context, hard <-chan struct{}, o Options) (*record.Run, string, error) {
	nameParts(o.Plan)
	o.Plan.Settings = o.Plan.Settings.WithDefaults()
	j := &job{o: o}
	var err error
	if j.stand, err = newStand(ctx, o.Plan, patience{wait: o.Wait, anyway: o.StartDown, waiting: o.Waiting}); err != nil {
		return nil, "", err
	}
	j.stand.version = o.Version
	if j.workload, err = j.stand.workload(); err != nil {
		return nil, "", err
	}
	if o.Prepared != nil {
		o.Prepared(j.workload)
	}
	if err := j.begin(); err != nil {
		return nil, "", err
	}
	outcome, err := j.load(ctx, hard)
	if o.Ended != nil {
		o.Ended()
	}
	if err != nil {
		j.bundle.Discard()
		return nil, j.bundle.Dir, errors.Join(err, j.teardown())
	}
	err = j.finish(outcome)
	return j.run, j.bundle.Dir, errors.Join(err, j.teardown())
}

// nameParts gives every phase a name of its own, which the record tells them apart by.
func nameParts(p *plan.Plan) {
	seen := map[string]bool{}
	for i := range p.Load {
		name := p.Load[i].Name
		if name == "" {
			name = string(p.Load[i].Kind)
		}
		unique := name
		for n := 2; seen[unique]; n++ {
			unique = name + " " + strconv.Itoa(n)
		}
		seen[unique] = true
		p.Load[i].Name = unique
	}
}

// begin opens the bundle.
func (j *job) begin() error {
	started := time.Now()
	options := record.Options{Warn: j.o.Notice}
	var err error
	if j.o.Dir != "" {
		j.bundle, err = record.CreateIn(record.OS{}, j.o.Dir, options)
	} else {
		root := j.o.Root
		if root == "" {
			root = record.DefaultRoot
		}
		j.bundle, err = record.Create(record.OS{}, root, j.o.Plan.Name, started, options)
	}
	if err != nil {
		return &UsageError{err}
	}
	j.run = j.newRecord(started)
	if err := j.bundle.Start(j.o.PlanText, j.run); err != nil {
		return &UsageError{err}
	}
	return nil
}

// load sets up, connects and runs the plan's phases.
func (j *job) load(ctx context.Context, hard <-chan struct{}) (*engine.Outcome, error) {
	if !j.o.NoSetup {
		setup, err := j.setup(ctx)
		if err != nil {
			return nil, err
		}
		j.run.Setup = setup
	} else if err := j.look(ctx); err != nil {
		return nil, err
	}
	for _, n := range j.stand.notices {
		j.warn(record.Warning{ID: n.ID, Text: n.Text})
	}
	clock := tier.NewClock(time.Now())
	j.collector = measure.NewCollector(len(j.workload.Operations), len(j.stand.targets))
	if err := j.newFleet(clock); err != nil {
		return nil, err
	}
	defer j.fleet.Close()
	if err := j.fleet.Connect(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, notConnected(err)
	}
	if t, ok := j.fleet.(interface{ Timing() string }); ok {
		j.run.Timing = t.Timing()
	}
	if err := j.bundle.Update(j.run); err != nil {
		return nil, err
	}
	if j.o.Starting != nil {
		j.o.Starting(j.run, j.bundle.Dir)
	}
	defer calmCollector(j.run.Tier)()
	probe, stop := newHealth()
	defer stop()
	return engine.Run(ctx, hard, engine.Config{
		Workload: j.workload, Fleet: j.fleet, Collector: j.collector, Clock: clock,
		Sinks:     append([]measure.Sink{j.bundle, record.NewHintTaker(j.run, j.o.Hint)}, j.o.Sinks...),
		SinkError: j.sinkFailed,
		Health:    probe,
		Stride:    j.o.Stride, Offset: j.o.Offset,
	})
}

// newFleet chooses the tier and makes its fleet.
func (j *job) newFleet(clock tier.Clock) error {
	s := &j.o.Plan.Settings
	policy, err := balance.New(j.o.Plan.Target.Balance, len(j.stand.targets), nil, j.o.Plan.Seed)
	if err != nil {
		return &UsageError{err}
	}
	cfg := tier.Config{
		Assign:   policy.Assign,
		Workload: j.workload, Driver: j.stand.driver, Targets: j.stand.targets,
		Sessions: j.run.Sessions, Collector: j.collector, Clock: clock, OnError: j.failed(clock),
		OperationTimeout: s.OperationTimeout, ConnectTimeout: s.ConnectTimeout,
		Retries: s.Retries, DropLate: s.LatePolicy == "drop", DropAfter: s.DropAfter, OutageWait: s.Outage == "wait",
		TimingTolerance: s.TimingTolerance, Spin: s.Spin, Pipeline: j.run.Pipeline,
		Loops: s.Loops, IOUring: s.IOUring, RetryErrors: s.RetryErrors, RetryPause: s.RetryPause,
		ClosedOnly: j.run.LoadModel == "closed",
	}
	j.run.Tier, j.run.TierReason = "library", "asked for"
	if s.Tier != "library" {
		why := j.takeCodec(cfg)
		if j.fleet != nil {
			return nil
		}
		if s.Tier == "codec" {
			return &UsageError{fmt.Errorf("the codec tier was asked for, but %s", why)}
		}
		j.run.TierReason = why
	}
	j.noPipeline("the library tier doesn't pipeline")
	j.fleet = engine.NewPool(cfg, nil)
	return nil
}

// takeCodec makes a fleet of event loops if the protocol has a codec for the program. Otherwise
// why says why not.
func (j *job) takeCodec(cfg tier.Config) (why string) {
	p, ok := j.stand.driver.(wire.Protocol)
	if !ok {
		return "protocol " + j.stand.driver.Name() + " has no codec"
	}
	for _, t := range cfg.Targets {
		if why, ok := p.Takes(t, &j.workload.Program); !ok {
			return why
		}
	}
	fleet, err := wire.NewFleet(cfg, p)
	if err != nil {
		return err.Error()
	}
	j.fleet, j.run.Tier, j.run.TierReason = fleet, "codec", ""
	if _, ok := p.(wire.Unordered); ok {
		j.noPipeline("the server may answer out of turn")
	}
	return ""
}

// noPipeline says that a pipeline asked for isn't used.
func (j *job) noPipeline(why string) {
	if j.run.Pipeline > 1 {
		j.warn(record.Warning{ID: "pipeline-ignored", Text: why + ": one request in flight a session"})
		j.run.Pipeline = 1
	}
}

// failed keeps samples of failures in the record.
func (j *job) failed(clock tier.Clock) func(tier.ErrorEvent) {
	return func(e tier.ErrorEvent) {
		sample := record.ErrorSample{
			Time: time.Unix(0, clock.Unix(e.AtNs)).UTC(), Class: e.Failure.Class.String(), Code: e.Failure.Code,
			Text: e.Failure.Text, Index: e.Index, Address: j.stand.targets[e.Address].Address, Attempt: e.Attempt,
		}
		if e.Operation >= 0 {
			sample.Operation = j.workload.Operations[e.Operation].Name
		}
		j.bundle.Failed(&sample)
		if j.o.Failed != nil {
			j.o.Failed(sample)
		}
	}
}

// finish completes the record.
func (j *job) finish(outcome *engine.Outcome) error {
	run := j.run
	j.bundle.Tally().Fill(run)
	run.Ended, run.Complete = time.Now().UTC(), true
	run.Interrupted, run.Aborted = outcome.Interrupted, outcome.Aborted
	for _, t := range outcome.Thresholds {
		run.Thresholds = append(run.Thresholds, record.Threshold{
			Text: t.Threshold.Text, Pass: t.Pass, Value: t.Value, Unit: t.Unit,
			Limit: t.Threshold.Limit, Aborted: t.Aborted,
		})
	}
	run.Failures = j.bundle.Failures()
	if j.o.Finishing != nil {
		j.o.Finishing(run)
	}
	run.Health.CeilingPerS = j.ceiling()
	run.Verdict = report.Judge(run)
	run.Warnings = append(run.Warnings, missedReferences(j.o.Plan, run)...)
	run.Warnings = append(run.Warnings, report.Assess(run)...)
	return j.bundle.Finish(run)
}

// sinkFailed tells of the first failure of a sink; later ones would only repeat it each interval.
func (j *job) sinkFailed(err error) {
	if !j.sinkTold {
		j.sinkTold = true
		j.warn(record.Warning{ID: "sink", Text: err.Error()})
	}
}

func (j *job) warn(w record.Warning) {
	j.run.Warnings = append(j.run.Warnings, w)
	if j.o.Notice != nil {
		j.o.Notice(w)
	}
}

// describe is what the record says of the addresses before the load.
func (j *job) describe() []record.Target {
	var out []record.Target
	for i, t := range j.stand.targets {
		info := driver.ServerInfo{}
		if i < len(j.stand.servers) {
			info = j.stand.servers[i]
		}
		out = append(out, record.Target{
			Address: t.Address, Protocol: j.o.Plan.Target.Protocol,
			Product: info.Product, Version: info.Version, Settings: info.Settings,
		})
	}
	return out
}

// ceiling is the machine's measured maximum for loads like this one: event loops, plain text, one
// request in flight a session. Of others nothing was measured.
func (j *job) ceiling() float64 {
	if j.o.Ceiling == nil || j.run.Tier != "codec" || j.run.Pipeline > 1 {
		return 0
	}
	return j.o.Ceiling(j.o.Plan.Target.Protocol)
}
