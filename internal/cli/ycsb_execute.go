package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"brunt/internal/dialect/ycsb"
	"brunt/internal/exitcode"
	"brunt/internal/loadtest"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/verdict"
	"brunt/internal/workload"
)

// ycsbFile makes a file for results.
func ycsbFile(name string) (io.WriteCloser, error) { return os.Create(name) }

// execute loads or runs a workload and prints the result as go-ycsb does.
func (f *ycsbFlags) execute(s *streams, settings *ycsb.Settings) error {
	checkpoint := filepath.Join(f.record.Root, settings.CheckpointName())
	resumed, err := settings.Resumable(checkpoint, os.ReadFile)
	if err != nil {
		return exitcode.Usage(err)
	}
	job, err := ycsb.Compile(settings, resumed)
	if err != nil {
		return exitcode.Usage(err)
	}
	if f.cmd.Flags().Changed("tier") {
		if job.Plan.Settings.Tier = f.tier; f.tier == "library" {
			job.Plan.Settings.Pipeline = 1
		}
	}
	if err := oneOf("awake", f.awake, awakeModes()); err != nil {
		return exitcode.Usage(err)
	}
	job.Plan.Settings.Awake = f.awake
	if err := f.checkWorkers(&f.record, job.Plan); err != nil {
		return exitcode.Usage(err)
	}
	if err := f.checkShared(settings); err != nil {
		return exitcode.Usage(err)
	}
	y := &ycsbRun{flags: f, job: job, resumed: resumed}
	if settings.Command == ycsb.Load && f.workers.Number > 0 {
		y.stale = checkpoint
	} else if settings.Command == ycsb.Load {
		y.checkpoint = &ycsb.Checkpoint{Path: checkpoint, Job: job, Write: replaceFile}
	}
	l := &loadtest.Test{
		Plan: job.Plan, Record: f.record, Live: f.live, Process: s.process(), Quiet: f.quiet,
		Workers: f.workers, Hooks: y.hooks,
	}
	if label := settings.Set.Text("label", ""); label != "" {
		l.Options.Recording.Extra = map[string]string{"label": label}
	}
	return l.Perform(s.out, s.err)
}

// checkShared refuses what needs each operation in this process.
func (f *ycsbFlags) checkShared(s *ycsb.Settings) error {
	if f.workers.Number == 0 {
		return nil
	}
	for _, c := range []struct {
		wanted bool
		name   string
	}{
		{s.Output.Raw, "measurementtype=raw"}, {s.Resume, "resume=true"},
		{s.Verbose && s.Database.Protocol == "noop", "verbose=true"},
	} {
		if c.wanted {
			return fmt.Errorf("-p %s: operations are sent by workers, and only their sums are known here; "+
				"remove it, or --workers", c.name)
		}
	}
	return nil
}

// replaceFile writes a file, and the folder that it is in, so that a crash leaves the old or the new one.
func replaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return record.ReplaceFile(record.OS{}, path, data)
}

// ycsbRun is a load or run under way.
type ycsbRun struct {
	flags      *ycsbFlags
	job        *ycsb.Job
	resumed    int64 // records that are there already
	out        *loadtest.Outputs
	meter      *ycsb.Meter
	checkpoint *ycsb.Checkpoint // nil in runs, and with workers
	stale      string           // with workers: the checkpoint of an earlier load
	began      time.Time
	took       time.Duration
}

// hooks prints go-ycsb's lines.
func (y *ycsbRun) hooks(out *loadtest.Outputs) (loadtest.Hooks, error) {
	y.out, y.meter = out, ycsb.NewMeter(y.job, out.Out, ycsbFile)
	set := y.job.Settings
	v := loadtest.Hooks{
		Sinks:   []measure.Sink{y.meter},
		Prepare: y.prepare,
		Attach: func(w *workload.Workload) {
			if y.checkpoint != nil {
				y.checkpoint.Last = w.Records.Last
			}
			y.meter.Attach(w)
			y.job.Narrate(w, out.Out)
		},
		Began:  func(*record.Run) { y.began = time.Now() },
		Ended:  func() { y.took = time.Since(y.began) },
		Result: y.result, Exit: y.exit,
	}
	if y.checkpoint != nil {
		v.Sinks = append(v.Sinks, y.checkpoint)
	}
	if !set.Silence {
		v.Tell.Failed = func(e record.ErrorSample) { fmt.Fprintf(out.Out, "operation err: %s: %s\n", e.Class, e.Text) }
	}
	if !y.flags.quiet {
		v.Tell.Notice = loadtest.Notices(out)
	}
	return v, nil
}

// prepare says what will be done.
func (y *ycsbRun) prepare(context.Context) error {
	if err := y.job.Settings.Banner(y.out.Out); err != nil {
		return err
	}
	if y.resumed > 0 {
		y.note("%d records are there already; going on after them (%s)", y.resumed, y.checkpoint.Path)
	}
	if y.flags.workers.Number > 0 && y.meter.Parts() {
		y.note("with workers the lines of a READ_MODIFY_WRITE's read and update are left out")
	}
	if n := y.job.Plan.Settings.Pipeline; n > 1 {
		y.note(
			"up to %d inserts in flight a session, whose latencies include what waits before them; -p load.pipeline=1 sends one at a time", n)
	}
	return nil
}

// note says something on standard error, unless quiet.
func (y *ycsbRun) note(format string, values ...any) {
	if !y.flags.quiet {
		fmt.Fprintf(y.out.Err, "brunt: note: "+format+"\n", values...)
	}
}

// result prints go-ycsb's lines.
func (y *ycsbRun) result(run *record.Run, dir string) error {
	out := y.out.Out
	if err := loadtest.Drain(out); err != nil {
		return err
	}
	if err := ycsb.Finished(out, y.took); err != nil {
		return err
	}
	if err := y.meter.Finish(out, ycsbFile); err != nil {
		return err
	}
	if err := y.endLoad(run); err != nil {
		return err
	}
	y.explain(run, dir)
	if y.flags.report {
		return (&loadtest.Report{}).Print(out, run, dir)
	}
	return nil
}

// exit is how the run ended, if not well.
func (y *ycsbRun) exit(run *record.Run) error {
	reads, first := corrupted(run)
	switch {
	case reads > 0:
		return exitcode.With(exitcode.Threshold,
			fmt.Errorf("data integrity: %d reads returned another value than was written; the first: %s", reads, first))
	case run.Interrupted:
		return exitcode.With(exitcode.Interrupted, nil)
	case y.flags.report:
		return exitcode.With(verdict.ExitCode(run), nil)
	case run.Total.Done > 0 && run.Total.OK == 0:
		return errNoOperation
	}
	return nil
}

// corrupted is how many reads returned another value than was written, and the first one.
func corrupted(run *record.Run) (reads uint64, first string) {
	for _, f := range run.Failures {
		if f.Code == workload.IntegrityCode {
			if first == "" {
				first = f.Text
			}
			reads += f.Count
		}
	}
	return reads, first
}

// endLoad removes the checkpoint of a load that is complete and keeps it otherwise.
func (y *ycsbRun) endLoad(run *record.Run) error {
	path := y.stale
	if y.checkpoint == nil {
		if path == "" {
			return nil
		}
		if done := run.Total.OK * uint64(y.job.Settings.Batch); done < uint64(y.job.Settings.LoadCount) {
			y.note("%d of %d records were inserted; load again, with dropdata=true", done, y.job.Settings.LoadCount)
			return nil
		}
		return removeIfThere(path)
	}
	if y.checkpoint.Done() < y.job.Settings.LoadCount {
		y.note("%d of %d records are there without a gap; -p resume=true goes on after them", y.checkpoint.Done(),
			y.job.Settings.LoadCount)
		return y.checkpoint.Save()
	}
	return removeIfThere(y.checkpoint.Path)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
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
		fmt.Fprintf(y.out.Err, "brunt: %d × %s%s: %s\n", e.Count, e.Class, code, e.Text)
	}
	for _, w := range run.Warnings {
		if w.ID == "leak" || w.ID == "export-lost" || strings.HasPrefix(w.ID, "watch-") {
			fmt.Fprintf(y.out.Err, "brunt: %s\n", w.Text)
		}
	}
	if n := run.Total.Missing; n > 0 {
		fmt.Fprintf(y.out.Err, "brunt: note: %d reads found no record; has the workload been loaded?\n", n)
	}
	if dir != "" {
		y.note("the record of this %s is in %s", y.job.Settings.Command, dir)
	}
}
