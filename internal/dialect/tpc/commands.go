package tpc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/protocol/protocols"
	"brunt/internal/record"
	"brunt/internal/server/schema/fill"
)

// Loader is what a benchmark's command that loads data adds to the flags for the database.
type Loader struct {
	Bind  func(*pflag.FlagSet) // binds the benchmark's flags
	First string               // the flag that help lists first
	Check func() error         // checks the flags
	Load  func(ctx context.Context, d *Database, seed uint64, progress func(fill.Progress)) ([]Result, error)
}

// LoadCommand returns the command that loads data.
func (b *Benchmark) LoadCommand(s *command.Env, l Loader) *cobra.Command {
	f := &TargetFlags{}
	var quiet bool
	cmd := b.Texts.New(b.Name+"-load", cobra.NoArgs, func(*cobra.Command, []string) error {
		if err := l.Check(); err != nil {
			return exitcode.Usage(err)
		}
		p, err := f.Plan(s, b.Name)
		if err != nil {
			return err
		}
		return b.LoadData(s, p, quiet, func(ctx context.Context, d *Database,
			progress func(fill.Progress)) ([]Result, error) {
			return l.Load(ctx, d, p.Seed, progress)
		})
	})
	fs := cmd.Flags()
	fs.SortFlags = false
	l.Bind(fs)
	usage.InGroup(fs, usage.Data, l.First)
	fs.BoolVar(&quiet, "quiet", false, "no progress")
	usage.InGroup(fs, usage.Output)
	f.Bind(cmd)
	return cmd
}

// CheckCommand returns the command that checks the conditions of consistency. bind binds the benchmark's flags; it may
// be nil. conditions returns the conditions, and whether nothing was sent since the data was loaded.
func (b *Benchmark) CheckCommand(s *command.Env, bind func(*pflag.FlagSet),
	conditions func(ctx context.Context, d *Database) ([]Condition, bool, error)) *cobra.Command {
	f := &TargetFlags{}
	var quiet bool
	cmd := b.Texts.New(b.Name+"-check", cobra.NoArgs, func(*cobra.Command, []string) error {
		p, err := f.Plan(s, b.Name)
		if err != nil {
			return err
		}
		return b.CheckData(s, p, quiet, conditions)
	})
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress")
	usage.InGroup(cmd.Flags(), usage.Output)
	if bind != nil {
		bind(cmd.Flags())
		usage.InGroup(cmd.Flags(), usage.Data)
	}
	f.Bind(cmd)
	return cmd
}

// DropCommand returns the command that drops the benchmark's tables.
func (b *Benchmark) DropCommand(s *command.Env, tables []Table) *cobra.Command {
	f := &TargetFlags{}
	var force bool
	cmd := b.Texts.New(b.Name+"-drop", cobra.NoArgs, func(*cobra.Command, []string) error {
		p, err := f.Plan(s, b.Name)
		if err != nil {
			return err
		}
		return b.DropData(s, p, tables, force)
	})
	cmd.Flags().BoolVar(&force, "force", false, "drop tables too that brunt didn't load")
	usage.InGroup(cmd.Flags(), usage.Data)
	f.Bind(cmd)
	return cmd
}

// RunFlags are the flags that every benchmark's command that sends a load has.
type RunFlags struct {
	TargetFlags
	command.LoadFlags
	Duration  time.Duration
	Rate      float64 // of an open load; 0: closed
	Isolation string
	Retries   int
	NoCheck   bool
	given     func(flag string) bool
}

// RunCommand returns the command that sends a load. bind binds all flags of the load, in the order of the help, of
// which those named first are listed first.
func (f *RunFlags) RunCommand(s *command.Env, b *Benchmark, run func() error, bind func(*pflag.FlagSet),
	first ...string) *cobra.Command {
	cmd := b.Texts.New(b.Name+"-run", cobra.NoArgs, func(*cobra.Command, []string) error { return run() })
	fs := cmd.Flags()
	f.given = fs.Changed
	fs.SortFlags = false
	bind(fs)
	usage.InGroup(fs, usage.Load, first...)
	f.TargetFlags.Bind(cmd)
	f.LoadFlags.Bind(s, cmd, b.Name)
	return command.HasPlan(cmd)
}

// BindConsistency binds the flags that decide how consistent data is. auto says what the isolation auto is.
func (f *RunFlags) BindConsistency(fs *pflag.FlagSet, auto string) {
	fs.StringVar(&f.Isolation, "isolation", "auto",
		"isolation: auto ("+auto+"), default (the server's), read committed, repeatable read or serializable")
	fs.IntVar(&f.Retries, "retries", 10, "further attempts after a serialization failure or a deadlock")
	fs.BoolVar(&f.NoCheck, "no-check", false, "don't check the conditions of consistency after the load")
}

// Count checks the number of a flag that is 0 if it isn't given.
func (f *RunFlags) Count(flag string, n int64) error {
	if n < 0 || n == 0 && f.given(flag) {
		return fmt.Errorf("--%s %d: give at least 1", flag, n)
	}
	return nil
}

// Check checks the flags. duration is an example of one, and one is what a session does one at a time.
func (f *RunFlags) Check(duration, one string) error {
	switch {
	case f.Duration <= 0:
		return fmt.Errorf("--duration %s: give a time above zero, such as %s", f.Duration, duration)
	case f.Rate < 0 || f.Rate == 0 && f.given("rate"):
		return fmt.Errorf("--rate %g: give a rate above zero", f.Rate)
	case f.Retries < 0:
		return fmt.Errorf("--retries %d: give a number of at least 0", f.Retries)
	case f.LoadFlags.Load.Pipeline != 1:
		return errors.New("--pipeline: a " + one + " at a time")
	}
	return Isolation(f.Isolation)
}

// Isolation checks the name of an isolation level.
func Isolation(level string) error {
	known := []string{"auto", "default", "read committed", "repeatable read", "serializable"}
	for _, k := range known {
		if level == k {
			return nil
		}
	}
	return fmt.Errorf("isolation %q: use %s", level, strings.Join(known, ", "))
}

// Shape writes the load of a number of sessions into a plan. phase is the name of a closed load.
func (f *RunFlags) Shape(p *plan.Plan, phase string, sessions int) error {
	p.Load = []plan.Phase{{Name: phase, Kind: plan.Closed, Duration: f.Duration}}
	if f.Rate > 0 {
		p.Load = plan.RateLoad(f.Rate, f.Duration).Phases
	}
	p.Settings.Sessions = sessions
	if p.Settings.Retries = f.Retries; f.Retries == 0 {
		p.Settings.Retries = -1
	}
	if err := f.LoadFlags.Load.Settings(&p.Settings); err != nil {
		return err
	}
	return f.LoadFlags.Load.Shape(p)
}

// Ask calls read with the database of a plan, and returns the name of its system. If only the plan is wanted, a
// database that can't be read is no error: beyond then says that the plan doesn't follow from it.
func (b *Benchmark) Ask(s *command.Env, p *plan.Plan, read func(ctx context.Context, d *Database) error) (
	system string, beyond []string, err error) {
	system = ProtocolSystem(p.Target.Protocol)
	const unknown = "what the database says of its data: "
	if s.PlanOnly && protocols.Of(p.Target.Protocol).Embedded {
		if _, err := os.Stat(p.Target.Addresses[0]); err != nil {
			return system, []string{unknown + "there is none yet"}, nil
		}
	}
	err = b.With(s, p, func(ctx context.Context, d *Database) error {
		system = Name(d.Product())
		if !s.PlanOnly {
			b.PrintGaps(s.Err, d.Product())
		}
		return read(ctx, d)
	})
	if err != nil && s.PlanOnly {
		return system, []string{unknown + err.Error()}, nil
	}
	return system, nil, err
}

// The values in the record that all benchmarks have.
const (
	extraDialect   = "dialect"
	ExtraOpen      = "open load"
	ExtraSystem    = "system"
	ExtraLacks     = "lacks"
	ExtraIsolation = "isolation"
	ExtraShrunk    = "shrunk"
)

// OfCommand reports whether the command of a benchmark has made a record. Those of plans don't say what was loaded, nor
// how the load differs from the specification's.
func OfCommand(run *record.Run) bool { return run.Extra[extraDialect] != "" }

// ByPlan says of a record, as a label, that OfCommand is false.
const ByPlan = "sent by a plan, whose record doesn't say how it differs from the specification"

// Extra returns the values in the record that all benchmarks have.
func (f *RunFlags) Extra(b *Benchmark, system string, shrunk bool) map[string]string {
	flavor, _ := Flavor(system)
	return map[string]string{extraDialect: b.Name, ExtraOpen: YesNo(f.Rate > 0), ExtraSystem: system,
		ExtraIsolation: f.Isolation, ExtraShrunk: YesNo(shrunk),
		ExtraLacks: strings.Join(b.Gaps(flavor), GapSeparator)}
}

// Send sends a load. r has its plan, and what the plan doesn't describe beyond what all benchmarks add. sent is called
// before the load, unless only the plan is wanted, and conditions are checked after it, unless the flags say not to.
func (f *RunFlags) Send(s *command.Env, r *Run, sent func(ctx context.Context, d *Database) error,
	conditions []Condition) error {
	if err := f.CheckWorkers(&f.Record, r.Plan); err != nil {
		return err
	}
	r.Options = &f.LoadFlags
	r.Beyond = append(r.Beyond, "the report in "+r.Title+"'s terms: brunt report --output "+r.Name+" prints it")
	if !f.NoCheck {
		r.Beyond = append(r.Beyond, "the conditions of consistency after the load: brunt "+r.Name+" check")
	}
	if s.PlanOnly {
		return r.Perform(s)
	}
	if err := r.With(s, r.Plan, sent); err != nil {
		return err
	}
	if !f.NoCheck {
		r.Check = r.Checker(r.Plan, conditions)
	}
	return r.Perform(s)
}
