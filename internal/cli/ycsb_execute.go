package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"brunt/internal/dialect/ycsb"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/report"
	"brunt/internal/runner"
	"brunt/internal/workload"
)

// ycsbFile makes a file for results.
func ycsbFile(name string) (io.WriteCloser, error) { return os.Create(name) }

// locked is a writer that several goroutines share.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// execute loads or runs a workload and prints the result as go-ycsb does.
func (f *ycsbFlags) execute(s *streams, settings *ycsb.Settings) error {
	checkpoint := filepath.Join(f.root, settings.CheckpointName())
	resumed, err := settings.Resumable(checkpoint, os.ReadFile)
	if err != nil {
		return usage(err)
	}
	job, err := ycsb.Compile(settings, resumed)
	if err != nil {
		return usage(err)
	}
	if f.cmd.Flags().Changed("tier") {
		if job.Plan.Settings.Tier = f.tier; f.tier == "library" {
			job.Plan.Settings.Pipeline = 1
		}
	}
	ctx, hard, stop := interruptible(s.err)
	defer stop()
	out := &locked{w: s.out}
	y := &ycsbRun{flags: f, s: s, job: job, out: out, meter: ycsb.NewMeter(job, out, ycsbFile)}
	if settings.Command == ycsb.Load {
		y.checkpoint = &ycsb.Checkpoint{Path: checkpoint, Job: job, Write: replaceFile}
	}
	options := y.options()
	detach, err := f.attach(s, &options, hard, f.quiet)
	if err != nil {
		return err
	}
	defer detach()
	if err := settings.Banner(out); err != nil {
		return err
	}
	if resumed > 0 && !f.quiet {
		fmt.Fprintf(s.err, "brunt: note: %d records are there already; going on after them (%s)\n", resumed, checkpoint)
	}
	if n := job.Plan.Settings.Pipeline; n > 1 && !f.quiet {
		fmt.Fprintf(s.err, "brunt: note: up to %d inserts in flight a session, whose latencies include what waits before them; -p load.pipeline=1 sends one at a time\n", n)
	}
	if err := prepareYCSB(ctx, job); err != nil {
		return failure(ctx, err)
	}
	run, dir, err := runner.Run(ctx, hard, options)
	if run == nil {
		return failure(ctx, err)
	}
	return errors.Join(err, y.finish(run, dir))
}

// prepareYCSB makes the table of a load.
func prepareYCSB(ctx context.Context, job *ycsb.Job) error {
	s := job.Settings
	if s.Command != ycsb.Load {
		return nil
	}
	session, err := runner.Open(ctx, job.Plan)
	if err != nil {
		return err
	}
	if err = session.Execute(ctx, job.Prepare); err == nil && len(job.Prepare) == 0 {
		err = session.PrepareTable(ctx, s.Table, s.Fields, s.FieldLength, s.DropData)
	}
	return errors.Join(err, session.Close())
}

// replaceFile writes a file so that a crash leaves the old or the new one.
func replaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	next := path + ".next"
	if err := os.WriteFile(next, data, 0o644); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// ycsbRun is a load or run under way.
type ycsbRun struct {
	flags      *ycsbFlags
	s          *streams
	job        *ycsb.Job
	out        io.Writer
	meter      *ycsb.Meter
	checkpoint *ycsb.Checkpoint // nil in runs
	began      time.Time
	took       time.Duration
}

func (y *ycsbRun) options() runner.Options {
	set := y.job.Settings
	o := runner.Options{
		Plan: y.job.Plan, PlanText: y.job.PlanText(), Command: redactedYCSB(y.s.args), Version: y.s.version,
		Root: y.flags.root, Dir: y.flags.dir, NoSetup: true, NoTeardown: true,
		Ceiling: ceiling,
		Prepared: func(w *workload.Workload) {
			y.job.Attach(w)
			y.meter.Attach(w)
			y.job.Narrate(w, y.out)
		},
		Sinks:    []measure.Sink{y.meter},
		Starting: func(*record.Run, string) { y.began = time.Now() },
		Ended:    func() { y.took = time.Since(y.began) },
	}
	if label := set.Set.Text("label", ""); label != "" {
		o.Extra = map[string]string{"label": label}
	}
	if y.checkpoint != nil {
		o.Sinks = append(o.Sinks, y.checkpoint)
	}
	if !set.Silence {
		o.Failed = func(e record.ErrorSample) { fmt.Fprintf(y.out, "operation err: %s: %s\n", e.Class, e.Text) }
	}
	if !y.flags.quiet {
		o.Notice = func(w record.Warning) { fmt.Fprintf(y.s.err, "brunt: note: %s\n", w.Text) }
	}
	return o
}

// redactedYCSB is a command line without secrets.
func redactedYCSB(args []string) []string {
	out := ycsb.Redact(args)
	for i := range out {
		out[i] = redactedURLs(out[i])
	}
	return out
}

// finish prints the result and returns the error that says how it ended, if not well.
func (y *ycsbRun) finish(run *record.Run, dir string) error {
	if err := ycsb.Finished(y.out, y.took); err != nil {
		return err
	}
	if err := y.meter.Finish(y.out, ycsbFile); err != nil {
		return err
	}
	if err := y.endLoad(); err != nil {
		return err
	}
	y.explain(run, dir)
	if y.flags.report {
		o := looks(y.s.out)
		o.Path = dir
		if err := report.Terminal(y.out, run, o); err != nil {
			return err
		}
	}
	reads, first := y.job.Corrupted()
	switch {
	case reads > 0:
		return &exitError{exitThreshold, fmt.Errorf("data integrity: %d reads returned another value than was written; the first: %s", reads, first)}
	case run.Interrupted:
		return &exitError{code: exitInterrupted}
	case y.flags.report:
		if code := report.ExitCode(run); code != exitPass {
			return &exitError{code: code}
		}
	case run.Total.Done > 0 && run.Total.OK == 0:
		return errNoOperation
	}
	return nil
}

// endLoad removes the checkpoint of a load that is complete and keeps it otherwise.
func (y *ycsbRun) endLoad() error {
	if y.checkpoint == nil {
		return nil
	}
	if y.job.Done() < y.job.Settings.InsertCount {
		if !y.flags.quiet {
			fmt.Fprintf(y.s.err, "brunt: note: %d of %d records are there without a gap; -p resume=true goes on after them\n", y.job.Done(), y.job.Settings.InsertCount)
		}
		return y.checkpoint.Save()
	}
	if err := os.Remove(y.checkpoint.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// explain says on standard error why operations failed and where the record is.
func (y *ycsbRun) explain(run *record.Run, dir string) {
	for _, e := range run.Failures {
		code := e.Code
		if code != "" {
			code = " " + code
		}
		fmt.Fprintf(y.s.err, "brunt: %d × %s%s: %s\n", e.Count, e.Class, code, e.Text)
	}
	for _, w := range run.Warnings {
		if w.ID == "leak" || w.ID == "export-lost" || strings.HasPrefix(w.ID, "watch-") {
			fmt.Fprintf(y.s.err, "brunt: %s\n", w.Text)
		}
	}
	if n := run.Total.Missing; n > 0 {
		fmt.Fprintf(y.s.err, "brunt: note: %d reads found no record; has the workload been loaded?\n", n)
	}
	if !y.flags.quiet {
		fmt.Fprintf(y.s.err, "brunt: note: the record of this %s is in %s\n", y.job.Settings.Command, dir)
	}
}
