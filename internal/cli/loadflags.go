package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/plan"
)

// loadFlags are the flags of the commands that run a load.
type loadFlags struct {
	planFlags
	outputFlags
	liveFlags
	sessions       int
	pipeline       int
	timeout        time.Duration
	retries        int
	late           string
	outage         string
	tolerance      time.Duration
	spin           time.Duration
	tier           string
	loops          int
	ioUring        bool
	interval       time.Duration
	errorThreshold float64
	thresholds     []string
	scale          float64
	poisson        bool
	noSetup        bool
	noTeardown     bool
	force          bool
	root           string
	dir            string
	summaryDir     string
}

func (f *loadFlags) bind(s *streams, cmd *cobra.Command) {
	f.planFlags.bind(cmd)
	fs := cmd.Flags()
	fs.IntVar(&f.sessions, "vu", 1, "sessions (connections) over all addresses")
	fs.Float64Var(&f.scale, "scale", 1, "multiply all rates of the plan")
	fs.BoolVar(&f.poisson, "poisson", false, "Poisson arrivals instead of even ones")
	fs.DurationVar(&f.timeout, "timeout", 30*time.Second, "time for one operation, retries included")
	fs.IntVar(&f.retries, "retries", 3, "further attempts after a retryable error")
	fs.StringVar(&f.late, "late", "queue", "what happens to requests that are late: queue or drop")
	fs.StringVar(&f.outage, "outage", "fail", "what happens to requests of an open load while no address can be reached: fail, or wait")
	fs.Float64Var(&f.errorThreshold, "error-threshold", 0, "stop when so many per cent of the operations have failed")
	fs.StringArrayVar(&f.thresholds, "threshold", nil, `rule for the result, such as "response.p(99) < 10ms" (repeatable)`)
	fs.BoolVar(&f.noSetup, "no-setup", false, "neither create nor fill tables")
	fs.BoolVar(&f.noTeardown, "no-teardown", false, "keep the tables that this run created")
	fs.BoolVar(&f.force, "force", false, "fill empty tables that brunt didn't create")
	fs.IntVar(&f.pipeline, "pipeline", 1, "requests in flight a session")
	fs.DurationVar(&f.tolerance, "timing-tolerance", 0, "how late a request may be sent, to be sent together with others")
	fs.DurationVar(&f.spin, "spin", 0, "busy-wait so long before an intended start instead of sleeping")
	fs.StringVar(&f.tier, "tier", "auto", "auto, codec (event loops) or library (a goroutine a session)")
	fs.IntVar(&f.loops, "loops", 0, "event loops (default: as few as carry the load)")
	fs.BoolVar(&f.ioUring, "io-uring", false, "use io_uring if the kernel has it")
	fs.DurationVar(&f.interval, "interval", time.Second, "slice of the record")
	fs.StringVar(&f.root, "results", "results", "folder for run bundles")
	fs.StringVar(&f.dir, "bundle", "", "folder for this run's bundle, empty or new")
	fs.StringVar(&f.summaryDir, "summary-dir", "", "write summary_<seed>.json into this folder too")
	usual := "text"
	if s.tool == "picostress" {
		usual = "picostress"
	}
	f.liveFlags.bind(fs)
	f.outputFlags.bind(cmd, usual)
}

// read reads the plan, puts the flags over it, and replaces its load if given.
func (f *loadFlags) read(s *streams, args []string, load *plan.Load) (*plan.Plan, error) {
	p, err := f.planFlags.read(s, args)
	if err != nil {
		return nil, err
	}
	if err := f.settings(&p.Settings); err != nil {
		return nil, usage(err)
	}
	if load != nil {
		if err := p.SetLoad(*load); err != nil {
			return nil, usage(err)
		}
	}
	if f.cmd.Flags().Changed("scale") {
		if err := plan.Scale(p, f.scale); err != nil {
			return nil, usage(fmt.Errorf("--scale: %w", err))
		}
	}
	for i := range p.Load {
		if f.poisson && p.Load[i].Kind == plan.Open {
			p.Load[i].Arrivals = "poisson"
		}
		if f.cmd.Flags().Changed("vu") && p.Load[i].Kind == plan.Closed {
			p.Load[i].Sessions = 0
		}
	}
	for _, text := range f.thresholds {
		t, err := plan.ParseThreshold(text)
		if err != nil {
			return nil, usage(fmt.Errorf("--threshold %q: %w", text, err))
		}
		p.Thresholds = append(p.Thresholds, t)
	}
	if len(p.Load) == 0 {
		return nil, usage(fmt.Errorf("plan %s doesn't say how its load goes; add a load section or counts, or use brunt rate or brunt spike", p.Name))
	}
	if problems := p.Validate(); len(problems) > 0 {
		return nil, usage(problems)
	}
	return p, nil
}

// settings puts the flags that were given over the plan's settings.
func (f *loadFlags) settings(s *plan.Settings) error {
	set := f.cmd.Flags().Changed
	if set("vu") {
		if f.sessions < 1 {
			return fmt.Errorf("--vu %d: a load needs at least 1 session", f.sessions)
		}
		s.Sessions = f.sessions
	}
	if set("timeout") {
		if err := durationFlag("timeout", f.timeout); err != nil {
			return err
		}
		s.OperationTimeout = f.timeout
	}
	if set("retries") {
		if s.Retries = f.retries; f.retries == 0 {
			s.Retries = -1
		}
	}
	if set("late") {
		if f.late != "queue" && f.late != "drop" {
			return fmt.Errorf("--late %s: use queue or drop", f.late)
		}
		s.LatePolicy = f.late
	}
	if set("outage") {
		if f.outage != "fail" && f.outage != "wait" {
			return fmt.Errorf("--outage %s: use fail or wait", f.outage)
		}
		s.Outage = f.outage
	}
	if set("tier") {
		if f.tier != "auto" && f.tier != "codec" && f.tier != "library" {
			return fmt.Errorf("--tier %s: use auto, codec or library", f.tier)
		}
		s.Tier = f.tier
	}
	if set("interval") {
		if err := durationFlag("interval", f.interval); err != nil {
			return err
		}
		s.Interval = f.interval
	}
	if set("pipeline") {
		s.Pipeline = f.pipeline
	}
	if set("timing-tolerance") {
		s.TimingTolerance = f.tolerance
	}
	if set("spin") {
		s.Spin = f.spin
	}
	if set("loops") {
		s.Loops = f.loops
	}
	if set("io-uring") {
		s.IOUring = f.ioUring
	}
	if set("error-threshold") {
		if f.errorThreshold < 0 || f.errorThreshold > 100 {
			return fmt.Errorf("--error-threshold %g: give a percentage from 0 to 100", f.errorThreshold)
		}
		s.ErrorThreshold = f.errorThreshold
	}
	return nil
}
