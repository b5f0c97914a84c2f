package report

import (
	"strconv"
	"strings"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// registers is the table of contested keys and whether their histories are linearizable.
func (t *writer) registers() cell.Table {
	out := cell.Table{ID: "registers", Title: t.say("REGISTERS"), Note: t.say("keys that sessions contested"),
		Columns: []cell.Column{{Head: t.say("registers")}, {Head: t.say("operations")},
			{Head: t.say("without answer"), Priority: 1}, {Head: t.say("linearizable")}, {Head: t.say("violated")},
			{Head: t.say("undecided")}}}
	r := t.run.Registers
	if r == nil {
		return out
	}
	out.Add(cell.Count(r.Registers), cell.Count(r.Operations), countOrNone(r.Pending), countOrNone(r.Linearizable),
		markedCount(r.Violated, cell.Bad), markedCount(r.Undecided, cell.Warn))
	if !r.Reason.IsZero() {
		out.Foot = append(out.Foot, r.Reason.In(t.l))
	}
	return out
}

// timelineWidth is the width of a counterexample's timeline in characters.
const timelineWidth = 32

// counterexample shows operations on a register that no order explains, as a timeline.
func (t *writer) counterexample() cell.Table {
	out := cell.Table{ID: "counterexample", Title: t.say("NOT LINEARIZABLE"),
		Note: t.say("no order of these operations explains what they returned"),
		Columns: []cell.Column{{Head: t.say("session")}, {Head: t.say("operation"), Left: true},
			{Head: t.say("at"), Priority: 2}, {Head: t.say("took")}, {Head: t.say("timeline"), Left: true},
			{Head: t.say("address"), Left: true, Priority: 1}}}
	if t.run.Registers == nil || len(t.run.Registers.Counterexample) == 0 {
		return out
	}
	ops := t.run.Registers.Counterexample
	first, last := ops[0].CallNs, ops[0].CallNs+1
	for i := range ops {
		first, last = min(first, ops[i].CallNs), max(last, ops[i].CallNs+1)
		if ops[i].ReturnNs != nil {
			last = max(last, *ops[i].ReturnNs)
		}
	}
	for i := range ops {
		op := &ops[i]
		value, what := t.say("nothing"), t.say("read %s")
		if op.Value != nil {
			value = strconv.FormatInt(*op.Value, 10)
		}
		if op.Write {
			what = t.say("write %s")
		}
		took := cell.None()
		if op.ReturnNs != nil {
			took = cell.Time(*op.ReturnNs - op.CallNs)
		}
		out.Add(cell.Count(op.Session), cell.Text(strings.Replace(what, "%s", value, 1)),
			cell.Text(t.span(int64(time.Duration(op.CallNs).Round(time.Microsecond)))), took,
			cell.Text(bar(op, first, last)), cell.Text(units.Clean(op.Address)))
	}
	return out
}

// bar draws an operation between two times.
func bar(op *record.RegisterOp, first, last int64) string {
	place := func(ns int64) int { return int((ns - first) * (timelineWidth - 1) / (last - first)) }
	from, to := place(op.CallNs), timelineWidth-1
	end := "→"
	if op.ReturnNs != nil {
		to, end = place(*op.ReturnNs), "┤"
	}
	if from == to {
		return strings.Repeat(" ", from) + "┼"
	}
	return strings.Repeat(" ", from) + "├" + strings.Repeat("─", to-from-1) + end
}
