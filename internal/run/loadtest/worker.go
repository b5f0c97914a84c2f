package loadtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"brunt/internal/engine"
	"brunt/internal/judge/exitcode"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/run/runner"
	"brunt/internal/run/scale"
	"brunt/internal/run/selftest"
	"brunt/internal/server/fault"
)

// WorkerCommand is the name of the command that runs a worker. It calls Work.
const WorkerCommand = "worker"

// RunScript runs a worker's segment of a k6 script, until stop or hard is closed. It exits the process.
type RunScript func(w *scale.Worker, stop, hard <-chan struct{}) error

// Worker configures a worker process.
type Worker struct {
	Ticket   string        // path of the ticket; "" means standard input
	Index    int           // from 0; negative: the number in the ticket or in environment variables of the engine
	Patience time.Duration // minimum time for finding the coordinator
	Script   RunScript
	Upload   string // s3://bucket/prefix for a bundle that can't be sent to the coordinator; "" for none
}

// ticket reads the worker's ticket.
func (o *Worker) ticket(stdin io.Reader) (t scale.Ticket, err error) {
	if o.Ticket != "" {
		t, err = scale.ReadTicket(o.Ticket)
	} else if err = json.NewDecoder(stdin).Decode(&t); err != nil {
		err = fmt.Errorf(
			"workers are started by brunt run --workers, which gives them a ticket on standard input; give it as a file with --ticket: %w",
			err)
	}
	if err != nil {
		return t, err
	}
	if o.Index >= 0 || t.Worker < 0 {
		t.Worker, err = scale.WorkerNumber(o.Index)
	}
	t.PatienceNs = max(t.PatienceNs, int64(o.Patience))
	return t, err
}

// Work connects to the coordinator that the worker's ticket names, and does the job that it assigns. version is the
// version of brunt.
func (o *Worker) Work(stdin io.Reader, stderr io.Writer, version string) error {
	ticket, err := o.ticket(stdin)
	if err != nil {
		return exitcode.Usage(err)
	}
	store, err := openUpload(o.Upload)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // the load continues if the reader of standard error is killed
	ctx, hard, stop := Interruptible(stderr, Endings(false))
	defer stop()
	w, led, err := scale.Connect(ctx, ticket, version)
	// Another process has this share, so nothing is missing.
	if refused, ok := errors.AsType[*scale.Error](err); ok && refused.Code == exitcode.Pass {
		fmt.Fprintln(stderr, "brunt: "+refused.Text)
		return nil
	}
	if err != nil {
		return workerError(err)
	}
	defer w.Discard()
	if w.Job.Script != nil {
		stop() // k6 handles signals itself
		err := o.Script(w, w.Stopped(), w.Hard())
		w.Fail(err, exitcode.Of(err))
		return exitcode.With(exitcode.Of(err), nil)
	}
	if w.Job.Fill != nil {
		return fillShare(led, w)
	}
	b, err := share(led, either(hard, w.Hard()), w, version)
	name := fmt.Sprintf("%s-worker-%d", ticket.Run, ticket.Worker+1)
	if err != nil {
		told, err := o.failed(ctx, w, err)
		if !told {
			err = errors.Join(err, store.bundle(hard, b, name, stderr))
		}
		return err
	}
	home, cancel := protocol.Until(context.WithoutCancel(ctx), hard)
	defer cancel()
	if store != nil {
		var done context.CancelFunc
		home, done = context.WithTimeout(home, homePatience)
		defer done()
	}
	err = w.Finish(home, b.dir)
	switch {
	case errors.Is(err, scale.ErrLeft):
		return exitcode.With(exitcode.Interrupted, nil)
	case err != nil && store != nil:
		fmt.Fprintf(stderr, "brunt: %v\n", err)
		return store.bundle(hard, b, name, stderr)
	}
	return err
}

// failed tells the coordinator why a worker gives up, and returns the error for the process. told is false if the
// coordinator doesn't answer.
func (o *Worker) failed(ctx context.Context, w *scale.Worker, err error) (told bool, _ error) {
	if errors.Is(err, scale.ErrCalledOff) {
		if o.Ticket == "" { // the coordinator started this process, and says why it ends it
			err = nil
		}
		return true, exitcode.With(exitcode.Interrupted, err)
	}
	if _, ok := errors.AsType[*scale.Error](err); ok {
		return true, workerError(err)
	}
	err = workerError(Failure(ctx, err))
	code := exitcode.Of(err)
	told = w.Fail(err, code)
	if o.Ticket == "" { // the coordinator started this process, and prints the reason
		err = nil
	}
	return told, exitcode.With(code, err)
}

// workerError adds the exit code to an error of the coordinator.
func workerError(err error) error {
	if e, ok := errors.AsType[*scale.Error](err); ok {
		return exitcode.With(e.Code, err)
	}
	return err
}

// either returns a channel that is closed when a or b is.
func either(a, b <-chan struct{}) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		select {
		case <-a:
		case <-b:
		}
		close(c)
	}()
	return c
}

// share sends a worker's share of the load and returns its record, also with an error if the load was sent.
func share(ctx context.Context, hard <-chan struct{}, w *scale.Worker, version string) (b kept, err error) {
	job := &w.Job
	p, err := planOf(job)
	if err != nil {
		return b, exitcode.Usage(err)
	}
	k := w.Number()
	if err := plan.Share(p, k, job.Workers); err != nil {
		return b, exitcode.Usage(err)
	}
	of := &record.Worker{Name: w.Name(), ClockOffsetNs: w.Offset.Ns, ClockUncertaintyNs: w.Offset.UncertaintyNs}
	o := runner.Options{
		NoSetup: true, NoTeardown: true, Wait: time.Duration(job.WaitNs),
		Part:  schedule.Part{Of: uint64(job.Workers), Takes: []uint64{uint64(k)}, Shared: w.Shared},
		Epoch: w.At(job.EpochNs), Hooks: runner.Hooks{Sinks: []measure.Sink{w}, Sent: w.LoadOver},
		Recording: runner.Recording{Dir: w.Dir, Plan: job.Plan, Command: job.Command, Version: version,
			Extra: job.Extra, Flags: job.Flags, Worker: of},
	}
	o.Named, o.StartDown, o.Faults = job.Named, job.StartDown, runner.Faults{Allowed: job.Faults, Does: fault.OfLoad}
	if job.Adaptive {
		o.Follow = followCoordinator(w)
	}
	o.Hooks.Ready = func(ctx context.Context) (err error) {
		of.StartLateNs, err = w.Begin(ctx, w.Dir)
		return err
	}
	r, err := runner.Open(ctx, p, o)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.SetUp(ctx); err != nil {
		return b, err
	}
	var next engine.Next
	if job.Asks {
		next = askCoordinator(ctx, w)
	}
	if err := r.Drive(ctx, hard, next); err != nil {
		return b, err
	}
	r.Record.Health.CeilingPerS = selftest.CeilingFor(r.Record)
	if err := r.Finish(); err != nil && !(w.Holds() && complete(r.Dir)) {
		return kept{r.Dir, r.Unwritten()}, err
	}
	return kept{r.Dir, r.Unwritten()}, nil
}

// complete reports whether the run.json of a bundle was written at the end of its run.
func complete(dir string) bool {
	part, err := record.Open(record.OS{}, dir)
	return err == nil && part.Run.Complete
}

// followCoordinator makes adaptive phases follow the coordinator's decisions.
func followCoordinator(w *scale.Worker) engine.Follow {
	return func(ctx context.Context, p *plan.Phase, extend func(engine.Decided)) {
		w.Follow(ctx, p.Name, int64(p.Duration), func(d scale.Decision) {
			extend(engine.Decided{Phase: d.Phase, UntilNs: d.UntilNs, Control: d.Control})
		})
	}
}

// askCoordinator makes the coordinator choose the next phases.
func askCoordinator(ctx context.Context, w *scale.Worker) engine.Next {
	return func(*measure.Tally) (phases []plan.Phase) {
		if raw := w.Next(ctx); json.Unmarshal(raw, &phases) != nil {
			return nil // the load is over, or the coordinator is lost
		}
		return plan.SharePhases(phases, w.Number(), w.Job.Workers)
	}
}

// planOf returns the plan of a job, with the secrets that textOf has found in it.
func planOf(job *scale.Job) (*plan.Plan, error) {
	p, err := planfile.Read("the coordinator's plan", job.Plan)
	if err != nil {
		return nil, err
	}
	if job.Password != "" {
		p.Target.Password = job.Password
	}
	faults := p.Faults
	p.Faults = nil
	err = planfile.Secrets(p, func(variable string) (string, bool) {
		value, there := job.Secrets[variable]
		return value, there
	})
	p.Faults = faults
	return p, err
}
