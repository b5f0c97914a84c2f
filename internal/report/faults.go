package report

import (
	"time"

	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// mostFaults limits the faults in the report.
const mostFaults = 50

// faults is the table of faults and their results.
func (t *writer) faults() cell.Table {
	out := cell.Table{ID: "faults", Title: t.say("FAULTS"),
		Note: t.say("what was done to servers; times count from the run's beginning, as in charts"),
		Columns: []cell.Column{{Head: t.say("begun")}, {Head: t.say("fault"), Left: true},
			{Head: t.say("done to"), Left: true, Priority: 2}, {Head: t.say("lasted")},
			{Head: t.say("healed in"), Priority: 1}, {Head: t.say("what became of it"), Left: true, Wrap: true}}}
	shown := t.run.Faults[:min(len(t.run.Faults), mostFaults)]
	for i := range shown {
		f := &shown[i]
		length, healing := cell.None(), cell.None()
		if f.HealBeginNs > 0 {
			length = cell.Time(f.HealBeginNs - f.DoneNs)
		}
		if f.HealedNs > 0 {
			healing = cell.Time(f.HealedNs - f.HealBeginNs)
		}
		begun := cell.None()
		if f.BeginNs > 0 {
			begun = cell.Text(t.span(int64(time.Duration(f.BeginNs).Round(time.Millisecond)))).Marked(cell.Dim)
		}
		out.Add(begun, cell.Text(units.Clean(f.Name)), cell.Text(units.Clean(f.Target)), length, healing, t.fateOf(f))
	}
	if more := len(t.run.Faults) - len(shown); more > 0 {
		out.Foot = append(out.Foot, t.say("and %s, see %s", plural(t, more, "other", "others"), record.RunFile))
	}
	return out
}

// fateOf returns the result of a fault.
func (t *writer) fateOf(f *record.Fault) cell.Cell {
	switch {
	case f.Error != "":
		return cell.Text(t.say("not done: %s", units.Clean(f.Error))).Marked(cell.Bad)
	case f.HealError != "" && f.Undo != "":
		return cell.Text(t.say("not healed: %s; by hand: %s", units.Clean(f.HealError), units.Clean(f.Undo))).Marked(cell.Bad)
	case f.HealError != "":
		return cell.Text(t.say("not healed: %s", units.Clean(f.HealError))).Marked(cell.Bad)
	case f.HealedBy == record.HealedByEnd:
		return cell.Text(t.say("ended with brunt")).Marked(cell.Warn)
	case f.HealedBy == record.HealedByWatchdog:
		return cell.Text(t.say("healed by the watchdog")).Marked(cell.Warn)
	case f.HealedNs > 0:
		return cell.Text(t.say("healed"))
	case !t.run.Complete && f.Left():
		return cell.Text(t.say("perhaps not healed; by hand: %s", units.Clean(f.Undo))).Marked(cell.Bad)
	case f.DoneNs == 0 || !t.run.Complete:
		return cell.Text(t.say("under way"))
	}
	return cell.Text(t.say("not to be healed"))
}
