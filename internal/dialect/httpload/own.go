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
	workers, rest, err := command.TakeWorkers(args)
	if err != nil {
		return nil, nil, err
	}
	o, rest, err = TakeAlone(rest)
	if err == nil {
		o.Workers = workers
	}
	return o, rest, err
}

// TakeAlone is TakeOwn without the flags of workers, for a tool that has flags of these names.
func TakeAlone(args []string) (o *Own, rest []string, err error) {
	o = &Own{Workers: &command.WorkerFlags{}}
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
	rest, err = command.TakeFlags(fs, args)
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

// Alone returns an error if the load is to be sent by workers: they keep histograms, and the tool's report is made of
// the times of each request.
func (o *Own) Alone(tool string) error {
	if !o.Workers.Spread() {
		return nil
	}
	return exitcode.Usage(fmt.Errorf("--workers: workers don't keep the times of each request, of which %s's output is "+
		"made; write a plan with brunt convert %s, and run it with brunt run --workers", tool, tool))
}

// OwnHelp describes the flags, for the help of a tool whose load workers can send.
func OwnHelp() string {
	return AloneHelp() + "  --workers N           spread the load over so many processes\n"
}

// AloneHelp describes the flags, for the help of another tool.
func AloneHelp() string {
	return strings.Join([]string{
		"brunt's own flags:",
		"  --bundle FOLDER       folder for this run's bundle, empty or new",
		"  --results FOLDER      folder for run bundles (default \"results\")",
		"  --no-record           keep no bundle",
		"  --threshold RULE      rule for the result, such as \"p(99) < 10ms\" (repeatable)",
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
