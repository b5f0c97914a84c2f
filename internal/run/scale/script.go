package scale

import "brunt/internal/record"

// The maximum numbers of operations and addresses in the record of a k6 script.
const (
	mostOperations = 128
	mostAddresses  = 16
)

// SetRules sets the thresholds that may end the load of a script, with this worker's values, for the coordinator.
func (w *Worker) SetRules(rules []record.AbortRule) {
	w.talk.judge(rules)
}

// LiveScript changes a run and its parts into those of the live view of a k6 script, in which there is only one
// operation. Operations of scripts get their names during the run, in a different order at each worker. The merged
// record has all operations.
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
