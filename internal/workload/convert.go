package workload

import "brunt/internal/gen"

// Convert passes every generator of parameters through wrap, for servers that take some kinds of
// value in another form. It must be called before the workload is used.
func (w *Workload) Convert(wrap func(gen.Generator) gen.Generator) {
	for i := range w.Operations {
		for k := range w.Operations[i].Steps {
			s := &w.Operations[i].Steps[k]
			for n := range s.params {
				if s.params[n].gen != nil {
					s.params[n].gen = wrap(s.params[n].gen)
				}
			}
		}
	}
}
