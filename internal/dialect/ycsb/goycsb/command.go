package goycsb

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"brunt/internal/base/lazyregexp"
	"brunt/internal/base/secret"
	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/flags"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/dialect/ycsb"
	"brunt/internal/dialect/ycsb/output"
	"brunt/internal/dialect/ycsb/shell"
	"brunt/internal/dialect/ycsb/workloads"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result"
	"brunt/internal/plan"
	"brunt/internal/protocol/protocols"
	"brunt/internal/run/loadtest"
	"brunt/internal/server/target"
)

// commandFlags are the flags of brunt ycsb load, run and shell. The first ones are those of go-ycsb.
type commandFlags struct {
	command.LiveFlags
	command.RecordFlags
	command.WorkerFlags
	cmd                       *cobra.Command
	files, values             []string
	table                     string
	threads, target, interval int

	workload   string
	tier       string
	awake      string
	thresholds []string
	report     bool
	quiet      bool
}

// helpFiles has a file for each command; see command.Texts.
//
//go:embed help/*.txt
var helpFiles embed.FS

// texts returns the descriptions of the commands.
func texts() command.Texts { return command.Texts{Files: helpFiles, Folder: "help"} }

// Tool declares YCSB and go-ycsb.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: "ycsb", Formats: []string{"ycsb", "go-ycsb"}, Programs: []string{"go-ycsb"},
		Commands: []dialect.Command{{Name: "ycsb", New: newYCSB, Rewrite: rewrite, Letters: secret.Flags{Properties: true}}},
		Results:  []result.Format{output.Format()},
		Instead: func(name string, text []byte) string {
			if strings.HasPrefix(filepath.Ext(name), ".y") || !workloadLine().Match(text) {
				return ""
			}
			return fmt.Sprintf("a workload of YCSB, which names no database; write brunt ycsb load DATABASE -P %s, or "+
				"ycsb run, with convert after brunt for its plan", name)
		},
	}
}

// workloadLine matches a line that all workloads of YCSB have.
var workloadLine = lazyregexp.New(`(?m)^\s*(workload|recordcount|operationcount)\s*[=:]`)

func newYCSB(s *command.Env) *cobra.Command {
	return texts().Group("ycsb", newLoad(s, ycsb.Load, "l"), newLoad(s, ycsb.Run, "r"), newShell(s), newDatabases(s),
		newWorkloads(s))
}

// rewrite converts arguments of the original YCSB into those of brunt ycsb.
func rewrite(args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	rest, _, err := ycsb.JavaArgs(args)
	return rest, err
}

func (f *commandFlags) bind(cmd *cobra.Command) {
	f.cmd = cmd
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringSliceVarP(&f.files, "property_file", "P", nil, "property file (repeatable; later ones win)")
	fs.StringArrayVarP(&f.values, "prop", "p", nil, "property, name=value (repeatable)")
	fs.StringVar(&f.workload, "workload", "",
		"workload that comes with brunt: a … f, java/a … java/f, etcd/…; see brunt ycsb workloads")
	fs.StringVar(&f.table, "table", "", `table (default "usertable")`)
}

func (f *commandFlags) bindLoad(cmd *cobra.Command) {
	f.WorkerFlags.Bind(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.tier, "tier", "auto", "auto, codec (event loops) or library (a goroutine a session)")
	fs.StringVar(&f.awake, "awake", "auto", "keep this machine's cores from sleeping during the load: auto, on or off")
	usage.InGroup(fs, usage.Machine)
	command.BindThresholds(fs, &f.thresholds)
	f.RecordFlags.Bind(fs)
	f.LiveFlags.Bind(fs)
	fs.BoolVar(&f.quiet, "quiet", false, "no notices")
	usage.InGroup(fs, usage.Output, "results", "bundle", "no-record", "quiet")
	f.bind(cmd)
	fs.IntVar(&f.threads, "threads", 1, "sessions; property threadcount")
	fs.IntVar(&f.target, "target", 0, "operations a second, whatever the database does; property target")
	fs.IntVar(&f.interval, "interval", 10, "seconds between lines of progress")
	fs.BoolVar(&f.report, "report", false, "also print brunt's own report, and exit by its verdict")
}

// gather reads all properties and converts them to settings.
func (f *commandFlags) gather(s *command.Env, kind ycsb.Command, name string) (*ycsb.Settings, error) {
	d, err := ycsb.FindDatabase(name)
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	given := ycsb.Given{Workload: f.workload, Files: f.files, Values: f.values, Flags: map[string]string{}}
	for flag, property := range map[string]string{"threads": "threadcount", "target": "target",
		"interval": "measurement.interval", "table": "table"} {
		if fl := f.cmd.Flags().Lookup(flag); fl != nil && fl.Changed {
			given.Flags[property] = fl.Value.String()
		}
	}
	set, notes, err := given.Gather(command.ReadFile, os.LookupEnv)
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	settings, err := ycsb.Understand(kind, d, set, command.ReadFile)
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	settings.Getenv = os.Getenv
	if !f.quiet {
		for _, n := range append(notes, settings.Warnings...) {
			fmt.Fprintf(s.Err, "brunt: note: %s\n", n)
		}
	}
	return settings, nil
}

func newLoad(s *command.Env, kind ycsb.Command, short string) *cobra.Command {
	f := &commandFlags{}
	cmd := texts().New("ycsb-"+string(kind), cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		settings, err := f.gather(s, kind, args[0])
		if err != nil {
			return err
		}
		return f.execute(s, settings)
	})
	cmd.Aliases = []string{short}
	f.bindLoad(cmd)
	return command.HasPlan(cmd)
}

// execute loads or runs a workload and prints the result as go-ycsb does.
func (f *commandFlags) execute(s *command.Env, settings *ycsb.Settings) error {
	checkpoint := filepath.Join(f.Record.Root, settings.CheckpointName())
	resumed, err := settings.Resumable(checkpoint, command.ReadFile)
	if err != nil {
		return exitcode.Usage(err)
	}
	job, err := ycsb.Compile(settings, resumed)
	if err != nil {
		return exitcode.Usage(err)
	}
	if f.cmd.Flags().Changed("tier") {
		if job.Plan.Settings.Tier = f.tier; f.tier == plan.TierLibrary {
			job.Plan.Settings.Pipeline = 1
		}
	}
	if err := flags.OneOf("awake", f.awake, flags.Choices("awake")); err != nil {
		return exitcode.Usage(err)
	}
	job.Plan.Settings.Awake = f.awake
	if err := job.Plan.Require(f.thresholds); err != nil {
		return exitcode.Usage(err)
	}
	if err := f.CheckWorkers(&f.Record, job.Plan); err != nil {
		return err
	}
	if err := CheckWorkers(settings, f.Workers.Number); err != nil {
		return exitcode.Usage(err)
	}
	y := &Execution{Job: job, Checkpoint: checkpoint, Led: f.Workers.Number > 0, Report: f.report, Quiet: f.quiet}
	l := &loadtest.Test{
		Plan: job.Plan, Record: f.Record, Live: f.Live, Process: s.Process(), Quiet: f.quiet,
		Workers: f.Workers, Hooks: y.Hooks, Beyond: beyond(settings),
	}
	if label := settings.Set.Text("label", ""); label != "" {
		l.Options.Recording.Extra = map[string]string{"label": label}
	}
	return l.Perform(s.Out, s.Err)
}

func newDatabases(s *command.Env) *cobra.Command {
	var all bool
	cmd := texts().New("ycsb-databases", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			d, err := ycsb.FindDatabase(args[0])
			if err != nil {
				return exitcode.Usage(err)
			}
			ycsb.WriteProperties(s.Out, d.Properties)
			return nil
		}
		ycsb.WriteDatabases(s.Out, protocols.Has)
		if all {
			ycsb.WriteProperties(s.Out, ycsb.CoreProperties())
		}
		return nil
	})
	cmd.Flags().BoolVar(&all, "properties", false, "also list the properties that all databases share")
	return cmd
}

func newWorkloads(s *command.Env) *cobra.Command {
	return texts().New("ycsb-workloads", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			text, _, err := workloads.Find(args[0])
			if err != nil {
				return exitcode.Usage(err)
			}
			_, err = s.Out.Write(text)
			return err
		}
		return ycsb.WriteWorkloads(s.Out)
	})
}

func newShell(s *command.Env) *cobra.Command {
	f := &commandFlags{}
	cmd := texts().New("ycsb-shell", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		settings, err := f.gather(s, ycsb.Shell, args[0])
		if err != nil {
			return err
		}
		job, err := ycsb.Compile(settings, 0)
		if err != nil {
			return exitcode.Usage(err)
		}
		ctx, _, stop := loadtest.Interruptible(s.Err, loadtest.Endings(false))
		defer stop()
		session, err := target.Connect(ctx, job.Plan)
		if err != nil {
			return loadtest.Failure(ctx, err)
		}
		defer session.Close()
		history := ""
		if home, err := os.UserHomeDir(); err == nil {
			history = home + "/.brunt_ycsb_history"
		}
		return shell.Run(ctx, job, session, shell.Terminal{In: s.In, Out: s.Out, History: history})
	})
	cmd.Aliases = []string{"s"}
	f.bind(cmd)
	return cmd
}

// beyond returns what of a command no plan describes.
func beyond(s *ycsb.Settings) []string {
	out := []string{"YCSB's lines and results: brunt run prints its own report"}
	if s.Command == ycsb.Load {
		out = append(out, "the property resume, and the file of progress that it reads")
	}
	if s.Verbose {
		out = append(out, "the property verbose")
	}
	return out
}
