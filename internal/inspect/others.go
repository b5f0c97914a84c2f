package inspect

import (
	"cmp"
	"slices"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

const (
	othersTimes = 2   // as often as the load sent it, a statement was executed
	othersLeast = 100 // executions more
)

// otherClients says which statement of the load others send as well, so that the server's figures contain theirs; zero
// if none. What was executed is compared with what the load may have sent at most.
func otherClients(in *record.Inspection, operations []Operation) record.Warning {
	if len(in.Windows) == 0 {
		return record.Warning{}
	}
	sent := map[string]float64{}
	for k := range operations {
		o := &operations[k]
		sent[o.Name] = (o.Done + o.Uncertain) * float64(max(len(o.Requests), 1))
	}
	type excess struct {
		text         string
		calls, times float64
	}
	var all []excess
	for _, s := range in.Windows[0].Statements {
		of := 0.0
		for _, name := range s.Operations {
			of += sent[name]
		}
		if of > 0 && s.Calls >= othersTimes*of && s.Calls >= of+othersLeast {
			all = append(all, excess{s.Text, s.Calls, s.Calls / of})
		}
	}
	if len(all) == 0 {
		return record.Warning{}
	}
	worst := slices.MaxFunc(all, func(a, b excess) int { return cmp.Compare(a.calls, b.calls) })
	return record.Notice("inspect-others", message.Text("statement", Headline(worst.text)),
		message.Count("calls", uint64(worst.calls)), message.Number("times", worst.times))
}
