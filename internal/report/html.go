package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"brunt/internal/measure"
	"brunt/internal/measure/timeline"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/page"
	"brunt/internal/render/units"
)

// Result is a run for a page.
type Result struct {
	Run      *record.Run
	Timeline *timeline.Timeline
	Plan     []byte // text of its plan, without secrets
	Path     string // its bundle's folder
	Machines []Machine
}

// Sheet is the content of a page: one run, a series of runs, or a comparison of runs.
type Sheet struct {
	Results []Result // at least one
	Against []Result
	Tables  []cell.Table // results computed from the runs, such as a comparison; shown first
	Remarks []string     // about the tables, such as why there is no comparison
	Live    *page.Live   // set for a live run
	// The verdict of a comparison, in the terms of compare, its mark, and what changed.
	Verdict string
	Mark    cell.Mark
	Reasons []string
	Changes string // a chart of the changes; "" for none
}

// HTML writes a sheet as one self-contained page.
func HTML(w io.Writer, s *Sheet, o Options) error {
	return page.Write(w, sheetPage(s, o.Language))
}

// sheetPage lays out a sheet.
func sheetPage(s *Sheet, l units.Language) *page.Document {
	all := append(slices.Clone(s.Results), s.Against...)
	first := &all[0]
	b := &builder{l: l, all: all, names: names(s), live: s.Live != nil}
	if len(s.Against) > 0 {
		b.first = len(s.Results)
	}
	d := &page.Document{Language: l, Title: units.Clean(first.Run.Name),
		When: first.Run.Started.UTC().Format("2006-01-02 15:04:05 UTC"), Data: b.data(), Foot: "brunt " +
			units.Clean(first.Run.Brunt)}
	d.Data.Live = s.Live
	if len(all) == 1 {
		d.Blocks = b.single(first)
		return d
	}
	if len(s.Against) > 0 {
		d.Blocks = append(d.Blocks, s.banner(l))
	}
	if s.Changes != "" {
		d.Blocks = append(d.Blocks, page.Section{ID: "part-changes", Title: b.say("Changes"), Grid: true,
			Blocks: []page.Block{page.Chart{
				ID: "chart-changes", Title: b.say("Change from A to B"),
				Note: b.say("with its interval; what lies within the grey stretch doesn't matter"), SVG: s.Changes,
			}}})
	}
	if len(s.Against) > 0 {
		d.Title += ": A → B"
	}
	d.Blocks = append(d.Blocks, page.Table(b.runs()))
	for _, remark := range s.Remarks {
		if len(s.Against) > 0 && s.Verdict == "" {
			break // shown in the banner
		}
		d.Blocks = append(d.Blocks, page.Paragraph(remark))
	}
	for _, t := range s.Tables {
		d.Blocks = append(d.Blocks, page.Table(t))
	}
	d.Blocks = append(d.Blocks, page.Section{ID: "part-runs", Title: b.say("Runs over each other"), Grid: true,
		Blocks: []page.Block{b.rates()}})
	d.Blocks = append(append(d.Blocks, page.Choice(b.names)), b.charts(first)...)
	var each []page.Block
	for i := range all {
		each = append(each, page.Group{Title: b.names[i], Blocks: b.text(&all[i])})
	}
	d.Blocks = append(d.Blocks, page.Section{ID: "part-each", Title: b.say("Each run"), Blocks: each})
	return d
}

// banner is the verdict of a comparison.
func (s *Sheet) banner(l units.Language) page.Banner {
	if s.Verdict == "" {
		return page.Banner{Text: strings.ToUpper(message.Label(l, "no verdict")), Mark: cell.Warn, Reasons: s.Remarks}
	}
	return page.Banner{Text: "A → B: " + strings.ToUpper(message.Label(l, s.Verdict)), Mark: s.Mark, Reasons: s.Reasons}
}

// names returns distinct names for the runs of a sheet.
func names(s *Sheet) (out []string) {
	add := func(results []Result, side string) {
		for i := range results {
			name := filepath.Base(results[i].Path)
			if results[i].Path == "" {
				name = fmt.Sprint(i + 1)
			}
			out = append(out, strings.TrimSpace(side+" "+units.Clean(name)))
		}
	}
	if len(s.Against) == 0 {
		add(s.Results, "")
		return out
	}
	add(s.Results, "A")
	add(s.Against, "B")
	return out
}

// LiveData returns the data from which the page of a live run draws its charts.
func LiveData(r *Result, live *page.Live, l units.Language) *page.Data {
	b := &builder{l: l, all: []Result{*r}, names: []string{""}, live: true}
	d := b.data()
	d.Live = live
	return d
}

// LiveFragments returns the parts of a live run's page that its server updates: the part above the charts, and the
// tables. workers are those that send the load, if one process doesn't send it.
func LiveFragments(run *record.Run, workers []measure.Worker, l units.Language) (head, tables string) {
	b, t := &builder{l: l}, &writer{run: run, l: l}
	now := func() cell.Table { return t.workersNow(workers) }
	for _, table := range t.all(t.totals, t.latencies, t.streams, now) {
		tables += page.Fragment(l, page.Table(table))
	}
	banner := page.Banner{Text: b.say("UNDER WAY"), Mark: cell.Warn,
		Reasons: []string{b.say("figures so far, without warm-up; there is no verdict before the end")}}
	return page.Fragment(l, banner, b.headline(run)), tables
}

// builder builds the blocks of a page.
type builder struct {
	l     units.Language
	all   []Result
	names []string
	live  bool
	first int // number of runs on the first of two sides; 0 without sides
}

func (b *builder) say(english string, args ...any) string {
	return message.Label(b.l, english, args...)
}

// MostParts is the largest number of operations or addresses for which the charts of a page have a selection.
const MostParts = 12

// parts returns a run's operations and addresses.
func (b *builder) parts(r *Result) (out []page.Part) {
	if r.Timeline == nil || b.live {
		return nil
	}
	for i, part := range r.Timeline.Operations {
		if i < len(r.Run.Operations) {
			out = append(out, page.Part{Name: units.Clean(r.Run.Operations[i].Name), Columns: part.Columns(0)})
		}
	}
	for i, part := range r.Timeline.Addresses {
		if i < len(r.Run.Targets) {
			out = append(out, page.Part{Name: units.Clean(r.Run.Targets[i].Address), Columns: part.Columns(0)})
		}
	}
	return out
}

// phases returns a run's phases, if there are several.
func (b *builder) phases(r *Result) (out []page.Band) {
	if b.live || len(r.Run.Phases) < 2 {
		return nil
	}
	for i := range r.Run.Phases {
		p := &r.Run.Phases[i]
		from := float64(p.StartNs) / 1e9
		out = append(out, page.Band{From: from, To: from + float64(p.DurationNs)/1e9, Label: units.Clean(p.Name),
			Kind: "phase"})
	}
	return out
}

// liveNines is the number of nines for the percentile curve of a live run.
const liveNines = 5

// data returns the data of the page's charts.
func (b *builder) data() *page.Data {
	d := &page.Data{}
	for i := range b.all {
		r := &b.all[i]
		nines := ninesOf(r.Run)
		if b.live {
			nines = liveNines
		}
		d.Runs = append(d.Runs, page.Run{
			Name: b.names[i], Columns: r.Timeline.Columns(0), Bands: b.bands(r), Closed: r.Run.LoadModel == "closed",
			Nines: nines,
			Side:  b.side(i), Phases: b.phases(r), Parts: b.parts(r),
		})
	}
	return d
}

// single returns the blocks of a page about one run.
func (b *builder) single(r *Result) (out []page.Block) {
	if b.live {
		out = append(out, page.Place{ID: "live"})
	} else {
		out = append(out, b.banner(r.Run), b.headline(r.Run))
	}
	out = append(out, b.charts(r)...)
	if b.live {
		return append(out, page.Place{ID: "tables"})
	}
	return append(out, b.sections(r)...)
}

// side returns 1 or 2 if the i-th run is on a side of a comparison.
func (b *builder) side(i int) int {
	switch {
	case b.first == 0:
		return 0
	case i < b.first:
		return 1
	}
	return 2
}

// banner is the verdict of a run.
func (b *builder) banner(run *record.Run) page.Block {
	name, mark := verdictOf(run, b.l)
	if name == "" {
		return page.Banner{Text: strings.ToUpper(b.say("no verdict")), Mark: cell.Warn}
	}
	return page.Banner{Text: strings.ToUpper(name), Mark: mark, Reasons: message.Strings(b.l, run.Verdict.Reasons)}
}

// headline returns a run's main figures.
func (b *builder) headline(run *record.Run) page.Block {
	t := &writer{run: run, l: b.l}
	all := &run.Total
	offered := ""
	if all.OfferedPerS > 0 && run.LoadModel == "open" {
		offered = b.say("of %s offered", t.rate(all.OfferedPerS))
	}
	latency, kind := quantiles(&all.Response, cell.Plain), b.say("response")
	if run.LoadModel == "closed" {
		latency, kind = quantiles(&all.Service, cell.Plain), b.say("service")
	}
	finite := quantiles(&all.ResponseOK, cell.Plain)
	missing := cell.Share(all.Response.NoAnswer, all.Response.NoAnswer+all.Response.Count).Figure(b.l)
	tile := func(label string, f, ofSuccesses cell.Cell) page.Tile {
		t := page.Tile{Label: label, Figure: f}
		if math.IsInf(f.Value, 1) && ofSuccesses.Value > 0 && !math.IsInf(ofSuccesses.Value, 1) {
			t.Note = b.say("%s of successes; %s had no answer", ofSuccesses.Figure(b.l), missing)
		}
		return t
	}
	tiles := page.Tiles{
		{Label: b.say("rate"), Figure: estimate(cell.Rate(all.RatePerS), all.RateWithin), Note: offered},
		tile(kind+" p50", latency[1], finite[1]), tile(kind+" p99", latency[5], finite[5]),
		tile(kind+" p99.9", latency[6], finite[6]),
		{Label: b.say("failed"), Figure: failedShare(all.Failed, all.Done, cell.Plain),
			Note: b.say("%s of %s", t.count(all.Failed), t.count(all.Done))},
	}
	for _, lost := range t.timeLost() {
		tiles = append(tiles, page.Tile{Label: b.say("time lost"), Figure: cell.Text(t.span(lost.ns)).Marked(cell.Warn),
			Note: lost.note})
	}
	return tiles
}

// text returns a run's tables and its plan, in the order of the page.
func (b *builder) text(r *Result) (out []page.Block) {
	for _, s := range b.sections(r) {
		out = append(out, s.(page.Section).Blocks...)
	}
	return out
}

// sections groups a run's tables by chapter.
func (b *builder) sections(r *Result) (out []page.Block) {
	parts := [chapters]page.Section{
		figuresChapter:  {ID: "part-figures", Title: b.say("Figures")},
		failuresChapter: {ID: "part-failures", Title: b.say("Failures")},
		databaseChapter: {ID: "part-database", Title: b.say("Database")},
		machinesChapter: {ID: "part-machines", Title: b.say("Machines"), Blocks: b.machineBlocks(r)},
		settingChapter:  {ID: "part-setting", Title: b.say("Environment")},
	}
	all := sections()
	slices.SortStableFunc(all, func(a, b section) int { return a.place - b.place })
	t := &writer{run: r.Run, l: b.l, path: r.Path}
	for _, s := range all {
		for _, table := range t.filled(&s) {
			parts[s.chapter].Blocks = append(parts[s.chapter].Blocks, b.table(r, table)...)
		}
	}
	for _, p := range parts {
		if len(p.Blocks) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// table returns a table with its charts.
func (b *builder) table(r *Result, t cell.Table) (out []page.Block) {
	if t.ID == "errors" {
		out = append(out, b.classes(r.Run))
	}
	out = append(out, page.Table(t))
	if t.ID == "latency" && len(r.Run.Operations) > mostOperations {
		title := b.say("all %s as CSV", message.Plural(b.l, len(r.Run.Operations), "operation", "operations"))
		out = append(out, page.Folded{Title: title, Text: operationsCSV(r.Run)})
	}
	if t.ID == "configuration" && len(r.Plan) > 0 {
		out = append(out, page.Folded{Title: b.say("the plan"), Text: string(r.Plan)})
	}
	return out
}

// runs is the table of several runs.
func (b *builder) runs() cell.Table {
	t := cell.Table{ID: "runs", Title: b.say("RUNS"),
		Note: b.say("intervals are within each run; how runs differ among each other is another matter")}
	t.Columns = []cell.Column{
		{Head: b.say("run"), Left: true}, {Head: b.say("verdict"), Left: true}, {Head: b.say("began"), Left: true},
		{Head: b.say("rate")}, {Head: b.say("failed")},
		{Head: b.say("response") + " p50"}, {Head: "p90"}, {Head: "p99"}, {Head: "p99.9"}, {Head: b.say("max")},
	}
	streams := slices.ContainsFunc(b.all, func(r Result) bool { return r.Run.Total.StreamFirst.Count > 0 })
	if streams {
		t.Columns = append(t.Columns, cell.Column{Head: message.Metric(b.l, "first.p(99)")},
			cell.Column{Head: message.Metric(b.l, "between.p(99)")})
	}
	for i := range b.all {
		run := b.all[i].Run
		name, mark := verdictOf(run, b.l)
		row := []cell.Cell{
			cell.Text(b.names[i]), cell.Text(cmp.Or(name, b.say("no verdict"))).Marked(mark),
			cell.Text(run.Started.UTC().Format("2006-01-02 15:04:05")),
			estimate(cell.Rate(run.Total.RatePerS), run.Total.RateWithin),
			failedShare(run.Total.Failed, run.Total.Done, cell.Plain),
		}
		row = append(row, fewQuantiles(&run.Total.Response, cell.Plain)...)
		if streams {
			row = append(row, fewQuantiles(&run.Total.StreamFirst, cell.Plain)[2],
				fewQuantiles(&run.Total.StreamBetween, cell.Plain)[2])
		}
		t.Add(row...)
	}
	return t
}

// LiveBands returns the marked time spans of a live run.
func LiveBands(r *Result, l units.Language) []page.Band { return (&builder{l: l, live: true}).bands(r) }
