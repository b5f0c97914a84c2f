package runner

import (
	"fmt"
	"runtime"

	"brunt/internal/engine/machine"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/render/units"
	"brunt/internal/server/target"
)

// File descriptors that a run needs in addition to its connections.
const (
	filesOfRun  = 24 // the record's files, those under /proc that are read every second, name resolution
	filesOfLoop = 3  // of an event loop
)

// CheckFiles returns an error, before anything is sent or written, if this process may not open enough files for the
// sessions: a process without a free file descriptor can't even record what happened. flag names the option that sets
// the number of sessions, for advice; "" if there is none. If the user has not set the number of sessions, it is
// reduced to the possible number, and limit is how many files the process may open; otherwise it is 0.
func CheckFiles(s *target.System, w *workload.Workload, flag string) (limit int, err error) {
	p := s.Plan
	if s.Protocol.Embedded {
		return 0, nil
	}
	each := 1 // connections of a session
	if d, ok := s.Driver.(protocol.Routed); p.ByRequest() || ok && d.Router(s.Nodes(), &w.Program) != nil {
		each = len(s.Targets)
	}
	open, most := machine.Files()
	if most == 0 {
		return 0, nil
	}
	others := open + filesOfRun + filesOfLoop*runtime.NumCPU()
	sessions := p.MostSessions()
	if others+sessions*each <= most {
		return 0, nil
	}
	if room := max(most-others, 0) / each; asNeeded(p) && room > 0 {
		p.Settings.Sessions = room // the user has not set the number
		return most, nil
	}
	err = fmt.Errorf(
		"%s need %d file descriptors for their connections, and this process may open %d, %d of which it keeps for other files: raise the limit (ulimit -n %d)",
		units.Plural(sessions, "session", "sessions"), sessions*each, most, others, others+sessions*each)
	room := max(most-others, 0) / each
	if flag != "" && room > 0 {
		err = fmt.Errorf("%w, or give %s %d", err, flag, room)
	}
	return 0, &target.UsageError{Err: err}
}
