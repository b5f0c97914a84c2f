package campaign

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/inspect/servers"
	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/units"
	"brunt/internal/run/advise"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// UnreachableError says that the campaign's database can't be used.
type UnreachableError struct{ Err error }

// Error returns the error and what to check.
func (e *UnreachableError) Error() string {
	return e.Err.Error() + "; check the address and the credentials"
}

// Unwrap returns the error.
func (e *UnreachableError) Unwrap() error { return e.Err }

// database opens the campaign's database. build allows the advisor to build indexes for a test.
func (c *Campaign) database(ctx context.Context, build bool) (inspect.Database, error) {
	db, err := servers.Open(ctx, c.expand(c.Inspect), build)
	if err != nil {
		return nil, &UnreachableError{err}
	}
	return db, nil
}

// query executes the SQL of a probe.
func (c *Campaign) query(ctx context.Context, text string) error {
	db, err := c.database(ctx, false)
	if err != nil {
		return err
	}
	return db.Exec(ctx, text, inspect.Progress{})
}

// scripts executes files of SQL, except for the statements that were done before the campaign was killed.
func (c *Campaign) scripts(ctx context.Context, s *Step, files []string) error {
	if len(files) == 0 {
		return nil
	}
	db, err := c.database(ctx, false)
	if err != nil {
		return err
	}
	for _, name := range files {
		path := c.pathOf(name)
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("sql: %w; check the path", err)
		}
		from := inspect.Progress{Tell: func(n int, done bool) error { return c.journal.Note(s.ID(), name, n, done) }}
		from.Done, from.Begun = c.journal.Progress(s.ID(), name)
		if err := db.Exec(ctx, string(text), from); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func (c *Campaign) prepare(ctx context.Context, s *Step, _ *Result) error {
	if s.Schema {
		if err := c.o.Schema(ctx, s.Load); err != nil {
			return err
		}
	}
	if err := c.commands(ctx, s, "commands", s.Commands); err != nil {
		return err
	}
	return c.scripts(ctx, s, s.SQL)
}

func (c *Campaign) fix(ctx context.Context, s *Step, r *Result) error {
	r.Fix = &Fix{Files: s.SQL}
	if s.Advisor {
		if err := c.advised(ctx, s, r); err != nil {
			return err
		}
	}
	for i := range s.Commands {
		r.Fix.Commands = append(r.Fix.Commands, s.Commands[i].String())
	}
	if err := c.scripts(ctx, s, s.SQL); err != nil {
		return err
	}
	return c.commands(ctx, s, "commands", s.Commands)
}

// advised tests the indexes that the advisor proposes after the last analysis, at its load, and keeps those that pay.
func (c *Campaign) advised(ctx context.Context, s *Step, r *Result) error {
	analysis := lastOf(c.results, campaignfile.StepAnalyse)
	if analysis == nil || analysis.Trial == nil {
		return fmt.Errorf("the advisor needs an analysis; put a step analyse before it")
	}
	seen, err := analysis.bundle(c.o.Dir, analysis.Trial.Dir)
	if err != nil {
		return err
	}
	db, err := c.database(ctx, true)
	if err != nil {
		return err
	}
	list, err := advise.Proposals(ctx, c.folder(s), db, seen.Run.Inspections)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		c.o.Say("advisor: no index pays")
		return nil
	}
	p, err := program.AtScale(s.Load, analysis.Trial.N, c.scaled(s.WarmUp, leastWarmUp), c.scaled(s.Duration, c.least))
	if err != nil {
		return err
	}
	program.SetSessions(p, analysis.Trial.Sessions)
	trial := &advise.Trial{Database: db, Times: s.Repetitions, Anyway: true,
		Say: func(text string) { c.o.Say("advisor: %s", text) },
		Judged: func(x record.Proof) {
			c.o.Say("advisor: %s %s: %s", map[bool]string{true: "kept", false: "dropped"}[x.Kept], x.Name, x.Why)
		}}
	trial.Into(c.folder(s), program.Load{Plan: p, PeakPerS: p.PeakPerS()}, program.Continuing(c.execute(s, closely)))
	r.Fix.Proofs, err = trial.Prove(ctx, list)
	return err
}

// bounds returns the options of a search step.
func (s *Step) bounds() program.SearchOptions {
	return program.SearchOptions{
		Start: s.Start, Min: s.Min, Max: s.Max, Width: s.Width, Trials: s.Trials,
		Sessions:    program.DefaultSearch().Sessions,
		MaxSessions: s.MaxSessions,
	}
}

func (c *Campaign) search(ctx context.Context, s *Step, r *Result) error {
	o := s.bounds()
	before := c.lastSearch()
	if before != nil && s.Round > 0 && before.Bracket.Lower > 0 {
		o.Start = min(max(before.Bracket.Lower, o.Min), o.Max) // a fix should have raised it
	}
	var err error
	if r.Search, err = c.searchOnce(ctx, s, r, o, ""); err != nil {
		return err
	}
	if before == nil || s.Round == 0 || changed(c.results) || len(s.Before) > 0 || !contradict(before, r.Search) {
		return nil
	}
	// Nothing was changed, so one of the two searches must be wrong.
	c.o.Say("the maximum differs from that of the search before, although nothing was changed: searching again")
	r.Contradicts = r.Search
	o.Start = min(max(r.Search.Bracket.Lower, o.Min), o.Max)
	r.Search, err = c.searchOnce(ctx, s, r, o, "again-")
	return err
}

// searchOnce executes a search, whose trials have names with a prefix.
func (c *Campaign) searchOnce(ctx context.Context, s *Step, r *Result, o program.SearchOptions,
	prefix string) (*program.SearchLog, error) {
	h, err := program.NewTargetSearch(s.Load, o)
	if err != nil {
		return nil, err
	}
	h.Trial, h.Longest, h.WarmUp = c.scaled(s.Trial, c.least), s.Trial, c.scaled(s.WarmUp, leastWarmUp)
	h.Prefix, h.Drive = prefix, c.execute(s, briefly)
	h.Done = func(t program.Result) {
		c.o.Say("trial %d at N %s (%s/s): %s", t.Number, program.Scale(t.N), units.Rate(t.LoadPerS()), t.Line())
	}
	found, err := h.Run(ctx)
	if err != nil {
		return nil, err
	}
	report := program.SearchReport(s.Load, found, r.Started)
	report.Note = r.Note
	return report.Search, report.Write(c.folder(s))
}

// changed reports whether a step since the first search has changed anything that is tested.
func changed(results []Result) bool {
	searched := false
	for i := range results {
		r := &results[i]
		searched = searched || r.Search != nil
		if searched && r.Fix != nil && r.Fix.changed() {
			return true
		}
	}
	return false
}

// changed reports whether the step changed anything.
func (f *Fix) changed() bool {
	return len(f.Files)+len(f.Commands) > 0 || slices.ContainsFunc(f.proofs(),
		func(p record.Proof) bool { return p.Kept })
}

// contradict reports whether two searches of the same target can't both be right: their brackets are further apart than
// their widths explain.
func contradict(a, b *program.SearchLog) bool {
	low, high := &a.Bracket, &b.Bracket
	if low.Lower > high.Lower {
		low, high = high, low
	}
	wide := 1 + max(low.Width(), high.Width(), a.Options.Width)
	return low.Lower > 0 && low.Upper > 0 && high.Lower > low.Upper*wide
}

// lastSearch returns the last search that is done, or nil if there is none.
func (c *Campaign) lastSearch() *program.SearchLog {
	if r := lastOf(c.results, campaignfile.StepSearch); r != nil {
		return r.Search
	}
	return nil
}

// maximum returns the load that is reported as the maximum: the load that a confirmation after the last search held, or
// else the result of the search. It is 0 if there is none.
func maximum(results []Result) (n float64) {
	for i := range results {
		switch r := &results[i]; {
		case r.Search != nil:
			n = r.Search.Bracket.Lower
		case r.confirms():
			n = r.Trial.N
		}
	}
	return n
}

// confirms reports whether the step confirmed the maximum, going down from it until a load was held.
func (r *Result) confirms() bool {
	return r.Kind == campaignfile.StepConfirm && r.Trial != nil && r.Confirms
}

// load returns the N of a step and its number of sessions.
func (c *Campaign) load(s *Step) (n float64, sessions int, err error) {
	const usual = 32
	sessions = max(s.Load.Settings.Sessions, usual)
	found := c.lastSearch()
	if found != nil {
		for i := range found.Trials {
			if t := &found.Trials[i]; t.Verdict == verdict.Pass {
				sessions = max(sessions, t.Sessions)
			}
		}
	}
	first := c.again(s)
	switch {
	case s.N > 0:
		return s.N, sessions, nil
	case s.Kind == campaignfile.StepAnalyse && first != nil && first.Trial != nil:
		return first.Trial.N, first.Trial.Sessions, nil // before and after are compared at equal load
	}
	if n = maximum(c.results); n == 0 {
		return 0, 0, fmt.Errorf(
			"it is at the maximum, and the search found none; lower the search's min, or give the step a load (at: 1)")
	}
	return n, sessions, nil
}

// again returns the result of the step that s repeats, or nil if it repeats none.
func (c *Campaign) again(s *Step) *Result {
	k := slices.IndexFunc(c.results, func(r Result) bool { return r.Number == s.Again })
	if k < 0 {
		return nil
	}
	return &c.results[k]
}

// hold executes a step that holds a load: confirm, reliability, analyse or connections. A confirmation of the maximum
// goes down until a load is held.
func (c *Campaign) hold(ctx context.Context, s *Step, r *Result) error {
	n, sessions, err := c.load(s)
	if err != nil {
		return err
	}
	found := c.lastSearch()
	r.Confirms = s.Kind == campaignfile.StepConfirm && s.N == 0 && found != nil
	h := &program.TargetConfirmation{
		Options: program.ConfirmOptions{N: n, Sessions: sessions, Purpose: s.Kind, Fixed: !r.Confirms},
		Load:    func(n float64) (*plan.Plan, error) { return c.held(s, n, sessions) },
		Base:    c.baseLine(s.Load), Length: c.lasting(s, n), Drive: c.execute(s, closely),
		Steady: s.Kind == campaignfile.StepConfirm || s.Kind == campaignfile.StepReliability,
		Done: func(t program.Result) {
			c.o.Say("%s at N %s (%s/s): %s", s.Kind, program.Scale(t.N), units.Rate(t.LoadPerS()), t.Line())
		},
	}
	if r.Confirms {
		h.Options.Min, h.Options.Width = min(found.Options.Min, n), found.Options.Width
		h.Low = found.Lowest()
	}
	held, err := h.Run(ctx)
	if err != nil {
		return err
	}
	all := held.Results()
	r.Trial = &all[len(all)-1]
	if len(all) > 1 {
		r.Holds = all
	}
	b, err := r.bundle(c.o.Dir, r.Trial.Dir)
	if err == nil {
		r.Seen = seenOf(b.Run)
	}
	return err
}

// held returns the plan of s at n times the profile, with its ramp or warm-up.
func (c *Campaign) held(s *Step, n float64, sessions int) (*plan.Plan, error) {
	length := c.lasting(s, n)
	p, err := program.AtScale(s.Load, n, 0, length)
	if err != nil {
		return nil, err
	}
	if ramp := c.scaled(s.Ramp, leastWarmUp); ramp > 0 {
		if err := program.Ramp(p, ramp); err != nil {
			return nil, err
		}
	} else if warm := c.scaled(s.WarmUp, leastWarmUp); warm > 0 {
		if err := plan.WarmUp(p, warm); err != nil {
			return nil, err
		}
	}
	program.SetSessions(p, sessions)
	p.Settings.Interval = min(max(p.Settings.Interval, 0), time.Second)
	if length < 30*time.Second {
		p.Settings.Interval = length / 30
	}
	return p, nil
}

// baseLine returns the trial against which the last search judged others, or nil if it used thresholds.
func (c *Campaign) baseLine(p *plan.Plan) *program.Result {
	found := c.lastSearch()
	if len(p.Thresholds) > 0 || found == nil {
		return nil
	}
	return found.BaseLine()
}

// cells returns the settings that a matrix compares.
func cells(s *Step) (all []program.Cell) {
	for _, list := range s.Step.Cells {
		var cell program.Cell
		for _, one := range list {
			cell = append(cell, program.Setting(one))
		}
		all = append(all, cell)
	}
	if len(s.Grid) > 0 {
		var names []string
		var values [][]string
		for _, a := range s.Grid {
			names, values = append(names, a.Name), append(values, a.Values)
		}
		all = append(all, program.Grid(names, values)...)
	}
	return all
}

func (c *Campaign) matrix(ctx context.Context, s *Step, r *Result) error {
	n, sessions, err := c.load(s)
	if err != nil {
		return err
	}
	p, err := program.AtScale(s.Load, n, c.scaled(s.WarmUp, leastWarmUp), c.lasting(s, n))
	if err != nil {
		return err
	}
	program.SetSessions(p, sessions)
	execute := c.execute(s, briefly)
	m := &program.Matrix{
		MatrixOptions: program.MatrixOptions{Cells: cells(s), Repetitions: s.Repetitions, Seed: s.Load.Seed, By: s.By,
			Tolerance: s.Tolerance, N: n},
		Plan: p, Drive: execute,
		Reconfigure: func(ctx context.Context, cell program.Cell) error {
			var settings []campaignfile.Setting
			for _, one := range cell {
				settings = append(settings, campaignfile.Setting(one))
			}
			if c.service.up && slices.Equal(settings, c.service.settings) {
				return c.service.gone()
			}
			return c.service.configure(ctx, settings)
		},
		Done: func(cell program.Cell, o *program.Outcome) {
			c.o.Say("%s: %s, %s/s of %s/s, p95 %s", cell, o.Run.Verdict.Result, units.Rate(o.AchievedPerS()),
				units.Rate(o.Run.Total.OfferedPerS), units.LatencyInt(o.Run.Total.Response.P95Ns))
		},
	}
	log, err := m.Run(ctx)
	if err != nil {
		return err
	}
	r.Matrix = log
	return nil
}
