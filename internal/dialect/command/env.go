// Package command has what brunt's own commands and those of dialects share: the process as they see it, their texts of
// help, and flags. Its rooms: flags applies flags to plans, usage writes help, manual pages and errors.
package command

import (
	"io"

	"brunt/internal/base/secret"
	"brunt/internal/report"
	"brunt/internal/run/loadtest"
)

// Env is the process as a command sees it: its standard streams, its command line and its version.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	Args     []string          // the command line, with the program's name
	Version  string            // of brunt
	Program  string            // the tool that brunt was called as; "" if it was called as brunt
	Form     string            // form of a run's report unless the user asks for another; "" means text
	Reports  []report.Format   // the tools' forms of reports
	Letters  secret.Flags      // what the tool's flags of one letter mean
	Flags    map[string]string // see record.Run.Flags
	PlanOnly bool              // no load is sent: its plan is printed
	Beyond   []string          // what of the command line isn't in the plan, if PlanOnly
	// Foreign says what to do with a file that is no plan but another tool's; "" if no tool knows it. It may be nil.
	Foreign func(name string, text []byte) string
}

// Process returns the description of this process for records.
func (s *Env) Process() loadtest.Process {
	return loadtest.Process{Command: secret.Args(s.Args, s.Letters), Version: s.Version, Flags: s.Flags,
		PlanOnly: s.PlanOnly, Beyond: s.Beyond}
}
