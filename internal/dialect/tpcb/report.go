package tpcb

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/tpc"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/report"
)

// limit is how long 90 % of the transactions may take (clause 6.2).
const limit = 2 * time.Second

// writeReport writes the report in the terms of the specification.
func writeReport(w io.Writer, run *record.Run, o report.Options) error {
	f := &figures{run: run, language: o.Language}
	out := []cell.Table{f.head(), f.shares(), tpc.Conditions(run, o.Language, conditionNames())}
	out = append(out, tpc.GapsTable(o.Language, run.Extra[tpc.ExtraSystem], run.Extra[tpc.ExtraLacks])...)
	return cell.WriteText(w, o.Look(), out...)
}

// figures are what the report is made of.
type figures struct {
	run      *record.Run
	language units.Language
}

func (f *figures) say(english string, args ...any) string {
	return message.Label(f.language, english, args...)
}

func conditionNames() (names []string) {
	for _, c := range Conditions() {
		names = append(names, c.Name)
	}
	return names
}

func find(run *record.Run) *record.Operation {
	i := slices.IndexFunc(run.Operations, func(o record.Operation) bool { return o.Name == transaction })
	if i < 0 {
		return &record.Operation{}
	}
	return &run.Operations[i]
}

// variant says how the load differs from the specification's; "" if it doesn't.
func (f *figures) variant() string {
	run := f.run
	if !tpc.OfCommand(run) {
		return f.say(tpc.ByPlan)
	}
	var differs []string
	if run.Extra[tpc.ExtraOpen] == "yes" {
		differs = append(differs, f.say("an open load at a fixed rate"))
	}
	if run.Extra[tpc.ExtraShrunk] == "yes" {
		differs = append(differs, f.say("with fewer accounts"))
	}
	return strings.Join(differs, ", ")
}

// head is the table of the result.
func (f *figures) head() cell.Table {
	run := f.run
	t := cell.Table{ID: "tpcb", Title: "TPC-B", Note: f.say("not audited, not a result of the TPC"), Kind: cell.Tree}
	add := func(label string, value cell.Cell, note string) { t.Add(cell.Text(label), value, cell.Text(note)) }
	o := find(run)
	name := "tpsB"
	if differs := f.variant(); differs != "" {
		t.Note = f.say("a variant, %s", differs)
		add(f.say("variant"), cell.Text(differs).Marked(cell.Warn), f.say("figures aren't tpsB, and not comparable with it"))
		name = f.say("transactions a second")
	}
	branchCount, _ := strconv.ParseFloat(run.Extra[extraBranches], 64)
	rate := 0.0
	if run.DurationNs > 0 {
		rate = float64(o.Counts.OK) / time.Duration(run.DurationNs).Seconds()
	}
	add(name, cell.Figure(rate, cell.UnitNumber).Marked(cell.Strong),
		f.say("%d transactions in %s, %d failed, %d repeated", o.Counts.OK,
			time.Duration(run.DurationNs).Round(time.Millisecond), o.Counts.Failed, o.Counts.Retries))
	note, mark := f.say("at least one branch for each transaction a second"), cell.Good
	if rate > branchCount {
		note, mark = f.say("too few: %.0f transactions a second need %.0f branches", rate, rate+0.5), cell.Bad
	}
	add(f.say("branches"), cell.Text(run.Extra[extraBranches]).Marked(mark), note)
	note, mark = f.say("within %s", limit), cell.Good
	if o.Response.P90Ns > record.Ns(limit) {
		note, mark = f.say("above %s", limit), cell.Bad
	}
	p90 := cell.Text(f.say("never"))
	if o.Response.P90Ns != record.Infinite {
		p90 = cell.Figure(float64(o.Response.P90Ns), "ns")
	}
	add(f.say("residence time, p90"), p90.Marked(mark), note)
	note = f.say("within 15 to 60 minutes")
	if d := time.Duration(run.DurationNs); d < 15*time.Minute || d > time.Hour {
		note = f.say("outside of the 15 to 60 minutes of the specification")
	}
	add(f.say("interval"), cell.Figure(float64(run.DurationNs), "ns"), note)
	add(f.say("history"), cell.Count(uint64(rate*historyOfBranch)),
		f.say("rows of 30 days of eight hours, for which there must be room"))
	add(f.say("sessions"), cell.Text(run.Extra[extraSessions]), "")
	add(f.say("isolation"), cell.Text(run.Extra[tpc.ExtraIsolation]), f.say("on %s", run.Extra[tpc.ExtraSystem]))
	tpc.VerdictRows(&t, run, f.language)
	return t
}

// shares is the table of the share of accounts of other branches.
func (f *figures) shares() cell.Table {
	run := f.run
	t := cell.Table{ID: "shares", Title: f.say("SHARES"), Note: f.say("with confidence intervals of 95 %"),
		Columns: []cell.Column{{Head: f.say("share"), Left: true}, {Head: f.say("of")}, {Head: f.say("value")},
			{Head: f.say("interval")}, {Head: f.say("limits")}, {Head: "", Left: true}}}
	o := find(run)
	const low, high = 0.14, 0.16
	row := []cell.Cell{cell.Text(f.say("accounts of other branches")), cell.Count(o.Counts.OK)}
	i := slices.Index(o.Counters, countRemote)
	switch {
	case run.Extra[extraBranches] == "1":
		row = append(row, cell.Text(""), cell.Text(""), cell.Text(f.say("%s to %s", "14", "16 %")),
			cell.Text(f.say("not applicable: one branch")).Marked(cell.Dim))
	case i < 0 || o.Counts.OK == 0:
		row = append(row, cell.Text(""), cell.Text(""), cell.Text(f.say("%s to %s", "14", "16 %")),
			tpc.TooFew.Cell(f.language))
	default:
		s := tpc.Share(o.Script[i], o.Counts.OK)
		row = append(row, cell.Text(tpc.Percent(s.Value)),
			cell.Text(f.say("%s to %s", tpc.Percent(s.Low), tpc.Percent(s.High))),
			cell.Text(f.say("%s to %s", "14", "16 %")), s.Judge(low, high).Cell(f.language))
	}
	t.Add(row...)
	return t
}
