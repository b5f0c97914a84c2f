package sysbench

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/base/secret"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/plan/script"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

// The exit codes of sysbench.
const (
	exitFault  = 1 // of the command line, or an error has ended the load
	exitForced = 2 // --forced-shutdown
)

//go:embed help/*.txt
var helpFiles embed.FS

// Tool declares sysbench.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: "sysbench", Formats: []string{"sysbench"}, Programs: []string{"sysbench"},
		Commands: []dialect.Command{{Name: "sysbench", New: newCommand}}, Results: []result.Format{Results()},
		Languages: []script.Language{Language()},
		File: func(name string, _ []byte) []string {
			if filepath.Ext(name) != ".cnf" {
				return nil
			}
			return []string{"sysbench", "--config-file=" + name}
		},
	}
}

func newCommand(s *command.Env) *cobra.Command {
	texts := command.Texts{Files: helpFiles, Folder: "help"}
	cmd := texts.New("sysbench", nil, func(_ *cobra.Command, args []string) error {
		return (&execution{env: s, replacing: s.Program != ""}).run(args)
	})
	cmd.DisableFlagParsing = true
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintln(cmd.OutOrStdout(), cmd.Long)
		fmt.Fprintln(cmd.OutOrStdout())
		help(cmd.OutOrStdout())
	})
	return command.HasPlan(cmd)
}

// help writes the options of sysbench and of brunt.
func help(w io.Writer) {
	var x execution
	fmt.Fprintf(w, "%sOptions of brunt:\n%s%s", usage(Version10), x.flags().FlagUsages(), command.AboutWorkers)
}

// execution is a call of sysbench.
type execution struct {
	env       *command.Env
	replacing bool // brunt was called as sysbench
	settings  *Settings
	lines     *lines

	version    string
	workers    *command.WorkerFlags
	live       command.LiveFlags
	record     command.RecordFlags
	thresholds []string
	awake      string
	wait       time.Duration
}

// flags returns the flags that brunt adds to sysbench's options.
func (x *execution) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("sysbench", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.StringVar(&x.version, "sysbench-version", Version10, "options and report of sysbench 1.0 or 1.1")
	fs.StringArrayVar(&x.thresholds, "threshold", nil, "rule that the result must meet, such as 'p(99) < 10ms' (repeatable)")
	fs.StringVar(&x.awake, "awake", "auto", "whether this machine's cores are kept from sleeping: auto, on or off")
	fs.DurationVar(&x.wait, "wait", 0, "how long to wait for the servers to answer")
	x.live.Bind(fs)
	x.record.Bind(fs)
	return fs
}

// run executes a command line.
func (x *execution) run(args []string) error {
	s := x.env
	var err error
	x.version = Version10
	if x.workers, args, err = command.TakeWorkers(args); err == nil {
		args, err = command.TakeFlags(x.flags(), args)
	}
	if err == nil && programs[x.version] == "" {
		err = fmt.Errorf("--sysbench-version %s: use %s or %s", x.version, Version10, Version11)
	}
	if err != nil {
		return x.fault(err)
	}
	if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
		if !x.replacing {
			help(s.Out)
			return nil
		}
		args = []string{"--help"}
	}
	x.settings, err = Parse(args, x.version, greeting(x.version, s.Version), s.Err)
	var end *stop
	if errors.As(err, &end) {
		return x.stopped(end)
	}
	if err != nil {
		return x.fault(err)
	}
	if !x.settings.SeedGiven {
		x.settings.Seed = uint64(time.Now().UnixNano()) >> 10 & (1<<31 - 1)
	}
	x.warn()
	if x.settings.Command != "run" {
		return x.administer()
	}
	return x.load()
}

// fault marks an error of the command line.
func (x *execution) fault(err error) error {
	if x.replacing {
		return exitcode.With(exitFault, err)
	}
	return exitcode.Usage(err)
}

// stopped prints what ends a command line before it is carried out.
func (x *execution) stopped(end *stop) error {
	if end.ok {
		fmt.Fprint(x.env.Out, end.out)
		return nil
	}
	out := x.env.Out
	if x.env.PlanOnly {
		out = x.env.Err // in the place of the plan, it would be taken for one
	}
	fmt.Fprint(out, end.out)
	fmt.Fprint(x.env.Err, end.err)
	if x.replacing {
		return exitcode.With(exitFault, nil)
	}
	for _, place := range end.places {
		fmt.Fprintf(x.env.Err, "brunt: %s\n", place)
	}
	return exitcode.With(exitcode.BadPlan, nil)
}

// warn says which options of a file have no effect.
func (x *execution) warn() {
	for _, name := range x.settings.unknownConfig {
		fmt.Fprintf(x.env.Err, "brunt: note: %s:1: %s in the --config-file has no effect, as in sysbench, where tests' own "+
			"options are taken from the command line only\n", x.settings.configPlaces[name], name)
	}
	for _, name := range x.settings.options.unknown() {
		fmt.Fprintf(x.env.Err, "brunt: note: %s:1: sysbench has no option %q; it has no effect\n",
			x.settings.options.places[name], name)
	}
}

// hello prints the first lines.
func (x *execution) hello(w io.Writer) {
	p := printer{w, x.settings}
	fmt.Fprint(w, x.settings.warnings())
	if x.settings.Verbosity >= noticeLevel {
		fmt.Fprint(w, greeting(x.version, x.env.Version))
	}
	if x.settings.Verbosity >= warningLevel {
		for _, name := range x.settings.options.unknown() {
			fmt.Fprintf(w, "WARNING: Global option '%s' will not be exported, because the type is unknown\n", name)
		}
	}
	if x.settings.Command == "run" {
		p.mode()
	}
}

// administer carries out prepare, prewarm or cleanup.
func (x *execution) administer() error {
	if x.env.PlanOnly {
		return x.fault(fmt.Errorf("sysbench %s sends no load, so it has no plan; convert sysbench run", x.settings.Command))
	}
	x.hello(x.env.Out)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := x.settings.Administer(ctx, x.env.Out)
	if err == nil {
		return nil
	}
	code := exitcode.Of(loadtest.Failure(ctx, err))
	if x.replacing {
		code = exitFault
	}
	printer{x.env.Out, x.settings}.line(fatalLevel, "`%s' failed: %s", x.settings.Command, secret.Text(err.Error()))
	return exitcode.With(code, nil)
}

// load sends the load of run.
func (x *execution) load() error {
	s := x.env
	p, err := x.settings.Plan()
	if err != nil {
		return x.fault(err)
	}
	p.Settings.Awake = x.awake
	if err := p.Require(x.thresholds); err != nil {
		return x.fault(err)
	}
	if problems := p.Validate(); len(problems) > 0 {
		return x.fault(problems)
	}
	s.Flags = map[string]string{"sessions": "--threads", "rate": "--rate", "threshold": "--threshold", "awake": "--awake"}
	if err := x.workers.CheckWorkers(&x.record.Record, p); err != nil {
		return err
	}
	t := &loadtest.Test{
		Plan: p, Process: s.Process(), Workers: x.workers.Workers, Record: x.record.Record, Live: x.live.Live,
		Options: runner.Options{NoSetup: true, Wait: x.wait,
			Recording: runner.Recording{Extra: map[string]string{"dialect": "sysbench"}}},
		Quiet: x.replacing, Hooks: x.hooks, Beyond: x.beyond(),
	}
	err = t.Perform(s.Out, s.Err)
	if x.lines == nil || x.lines.started || err == nil {
		return err
	}
	code := exitcode.Of(err)
	if x.replacing {
		code = exitFault
	}
	printer{s.Out, x.settings}.unconnected(err)
	return exitcode.With(code, nil)
}

// beyond returns what of the command line no plan describes.
func (x *execution) beyond() []string {
	out := []string{"sysbench's lines and report: brunt run prints its own"}
	if x.settings.Rate > 0 {
		out = append(out, fmt.Sprintf("the end of the load once %d events wait", longestQueue))
	}
	if x.settings.Forced {
		out = append(out, "--forced-shutdown: interrupt brunt run twice")
	}
	return out
}

// hooks prints sysbench's lines. A load of several processes has brunt's report, because the threads' figures stay in
// them.
func (x *execution) hooks(out *loadtest.Outputs) (runner.Hooks, error) {
	if x.workers.Workers.Number > 0 {
		v := runner.Hooks{Notice: loadtest.Notices(out)}
		v.Result = func(run *record.Run, dir string) error { return (&loadtest.Report{}).Print(out.Out, run, dir) }
		return v, nil
	}
	x.hello(out.Out)
	l := newLines(x.settings, out.Out)
	x.lines = l
	v := runner.Hooks{
		Sinks: []measure.Sink{l}, Attach: l.attach,
		Control: func(end, abort func(message.Message)) { l.end, l.abort = end, abort },
		Ready: func(ctx context.Context) error {
			l.ready(ctx)
			return nil
		},
		Result: x.finish(out), Exit: x.exit,
	}
	if !x.replacing {
		v.Notice = loadtest.Notices(out)
	}
	return v, nil
}

// finish prints the report, and where the record is.
func (x *execution) finish(out *loadtest.Outputs) func(run *record.Run, dir string) error {
	return func(run *record.Run, dir string) error {
		err := loadtest.Drain(out.Out)
		x.lines.finish(run)
		if x.replacing {
			return err
		}
		command.Tell(out, run, dir)
		return err
	}
}

// exit returns the error for the exit code: sysbench's if it was an error or --forced-shutdown that ended the load, or
// if brunt was called as sysbench, but for thresholds, which sysbench doesn't have.
func (x *execution) exit(run *record.Run) error {
	switch {
	case x.lines == nil:
	case x.lines.failed:
		return exitcode.With(exitFault, nil)
	case x.lines.forced:
		return exitcode.With(exitForced, nil)
	case x.replacing && len(run.Thresholds) == 0 && !run.Interrupted:
		return nil
	}
	return exitcode.With(verdict.ExitCode(run), nil)
}
