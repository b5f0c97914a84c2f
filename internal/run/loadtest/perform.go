// Package loadtest carries out one load for a command, from the first connection to the report. The load is sent by
// this process or by workers. The package connects the events of the run with the outputs that show them.
package loadtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/engine"
	"brunt/internal/inspect/servers"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/run/runner"
	"brunt/internal/run/scale"
	"brunt/internal/run/selftest"
	"brunt/internal/server/target"
)

// Test is a load that a command runs. Its fields are everything in which commands differ.
type Test struct {
	Plan       *plan.Plan
	Options    runner.Options
	Record     Record
	Live       Live
	Workers    Workers
	Script     *scale.Script // sent by workers instead of Plan, which only provides the name
	Process    Process
	Quiet      bool
	Language   units.Language                       // of the live page; "" means English
	ReopensLog bool                                 // SIGHUP makes the command reopen its log
	Hooks      func(*Outputs) (runner.Hooks, error) // opens the command's outputs
	Open       Opener                               // nil means runner.Open
	Next       engine.Next                          // chooses the next phases; nil means those of the plan
	Beyond     []string                             // what the command does that no plan describes

	unwritten map[string][]byte // see kept
}

// Process describes this process for the record.
type Process struct {
	Command []string          // command line without secrets
	Version string            // version of brunt
	Flags   map[string]string // see record.Run.Flags

	PlanOnly bool     // the plan is printed instead of run
	Beyond   []string // what of the command line isn't in the plan, if PlanOnly
}

// Opener connects to the servers of a plan.
type Opener func(context.Context, *plan.Plan, runner.Options) (*runner.Runner, error)

// Perform runs a load. It opens outputs and exporters, handles signals, keeps the record and prints the result. The
// returned error carries the exit code.
func (l *Test) Perform(stdout, stderr io.Writer) error {
	if l.Plan != nil {
		l.Process.Command = secret.RedactArgs(l.Process.Command, l.Plan.Secrets())
	}
	if l.Process.PlanOnly {
		return l.writePlan(stdout)
	}
	if l.Workers.Cluster.Print {
		return l.printCluster(stdout)
	}
	return l.perform(stdout, stderr, l.Drive)
}

// sender sends a load; see Test.Drive.
type sender func(context.Context, <-chan struct{}, *Outputs, *runner.Hooks) (*record.Run, string, error)

func (l *Test) perform(stdout, stderr io.Writer, send sender) (err error) {
	store, err := openUpload(l.Record.Upload)
	if err != nil {
		return err
	}
	out := NewOutputs(stdout, stderr)
	ctx, hard, stop := Interruptible(out.Err, Endings(l.ReopensLog))
	defer stop()
	defer func() { err = errors.Join(err, out.Flush(hard)) }()
	v, err := l.Hooks(out)
	if err != nil {
		return exitcode.Usage(err)
	}
	if v.Close != nil {
		defer func() { err = errors.Join(err, v.Close()) }()
	}
	run, dir, err := send(ctx, hard, out, &v)
	if run == nil {
		return err
	}
	err = errors.Join(err, v.Result(run, dir), store.bundle(hard, kept{dir, l.unwritten}, nameFor(dir, run), out.Err))
	if v.Exit != nil {
		return errors.Join(v.Exit(run), err)
	}
	return exitcode.With(verdict.ExitCode(run), err)
}

// Drive sends a load from this process or by workers. It returns the record and its folder. The record is nil if no
// load was sent.
func (l *Test) Drive(ctx context.Context, hard <-chan struct{}, out *Outputs, v *runner.Hooks) (
	*record.Run, string, error) {
	if l.Workers.Number > 0 {
		return l.lead(ctx, hard, out, v)
	}
	r, err := l.sendHere(ctx, hard, out, v)
	if r == nil {
		return nil, "", err
	}
	return r.Record, r.Dir, err
}

// sendHere sends a load from this process, from the first connection to the finished record. If no load was sent, it
// returns nil and an error with the exit code.
func (l *Test) sendHere(ctx context.Context, hard <-chan struct{}, out *Outputs, v *runner.Hooks) (done *runner.Runner,
	err error) {
	ctx, stop := context.WithCancelCause(ctx)
	end := func() { stop(nil) }
	defer end()
	hard, release := controlled(ctx, hard, v, stop)
	defer release()
	if v.Stop != nil {
		ctx, end = patient(ctx, hard, v.Stop)
		defer end()
	}
	f, o, err := l.follow(out, hard, v, end)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	r, err := l.ready(ctx, o)
	if err != nil {
		return nil, Failure(ctx, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.SetUp(ctx); err != nil {
		return nil, Failure(ctx, err)
	}
	if err := f.live.start(r.Record, r.Dir); err != nil {
		return nil, Failure(ctx, err)
	}
	f.page.start(r.Record)
	err = r.Drive(ctx, hard, l.Next)
	if err != nil {
		return nil, Failure(ctx, err)
	}
	f.live.finish(r.Record, r.Workload)
	out.warnLostLines(r.Record)
	r.Record.Health.CeilingPerS = selftest.CeilingFor(r.Record)
	err = r.Finish()
	l.unwritten = r.Unwritten()
	return r, errors.Join(err, r.Close(), f.page.finish(r.Record, r.Dir, o.Recording.Plan))
}

// patient returns a context that ends with ctx, but later if stop says so: when the load's sessions have ended it, or
// with the second interrupt.
func patient(ctx context.Context, hard <-chan struct{}, stop func(over func()) bool) (context.Context,
	context.CancelFunc) {
	later, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		if stop(end) {
			select {
			case <-hard:
			case <-later.Done():
			}
		}
		end()
	})
	return later, end
}

// controlled passes v's Control the functions that end the load. It returns the channel that takes hard's place.
// release must be called when the load is over.
func controlled(ctx context.Context, hard <-chan struct{}, v *runner.Hooks, stop context.CancelCauseFunc) (
	either <-chan struct{}, release func()) {
	if v.Control == nil {
		return hard, func() {}
	}
	either, abort := abortable(ctx, hard)
	end := func(why message.Message) { stop(&engine.Stopped{Why: why}) }
	v.Control(end, func(why message.Message) {
		end(why)
		abort()
	})
	return either, abort
}

// abortable returns a channel that is closed with hard, or when abort is called.
func abortable(ctx context.Context, hard <-chan struct{}) (either <-chan struct{}, abort func()) {
	c := make(chan struct{})
	abort = sync.OnceFunc(func() { close(c) })
	// The load ends with ctx, and only then is hard closed.
	context.AfterFunc(ctx, func() {
		go func() {
			select {
			case <-hard:
				abort()
			case <-c:
			}
		}()
	})
	return c, abort
}

// followers are what observes a load: exporters, watchers, the live page, and the log of histograms.
type followers struct {
	live *live
	page *livePage
	hdr  *hdrFile
	// stopProfile ends the CPU profile; nil without one
	stopProfile func() error
}

// follow opens the followers, and returns options with which the runner sends events to them. end ends the load like
// one interrupt.
func (l *Test) follow(out *Outputs, hard <-chan struct{}, v *runner.Hooks, end func()) (_ *followers, o runner.Options,
	err error) {
	f := &followers{page: &livePage{}}
	if l.Live.Inspected == nil {
		l.Live.Inspected = l.Plan.Inspect
	}
	if f.live, err = l.Live.open(out.Err, hard, l.Quiet); err != nil {
		return nil, o, err
	}
	if slices.Contains(l.Live.Inspected, servers.Auto) {
		f.live.auto = &l.Plan.Target
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	page, err := l.openPage(out.Err, end)
	if err != nil {
		return nil, o, err
	}
	f.page = page
	o = l.Options
	o.Named = len(l.Live.Inspected) > 0
	if o.Recording, err = l.recording(); err != nil {
		return nil, o, exitcode.Usage(err)
	}
	o.Hooks = *v
	o.Hooks.Sinks = append(o.Hooks.Sinks, f.live.sinks...)
	f.page.join(&o.Hooks)
	if f.hdr, err = l.Record.openHDR(l.Plan); err != nil {
		return nil, o, exitcode.Usage(err)
	}
	if f.hdr != nil {
		o.Hooks.Sinks = append(o.Hooks.Sinks, f.hdr.log)
	}
	if f.stopProfile, err = l.Record.profile(); err != nil {
		return nil, o, exitcode.Usage(err)
	}
	if o.Hooks.Waiting == nil && !l.Quiet {
		o.Hooks.Waiting = Waiting(out, o.Wait)
	}
	return f, o, nil
}

func (f *followers) close() error {
	f.live.close()
	f.page.close()
	var err error
	if f.stopProfile != nil {
		err = f.stopProfile()
	}
	if f.hdr == nil {
		return err
	}
	return errors.Join(err, f.hdr.file.Close())
}

// ready runs the preparations of the command and opens the runner.
func (l *Test) ready(ctx context.Context, o runner.Options) (*runner.Runner, error) {
	if prepare := o.Hooks.Prepare; prepare != nil {
		if err := prepare(ctx); err != nil {
			return nil, err
		}
	}
	open := l.Open
	if open == nil {
		open = runner.Open
	}
	return open(ctx, l.Plan, o)
}

// Failure adds the exit code to an error that occurred before the load.
func Failure(ctx context.Context, err error) error {
	var u *target.UsageError
	var r *target.UnreachableError
	switch {
	case ctx.Err() != nil:
		return exitcode.With(exitcode.Interrupted, errors.New("interrupted before the load began"))
	case errors.As(err, &u):
		return exitcode.With(exitcode.BadPlan, err)
	case errors.As(err, &r):
		return exitcode.With(exitcode.Unreachable, err)
	}
	return err
}

// Waiting returns a function that reports that brunt waits for a server, for up to most.
func Waiting(out *Outputs, most time.Duration) func(error) {
	return func(err error) { fmt.Fprintf(out.Err, "brunt: waiting up to %s: %s\n", most, secret.Text(err.Error())) }
}

// Notices returns a function that prints warnings as they occur.
func Notices(out *Outputs) func(record.Warning) {
	return func(w record.Warning) { fmt.Fprintf(out.Err, "brunt: note: %s\n", secret.Text(w.Text.String())) }
}
