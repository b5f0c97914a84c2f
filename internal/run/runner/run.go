// Package runner executes a plan, from its first connection to its finished record. It connects packages that don't
// depend on each other (drivers, SQL flavors, loading, the engine, the record), and contains nothing that belongs to
// one of them.
//
// A run consists of Open (find the servers, compile, begin the record), SetUp (tables and sessions), Drive (the load,
// phase after phase), Finish (judge and write the record) and Close.
package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"brunt/internal/engine"
	"brunt/internal/inspect/observe/self"
	"brunt/internal/judge/confidence"
	"brunt/internal/judge/failover"
	"brunt/internal/judge/verdict"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/server/fault"
	"brunt/internal/server/schema"
	"brunt/internal/server/target"
)

// Runner is a plan that was compiled for its servers. It must be used by one goroutine.
type Runner struct {
	Workload *workload.Workload // its hooks may be set before SetUp
	Record   *record.Run        // the caller may add to it until Finish
	Dir      string             // folder of the record; "" for none

	o         Options
	system    *target.System
	nodes     *protocol.Nodes
	bundle    *record.Bundle
	clock     engine.Clock
	collector *measure.Collector
	within    *confidence.Taker
	outages   *failover.Taker // nil without an account of outages
	fleet     engine.Fleet
	watch     *verdict.Watch
	outcome   *engine.Outcome
	secrets   []string // secrets that errors might contain
	sinkTold  bool
	finished  bool                 // the record is complete
	followed  []context.CancelFunc // end the sampling for adaptive phases
	faults    *fault.Executor      // nil for plans without faults
	behind    map[string]string    // addresses of the target by those of the proxies in front of them
	tables    *schema.Tables
	injected  []record.Fault
	checked   *record.Registers
	verified  *record.Verified
	lost      []int64        // when each lost write was acknowledged
	registers *registerCheck // nil for plans without registers
	aftermath *aftermath     // nil unless writes are read back after each fault
	eachFault bool           // the plan wants writes read back after each fault
	begun     atomic.Uint64  // operations that write, with this number or a higher one, have not been sent
	arrivals  arrivals
	suspect   chan struct{} // signals a failure that indicates a change of the nodes
	buckets   *buckets      // nil unless requests go by buckets
	tracing   *tracing      // nil unless operations are traced
}

// Run executes a plan with its own load and returns its finished record. See Drive for ctx and hard, and Open and SetUp
// for errors.
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

// Open connects to the plan's servers, identifies them, compiles the plan for them, and begins the record. It does not
// change p. An error of the plan or the options is a *target.UsageError, an error of the connection a
// *target.UnreachableError. After an error nothing is left on disk.
func Open(ctx context.Context, p *plan.Plan, o Options) (_ *Runner, err error) {
	r := &Runner{o: o, suspect: make(chan struct{}, 1)}
	p, err = r.prepareFaults(p)
	defer func() {
		if err != nil {
			err = r.unveil(err)
			r.endFaults()
		}
	}()
	if err != nil {
		return nil, err
	}
	s, err := o.find(ctx, p)
	if err != nil {
		return nil, err
	}
	r.system, r.secrets = s, s.Plan.Secrets()
	if r.Workload, err = s.Workload(); err != nil {
		return nil, err
	}
	if records := r.Workload.Records; records != nil && o.Part.Of > 1 {
		records.Share(s.Plan.First, func(i uint64) bool { return o.Part.Has(i - s.Plan.First) })
	}
	filesLimit, err := CheckFiles(s, r.Workload, o.Recording.Flags["sessions"])
	if err != nil {
		return nil, err
	}
	if err := checkAdaptive(s.Plan, o.Part, o.Follow != nil); err != nil {
		return nil, err
	}
	if o.PeakPerS == 0 {
		r.o.PeakPerS = s.Plan.PeakPerS()
	}
	started := time.Now()
	place := record.Place{None: o.Recording.None, Root: o.Recording.Root, Dir: o.Recording.Dir}
	if r.bundle, err = place.Create(s.Plan.Name, started, record.Options{Warn: o.Hooks.Notice}); err != nil {
		return nil, &target.UsageError{Err: err}
	}
	if !o.Recording.None {
		r.Dir = r.bundle.Dir
	}
	r.begin(started)
	r.Record.FilesLimit = filesLimit
	r.tables = schema.OfRun(s, r.Record, schema.RunOptions{
		Version: o.Recording.Version, Force: o.Force, Keep: o.NoTeardown, Progress: o.Hooks.Loading, Warn: r.warn,
		Waits: func(text message.Message) {
			if o.Hooks.Notice != nil {
				o.Hooks.Notice(record.Warning{ID: text.ID, Text: text})
			}
		},
	})
	r.rememberWrites()
	if err := r.bundle.Start(o.Recording.Plan, r.Record); err != nil {
		r.bundle.Discard()
		return nil, &target.UsageError{Err: err}
	}
	if o.Hooks.Attach != nil {
		o.Hooks.Attach(r.Workload)
	}
	return r, nil
}

// find finds the servers of p.
func (o *Options) find(ctx context.Context, p *plan.Plan) (*target.System, error) {
	patient := target.Patience{Wait: o.Wait, StartDown: o.StartDown, Waiting: o.Hooks.Waiting}
	named := *p
	named.Target.Named = o.Named
	if o.Protocol != nil {
		return target.With(ctx, &named, *o.Protocol, patient)
	}
	return target.Find(ctx, &named, patient)
}

// SetUp creates and fills the missing tables, and connects all sessions. Its errors are those of Open and of filling
// tables.
func (r *Runner) SetUp(ctx context.Context) (err error) {
	defer func() { err = r.unveil(err) }()
	if err := r.Prepare(ctx); err != nil {
		return err
	}
	if err := r.startSequences(ctx); err != nil {
		return err
	}
	for _, n := range r.system.Notices {
		r.warn(record.Warning{ID: n.ID, Text: n.Text})
	}
	if err := r.system.Check(ctx, &r.Workload.Program, r.o.Hooks.Checking); err != nil {
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
	if err := r.startTrace(); err != nil {
		return err
	}
	if err := r.newFleet(); err != nil {
		return err
	}
	if r.buckets != nil {
		if err := r.buckets.meet(ctx); err != nil {
			return err
		}
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
	if err := r.bundle.Update(r.Record); err != nil {
		return err
	}
	r.o.Hooks.began(r.Record)
	return nil
}

// Prepare is SetUp without sessions, for a load that other processes send. It creates and fills the tables.
func (r *Runner) Prepare(ctx context.Context) error {
	if r.o.NoSetup {
		return r.tables.Look(ctx)
	}
	if err := target.Prepare(ctx, r.system.Plan); err != nil {
		return err
	}
	return r.tables.Fill(ctx)
}

// startSequences makes the keys that the plan inserts begin after those in the tables.
func (r *Runner) startSequences(ctx context.Context) error {
	remarks, err := r.tables.StartSequences(ctx, r.Workload.Sequences, r.o.Part.Of > 1)
	if err != nil || len(remarks) == 0 {
		return err
	}
	return r.bundle.Remark(r.o.Recording.Plan, remarks...)
}

// Drive sends the load, once. It executes the phases that next returns, or those of the plan if next is nil. If ctx
// ends, the load ends gracefully: Drive waits for operations in flight until hard is closed, and the record will be
// complete. Then it reads back the plan's writes.
func (r *Runner) Drive(ctx context.Context, hard <-chan struct{}, next engine.Next) error {
	defer r.o.Hooks.ended()
	if err := r.drive(ctx, hard, next); err != nil {
		return err
	}
	r.o.Hooks.CallSent(ctx)
	if r.registers != nil {
		r.checked = r.registers.check(ctx)
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
	r.watch = verdict.NewWatch(verdict.Rules{Thresholds: p.Thresholds, ErrorPercent: p.Settings.ErrorThreshold,
		Queue: r.Workload.Total, Operations: r.watchedOperations()})
	defer r.fleet.Close()
	keeper := keepAwake(ctx, r.system, r.Record)
	defer func() {
		r.Record.Awake = awakeRecord(keeper)
		keeper.Stop()
	}()
	if err := r.bundle.Update(r.Record); err != nil {
		return err
	}
	if !r.o.KeepCollector {
		defer tuneGC(r.Record, r.Workload.HasScripts())()
	}
	defer r.watchNodes(ctx)()
	defer r.watchPrimaries(ctx)()
	if r.buckets != nil {
		defer r.buckets.watch(ctx)()
	}
	health := self.Start(keeper.CPUNs)
	defer health.Stop()
	if r.faults != nil {
		if r.Dir != "" {
			r.faults.Keep(filepath.Join(r.Dir, record.WatchdogFile), nil)
		}
		r.faults.Begin(ctx)
		defer r.healFaults()
	}
	if r.aftermath != nil {
		r.aftermath.start(ctx)
		defer r.aftermath.end()
	}
	if err := r.o.Hooks.CallReady(ctx); err != nil {
		return err
	}
	if r.registers = r.checkRegisters(ctx); r.registers != nil {
		defer r.registers.end()
	}
	r.outcome, err = engine.Drive(ctx, hard, engine.Config{
		Workload: r.Workload, Fleet: r.fleet, Collector: r.collector, Clock: r.clock,
		Sinks:     append(r.takers(), r.o.Hooks.Sinks...),
		SinkError: r.sinkFailed, Check: r.watch.Check, Enough: r.o.Hooks.Enough,
		Health:  health.Sample,
		Control: r.controller, Follow: r.o.Follow, Late: r.decidedLate,
		Part: r.o.Part,
	}, next)
	if w := r.Record.Worker; w != nil {
		w.Passed, w.Unneeded = r.outcome.Passed, r.outcome.Unneeded
	}
	return err
}

// epoch returns the time at which the run's clock is 0.
func (r *Runner) epoch() time.Time {
	if r.o.Epoch.IsZero() {
		return time.Now()
	}
	return r.o.Epoch
}

// takers returns the sinks that fill the record.
func (r *Runner) takers() []measure.Sink {
	all := []measure.Sink{joins{r}, r.bundle, record.NewHintTaker(r.Record, r.o.Hooks.Hint), r.within}
	all = append(all, r.watch.Windows())
	if r.outages != nil {
		all = append(all, r.outages)
	}
	return all
}

// announced wraps next so that the record lists its phases.
func (r *Runner) announced(next engine.Next) engine.Next {
	p := *r.system.Plan // collects the phases of the load
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

// Finish completes the record, judges the run and writes the record. It must be called after Drive.
func (r *Runner) Finish() error {
	r.finished = true
	r.assemble()
	if err := r.bundle.Finish(r.Record); err != nil {
		return err
	}
	if r.faults != nil && r.Dir != "" {
		_ = os.Remove(filepath.Join(r.Dir, record.WatchdogFile)) // the record has it all
	}
	return nil
}

// Unwritten returns the contents of the record's files that a full disk has not taken; see record.Bundle. It must be
// called after Finish.
func (r *Runner) Unwritten() map[string][]byte { return r.bundle.Unwritten() }

// Tally returns the sums of all that was measured. It must be called after Drive.
func (r *Runner) Tally() *measure.Tally { return r.collector.Tally() }

// Close drops the tables that the run created and closes all connections. Without Finish it also removes the record,
// unless something was sent. Further calls do nothing.
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
	err := r.endTrace()
	if r.tables == nil {
		return err
	}
	return errors.Join(err, r.tables.Drop())
}

// sinkFailed reports the first failure of a sink. Later ones would only repeat it every interval.
func (r *Runner) sinkFailed(err error) {
	if !r.sinkTold {
		r.sinkTold = true
		r.warn(record.Warning{ID: "sink", Text: message.OfError(err)})
	}
}

func (r *Runner) warn(w record.Warning) {
	r.Record.Warnings = append(r.Record.Warnings, w)
	if r.o.Hooks.Notice != nil {
		r.o.Hooks.Notice(w)
	}
}

// Options are the options of a run. The zero value sets up, runs and tears down, and stores a record under
// record.DefaultRoot.
type Options struct {
	Recording Recording
	Hooks     Hooks

	// Protocol takes the place of the one that the plan names, for loads of code that isn't a protocol; nil: the plan's.
	Protocol *protocol.Declaration

	NoSetup    bool          // neither create nor fill tables
	NoTeardown bool          // keep what the run created
	Force      bool          // fill tables that brunt didn't create
	Wait       time.Duration // how long to wait for all addresses to answer; after that, one is enough
	StartDown  bool          // begin even if no address answers; for loads without SQL
	Faults     Faults        // options for plans with faults
	Named      bool          // sessions tell servers that they are brunt's; see protocol.Target

	Part          schedule.Part // this machine's operations
	KeepCollector bool          // don't change the garbage collector's target: the process has other work
	// Epoch is the time at which the run's clock is 0, and must have a monotonic reading. The zero value means the time
	// before sessions connect. Workers of one load use the same Epoch, so that their intervals are at the same times.
	Epoch time.Time
	// Follow makes another process decide the rates of adaptive phases. If it is nil, this process decides them.
	Follow   engine.Follow
	PeakPerS float64 // highest rate of Drive's phases, operations a second; 0: the plan's
}

// Recording says where a run's record is stored, and contains further parts of it.
type Recording struct {
	None    bool              // store nothing on disk
	Root    string            // folder that holds bundles; "" means record.DefaultRoot
	Dir     string            // this run's bundle, instead of a name under Root
	Plan    []byte            // the resolved plan, without secrets
	Command []string          // the command line, without secrets
	Version string            // of brunt
	Extra   map[string]string // values that a dialect stores
	Flags   map[string]string // see record.Run.Flags
	Trace   uint64            // how many operations, from the first, are traced into record.TraceFile; 0
	Worker  *record.Worker    // this worker of a distributed load; its fields may change until Finish
}
