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
	"brunt/internal/report"
)

// writeReport writes the report in the terms of the specification.
func writeReport(w io.Writer, run *record.Run, o report.Options) error {
	return cell.WriteText(w, o.Look(), newFigures(run).tables()...)
}

// figures are what the report is made of.
type figures struct {
	run        *record.Run
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
	out := []cell.Table{f.head(), f.transactions(), f.shares(), tpc.Conditions(f.run, conditionNames())}
	return append(out, tpc.GapsTable(f.run.Extra[extraSystem], f.run.Extra[extraLacks])...)
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
	case f.run.Extra[extraOpen] == "yes":
		differs = append(differs, "an open load at a fixed rate, without keying and think times")
	case !f.think:
		differs = append(differs, "without keying and think times")
	}
	if f.run.Extra[extraShrunk] == "yes" {
		differs = append(differs, "with fewer items and customers")
	}
	return strings.Join(differs, ", ")
}

// head is the table of the result.
func (f *figures) head() cell.Table {
	t := cell.Table{ID: "tpcc", Title: "TPC-C", Note: "not audited, not a result of the TPC", Kind: cell.Tree}
	add := func(label string, value cell.Cell, note string) { t.Add(cell.Text(label), value, cell.Text(note)) }
	variant := f.variant()
	if variant != "" {
		t.Note = "a variant, " + variant
		add("variant", cell.Text(variant).Marked(cell.Warn), "figures aren't tpmC, and not comparable with it")
	}
	rolledBack := f.counted(NewOrder, countRolledBack)
	name := "tpmC"
	if variant != "" {
		name = "New-Orders a minute"
	}
	rate := f.perMinute()
	add(name, cell.Figure(rate, cell.UnitNumber).Marked(cell.Strong),
		fmt.Sprintf("%d New-Orders in %s, %d of them rolled back", f.ok(NewOrder),
			time.Duration(f.run.DurationNs).Round(time.Second), rolledBack))
	if undone := f.counted(NewOrder, countNotUndone); undone > 0 {
		add("not undone", cell.Count(undone).Marked(cell.Bad), "New-Orders that should have been rolled back, and can't be here")
	}
	if f.warehouses > 0 {
		each := rate / f.warehouses
		note := "without think times there is no limit"
		if variant == "" {
			switch {
			case each > maxPerWarehouse:
				note = fmt.Sprintf("above %.2f, which ten terminals can't exceed: not TPC-C", maxPerWarehouse)
			case each < leastPerWarehouse:
				note = fmt.Sprintf("below %g: not TPC-C; use fewer warehouses, or a longer interval", leastPerWarehouse)
			default:
				note = fmt.Sprintf("between %g and %.2f", leastPerWarehouse, maxPerWarehouse)
			}
		}
		add("per warehouse", cell.Figure(each, cell.UnitNumber), note)
		if variant == "" {
			add("share of the possible", cell.Figure(each/maxPerWarehouse, "fraction"),
				fmt.Sprintf("of %.2f per warehouse", maxPerWarehouse))
		}
	}
	add("warehouses", cell.Text(f.run.Extra[extraWarehouses]), f.run.Extra[extraTerminals]+" terminals")
	interval := time.Duration(f.run.DurationNs)
	note := "long enough"
	if interval < 2*time.Hour {
		note = "shorter than the 120 minutes of the specification"
	}
	add("interval", cell.Figure(float64(f.run.DurationNs), "ns"), note)
	add("isolation", cell.Text(f.run.Extra[extraIsolation]), "on "+f.run.Extra[extraSystem])
	tpc.VerdictRows(&t, f.run)
	return t
}

// transactions is the table of the mix and of response times.
func (f *figures) transactions() cell.Table {
	t := cell.Table{ID: "transactions", Title: "TRANSACTIONS", Note: "response times, keying and think times excluded",
		Columns: []cell.Column{{Head: "transaction", Left: true}, {Head: "done"}, {Head: "share"}, {Head: "least"},
			{Head: "p90"}, {Head: "limit"}, {Head: "p99", Priority: 1}, {Head: "failed"},
			{Head: "repeated", Priority: 2}, {Head: "", Left: true}}}
	for k := range kinds {
		o, p := f.of[k], profiles[k]
		if o == nil {
			t.Add(cell.Text(p.title), cell.Count(uint64(0)), cell.Share(0, max(f.all, 1)), least(p.least), cell.Text(""),
				cell.Text(""), cell.Text(""), cell.Text(""), cell.Text(""), cell.Text(lacking(p.least)).Marked(cell.Bad))
			continue
		}
		state, mark := "ok", cell.Good
		share := 0.0
		if f.all > 0 {
			share = float64(o.Counts.OK) / float64(f.all) * 100
		}
		switch {
		case o.Counts.Done == 0:
			state, mark = "none", cell.Bad
		case o.Response.P90Ns > record.Ns(p.limit):
			state, mark = "too slow", cell.Bad
		case share < p.least && tpc.Share(o.Counts.OK, f.all).High*100 < p.least:
			state, mark = "too few", cell.Bad
		case share < p.least:
			state, mark = "share: too few to tell", cell.Warn
		}
		failed := cell.Count(o.Counts.Failed)
		if o.Counts.Failed > 0 {
			failed = failed.Marked(cell.Bad)
		}
		t.Add(cell.Text(p.title), cell.Count(o.Counts.OK), cell.Share(o.Counts.OK, max(f.all, 1)), least(p.least),
			ns(o.Response.P90Ns), cell.Figure(float64(p.limit), "ns"), ns(o.Response.P99Ns), failed,
			cell.Count(o.Counts.Retries), cell.Text(state).Marked(mark))
	}
	t.Foot = []string{"a Delivery is carried out by its terminal at once: its time is that of the deferred part, with its limit"}
	return t
}

func ns(n record.Ns) cell.Cell {
	if n == record.Infinite {
		return cell.Text("never")
	}
	return cell.Figure(float64(n), "ns")
}

func least(percent float64) cell.Cell {
	if percent == 0 {
		return cell.Text("")
	}
	return cell.Figure(percent/100, "fraction")
}

func lacking(percent float64) string {
	if percent == 0 {
		return "left out"
	}
	return "left out: not TPC-C"
}

// share is a share of clause 9.2.2.5, with its limits.
type share struct {
	name      string
	part, of  uint64
	low, high float64
}

// shares is the table of what transactions consist of (clause 9.2.2.5).
func (f *figures) shares() cell.Table {
	t := cell.Table{ID: "shares", Title: "SHARES", Note: "of clause 9.2.2.5, with confidence intervals of 95 %",
		Columns: []cell.Column{{Head: "share", Left: true}, {Head: "of"}, {Head: "value"}, {Head: "interval"},
			{Head: "limits"}, {Head: "", Left: true}}}
	orders := f.ok(NewOrder)
	rolled := f.counted(NewOrder, countRolledBack)
	lines := f.counted(NewOrder, countLines)
	several := f.warehouses > 1
	for _, s := range []share{
		{"New-Orders rolled back", rolled, orders, 0.009, 0.011},
		{"remote order lines", f.counted(NewOrder, countRemoteLines), lines, 0.0095, 0.0105},
		{"remote Payments", f.counted(Payment, countRemote), f.ok(Payment), 0.14, 0.16},
		{"Payments by last name", f.counted(Payment, countByName), f.ok(Payment), 0.57, 0.63},
		{"Order-Status by last name", f.counted(OrderStatus, countByName), f.ok(OrderStatus), 0.57, 0.63},
		{"deliveries skipped", f.counted(Delivery, countSkipped), f.ok(Delivery) * Districts, 0, 0.01},
	} {
		if strings.Contains(s.name, "remote") && !several {
			t.Add(cell.Text(s.name), cell.Count(s.of), cell.Text(""), cell.Text(""), cell.Text(limits(s.low, s.high)),
				cell.Text("one warehouse").Marked(cell.Dim))
			continue
		}
		if s.of == 0 {
			t.Add(cell.Text(s.name), cell.Count(s.of), cell.Text(""), cell.Text(""), cell.Text(limits(s.low, s.high)),
				cell.Text(string(tpc.TooFew)).Marked(cell.Warn))
			continue
		}
		i := tpc.Share(s.part, s.of)
		t.Add(cell.Text(s.name), cell.Count(s.of), cell.Text(tpc.Percent(i.Value)),
			cell.Text(tpc.Percent(i.Low)+" to "+tpc.Percent(i.High)), cell.Text(limits(s.low, s.high)),
			i.Judge(s.low, s.high).Cell())
	}
	if there := orders - min(rolled, orders); there > 0 {
		// The variance of a uniform number from 5 to 15 is (11² − 1)/12 = 10.
		i := tpc.Mean(float64(lines), there, 3.1623)
		t.Add(cell.Text("order lines of a New-Order"), cell.Count(there), cell.Text(fmt.Sprintf("%.2f", i.Value)),
			cell.Text(fmt.Sprintf("%.2f to %.2f", i.Low, i.High)), cell.Text("9.5 to 10.5"), i.Judge(9.5, 10.5).Cell())
	}
	return t
}

func limits(low, high float64) string {
	text := func(v float64) string { return strconv.FormatFloat(v*100, 'g', 4, 64) }
	if low == 0 {
		return "up to " + text(high) + " %"
	}
	return text(low) + " to " + text(high) + " %"
}
