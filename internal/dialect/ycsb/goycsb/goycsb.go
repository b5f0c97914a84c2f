// Package goycsb runs YCSB's loads and runs, and prints what go-ycsb prints.
package goycsb

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
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

// Execution is a load or run that prints what go-ycsb prints.
type Execution struct {
	Job        *ycsb.Job
	Checkpoint string // path of a load's checkpoint
	Led        bool   // workers send the load
	Report     bool   // also print brunt's own report and use its exit code
	Quiet      bool   // no notices

	out        *loadtest.Outputs
	meter      *ycsb.Meter
	checkpoint *ycsb.Checkpoint // nil in runs, and if workers send the load
	began      time.Time
	took       time.Duration
}

// Hooks returns hooks that print go-ycsb's lines.
func (y *Execution) Hooks(out *loadtest.Outputs) (runner.Hooks, error) {
	y.out, y.meter = out, ycsb.NewMeter(y.Job, out.Out, createFile)
	set := y.Job.Settings
	if set.Command == ycsb.Load && !y.Led {
		y.checkpoint = &ycsb.Checkpoint{Path: y.Checkpoint, Job: y.Job, Write: replaceFile}
	}
	v := runner.Hooks{
		Sinks:   []measure.Sink{y.meter},
		Prepare: y.prepare,
		Attach: func(w *workload.Workload) {
			if y.checkpoint != nil {
				y.checkpoint.Last = w.Records.Last
			}
			y.meter.Attach(w)
			y.Job.Narrate(w, out.Out)
		},
		Began:  func(*record.Run) { y.began = time.Now() },
		Ended:  func() { y.took = time.Since(y.began) },
		Result: y.result, Exit: y.exit,
	}
	if y.checkpoint != nil {
		v.Sinks = append(v.Sinks, y.checkpoint)
	}
	if !set.Silence {
		v.Failed = func(e record.ErrorSample) { fmt.Fprintf(out.Out, "operation err: %s: %s\n", e.Class, e.Text) }
	}
	if !y.Quiet {
		v.Notice = loadtest.Notices(out)
	}
	return v, nil
}

// prepare prints what will be done.
func (y *Execution) prepare(context.Context) error {
	if err := y.Job.Settings.Banner(y.out.Out); err != nil {
		return err
	}
	if y.Job.Resumed > 0 {
		y.note("%d records are there already; going on after them (%s)", y.Job.Resumed, y.Checkpoint)
	}
	if y.Led && y.meter.Parts() {
		y.note("with workers the lines of a READ_MODIFY_WRITE's read and update are left out")
	}
	if n := y.Job.Plan.Settings.Pipeline; n > 1 {
		y.note(
			"up to %d inserts in flight a session, whose latencies include what waits before them; -p load.pipeline=1 sends one at a time", n)
	}
	return nil
}

// note prints a note on standard error, unless Quiet is set.
func (y *Execution) note(format string, values ...any) {
	if !y.Quiet {
		fmt.Fprintf(y.out.Err, "brunt: note: "+format+"\n", values...)
	}
}

// result prints go-ycsb's lines.
func (y *Execution) result(run *record.Run, dir string) error {
	out := y.out.Out
	if err := loadtest.Drain(out); err != nil {
		return err
	}
	if err := ycsb.Finished(out, y.took); err != nil {
		return err
	}
	if err := y.meter.Finish(out, createFile); err != nil {
		return err
	}
	if err := y.endLoad(run); err != nil {
		return err
	}
	y.explain(run, dir)
	if y.Report {
		return (&loadtest.Report{}).Print(out, run, dir)
	}
	return nil
}

// exit returns the error for the exit code, or nil if the run succeeded.
func (y *Execution) exit(run *record.Run) error {
	reads, first := corrupted(run)
	switch {
	case reads > 0:
		return exitcode.With(exitcode.Threshold,
			fmt.Errorf("data integrity: %d reads returned another value than was written; the first: %s", reads, first))
	case run.Interrupted:
		return exitcode.With(exitcode.Interrupted, nil)
	case y.Report || len(run.Thresholds) > 0:
		return exitcode.With(verdict.ExitCode(run), nil)
	case run.Total.Done > 0 && run.Total.OK == 0:
		return errors.New("no operation succeeded; the lines above say why")
	}
	return nil
}

// corrupted returns how many reads returned another value than was written, and the text of the first.
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

// endLoad removes the checkpoint of a load that is complete, and keeps it otherwise.
func (y *Execution) endLoad(run *record.Run) error {
	if y.Job.Settings.Command != ycsb.Load {
		return nil
	}
	if y.checkpoint == nil {
		if done := run.Total.OK * uint64(y.Job.Settings.Batch); done < uint64(y.Job.Settings.LoadCount) {
			y.note("%d of %d records were inserted; load again, with dropdata=true", done, y.Job.Settings.LoadCount)
			return nil
		}
		return removeIfThere(y.Checkpoint)
	}
	if y.checkpoint.Done() < y.Job.Settings.LoadCount {
		y.note("%d of %d records are there without a gap; -p resume=true goes on after them", y.checkpoint.Done(),
			y.Job.Settings.LoadCount)
		return y.checkpoint.Save()
	}
	return removeIfThere(y.Checkpoint)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// explain prints on standard error why operations failed and where the record is.
func (y *Execution) explain(run *record.Run, dir string) {
	present := false
	for _, e := range run.Failures {
		code := e.Code
		if code != "" {
			code = " " + code
		}
		fmt.Fprintf(y.out.Err, "brunt: %d × %s%s: %s\n", e.Count, e.Class, code, e.Text)
		present = present || e.Code == protocol.NothingInserted
	}
	if present {
		fmt.Fprintln(y.out.Err, "brunt: note: an earlier load or run has made records with these keys; "+
			"load with dropdata=true first, or with resume=true to complete a load")
	}
	for _, w := range run.Warnings {
		if w.ID == "leak" || w.ID == "export-lost" || strings.HasPrefix(w.ID, "watch-") {
			fmt.Fprintf(y.out.Err, "brunt: %s\n", w.Text)
		}
	}
	if n := run.Total.MissingInserts; n > 0 {
		fmt.Fprintf(y.out.Err, "brunt: note: %d inserts found their record there already and left it unchanged, as far as "+
			"the database says\n", n)
	}
	if n := run.Total.Missing; n > 0 {
		fmt.Fprintf(y.out.Err, "brunt: note: %d reads found no record; has the workload been loaded?\n", n)
	}
	if dir != "" {
		y.note("the record of this %s is in %s", y.Job.Settings.Command, dir)
	}
}

// CheckWorkers returns an error if settings that process each operation in this process are used with workers.
func CheckWorkers(s *ycsb.Settings, workers int) error {
	if workers == 0 {
		return nil
	}
	for _, c := range []struct {
		wanted bool
		name   string
	}{
		{s.Output.Raw, "measurementtype=raw"}, {s.Resume, "resume=true"},
		{s.Verbose && s.Database.Dry, "verbose=true"},
	} {
		if c.wanted {
			return fmt.Errorf("-p %s: operations are sent by workers, and only their sums are known here; "+
				"remove it, or --workers", c.name)
		}
	}
	return nil
}

// createFile creates a file for results.
func createFile(name string) (io.WriteCloser, error) { return os.Create(name) }

// replaceFile writes a file, and creates its folder. After a crash, either the old or the new file exists.
func replaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return record.ReplaceFile(record.OS{}, path, data)
}
