package inspect

import (
	"slices"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
)

// tries limits how many operations of the load are searched for an execution.
const tries = 100_000

// drawn limits how many operations of the load Operation.Commands draws again.
const drawn = 20_000

// operations describes the operations of a load. counts and service are their totals, by operation.
func operations(w *workload.Workload, counts []measure.Counts, service []serviceTime) []Operation {
	if w == nil {
		return nil
	}
	out := make([]Operation, len(w.Operations))
	sent := uint64(0)
	for k := range counts {
		sent += uint64(counts[k].Done)
	}
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
		if slices.ContainsFunc(o.Requests, func(r *protocol.Request) bool { return len(r.Words) > 0 }) {
			o.Commands = func(each func(words []string)) { commands(w, k, min(drawn, sent), each) }
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

// commands calls each with the words of an operation's commands among the load's first n operations. Commands with
// values that aren't known in advance are left out, and so are steps with several variants.
func commands(w *workload.Workload, operation int, n uint64, each func(words []string)) {
	if w.Scripted(operation) {
		return
	}
	steps := w.Operations[operation].Steps
	templates := make([][]template.Template, len(steps))
	for k := range steps {
		templates[k] = wordsOf(&steps[k])
	}
	var st workload.State
	var words []string
	for i := range n {
		if w.Pick(i) != operation {
			continue
		}
		for k := range steps {
			values := w.Args(&st, operation, k, i)
			if len(templates[k]) == 0 ||
				slices.ContainsFunc(values, func(v gen.Value) bool { return v.Kind == gen.Null }) {
				continue
			}
			words = words[:0]
			for t := range templates[k] {
				words = append(words, string(templates[k][t].Plain(nil, values)))
			}
			each(words)
		}
	}
}

// wordsOf returns the templates of the words of a step's command; nil if it has none, or several variants.
func wordsOf(s *workload.Step) (all []template.Template) {
	requests := s.Requests()
	if len(requests) != 1 {
		return nil
	}
	for _, word := range requests[0].Words {
		t, err := template.Parse(word, len(requests[0].Params))
		if err != nil {
			return nil
		}
		all = append(all, t)
	}
	return all
}
