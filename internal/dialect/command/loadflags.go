package command

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/dialect/command/flags"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
)

// LoadFlags are the flags of every command that sends a load, except for commands with another tool's command line. A
// flag for all loads belongs here and, if it changes the plan, to flags.Load.
type LoadFlags struct {
	OutputFlags
	LiveFlags
	RecordFlags
	WorkerFlags
	Load flags.Load
}

// Bind binds the flags to a command. usualOutput is the default form of the report.
func (f *LoadFlags) Bind(s *Env, cmd *cobra.Command, usualOutput string) {
	fs, l := cmd.Flags(), &f.Load
	l.Given = fs.Changed
	fs.SortFlags = false
	fs.BoolVar(&l.Account, "account", false, "account for outages: how long, what was lost, when all was as before")
	BindThresholds(fs, &l.Thresholds)
	fs.BoolVar(&l.Poisson, "poisson", false, "Poisson arrivals instead of even ones")
	fs.DurationVar(&l.WarmUp, "warm-up", 0, "load of this length before, kept out of the result")
	fs.DurationVar(&l.Timeout, "timeout", 30*time.Second, "time for one operation, retries included")
	fs.StringVar(&l.Late, "late", "queue", "what happens to requests that are late: queue, drop or all")
	fs.StringVar(&l.Outage, "outage", "fail",
		"what happens to requests of an open load while no address can be reached: fail, or wait")
	fs.IntVar(&l.Pipeline, "pipeline", 1, "requests in flight a session")
	usage.InGroup(fs, usage.Load)
	fs.DurationVar(&l.Tolerance, "timing-tolerance", 0, "how late a request may be sent, to be sent together with others")
	fs.DurationVar(&l.Spin, "spin", 0, "busy-wait so long before an intended start instead of sleeping")
	fs.StringVar(&l.Tier, "tier", plan.TierAuto, "auto, codec (event loops) or library (a goroutine a session)")
	fs.IntVar(&l.Loops, "loops", 0, "event loops (default: as few as carry the load)")
	fs.StringVar(&l.Awake, "awake", "auto", "keep this machine's cores from sleeping during the load: auto, on or off")
	usage.InGroup(fs, usage.Machine)
	fs.DurationVar(&l.Interval, "interval", time.Second, "slice of the record")
	f.RecordFlags.Bind(fs)
	f.LiveFlags.Bind(fs)
	usage.InGroup(fs, usage.Output)
	f.WorkerFlags.Bind(cmd)
	f.OutputFlags.Bind(s, cmd, usualOutput)
	usage.InGroup(fs, usage.Output, "output")
	for _, name := range []string{"late", "outage", "tier", "awake"} {
		ProposeValues(cmd, name, flags.Choices(name))
	}
}

// BindThresholds binds the flag for rules, which plan.Require adds to a plan.
func BindThresholds(fs *pflag.FlagSet, rules *[]string) {
	fs.StringArrayVar(rules, "threshold", nil,
		`rule for the result, such as "response.p(99) < 10ms" or "errors < 1%" (repeatable)`)
	usage.InGroup(fs, usage.Judging, "threshold")
}

// ProposeValues registers the values of a flag for shell completion.
func ProposeValues(cmd *cobra.Command, flag string, words []string) {
	// It fails only for flags that don't exist.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// RecordFlags are the flags that determine what is stored of a run.
type RecordFlags struct{ Record loadtest.Record }

// Bind binds the flags to a flag set.
func (f *RecordFlags) Bind(fs *pflag.FlagSet) {
	fs.StringVar(&f.Record.Root, "results", record.DefaultRoot, "folder for run bundles")
	fs.StringVar(&f.Record.Dir, "bundle", "", "folder for this run's bundle, empty or new")
	fs.BoolVar(&f.Record.None, "no-record", false, "keep no bundle")
	fs.StringVar(&f.Record.Upload, "upload", "", "s3://bucket/prefix to which the bundle goes too, in the end")
	fs.Uint64Var(&f.Record.Trace, "trace", 0,
		"write what happens to the first N requests, from draw to record, to trace.ndjson in the bundle")
	fs.StringVar(&f.Record.Profile, "cpu-profile", "", "write a CPU profile of this process, for go tool pprof, to a file")
	fs.StringVar(&f.Record.HDRLog, "hlog", "", "write a HdrHistogram log to a file")
}

// Adjusting returns the flags of the current command that advice can mention, by what they set. has reports whether the
// command has a flag.
func Adjusting(dashes string, has func(name string) bool) map[string]string {
	out := map[string]string{}
	for thing, names := range map[string][]string{
		"sessions": {"vu", "sessions", "concurrency", "threads"}, "rate": {"rate", "qps", "target"},
		"loops": {"loops"}, "threshold": {"threshold"}, "awake": {"awake"}, "pipeline": {"pipeline"},
	} {
		for _, name := range names {
			if _, found := out[thing]; !found && has(name) {
				out[thing] = dashes + name
			}
		}
	}
	return out
}
