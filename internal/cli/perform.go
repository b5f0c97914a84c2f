package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"brunt/internal/engine"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/program/campaign"
	"brunt/internal/record"
	"brunt/internal/runner"
	"brunt/internal/secret"
	"brunt/internal/selftest"
	"brunt/internal/target"
	"brunt/internal/units"
	"brunt/internal/verdict"
	"brunt/internal/workload"
)

// loadRun is a load that a command runs: all in which commands differ. The rest is perform's.
type loadRun struct {
	plan     *plan.Plan
	options  runner.Options
	record   recordFlags
	live     liveFlags
	workers  workerFlags
	quiet    bool
	language units.Language                // of pages; "" means English
	reopens  bool                          // SIGHUP opens the command's log again
	hooks    func(*outputs) (hooks, error) // opens what the command prints to
	open     opener                        // nil means runner.Open
	next     engine.Next                   // names the phases; nil means the plan's
}

// opener finds a plan's servers.
type opener func(context.Context, *plan.Plan, runner.Options) (*runner.Runner, error)

// hooks is how a command tells of its run. Only result must be there.
type hooks struct {
	tell    runner.Listener
	sinks   []measure.Sink
	prepare func(context.Context) error             // before the servers are asked for the load
	attach  func(*workload.Workload)                // before anything is sent
	began   func(*record.Run)                       // just before the load
	ended   func()                                  // just after it
	result  func(run *record.Run, dir string) error // prints
	exit    func(*record.Run) error                 // what the command returns; nil means by the report's code
	close   func() error
}

// perform runs a load: it stands between what the run tells and those who read it, hears signals,
// exports, keeps the record, prints the result and returns the error that is the exit code.
func (s *streams) perform(l *loadRun) (err error) {
	out := s.outputs()
	ctx, hard, stop := interruptible(out.err, endings(l.reopens))
	defer stop()
	defer func() { err = errors.Join(err, out.flush(hard)) }()
	v, err := l.hooks(out)
	if err != nil {
		return usage(err)
	}
	if v.close != nil {
		defer func() { err = errors.Join(err, v.close()) }()
	}
	run, dir, err := l.send(ctx, hard, out, &v)
	if run == nil {
		return err
	}
	err = errors.Join(err, v.result(run, dir))
	if v.exit != nil {
		return errors.Join(v.exit(run), err)
	}
	return coded(verdict.ExitCode(run), err)
}

// send carries out a load here or by workers and returns its record and the folder of that; no record means that
// there was no load.
func (l *loadRun) send(ctx context.Context, hard <-chan struct{}, out *outputs, v *hooks) (*record.Run, string, error) {
	if err := l.workers.check(l); err != nil {
		return nil, "", usage(err)
	}
	if l.workers.number > 0 {
		return l.lead(ctx, hard, out, v)
	}
	r, err := l.conduct(ctx, hard, out, v)
	if r == nil {
		return nil, "", err
	}
	return r.Record, r.Dir, err
}

// conduct carries a load from its first connection to its finished record, which is returned unless
// there was no load: then the error has its exit code.
func (l *loadRun) conduct(ctx context.Context, hard <-chan struct{}, out *outputs, v *hooks) (done *runner.Runner,
	err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	f, o, err := l.follow(out, hard, v, end)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	r, err := l.ready(ctx, v, o)
	if err != nil {
		return nil, failure(ctx, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.SetUp(ctx); err != nil {
		return nil, failure(ctx, err)
	}
	if v.began != nil {
		v.began(r.Record)
	}
	if err := f.live.start(r.Record, r.Dir); err != nil {
		return nil, failure(ctx, err)
	}
	f.page.start(r.Record)
	err = r.Drive(ctx, hard, l.next)
	if v.ended != nil {
		v.ended()
	}
	if err != nil {
		return nil, failure(ctx, err)
	}
	f.live.finish(r.Record, r.Workload)
	out.warnLostLines(r.Record)
	r.Record.Health.CeilingPerS = selftest.CeilingFor(r.Record)
	return r, errors.Join(r.Finish(), r.Close(), f.page.finish(r.Record, r.Dir, o.Recording.Plan))
}

// followers are all that follow a load: exporters and watchers, the page, the log of histograms.
type followers struct {
	live *live
	page *livePage
	hdr  *hdrFile
}

// follow opens what follows the load, and returns the options that have the runner tell it. end ends the load as one
// interrupt does.
func (l *loadRun) follow(out *outputs, hard <-chan struct{}, v *hooks, end func()) (_ *followers, o runner.Options,
	err error) {
	f := &followers{page: &livePage{}}
	if f.live, err = l.live.open(out.streams, hard, l.quiet); err != nil {
		return nil, o, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	page, err := l.openPage(out.err, end)
	if err != nil {
		return nil, o, err
	}
	f.page = page
	o = l.options
	if o.Recording, err = l.record.recording(l, out.streams); err != nil {
		return nil, o, usage(err)
	}
	o.Tell, o.Sinks = v.tell, append(v.sinks, f.live.sinks...)
	f.page.join(&o)
	if f.hdr, err = l.record.openHDR(l.plan); err != nil {
		return nil, o, usage(err)
	}
	if f.hdr != nil {
		o.Sinks = append(o.Sinks, f.hdr.log)
	}
	if o.Tell.Waiting == nil && !l.quiet {
		o.Tell.Waiting = waiting(out, o.Wait)
	}
	return f, o, nil
}

func (f *followers) close() error {
	f.live.close()
	f.page.close()
	if f.hdr == nil {
		return nil
	}
	return f.hdr.file.Close()
}

// ready makes the command's and the runner's preparations.
func (l *loadRun) ready(ctx context.Context, v *hooks, o runner.Options) (*runner.Runner, error) {
	if v.prepare != nil {
		if err := v.prepare(ctx); err != nil {
			return nil, err
		}
	}
	open := l.open
	if open == nil {
		open = runner.Open
	}
	r, err := open(ctx, l.plan, o)
	if err == nil && v.attach != nil {
		v.attach(r.Workload)
	}
	return r, err
}

// failure gives an error that came before the load its exit code.
func failure(ctx context.Context, err error) error {
	var u *target.UsageError
	var r *target.UnreachableError
	var d *campaign.UnreachableError
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted before the load began")}
	case errors.As(err, &u):
		return &exitError{exitBadPlan, err}
	case errors.As(err, &r), errors.As(err, &d):
		return &exitError{exitUnreachable, err}
	}
	return err
}

// waiting tells that a server is waited for.
func waiting(out *outputs, most time.Duration) func(error) {
	return func(err error) { fmt.Fprintf(out.err, "brunt: waiting up to %s: %s\n", most, secret.Text(err.Error())) }
}

// notices prints warnings as they arise.
func notices(out *outputs) func(record.Warning) {
	return func(w record.Warning) { fmt.Fprintf(out.err, "brunt: note: %s\n", secret.Text(w.Text.String())) }
}

// graceAfterSecond is how long a second interrupt may take to finish the record.
const graceAfterSecond = 3 * time.Second

// endings are the signals that end a run with its report: an interrupt, and those by which a terminal
// or a supervisor ends a program. A user who began the process with SIGHUP ignored (nohup) wants it to go
// on when the terminal goes; reopening a log takes SIGHUP too.
func endings(reopens bool) []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !reopens && !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// interruptible returns a context that ends with the first of some signals (nothing new is sent, what
// is in flight is waited for) and a channel that closes with the second (nothing is waited for).
// If the record isn't finished soon after that, or with the third, the process leaves at once.
func interruptible(stderr io.Writer, endings []os.Signal) (ctx context.Context, hard <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	h := make(chan struct{})
	signals := make(chan os.Signal, 3)
	done := make(chan struct{})
	signal.Notify(signals, endings...)
	go func() {
		wait := func() bool {
			select {
			case <-signals:
				return true
			case <-done:
				return false
			}
		}
		if !wait() {
			return
		}
		cancel()
		// A terminal that takes nothing must not keep the next interrupt from being heard.
		go fmt.Fprintln(stderr, "\nbrunt: stopping: waiting for answers under way (interrupt again to leave at once)")
		if !wait() {
			return
		}
		close(h)
		select {
		case <-signals:
		case <-time.After(graceAfterSecond):
		case <-done:
			return
		}
		os.Exit(exitInterrupted)
	}()
	return ctx, h, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
