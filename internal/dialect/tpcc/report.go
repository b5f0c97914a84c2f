package tpcc

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
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/report"
)

// writeReport writes the report in the terms of the specification.
func writeReport(w io.Writer, run *record.Run, o report.Options) error {
	f := newFigures(run)
	f.language = o.Language
	return cell.WriteText(w, o.Look(), f.tables()...)
}

// figures are what the report is made of.
type figures struct {
	run        *record.Run
	language   units.Language
	of         [kinds]*record.Operation // nil: the transaction isn't in the record
	all        uint64                   // successful transactions
	warehouses float64
	think      bool
}

func newFigures(run *record.Run) *figures {
	f := &figures{run: run, think: run.Extra[extraThink] != "no"}
	f.warehouses, _ = strconv.ParseFloat(run.Extra[extraWarehouses], 64)
	for i := range run.Operations {
		if k, ok := kindOf(run.Operations[i].Name); ok {
			f.of[k] = &run.Operations[i]
			f.all += run.Operations[i].Counts.OK
		}
	}
	return f
}

// ok returns how many transactions of a kind were done.
func (f *figures) ok(k Kind) uint64 {
	if f.of[k] == nil {
		return 0
	}
	return f.of[k].Counts.OK
}

// counted returns a counter of a transaction.
func (f *figures) counted(k Kind, name string) uint64 {
	if f.of[k] == nil {
		return 0
	}
	i := slices.Index(f.of[k].Counters, name)
	if i < 0 || i >= len(f.of[k].Script) {
		return 0
	}
	return f.of[k].Script[i]
}

// perMinute returns the New-Orders a minute, those with an unused item included: they are complete when they have been
// rolled back (clause 5.4.2).
func (f *figures) perMinute() float64 {
	if f.run.DurationNs == 0 {
		return 0
	}
	return float64(f.ok(NewOrder)) / time.Duration(f.run.DurationNs).Minutes()
}

func (f *figures) tables() []cell.Table {
	out := []cell.Table{f.head(), f.transactions(), f.shares(), tpc.Conditions(f.run, f.language, conditionNames())}
	return append(out, tpc.GapsTable(f.language, f.run.Extra[tpc.ExtraSystem], f.run.Extra[tpc.ExtraLacks])...)
}

func (f *figures) say(english string, args ...any) string {
	return message.Label(f.language, english, args...)
}

func conditionNames() (names []string) {
	for _, c := range Conditions(Full()) {
		names = append(names, c.Name)
	}
	return names
}

// variant says how the load differs from the specification's; "" if it doesn't.
func (f *figures) variant() string {
	var differs []string
	switch {
	case !tpc.OfCommand(f.run):
		return f.say(tpc.ByPlan)
	case f.run.Extra[tpc.ExtraOpen] == "yes":
		differs = append(differs, f.say("an open load at a fixed rate, without keying and think times"))
	case !f.think:
		differs = append(differs, f.say("without keying and think times"))
	}
	if f.run.Extra[tpc.ExtraShrunk] == "yes" {
		differs = append(differs, f.say("with fewer items and customers"))
	}
	if f.run.Extra[extraMix] == "no" {
		differs = append(differs, f.say("with smaller shares than the least ones"))
	}
	return strings.Join(differs, ", ")
}

// head is the table of the result.
func (f *figures) head() cell.Table {
	t := cell.Table{ID: "tpcc", Title: "TPC-C", Note: f.say("not audited, not a result of the TPC"), Kind: cell.Tree}
	add := func(label string, value cell.Cell, note string) { t.Add(cell.Text(label), value, cell.Text(note)) }
	variant := f.variant()
	if variant != "" {
		t.Note = f.say("a variant, %s", variant)
		add(f.say("variant"), cell.Text(variant).Marked(cell.Warn), f.say("figures aren't tpmC, and not comparable with it"))
	}
	rolledBack := f.counted(NewOrder, countRolledBack)
	name := "tpmC"
	if variant != "" {
		name = f.say("New-Orders a minute")
	}
	rate := f.perMinute()
	add(name, cell.Figure(rate, cell.UnitNumber).Marked(cell.Strong),
		f.say("%d New-Orders in %s, %d of them rolled back", f.ok(NewOrder),
			time.Duration(f.run.DurationNs).Round(time.Second), rolledBack))
	if undone := f.counted(NewOrder, countNotUndone); undone > 0 {
		add(f.say("not undone"), cell.Count(undone).Marked(cell.Bad),
			f.say("New-Orders that should have been rolled back, and can't be here"))
	}
	if f.warehouses > 0 {
		each := rate / f.warehouses
		note := f.say("without think times there is no limit")
		if variant == "" {
			switch {
			case each > maxPerWarehouse:
				note = f.say("above %.2f, which ten terminals can't exceed: not TPC-C", maxPerWarehouse)
			case each < leastPerWarehouse:
				note = f.say("below %g: not TPC-C; use fewer warehouses, or a longer interval", leastPerWarehouse)
			default:
				note = f.say("between %g and %.2f", leastPerWarehouse, maxPerWarehouse)
			}
		}
		add(f.say("per warehouse"), cell.Figure(each, cell.UnitNumber), note)
		if variant == "" {
			add(f.say("share of the possible"), cell.Figure(each/maxPerWarehouse, "fraction"),
				f.say("of %.2f per warehouse", maxPerWarehouse))
		}
	}
	add(f.say("warehouses"), cell.Text(f.run.Extra[extraWarehouses]), f.say("terminals: %s", f.run.Extra[extraTerminals]))
	interval := time.Duration(f.run.DurationNs)
	note := f.say("long enough")
	if interval < 2*time.Hour {
		note = f.say("shorter than the 120 minutes of the specification")
	}
	add(f.say("interval"), cell.Figure(float64(f.run.DurationNs), "ns"), note)
	add(f.say("isolation"), cell.Text(f.run.Extra[tpc.ExtraIsolation]), f.say("on %s", f.run.Extra[tpc.ExtraSystem]))
	tpc.VerdictRows(&t, f.run, f.language)
	return t
}

// transactions is the table of the mix and of response times.
func (f *figures) transactions() cell.Table {
	t := cell.Table{ID: "transactions", Title: f.say("TRANSACTIONS"), Note: f.say("response times, keying and think times excluded"),
		Columns: []cell.Column{{Head: f.say("transaction"), Left: true}, {Head: f.say("done")},
			{Head: f.say("share")}, {Head: f.say("least")}, {Head: "p90"}, {Head: f.say("limit")}, {Head: "p99", Priority: 1},
			{Head: f.say("failed")}, {Head: f.say("repeated"), Priority: 2}, {Head: "", Left: true}}}
	for k := range kinds {
		o, p := f.of[k], profiles[k]
		if o == nil {
			t.Add(cell.Text(p.title), cell.Count(uint64(0)), cell.Share(0, max(f.all, 1)), least(p.least), cell.Text(""),
				cell.Text(""), cell.Text(""), cell.Text(""), cell.Text(""), cell.Text(f.lacking(p.least)).Marked(cell.Bad))
			continue
		}
		state, mark := f.say("ok"), cell.Good
		share := 0.0
		if f.all > 0 {
			share = float64(o.Counts.OK) / float64(f.all) * 100
		}
		switch {
		case o.Counts.Done == 0:
			state, mark = f.say("none"), cell.Bad
		case o.Response.P90Ns > record.Ns(p.limit):
			state, mark = f.say("too slow"), cell.Bad
		case share < p.least && tpc.Share(o.Counts.OK, f.all).High*100 < p.least:
			state, mark = f.say("too few"), cell.Bad
		case share < p.least:
			state, mark = f.say("share: too few to tell"), cell.Warn
		}
		failed := cell.Count(o.Counts.Failed)
		if o.Counts.Failed > 0 {
			failed = failed.Marked(cell.Bad)
		}
		t.Add(cell.Text(p.title), cell.Count(o.Counts.OK), cell.Share(o.Counts.OK, max(f.all, 1)), least(p.least),
			f.ns(o.Response.P90Ns), cell.Figure(float64(p.limit), "ns"), f.ns(o.Response.P99Ns), failed,
			cell.Count(o.Counts.Retries), cell.Text(state).Marked(mark))
	}
	t.Foot = []string{f.say("a Delivery is carried out by its terminal at once: its time is that of the deferred part, with its limit")}
	return t
}

func (f *figures) ns(n record.Ns) cell.Cell {
	if n == record.Infinite {
		return cell.Text(f.say("never"))
	}
	return cell.Figure(float64(n), "ns")
}

func least(percent float64) cell.Cell {
	if percent == 0 {
		return cell.Text("")
	}
	return cell.Figure(percent/100, "fraction")
}

func (f *figures) lacking(percent float64) string {
	if percent == 0 {
		return f.say("left out")
	}
	return f.say("left out: not TPC-C")
}

// share is a share of clause 9.2.2.5, with its limits.
type share struct {
	name      string
	remote    bool
	part, of  uint64
	low, high float64
}

// shares is the table of what transactions consist of (clause 9.2.2.5).
func (f *figures) shares() cell.Table {
	t := cell.Table{ID: "shares", Title: f.say("SHARES"), Note: f.say("of clause 9.2.2.5, with confidence intervals of 95 %"),
		Columns: []cell.Column{{Head: f.say("share"), Left: true}, {Head: f.say("of")}, {Head: f.say("value")},
			{Head: f.say("interval")}, {Head: f.say("limits")}, {Head: "", Left: true}}}
	orders := f.ok(NewOrder)
	rolled := f.counted(NewOrder, countRolledBack)
	lines := f.counted(NewOrder, countLines)
	several := f.warehouses > 1
	for _, s := range []share{
		{f.say("New-Orders rolled back"), false, rolled, orders, 0.009, 0.011},
		{f.say("remote order lines"), true, f.counted(NewOrder, countRemoteLines), lines, 0.0095, 0.0105},
		{f.say("remote Payments"), true, f.counted(Payment, countRemote), f.ok(Payment), 0.14, 0.16},
		{f.say("Payments by last name"), false, f.counted(Payment, countByName), f.ok(Payment), 0.57, 0.63},
		{f.say("Order-Status by last name"), false, f.counted(OrderStatus, countByName), f.ok(OrderStatus), 0.57, 0.63},
		{f.say("deliveries skipped"), false, f.counted(Delivery, countSkipped), f.ok(Delivery) * Districts, 0, 0.01},
	} {
		if s.remote && !several {
			t.Add(cell.Text(s.name), cell.Count(s.of), cell.Text(""), cell.Text(""), cell.Text(f.limits(s.low, s.high)),
				cell.Text(f.say("one warehouse")).Marked(cell.Dim))
			continue
		}
		if s.of == 0 {
			t.Add(cell.Text(s.name), cell.Count(s.of), cell.Text(""), cell.Text(""), cell.Text(f.limits(s.low, s.high)),
				tpc.TooFew.Cell(f.language))
			continue
		}
		i := tpc.Share(s.part, s.of)
		t.Add(cell.Text(s.name), cell.Count(s.of), cell.Text(tpc.Percent(i.Value)),
			cell.Text(f.say("%s to %s", tpc.Percent(i.Low), tpc.Percent(i.High))), cell.Text(f.limits(s.low, s.high)),
			i.Judge(s.low, s.high).Cell(f.language))
	}
	if there := orders - min(rolled, orders); there > 0 {
		// The variance of a uniform number from 5 to 15 is (11² − 1)/12 = 10.
		i := tpc.Mean(float64(lines), there, 3.1623)
		t.Add(cell.Text(f.say("order lines of a New-Order")), cell.Count(there), cell.Text(fmt.Sprintf("%.2f", i.Value)),
			cell.Text(f.say("%.2f to %.2f", i.Low, i.High)), cell.Text(f.say("%s to %s", "9.5", "10.5")),
			i.Judge(9.5, 10.5).Cell(f.language))
	}
	return t
}

func (f *figures) limits(low, high float64) string {
	text := func(v float64) string { return strconv.FormatFloat(v*100, 'g', 4, 64) }
	if low == 0 {
		return f.say("up to %s", text(high)+" %")
	}
	return f.say("%s to %s", text(low), text(high)+" %")
}
