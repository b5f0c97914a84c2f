package tpcb

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/dialect/tpc"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/protocol/protocols"
	"brunt/internal/report"
	"brunt/internal/server/schema/fill"
)

//go:embed help/*.txt
var helpFiles embed.FS

func texts() command.Texts { return command.Texts{Files: helpFiles, Folder: "help"} }

var benchmark = tpc.Benchmark{Name: LanguageName, Notes: notesTable}

// Tool declares TPC-B.
func Tool() dialect.Tool {
	return dialect.Tool{
		Name: LanguageName, Formats: []string{LanguageName},
		Commands:  []dialect.Command{{Name: LanguageName, New: newTPCB}},
		Languages: []script.Language{Language{Now: time.Now}},
		Reports:   []report.Format{{Name: LanguageName, Write: writeReport}},
	}
}

func newTPCB(s *command.Env) *cobra.Command {
	return texts().Group("tpcb", newLoad(s), newRun(s), newCheck(s), newDrop(s))
}

func newLoad(s *command.Env) *cobra.Command {
	f := &tpc.TargetFlags{}
	l := Loading{}
	var quiet bool
	cmd := texts().New("tpcb-load", cobra.NoArgs, func(*cobra.Command, []string) error {
		if err := l.check(); err != nil {
			return err
		}
		p, err := f.Plan(s, "tpcb")
		if err != nil {
			return err
		}
		l.Seed = p.Seed
		return benchmark.LoadData(s, p, quiet, func(ctx context.Context, d *tpc.Database,
			progress func(fill.Progress)) ([]tpc.Result, error) {
			l.Progress = progress
			return Load(ctx, d, l)
		})
	})
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Int64Var(&l.Branches, "branches", 1, "branches, one for each transaction a second that is to be reached")
	fs.IntVar(&l.Sessions, "sessions", 4, "sessions that load at the same time")
	fs.Int64Var(&l.Shrink, "shrink", 1, "divide the accounts by this number, for trials: not TPC-B")
	usage.InGroup(fs, usage.Data, "branches")
	fs.BoolVar(&quiet, "quiet", false, "no progress")
	usage.InGroup(fs, usage.Output)
	f.Bind(cmd)
	return cmd
}

func newCheck(s *command.Env) *cobra.Command {
	f := &tpc.TargetFlags{}
	var quiet bool
	cmd := texts().New("tpcb-check", cobra.NoArgs, func(*cobra.Command, []string) error {
		p, err := f.Plan(s, "tpcb")
		if err != nil {
			return err
		}
		return benchmark.CheckData(s, p, quiet, func(ctx context.Context, d *tpc.Database) ([]tpc.Condition, bool, error) {
			data, err := Read(ctx, d)
			if err != nil {
				return nil, false, err
			}
			return Conditions(), data.Sent == 0, nil
		})
	})
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress")
	usage.InGroup(cmd.Flags(), usage.Output)
	f.Bind(cmd)
	return cmd
}

func newDrop(s *command.Env) *cobra.Command {
	f := &tpc.TargetFlags{}
	var force bool
	cmd := texts().New("tpcb-drop", cobra.NoArgs, func(*cobra.Command, []string) error {
		p, err := f.Plan(s, "tpcb")
		if err != nil {
			return err
		}
		return benchmark.DropData(s, p, schema(), force)
	})
	cmd.Flags().BoolVar(&force, "force", false, "drop tables too that brunt didn't load")
	usage.InGroup(cmd.Flags(), usage.Data)
	f.Bind(cmd)
	return cmd
}

// runFlags are the flags of brunt tpcb run.
type runFlags struct {
	tpc.TargetFlags
	command.LoadFlags
	cmd       *cobra.Command
	branches  int64
	sessions  int
	duration  time.Duration
	rate      float64
	isolation string
	retries   int
	noCheck   bool
}

func newRun(s *command.Env) *cobra.Command {
	f := &runFlags{}
	cmd := texts().New("tpcb-run", cobra.NoArgs, func(*cobra.Command, []string) error { return f.run(s) })
	f.cmd = cmd
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Int64Var(&f.branches, "branches", 0, "branches that are used (default: all that are loaded)")
	fs.IntVar(&f.sessions, "sessions", 1, "sessions, each of which sends without a pause")
	fs.DurationVar(&f.duration, "duration", time.Minute, "measurement interval; the specification wants 15m to 60m")
	fs.Var((*usage.Rate)(&f.rate), "rate", "open load of so many transactions a second: a variant")
	fs.StringVar(&f.isolation, "isolation", "auto",
		"isolation: auto (read committed), default (the server's), read committed, repeatable read or serializable")
	fs.IntVar(&f.retries, "retries", 10, "further attempts after a serialization failure or a deadlock")
	fs.BoolVar(&f.noCheck, "no-check", false, "don't check the conditions of consistency after the load")
	usage.InGroup(fs, usage.Load, "sessions", "duration")
	f.TargetFlags.Bind(cmd)
	f.LoadFlags.Bind(s, cmd, LanguageName)
	return command.HasPlan(cmd)
}

func (f *runFlags) check() error {
	switch {
	case f.branches < 0 || f.branches == 0 && f.cmd.Flags().Changed("branches"):
		return fmt.Errorf("--branches %d: give at least 1", f.branches)
	case f.sessions < 1:
		return fmt.Errorf("--sessions %d: a load needs at least 1", f.sessions)
	case f.duration <= 0:
		return fmt.Errorf("--duration %s: give a time above zero, such as 15m", f.duration)
	case f.rate < 0 || f.rate == 0 && f.cmd.Flags().Changed("rate"):
		return fmt.Errorf("--rate %g: give a rate above zero", f.rate)
	case f.retries < 0:
		return fmt.Errorf("--retries %d: give a number of at least 0", f.retries)
	case f.Load.Pipeline != 1:
		return errors.New("--pipeline: a session sends one transaction at a time")
	}
	return tpc.Isolation(f.isolation)
}

// read reads what the database says of its data. If only the plan is wanted, and it can't be read, the data is as the
// flags say.
func (f *runFlags) read(s *command.Env, p *plan.Plan) (data *Data, system string, beyond []string, err error) {
	system = tpc.ProtocolSystem(p.Target.Protocol)
	assumed := &Data{Branches: max(f.branches, 1), Accounts: accountsOfBranch}
	if s.PlanOnly && protocols.Of(p.Target.Protocol).Embedded {
		if _, err := os.Stat(p.Target.Addresses[0]); err != nil {
			return assumed, system, []string{"what the database says of its data: there is none yet"}, nil
		}
	}
	err = benchmark.With(s, p, func(ctx context.Context, d *tpc.Database) (err error) {
		system = tpc.Name(d.Product())
		if !s.PlanOnly {
			benchmark.PrintGaps(s.Err, d.Product())
		}
		data, err = Read(ctx, d)
		return err
	})
	if err != nil && s.PlanOnly {
		return assumed, system, []string{"what the database says of its data: " + err.Error()}, nil
	}
	return data, system, nil, err
}

func (f *runFlags) run(s *command.Env) error {
	if err := f.OutputFlags.Check(); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return exitcode.Usage(err)
	}
	p, err := f.TargetFlags.Plan(s, "tpcb")
	if err != nil {
		return err
	}
	data, system, beyond, err := f.read(s, p)
	if err != nil {
		return err
	}
	if err := f.plan(p, data, system); err != nil {
		return exitcode.Usage(err)
	}
	if err := f.CheckWorkers(&f.Record, p); err != nil {
		return err
	}
	r := &tpc.Run{Benchmark: &benchmark, Plan: p, Options: &f.LoadFlags, Extra: f.extra(p, data, system)}
	r.Beyond = append(beyond, "that the database's constants and rows are compared before the load",
		"the report in TPC-B's terms: brunt report --output tpcb prints it",
		"the conditions of consistency after the load: brunt tpcb check")
	if s.PlanOnly {
		return r.Perform(s)
	}
	err = benchmark.With(s, p, func(ctx context.Context, d *tpc.Database) error { return data.sent(ctx, d) })
	if err != nil {
		return err
	}
	if !f.noCheck {
		r.Check = benchmark.Checker(p, Conditions())
	}
	return r.Perform(s)
}

// plan writes the load into the plan.
func (f *runFlags) plan(p *plan.Plan, data *Data, system string) error {
	count := data.Branches
	if f.branches > 0 {
		count = f.branches
	}
	if count > data.Branches {
		return fmt.Errorf("--branches %d: the database has %d", count, data.Branches)
	}
	p.Scripts = plan.Scripts{Language: LanguageName, Options: map[string]string{optionSystem: system,
		optionBranches: itoa(count), optionAccounts: itoa(data.Accounts), optionIsolation: f.isolation}}
	p.Operations = []plan.Operation{{Name: transaction, Weight: 1, Script: transaction}}
	p.Load = []plan.Phase{{Name: "sessions", Kind: plan.Closed, Duration: f.duration}}
	if f.rate > 0 {
		p.Load = plan.RateLoad(f.rate, f.duration).Phases
	}
	p.Settings.Sessions = f.sessions
	if p.Settings.Retries = f.retries; f.retries == 0 {
		p.Settings.Retries = -1
	}
	if err := f.Load.Settings(&p.Settings); err != nil {
		return err
	}
	return f.Load.Shape(p)
}

// The names of values in the record.
const (
	extraBranches  = "branches"
	extraSessions  = "sessions"
	extraOpen      = "open load"
	extraSystem    = "system"
	extraLacks     = "lacks"
	extraIsolation = "isolation"
	extraShrunk    = "shrunk"
)

func (f *runFlags) extra(p *plan.Plan, data *Data, system string) map[string]string {
	flavor, _ := tpc.Flavor(system)
	return map[string]string{
		"dialect": LanguageName, extraBranches: p.Scripts.Options[optionBranches],
		extraSessions: strconv.Itoa(p.Settings.Sessions), extraOpen: tpc.YesNo(f.rate > 0), extraSystem: system,
		extraIsolation: f.isolation, extraShrunk: tpc.YesNo(data.Accounts != accountsOfBranch),
		extraLacks: strings.Join(benchmark.Gaps(flavor), tpc.GapSeparator),
	}
}
