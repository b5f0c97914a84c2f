package workload

import "brunt/internal/gen"

// Again prepares the arguments of a step for a further attempt at the same operation: generated
// values stay as they are, values from earlier steps are taken anew. Args must have filled the
// step before.
func (w *Workload) Again(st *State, operation, step int) []gen.Value {
	s := &w.Operations[operation].Steps[step]
	a := st.Args[step]
	for k := range s.params {
		if s.params[k].gen == nil {
			s.params[k].earlier(st, &a[k])
		}
	}
	return a
}
