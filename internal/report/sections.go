package report

import (
	"cmp"
	"slices"
	"strings"

	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// phases is the table of phases, if there are several.
func (t *writer) phases() cell.Table {
	run := t.run
	if len(run.Phases) < 2 {
		return cell.Table{}
	}
	out := cell.Table{ID: "phases", Title: t.say("PHASES"), Note: t.say("response time")}
	out.Columns = append([]cell.Column{
		{Head: t.say("phase"), Left: true}, {Head: t.say("load"), Left: true, Priority: 4}, {Head: t.say("length")},
		{Head: t.say("done/s")},
		{Head: t.say("done"), Priority: 5}, {Head: t.say("failed")},
	}, t.fewQuantileColumns()...)
	for i := range run.Phases {
		ph := &run.Phases[i]
		m, name := cell.Plain, units.Clean(ph.Name)
		if ph.WarmUp {
			m = cell.Dim
			if !strings.Contains(strings.ToLower(name), "warm") {
				name += " " + t.say("(warm-up)")
			}
		}
		rate := cell.Figure(record.PerSecond(ph.Done, ph.LengthNs()), "per_s").Marked(m)
		row := []cell.Cell{
			cell.Text(name).Marked(m), cell.Text(t.phaseLoad(ph)).Marked(m), cell.Text(t.span(ph.LengthNs())).Marked(m),
			estimate(rate, ph.RateWithin), cell.Count(ph.Done).Marked(m), failedShare(ph.Errors, ph.Done, m),
		}
		out.Add(append(row, fewQuantiles(&ph.Response, m)...)...)
	}
	return out
}

// failedShare returns the share of failures, marked if there are any.
func failedShare(failed, done uint64, m cell.Mark) cell.Cell {
	if failed > 0 {
		m = cell.Bad
	}
	return cell.Share(failed, done).Marked(m)
}

// fewQuantileColumns are p50, p90, p99, p99.9 and the maximum. fewQuantiles returns their cells.
func (t *writer) fewQuantileColumns() []cell.Column {
	return []cell.Column{{Head: "p50"}, {Head: "p90", Priority: 3}, {Head: "p99"}, {Head: "p99.9", Priority: 2},
		{Head: t.say("max"), Priority: 1}}
}

func fewQuantiles(l *record.Latency, m cell.Mark) []cell.Cell {
	all := quantiles(l, m)
	return []cell.Cell{all[1], all[3], all[5], all[6], all[8]}
}

func (t *writer) phaseLoad(ph *record.Phase) string {
	switch {
	case ph.Kind == measure.KindOpen && ph.RateFrom == 0 && ph.RateTo == 0: // a k6 script has no rate
		return t.say("open")
	case ph.Kind == measure.KindClosed && ph.Sessions == 0:
		return t.say("closed")
	case ph.Adaptive != nil:
		return t.say("adaptive")
	case ph.Kind == measure.KindOpen:
		s := t.l.Figure(units.Rate(ph.RateFrom) + "/s")
		if ph.RateTo != ph.RateFrom {
			s = t.l.Figure(units.Rate(ph.RateFrom)) + " → " + t.l.Figure(units.Rate(ph.RateTo)+"/s")
		}
		if ph.Arrivals == "poisson" {
			s += " " + t.say("poisson")
		}
		return s
	case ph.Kind == measure.KindClosed:
		return plural(t, ph.Sessions, "session", "sessions")
	}
	return t.say(ph.Kind)
}

// addresses is the table of addresses, if there are several.
func (t *writer) addresses() cell.Table {
	run := t.run
	if len(run.Targets) < 2 {
		return cell.Table{}
	}
	out := cell.Table{ID: "addresses", Title: t.say("ADDRESSES"), Note: t.say("service time")}
	out.Columns = append([]cell.Column{
		{Head: t.say("address"), Left: true}, {Head: t.say("done")}, {Head: t.say("rate")}, {Head: t.say("failed")},
		{Head: t.say("reconnects"), Priority: 4},
	}, t.fewQuantileColumns()...)
	astray := slices.ContainsFunc(run.Targets, func(g record.Target) bool { return g.Counts.Misdirected > 0 })
	if astray {
		out.Columns = slices.Insert(out.Columns, 4, cell.Column{Head: t.say("misdirected")})
	}
	for i := range run.Targets {
		g := &run.Targets[i]
		row := []cell.Cell{
			cell.Text(units.Clean(g.Address)), cell.Count(g.Counts.Done),
			estimate(cell.Rate(record.PerSecond(g.Counts.OK, run.DurationNs)), g.RateWithin),
			failedShare(g.Counts.Failed, g.Counts.Done, cell.Plain), cell.Count(g.Reconnects),
		}
		if astray {
			row = slices.Insert(row, 4, failedShare(g.Counts.Misdirected, g.Counts.Done, cell.Plain))
		}
		out.Add(append(row, fewQuantiles(&g.Service, cell.Plain)...)...)
	}
	return out
}

// mostFailures limits the kinds of failures shown.
const mostFailures = 10

// failures is the table of failed attempts by class, code and text.
func (t *writer) failures() cell.Table {
	run := t.run
	out := cell.Table{ID: "errors", Title: t.say("ERRORS"),
		Note: t.say("failed attempts, retried ones and connections included")}
	if !run.Complete {
		out.Note = t.say("of the samples kept: there were at least so many")
	}
	out.Columns = []cell.Column{{}, {Left: true}, {Left: true}, {Left: true, Wrap: true, Short: true}}
	shown := run.Failures[:min(len(run.Failures), t.most(mostFailures, briefFailures))]
	for _, f := range shown {
		out.Add(cell.Count(f.Count), cell.Text(className(f.Class, t.l)).Marked(cell.Bad), cell.Text(units.Clean(f.Code)),
			cell.Text(message.Failure(t.l, units.Clean(f.Text))))
	}
	if more := len(run.Failures) - len(shown); more > 0 {
		out.Foot = append(out.Foot, t.say("and %s, see errors.ndjson", plural(t, more, "other kind", "other kinds")))
	}
	return out
}

// className returns the text of a class of failures, given its name in records.
func className(name string, l units.Language) string {
	if c, ok := protocol.ParseClass(name); ok {
		return verdict.ClassName(c).In(l)
	}
	return units.Clean(name)
}

// holds returns 1 for a rule that holds, and 0 otherwise.
func holds(h record.Threshold) int {
	if h.Pass {
		return 1
	}
	return 0
}

// thresholds is the table of thresholds and their results.
func (t *writer) thresholds() cell.Table {
	out := cell.Table{ID: "thresholds", Title: t.say("THRESHOLDS"), Columns: []cell.Column{{Left: true}, {Left: true},
		{Left: true}, {Left: true}}}
	all := slices.Clone(t.run.Thresholds)
	if most := t.most(len(all), briefThresholds); len(all) > most { // those that don't hold first
		slices.SortStableFunc(all, func(a, b record.Threshold) int { return cmp.Compare(holds(a), holds(b)) })
		out.Foot = append(out.Foot, t.say("and %s", plural(t, len(all)-most, "other", "others")))
		all = all[:most]
	}
	for _, h := range all {
		sign, m := "✔", cell.Good
		if !h.Pass {
			sign, m = "✘", cell.Bad
		}
		note := ""
		if h.Aborted {
			note = t.say("ended the run")
		}
		if h.BrokenNs > 0 {
			note = strings.TrimPrefix(note+", "+t.say("broken for %s in all", t.span(h.BrokenNs)), ", ")
		}
		value := cell.Figure(float64(h.Value), h.Unit).Marked(m)
		if !h.Pass { // with the digits that show why
			value = value.Showing(units.Apart(float64(h.Value), h.Limit, h.Unit))
		}
		out.Add(cell.Text(sign).Marked(m), cell.Text(cell.Cut(units.Clean(h.Text), 50)), value,
			cell.Text(note).Marked(cell.Dim))
	}
	return out
}

// writer converts a record to tables in one language.
type writer struct {
	run   *record.Run
	l     units.Language
	path  string // folder of the bundle, if there is one
	brief bool   // list only what matters most
}

// most returns how many things of a kind are listed: whole in a whole report, brief in a brief one.
func (t *writer) most(whole, brief int) int {
	if t.brief {
		return brief
	}
	return whole
}

// say returns a text in the reader's language.
func (t *writer) say(english string, args ...any) string { return message.Label(t.l, english, args...) }

// plural formats a number with its noun.
func plural[N int | uint64](t *writer, n N, one, many string) string {
	return message.Plural(t.l, n, one, many)
}

// chapter is a part of the page.
type chapter uint8

// The chapters, in the order of the page. A section must have one.
const (
	noChapter chapter = iota
	figuresChapter
	failuresChapter
	databaseChapter
	machinesChapter
	settingChapter
	chapters
)

// section is a part of the report: one table, or those of a subject.
type section struct {
	name    string
	chapter chapter
	place   int // within its chapter, from 1; no two sections of a chapter have the same
	tables  func(*writer) []cell.Table
}

// one is a section that is one table.
func one(table func(*writer) cell.Table) func(*writer) []cell.Table {
	return func(t *writer) []cell.Table { return []cell.Table{table(t)} }
}

// sections returns all sections of the report of a run, in reading order. The page sorts them by chapter and place.
func sections() []section {
	return []section{
		{"configuration", settingChapter, 2, one((*writer).configuration)},
		{"total", figuresChapter, 2, one((*writer).totals)},
		{"latency", figuresChapter, 3, one((*writer).latencies)},
		{"counted", figuresChapter, 21, one((*writer).counted)},
		{"streams", figuresChapter, 22, one((*writer).streams)},
		{"distribution", figuresChapter, 4, one((*writer).histogram)},
		{"responses", figuresChapter, 20, one((*writer).responses)},
		{"phases", figuresChapter, 5, one((*writer).phases)},
		{"adaptive", figuresChapter, 6, one((*writer).adaptive)},
		{"addresses", figuresChapter, 7, one((*writer).addresses)},
		{"workers", figuresChapter, 8, one((*writer).workers)},
		{"failover", figuresChapter, 9, one((*writer).failover)},
		{"failovers", figuresChapter, 10, one((*writer).failovers)},
		{"writes", figuresChapter, 11, one((*writer).writes)},
		{"writes-by-address", figuresChapter, 12, one((*writer).writesByAddress)},
		{"writes-after-faults", figuresChapter, 13, one((*writer).writesAfterFaults)},
		{"bad-writes", figuresChapter, 14, one((*writer).badWrites)},
		{"registers", figuresChapter, 15, one((*writer).registers)},
		{"counterexample", figuresChapter, 16, one((*writer).counterexample)},
		{"changes", figuresChapter, 17, one((*writer).changes)},
		{"faults", figuresChapter, 18, one((*writer).faults)},
		{"events", figuresChapter, 19, one((*writer).events)},
		{"watched", machinesChapter, 2, one((*writer).watched)},
		{"machines", machinesChapter, 1, one((*writer).machines)},
		{"processes", machinesChapter, 4, (*writer).processes},
		{"profiles", machinesChapter, 5, (*writer).profiles},
		{"inspected", databaseChapter, 1, (*writer).inspected},
		{"errors", failuresChapter, 1, one((*writer).failures)},
		{"thresholds", figuresChapter, 1, one((*writer).thresholds)},
		{"generator", machinesChapter, 3, one((*writer).generator)},
		{"environment", settingChapter, 1, one((*writer).environment)},
		{"warnings", settingChapter, 3, one((*writer).warnings)},
	}
}

// Tables returns the report of a run, in reading order. Empty sections are left out.
func Tables(run *record.Run, o Options) (out []cell.Table) {
	t := &writer{run: run, l: o.Language, path: o.Path}
	for _, s := range sections() {
		out = append(out, t.filled(&s)...)
	}
	return out
}

// all returns the tables that have rows.
func (t *writer) all(tables ...func() cell.Table) (out []cell.Table) {
	for _, table := range tables {
		if s := table(); len(s.Rows) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// filled returns the tables of a section that have rows.
func (t *writer) filled(s *section) []cell.Table {
	return slices.DeleteFunc(s.tables(t), func(t cell.Table) bool { return len(t.Rows) == 0 })
}

// tree collects the rows of a tree.
type tree struct{ cell.Table }

// add appends a label, its value and its meaning.
func (t *tree) add(label string, value cell.Cell, note string) {
	t.Add(cell.Text(label), value, cell.Text(note))
}

// heads returns columns of figures with the given headings and priorities.
func heads(columns ...cell.Column) []cell.Column { return columns }
