package inspect

import (
	"brunt/internal/load/gen"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// tries limits how many operations of the load are searched for an execution.
const tries = 100_000

// operations describes the operations of a load. counts and service are their totals, by operation.
func operations(w *workload.Workload, counts []measure.Counts, service []serviceTime) []Operation {
	if w == nil {
		return nil
	}
	out := make([]Operation, len(w.Operations))
	for k := range w.Operations {
		o := &out[k]
		o.Name = w.Operations[k].Name
		if k < len(service) && service[k].n > 0 {
			o.Measured, o.MeanNs = service[k].n, service[k].sumNs/service[k].n
		}
		if k < len(counts) {
			c := &counts[k]
			o.Done, o.BytesIn = float64(c.Done), float64(c.BytesIn)
			o.Uncertain = float64(c.Failed()+c.Unfinished) + float64(c.Attempts-min(c.Attempts, c.Done))
		}
		steps := w.Operations[k].Steps
		var of []int // indexes of the steps that are statements
		for i := range steps {
			o.Requests = append(o.Requests, steps[i].Requests()...)
			switch r := steps[i].Request; {
			case r.Verb == protocol.SQL:
				o.Statements, of = append(o.Statements, r.Text), append(of, i)
			case r.Web != nil && len(steps) == 1:
				o.Method = r.Web.Method
			}
		}
		o.Arguments = func(statement, execution int) ([]*string, bool) {
			return arguments(w, k, of[statement], execution)
		}
	}
	return out
}

// arguments returns the arguments of a step in the operation's execution with the given number, from 0. Values
// taken from the answers to earlier steps are null, since they can't be known without sending those steps again.
func arguments(w *workload.Workload, operation, step, execution int) ([]*string, bool) {
	if w.Scripted(operation) {
		return nil, false
	}
	most := uint64(tries)
	if w.Total > 0 {
		most = min(most, w.Total)
	}
	for i := range most {
		if w.Pick(i) != operation {
			continue
		}
		if execution--; execution >= 0 {
			continue
		}
		var st workload.State
		for k := range step {
			w.Args(&st, operation, k, i)
		}
		values := w.Args(&st, operation, step, i)
		out := make([]*string, len(values))
		for k := range values {
			if values[k].Kind != gen.Null {
				text := string(values[k].AppendText(nil))
				out[k] = &text
			}
		}
		return out, true
	}
	return nil, false
}
