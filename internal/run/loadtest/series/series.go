// Package series executes the runs of a program one after another, each into its own bundle below one folder.
package series

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/program"
	"brunt/internal/run/runner"
)

// Options configure a series.
type Options struct {
	Kind       string // "repeat", "search" or "advise"
	Settings   string // everything that determines the series in addition to kind and plans
	Plans      []*plan.Plan
	Resume     string // the folder of a series that was killed; "" starts a new one
	NoSetup    bool   // neither create nor fill tables
	NoTeardown bool   // keep the tables that the series created
	Force      bool   // fill empty tables that brunt didn't create
	Load       loadtest.Test
}

// Series is a series of runs.
type Series struct {
	Out  *loadtest.Outputs
	Dir  string // its folder
	hard <-chan struct{}
	load loadtest.Test // options common to all runs
}

// Run creates the folder of the series and the plans' tables, calls do, and drops the tables that it created. If the
// user interrupts the series and do returns nil or the context's error, Run returns the error for that exit code.
func Run(stdout, stderr io.Writer, o Options, do func(context.Context, *Series) error) error {
	load := o.Load
	load.Options.NoSetup, load.Options.NoTeardown = true, true
	return begin(stdout, stderr, load, func(ctx context.Context, t *Series) error { return t.run(ctx, o, do) })
}

// begin calls do with the outputs of a series, if its workers can be started. Signals end the context.
func begin(stdout, stderr io.Writer, load loadtest.Test, do func(context.Context, *Series) error) (err error) {
	out := loadtest.NewOutputs(stdout, stderr)
	ctx, hard, stop := loadtest.Interruptible(out.Err, loadtest.Endings(false))
	defer stop()
	defer func() { err = errors.Join(err, out.Flush(hard)) }()
	if load.Workers.Number > 0 {
		if err := load.Workers.Ready(ctx); err != nil {
			return err
		}
	}
	return do(ctx, &Series{Out: out, hard: hard, load: load})
}

func (t *Series) run(ctx context.Context, o Options, do func(context.Context, *Series) error) (err error) {
	last := o.Plans[len(o.Plans)-1]
	if t.Dir = o.Resume; t.Dir == "" {
		at := &o.Load.Record
		if t.Dir, err = program.NewFolder(at.Root, at.Dir, last.Name+"-"+o.Kind, time.Now()); err != nil {
			return exitcode.Usage(err)
		}
	}
	identity := o.Kind + "\n" + o.Settings
	for _, p := range o.Plans {
		text, err := planfile.Write(p)
		if err != nil {
			return fmt.Errorf("plan %s: %w", p.Name, err)
		}
		identity += "\n" + string(text)
	}
	j, err := program.OpenJournal(t.Dir)
	if err != nil {
		return exitcode.Usage(err)
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	h := program.Header{
		Kind: o.Kind, Name: last.Name, Hash: program.Hash([]byte(identity)), Brunt: o.Load.Process.Version,
		Command: o.Load.Process.Command,
	}
	if o.Resume == "" {
		err = j.Begin(h)
	} else if err = j.Resume(h); errors.Is(err, program.ErrOther) {
		err = fmt.Errorf("%s holds a series of another plan or with other flags; resume it with those, or begin a new one",
			t.Dir)
	}
	if err == nil && o.Resume != "" {
		err = t.endLeft(ctx)
	}
	if err != nil {
		return exitcode.Usage(err)
	}
	if !o.NoSetup {
		for _, p := range o.Plans {
			down, refused := t.tables(ctx, p, &o)
			if refused != nil {
				return loadtest.Failure(ctx, refused)
			}
			defer func() { err = errors.Join(err, down()) }()
		}
	}
	var judged error // the verdict of a series that ran completely
	err = j.Do(ctx, o.Kind, func() error {
		err := do(ctx, t)
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		switch exitcode.Of(err) {
		case exitcode.Regression, exitcode.Invalid, exitcode.Threshold:
			judged, err = err, nil
		}
		return err
	})
	if err == nil {
		err = judged
	}
	if ctx.Err() != nil {
		if e, ok := errors.AsType[*exitcode.Error](err); ok && e.Code == exitcode.Interrupted {
			return err
		}
		return exitcode.With(exitcode.Interrupted, nil)
	}
	return err
}

// endLeft ends the load that was under way when the series was killed. Its run is repeated.
func (t *Series) endLeft(ctx context.Context) error {
	err := loadtest.EndLeft(ctx, t.Dir, t.Say)
	if ctx.Err() != nil {
		return exitcode.With(exitcode.Interrupted, nil)
	}
	return err
}

// tables creates the missing tables of p. The returned function drops the tables that were created.
func (t *Series) tables(ctx context.Context, p *plan.Plan, o *Options) (down func() error, err error) {
	if len(p.Tables) == 0 && len(p.Prepare) == 0 && (p.Keyspace == nil || p.Keyspace.Create == nil) {
		return func() error { return nil }, nil
	}
	one := p.OneSession()
	v, err := t.load.Hooks(t.Out)
	if err != nil {
		return nil, err
	}
	one.Faults, one.Proxies = nil, nil
	r, err := runner.Open(ctx, one, runner.Options{
		Recording: runner.Recording{None: true, Version: t.load.Process.Version}, Hooks: v.OfTables(), Force: o.Force,
		NoTeardown: o.NoTeardown,
	})
	if err != nil {
		return nil, err
	}
	if err := r.SetUp(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r.Close, nil
}

// Drive sends the load of a run, unless the series was resumed and the run exists. It is a program.Driver.
func (t *Series) Drive(ctx context.Context, o program.Load) (*program.Outcome, error) {
	dir := filepath.Join(t.Dir, o.Name)
	if kept, err := program.KeptOutcome(dir); kept != nil || err != nil {
		return kept, err
	}
	return t.one(ctx, o, t.load, dir)
}

// one executes l with the settings of o into the bundle dir.
func (t *Series) one(ctx context.Context, o program.Load, l loadtest.Test, dir string) (*program.Outcome, error) {
	l.Plan, l.Next, l.Options.PeakPerS, l.Record.Dir = o.Plan, o.Next, o.PeakPerS, dir
	v, err := l.Hooks(t.Out)
	if err != nil {
		return nil, err
	}
	tell := v.Notice
	v.Hint, v.Notice = nil, nil // they would repeat in each run, and are in the bundles
	if l.Workers.Number > 0 && tell != nil {
		v.Notice = func(w record.Warning) {
			if w.ID == loadtest.WorkerNotice {
				tell(w)
			}
		}
	}
	if _, dir, err = l.Drive(ctx, t.hard, t.Out, &v); err != nil {
		return nil, err
	}
	return program.ReadOutcome(record.OS{}, dir)
}

// Say prints a message about the series on standard error, unless quiet.
func (t *Series) Say(format string, args ...any) {
	if !t.load.Quiet {
		fmt.Fprintf(t.Out.Err, "brunt: "+format+"\n", args...)
	}
}

// Conclude writes a report into the folder of the series, and prints it.
func (t *Series) Conclude(f *loadtest.Report, r *program.Report) error {
	return errors.Join(r.Write(t.Dir), t.Print(f, r))
}

// Print prints the result of a series in the form of f, followed by more tables.
func (t *Series) Print(f *loadtest.Report, r *program.Report, more ...cell.Table) error {
	o := loadtest.Look(t.Out.Out)
	look := cell.Look{Columns: o.Width, Color: o.Color, Language: f.Language}
	return errors.Join(loadtest.Drain(t.Out.Out), r.Print(t.Out.Out, f.Form, look, t.Dir, more...))
}
