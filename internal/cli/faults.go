package cli

import (
	"cmp"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/exitcode"
	"brunt/internal/fault"
	"brunt/internal/plan"
	"brunt/internal/render/cell"
	"brunt/internal/runner"
)

// healFaults is the command that the watchdog is.
const healFaults = "heal-faults"

// newHealFaults is the watchdog that undoes faults when brunt is killed; see package fault.
func newHealFaults(s *streams) *cobra.Command {
	return &cobra.Command{
		Use: healFaults, Short: "Undo faults when standard input ends; for brunt itself", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return fault.Watch(s.in) },
	}
}

// faults are what the runner needs of faults.
func (f *runFlags) faults() runner.Faults {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return runner.Faults{Allowed: f.allowFaults, Watchdog: []string{self, healFaults}}
}

// timetable prints when a plan's faults come.
func (f *runFlags) timetable(s *streams, p *plan.Plan) error {
	entries, err := fault.Timetable(p)
	if err != nil {
		return exitcode.Usage(err)
	}
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
			cell.Count(e.Number), cell.Text(whatIsDone(p, e)))
	}
	if len(entries) == 0 {
		table.Foot = append(table.Foot, "the plan has no faults")
	}
	return cell.WriteText(s.out, cell.Look{}, table)
}

// whatIsDone is what a fault does, for its timetable.
func whatIsDone(p *plan.Plan, e *fault.Entry) string {
	f := e.Fault
	one := func(all []string) string {
		if len(all) == 0 {
			all, _ = p.Target.Weighted()
		}
		var out []string
		for _, i := range fault.Pick(p, f, e.Number, len(all)) {
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
