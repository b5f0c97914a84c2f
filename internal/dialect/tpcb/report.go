package tpcb

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/tpc"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/report"
)

// limit is how long 90 % of the transactions may take (clause 6.2).
const limit = 2 * time.Second

// writeReport writes the report in the terms of the specification.
func writeReport(w io.Writer, run *record.Run, o report.Options) error {
	out := []cell.Table{head(run), shares(run), tpc.Conditions(run, conditionNames())}
	out = append(out, tpc.GapsTable(run.Extra[extraSystem], run.Extra[extraLacks])...)
	return cell.WriteText(w, o.Look(), out...)
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
func variant(run *record.Run) string {
	var differs []string
	if run.Extra[extraOpen] == "yes" {
		differs = append(differs, "an open load at a fixed rate")
	}
	if run.Extra[extraShrunk] == "yes" {
		differs = append(differs, "with fewer accounts")
	}
	return strings.Join(differs, ", ")
}

// head is the table of the result.
func head(run *record.Run) cell.Table {
	t := cell.Table{ID: "tpcb", Title: "TPC-B", Note: "not audited, not a result of the TPC", Kind: cell.Tree}
	add := func(label string, value cell.Cell, note string) { t.Add(cell.Text(label), value, cell.Text(note)) }
	o := find(run)
	name := "tpsB"
	if differs := variant(run); differs != "" {
		t.Note = "a variant, " + differs
		add("variant", cell.Text(differs).Marked(cell.Warn), "figures aren't tpsB, and not comparable with it")
		name = "transactions a second"
	}
	branchCount, _ := strconv.ParseFloat(run.Extra[extraBranches], 64)
	rate := 0.0
	if run.DurationNs > 0 {
		rate = float64(o.Counts.OK) / time.Duration(run.DurationNs).Seconds()
	}
	add(name, cell.Figure(rate, cell.UnitNumber).Marked(cell.Strong),
		fmt.Sprintf("%d transactions in %s, %d failed, %d repeated", o.Counts.OK,
			time.Duration(run.DurationNs).Round(time.Millisecond), o.Counts.Failed, o.Counts.Retries))
	note, mark := "at least one branch for each transaction a second", cell.Good
	if rate > branchCount {
		note, mark = fmt.Sprintf("too few: %.0f transactions a second need %.0f branches", rate, rate+0.5), cell.Bad
	}
	add("branches", cell.Text(run.Extra[extraBranches]).Marked(mark), note)
	note, mark = fmt.Sprintf("within %s", limit), cell.Good
	if o.Response.P90Ns > record.Ns(limit) {
		note, mark = fmt.Sprintf("above %s", limit), cell.Bad
	}
	p90 := cell.Text("never")
	if o.Response.P90Ns != record.Infinite {
		p90 = cell.Figure(float64(o.Response.P90Ns), "ns")
	}
	add("residence time, p90", p90.Marked(mark), note)
	note = "within 15 to 60 minutes"
	if d := time.Duration(run.DurationNs); d < 15*time.Minute || d > time.Hour {
		note = "outside of the 15 to 60 minutes of the specification"
	}
	add("interval", cell.Figure(float64(run.DurationNs), "ns"), note)
	add("history", cell.Count(uint64(rate*historyOfBranch)), "rows of 30 days of eight hours, for which there must be room")
	add("sessions", cell.Text(run.Extra[extraSessions]), "")
	add("isolation", cell.Text(run.Extra[extraIsolation]), "on "+run.Extra[extraSystem])
	tpc.VerdictRows(&t, run)
	return t
}

// shares is the table of the share of accounts of other branches.
func shares(run *record.Run) cell.Table {
	t := cell.Table{ID: "shares", Title: "SHARES", Note: "with confidence intervals of 95 %", Columns: []cell.Column{
		{Head: "share", Left: true}, {Head: "of"}, {Head: "value"}, {Head: "interval"}, {Head: "limits"}, {Head: "", Left: true}}}
	o := find(run)
	const low, high = 0.14, 0.16
	row := []cell.Cell{cell.Text("accounts of other branches"), cell.Count(o.Counts.OK)}
	i := slices.Index(o.Counters, countRemote)
	switch {
	case run.Extra[extraBranches] == "1":
		row = append(row, cell.Text(""), cell.Text(""), cell.Text("14 to 16 %"),
			cell.Text("not applicable: one branch").Marked(cell.Dim))
	case i < 0 || o.Counts.OK == 0:
		row = append(row, cell.Text(""), cell.Text(""), cell.Text("14 to 16 %"),
			cell.Text(string(tpc.TooFew)).Marked(cell.Warn))
	default:
		s := tpc.Share(o.Script[i], o.Counts.OK)
		row = append(row, cell.Text(tpc.Percent(s.Value)), cell.Text(tpc.Percent(s.Low)+" to "+tpc.Percent(s.High)),
			cell.Text("14 to 16 %"), s.Judge(low, high).Cell())
	}
	t.Add(row...)
	return t
}
