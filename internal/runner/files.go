package runner

import (
	"fmt"
	"runtime"

	"brunt/internal/machine"
	"brunt/internal/protocol"
	"brunt/internal/protocols"
	"brunt/internal/target"
	"brunt/internal/units"
	"brunt/internal/workload"
)

// File descriptors that a run needs besides its connections.
const (
	filesOfRun  = 24 // the record's, those under /proc that are read every second, look-ups of names
	filesOfLoop = 3  // of an event loop
)

// CheckFiles refuses sessions for which this process may not open enough files, before anything is sent or
// written: a process without a file descriptor left can't even record what happened. flag is what sets the number of
// sessions, for advice; "" if nothing does. Sessions that nobody asked for become as many as there is room for.
func CheckFiles(s *target.System, w *workload.Workload, flag string) error {
	p := s.Plan
	if protocols.Embedded(p.Target.Protocol) {
		return nil
	}
	each := 1 // connections of a session
	if d, ok := s.Driver.(protocol.Routed); p.ByRequest() || ok && d.Router(s.Nodes(), &w.Program) != nil {
		each = len(s.Targets)
	}
	open, most := machine.Files()
	if most == 0 {
		return nil
	}
	others := open + filesOfRun + filesOfLoop*runtime.NumCPU()
	sessions := p.MostSessions()
	if others+sessions*each <= most {
		return nil
	}
	if room := max(most-others, 0) / each; asNeeded(p) && room > 0 {
		p.Settings.Sessions = room // nobody asked for more
		return nil
	}
	err := fmt.Errorf(
		"%s need %d file descriptors for their connections, and this process may open %d, %d of which it keeps for other files: raise the limit (ulimit -n %d)",
		units.Plural(sessions, "session", "sessions"), sessions*each, most, others, others+sessions*each)
	room := max(most-others, 0) / each
	if flag != "" && room > 0 {
		err = fmt.Errorf("%w, or give %s %d", err, flag, room)
	}
	return &target.UsageError{Err: err}
}
