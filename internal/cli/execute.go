package cli

import (
	"context"
	"errors"
	"fmt"

	"brunt/internal/planfile"
	"brunt/internal/load"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/runner"
)

// run reads the plan, runs it and prints the result. load, if not nil, replaces the plan's own.
func (f *loadFlags) run(s *streams, args []string, l *plan.Load) (err error) {
	if err := f.outputFlags.check(); err != nil {
		return err
	}
	p, err := f.read(s, args, l)
	if err != nil {
		return err
	}
	text, err := planfile.Write(p)
	if err != nil {
		return err
	}
	outlets := s.outlets()
	s = outlets.streams
	ctx, hard, stop := interruptible(s.err)
	defer stop()
	defer func() { err = errors.Join(err, outlets.settle(hard)) }()
	options := runner.Options{
		Plan: p, PlanText: text, Command: redacted(s.args), Version: s.version,
		Root: f.root, Dir: f.dir, NoSetup: f.noSetup, NoTeardown: f.noTeardown, Force: f.force,
		Ceiling: ceiling,
	}
	if !f.quiet {
		f.watch(s, &options)
	}
	detach, err := f.attach(s, &options, hard, f.quiet)
	if err != nil {
		return err
	}
	defer detach()
	outlets.watch(&options)
	run, dir, err := runner.Run(ctx, hard, options)
	if run == nil {
		return failure(ctx, err)
	}
	for _, d := range []string{dir, f.summaryDir} {
		if d == "" {
			continue
		}
		if _, e := record.WriteSummary(record.OS{}, d, run); e != nil {
			err = errors.Join(err, e)
		}
	}
	if e := f.print(s.out, run, dir); e != nil {
		err = errors.Join(err, e)
	}
	if code := report.ExitCode(run); code != exitPass {
		return &exitError{code, err}
	}
	return err
}

// watch makes the run tell on standard error how it goes.
func (f *loadFlags) watch(s *streams, o *runner.Options) {
	looks := looks(s.err)
	filling := report.NewLoadProgress(s.err, looks)
	o.Loading = func(p load.Progress) { filling.Show(report.Filling(p)) }
	progress := report.NewProgress(s.err, looks)
	o.Sinks = []measure.Sink{progress}
	o.Starting = func(run *record.Run, _ string) {
		filling.Done()
		progress.Start(run)
	}
	o.Ended = progress.Done
	o.Notice = func(w record.Warning) { fmt.Fprintf(s.err, "brunt: note: %s\n", w.Text) }
}

// failure gives an error that came before the load its exit code.
func failure(ctx context.Context, err error) error {
	var u *runner.UsageError
	var r *runner.UnreachableError
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted before the load began")}
	case errors.As(err, &u):
		return &exitError{exitBadPlan, err}
	case errors.As(err, &r):
		return &exitError{exitUnreachable, err}
	}
	return err
}
