package httpload

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/flags"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
)

// Own are brunt's own flags on the command line of a tool: where the record goes, rules for the result, live output,
// and workers.
type Own struct {
	Record     loadtest.Record
	Live       loadtest.Live
	Workers    *command.WorkerFlags
	Thresholds []string
	Quiet      bool
	Seed       uint64
	Awake      string // see plan.Settings
}

// TakeOwn removes brunt's own flags from a command line.
func TakeOwn(args []string) (o *Own, rest []string, err error) {
	o = &Own{}
	if o.Workers, rest, err = command.TakeWorkers(args); err != nil {
		return nil, nil, err
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.StringVar(&o.Record.Root, "results", record.DefaultRoot, "")
	fs.StringVar(&o.Record.Dir, "bundle", "", "")
	fs.BoolVar(&o.Record.None, "no-record", false, "")
	fs.StringVar(&o.Record.HDRLog, "hlog", "", "")
	fs.StringVar(&o.Record.Profile, "cpu-profile", "", "")
	fs.StringArrayVar(&o.Thresholds, "threshold", nil, "")
	fs.StringVar(&o.Live.MetricsAddr, "metrics-addr", "", "")
	fs.StringArrayVar(&o.Live.Destinations, "export", nil, "")
	fs.StringArrayVar(&o.Live.Watched, "watch", nil, "")
	fs.StringArrayVar(&o.Live.Inspected, "inspect", nil, "")
	fs.BoolVar(&o.Quiet, "quiet", false, "")
	fs.Uint64Var(&o.Seed, "seed", 1, "")
	fs.StringVar(&o.Awake, "awake", "auto", "")
	rest, err = command.TakeFlags(fs, rest)
	if err == nil {
		err = flags.OneOf("awake", o.Awake, flags.Choices("awake"))
	}
	return o, rest, err
}

// Apply adds what the flags say to a plan and checks it.
func (o *Own) Apply(p *plan.Plan) error {
	p.Seed, p.Settings.Awake = o.Seed, o.Awake
	if err := p.Require(o.Thresholds); err != nil {
		return exitcode.Usage(err)
	}
	if problems := p.Validate(); len(problems) > 0 {
		return exitcode.Usage(problems)
	}
	return o.Workers.CheckWorkers(&o.Record, p)
}

// Spread reports whether workers send the load.
func (o *Own) Spread() bool { return o.Workers.Workers.Number > 0 }

// SpreadWithout returns an error if workers send the load although an option of the tool asks for what only the results
// of single requests tell, which stay in the workers. option is "" if none does.
func (o *Own) SpreadWithout(option string) error {
	if option == "" || !o.Spread() {
		return nil
	}
	return exitcode.Usage(fmt.Errorf("%s: with --workers there are no results of single requests; omit %s or --workers",
		option, option))
}

// SpreadHooks returns the hooks of a load that workers send. They print brunt's own report: the tool's needs the
// results of single requests.
func SpreadHooks(out *loadtest.Outputs, replacing, quiet bool) runner.Hooks {
	v := runner.Hooks{
		Result: func(run *record.Run, dir string) error { return (&loadtest.Report{}).Print(out.Out, run, dir) },
		Exit:   func(run *record.Run) error { return Exit(run, replacing) },
	}
	if !quiet {
		v.Notice = loadtest.Notices(out)
	}
	return v
}

// OwnHelp describes the flags, for the help of a tool.
func OwnHelp() string {
	return strings.Join([]string{
		"brunt's own flags:",
		"  --bundle FOLDER       folder for this run's bundle, empty or new",
		"  --results FOLDER      folder for run bundles (default \"results\")",
		"  --no-record           keep no bundle",
		"  --threshold RULE      rule for the result, such as \"p(99) < 10ms\" (repeatable)",
		"  --workers N           spread the load over so many processes",
		"  --metrics-addr ADDR   serve /metrics for Prometheus",
		"  --export DESTINATION  send every interval to influx=URL, prometheus=URL or otlp=URL",
		"  --watch WHAT          sample what into the record: pid:N, url:ADDRESS …",
		"  --inspect SERVER      ask servers what they did: auto, or KIND=URL such as redis=redis://host:6379",
		"  --hlog FILE           write a HdrHistogram log",
		"  --cpu-profile FILE    write a CPU profile of this process, for go tool pprof",
		"  --seed N              seed of what is chosen at random",
		"  --awake WHEN          keep this machine's cores from sleeping during the load: auto, on or off",
		"  --quiet               nothing on standard error but what went wrong",
		"",
	}, "\n")
}
