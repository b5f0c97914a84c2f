package series

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"brunt/internal/judge/compare"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/result"
	"brunt/internal/judge/result/reader"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/record"
	"brunt/internal/render/units"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/program"
)

// Repeat executes the runs of a repetition and prints their results.
func (t *Series) Repeat(ctx context.Context, r *program.Repetition, f *loadtest.Report) error {
	began := time.Now().UTC()
	r.Drive = t.Drive
	r.Planned = func(n program.Turn) { t.Say("run %d of %d: %s", n.Number, n.Of, n.Side) }
	r.Done = func(n program.Turn, o *program.Outcome) {
		t.Say("run %d of %d: %s/s, p99 %s, %s", n.Number, n.Of, units.Rate(o.Run.Total.RatePerS),
			units.LatencyInt(o.Run.Total.Response.P99Ns), o.Run.Verdict.Result)
	}
	done, err := r.Run(ctx)
	if err != nil && ctx.Err() == nil {
		return err
	}
	report := program.RepeatReport(r.Plan, done, began)
	if err := report.Write(t.Dir); err != nil {
		return err
	}
	a, err := resultsOf(done.A)
	b, err2 := resultsOf(done.B)
	if err := errors.Join(err, err2); err != nil {
		return exitcode.Usage(err)
	}
	if len(b) > 0 {
		return t.printComparison(f, report, a, b)
	}
	return t.printIntervals(f, report, a)
}

// printComparison prints the comparison of two plans, and returns the error for its exit code.
func (t *Series) printComparison(f *loadtest.Report, report *program.Report, a, b []*result.Result) error {
	// The plans differ on purpose. The report says so next to the result.
	invalid := slices.ContainsFunc(slices.Concat(a, b), func(r *result.Result) bool { return r.Verdict == "invalid" })
	c, err := compare.Runs(a, b, compare.Options{Anyway: true})
	switch {
	case err != nil && invalid:
		return errors.Join(t.Print(f, report), exitcode.With(exitcode.Invalid, err))
	case err != nil:
		return errors.Join(t.Print(f, report), compare.Refusal(err))
	}
	code := exitcode.Pass
	switch {
	case invalid:
		code = exitcode.Invalid
	case c.Verdict == compare.Regression:
		code = exitcode.Regression
	}
	out := t.Out.Out
	switch f.Form {
	case "json":
		return exitcode.With(code, errors.Join(loadtest.Drain(out), c.JSON(out, code)))
	case "csv":
		return exitcode.With(code, errors.Join(loadtest.Drain(out), c.CSV(out)))
	}
	return exitcode.With(code, t.Print(f, report, c.Tables(f.Language)...))
}

// printIntervals prints the intervals of the runs of one plan.
func (t *Series) printIntervals(f *loadtest.Report, report *program.Report, runs []*result.Result) error {
	s, err := compare.Intervals(runs, compare.Options{})
	if err != nil {
		return errors.Join(t.Print(f, report), compare.Refusal(err))
	}
	out := t.Out.Out
	switch f.Form {
	case "json":
		return errors.Join(loadtest.Drain(out), s.JSON(out))
	case "csv":
		return errors.Join(loadtest.Drain(out), s.CSV(out))
	}
	return t.Print(f, report, s.Tables(f.Language)...)
}

// resultsOf reads the results of several runs.
func resultsOf(runs []*program.Outcome) (all []*result.Result, err error) {
	for _, o := range runs {
		r, readErr := reader.Read(record.OS{}, o.Dir, len(runs) == 1, nil)
		all, err = append(all, r), errors.Join(err, readErr)
	}
	return all, err
}

// OneDatabase returns an error if both plans create a table with the same name in the same database, but differently.
// Both would then use the table of the plan that ran first.
func OneDatabase(a, b *plan.Plan) error {
	if a.Target.Database != b.Target.Database || !slices.Equal(a.Target.Addresses, b.Target.Addresses) {
		return nil
	}
	for i := range a.Tables {
		name := a.Tables[i].Name
		if !slices.ContainsFunc(b.Tables, func(t plan.Table) bool { return t.Name == name }) {
			continue
		}
		x, err := tableText(a, name)
		y, err2 := tableText(b, name)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if x != y {
			return fmt.Errorf(
				"both plans make the table %q, but with other rows, columns or indexes: each would find what the first made; give it another name or database in one of them, or make it by hand and add --no-setup", name)
		}
	}
	return nil
}

// tableText returns the part of a plan that determines a table, as YAML.
func tableText(p *plan.Plan, name string) (string, error) {
	only := &plan.Plan{Name: name, Seed: p.Seed}
	for _, t := range p.Tables {
		if t.Name == name {
			only.Tables = append(only.Tables, t)
		}
	}
	for _, i := range p.Indexes {
		if i.Table == name {
			only.Indexes = append(only.Indexes, i)
		}
	}
	text, err := planfile.Write(only)
	return string(text), err
}
