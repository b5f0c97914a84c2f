// Package script distributes a script of k6 over workers: brunt k6 run --workers N.
package script

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"brunt/internal/inspect/servers"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
	"brunt/internal/run/scale"
)

// refused maps the flags of k6 run that can't be used with workers to the reasons.
var refused = map[string]string{
	"out":    "each worker would have its own outputs; use BRUNT_EXPORT, and BRUNT_BUNDLE or BRUNT_RESULTS for the record",
	"linger": "workers end with their load", "paused": "the coordinator starts all workers",
	"execution-segment":          "each worker gets its segment",
	"execution-segment-sequence": "each worker gets its segment",
	"summary-export":             "the report is made of the records of all workers; use brunt report",
}

// Script is a script of k6 for workers.
type Script struct {
	Record  loadtest.Record
	Workers loadtest.Workers
	Process loadtest.Process
	// Inspected are the servers to ask what they did: those of --inspect.
	Inspected []string
	args      []string // of k6 run
}

// EnvInspect is the environment variable with the servers that are asked what they did, separated by spaces.
const EnvInspect = "BRUNT_INSPECT"

// New returns the script of a command line of k6, which must be one of k6 run. The environment says where its record
// goes, as it does for k6 in this process.
func New(args []string) (*Script, error) {
	if len(args) == 0 || args[0] != "run" {
		return nil, exitcode.Usage(errors.New("--workers is for k6 run: brunt k6 run --workers N SCRIPT"))
	}
	return &Script{
		Record: loadtest.Record{Root: os.Getenv("BRUNT_RESULTS"), Dir: os.Getenv("BRUNT_BUNDLE")}, args: args[1:],
	}, nil
}

// Perform packs the script, distributes it over the workers, prints the result and returns the error that has k6's exit
// code.
func (s *Script) Perform(stdin io.Reader, stdout, stderr io.Writer) error {
	if s.Workers.OnLost == scale.Redistribute {
		return exitcode.Usage(errors.New("--on-lost redistribute: k6 can't give the segment of a lost worker to others, " +
			"because it starts segments at their beginning only; use go-on or abort"))
	}
	flags, file, err := archiveFlags(s.args)
	if err != nil {
		return exitcode.Usage(err)
	}
	quiet := slices.Contains(flags, "--quiet") || slices.Contains(flags, "-q")
	packed, err := archive(stdin, stderr, flags)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if name == "-" {
		name = "stdin"
	}
	job := &scale.Script{Name: file, Archive: packed}
	if slices.Contains(flags, "--no-thresholds") {
		job.Args = append(job.Args, "--no-thresholds")
	}
	inspected := append(strings.Fields(os.Getenv(EnvInspect)), s.Inspected...)
	if slices.Contains(inspected, servers.Auto) {
		return exitcode.Usage(fmt.Errorf("--inspect %s with --workers: the coordinator doesn't know which servers the script "+
			"uses; write --inspect KIND=URL (%s)", servers.Auto, strings.Join(servers.Names(), ", ")))
	}
	report := &loadtest.Report{Quiet: quiet}
	test := &loadtest.Test{
		Plan: &plan.Plan{Name: name}, Script: job, Record: s.Record, Workers: s.Workers, Process: s.Process, Quiet: quiet,
		Live: loadtest.Live{MetricsAddr: os.Getenv("BRUNT_METRICS_ADDR"),
			Destinations: strings.Fields(os.Getenv("BRUNT_EXPORT")), Inspected: inspected},
		Hooks: func(out *loadtest.Outputs) (runner.Hooks, error) {
			v, err := report.Hooks(out)
			v.Exit = Exit
			return v, err
		},
	}
	return test.Perform(stdout, stderr)
}

// Exit returns the exit code of k6 for a result, as an error. If workers were lost with more of the load than a result
// may lack, it is that of an invalid result: k6 has no code for that.
func Exit(run *record.Run) error {
	aborted := slices.ContainsFunc(run.Thresholds, func(t record.Threshold) bool { return t.Aborted })
	broken := slices.ContainsFunc(run.Thresholds, func(t record.Threshold) bool { return !t.Pass })
	switch {
	case aborted:
		return exitcode.With(exitcode.Threshold, nil)
	case run.Interrupted, !run.Aborted.IsZero():
		return exitcode.With(exitcode.Interrupted, nil)
	case verdict.LostShares(run):
		return exitcode.With(exitcode.Invalid, nil)
	case broken:
		return exitcode.With(exitcode.Threshold, nil)
	}
	return nil
}

// archiveFlags returns the flags of k6 archive for a command line of k6 run, and the script's name.
func archiveFlags(args []string) (flags []string, script string, err error) {
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
		if why := refused[name]; why != "" {
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

// archive packs a script with its files and the environment.
func archive(stdin io.Reader, stderr io.Writer, flags []string) (packed []byte, err error) {
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
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stderr, stderr
	if err := cmd.Run(); err != nil {
		if ended, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, exitcode.With(ended.ExitCode(), nil) // k6 has printed the reason
		}
		return nil, fmt.Errorf("pack the script: %w", err)
	}
	if packed, err = os.ReadFile(path); err == nil && len(packed) > mostArchive {
		err = exitcode.Usage(fmt.Errorf("the script and its files have %d bytes, and workers take at most %d",
			len(packed), mostArchive))
	}
	return packed, err
}
