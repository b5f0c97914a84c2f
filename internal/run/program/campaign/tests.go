package campaign

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"brunt/internal/base/stats"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure/timeline"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/svg"
	"brunt/internal/render/units"
	"brunt/internal/report"
	"brunt/internal/run/program"
	"brunt/internal/run/program/campaign/campaignfile"
)

// halfWidth is the width of a chart that is placed next to another one.
const halfWidth = 440

// tests is the chapter about the tests, step by step.
func (d *document) tests() {
	d.add(part{id: "tests", title: d.say("Tests")})
	for i := range d.results {
		r := &d.results[i]
		if r.Kind == campaignfile.StepPrepare || r.Kind == campaignfile.StepDocument {
			continue // listed in the table of results
		}
		p := part{id: "step-" + r.ID, section: true, title: d.round(r.title(d.l), r, len(d.ofKind(r.Kind)))}
		if len(d.ofKind(r.Kind)) > 1 && r.Round == 0 && r.Name != "" {
			p.title = r.Name
		}
		p.note = d.say("began %s, took %s; folder %s", r.Started.UTC().Format("2006-01-02 15:04:05 UTC"), d.took(r), r.ID)
		p.paragraphs = append(p.paragraphs, r.Sentence(d.l))
		if x := r.Contradicts; x != nil {
			p.paragraphs = append(p.paragraphs, d.say(
				"A first search of this step found N = %s, although nothing had been changed since the search before it, so it was made again.",
				d.l.Figure(program.Scale(x.Bracket.Lower))))
		}
		switch {
		case r.Search != nil:
			d.searchPart(&p, r)
		case r.Trial != nil:
			d.runPart(&p, r)
		case r.Fix != nil:
			d.fixPart(&p, r)
		case r.Experiment != nil:
			d.experimentPart(&p, r)
		}
		d.add(p)
		if r.Matrix != nil {
			d.matrixParts(r)
		}
	}
}

// linked makes the IDs of tables unique, and their links relative to the step's folder.
func linked(r *Result, tables []cell.Table) []cell.Table {
	for i := range tables {
		tables[i].ID = r.ID + "-" + tables[i].ID
		for _, row := range tables[i].Rows {
			for k := range row {
				if row[k].Link != "" {
					row[k].Link = r.ID + "/" + row[k].Link
				}
			}
		}
	}
	return tables
}

// searchPart shows a search: the load curve, and every trial.
func (d *document) searchPart(p *part, r *Result) {
	report := program.Report{Search: r.Search}
	tables := report.Tables(d.l)
	tables = slices.DeleteFunc(tables, func(t cell.Table) bool { return t.ID == "curve" }) // shown as charts
	p.tables = append(p.tables, linked(r, tables)...)
	points := r.Search.Points()
	line := func(name string, f func(*program.Result) float64) svg.Series {
		return lineOf(name, r.Search, points, f)
	}
	x := svg.Axis{Label: d.say("asked"), Unit: "per_s"}
	chartOf := func(id, title string, y svg.Axis, lines ...svg.Series) {
		p.charts = append(p.charts, chart{id: r.ID + "-" + id, title: title,
			svg: svg.Lines(svg.Frame{Title: title, X: x, Y: y, Width: halfWidth, Language: d.l}, lines, nil)})
	}
	chartOf("throughput", d.say("Throughput by load"), svg.Axis{Unit: "per_s"},
		line(d.say("achieved"), func(t *program.Result) float64 { return t.AchievedPerS }),
		line(d.say("offered"), func(t *program.Result) float64 { return t.OfferedPerS }))
	chartOf("response", d.say("Response time by load"), svg.Axis{Unit: "ns", Log: true},
		line("p50", func(t *program.Result) float64 { return float64(t.P50Ns) }),
		line("p95", func(t *program.Result) float64 { return float64(t.P95Ns) }),
		line("p99", func(t *program.Result) float64 { return float64(t.P99Ns) }))
	if lines := d.byOperation(r, points); len(lines) > 1 {
		chartOf("operations", d.say("Response time (p95) of each operation by load"), svg.Axis{Unit: "ns", Log: true},
			lines...)
	}
	if slices.ContainsFunc(points, func(t program.Result) bool { return t.CPU > 0 }) {
		chartOf("cpu", d.say("Cores of what was watched, by load"), svg.Axis{},
			line(d.say("cores"), func(t *program.Result) float64 { return t.CPU }))
	}
}

// lineOf returns a line over the loads of a search. Loads within the search's width of each other are one point, at
// their median: between them, the line would only show noise.
func lineOf(name string, s *program.SearchLog, points []program.Result, f func(*program.Result) float64) svg.Series {
	out := svg.Series{Name: name, Dots: true}
	for from := 0; from < len(points); {
		to := from
		var values []float64
		for to < len(points) && points[to].N <= points[from].N*(1+s.Options.Width) {
			if v := f(&points[to]); !math.IsInf(v, 0) && !math.IsNaN(v) {
				values = append(values, v)
			}
			to++
		}
		y := math.NaN()
		if len(values) > 0 {
			y = stats.Median(values)
		}
		out.X, out.Y = append(out.X, s.PerS((points[from].N+points[to-1].N)/2)), append(out.Y, y)
		from = to
	}
	return out
}

// byOperation returns a line for each operation: its 95th percentile in the trials of a search.
func (d *document) byOperation(r *Result, points []program.Result) (lines []svg.Series) {
	runs := map[string]*record.Run{}
	var names []string
	for i := range points {
		if points[i].Dir == "" {
			continue
		}
		b, err := r.bundle(d.dir, points[i].Dir)
		if err != nil {
			return nil
		}
		runs[points[i].Dir] = b.Run
		for k := range b.Run.Operations {
			if name := b.Run.Operations[k].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	const most = 12 // more lines can't be told apart
	for _, name := range names[:min(len(names), most)] {
		lines = append(lines, lineOf(name, r.Search, points, func(t *program.Result) float64 {
			if run := runs[t.Dir]; run != nil {
				for k := range run.Operations {
					if o := &run.Operations[k]; o.Name == name && o.Response.Count > 0 && o.Response.P95Ns != record.Infinite {
						return float64(o.Response.P95Ns)
					}
				}
			}
			return math.NaN()
		}))
	}
	return lines
}

// runPart shows a step with one run: its course over time, what was watched, and what its database did.
func (d *document) runPart(p *part, r *Result) {
	b := d.open(r, r.Trial.Dir)
	if b == nil {
		return
	}
	p.charts = append(p.charts, d.overTime(b, r.ID)...)
	if r == d.lastOf(campaignfile.StepConfirm) || d.showsDatabase(r) {
		p.charts = append(p.charts, d.responseParts(b.Run, r.ID)...)
	}
	t := r.Trial
	figures := cell.Table{ID: r.ID + "-figures", Title: d.say("FIGURES"), Columns: []cell.Column{
		{Head: "N"}, {Head: d.say("asked")}, {Head: d.say("offered")}, {Head: d.say("achieved")}, {Head: "n"},
		{Head: "p50"},
		{Head: "p95"}, {Head: "p99"}, {Head: d.say("failed")}, {Head: d.say("verdict"), Left: true},
		{Head: d.say("bundle"), Left: true},
	}}
	holds := r.Holds
	if len(holds) == 0 {
		holds = []program.Result{*t}
	}
	for i := range holds {
		h := &holds[i]
		figures.Add(cell.Text(d.l.Figure(program.Scale(h.N))), cell.Rate(h.LoadPerS()), cell.Rate(h.OfferedPerS),
			cell.Rate(h.AchievedPerS), program.CountCell(h.Offered), cell.Time(float64(h.P50Ns)), cell.Time(float64(h.P95Ns)),
			cell.Time(float64(h.P99Ns)), cell.Figure(h.Errors, "share"), cell.Text(d.say(h.Verdict)), d.link(r, h.Dir))
	}
	p.tables = append(p.tables, figures)
	for i, why := range message.Strings(d.l, t.Why) {
		if i == 0 && why == program.Brief(why) {
			continue // it is in the step's sentence
		}
		p.paragraphs = append(p.paragraphs, why+".")
	}
	if r.Kind == campaignfile.StepReliability || r == d.lastOf(campaignfile.StepConfirm) {
		p.tables = append(p.tables, linked(r, report.Watched(b.Run, d.l))...)
	}
	for i := range b.Run.Inspections {
		in, id := &b.Run.Inspections[i], fmt.Sprintf("%s-%d", r.ID, i)
		switch {
		case d.showsDatabase(r):
			p.tables = append(p.tables, d.inspection(in, id)...)
		case r.Kind == campaignfile.StepConnections:
			if t := d.clients(in, id); len(t.Rows) > 0 {
				p.tables = append(p.tables, t)
			}
		}
	}
}

// responseParts returns a chart of what the responses of a run are made of, if that is known.
func (d *document) responseParts(run *record.Run, id string) []chart {
	text := report.ResponseChart(run, d.l, halfWidth)
	if text == "" {
		return nil
	}
	return []chart{{id: id + "-parts", title: d.say("What responses are made of"),
		note: d.say("means; the rest is unknown"), svg: text}}
}

// overTime returns the charts of a run: rate and response time.
func (d *document) overTime(b *record.Recorded, id string) (out []chart) {
	tl := timeline.New(0)
	if err := b.Intervals(tl.Interval); err != nil {
		d.fail(err)
		return nil
	}
	line := func(name string, f func(*timeline.Slot) float64) svg.Series {
		s := svg.Series{Name: name}
		for i := range tl.Slots {
			s.X = append(s.X, float64(tl.Slots[i].StartNs+tl.Slots[i].EndNs)/2e9)
			s.Y = append(s.Y, f(&tl.Slots[i]))
		}
		return s
	}
	response := func(q float64) func(*timeline.Slot) float64 {
		return func(s *timeline.Slot) float64 { return s.Response.Quantile(q, s.NoAnswer) }
	}
	chartOf := func(name, title string, y svg.Axis, lines ...svg.Series) {
		out = append(out, chart{id: id + "-" + name, title: title,
			svg: svg.Lines(svg.Frame{Title: title, X: svg.Axis{Unit: "clock"}, Y: y, Width: halfWidth, Language: d.l}, lines,
				nil)})
	}
	chartOf("rate", d.say("Rate"), svg.Axis{Unit: "per_s"},
		line(d.say("achieved"), func(s *timeline.Slot) float64 { return s.RatePerS() }))
	chartOf("response", d.say("Response time"), svg.Axis{Unit: "ns", Log: true}, line("p50", response(.5)),
		line("p95", response(.95)), line("p99", response(.99)))
	return out
}

// showsDatabase reports whether the document shows the database for a step: it does for the first and the last
// analysis.
func (d *document) showsDatabase(r *Result) bool {
	all := d.ofKind(campaignfile.StepAnalyse)
	return len(all) > 0 && (r.ID == all[0].ID || r.ID == all[len(all)-1].ID)
}

// inspection shows what a database did: its findings, statements, connections, waits and plans.
func (d *document) inspection(in *record.Inspection, id string) (out []cell.Table) {
	findings := cell.Table{ID: id + "-findings", Title: d.say("FINDINGS"),
		Columns: []cell.Column{{Head: d.say("severity"), Left: true}, {Head: d.say("about"), Left: true, Wrap: true},
			{Head: d.say("evidence"), Left: true, Wrap: true}, {Head: d.say("advice"), Left: true, Wrap: true}}}
	for i := range in.Findings {
		f := &in.Findings[i]
		subject := f.Subject
		if f.Statement != "" {
			subject = d.named(textOf(in, f))
		}
		findings.Add(cell.Texts(d.say(f.Severity), d.titleOf(f.ID)+": "+subject, f.Evidence.In(d.l), f.Advice.In(d.l))...)
	}
	statements := cell.Table{ID: id + "-statements", Title: d.say("STATEMENTS"),
		Columns: []cell.Column{{Head: d.say("calls")}, {Head: d.say("total")}, {Head: d.say("mean")}, {Head: "%"},
			{Head: d.say("operation"), Left: true}, {Head: d.say("statement"), Left: true, Wrap: true}}}
	const most = 12
	if len(in.Windows) > 0 {
		all := in.Windows[0].Statements
		for _, s := range all[:min(len(all), most)] {
			statements.Add(cell.Count(uint64(s.Calls)), cell.Time(s.TotalNs), cell.Time(s.MeanNs), cell.Figure(s.Share,
				"share"),
				cell.Text(strings.Join(s.Operations, ", ")), cell.Text(d.named(s.Text)))
		}
	}
	waits := cell.Table{ID: id + "-waits", Title: d.say("WAITS"), Note: d.say("what active sessions waited for"),
		Columns: []cell.Column{{Head: d.say("class"), Left: true}, {Head: d.say("event"), Left: true},
			{Head: d.say("sessions")}, {Head: "%"}}}
	for _, w := range in.Activity.Waits {
		waits.Add(cell.Text(w.Class), cell.Text(w.Event), cell.Figure(w.Mean, cell.UnitNumber), cell.Figure(w.Share,
			"share"))
	}
	missing := cell.Table{ID: id + "-missing", Title: d.say("NOT SEEN"), Columns: []cell.Column{
		{Head: d.say("what couldn't be seen"), Left: true, Wrap: true}, {Head: d.say("remedy"), Left: true, Wrap: true}}}
	for _, m := range in.Missing {
		missing.Add(cell.Text(m.Text.In(d.l)), cell.Text(m.Remedy.In(d.l)))
	}
	for _, t := range []cell.Table{findings, missing, statements, d.clients(in, id), waits} {
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	const mostPlans = 3 // of the statements that take most time; all are in the bundle's page
	for i := range in.Plans {
		if len(in.Plans[i].Nodes) > 0 && i < mostPlans {
			out = append(out, d.queryPlan(&in.Plans[i], fmt.Sprintf("%s-plan-%d", id, i+1)))
		}
	}
	return out
}

// clients returns the connections to a database, by application.
func (d *document) clients(in *record.Inspection, id string) cell.Table {
	t := cell.Table{ID: id + "-connections", Title: d.say("CONNECTIONS"),
		Columns: []cell.Column{{Head: d.say("application"), Left: true}, {Head: d.say("address"), Left: true},
			{Head: d.say("most")}, {Head: d.say("mean")}, {Head: d.say("active")}, {Head: d.say("idle in transaction")}}}
	for _, c := range in.Activity.Clients {
		active, inXact := cell.Figure(c.ActiveMean, cell.UnitNumber), cell.Figure(c.InXact, cell.UnitNumber)
		if !in.SeesWork() {
			active, inXact = cell.None(), cell.None()
		}
		t.Add(cell.Text(cmp.Or(c.Application, "–")), cell.Text(c.Address), cell.Count(c.Max),
			cell.Figure(c.Mean, cell.UnitNumber), active, inXact)
	}
	return t
}

// queryPlan shows how a statement is executed.
func (d *document) queryPlan(q *record.QueryPlan, id string) cell.Table {
	t := cell.Table{ID: id, Title: d.say("PLAN"), Note: oneLine(q.Text),
		Columns: []cell.Column{{Head: d.say("step"), Left: true, Wrap: true}, {Head: d.say("expected rows")},
			{Head: d.say("rows")}, {Head: d.say("discarded")}, {Head: d.say("time")}, {Left: true, Wrap: true}}}
	for i := range q.Nodes {
		n := &q.Nodes[i]
		name := cell.Text(strings.Repeat("\u00a0\u00a0\u00a0", n.Depth) + strings.TrimSpace(n.Text+" "+n.Detail))
		rows, removed, took := cell.None(), cell.None(), cell.None()
		if q.Analyzed {
			rows, removed, took = cell.Count(uint64(n.Rows)), cell.Count(uint64(n.Removed)), cell.Time(n.TotalNs)
		}
		t.Add(name, cell.Count(uint64(n.Estimate)), rows, removed, took, cell.Text(n.Note.In(d.l)))
	}
	return t
}

// fixPart shows what a fix changed.
func (d *document) fixPart(p *part, r *Result) {
	p.paragraphs = slices.Concat(p.paragraphs, r.Fix.Files, r.Fix.Commands)
	proofs := r.Fix.proofs()
	if len(proofs) == 0 {
		return
	}
	t := cell.Table{ID: r.ID + "-indexes", Title: d.say("INDEXES"),
		Note: d.say("with it against without it, at equal load"), Columns: []cell.Column{
			{Head: d.say("statement"), Left: true, Wrap: true}, {Head: d.say("size")}, {Head: d.say("figure"), Left: true},
			{Head: d.say("change")}, {Head: d.say("from")}, {Head: d.say("to")}, {Head: d.say("response time")},
			{Head: d.say("runs"), Left: true}, {Left: true}}}
	for i := range proofs {
		x := &proofs[i]
		row := []cell.Cell{cell.Text(x.DDL), cell.Figure(x.SizeB, "bytes"), cell.None(), cell.None(), cell.None(),
			cell.None(), cell.None(), cell.Text(x.Order)}
		if c := x.Change; c != nil {
			figure := d.say("response time")
			if c.Metric == record.ServerTime {
				figure = d.say("server's time for its statements")
			}
			row[2], row[3], row[4], row[5] = cell.Text(figure), cell.Figure(c.Value, "change"), cell.Figure(c.Low, "change"),
				cell.Figure(c.High, "change")
		}
		if x.Response != nil {
			row[6] = cell.Figure(x.Response.Value, "change")
		}
		kept := cell.Text(d.say("kept")).Marked(cell.Good)
		if !x.Kept {
			kept = cell.Text(d.say("dropped")).Marked(cell.Bad)
		}
		t.Add(append(row, kept)...)
	}
	p.tables = append(p.tables, t, d.effects(proofs, r.ID))
}

// effects lists the statements that indexes help.
func (d *document) effects(all []record.Proof, id string) cell.Table {
	t := cell.Table{ID: id + "-effects", Title: d.say("WHAT GAINS"), Note: d.say("planner's costs of one call"),
		Columns: []cell.Column{{Head: d.say("index"), Left: true}, {Head: d.say("before")}, {Head: d.say("after")},
			{Head: d.say("statement"), Left: true, Wrap: true}}}
	for i := range all {
		for _, g := range all[i].Gains {
			t.Add(cell.Text(all[i].Name), cell.Figure(g.Before, cell.UnitNumber), cell.Figure(g.After, cell.UnitNumber),
				cell.Text(oneLine(g.Text)))
		}
	}
	return t
}

// matrixParts shows settings compared.
func (d *document) matrixParts(r *Result) {
	report := program.Report{Matrix: r.Matrix}
	over := part{id: "overview-" + r.ID, section: true, title: d.say("Settings compared: overview"),
		tables: linked(r, report.Tables(d.l))}
	if rows, columns, values, ok := r.Matrix.Grid(); ok {
		title := r.Matrix.Options.By
		for i := range values {
			for k := range values[i] {
				if math.IsInf(values[i][k], 0) {
					values[i][k] = math.NaN()
				}
			}
		}
		unit := "ns"
		if title == "rate" {
			unit = "per_s"
		}
		over.charts = append(over.charts, chart{id: r.ID + "-heat", title: title,
			svg: svg.Matrix(svg.Frame{Title: title, Y: svg.Axis{Unit: unit}, Width: max(halfWidth, 150+60*len(columns)),
				Language: d.l}, rows, columns, values)})
	}
	over.tables = append(over.tables, d.cellRuns(r))
	d.add(over)
}

// cellRuns lists the runs of the settings that were compared, with their bundles.
func (d *document) cellRuns(r *Result) cell.Table {
	t := cell.Table{ID: r.ID + "-runs", Title: d.say("RUNS"), Note: r.Matrix.Options.By,
		Columns: []cell.Column{{Head: d.say("settings"), Left: true, Wrap: true}}}
	for k := range r.Matrix.Options.Repetitions {
		t.Columns = append(t.Columns, cell.Column{Head: d.say("run") + " " + d.l.Figure(units.Count(uint64(k+1)))})
	}
	for i := range r.Matrix.Cells {
		c := &r.Matrix.Cells[i]
		row := []cell.Cell{cell.Text(c.Settings.String())}
		for k, dir := range c.Dirs {
			value := program.FigureCell(r.Matrix.Options.By, float64(c.Values[k]))
			value.Link = d.link(r, dir).Link
			switch c.Verdicts[k] {
			case verdict.Fail:
				value.Mark = cell.Bad
			case verdict.Invalid:
				value.Mark = cell.Warn
			}
			row = append(row, value)
		}
		t.Add(row...)
	}
	return t
}
