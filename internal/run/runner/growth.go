package runner

import (
	"math"

	"brunt/internal/engine"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// asNeeded reports whether the sessions of p connect on demand.
func asNeeded(p *plan.Plan) bool { return p.Settings.SessionsAsNeeded && p.LoadModel() == "open" }

// If sessions connect on demand, the number that connects before the load is that which its highest rate needs by
// Little's law with answers that take answerS, and at least fewestAtFirst.
const (
	fewestAtFirst = 10
	answerS       = 0.001
)

// atFirst returns how many sessions connect before the load; 0 means all.
func (r *Runner) atFirst() int {
	if !r.Record.SessionsAsNeeded {
		return 0
	}
	return max(fewestAtFirst, len(r.system.Targets), r.system.Plan.Settings.Loops, int(math.Ceil(r.o.PeakPerS*answerS)))
}

// opened adds to the record how many sessions were in use, if sessions connected on demand.
func (r *Runner) opened() {
	if !r.Record.SessionsAsNeeded {
		return
	}
	sessions, full := r.Record.Sessions, false
	if f, ok := r.fleet.(engine.Growing); ok {
		sessions, full = f.Opened()
	}
	if full {
		w := record.Notice("sessions-full", message.Count("sessions", sessions))
		if flag := r.Record.Flags["sessions"]; flag != "" {
			w.Remedy = message.New("sessions-full.remedy", message.Text("flag", flag))
		}
		r.warn(w)
	}
	r.Record.Sessions = sessions
	for i := range r.Record.Phases {
		r.Record.Phases[i].Sessions = min(r.Record.Phases[i].Sessions, sessions)
	}
}
