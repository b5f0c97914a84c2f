package tpcb

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"brunt/internal/dialect"
	"brunt/internal/dialect/command"
	"brunt/internal/dialect/command/usage"
	"brunt/internal/dialect/tpc"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
	"brunt/internal/report"
	"brunt/internal/server/schema/fill"
)

//go:embed help/*.txt
var helpFiles embed.FS

var benchmark = tpc.Benchmark{Name: LanguageName, Title: "TPC-B", Notes: notesTable,
	Texts: command.Texts{Files: helpFiles, Folder: "help"}}

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
	check := func(ctx context.Context, d *tpc.Database) ([]tpc.Condition, bool, error) {
		data, err := Read(ctx, d)
		if err != nil {
			return nil, false, err
		}
		return Conditions(), data.Sent == 0, nil
	}
	return benchmark.Texts.Group(LanguageName, newLoad(s), newRun(s), benchmark.CheckCommand(s, nil, check),
		benchmark.DropCommand(s, schema()))
}

func newLoad(s *command.Env) *cobra.Command {
	l := Loading{}
	return benchmark.LoadCommand(s, tpc.Loader{
		Bind: func(fs *pflag.FlagSet) {
			fs.Int64Var(&l.Branches, "branches", 1, "branches, one for each transaction a second that is to be reached")
			fs.IntVar(&l.Sessions, "sessions", 4, "sessions that load at the same time")
			fs.Int64Var(&l.Shrink, "shrink", 1, "divide the accounts by this number, for trials: not TPC-B")
		},
		First: "branches",
		Check: l.check,
		Load: func(ctx context.Context, d *tpc.Database, seed uint64, progress func(fill.Progress)) ([]tpc.Result, error) {
			l.Seed, l.Progress = seed, progress
			return Load(ctx, d, l)
		},
	})
}

// runFlags are the flags of brunt tpcb run.
type runFlags struct {
	tpc.RunFlags
	branches int64
	sessions int
}

func newRun(s *command.Env) *cobra.Command {
	f := &runFlags{}
	return f.RunCommand(s, &benchmark, func() error { return f.run(s) }, func(fs *pflag.FlagSet) {
		fs.Int64Var(&f.branches, "branches", 0, "branches that are used (default: all that are loaded)")
		fs.IntVar(&f.sessions, "sessions", 1, "sessions, each of which sends without a pause")
		fs.DurationVar(&f.Duration, "duration", time.Minute, "measurement interval; the specification wants 15m to 60m")
		fs.Var((*usage.Rate)(&f.Rate), "rate", "open load of so many transactions a second: a variant")
		f.BindConsistency(fs, "read committed")
	}, "sessions", "duration")
}

func (f *runFlags) check() error {
	if err := f.Count("branches", f.branches); err != nil {
		return err
	}
	if f.sessions < 1 {
		return fmt.Errorf("--sessions %d: a load needs at least 1", f.sessions)
	}
	return f.Check("15m", "session sends one transaction")
}

func (f *runFlags) run(s *command.Env) error {
	if err := f.OutputFlags.Check(); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return exitcode.Usage(err)
	}
	p, err := f.TargetFlags.Plan(s, LanguageName)
	if err != nil {
		return err
	}
	data := &Data{Branches: max(f.branches, 1), Accounts: accountsOfBranch}
	system, beyond, err := benchmark.Ask(s, p, func(ctx context.Context, d *tpc.Database) error {
		found, err := Read(ctx, d)
		if err == nil {
			data = found
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := f.plan(p, data, system); err != nil {
		return exitcode.Usage(err)
	}
	extra := f.Extra(&benchmark, system, data.Accounts != accountsOfBranch)
	extra[extraBranches], extra[extraSessions] = p.Scripts.Options[optionBranches], strconv.Itoa(p.Settings.Sessions)
	r := &tpc.Run{Benchmark: &benchmark, Plan: p, Extra: extra,
		Beyond: append(beyond, "that the database's constants and rows are compared before the load")}
	return f.Send(s, r, data.sent, Conditions())
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
		optionBranches: itoa(count), optionAccounts: itoa(data.Accounts), optionIsolation: f.Isolation}}
	p.Operations = []plan.Operation{{Name: transaction, Weight: 1, Script: transaction}}
	return f.Shape(p, "sessions", f.sessions)
}

// The names of values in the record, in addition to those of all benchmarks.
const (
	extraBranches = "branches"
	extraSessions = "sessions"
)
