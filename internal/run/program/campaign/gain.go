package campaign

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// mostStatements limits the statements in a table.
const mostStatements = 20

// measured is a run of a campaign: its step and its bundle.
type measured struct {
	of  *Result
	dir string
	n   float64
	run *record.Run
}

// gain is the chapter about the effect of the fixes: the maxima, and two runs at equal load, one before and one after.
// It reports whether there is anything to compare.
func (d *document) gain(searches []*Result) bool {
	p := part{id: "gain", section: true, title: d.say("What the fixes brought")}
	if !changed(d.results) {
		p.title = d.say("The same measured twice")
	}
	if text := d.rise(); text != "" {
		p.paragraphs = append(p.paragraphs, text)
		first, last := searches[0].Search, searches[len(searches)-1].Search
		m, n := d.maxima()
		if a, b := first.PerS(m), last.PerS(n); a > 0 && b > 0 {
			t := cell.Table{ID: "gain-maximum", Title: d.say("MAXIMUM"),
				Columns: []cell.Column{{Left: true}, {Head: d.say("before")}, {Head: d.say("after")}, {Head: d.say("times")}}}
			low, high := d.risen(searches[0], searches[len(searches)-1], m, n)
			t.Add(cell.Text("N"), cell.Text(d.l.Figure(program.Scale(m))), cell.Text(d.l.Figure(program.Scale(n))),
				d.times(n, m, low, high))
			t.Add(cell.Text(d.say("rate")), cell.Rate(a), cell.Rate(b), d.times(b, a, low, high))
			p.tables = append(p.tables, t)
		}
	}
	before, after := d.equal(searches)
	inspected := before != nil && looked(before.run) && looked(after.run)
	if before != nil {
		p.paragraphs = append(p.paragraphs,
			d.say("Compared at equal load, N = %s (%s/s): step %d before the fixes, step %d after them.",
				d.l.Figure(program.Scale(before.n)), d.l.Figure(units.Rate(d.profileRate()*before.n)), before.of.Number,
				after.of.Number))
		p.tables = append(p.tables, d.responses(before, after))
		if inspected {
			p.tables = append(p.tables, d.compared(before, after))
		}
	}
	if len(p.tables) > 0 {
		d.add(p)
	}
	return inspected
}

// maxima returns the maximum before the fixes and after them, as N. It is 0 if there is none.
func (d *document) maxima() (before, after float64) {
	for i := range d.results {
		if r := &d.results[i]; r.Search != nil && r.Round > 0 {
			before = maximum(d.results[:i])
			break
		}
	}
	return before, maximum(d.results)
}

// rise says how the fixes changed the maximum, or "" if it was measured only once.
func (d *document) rise() string {
	searches := d.ofKind(campaignfile.StepSearch)
	m, n := d.maxima()
	if len(searches) < 2 || !(m > 0) || !(n > 0) {
		return ""
	}
	first, last := searches[0].Search, searches[len(searches)-1].Search
	a, b := first.PerS(m), last.PerS(n)
	rates := []any{d.l.Figure(units.Rate(a)), d.l.Figure(units.Rate(b))}
	low, high := d.risen(searches[0], searches[len(searches)-1], m, n)
	unclear := 1 + max(first.Bracket.Width(), last.Bracket.Width(), first.Options.Width)
	switch {
	case !changed(d.results) && max(a, b) > min(a, b)*unclear:
		return d.say("Nothing was changed between the searches, and they found different maxima, %s/s and %s/s: the maximum isn't known better than this.", rates...)
	case b > a*unclear && low > 1:
		return d.say("The maximum rose from %s/s to %s/s, %s times.", append(rates, d.ratio(b/a, low, high))...)
	case a > b*unclear && high > 0 && high < 1:
		return d.say("The maximum fell from %s/s to %s/s, by %s.", append(rates, d.l.Figure(units.Fraction(1-b/a)))...)
	}
	return d.say("The maximum is the same within what is known of it: %s/s before, %s/s after.", rates...)
}

// risen returns the interval of the ratio of two maxima m and n, by how well they are known: each lies between what was
// held or passed and the lowest load that failed, in a search or a hold. An end is 0 if it isn't known.
func (d *document) risen(first, last *Result, m, n float64) (low, high float64) {
	before, after := d.failedAbove(first, m), d.failedAbove(last, n)
	if before > 0 {
		low = n / before
	}
	if after > 0 {
		high = after / m
	}
	return low, high
}

// failedAbove returns the lowest N above n that failed in a search, or in a confirmation between it and the next
// search, or 0 if none did.
func (d *document) failedAbove(search *Result, n float64) (lowest float64) {
	if upper := search.Search.Bracket.Upper; upper > n {
		lowest = upper
	}
	for i := range d.results {
		r := &d.results[i]
		if r.Number <= search.Number {
			continue
		}
		if r.Search != nil {
			break
		}
		for k := range r.Holds { // only confirmations have several
			if h := &r.Holds[k]; h.Verdict == verdict.Fail && h.N > n && (lowest == 0 || h.N < lowest) {
				lowest = h.N
			}
		}
	}
	return lowest
}

// ratio formats a ratio with its interval, whose ends are 0 if they aren't known.
func (d *document) ratio(value, low, high float64) string {
	digits := func(x float64) string { return d.l.Figure(units.Digits3(x)) }
	switch {
	case low > 0 && high > 0:
		return fmt.Sprintf("%s (%s … %s)", digits(value), digits(low), digits(high))
	case low > 0:
		return fmt.Sprintf("%s (≥ %s)", digits(value), digits(low))
	}
	return digits(value)
}

// times formats the ratio of a to b with its interval.
func (d *document) times(a, b, low, high float64) cell.Cell {
	if !(a > 0) || !(b > 0) || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return cell.None()
	}
	return cell.Text(d.ratio(a/b, low, high) + "×")
}

// spread is the half width of an interval of a figure's logarithm; 0 if unknown.
type spread float64

// spreadOf returns the spread of a figure with an interval.
func spreadOf(b *record.Bounds) spread {
	if b == nil || !(b.Low > 0) || !(b.High > 0) || math.IsInf(float64(b.High), 0) {
		return 0
	}
	return spread(math.Log(float64(b.High)/float64(b.Low)) / 2)
}

// around returns the interval of the ratio of two independent figures: the squares of the half widths of their
// logarithms add up.
func around(ratio float64, a, b spread) (low, high float64) {
	if a == 0 || b == 0 {
		return 0, 0
	}
	half := math.Hypot(float64(a), float64(b))
	return ratio * math.Exp(-half), ratio * math.Exp(half)
}

// profileRate returns the rate of the profile at N 1, operations a second, or 0 if there is none.
func (d *document) profileRate() float64 {
	if load := d.profile(); load != nil {
		if rate, err := program.ProfileRate(load); err == nil {
			return rate
		}
	}
	return 0
}

// looked reports whether a run's database was inspected.
func looked(run *record.Run) bool {
	return len(run.Inspections) > 0 && len(run.Inspections[0].Windows) > 0
}

// equal returns a run before the fixes and one after them at the same N, or nil if there is no such pair. They are two
// analyses, or else two trials of the first and the last search, because the later search begins where the earlier one
// ended.
func (d *document) equal(searches []*Result) (before, after *measured) {
	analyses := d.ofKind(campaignfile.StepAnalyse)
	for k := len(analyses) - 1; k > 0; k-- {
		for _, a := range analyses[:k] {
			b := analyses[k]
			if a.Round == 0 && b.Round > 0 && a.Trial != nil && b.Trial != nil && same(a.Trial.N, b.Trial.N) {
				return d.measured(a, a.Trial), d.measured(b, b.Trial)
			}
		}
	}
	if len(searches) < 2 {
		return nil, nil
	}
	first, last := searches[0], searches[len(searches)-1]
	trial := func(r *Result) *program.Result {
		all := r.Search.Trials
		k := slices.IndexFunc(all, func(t program.Result) bool {
			return t.Verdict == verdict.Pass &&
				same(t.N, first.Search.Bracket.Lower)
		})
		if k < 0 {
			return nil
		}
		return &all[k]
	}
	if a, b := trial(first), trial(last); a != nil && b != nil && last.Round > first.Round {
		return d.measured(first, a), d.measured(last, b)
	}
	return nil, nil
}

func same(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(a, b) }

func (d *document) measured(r *Result, t *program.Result) *measured {
	m := &measured{of: r, dir: t.Dir, n: t.N, run: &record.Run{}}
	if b := d.open(r, t.Dir); b != nil {
		m.run = b.Run
	}
	return m
}

// responses compares the response times of two runs by operation.
func (d *document) responses(before, after *measured) cell.Table {
	t := cell.Table{ID: "gain-responses", Title: d.say("RESPONSE TIMES"),
		Columns: []cell.Column{{Head: d.say("operation"), Left: true},
			{Head: d.say("%s before", "n")}, {Head: d.say("%s after", "n")},
			{Head: d.say("%s before", "p50")}, {Head: d.say("%s after", "p50")}, {Head: d.say("speedup")},
			{Head: d.say("%s before", "p95")}, {Head: d.say("%s after", "p95")}, {Head: d.say("speedup")}}}
	row := func(name cell.Cell, a, b *record.Operation) {
		cells := []cell.Cell{name, cell.Count(a.Response.Count), cell.Count(b.Response.Count)}
		for _, f := range []struct {
			of     func(*record.Operation) record.Ns
			within func(*record.Within) *record.Bounds
		}{
			{func(o *record.Operation) record.Ns { return o.Response.P50Ns },
				func(w *record.Within) *record.Bounds { return w.P50 }},
			{func(o *record.Operation) record.Ns { return o.Response.P95Ns },
				func(w *record.Within) *record.Bounds { return w.P95 }},
		} {
			x, y := took(a, f.of), took(b, f.of)
			faster := cell.None()
			if a.Response.Count > 0 && b.Response.Count > 0 && f.of(a) != record.Infinite && f.of(b) != record.Infinite {
				low, high := 0.0, 0.0
				if v, w := a.Response.Within, b.Response.Within; v != nil && w != nil {
					low, high = around(float64(f.of(a))/float64(f.of(b)), spreadOf(f.within(v)), spreadOf(f.within(w)))
				}
				faster = d.times(float64(f.of(a)), float64(f.of(b)), low, high)
			}
			cells = append(cells, x, y, faster)
		}
		t.Add(cells...)
	}
	for i := range before.run.Operations {
		a := &before.run.Operations[i]
		if k := slices.IndexFunc(after.run.Operations, func(o record.Operation) bool { return o.Name == a.Name }); k >= 0 {
			row(cell.Text(a.Name), a, &after.run.Operations[k])
		}
	}
	row(cell.Text(d.say("all")).Marked(cell.Strong), &before.run.Total, &after.run.Total)
	t.Add(cell.Text(d.say("bundle")), cell.None(), cell.None(), d.link(before.of, before.dir), d.link(after.of,
		after.dir))
	return t
}

// took returns a figure of an operation's response times, or none if it had no answers.
func took(o *record.Operation, of func(*record.Operation) record.Ns) cell.Cell {
	if o.Response.Count == 0 {
		return cell.None()
	}
	return cell.Time(of(o))
}

// seen is one statement in two analyses.
type seen struct {
	text          string
	before, after *record.Statement
}

// compared returns the times of statements in two analyses.
func (d *document) compared(before, after *measured) cell.Table {
	var all []seen
	first, last := before.run.Inspections[0].Windows[0].Statements, after.run.Inspections[0].Windows[0].Statements
	for i := range first {
		all = append(all, seen{text: first[i].Text, before: &first[i]})
	}
	for i := range last {
		k := slices.IndexFunc(all, func(s seen) bool { return s.text == last[i].Text })
		if k < 0 {
			k = len(all)
			all = append(all, seen{text: last[i].Text})
		}
		all[k].after = &last[i]
	}
	t := cell.Table{ID: "statements", Title: d.say("STATEMENTS"), Note: d.say("the server's own times"),
		Columns: []cell.Column{
			{Head: d.say("operation"), Left: true}, {Head: d.say("statement"), Left: true, Wrap: true},
			{Head: d.say("calls before")}, {Head: d.say("mean before")}, {Head: d.say("calls after")},
			{Head: d.say("mean after")}, {Head: d.say("speedup")},
		}}
	for _, s := range all[:min(len(all), mostStatements)] {
		of, faster := cmp.Or(s.before, s.after), cell.None()
		if s.before != nil && s.after != nil {
			low, high := around(s.before.MeanNs/s.after.MeanNs, spreadOfMean(s.before), spreadOfMean(s.after))
			faster = d.times(s.before.MeanNs, s.after.MeanNs, low, high)
		}
		row := append([]cell.Cell{cell.Text(strings.Join(of.Operations, ", ")), cell.Text(oneLine(s.text))},
			calls(s.before)...)
		t.Add(append(append(row, calls(s.after)...), faster)...)
	}
	return t
}

// spreadOfMean returns the spread of a statement's mean time: 1.96 standard errors, relative to the mean (delta
// method).
func spreadOfMean(s *record.Statement) spread {
	const quantile = 1.96 // of the normal distribution, for 95 %
	if s.Calls < 2 || s.MeanNs <= 0 {
		return 0
	}
	return spread(quantile * s.StddevNs / s.MeanNs / math.Sqrt(s.Calls))
}

// calls formats how often a statement was called and how long it took.
func calls(s *record.Statement) []cell.Cell {
	if s == nil {
		return []cell.Cell{cell.None(), cell.None()}
	}
	return []cell.Cell{cell.Count(uint64(s.Calls)), cell.Time(s.MeanNs)}
}
