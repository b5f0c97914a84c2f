package inspect

import (
	"slices"

	"brunt/internal/record"
)

// How much of an inspection run.json contains. The complete inspection is in a separate file.
const (
	briefStatements = 30
	briefOfPhase    = 10
	briefCounters   = 60
)

// brief returns an inspection with shortened lists of statements and counters.
func brief(whole record.Inspection) record.Inspection {
	windows := slices.Clone(whole.Windows)
	for i := range windows {
		w := &windows[i]
		most := briefStatements
		if w.Phase != "" {
			most = briefOfPhase
		}
		if n := len(w.Statements); n > most {
			w.Omitted += n - most
			w.Statements = w.Statements[:most]
		}
		if len(w.Counters) > briefCounters {
			w.Counters = w.Counters[:briefCounters]
		}
	}
	whole.Windows = windows
	return whole
}
