package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/cli/usage"
	"brunt/internal/loadtest"
	"brunt/internal/machine"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/secret"
)

// loadFlags are the flags of every command that sends a load, except for commands with another tool's command line. A
// flag for all loads belongs here: in bind and, if it is one of the plan's settings, in settings.
type loadFlags struct {
	outputFlags
	liveFlags
	recordFlags
	workerFlags
	cmd        *cobra.Command
	thresholds []string
	account    bool
	poisson    bool
	warmUp     time.Duration
	pipeline   int
	timeout    time.Duration
	late       string
	outage     string
	tolerance  time.Duration
	spin       time.Duration
	tier       string
	loops      int
	awake      string
	interval   time.Duration
}

func (f *loadFlags) bind(cmd *cobra.Command, usualOutput string) {
	f.cmd = cmd
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringArrayVar(&f.thresholds, "threshold", nil,
		`rule for the result, such as "response.p(99) < 10ms" or "errors < 1%" (repeatable)`)
	fs.BoolVar(&f.account, "account", false, "account for outages: how long, what was lost, when all was as before")
	usage.InGroup(fs, usage.Judging, "threshold")
	fs.BoolVar(&f.poisson, "poisson", false, "Poisson arrivals instead of even ones")
	fs.DurationVar(&f.warmUp, "warm-up", 0, "load of this length before, kept out of the result")
	fs.DurationVar(&f.timeout, "timeout", 30*time.Second, "time for one operation, retries included")
	fs.StringVar(&f.late, "late", "queue", "what happens to requests that are late: queue or drop")
	fs.StringVar(&f.outage, "outage", "fail",
		"what happens to requests of an open load while no address can be reached: fail, or wait")
	fs.IntVar(&f.pipeline, "pipeline", 1, "requests in flight a session")
	usage.InGroup(fs, usage.Load)
	fs.DurationVar(&f.tolerance, "timing-tolerance", 0, "how late a request may be sent, to be sent together with others")
	fs.DurationVar(&f.spin, "spin", 0, "busy-wait so long before an intended start instead of sleeping")
	fs.StringVar(&f.tier, "tier", "auto", "auto, codec (event loops) or library (a goroutine a session)")
	fs.IntVar(&f.loops, "loops", 0, "event loops (default: as few as carry the load)")
	fs.StringVar(&f.awake, "awake", "auto", "keep this machine's cores from sleeping during the load: auto, on or off")
	usage.InGroup(fs, usage.Machine)
	fs.DurationVar(&f.interval, "interval", time.Second, "slice of the record")
	f.recordFlags.bind(fs)
	f.liveFlags.bind(fs)
	f.workerFlags.bind(cmd)
	f.outputFlags.bind(cmd, usualOutput)
	usage.InGroup(fs, usage.Output, "output")
	for flag, words := range map[string][]string{
		"late": {"queue", "drop"}, "outage": {"fail", "wait"}, "tier": {"auto", "codec", "library"}, "awake": awakeModes(),
	} {
		proposeValues(cmd, flag, words)
	}
}

// settings applies the given flags to the plan's settings.
func (f *loadFlags) settings(s *plan.Settings) error {
	set := f.cmd.Flags().Changed
	for _, given := range []struct {
		name, value string
		one         []string
		to          *string
	}{
		{"late", f.late, []string{"queue", "drop"}, &s.LatePolicy},
		{"outage", f.outage, []string{"fail", "wait"}, &s.Outage},
		{"tier", f.tier, []string{"auto", "codec", "library"}, &s.Tier},
		{"awake", f.awake, awakeModes(), &s.Awake},
	} {
		if !set(given.name) {
			continue
		}
		if err := oneOf(given.name, given.value, given.one); err != nil {
			return err
		}
		*given.to = given.value
	}
	for _, given := range []struct {
		name string
		to   *time.Duration
	}{{"timeout", &s.OperationTimeout}, {"interval", &s.Interval}} {
		if set(given.name) {
			if *given.to, _ = f.cmd.Flags().GetDuration(given.name); *given.to <= 0 {
				return durationFlag(given.name, *given.to)
			}
		}
	}
	if set("pipeline") {
		if f.pipeline < 1 {
			return fmt.Errorf("--pipeline %d: give a number of at least 1", f.pipeline)
		}
		s.Pipeline = f.pipeline
	}
	override(f.cmd, "timing-tolerance", &s.TimingTolerance, f.tolerance)
	override(f.cmd, "spin", &s.Spin, f.spin)
	override(f.cmd, "loops", &s.Loops, f.loops)
	return nil
}

// override sets a setting to the value of a flag, if the flag was given.
func override[T any](cmd *cobra.Command, flag string, setting *T, value T) {
	if cmd.Flags().Changed(flag) {
		*setting = value
	}
}

// proposeValues registers the values of a flag for shell completion.
func proposeValues(cmd *cobra.Command, flag string, words []string) {
	// It fails only for flags that don't exist.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// oneOf returns an error unless the value of a flag is one of the given words.
func oneOf(flag, value string, words []string) error {
	if slices.Contains(words, value) {
		return nil
	}
	last := len(words) - 1
	return fmt.Errorf("--%s %s: use %s or %s", flag, value, strings.Join(words[:last], ", "), words[last])
}

// awakeModes returns the values of --awake.
func awakeModes() []string { return []string{machine.Auto, machine.On, machine.Off} }

// shape applies the flags to the plan's load and thresholds, and checks the resulting plan.
func (f *loadFlags) shape(p *plan.Plan) error {
	for i := range p.Load {
		if f.poisson && p.Load[i].Kind == plan.Open {
			p.Load[i].Arrivals = "poisson"
		}
	}
	if f.cmd.Flags().Changed("warm-up") {
		if err := plan.WarmUp(p, f.warmUp); err != nil {
			return fmt.Errorf("--warm-up %s: %w", f.warmUp, err)
		}
	}
	if f.account {
		p.Account.Enabled = true
	}
	for _, text := range f.thresholds {
		t, err := plan.ParseThreshold(text)
		if err != nil {
			return fmt.Errorf("--threshold %q: %w", text, err)
		}
		p.Thresholds = append(p.Thresholds, t)
	}
	if problems := p.Validate(); len(problems) > 0 {
		return problems
	}
	return nil
}

// recordFlags are the flags that determine what is stored of a run.
type recordFlags struct{ record loadtest.Record }

func (f *recordFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&f.record.Root, "results", record.DefaultRoot, "folder for run bundles")
	fs.StringVar(&f.record.Dir, "bundle", "", "folder for this run's bundle, empty or new")
	fs.BoolVar(&f.record.None, "no-record", false, "keep no bundle")
	fs.StringVar(&f.record.Upload, "upload", "", "s3://bucket/prefix to which the bundle goes too, in the end")
	fs.StringVar(&f.record.HDRLog, "hlog", "", "write a HdrHistogram log to a file")
}

// process returns the description of this process for records.
func (s *streams) process() loadtest.Process {
	return loadtest.Process{Command: secret.Args(s.args, s.properties()), Version: s.version, Flags: s.flags}
}

// adjusting returns the flags of the current command that advice can mention, by what they set. has reports whether the
// command has a flag.
func adjusting(dashes string, has func(name string) bool) map[string]string {
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
