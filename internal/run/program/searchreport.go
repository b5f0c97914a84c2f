package program

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"brunt/internal/base/stats"
	"brunt/internal/judge/verdict"
	"brunt/internal/plan"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// SearchReport returns the report of a search of p that began at the given time.
func SearchReport(p *plan.Plan, s *Search, began time.Time) *Report {
	return &Report{Kind: "search", Name: p.Name, Started: began, Search: &SearchLog{
		Options: s.Options(), Rules: rules(p, s), Trials: s.Results(), Bracket: s.Bracket(), Curve: s.Curve(),
	}}
}

// rules returns the conditions that a trial must meet.
func rules(p *plan.Plan, s *Search) (out []message.Message) {
	for _, t := range p.Thresholds {
		out = append(out, message.Literal(t.Text))
	}
	if s.o.Relative {
		out = append(out, message.New("rule.errors", message.Share("limit", failedShare)))
		if b := s.base(); b != nil {
			out = append(out, message.New("rule.p95",
				message.Ns("limit", max(degraded*float64(b.P95Ns), float64(b.P95Ns)+degradedNs)),
				message.Count("times", degraded), message.Text("base_n", Scale(b.N)), message.Ns("base", float64(b.P95Ns)),
				message.Count("n", b.Offered)))
		}
	}
	return append(out, message.New("rule.answered", message.Share("least", leastAchieved)), message.New("rule.backlog"))
}

func (s *SearchLog) tables(l units.Language) []cell.Table {
	return []cell.Table{s.maximum(l), s.trials(l), s.curve(l)}
}

// Scale formats N with four digits, because brackets are narrower than three digits can show.
func Scale(n float64) string { return strconv.FormatFloat(n, 'g', 4, 64) }

// maximum returns the table with the result of the search.
func (s *SearchLog) maximum(l units.Language) cell.Table {
	say := func(text string, args ...any) string { return message.Label(l, text, args...) }
	n := func(x float64) string { return l.Figure(Scale(x)) }
	rate := func(x float64) string { return l.Figure(units.Rate(x)) + "/s" }
	t := cell.Table{ID: "maximum", Title: say("MAXIMUM"), Kind: cell.Tree}
	row := func(label, value, note string) { t.Add(cell.Texts(say(label), value, note)...) }
	b := &s.Bracket
	switch {
	case b.Lower > 0 && b.Upper > 0 && b.Refuted == 0:
		row("sustains", rate(s.PerS(b.Lower)), b.passed(l))
		row("not offered", rate(b.UpperPerS), say("N %s: the generator couldn't", n(b.Upper)))
	case b.Lower > 0 && b.Upper > 0:
		row("sustains", rate(s.PerS(b.Lower)), b.passed(l))
		row("doesn't sustain", rate(b.UpperPerS), b.failed(l))
		row("bracket", l.Figure(units.Fraction(b.Width())),
			say("between them; wanted: %s", l.Figure(units.Fraction(s.Options.Width))))
	case b.Lower > 0:
		row("sustains", rate(s.PerS(b.Lower)), say("N %s; what more it can do isn't known", n(b.Lower)))
	case b.Upper > 0:
		row("doesn't sustain", rate(b.UpperPerS), say("N %s", n(b.Upper)))
	}
	if b.LowerPerS > 0 {
		row("achieved", rate(b.LowerPerS), say("by the least of these trials"))
	}
	row("search", say(b.End), message.Plural(l, b.TrialsDone, "trial", "trials"))
	row("profile", rate(s.Options.RatePerS), say("N = 1"))
	c := &s.Curve
	if c.KneeN > 0 {
		row("knee", rate(c.KneePerS), say("N %s: most operations for the time that each takes", n(c.KneeN)))
	}
	switch {
	case c.Law == nil && len(s.Trials) >= stats.USLFewest:
		row("scalability", say("not known"), c.LawWhy.In(l))
	case c.Law == nil:
	case c.LawPeak > 0:
		row("scalability", say("peak of %s/s", l.Figure(units.Rate(c.LawPeakPerS))),
			say("at %s in flight; contention %s, coherency %s, R² %s", n(c.LawPeak), n(c.Law.Sigma),
				l.Figure(fmt.Sprintf("%.2g", c.Law.Kappa)), n(c.Law.R2)))
	default:
		row("scalability", say("no peak in reach"), say("contention %s, coherency %s, R² %s", n(c.Law.Sigma),
			l.Figure(fmt.Sprintf("%.2g", c.Law.Kappa)), n(c.Law.R2)))
	}
	for _, r := range s.Rules {
		row("a trial passes if", r.In(l), "")
	}
	return t
}

// passed describes the trials that support the lower end.
func (b *Bracket) passed(l units.Language) string {
	text := message.Label(l, "N %s, passed %d of %d trials", l.Figure(Scale(b.Lower)), b.Confirmed, b.Confirmed)
	if b.PassedOver > 0 {
		text += message.Label(l, ", and %d above it", b.PassedOver)
	}
	return text
}

// failed describes the trials that speak against the upper end.
func (b *Bracket) failed(l units.Language) string {
	text := message.Label(l, "N %s, failed %d of %d trials", l.Figure(Scale(b.Upper)), b.Refuted, b.Refuted)
	if b.FailedShort > 0 {
		text += message.Label(l, ", and %d below it", b.FailedShort)
	}
	return text
}

// trials returns the table of all trials, in order.
func (s *SearchLog) trials(l units.Language) cell.Table {
	say := func(text string) string { return message.Label(l, text) }
	t := cell.Table{ID: "trials", Title: say("TRIALS"), Columns: []cell.Column{
		{Head: "#"}, {Head: "N"}, {Head: say("asked"), Priority: 2}, {Head: say("offered")}, {Head: say("achieved")},
		{Head: "n", Priority: 4}, {Head: "p50"}, {Head: "p99"}, {Head: say("failed")},
		{Head: say("in flight"), Priority: 2}, {Head: say("sessions"), Priority: 3},
		{Head: say("purpose"), Left: true, Priority: 1}, {Head: say("verdict"), Left: true},
		{Head: say("why"), Left: true, Wrap: true},
	}}
	for i := range s.Trials {
		r := &s.Trials[i]
		mark, why := cell.Good, ""
		if r.Verdict != verdict.Pass {
			if mark = cell.Bad; r.Verdict == verdict.Invalid || r.TooFew {
				mark = cell.Warn
			}
			if len(r.Why) > 0 {
				why = Brief(r.Why[0].In(l))
			}
			switch {
			case r.TooFew && r.Connected > 0:
				why = say("the target lets no more connect: tried again with those")
			case r.TooFew:
				why = say("too few sessions: tried again with more")
			}
		}
		number := cell.Count(r.Number)
		number.Link = r.Dir
		t.Add(number, cell.Text(l.Figure(Scale(r.N))), cell.Rate(s.PerS(r.N)), cell.Rate(r.OfferedPerS),
			cell.Rate(r.AchievedPerS), CountCell(r.Offered),
			cell.Time(float64(r.P50Ns)), cell.Time(float64(r.P99Ns)), cell.Figure(r.Errors, "share"),
			cell.Figure(r.InFlight, cell.UnitNumber), cell.Count(r.Sessions), cell.Text(say(r.Purpose)),
			cell.Text(say(r.Verdict)).Marked(mark), cell.Text(why))
	}
	if s.random() {
		t.Foot = append(t.Foot, say(
			"asked: N times the profile; offered: what fell due, which random arrivals make more or less; achieved: of it, answered well in time"))
	}
	return t
}

// CountCell returns the cell for a count; empty for 0, since records of earlier versions lack the count.
func CountCell(n uint64) cell.Cell {
	if n == 0 {
		return cell.None()
	}
	return cell.Count(n)
}

// Brief returns a reason without causes and advice.
func Brief(why string) string {
	text, _, _ := strings.Cut(why, "; ")
	return text
}

// random reports whether random arrivals made a trial's load clearly different from the requested one.
func (s *SearchLog) random() bool {
	const clearly = 0.02
	for i := range s.Trials {
		if asked := s.PerS(s.Trials[i].N); math.Abs(s.Trials[i].OfferedPerS-asked) > clearly*asked {
			return true
		}
	}
	return false
}

// curve returns the tables of the load curve.
func (s *SearchLog) curve(l units.Language) cell.Table {
	say := func(text string) string { return message.Label(l, text) }
	t := cell.Table{ID: "curve", Title: say("LOAD CURVE"),
		Columns: []cell.Column{{Head: say("asked")}, {Head: say("offered"), Priority: 2}, {Head: say("achieved")},
			{Head: "", Left: true, Priority: 1}, {Head: "p50"}, {Head: "p95"}, {Head: "p99"}, {Head: say("failed")}}}
	points := s.Points()
	cpu, most := false, 0.0
	for i := range points {
		cpu, most = cpu || points[i].CPU > 0, max(most, points[i].AchievedPerS)
	}
	if cpu {
		t.Columns = append(t.Columns, cell.Column{Head: say("cores")})
	}
	for i := range points {
		p := &points[i]
		row := []cell.Cell{cell.Rate(s.PerS(p.N)), cell.Rate(p.OfferedPerS), cell.Rate(p.AchievedPerS),
			cell.Figure(p.AchievedPerS/max(most, 1e-9), cell.UnitBar),
			cell.Time(float64(p.P50Ns)), cell.Time(float64(p.P95Ns)), cell.Time(float64(p.P99Ns)),
			cell.Figure(p.Errors, "share")}
		if cpu {
			row = append(row, cell.Figure(p.CPU, "cores"))
		}
		t.Add(row...)
	}
	return t
}

// PerS returns the rate requested at N, operations a second.
func (s *SearchLog) PerS(n float64) float64 { return n * s.Options.RatePerS }

// Points returns the trials of the curve, as in Search.Curve, also for a report that was read from its file.
func (s *SearchLog) Points() []Result {
	return (&Search{o: s.Options, results: s.Trials}).Curve().Points
}
