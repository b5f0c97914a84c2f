package planfile

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
)

func paramKeys() []string { return append(valueKeys(), "from", "same_as") }

// references are what the parameters of an operation may refer to, and what they do refer to.
type references struct {
	step    int               // being read
	steps   map[string]int    // by name
	params  map[string][2]int // step and position, by name
	pending []pending
}

func newReferences() *references {
	return &references{steps: map[string]int{}, params: map[string][2]int{}}
}

// pending is a parameter whose source is looked up once all statements are known.
type pending struct {
	step, param int
	node        *yaml.Node
	from        bool // captured; otherwise the same as another parameter
}

func (f *references) nameStep(r *reader, o *object, name string) {
	if name == "" {
		return
	}
	if _, err := strconv.Atoi(name); err == nil || strings.Contains(name, ".") {
		r.problemAt(o.get("name"), "use a word", "a statement can't be called %q", name)
	}
	if _, again := f.steps[name]; !again {
		f.steps[name] = f.step
	}
}

func (r *reader) params(o *object, s *plan.Step, refs *references) {
	o.list("params", func(i int, n *yaml.Node) {
		s.Params = append(s.Params, r.param(n, i, refs))
	})
}

func (r *reader) param(n *yaml.Node, i int, refs *references) plan.Param {
	p := plan.Param{At: r.at(n)}
	o := r.object(n, "a parameter", paramKeys())
	if o == nil {
		return p
	}
	p.Name = o.text("name")
	from, same := o.get("from"), o.get("same_as")
	switch {
	case from != nil && same != nil:
		r.problemAt(same, "keep one", "a parameter has both from and same_as")
	case from != nil || same != nil:
		source := from
		if from == nil {
			source = same
		}
		for _, k := range valueKeys()[1:] {
			if x := o.get(k); x != nil {
				r.problemAt(x, "remove it", "%s has no meaning for a parameter with from or same_as", k)
			}
		}
		if tagIs(source, "!!null", "!!bool") || source.Kind != yaml.ScalarNode || from == nil && !tagIs(source, "!!str") {
			r.wrong(source, "from or same_as", "a text", "write for example from: 1.id")
			break
		}
		refs.pending = append(refs.pending, pending{refs.step, i, source, from != nil})
	default:
		v := r.value(o, "a parameter")
		p.Value = &v
	}
	if p.Name != "" {
		if _, again := refs.params[p.Name]; again {
			r.problemAt(o.get("name"), "rename one", "parameter %q stands twice", p.Name)
		} else {
			refs.params[p.Name] = [2]int{refs.step, i}
		}
	}
	return p
}

// resolve links parameters to the captures and parameters that they name.
func (r *reader) resolve(op *plan.Operation, refs *references) {
	for _, w := range refs.pending {
		if w.step >= len(op.Steps) || w.param >= len(op.Steps[w.step].Params) {
			continue
		}
		p := &op.Steps[w.step].Params[w.param]
		if !w.from {
			at, ok := refs.params[w.node.Value]
			if !ok {
				fix := "give a parameter of an earlier statement that name"
				if near := plan.Nearest(w.node.Value, keysOf(refs.params)); near != "" {
					fix = "did you mean " + near + "?"
				}
				r.problemAt(w.node, fix, "same_as names unknown parameter %q", w.node.Value)
				continue
			}
			p.Step, p.Index, p.Argument = at[0], at[1], true
			continue
		}
		step, ok := r.source(op, refs, w)
		if !ok {
			continue
		}
		p.Step = step
		p.Index = r.captured(op, step, w.node)
	}
}

// source finds the statement before the dot.
func (r *reader) source(op *plan.Operation, refs *references, w pending) (step int, ok bool) {
	name, _, dotted := strings.Cut(w.node.Value, ".")
	if !dotted {
		r.problemAt(w.node, "write for example from: 1.id", "from is %q without a column", w.node.Value)
		return 0, false
	}
	if step, ok = refs.steps[name]; !ok {
		n, err := strconv.Atoi(name)
		if step, ok = n-1, err == nil && n >= 1 && n <= len(op.Steps); !ok {
			fix := "name one of the statements or write its number, from 1"
			if near := plan.Nearest(name, keysOf(refs.steps)); near != "" {
				fix = "did you mean " + near + "?"
			}
			r.problemAt(w.node, fix, "from names unknown statement %q", name)
			return 0, false
		}
	}
	if step >= w.step {
		r.problemAt(w.node, "name an earlier statement", "from names statement %q, which isn't earlier", name)
		return 0, false
	}
	return step, true
}

// captured finds the column after the dot among the captures of a statement.
func (r *reader) captured(op *plan.Operation, step int, n *yaml.Node) int {
	_, column, _ := strings.Cut(n.Value, ".")
	for i, c := range op.Steps[step].Request.Capture {
		if c.Name == column || c.Name == "" && itoa(c.Column) == column {
			return i
		}
	}
	r.problemAt(n, "add capture: ["+column+"] to it", "statement %d doesn't capture %q", step+1, column)
	return 0
}

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
