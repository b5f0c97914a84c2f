package cli

import (
	"errors"
	"fmt"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/runner"
)

// run loads the service and prints the result.
func (f *httpFlags) run(s *streams, target string) (err error) {
	if err := f.outputFlags.check(); err != nil {
		return err
	}
	p, err := f.plan(s, target)
	if err != nil {
		return usage(err)
	}
	outlets := s.outlets()
	s = outlets.streams
	ctx, hard, stop := interruptible(s.err)
	defer stop()
	defer func() { err = errors.Join(err, outlets.settle(hard)) }()
	options := runner.Options{
		Plan: p, PlanText: cookPlanText(p, s.args), Command: redactedHTTP(s.args), Version: s.version,
		Root: f.root, Dir: f.dir, NoSetup: true, NoTeardown: true,
		Ceiling: ceiling, Wait: f.wait, Waiting: waitingNote(s.err, f.wait, f.quiet),
	}
	if f.hdrLog != "" {
		file, e := createFile(f.hdrLog)
		if e != nil {
			return usage(fmt.Errorf("--hlog: %w", e))
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		options.Sinks = append(options.Sinks, record.NewHDRLog(file, operationNames(p)))
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
	if e := f.print(s.out, run, dir); e != nil {
		err = errors.Join(err, e)
	}
	if code := report.ExitCode(run); code != exitPass {
		return &exitError{code, err}
	}
	return err
}

// watch makes the run tell on standard error how it goes.
func (f *httpFlags) watch(s *streams, o *runner.Options) {
	progress := report.NewProgress(s.err, looks(s.err))
	o.Sinks = append(o.Sinks, measure.Sink(progress))
	o.Starting = func(run *record.Run, _ string) { progress.Start(run) }
	o.Ended = progress.Done
	o.Hint = func(h record.Hint) { progress.Note("brunt: " + report.HintText(&h)) }
	o.Notice = func(w record.Warning) { progress.Note("brunt: note: " + w.Text) }
}
