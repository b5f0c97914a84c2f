package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"brunt/internal/base/stats"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/svg"
	"brunt/internal/render/units"
)

// mostOperationRows is the most rows of single operations that are shown. If there are more, only rows with a
// regression or an improvement are shown.
const mostOperationRows = 20

// Tables returns the comparison as tables for people: what was compared, the metrics, the operations, and the warnings.
func (c *Comparison) Tables(l units.Language) []cell.Table {
	head := cell.Table{ID: "compared", Title: message.Label(l, "COMPARED"), Kind: cell.Tree}
	side := func(s Side) string {
		parts := []string{message.Plural(l, s.Runs, "run", "runs"), s.Name, s.Version}
		return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
	}
	head.Add(cell.Text(message.Label(l, "base")), cell.Text(side(c.Base)))
	head.Add(cell.Text(message.Label(l, "candidate")), cell.Text(side(c.Candidate)))
	head.Add(cell.Text(message.Label(l, "verdict")),
		cell.Text(message.Label(l, string(c.Verdict))).Marked(mark(c.Verdict)))
	tables := []cell.Table{head, c.grid(l, "metrics", message.Label(l, "METRICS"), c.totals())}
	if rows := c.operations(); len(rows) > 0 {
		tables = append(tables, c.grid(l, "operations", message.Label(l, "OPERATIONS"), rows))
	}
	for _, t := range []cell.Table{c.sums(l), c.functions(l)} {
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return append(tables, warningTable(l, c.Warnings, c.notes(l))...)
}

func mark(v Verdict) cell.Mark {
	return map[Verdict]cell.Mark{Regression: cell.Bad, Improvement: cell.Good, Equivalent: cell.Plain,
		Inconclusive: cell.Warn, Unknown: cell.Warn}[v]
}

// Mark returns the mark of the overall verdict.
func (c *Comparison) Mark() cell.Mark { return mark(c.Verdict) }

// Reasons returns the metrics that decided the overall verdict, each with its change.
func (c *Comparison) Reasons(l units.Language) (out []string) {
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Verdict == c.Verdict && r.Operation == "" && c.Verdict != Equivalent && c.Verdict != Unknown {
			out = append(out, RowName(l, r.Metric, r.Operation)+": "+changeCell(r, r.Change.Value).Figure(l))
		}
	}
	return out
}

// Chart draws the changes of the overall metrics as an SVG, with their intervals and tolerances.
func (c *Comparison) Chart(l units.Language) string {
	var all []svg.Change
	for _, r := range c.totals() {
		if r.Lacking || math.IsInf(r.Change.Value, 0) {
			continue
		}
		all = append(all, svg.Change{
			Name: RowName(l, r.Metric, r.Operation), Value: r.Change.Value, Low: r.Change.Low, High: r.Change.High,
			Tolerance: r.Tolerance, Figure: changeCell(&r, r.Change.Value).Figure(l), Mark: mark(r.Verdict),
		})
	}
	return svg.Changes(svg.Frame{Title: message.Label(l, "Change from A to B"), Language: l}, all)
}

func (c *Comparison) totals() (rows []Row) {
	for _, r := range c.Rows {
		if r.Operation == "" {
			rows = append(rows, r)
		}
	}
	return rows
}

// operations returns the rows of single operations: all rows if there are at most mostOperationRows, otherwise those
// with a regression or an improvement.
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

// grid returns the table of the rows.
func (c *Comparison) grid(l units.Language, id, title string, rows []Row) cell.Table {
	t := cell.Table{
		ID: id, Title: title, Note: message.Label(l, "change of the candidate; intervals at %s confidence",
			l.Figure(percent(c.Confidence))),
		Columns: []cell.Column{
			{Head: message.Label(l, "metric"), Left: true}, {Head: message.Label(l, "base"), Priority: 1},
			{Head: message.Label(l, "candidate"), Priority: 1},
			{Head: message.Label(l, "change")}, {Head: message.Label(l, "from")}, {Head: message.Label(l, "to")},
			{Head: message.Label(l, "verdict"), Left: true},
			{Head: message.Label(l, "runs"), Priority: 2}, {Head: message.Label(l, "tolerance"), Priority: 3},
			{Head: "p", Priority: 4},
			{Head: message.Label(l, "effect"), Priority: 5},
		},
	}
	for i := range rows {
		t.Rows = append(t.Rows, c.row(l, &rows[i]))
	}
	if c.Verdict == Unknown {
		const known = 4 // columns that don't need several runs
		t.Note, t.Columns = message.Label(l, "change of the candidate"), t.Columns[:known]
		for i := range t.Rows {
			t.Rows[i] = t.Rows[i][:known]
		}
	}
	return t
}

func (c *Comparison) row(l units.Language, r *Row) []cell.Cell {
	needed := cell.Text("")
	switch {
	case r.Needed > 0:
		needed = cell.Count(r.Needed)
	case r.Verdict == Inconclusive && r.Operation == "" && !r.ByRanks && !r.Lacking:
		needed = cell.Text("> " + units.Count(stats.MostRuns))
	}
	return []cell.Cell{
		cell.Text(RowName(l, r.Metric, r.Operation)), c.estimate(r, r.Base), c.estimate(r, r.Candidate),
		changeCell(r, r.Change.Value), changeCell(r, r.Change.Low), changeCell(r, r.Change.High),
		cell.Text(message.Label(l, string(r.Verdict))).Marked(mark(r.Verdict)), needed,
		cell.Text("±" + l.Figure(r.tolerance())), cell.Text(l.Figure(probability(r.P))), effectCell(l, r),
	}
}

// estimate returns the value of a side. For a single run it has the interval within the run, if there is one.
func (c *Comparison) estimate(r *Row, i stats.Interval) cell.Cell {
	f := cell.Metric(i.Value, r.Unit).Showing(halfWidth(i))
	if r.Verdict != Unknown || math.IsNaN(i.Low) {
		return f
	}
	f.Bounds = &cell.Bounds{Low: i.Low, High: i.High, Confidence: record.Confidence, Correlated: i.Correlated}
	return f
}

// changeUnit returns the unit of the change: percentage points for shares, otherwise a share of the base.
func (r *Row) changeUnit() string {
	if r.Unit == "share" {
		return "points"
	}
	return "change"
}

// tolerance formats the tolerance in the unit of the change.
func (r *Row) tolerance() string {
	if r.Unit == "share" {
		return fmt.Sprintf("%.3g pp", 100*r.Tolerance)
	}
	return percent(r.Tolerance)
}

func changeCell(r *Row, x float64) cell.Cell {
	if math.Abs(x) < 1e-9 { // a rounding error of logarithms
		x = 0
	}
	return cell.Metric(x, r.changeUnit())
}

func effectCell(l units.Language, r *Row) cell.Cell {
	switch {
	case math.IsNaN(r.Effect):
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

// percent writes a share with all its digits: 99.99999 % isn't 100 %.
func percent(x float64) string { return fmt.Sprintf("%.12g %%", 100*x) }

// notes returns the notes of the rows for all operations together.
func (c *Comparison) notes(l units.Language) (out []string) {
	for _, r := range c.totals() {
		if !r.Note.IsZero() {
			out = append(out, message.Metric(l, r.Metric)+": "+r.Note.In(l))
		}
	}
	if c.Verdict == Inconclusive {
		out = append(out, message.Label(l,
			"runs: so many on each side would settle it in four cases of five, if what was seen is so"))
	}
	return out
}

func warningTable(l units.Language, warnings []message.Message, notes []string) []cell.Table {
	t := cell.Table{ID: "notes", Title: message.Label(l, "TO KNOW"), Kind: cell.List}
	for _, w := range warnings {
		t.Add(cell.Text("!").Marked(cell.Warn), cell.Text(w.In(l)))
	}
	for _, n := range notes {
		t.Add(cell.Text("·").Marked(cell.Dim), cell.Text(n))
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return []cell.Table{t}
}

// Tables returns the summary as tables for people. The first one has the intervals that also hold for skewed
// distributions.
func (s *Summary) Tables(l units.Language) []cell.Table {
	typical := cell.Table{
		ID: "intervals", Title: message.Label(l, "INTERVALS"),
		Note: message.Label(l, "%s of %s at %s: geometric mean, by Student's t on logarithms; of shares the mean",
			message.Plural(l, s.Runs, "run", "runs"), s.Name, l.Figure(percent(s.Confidence))),
		Columns: []cell.Column{
			{Head: message.Label(l, "metric"), Left: true}, {Head: message.Label(l, "typical")},
			{Head: message.Label(l, "from")},
			{Head: message.Label(l, "to")},
			{Head: message.Label(l, "spread"), Priority: 2}, {Head: message.Label(l, "runs for ±tolerance"), Priority: 1},
		},
	}
	other := cell.Table{
		ID: "intervals-other", Title: message.Label(l, "OTHER INTERVALS"),
		Note: message.Label(
			l, "mean ± t·s/√n by Student's t, which holds less often of skewed figures; median, of any distribution"),
		Columns: []cell.Column{
			{Head: message.Label(l, "metric"), Left: true}, {Head: message.Label(l, "mean")}, {Head: message.Label(l, "from")},
			{Head: message.Label(l, "to")},
			{Head: message.Label(l, "median"), Priority: 1}, {Head: message.Label(l, "from"), Priority: 1},
			{Head: message.Label(l, "to"), Priority: 1},
		},
	}
	left := 0
	for i := range s.Rows {
		r := &s.Rows[i]
		if r.Operation != "" && s.operations() > mostOperationRows {
			left++
			continue
		}
		name := RowName(l, r.Metric, r.Operation)
		row := append([]cell.Cell{cell.Text(name)}, intervalCells(r.Typical, r.Unit)...)
		row[1].Bounds = s.within(r)
		typical.Add(append(row, cell.Metric(r.Deviation, "share"), neededCell(r.Needed))...)
		row = append([]cell.Cell{cell.Text(name)}, intervalCells(r.Mean, r.Unit)...)
		other.Add(append(row, intervalCells(r.Median, r.Unit)...)...)
	}
	if left > 0 {
		typical.Foot = append(typical.Foot, message.Label(l, "%d operations are left out; --output json has them", s.operations()))
	}
	tables := []cell.Table{typical, other}
	if s.Runs == 1 {
		const known = 2 // columns that have values for a single run
		tables[0].Note = message.Plural(l, s.Runs, "run", "runs") + ", " + s.Name
		tables[0].Columns = typical.Columns[:known]
		for i, row := range typical.Rows {
			tables[0].Rows[i] = row[:known]
		}
		tables = tables[:1]
	}
	return append(tables, warningTable(l, s.Warnings, s.notes(l))...)
}

// RowName returns the title of a metric, prefixed with the operation's name if there is one.
func RowName(l units.Language, metric, operation string) string {
	if operation == "" {
		return message.Metric(l, metric)
	}
	return operation + ": " + message.Metric(l, metric)
}

// intervalCells returns an estimate and the limits of its interval, with enough digits to tell them apart.
func intervalCells(i stats.Interval, unit string) []cell.Cell {
	step := halfWidth(i)
	return []cell.Cell{
		cell.Metric(i.Value, unit).Showing(step), cell.Metric(i.Low, unit).Showing(step),
		cell.Metric(i.High, unit).Showing(step),
	}
}

// halfWidth returns half the width of an interval, 0 if it has none.
func halfWidth(i stats.Interval) float64 {
	if w := (i.High - i.Low) / 2; w > 0 && !math.IsInf(w, 0) {
		return w
	}
	return 0
}

// notes returns the reasons why metrics have no interval.
func (s *Summary) notes(l units.Language) (out []string) {
	for i := range s.Rows {
		if r := &s.Rows[i]; !r.Note.IsZero() && r.Operation == "" {
			out = append(out, message.Metric(l, r.Metric)+": "+r.Note.In(l))
		}
	}
	return out
}

// operations returns the number of operations that have rows.
func (s *Summary) operations() int {
	names := map[string]bool{}
	for i := range s.Rows {
		if s.Rows[i].Operation != "" {
			names[s.Rows[i].Operation] = true
		}
	}
	return len(names)
}

// within returns the interval within a single run, nil if there is none.
func (s *Summary) within(r *SummaryRow) *cell.Bounds {
	w := r.Within
	if w == nil {
		return nil
	}
	return &cell.Bounds{Low: w.Low, High: w.High, Confidence: record.Confidence, Correlated: w.Correlated, Why: w.Why}
}

func neededCell(n int) cell.Cell {
	if n == 0 {
		return cell.Text("")
	}
	return cell.Count(n)
}
