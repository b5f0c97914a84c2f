package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/exitcode"
	"brunt/internal/loadtest"
	"brunt/internal/plan"
	"brunt/internal/planfile"
	"brunt/internal/program"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/runner"
)

// inTurn is a command that runs loads one after another, each into a bundle of its own below one folder.
type inTurn struct {
	out     *loadtest.Outputs
	hard    <-chan struct{}
	dir     string        // the series' folder
	load    loadtest.Test // what all runs share
	version string        // of brunt
}

// runInTurn makes the folder of a series of the given kind and the plans' tables, calls do, and drops what
// it made. A series that was ended by hand has the exit code that says so, if do returns the context's
// error or nil.
func (s *streams) runInTurn(f *runFlags, kind string, plans []*plan.Plan,
	do func(context.Context, *inTurn) error) (err error) {
	if err := f.checkSeries(); err != nil {
		return err
	}
	if err := f.checkWorkers(&f.record, plans...); err != nil {
		return exitcode.Usage(err)
	}
	out := loadtest.NewOutputs(s.out, s.err)
	ctx, hard, stop := loadtest.Interruptible(out.Err, loadtest.Endings(false))
	defer stop()
	defer func() { err = errors.Join(err, out.Flush(hard)) }()
	t := &inTurn{out: out, hard: hard, version: s.version, load: loadtest.Test{Record: f.record, Live: f.live,
		Workers: f.workers, Process: s.process(), Quiet: f.quiet, Hooks: f.report().Hooks}}
	t.load.Options = runner.Options{NoSetup: true, NoTeardown: true, Faults: f.faults()}
	last := plans[len(plans)-1]
	if t.dir = f.resume; t.dir == "" {
		if t.dir, err = program.NewFolder(f.record.Root, f.record.Dir, last.Name+"-"+kind, time.Now()); err != nil {
			return exitcode.Usage(err)
		}
	}
	order := kind + "\n" + f.order
	for _, p := range plans {
		text, err := planfile.Write(p)
		if err != nil {
			return fmt.Errorf("plan %s: %w", p.Name, err)
		}
		order += "\n" + string(text)
	}
	lock, err := program.Claim(t.dir, order, f.resume != "")
	if err != nil {
		return exitcode.Usage(err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if !f.noSetup {
		for _, p := range plans {
			down, refused := t.tables(ctx, p, f)
			if refused != nil {
				return loadtest.Failure(ctx, refused)
			}
			defer func() { err = errors.Join(err, down()) }()
		}
	}
	err = do(ctx, t)
	if ctx.Err() != nil {
		var e *exitcode.Error
		if errors.As(err, &e) && e.Code == exitcode.Interrupted {
			return err
		}
		return exitcode.With(exitcode.Interrupted, nil)
	}
	return err
}

// checkSeries refuses flags that are of one run.
func (f *runFlags) checkSeries() error {
	switch {
	case f.record.None:
		return exitcode.Usage(errors.New("--no-record: a series is decided and reported from its bundles; remove the flag"))
	case f.record.HDRLog != "":
		return exitcode.Usage(errors.New("--hlog is for one run; take the histograms from the bundles of the series"))
	case !slices.Contains(seriesFormats(), f.output):
		return exitcode.Usage(fmt.Errorf("--output %s: use %s", f.output, strings.Join(seriesFormats(), ", ")))
	}
	return nil
}

func seriesFormats() []string { return []string{"text", "json", "md", "csv"} }

// tables makes the tables that p needs and are missing, and returns what drops those that it made.
func (t *inTurn) tables(ctx context.Context, p *plan.Plan, f *runFlags) (down func() error, err error) {
	if len(p.Tables) == 0 && len(p.Prepare) == 0 && (p.Keyspace == nil || p.Keyspace.Create == nil) {
		return func() error { return nil }, nil
	}
	one := *p
	one.Settings.Sessions = 1
	one.Load = slices.Clone(p.Load)
	for i := range one.Load {
		one.Load[i].Sessions = 0
	}
	v, err := t.load.Hooks(t.out)
	if err != nil {
		return nil, err
	}
	one.Faults, one.Proxies = nil, nil
	r, err := runner.Open(ctx, &one, runner.Options{
		Recording: runner.Recording{None: true, Version: t.version}, Tell: v.Tell, Force: f.force,
		NoTeardown: f.noTeardown,
	})
	if err != nil {
		return nil, err
	}
	if err := r.SetUp(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r.Close, nil
}

// conduct carries out one run, unless the series was resumed and has it; it is the series.Conduct of the
// command.
func (t *inTurn) conduct(ctx context.Context, o program.Order) (*program.Outcome, error) {
	dir := filepath.Join(t.dir, o.Name)
	if kept, err := program.Kept(dir); kept != nil || err != nil {
		return kept, err
	}
	return t.one(ctx, o, t.load, dir)
}

// bindResume adds the flag that goes on with a series.
func (f *runFlags) bindResume(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.resume, "resume", "",
		"go on in this folder of a series that was killed or interrupted, with the same plan and flags: runs that are whole are kept")
}

// one carries out l with what o says, into the bundle dir.
func (t *inTurn) one(ctx context.Context, o program.Order, l loadtest.Test, dir string) (*program.Outcome, error) {
	l.Plan, l.Next, l.Options.PeakPerS, l.Record.Dir = o.Plan, o.Next, o.PeakPerS, dir
	v, err := l.Hooks(t.out)
	if err != nil {
		return nil, err
	}
	tell := v.Tell.Notice
	v.Tell.Hint, v.Tell.Notice = nil, nil // of each run again and again; the bundles have them
	if l.Workers.Number > 0 && tell != nil {
		v.Tell.Notice = func(w record.Warning) {
			if w.ID == loadtest.WorkerNotice {
				tell(w)
			}
		}
	}
	_, dir, err = l.Send(ctx, t.hard, t.out, &v)
	if err != nil {
		return nil, err
	}
	return program.Read(record.OS{}, dir)
}

// say tells of the series on standard error, unless quiet.
func (t *inTurn) say(format string, args ...any) {
	if !t.load.Quiet {
		fmt.Fprintf(t.out.Err, "brunt: "+format+"\n", args...)
	}
}

// print writes what came of a series in the chosen form, and more tables after its own.
func (t *inTurn) print(f *outputFlags, r *program.Report, more ...cell.Table) error {
	w := io.Writer(t.out.Out)
	o := loadtest.Look(w)
	look := cell.Look{Columns: o.Width, Color: o.Color, Language: f.language()}
	return errors.Join(loadtest.Drain(w), r.Print(w, f.output, look, t.dir, more...))
}
