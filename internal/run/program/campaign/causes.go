package campaign

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/page"
	"brunt/internal/render/svg"
	"brunt/internal/render/units"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// mostCauses limits the findings on the first page.
const mostCauses = 6

// figure formats a value of a unit.
func (d *document) figure(v float64, unit string) string { return d.l.Value(v, unit) }

func join(parts []string) string { return strings.Join(parts, ", ") }

// named returns the name under which the appendix has a statement: S1, S2 and so on.
func (d *document) named(text string) string {
	text = oneLine(text)
	k := slices.Index(d.sql, text)
	if k < 0 {
		k = len(d.sql)
		d.sql = append(d.sql, text)
	}
	return fmt.Sprintf("S%d", k+1)
}

// appendix is the chapter with the statements that other chapters name.
func (d *document) appendix() {
	if len(d.sql) == 0 {
		return
	}
	t := cell.Table{ID: "appendix-statements", Title: d.say("STATEMENTS"), Columns: []cell.Column{{Left: true},
		{Head: d.say("statement"), Left: true, Wrap: true}}}
	for i, text := range d.sql {
		t.Add(cell.Text(fmt.Sprintf("S%d", i+1)), cell.Text(text))
	}
	d.add(part{id: "appendix", title: d.say("Appendix: statements"), tables: []cell.Table{t}})
}

// titles are findings in words.
var titles = map[string]string{
	"seq-scan": "Missing index", "sort-limit": "Missing index for an order",
	"misestimate": "Wrong estimate of the planner",
	"spill":       "Sorting or hashing on disk", "foreign-key-index": "Foreign key without an index",
	"unused-index": "Unused index",
	"hot-rows":     "Waiting for rows", "connections": "Connections", "pool-too-small": "Too few connections in the pool",
	"idle-in-transaction": "Open transactions without work", "bloat": "Dead rows", "stale-statistics": "Old statistics",
	"cache-misses": "Data doesn't fit into the cache", "deep-offset": "Reading what is skipped",
	"count-star": "Counting all rows",
	"n-plus-one": "One statement for each row", "hidden-scan": "A trigger or function that reads too much",
	"stampede": "The same computed several times at once", "lock-across-call": "A lock held across a call",
	"outside-database": "Waiting outside the database",
}

// titleOf returns what a finding is, in words.
func (d *document) titleOf(id string) string {
	if title := titles[id]; title != "" {
		return d.say(title)
	}
	return strings.ReplaceAll(id, "-", " ")
}

// causes is the table of the first page: each cause with its evidence, the remedy, and whether it is proven.
func (d *document) causes() cell.Table {
	t := cell.Table{ID: "overview-causes", Title: d.say("CAUSES"), Columns: []cell.Column{
		{Head: d.say("cause"), Left: true, Wrap: true}, {Head: d.say("evidence"), Left: true, Wrap: true},
		{Head: d.say("remedy"), Left: true, Wrap: true}, {Head: d.say("proven"), Left: true, Wrap: true}}}
	row := func(cause, evidence, remedy, proven string, mark cell.Mark) {
		t.Add(cell.Text(cause), cell.Text(evidence), cell.Text(remedy), cell.Text(proven).Marked(mark))
	}
	for _, r := range d.ofKind(campaignfile.StepFix) {
		proofs := r.Fix.proofs()
		for i := range proofs {
			x := &proofs[i]
			proven, mark := d.say("tried, and dropped: %s", program.Brief(x.Why.In(d.l))), cell.Plain
			if x.Kept {
				proven, mark = d.say("kept")+": "+strings.ReplaceAll(d.measuredChange(x), "\u00a0", " "), cell.Good
			}
			row(d.say("Missing index"), d.slowStatements(x), d.say("index on %s (%s)", x.Table, join(x.Columns)), proven,
				mark)
		}
	}
	d.triedSettings(row)
	for _, f := range d.findings(mostCauses) {
		about := about(&f.Finding)
		if f.Statement != "" {
			about = d.named(f.text)
		}
		row(d.titleOf(f.ID)+": "+about, sentence(f.Evidence.In(d.l)), sentence(f.Advice.In(d.l)), d.say("not tried"),
			cell.Plain)
	}
	return t
}

// sentence returns a text with a full stop.
func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// measuredChange formats what an index changed.
func (d *document) measuredChange(x *record.Proof) string {
	c := x.Change
	if c == nil {
		return d.say("without a measurement")
	}
	return fmt.Sprintf("%s (%s … %s)", d.figure(c.Value, "change"), d.figure(c.Low, "change"), d.figure(c.High, "change"))
}

// slowStatements says how long the statements took that an index is for, without it and with it.
func (d *document) slowStatements(x *record.Proof) string {
	var parts []string
	for _, s := range x.Statements {
		parts = append(parts, d.say("%s took %s, and %s with it", d.named(s.Text), d.l.Figure(units.Latency(s.BeforeNs)),
			d.l.Figure(units.Latency(s.AfterNs))))
	}
	if len(parts) == 0 {
		for _, g := range x.Gains {
			parts = append(parts, d.named(g.Text))
		}
	}
	return strings.Join(parts, "; ")
}

// tiles are the headline figures: the maximum, the response time there, and what the fixes brought.
func (d *document) tiles() (out page.Tiles) {
	m, n := d.maxima()
	held := d.lastOf(campaignfile.StepConfirm)
	rate := d.profileRate() * n
	if n == 0 || rate == 0 {
		return nil
	}
	note := d.say("by the search; not held")
	if held != nil && held.confirms() && held.Trial.Verdict == verdict.Pass && same(held.Trial.N, n) {
		note = d.say("held for %s", wording{d.l}.span(held.Trial.LastsNs))
		out = append(out, page.Tile{Label: "p95", Figure: cell.Time(float64(held.Trial.P95Ns)),
			Note: d.say("at this load")})
	}
	out = append(page.Tiles{{Label: d.say("maximum"), Figure: cell.Rate(rate), Note: "N = " +
		d.l.Figure(program.Scale(n)) + "; " + note}}, out...)
	searches := d.ofKind(campaignfile.StepSearch)
	if len(searches) > 1 && m > 0 && changed(d.results) {
		low, high := d.risen(searches[0], searches[len(searches)-1], m, n)
		out = append(out, page.Tile{Label: d.say("before the fixes"), Figure: cell.Rate(d.profileRate() * m),
			Note: d.say("now %s times", d.ratio(n/m, low, high))})
	}
	return out
}

// loadChart draws the trials of all searches and holds: the load against the response time, with its limit.
func (d *document) loadChart() (chart, bool) {
	limitNs, relative := d.limitNs()
	value := func(t *program.Result) float64 {
		if limitNs == 0 {
			return float64(t.Strain)
		}
		return float64(t.P95Ns)
	}
	var series []svg.Series
	most, least, highest := 0.0, math.Inf(1), 0.0
	both := len(d.ofKind(campaignfile.StepSearch)) > 1 && changed(d.results)
	for i := range d.results {
		r := &d.results[i]
		var trials []program.Result
		switch {
		case r.Search != nil:
			trials = r.Search.Trials
			if r.Contradicts != nil {
				trials = slices.Concat(r.Contradicts.Trials, trials)
			}
		case r.Kind == campaignfile.StepConfirm && r.Trial != nil:
			if trials = r.Holds; len(trials) == 0 {
				trials = []program.Result{*r.Trial}
			}
		default:
			continue
		}
		for k := range trials {
			t := &trials[k]
			v := value(t)
			if t.Verdict == verdict.Invalid || t.TooFew || !(v > 0) {
				continue
			}
			if !math.IsInf(v, 0) {
				highest = max(highest, v)
			}
			name, color := d.say("passed"), 3
			if t.Verdict == verdict.Fail {
				name, color = d.say("failed"), 2
			}
			if both && r.Round == 0 {
				name, color = d.say("%s, before the fixes", name), map[int]int{3: 6, 2: 4}[color]
			}
			at := slices.IndexFunc(series, func(s svg.Series) bool { return s.Name == name })
			if at < 0 {
				at = len(series)
				series = append(series, svg.Series{Name: name, Scatter: true, Crosses: t.Verdict == verdict.Fail, Color: color})
			}
			perS := t.LoadPerS()
			series[at].X, series[at].Y = append(series[at].X, perS), append(series[at].Y, v)
			most, least = max(most, perS), min(least, perS)
		}
	}
	if len(series) == 0 {
		return chart{}, false
	}
	for i := range series { // loads at which some requests were never answered
		for k, v := range series[i].Y {
			if math.IsInf(v, 0) {
				series[i].Y[k] = max(highest, limitNs) * 1.5
			}
		}
	}
	title, y, limit := d.say("Response time (p95) by load"), svg.Axis{Unit: "ns", Log: true}, limitNs
	if limitNs == 0 {
		title, y, limit = d.say("Response time by load, as a share of its limit"), svg.Axis{Unit: "share", Log: true}, 1
	}
	if limitNs > 0 || highest > 0 && !relative {
		series = append(series, svg.Series{Name: d.say("limit"), X: []float64{least, most}, Y: []float64{limit, limit},
			Color: 7})
	}
	return chart{id: "overview-load", title: title, wide: true,
		svg: svg.Lines(svg.Frame{Title: title, X: svg.Axis{Label: d.say("asked"), Unit: "per_s", Log: most > 20*least},
			Y:     y,
			Width: halfWidth, Language: d.l}, series, nil)}, true
}

// limitNs returns the limit of the 95th percentile of all operations, ns; 0 if the plan has none. relative reports
// whether there are no thresholds at all.
func (d *document) limitNs() (ns float64, relative bool) {
	load := d.profile()
	if load == nil {
		return 0, true
	}
	for i := range load.Thresholds {
		t := &load.Thresholds[i]
		if t.Metric == "response" && t.Aggregate == "p" && t.Quantile == 95 && t.Operation == "" && !t.OK {
			return t.Limit, false
		}
	}
	return 0, len(load.Thresholds) == 0
}
