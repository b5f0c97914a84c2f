package cli

import (
	"os"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/internal/render/cell"
	"brunt/internal/run/advise"
	"brunt/internal/run/runner"
	"brunt/internal/server/fault"
)

// healFaults is the name of the watchdog's command.
const healFaults = "heal-faults"

// newHealFaults returns the command of the watchdog, which undoes faults when brunt is killed; see package fault.
func newHealFaults(s *command.Env) *cobra.Command {
	cmd := newCommand(healFaults, cobra.NoArgs, func(*cobra.Command, []string) error {
		return fault.Watch(s.In, s.Out, advise.Restore)
	})
	cmd.Hidden = true
	return cmd
}

// faults returns the runner's options for faults.
func (f *runFlags) faults() runner.Faults {
	return runner.Faults{Allowed: f.allowFaults, Watchdog: watchdogCommand()}
}

// watchdogCommand returns the command line of the watchdog.
func watchdogCommand() []string {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return []string{self, healFaults}
}

// timetable prints the times of a plan's faults.
func timetable(s *command.Env, p *plan.Plan) error {
	entries, err := fault.Timetable(p)
	if err != nil {
		return exitcode.Usage(err)
	}
	return cell.WriteText(s.Out, cell.Look{}, fault.Table(p, entries))
}
