package compare

import (
	"fmt"
	"math"
	"strings"

	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/texts"
	"brunt/internal/stats"
	"brunt/internal/units"
)

// mostOperationRows bounds the rows of single operations that are shown; the clearest come first.
const mostOperationRows = 20

// Tables are the comparison for people: what was compared, the metrics, what is to be known.
func (c *Comparison) Tables(l units.Language) []cell.Table {
	head := cell.Table{ID: "compared", Title: texts.In(l, "COMPARED"), Kind: cell.Tree}
	side := func(s Side) string {
		text := texts.Plural(l, s.Runs, "run", "runs")
		return strings.Join(nonEmpty(text, s.Name, s.Version), ", ")
	}
	head.Add(cell.Text(texts.In(l, "base")), cell.Text(side(c.Base)))
	head.Add(cell.Text(texts.In(l, "candidate")), cell.Text(side(c.Candidate)))
	head.Add(cell.Text(texts.In(l, "verdict")), cell.Text(texts.In(l, string(c.Verdict))).Marked(mark(c.Verdict)))
	tables := []cell.Table{head, c.grid(l, "metrics", texts.In(l, "METRICS"), c.totals())}
	if rows := c.operations(); len(rows) > 0 {
		tables = append(tables, c.grid(l, "operations", texts.In(l, "OPERATIONS"), rows))
	}
	return append(tables, warningTable(l, c.Warnings, c.notes(l))...)
}

func nonEmpty(all ...string) (out []string) {
	for _, s := range all {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func mark(v Verdict) cell.Mark {
	return map[Verdict]cell.Mark{Regression: cell.Bad, Improvement: cell.Good, Equivalent: cell.Plain, Inconclusive: cell.Warn, Unknown: cell.Warn}[v]
}

func (c *Comparison) totals() (rows []Row) {
	for _, r := range c.Rows {
		if r.Operation == "" {
			rows = append(rows, r)
		}
	}
	return rows
}

// operations are the rows of single operations that changed, or all if they are few.
func (c *Comparison) operations() (rows []Row) {
	var all []Row
	for _, r := range c.Rows {
		if r.Operation == "" {
			continue
		}
		all = append(all, r)
		if r.Verdict == Regression || r.Verdict == Improvement {
			rows = append(rows, r)
		}
	}
	if len(all) <= mostOperationRows {
		return all
	}
	return rows[:min(len(rows), mostOperationRows)]
}

// grid is a table of metrics compared.
func (c *Comparison) grid(l units.Language, id, title string, rows []Row) cell.Table {
	t := cell.Table{
		ID: id, Title: title, Note: texts.In(l, "change of the candidate; intervals at %s confidence", l.Figure(percent(c.Confidence))),
		Columns: []cell.Column{
			{Head: texts.In(l, "metric"), Left: true}, {Head: texts.In(l, "base"), Priority: 1}, {Head: texts.In(l, "candidate"), Priority: 1},
			{Head: texts.In(l, "change")}, {Head: texts.In(l, "from")}, {Head: texts.In(l, "to")}, {Head: texts.In(l, "verdict"), Left: true},
			{Head: texts.In(l, "runs"), Priority: 2}, {Head: texts.In(l, "tolerance"), Priority: 3}, {Head: "p", Priority: 4},
			{Head: texts.In(l, "effect"), Priority: 5},
		},
	}
	for i := range rows {
		t.Rows = append(t.Rows, c.row(l, &rows[i]))
	}
	if c.Verdict == Unknown {
		const known = 4 // columns that don't need several runs
		t.Note, t.Columns = texts.In(l, "change of the candidate"), t.Columns[:known]
		for i := range t.Rows {
			t.Rows[i] = t.Rows[i][:known]
		}
	}
	return t
}

func (c *Comparison) row(l units.Language, r *Row) []cell.Cell {
	name := texts.Metric(l, r.Metric)
	if r.Operation != "" {
		name = r.Operation + ": " + name
	}
	needed := cell.Text("")
	switch {
	case r.Needed > 0:
		needed = cell.Count(r.Needed)
	case r.Verdict == Inconclusive && r.Operation == "" && !math.IsNaN(r.P):
		needed = cell.Text("> " + units.Count(stats.MostRuns))
	}
	return []cell.Cell{
		cell.Text(name), c.estimate(r, r.Base), c.estimate(r, r.Candidate),
		changeCell(r.Change.Value), changeCell(r.Change.Low), changeCell(r.Change.High),
		cell.Text(texts.In(l, string(r.Verdict))).Marked(mark(r.Verdict)), needed,
		cell.Text("±" + l.Figure(percent(r.Tolerance))), cell.Text(l.Figure(probability(r.P))), effectCell(l, r),
	}
}

// estimate is a side's figure; of a single run with the interval within it, if there is one.
func (c *Comparison) estimate(r *Row, i stats.Interval) cell.Cell {
	f := cell.Metric(i.Value, r.Unit)
	if r.Verdict != Unknown || math.IsNaN(i.Low) {
		return f
	}
	f.Bounds = &cell.Bounds{Low: i.Low, High: i.High, Confidence: record.Confidence, Correlated: i.Correlated}
	return f
}

func changeCell(x float64) cell.Cell {
	if math.IsNaN(x) {
		return cell.None()
	}
	if math.Abs(x) < 1e-9 { // what logarithms leave of nothing
		x = 0
	}
	return cell.Figure(x, "change")
}

func effectCell(l units.Language, r *Row) cell.Cell {
	switch {
	case math.IsNaN(r.P):
		return cell.None()
	case math.IsInf(r.Effect, 0):
		return cell.Text("∞")
	}
	return cell.Text(l.Figure(strings.ReplaceAll(fmt.Sprintf("%+.1f", r.Effect), "-", "−")))
}

func probability(p float64) string {
	switch {
	case math.IsNaN(p):
		return "–"
	case p < 0.0001:
		return "< 0.0001"
	}
	return fmt.Sprintf("%.4f", p)
}

func percent(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }

// notes say what rows have to say.
func (c *Comparison) notes(l units.Language) (out []string) {
	for _, r := range c.totals() {
		if r.Note != "" {
			out = append(out, texts.Metric(l, r.Metric)+": "+texts.Sentence(l, r.Note))
		}
	}
	if c.Verdict == Inconclusive {
		out = append(out, texts.In(l, "runs: so many on each side would settle it in four cases of five, if what was seen is so"))
	}
	return out
}

func warningTable(l units.Language, warnings, notes []string) []cell.Table {
	t := cell.Table{ID: "notes", Title: texts.In(l, "TO KNOW"), Kind: cell.List}
	for _, w := range warnings {
		t.Add(cell.Text("!").Marked(cell.Warn), cell.Text(texts.Sentence(l, w)))
	}
	for _, n := range notes {
		t.Add(cell.Text("·").Marked(cell.Dim), cell.Text(n))
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return []cell.Table{t}
}

// Tables are the summary for people.
func (s *Summary) Tables(l units.Language) []cell.Table {
	mean := cell.Table{
		ID: "intervals", Title: texts.In(l, "INTERVALS"),
		Note: texts.In(l, "%s of %s; Student's t at %s: mean ± t·s/√n", texts.Plural(l, s.Runs, "run", "runs"), s.Name, l.Figure(percent(s.Confidence))),
		Columns: []cell.Column{
			{Head: texts.In(l, "metric"), Left: true}, {Head: texts.In(l, "mean")}, {Head: texts.In(l, "from")}, {Head: texts.In(l, "to")},
			{Head: texts.In(l, "spread"), Priority: 2}, {Head: texts.In(l, "runs for ±tolerance"), Priority: 1},
		},
	}
	robust := cell.Table{
		ID: "intervals-robust", Title: texts.In(l, "OTHER INTERVALS"),
		Note: texts.In(l, "on logarithms, for few runs; of the median, for any distribution"),
		Columns: []cell.Column{
			{Head: texts.In(l, "metric"), Left: true}, {Head: texts.In(l, "geometric mean")}, {Head: texts.In(l, "from")}, {Head: texts.In(l, "to")},
			{Head: texts.In(l, "median")}, {Head: texts.In(l, "from")}, {Head: texts.In(l, "to")},
		},
	}
	left := 0
	for i := range s.Rows {
		r := &s.Rows[i]
		if r.Operation != "" && s.operations() > mostOperationRows {
			left++
			continue
		}
		name := texts.Metric(l, r.Metric)
		if r.Operation != "" {
			name = r.Operation + ": " + name
		}
		mean.Add(cell.Text(name), s.figure(r), cell.Metric(r.Mean.Low, r.Unit), cell.Metric(r.Mean.High, r.Unit), shareCell(r.Deviation), neededCell(r.Needed))
		if !math.IsNaN(r.Log.Value) || !math.IsNaN(r.Median.Low) {
			robust.Add(cell.Text(name), cell.Metric(r.Log.Value, r.Unit), cell.Metric(r.Log.Low, r.Unit), cell.Metric(r.Log.High, r.Unit),
				cell.Metric(r.Median.Value, r.Unit), cell.Metric(r.Median.Low, r.Unit), cell.Metric(r.Median.High, r.Unit))
		}
	}
	if left > 0 {
		mean.Foot = append(mean.Foot, texts.In(l, "%d operations are left out; --output json has them", s.operations()))
	}
	if s.Runs == 1 {
		const known = 2 // columns that one run fills
		mean.Columns = mean.Columns[:known]
		for i := range mean.Rows {
			mean.Rows[i] = mean.Rows[i][:known]
		}
	}
	tables := []cell.Table{mean}
	if len(robust.Rows) > 0 {
		tables = append(tables, robust)
	}
	return append(tables, warningTable(l, s.Warnings, s.notes(l))...)
}

// notes say why metrics have no interval.
func (s *Summary) notes(l units.Language) (out []string) {
	for i := range s.Rows {
		if r := &s.Rows[i]; r.Note != "" && r.Operation == "" {
			out = append(out, texts.Metric(l, r.Metric)+": "+texts.Sentence(l, r.Note))
		}
	}
	return out
}

// operations counts the operations that have rows.
func (s *Summary) operations() int {
	names := map[string]bool{}
	for i := range s.Rows {
		if s.Rows[i].Operation != "" {
			names[s.Rows[i].Operation] = true
		}
	}
	return len(names)
}

// figure is the mean; of a single run with the interval within it.
func (s *Summary) figure(r *SummaryRow) cell.Cell {
	f := cell.Metric(r.Mean.Value, r.Unit)
	if w := r.Within; w != nil {
		f.Bounds = &cell.Bounds{Low: w.Low, High: w.High, Confidence: record.Confidence, Correlated: w.Correlated, Why: w.Why}
	}
	return f
}

func shareCell(x float64) cell.Cell {
	if math.IsNaN(x) {
		return cell.None()
	}
	return cell.Figure(x, "share")
}

func neededCell(n int) cell.Cell {
	if n == 0 {
		return cell.Text("")
	}
	return cell.Count(n)
}
