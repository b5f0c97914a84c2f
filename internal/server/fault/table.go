package fault

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"brunt/internal/plan"
	"brunt/internal/render/cell"
)

// Table returns the timetable of a plan's faults as a table.
func Table(p *plan.Plan, entries []Entry) cell.Table {
	table := cell.Table{ID: "timetable", Title: "TIMETABLE", Note: "of faults; times count from the load's beginning",
		Columns: []cell.Column{{Head: "at"}, {Head: "healed at"}, {Head: "fault", Left: true}, {Head: "number"},
			{Head: "what", Left: true, Wrap: true}}}
	for i := range entries {
		e := &entries[i]
		healed := "—"
		switch {
		case !e.Fault.Heals():
		case e.Until == 0:
			healed = "end"
		default:
			healed = e.Until.Round(time.Millisecond).String()
		}
		table.Add(cell.Text(e.At.Round(time.Millisecond).String()), cell.Text(healed), cell.Text(e.Fault.Name),
			cell.Count(e.Number), cell.Text(e.does(p)))
	}
	if len(entries) == 0 {
		table.Foot = append(table.Foot, "the plan has no faults")
	}
	return table
}

// does describes what the fault does, for the timetable.
func (e *Entry) does(p *plan.Plan) string {
	f := e.Fault
	one := func(all []string) string {
		if len(all) == 0 {
			all, _ = p.Target.Weighted()
		}
		var out []string
		for _, i := range Pick(p, f, e.Number, len(all)) {
			out = append(out, all[i])
		}
		return strings.Join(out, ", ")
	}
	switch f.Kind {
	case plan.FaultProcess:
		x := &f.Process
		return x.Do + " process " + cmp.Or(x.PIDFile, x.Match, x.CGroup, strconv.Itoa(x.PID))
	case plan.FaultCommand:
		return f.Command.Inject
	case plan.FaultHTTP:
		return f.HTTP.Inject.Method + " " + f.HTTP.Inject.Origin
	case plan.FaultRequest:
		return "request to " + one(f.Request.Addresses)
	case plan.FaultNetwork:
		if f.Network.Do == plan.NetPartition {
			var groups []string
			for _, g := range f.Network.Between {
				groups = append(groups, strings.Join(g, ", "))
			}
			return "partition between " + strings.Join(groups, " | ")
		}
		return f.Network.Do + " " + one(f.Network.Addresses)
	}
	return "flood " + one(f.Flood.Addresses)
}
