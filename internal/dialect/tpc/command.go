package tpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/report"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/runner"
	"brunt/internal/server/schema/fill"
)

// Benchmark is what the commands of a benchmark have in common.
type Benchmark struct {
	Name  string // of the commands' group, the form of reports, and the language of scripts
	Title string // as people write it
	Texts command.Texts
	Notes string // name of the table with the constants of the load
	// More are guarantees that systems don't give, in addition to those that all benchmarks want.
	More map[protocol.Flavor][]string
}

// Gaps returns the guarantees that a system doesn't give.
func (b *Benchmark) Gaps(f protocol.Flavor) []string { return Gaps(f, b.More) }

// TargetFlags are the flags for the database.
type TargetFlags struct{ command.PlanFlags }

// Bind binds the flags to a command.
func (f *TargetFlags) Bind(cmd *cobra.Command) {
	f.PlanFlags.Bind(cmd)
	_ = cmd.Flags().MarkHidden("config") // there is no plan file
}

// Plan returns a plan with the target and the seed.
func (f *TargetFlags) Plan(s *command.Env, name string) (*plan.Plan, error) {
	if f.Target.Config != "" {
		return nil, exitcode.Usage(errors.New("-c: the command takes no plan; brunt run runs plans"))
	}
	p := &plan.Plan{Name: name}
	if err := f.Target.Apply(p, s.In, s.Err); err != nil {
		return nil, err
	}
	if len(p.Target.Addresses) == 0 {
		return nil, exitcode.Usage(errors.New("no address given; add --addr, such as postgres://user@host/database"))
	}
	return p, nil
}

// With connects to the database of a plan and calls do. A signal ends ctx.
func (b *Benchmark) With(s *command.Env, p *plan.Plan, do func(ctx context.Context, d *Database) error) error {
	ctx, _, stop := loadtest.Interruptible(s.Err, loadtest.Endings(false))
	defer stop()
	d, err := Open(ctx, p, b.Notes)
	if err != nil {
		return loadtest.Failure(ctx, err)
	}
	defer d.Close()
	err = do(ctx, d)
	if err != nil && ctx.Err() != nil {
		return exitcode.With(exitcode.Interrupted, errors.New("interrupted"))
	}
	return err
}

// LoadData loads data by load, and prints what it did. What the system lacks is printed before.
func (b *Benchmark) LoadData(s *command.Env, p *plan.Plan, quiet bool,
	load func(ctx context.Context, d *Database, progress func(fill.Progress)) ([]Result, error)) error {
	return b.With(s, p, func(ctx context.Context, d *Database) error {
		b.PrintGaps(s.Err, d.Product())
		var told func(fill.Progress)
		done := func() {}
		if !quiet {
			progress := report.NewLoadProgress(s.Err, loadtest.Look(s.Err))
			told = func(p fill.Progress) { progress.Show(report.Filling(p)) }
			done = progress.Done
		}
		began := time.Now()
		results, err := load(ctx, d, told)
		done()
		if err != nil && ctx.Err() != nil {
			return exitcode.With(exitcode.Interrupted, errors.New("interrupted; the same command completes the load"))
		}
		if err != nil {
			return err
		}
		return printLoad(s.Out, results, time.Since(began))
	})
}

func printLoad(w io.Writer, results []Result, took time.Duration) error {
	t := cell.Table{Columns: []cell.Column{{Head: "table", Left: true}, {Head: "rows"}, {Head: "of an earlier load"},
		{Head: "rows/s"}}}
	rows := uint64(0)
	for i := range results {
		r := &results[i]
		rows += r.Rows - r.TableReport.Resumed
		earlier := cell.Text("")
		if r.TableReport.Resumed > 0 {
			earlier = cell.Count(r.TableReport.Resumed)
		}
		t.Add(cell.Text(r.Name), cell.Count(r.Rows), earlier, cell.Figure(r.RatePerS, "per_s"))
	}
	t.Foot = []string{fmt.Sprintf("%d rows in %s, indexes and statistics included: %.0f rows/s", rows,
		took.Round(10*time.Millisecond), float64(rows)/took.Seconds())}
	return cell.WriteText(w, loadtest.Look(w).Look(), t)
}

// PrintGaps prints the guarantees that a system lacks.
func (b *Benchmark) PrintGaps(w io.Writer, f protocol.Flavor) {
	for _, gap := range b.Gaps(f) {
		fmt.Fprintf(w, "brunt: note: %s lacks %s\n", f, gap)
	}
}

// CheckData checks conditions and prints their outcomes. It fails if one is violated.
func (b *Benchmark) CheckData(s *command.Env, p *plan.Plan, quiet bool,
	conditions func(ctx context.Context, d *Database) ([]Condition, bool, error)) error {
	return b.With(s, p, func(ctx context.Context, d *Database) error {
		all, fresh, err := conditions(ctx, d)
		if err != nil {
			return err
		}
		told := func(c *Condition) { fmt.Fprintf(s.Err, "brunt: checking %s\n", c.Name) }
		if quiet {
			told = nil
		}
		out := d.Check(ctx, all, fresh, told)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := cell.WriteText(s.Out, loadtest.Look(s.Out).Look(), OutcomeTable(out)); err != nil {
			return err
		}
		return Violated(out)
	})
}

// DropData drops tables that brunt has loaded, or all the same with force.
func (b *Benchmark) DropData(s *command.Env, p *plan.Plan, tables []Table, force bool) error {
	return b.With(s, p, func(ctx context.Context, d *Database) error {
		facts, err := d.ReadFacts(ctx)
		if err != nil {
			return err
		}
		if facts == nil && !force {
			return exitcode.Usage(fmt.Errorf("the database has no table %s, so brunt didn't load it; add --force to drop the "+
				"benchmark's tables all the same", b.Notes))
		}
		return d.Drop(ctx, tables)
	})
}

// Checker returns a function that checks conditions after a load.
func (b *Benchmark) Checker(p *plan.Plan, conditions []Condition) func(context.Context) ([]Outcome, error) {
	return func(ctx context.Context) ([]Outcome, error) {
		d, err := Open(ctx, p, b.Notes)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return d.Check(ctx, conditions, false, nil), nil
	}
}

// YesNo returns yes or no, as options of scripts and values in records say it.
func YesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// Violated returns an error with its exit code if a condition is violated or couldn't be checked.
func Violated(all []Outcome) error {
	_, violated, unknown, _ := Counted(all)
	if violated+unknown == 0 {
		return nil
	}
	return exitcode.With(exitcode.Threshold, errors.New(Summary(all)))
}

// OutcomeTable returns the table of conditions.
func OutcomeTable(all []Outcome) cell.Table {
	t := cell.Table{ID: "conditions", Title: "CONDITIONS", Columns: []cell.Column{{Head: "condition", Left: true},
		{Head: "says", Left: true, Wrap: true}, {Head: "result", Left: true, Wrap: true}}}
	for i := range all {
		o := &all[i]
		result := cell.Text(o.State()).Marked(cell.Good)
		switch {
		case o.Skipped:
			result = cell.Text("not applicable after a load").Marked(cell.Dim)
		case o.Err != nil:
			result = cell.Text("couldn't be checked: " + o.Err.Error()).Marked(cell.Warn)
		case o.Violations > 0:
			result = cell.Text(o.violated()).Marked(cell.Bad)
		}
		t.Add(cell.Text(o.Name), cell.Text(o.Says), result)
	}
	t.Foot = []string{Summary(all)}
	return t
}

// Run is a load of a benchmark.
type Run struct {
	*Benchmark
	Plan    *plan.Plan
	Options *command.LoadFlags
	Extra   map[string]string // values for the record
	Beyond  []string          // what no plan describes
	// Check checks the conditions after the load; nil: they aren't checked.
	Check func(ctx context.Context) ([]Outcome, error)
}

// ConditionPrefix is the prefix of the names of outcomes in a record's extra values.
const ConditionPrefix = "condition "

// Perform sends the load, checks the conditions and prints the report.
func (r *Run) Perform(s *command.Env) error {
	f := r.Options
	var violated error
	check := func(ctx context.Context) {
		if r.Check == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
		defer cancel()
		out, err := r.Check(ctx)
		if err != nil {
			r.Extra["conditions"] = "couldn't be checked: " + err.Error()
			violated = exitcode.With(exitcode.Other, fmt.Errorf("check the conditions: %w", err))
			return
		}
		r.Extra["conditions"] = Summary(out)
		for i := range out {
			o := &out[i]
			text := o.State()
			if o.Violations > 0 {
				text = o.violated()
			}
			if o.Err != nil {
				text = "couldn't be checked: " + o.Err.Error()
			}
			r.Extra[ConditionPrefix+o.Name] = text
		}
		violated = Violated(out)
	}
	l := &loadtest.Test{
		Plan: r.Plan, Record: f.Record, Live: f.Live, Workers: f.Workers, Process: s.Process(), Quiet: f.Quiet,
		Language: f.Language(), Beyond: r.Beyond,
		Options: runner.Options{NoSetup: true, Recording: runner.Recording{Extra: r.Extra}},
		Hooks: func(out *loadtest.Outputs) (runner.Hooks, error) {
			form := f.Report()
			v, err := form.Hooks(out)
			v.Sent = check
			v.Result = func(run *record.Run, dir string) error { return form.Print(out.Out, run, dir) }
			v.Exit = func(run *record.Run) error {
				code := verdict.ExitCode(run)
				if code == exitcode.Pass && violated != nil {
					return violated
				}
				return exitcode.With(code, nil)
			}
			return v, err
		},
	}
	return l.Perform(s.Out, s.Err)
}

// Conditions returns the outcomes of conditions that are stored in a record, in the order of names, as a table.
func Conditions(run *record.Run, l units.Language, names []string) cell.Table {
	say := func(english string, args ...any) string { return message.Label(l, english, args...) }
	t := cell.Table{ID: "conditions", Title: say("CONDITIONS"), Note: say("of the data after the load")}
	t.Columns = []cell.Column{
		{Head: say("condition"), Left: true}, {Head: say("result"), Left: true, Wrap: true}}
	hold, skipped, checked := 0, 0, 0
	for _, name := range names {
		text, known := run.Extra[ConditionPrefix+name]
		if !known {
			continue
		}
		mark := cell.Bad
		switch text {
		case "ok":
			mark, text = cell.Good, say("ok")
			hold++
		case "not applicable":
			mark, text = cell.Dim, say("not applicable after a load")
			skipped++
		}
		checked++
		t.Add(cell.Text(name), cell.Text(text).Marked(mark))
	}
	switch {
	case run.Extra["conditions"] == "":
		t.Foot = []string{say("not checked")}
	case l == units.English:
		t.Foot = []string{run.Extra["conditions"]}
	default:
		t.Foot = []string{say("%d of %d conditions hold", hold, checked-skipped)}
	}
	return t
}
