package inspect

import (
	"slices"

	"brunt/internal/record"
)

// What run.json keeps of an inspection; the whole is in a file of its own.
const (
	briefStatements = 30
	briefOfPhase    = 10
	briefCounters   = 60
)

// brief is an inspection without its long tails.
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
