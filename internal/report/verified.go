package report

import (
	"fmt"
	"slices"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// Writes returns the tables of the writes of a run that were read back.
func Writes(run *record.Run, l units.Language) []cell.Table {
	t := &writer{run: run, l: l}
	return t.all(t.writes, t.writesByAddress, t.writesAfterFaults, t.badWrites)
}

// mostBadWrites limits the writes that the report lists.
const mostBadWrites = 20

// writes is the table of the results of reading writes back.
func (t *writer) writes() cell.Table {
	out := cell.Table{ID: "writes", Title: t.say("WRITES"), Note: t.say("acknowledged ones, as they were read back"),
		Columns: []cell.Column{{Head: t.say("operation"), Left: true}, {Head: t.say("acknowledged")}, {Head: t.say("ok")},
			{Head: t.say("overwritten"), Priority: 6}, {Head: t.say("lost")}, {Head: t.say("duplicated"), Priority: 4},
			{Head: t.say("stale"), Priority: 3}, {Head: t.say("resurrected"), Priority: 5},
			{Head: t.say("unexpected"), Priority: 2}, {Head: t.say("not read")}, {Head: t.say("without answer"), Priority: 1},
			{Head: t.say("of these applied, not"), Priority: 7}}}
	v := t.run.Verified
	if v == nil {
		return out
	}
	for i := range v.Operations {
		o := &v.Operations[i]
		resolved := cell.Text("–").Marked(cell.Dim)
		if o.Unknown > 0 {
			resolved = cell.Text(t.l.Figure(units.Count(o.UnknownApplied)) + ", " + t.l.Figure(units.Count(o.UnknownNotApplied)))
		}
		out.Add(cell.Text(units.Clean(o.Name)), cell.Count(o.Acknowledged), countOrNone(o.OK), countOrNone(o.Overwritten),
			markedCount(o.Lost, cell.Bad), markedCount(o.Duplicated, cell.Bad), markedCount(o.Stale, cell.Warn),
			markedCount(o.Resurrected+o.FailedThere, cell.Bad), markedCount(o.Unexpected, cell.Bad),
			markedCount(o.Unchecked(), cell.Warn), countOrNone(o.Unknown), resolved)
	}
	if len(v.Operations) == 0 {
		out.Add(cell.Text(t.say("none to read back")).Marked(cell.Warn))
	}
	if !v.Reason.IsZero() {
		out.Foot = append(out.Foot, v.Reason.In(t.l))
	}
	return out
}

// markedCount returns a count that is marked if it isn't zero.
func markedCount(n uint64, m cell.Mark) cell.Cell {
	if n == 0 {
		return countOrNone(n)
	}
	return cell.Count(n).Marked(m)
}

// writesByAddress is the table of the keys at each address, if there are several addresses.
func (t *writer) writesByAddress() cell.Table {
	out := cell.Table{ID: "writes-by-address", Title: t.say("WRITES BY ADDRESS"),
		Note: t.say("what each has of the keys that were written"),
		Columns: []cell.Column{{Head: t.say("address"), Left: true}, {Head: t.say("keys")}, {Head: t.say("ok")},
			{Head: t.say("missing")}, {Head: t.say("old")}, {Head: t.say("unexpected"), Priority: 1},
			{Head: t.say("duplicated"), Priority: 2}, {Head: t.say("not read")}}}
	if t.run.Verified == nil || len(t.run.Verified.Nodes) < 2 {
		return out
	}
	for i := range t.run.Verified.Nodes {
		n := &t.run.Verified.Nodes[i]
		out.Add(cell.Text(units.Clean(n.Address)), cell.Count(n.Keys), countOrNone(n.OK), markedCount(n.Missing, cell.Bad),
			markedCount(n.Old, cell.Warn), markedCount(n.Unexpected, cell.Bad), markedCount(n.Duplicated, cell.Bad),
			markedCount(n.Unread, cell.Warn))
	}
	return out
}

// writesAfterFaults is the table of the readings during the load, if there are any.
func (t *writer) writesAfterFaults() cell.Table {
	out := cell.Table{ID: "writes-after-faults", Title: t.say("WRITES AFTER FAULTS"),
		Note: t.say("those acknowledged by then, read back while the load went on"),
		Columns: []cell.Column{{Head: t.say("fault"), Left: true}, {Head: t.say("at")}, {Head: t.say("acknowledged")},
			{Head: t.say("ok")}, {Head: t.say("overwritten"), Priority: 5}, {Head: t.say("lost")},
			{Head: t.say("of these new"), Priority: 2}, {Head: t.say("seen later"), Priority: 3},
			{Head: t.say("stale"), Priority: 4}, {Head: t.say("otherwise wrong"), Priority: 1}, {Head: t.say("not read")},
			{Head: t.say("took"), Priority: 6}}}
	if t.run.Verified == nil {
		return out
	}
	var whys []string
	for i := range t.run.Verified.AfterFaults {
		v := &t.run.Verified.AfterFaults[i]
		o := v.Sum()
		out.Add(cell.Text(fmt.Sprintf("%s %d", units.Clean(v.Fault), v.Number)),
			cell.Text(t.span(int64(time.Duration(v.UntilNs).Round(time.Millisecond)))), cell.Count(o.Acknowledged),
			countOrNone(o.OK), countOrNone(o.Overwritten), markedCount(o.Lost, cell.Bad), markedCount(v.NewLost, cell.Bad),
			markedCount(v.Returned, cell.Warn), markedCount(o.Stale, cell.Warn), markedCount(o.Wrong()-o.Lost, cell.Bad),
			markedCount(o.Unchecked()+v.Unrecorded, cell.Warn),
			cell.Text(t.span(int64(time.Duration(v.DurationNs).Round(time.Millisecond)))))
		if why := v.Reason.In(t.l); !v.Reason.IsZero() && !slices.Contains(whys, why) {
			whys = append(whys, why)
		}
	}
	out.Foot = whys
	return out
}

// allBadWrites returns the writes that the last reading found wrong, and those that only readings during the load did.
func allBadWrites(v *record.Verified) []record.BadWrite {
	type id struct {
		operation, key string
		index          uint64
	}
	out, have := slices.Clone(v.Bad), map[id]bool{}
	for i := range v.Bad {
		have[id{v.Bad[i].Operation, v.Bad[i].Key, v.Bad[i].Index}] = true
	}
	for i := range v.AfterFaults {
		for _, w := range v.AfterFaults[i].Bad {
			if n := (id{w.Operation, w.Key, w.Index}); !have[n] {
				have[n] = true
				out = append(out, w)
			}
		}
	}
	return out
}

// badWrites is the table of writes that were lost or are wrong.
func (t *writer) badWrites() cell.Table {
	out := cell.Table{ID: "bad-writes", Title: t.say("WRITES THAT AREN'T AS THEY WERE"),
		Note: t.say("times count from the run's beginning, as in charts"),
		Columns: []cell.Column{{Head: t.say("what became of it"), Left: true}, {Head: t.say("key"), Left: true},
			{Head: t.say("operation"), Left: true, Priority: 3}, {Head: t.say("number"), Priority: 7},
			{Head: t.say("written"), Left: true, Priority: 5}, {Head: t.say("found"), Left: true, Priority: 2},
			{Head: t.say("at"), Left: true, Priority: 6}, {Head: t.say("acknowledged")},
			{Head: t.say("by"), Left: true, Priority: 4}, {Head: t.say("fault"), Left: true, Priority: 1}}}
	if t.run.Verified == nil {
		return out
	}
	v, all := t.run.Verified, allBadWrites(t.run.Verified)
	const most = 30 // characters of a key or value
	for i := range all[:min(len(all), mostBadWrites)] {
		w := &all[i]
		text := func(s string) cell.Cell { return cell.Text(cell.Cut(units.Clean(s), most)) }
		out.Add(cell.Text(t.say(w.Fate)).Marked(cell.Bad), text(w.Key), cell.Text(units.Clean(w.Operation)),
			cell.Count(w.Index), text(w.Wrote), text(w.Found), cell.Text(units.Clean(w.Where)),
			cell.Text(t.span(int64(time.Duration(w.EndNs).Round(time.Millisecond)))), cell.Text(units.Clean(w.Address)),
			cell.Text(t.faultOf(w)))
	}
	if more := uint64(len(all)-len(out.Rows)) + v.BadMore; more > 0 {
		out.Foot = append(out.Foot, t.say("and %s, see %s", plural(t, more, "other", "others"), record.RunFile))
	}
	return out
}

// faultOf describes the fault in progress when a write was acknowledged, or how long after that it began.
func (t *writer) faultOf(w *record.BadWrite) string {
	switch {
	case w.Fault == "":
		return ""
	case w.AheadNs > 0:
		return t.say("%s before %s", t.span(w.AheadNs), units.Clean(w.Fault))
	}
	return units.Clean(w.Fault)
}
