package report

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"brunt/internal/message"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/page"
	"brunt/internal/render/texts"
	"brunt/internal/timeline"
	"brunt/internal/units"
)

// Result is a run for a page.
type Result struct {
	Run      *record.Run
	Timeline *timeline.Timeline
	Plan     []byte // its plan's text, without secrets
	Path     string // its bundle's folder
	Machines []Machine
}

// Sheet is what a page shows: one run, a series of runs, or runs against others.
type Sheet struct {
	Results []Result // at least one
	Against []Result
	Tables  []cell.Table // what was made of them, such as a comparison; they come first
	Remarks []string     // about them, such as why there is no comparison
	Live    *page.Live   // of a run under way
}

// HTML writes a sheet as one page that needs nothing else.
func HTML(w io.Writer, s *Sheet, o Options) error {
	return page.Write(w, sheetPage(s, o.Language))
}

// sheetPage lays out a sheet.
func sheetPage(s *Sheet, l units.Language) *page.Document {
	all := append(slices.Clone(s.Results), s.Against...)
	first := &all[0]
	b := &builder{l: l, all: all, names: names(s), live: s.Live != nil}
	d := &page.Document{Language: l, Title: units.Clean(first.Run.Name), When: first.Run.Started.UTC().Format("2006-01-02 15:04:05 UTC"), Data: b.data(), Foot: "brunt " + units.Clean(first.Run.Brunt)}
	d.Data.Live = s.Live
	if len(all) == 1 {
		d.Blocks = b.single(first)
		return d
	}
	if len(s.Against) > 0 {
		d.Title += ": A → B"
	}
	d.Blocks = append(d.Blocks, page.Table(b.runs()))
	for _, remark := range s.Remarks {
		d.Blocks = append(d.Blocks, page.Paragraph(remark))
	}
	for _, t := range s.Tables {
		d.Blocks = append(d.Blocks, page.Table(t))
	}
	d.Blocks = append(d.Blocks, b.curves(), b.rates(), page.Choice(b.names))
	d.Blocks = append(d.Blocks, b.charts(first)...)
	for i := range all {
		d.Blocks = append(d.Blocks, page.Group{Title: b.names[i], Blocks: b.text(&all[i])})
	}
	return d
}

// names tell the runs of a sheet apart.
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

// LiveData is what the page of a run under way draws from.
func LiveData(r *Result, live *page.Live, l units.Language) *page.Data {
	b := &builder{l: l, all: []Result{*r}, names: []string{""}, live: true}
	d := b.data()
	d.Live = live
	return d
}

// LiveFragments are the parts of the page of a run under way that its server writes anew: what stands
// above the charts, and the tables.
func LiveFragments(run *record.Run, l units.Language) (head, tables string) {
	b, t := &builder{l: l}, &teller{run: run, l: l}
	for _, table := range t.all(t.totals, t.latencies) {
		tables += page.Fragment(l, page.Table(table))
	}
	banner := page.Banner{Text: b.say("UNDER WAY"), Mark: cell.Warn, Reasons: []string{b.say("figures so far, without warm-up; there is no verdict before the end")}}
	return page.Fragment(l, banner, b.headline(run)), tables
}

// builder makes the blocks of a page.
type builder struct {
	l     units.Language
	all   []Result
	names []string
	live  bool
}

func (b *builder) say(english string, args ...any) string { return texts.In(b.l, english, args...) }

// liveNines is how many nines the curve of a run under way has room for.
const liveNines = 5

// data is what the page's charts are drawn from.
func (b *builder) data() *page.Data {
	d := &page.Data{}
	for i := range b.all {
		r := &b.all[i]
		nines := ninesOf(r.Run)
		if b.live {
			nines = liveNines
		}
		d.Runs = append(d.Runs, page.Run{Name: b.names[i], Columns: r.Timeline.Columns(0), Bands: b.bands(r), Closed: r.Run.LoadModel == "closed", Nines: nines})
	}
	return d
}

// single are the blocks of a page about one run.
func (b *builder) single(r *Result) (out []page.Block) {
	if b.live {
		out = append(out, page.Place{ID: "live"})
	} else {
		out = append(out, b.banner(r.Run), b.headline(r.Run))
	}
	out = append(out, b.charts(r)...)
	out = append(out, b.curves())
	if b.live {
		return append(out, page.Place{ID: "tables"})
	}
	return append(out, b.text(r)...)
}

// banner is the verdict of a run.
func (b *builder) banner(run *record.Run) page.Block {
	v := &run.Verdict
	if v.Result == "" {
		return page.Banner{Text: strings.ToUpper(b.say("no verdict")), Mark: cell.Warn}
	}
	out := page.Banner{Text: strings.ToUpper(b.say(v.Result)), Mark: verdictMark(v.Result)}
	out.Reasons = message.Strings(b.l, v.Reasons)
	return out
}

// headline are a run's chief figures.
func (b *builder) headline(run *record.Run) page.Block {
	t := &teller{run: run, l: b.l}
	all := &run.Total
	offered := ""
	if all.OfferedPerS > 0 && run.LoadModel == "open" {
		offered = b.say("of %s offered", t.rate(all.OfferedPerS))
	}
	latency, kind := quantiles(&all.Response, cell.Plain), b.say("response")
	if run.LoadModel == "closed" {
		latency, kind = quantiles(&all.Service, cell.Plain), b.say("service")
	}
	tiles := page.Tiles{
		{Label: b.say("rate"), Figure: estimate(cell.Rate(all.RatePerS), all.RateWithin), Note: offered},
		{Label: kind + " p50", Figure: latency[1]}, {Label: kind + " p99", Figure: latency[5]}, {Label: kind + " p99.9", Figure: latency[6]},
		{Label: b.say("failed"), Figure: failedShare(all.Failed, all.Done, cell.Plain), Note: b.say("%s of %s", t.count(all.Failed), t.count(all.Done))},
	}
	if lost, note := t.timeLost(); lost != "" {
		tiles = append(tiles, page.Tile{Label: b.say("time lost"), Figure: cell.Text(t.span(run.Standstill.TotalNs)).Marked(cell.Warn), Note: note})
	}
	return tiles
}

// text are a run's tables, its plan among them, in the order of the page.
func (b *builder) text(r *Result) (out []page.Block) {
	tables := Tables(r.Run, Options{Language: b.l, Path: r.Path})
	charts := b.machineBlocks(r)
	order := func(id string) int {
		return slices.Index([]string{"thresholds", "total", "latency", "distribution", "phases", "addresses", "changes", "events", "errors", "", "machines", "watched", "generator", "environment", "configuration", "warnings"}, id)
	}
	place := func(t cell.Table) int {
		if i := order(t.ID); i >= 0 {
			return i
		}
		return order("")
	}
	slices.SortStableFunc(tables, func(x, y cell.Table) int { return cmp.Compare(place(x), place(y)) })
	for _, t := range tables {
		if t.ID == "errors" {
			out = append(out, b.classes(r.Run))
		}
		if place(t) >= order("machines") && charts != nil {
			out, charts = append(out, charts...), nil
		}
		out = append(out, page.Table(t))
		if t.ID == "latency" && len(r.Run.Operations) > mostOperations {
			out = append(out, page.Folded{Title: b.say("all %s as CSV", texts.Plural(b.l, len(r.Run.Operations), "operation", "operations")), Text: operationsCSV(r.Run)})
		}
		if t.ID == "configuration" && len(r.Plan) > 0 {
			out = append(out, page.Folded{Title: b.say("the plan"), Text: string(r.Plan)})
		}
	}
	return out
}

// runs is the table of several runs.
func (b *builder) runs() cell.Table {
	t := cell.Table{ID: "runs", Title: b.say("RUNS"), Note: b.say("intervals are within each run; how runs differ among each other is another matter")}
	t.Columns = []cell.Column{
		{Head: b.say("run"), Left: true}, {Head: b.say("verdict"), Left: true}, {Head: b.say("began"), Left: true}, {Head: b.say("rate")}, {Head: b.say("failed")},
		{Head: b.say("response") + " p50"}, {Head: "p90"}, {Head: "p99"}, {Head: "p99.9"}, {Head: b.say("max")},
	}
	for i := range b.all {
		run := b.all[i].Run
		row := []cell.Cell{
			cell.Text(b.names[i]), cell.Text(b.say(cmp.Or(run.Verdict.Result, "no verdict"))).Marked(verdictMark(run.Verdict.Result)),
			cell.Text(run.Started.UTC().Format("2006-01-02 15:04:05")), estimate(cell.Rate(run.Total.RatePerS), run.Total.RateWithin),
			failedShare(run.Total.Failed, run.Total.Done, cell.Plain),
		}
		t.Add(append(row, fewQuantiles(&run.Total.Response, cell.Plain)...)...)
	}
	return t
}

// LiveBands are the stretches of a run under way that mean something.
func LiveBands(r *Result, l units.Language) []page.Band { return (&builder{l: l, live: true}).bands(r) }
