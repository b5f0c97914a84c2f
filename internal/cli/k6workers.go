package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"brunt/internal/k6x"
	"brunt/internal/loadtest"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/scale"
	"brunt/internal/secret"
	"brunt/internal/verdict/exitcode"
)

// k6Refused maps the flags of k6 run that can't be used with workers to the reasons.
var k6Refused = map[string]string{
	"out":    "each worker would have its own outputs; use BRUNT_EXPORT, and BRUNT_BUNDLE or BRUNT_RESULTS for the record",
	"linger": "workers end with their load", "paused": "the coordinator starts all workers",
	"execution-segment":          "each worker gets its segment",
	"execution-segment-sequence": "each worker gets its segment",
	"summary-export":             "the report is made of the records of all workers; use brunt report",
}

// k6OverWorkers distributes a script over workers: brunt k6 run --workers N.
func (s *streams) k6OverWorkers(f *workerFlags, args []string) error {
	if len(args) == 0 || args[0] != "run" {
		return exitcode.Usage(errors.New("--workers is for k6 run: brunt k6 run --workers N SCRIPT"))
	}
	l := loadtest.Record{Root: os.Getenv("BRUNT_RESULTS"), Dir: os.Getenv("BRUNT_BUNDLE")}
	if err := f.checkWorkers(&l); err != nil {
		return exitcode.Usage(err)
	}
	if f.workers.OnLost == scale.Redistribute {
		return exitcode.Usage(errors.New("--on-lost redistribute: k6 can't give the segment of a lost worker to others; " +
			"use go-on or abort"))
	}
	flags, script, err := k6ArchiveFlags(args[1:])
	if err != nil {
		return exitcode.Usage(err)
	}
	quiet := slices.Contains(flags, "--quiet") || slices.Contains(flags, "-q")
	archive, err := s.k6Archive(flags)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(script), filepath.Ext(script))
	if name == "-" {
		name = "stdin"
	}
	job := &scale.Script{Name: script, Archive: archive}
	if slices.Contains(flags, "--no-thresholds") {
		job.Args = append(job.Args, "--no-thresholds")
	}
	report := &loadtest.Report{Quiet: quiet}
	test := &loadtest.Test{
		Plan: &plan.Plan{Name: name}, Script: job, Record: l, Workers: f.workers, Process: s.process(), Quiet: quiet,
		Live: loadtest.Live{MetricsAddr: os.Getenv("BRUNT_METRICS_ADDR"),
			Destinations: strings.Fields(os.Getenv("BRUNT_EXPORT"))},
		Hooks: func(out *loadtest.Outputs) (loadtest.Hooks, error) {
			v, err := report.Hooks(out)
			v.Exit = k6Exit
			return v, err
		},
	}
	return test.Perform(s.out, s.err)
}

// k6Exit returns the exit code of k6 for a result, as an error.
func k6Exit(run *record.Run) error {
	broken := slices.ContainsFunc(run.Thresholds, func(t record.Threshold) bool { return !t.Pass })
	switch {
	case run.Interrupted, !run.Aborted.IsZero():
		return exitcode.With(exitcode.Interrupted, nil)
	case broken:
		return exitcode.With(exitcode.Threshold, nil)
	}
	return nil
}

// k6ArchiveFlags returns the flags of k6 archive for a command line of k6 run, and the script's name.
func k6ArchiveFlags(args []string) (flags []string, script string, err error) {
	for _, a := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		switch {
		case a == "-o":
			name = "out"
		case a == "-l":
			name = "linger"
		case !strings.HasPrefix(a, "--"):
			name = ""
		}
		if why := k6Refused[name]; why != "" {
			return nil, "", fmt.Errorf("--%s can't be used with --workers: %s", name, why)
		}
		if name != "no-usage-report" {
			flags = append(flags, a)
		}
	}
	if len(flags) > 0 {
		script = flags[len(flags)-1]
	}
	if script == "" || script != "-" && strings.HasPrefix(script, "-") {
		return nil, "", errors.New("with --workers, name the script last: brunt k6 run --workers N [FLAGS] SCRIPT")
	}
	return flags, script, nil
}

// mostArchive is the maximum size of a script's archive, in bytes. Each worker receives a copy.
const mostArchive = 32 << 20

// k6Archive packs a script with its files and the environment.
func (s *streams) k6Archive(flags []string) (archive []byte, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "brunt-k6-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "script.tar")
	cmd := exec.Command(self, append([]string{"k6", "archive", "--include-system-env-vars", "-O", path}, flags...)...)
	cmd.Args[0] = "brunt"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.err, s.err
	if err := cmd.Run(); err != nil {
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			return nil, exitcode.With(ended.ExitCode(), nil) // k6 has printed the reason
		}
		return nil, fmt.Errorf("pack the script: %w", err)
	}
	if archive, err = os.ReadFile(path); err == nil && len(archive) > mostArchive {
		err = exitcode.Usage(fmt.Errorf("the script and its files have %d bytes, and workers take at most %d",
			len(archive), mostArchive))
	}
	return archive, err
}

// segments returns the execution segment flags of worker k, from 0, of n.
func segments(k, n int) []string {
	at := func(i int) string {
		switch i {
		case 0:
			return "0"
		case n:
			return "1"
		}
		return fmt.Sprintf("%d/%d", i, n)
	}
	var all []string
	for i := range n + 1 {
		all = append(all, at(i))
	}
	return []string{"--execution-segment=" + at(k) + ":" + at(k+1),
		"--execution-segment-sequence=" + strings.Join(all, ",")}
}

// scriptShare runs a worker's segment of a script, and ends the process.
func (s *streams) scriptShare(w *scale.Worker, stop, hard <-chan struct{}) error {
	job := w.Job.Script
	dir, err := os.MkdirTemp("", "brunt-k6-")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "script.tar")
	if err := os.WriteFile(path, job.Archive, 0o600); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	of := &record.Worker{Name: w.Name(), ClockOffsetNs: w.Offset.Ns, ClockUncertaintyNs: w.Offset.UncertaintyNs}
	led := &k6x.Led{
		Script: job.Name, Epoch: w.At(w.Job.EpochNs), Dir: w.Dir, Worker: of, Sink: w, Stop: stop, Hard: hard,
		Begin: func() (start time.Time, err error) {
			_ = os.RemoveAll(dir) // k6 has read it already
			of.StartLateNs, err = w.Begin(context.Background(), w.Dir)
			return time.Now().Add(-time.Duration(of.StartLateNs)), err
		},
		Ended: func(code int, recorded bool) int {
			_ = os.RemoveAll(dir)
			if !recorded {
				w.Fail(fmt.Errorf("k6 ended with exit code %d; the lines of worker %d above say why", code, w.Number()+1), code)
				return code
			}
			if err := w.Finish(context.Background(), w.Dir); err != nil {
				fmt.Fprintln(s.err, "brunt:", err)
			}
			return code
		},
	}
	args := append([]string{"run", "--quiet", "--address", ""}, segments(w.Number(), w.Job.Workers)...)
	k6x.Main(k6x.Options{Name: "k6", Version: s.version, Command: secret.Args(w.Job.Command, false), Err: s.err, Led: led},
		append(append(args, job.Args...), path))
	return nil
}
