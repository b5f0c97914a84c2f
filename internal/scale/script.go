package scale

import "brunt/internal/record"

// The most operations and addresses that a script of k6 has in its record.
const (
	mostOperations = 128
	mostAddresses  = 16
)

// Judged takes the thresholds of a script that may end the load, with this worker's values, for the coordinator.
func (w *Worker) Judged(rules []record.AbortRule) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules = rules
}

// LiveScript makes a run, and its parts, those of the live view of a script of k6: all that it does is one operation.
// What scripts do gets its names while it happens, by each worker in another order. The merged record has all of them.
func LiveScript(run *record.Run, parts []*record.Recorded) {
	all, everywhere := record.Operation{Name: "all requests"}, record.Target{Address: "all", Protocol: "k6"}
	run.Operations, run.Targets = []record.Operation{all}, []record.Target{everywhere}
	for _, p := range parts {
		p.Run.Operations, p.Run.Targets = nil, nil
		for range mostOperations {
			p.Run.Operations = append(p.Run.Operations, all)
		}
		for range mostAddresses {
			p.Run.Targets = append(p.Run.Targets, everywhere)
		}
	}
}
