// Package runner takes a plan from its first connection to its finished record: it joins the
// rooms that don't know each other (drivers, SQL flavors, loading, the engine, the record) and
// does nothing that one of them could do.
//
// A run is Open (find the servers, compile, begin the record), SetUp (tables and sessions), Drive
// (the load, phase after phase), Finish (judge and write the record) and Close.
package runner

import (
	"context"
	"errors"
	"time"

	"brunt/internal/confidence"
	"brunt/internal/engine"
	"brunt/internal/failover"
	"brunt/internal/fault"
	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/observe/self"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/schedule"
	"brunt/internal/schema"
	"brunt/internal/schema/fill"
	"brunt/internal/target"
	"brunt/internal/verdict"
	"brunt/internal/workload"
)

// Runner is a plan that has met its servers. It is used by one goroutine.
type Runner struct {
	Workload *workload.Workload // its hooks may be set before SetUp
	Record   *record.Run        // may be added to until Finish
	Dir      string             // folder of the record; "" if none is kept

	o         Options
	system    *target.System
	nodes     *protocol.Nodes
	bundle    *record.Bundle
	clock     engine.Clock
	collector *measure.Collector
	within    *confidence.Taker
	outages   *failover.Taker // nil where no account of them is made
	fleet     engine.Fleet
	watch     *verdict.Watch
	outcome   *engine.Outcome
	secrets   []string // that errors might quote
	sinkTold  bool
	finished  bool                 // the record is complete
	followed  []context.CancelFunc // what adaptive phases watch
	faults    *fault.Conductor     // nil for plans without faults
	behind    map[string]string    // addresses of the target by those of the proxies in front of them
	tables    *schema.Tables
	lost      []int64  // when each lost write was acknowledged
	registers *contest // nil for plans without registers
	arrivals  arrivals
	suspect   chan struct{} // has one if a failure tells that the nodes have changed
}

// Run carries out a plan as its load says and returns its finished record. See Drive for ctx and
// hard, Open and SetUp for errors.
func Run(ctx context.Context, hard <-chan struct{}, p *plan.Plan, o Options) (*record.Run, error) {
	r, err := Open(ctx, p, o)
	if err != nil {
		return nil, err
	}
	if err = r.SetUp(ctx); err == nil {
		if err = r.Drive(ctx, hard, nil); err == nil {
			err = r.Finish()
		}
	}
	return r.Record, errors.Join(err, r.Close())
}

// Open finds the plan's servers, asks what they are, compiles the plan for them, and begins the
// record. p is never changed. An error of the plan or the options is a *target.UsageError, of the connection
// a *target.UnreachableError; both leave nothing behind.
func Open(ctx context.Context, p *plan.Plan, o Options) (_ *Runner, err error) {
	r := &Runner{o: o, suspect: make(chan struct{}, 1)}
	p, err = r.prepareFaults(p)
	defer func() {
		if err != nil {
			r.endFaults()
		}
	}()
	if err != nil {
		return nil, err
	}
	s, err := target.Find(ctx, p, target.Patience{Wait: o.Wait, StartDown: o.StartDown, Waiting: o.Tell.Waiting})
	if err != nil {
		return nil, err
	}
	r.system, r.secrets = s, s.Plan.Secrets()
	if r.Workload, err = s.Workload(); err != nil {
		return nil, err
	}
	if err := CheckFiles(s, r.Workload, o.Recording.Flags["sessions"]); err != nil {
		return nil, err
	}
	if err := checkAdaptive(s.Plan, o.Part); err != nil {
		return nil, err
	}
	if o.PeakPerS == 0 {
		r.o.PeakPerS = s.Plan.PeakPerS()
	}
	started := time.Now()
	place := record.Place{None: o.Recording.None, Root: o.Recording.Root, Dir: o.Recording.Dir}
	if r.bundle, err = place.Create(s.Plan.Name, started, record.Options{Warn: o.Tell.Notice}); err != nil {
		return nil, &target.UsageError{Err: err}
	}
	if !o.Recording.None {
		r.Dir = r.bundle.Dir
	}
	r.begin(started)
	r.tables = schema.OfRun(s, r.Record, schema.RunOptions{
		Version: o.Recording.Version, Force: o.Force, Keep: o.NoTeardown, Progress: o.Tell.Loading, Warn: r.warn,
	})
	r.rememberWrites()
	if err := r.bundle.Start(o.Recording.Plan, r.Record); err != nil {
		r.bundle.Discard()
		return nil, &target.UsageError{Err: err}
	}
	return r, nil
}

// SetUp creates and fills the tables that are missing, and connects all sessions. Errors are as
// Open's, and those of filling tables.
func (r *Runner) SetUp(ctx context.Context) error {
	if err := r.Prepare(ctx); err != nil {
		return err
	}
	if err := r.startSequences(ctx); err != nil {
		return err
	}
	for _, n := range r.system.Notices {
		r.warn(record.Warning{ID: n.ID, Text: n.Text})
	}
	if err := r.system.Check(ctx, &r.Workload.Program, r.o.Tell.Checking); err != nil {
		return err
	}
	r.clock = engine.NewClock(r.epoch())
	r.nodes = r.system.Nodes()
	r.collector = measure.NewCollector(len(r.Workload.Operations), r.nodes.Cap())
	r.collector.Show(r.nodes.Len())
	r.nodes.OnJoin(r.joined)
	r.within = confidence.NewTaker()
	if f := r.Record.Failover; f != nil {
		r.collector.KeepArrivals(f.DeadlineNs)
		r.outages = failover.NewTaker(r.Record)
	}
	if err := r.meetNodes(ctx); err != nil {
		return err
	}
	r.nodes.OnChange(r.changed)
	if err := r.newFleet(); err != nil {
		return err
	}
	r.within.Peers = r.peers()
	if err := r.fleet.Connect(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return target.NotConnected(r.system.Plan, err)
	}
	if t, ok := r.fleet.(interface{ Timing() message.Message }); ok {
		r.Record.Timing = t.Timing()
	}
	return r.bundle.Update(r.Record)
}

// Prepare is SetUp without sessions, for a load that other processes send: it creates and fills the tables.
func (r *Runner) Prepare(ctx context.Context) error {
	if r.o.NoSetup {
		return r.tables.Look(ctx)
	}
	if err := target.Prepare(ctx, r.system.Plan); err != nil {
		return err
	}
	return r.tables.Fill(ctx)
}

// startSequences lets the keys that the plan inserts begin after those that the tables hold.
func (r *Runner) startSequences(ctx context.Context) error {
	remarks, err := r.tables.StartSequences(ctx, r.Workload.Sequences, r.o.Part.Of > 1)
	if err != nil || len(remarks) == 0 {
		return err
	}
	return r.bundle.Remark(r.o.Recording.Plan, remarks...)
}

// Drive sends the load, once: the phases that next names, one after the other, or the plan's if next
// is nil. ctx ends the load gracefully: what is in flight is waited for until hard is closed, and the
// record will be complete. Then the plan's writes are read back.
func (r *Runner) Drive(ctx context.Context, hard <-chan struct{}, next engine.Next) error {
	if err := r.drive(ctx, hard, next); err != nil {
		return err
	}
	if r.registers != nil {
		r.Record.Registers = r.registers.check(ctx)
	}
	r.verifyWrites(ctx)
	return nil
}

// drive sends the load.
func (r *Runner) drive(ctx context.Context, hard <-chan struct{}, next engine.Next) (err error) {
	if next == nil {
		next = engine.Walk(r.system.Plan.Load)
	} else {
		next = r.announced(next)
	}
	p := r.system.Plan
	rules := verdict.Rules{Thresholds: p.Thresholds, ErrorPercent: p.Settings.ErrorThreshold, Queue: r.Workload.Total}
	for _, op := range r.Workload.Operations {
		rules.Operations = append(rules.Operations, op.Name)
	}
	r.watch = verdict.NewWatch(rules)
	defer r.fleet.Close()
	keeper := keepAwake(ctx, r.system.Plan, r.Record)
	defer func() {
		r.Record.Awake = awakeRecord(keeper)
		keeper.Stop()
	}()
	if err := r.bundle.Update(r.Record); err != nil {
		return err
	}
	if !r.o.KeepCollector {
		defer tuneGC(r.Record.Tier)()
	}
	defer r.watchNodes(ctx)()
	health := self.Start(keeper.CPUNs)
	defer health.Stop()
	if r.faults != nil {
		r.faults.Begin(ctx)
		defer r.recordFaults()
	}
	if r.o.Begin != nil {
		if err := r.o.Begin(ctx); err != nil {
			return err
		}
	}
	if r.registers = r.contest(ctx); r.registers != nil {
		defer r.registers.end()
	}
	r.outcome, err = engine.Drive(ctx, hard, engine.Config{
		Workload: r.Workload, Fleet: r.fleet, Collector: r.collector, Clock: r.clock,
		Sinks:     append(r.takers(), r.o.Sinks...),
		SinkError: r.sinkFailed, Check: r.watch.Check,
		Health:  health.Sample,
		Control: r.controller,
		Part:    r.o.Part,
	}, next)
	return err
}

// epoch is where the run's clock is 0.
func (r *Runner) epoch() time.Time {
	if r.o.Epoch.IsZero() {
		return time.Now()
	}
	return r.o.Epoch
}

// takers are the sinks that make the record.
func (r *Runner) takers() []measure.Sink {
	all := []measure.Sink{joins{r}, r.bundle, record.NewHintTaker(r.Record, r.o.Tell.Hint), r.within}
	all = append(all, r.watch.Windows())
	if r.outages != nil {
		all = append(all, r.outages)
	}
	return all
}

// announced makes the record list the phases that next names.
func (r *Runner) announced(next engine.Next) engine.Next {
	p := *r.system.Plan // gathers the load as it goes
	return func(sofar *measure.Tally) []plan.Phase {
		n := len(p.Load)
		p.Load = target.Named(append(p.Load, next(sofar)...))
		r.Record.LoadModel = p.LoadModel()
		for i := n; i < len(p.Load); i++ {
			r.Record.Phases = append(r.Record.Phases, r.phase(&p.Load[i]))
		}
		if err := r.bundle.Update(r.Record); err != nil {
			r.sinkFailed(err)
		}
		return p.Load[n:]
	}
}

// Finish completes the record, judges the run and writes it. It comes after Drive.
func (r *Runner) Finish() error {
	run, outcome := r.Record, r.outcome
	r.finished = true
	record.Fill(run, r.collector.Tally())
	r.learn()
	r.opened()
	run.Ended, run.Complete = time.Now().UTC(), true
	run.Interrupted, run.Aborted = outcome.Interrupted, outcome.Aborted
	if i := r.watch.Aborted(); i >= 0 {
		run.Thresholds[i].Aborted = true
	}
	run.Failures = r.bundle.Failures()
	run.Warnings = append(run.Warnings, schema.MissedReferences(r.system.Plan, run)...)
	r.watch.Windows().Fill(run)
	if r.outages != nil {
		r.outages.Fill(run)
	}
	fillLosses(run, r.lost)
	verdict.Judge(run, r.collector.Total())
	r.within.Fill(r.Record)
	return r.bundle.Finish(run)
}

// Close drops what the run created and ends all connections. Without Finish the record goes too,
// unless something was sent. Further calls change nothing.
func (r *Runner) Close() error {
	for _, stop := range r.followed {
		stop()
	}
	if r.fleet != nil {
		r.fleet.Close()
	}
	r.endFaults()
	if !r.finished {
		r.finished = true
		r.bundle.Discard()
	}
	if r.tables == nil {
		return nil
	}
	return r.tables.Drop()
}

// sinkFailed tells of the first failure of a sink; later ones would only repeat it each interval.
func (r *Runner) sinkFailed(err error) {
	if !r.sinkTold {
		r.sinkTold = true
		r.warn(record.Warning{ID: "sink", Text: message.OfError(err)})
	}
}

func (r *Runner) warn(w record.Warning) {
	r.Record.Warnings = append(r.Record.Warnings, w)
	if r.o.Tell.Notice != nil {
		r.o.Tell.Notice(w)
	}
}

// Options say how a plan is run. The zero value sets up, runs and tears down, and keeps a record under
// record.DefaultRoot.
type Options struct {
	Recording Recording
	Tell      Listener
	Sinks     []measure.Sink // receives each interval besides the record

	NoSetup    bool          // neither create nor fill tables
	NoTeardown bool          // leave what the run created
	Force      bool          // fill tables that brunt didn't create
	Wait       time.Duration // for all addresses to answer; the load begins when they do, or if one does by then
	StartDown  bool          // begin although no address answers; for loads without SQL
	Faults     Faults        // what plans with faults need

	Part          schedule.Part // this machine's operations
	KeepCollector bool          // leave the garbage collector's target as it is: the process has other work
	// Epoch is where the run's clock is 0; it must have a monotonic reading. The zero value means before sessions connect.
	// Workers of one load have the same, so that their intervals are at the same times.
	Epoch time.Time
	// Begin is called when all is ready for the first phase, which begins when it returns; it may be nil. Its error ends
	// the run without a load.
	Begin    func(context.Context) error
	PeakPerS float64 // highest rate that Drive will be asked for, operations a second; 0: the plan's
}

// Recording says where a run's record goes, and what it says besides what happened.
type Recording struct {
	None    bool              // keep nothing on disk
	Root    string            // folder that holds bundles; "" means record.DefaultRoot
	Dir     string            // this run's bundle, instead of a name under Root
	Plan    []byte            // the resolved plan, without secrets
	Command []string          // the command line, without secrets
	Version string            // of brunt
	Extra   map[string]string // what a dialect wants kept
	Flags   map[string]string // see record.Run.Flags
	Worker  *record.Worker    // of a load that several share; its fields may change until Finish
}

// Listener receives what happens while a run goes on. Each function may be nil.
type Listener struct {
	Waiting  func(error)              // once, that an address is waited for, and why
	Loading  func(fill.Progress)      // how the filling of tables goes
	Checking func(done, all int)      // how the check of many statements goes
	Notice   func(record.Warning)     // each warning as it arises
	Failed   func(record.ErrorSample) // each failed attempt, concurrently
	Hint     func(record.Hint)        // each change seen, before Sinks receive its interval
}
