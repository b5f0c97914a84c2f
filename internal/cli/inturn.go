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

	"brunt/internal/plan"
	"brunt/internal/planfile"
	"brunt/internal/program"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/runner"
)

// inTurn is a command that runs loads one after another, each into a bundle of its own below one folder.
type inTurn struct {
	out  *outputs
	hard <-chan struct{}
	dir  string  // the series' folder
	load loadRun // what all runs share
}

// runInTurn makes the folder of a series of the given kind and the plans' tables, calls do, and drops what
// it made. A series that was ended by hand has the exit code that says so, if do returns the context's
// error or nil.
func (s *streams) runInTurn(f *runFlags, kind string, plans []*plan.Plan,
	do func(context.Context, *inTurn) error) (err error) {
	if err := f.checkSeries(); err != nil {
		return err
	}
	out := s.outputs()
	ctx, hard, stop := interruptible(out.err, endings(false))
	defer stop()
	defer func() { err = errors.Join(err, out.flush(hard)) }()
	t := &inTurn{out: out, hard: hard, load: loadRun{record: f.recordFlags, live: f.liveFlags, quiet: f.quiet,
		hooks: f.outputFlags.hooks}}
	t.load.options = runner.Options{NoSetup: true, NoTeardown: true, Faults: f.faults()}
	last := plans[len(plans)-1]
	if t.dir = f.resume; t.dir == "" {
		if t.dir, err = program.NewFolder(f.root, f.dir, last.Name+"-"+kind, time.Now()); err != nil {
			return usage(err)
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
		return usage(err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if !f.noSetup {
		for _, p := range plans {
			down, refused := t.tables(ctx, p, f)
			if refused != nil {
				return failure(ctx, refused)
			}
			defer func() { err = errors.Join(err, down()) }()
		}
	}
	err = do(ctx, t)
	if ctx.Err() != nil {
		var e *exitError
		if errors.As(err, &e) && e.code == exitInterrupted {
			return err
		}
		return &exitError{code: exitInterrupted}
	}
	return err
}

// checkSeries refuses flags that are of one run.
func (f *runFlags) checkSeries() error {
	switch {
	case f.number > 0:
		return usage(errors.New(
			"--workers: a series of runs is sent from this machine; use --workers with run, queue, rate, spike or http"))
	case f.none:
		return usage(errors.New("--no-record: a series is decided and reported from its bundles; remove the flag"))
	case f.hdrLog != "":
		return usage(errors.New("--hlog is for one run; take the histograms from the bundles of the series"))
	case !slices.Contains(seriesFormats(), f.output):
		return usage(fmt.Errorf("--output %s: use %s", f.output, strings.Join(seriesFormats(), ", ")))
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
	v, err := t.load.hooks(t.out)
	if err != nil {
		return nil, err
	}
	one.Faults, one.Proxies = nil, nil
	r, err := runner.Open(ctx, &one, runner.Options{
		Recording: runner.Recording{None: true, Version: t.out.version}, Tell: v.tell, Force: f.force,
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
func (t *inTurn) one(ctx context.Context, o program.Order, l loadRun, dir string) (*program.Outcome, error) {
	l.plan, l.next, l.options.PeakPerS, l.record.dir = o.Plan, o.Next, o.PeakPerS, dir
	v, err := l.hooks(t.out)
	if err != nil {
		return nil, err
	}
	v.tell.Hint, v.tell.Notice = nil, nil // of each run again and again; the bundles have them
	r, err := l.conduct(ctx, t.hard, t.out, &v)
	if err != nil {
		return nil, err
	}
	return program.Read(record.OS{}, r.Dir)
}

// say tells of the series on standard error, unless quiet.
func (t *inTurn) say(format string, args ...any) {
	if !t.load.quiet {
		fmt.Fprintf(t.out.err, "brunt: "+format+"\n", args...)
	}
}

// print writes what came of a series in the chosen form, and more tables after its own.
func (t *inTurn) print(f *outputFlags, r *program.Report, more ...cell.Table) error {
	w := io.Writer(t.out.out)
	o := looks(w)
	return errors.Join(drain(w), r.Print(w, f.output, cell.Look{Columns: o.Width, Color: o.Color, Language: f.language()},
		t.dir, more...))
}
