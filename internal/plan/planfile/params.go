package planfile

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/base/suggest"
	"brunt/internal/load/keyspace"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile/form"
)

// references are the names that parameters of an operation may refer to, and the references to resolve.
type references struct {
	step, param int               // indexes of what is being read
	steps       map[string]int    // by name
	params      map[string][2]int // step and index, by name
	pending     []pending
}

// pending is a parameter whose source is resolved once all statements are known.
type pending struct {
	step, param int
	node        *yaml.Node
	from        bool // it refers to a capture; otherwise to another parameter
}

// begin prepares for the next statement.
func (f *references) begin() { f.step, f.param = f.step+1, -1 }

func (f *references) nameStep(r *form.Reader, o *form.Object, name string) {
	if name == "" || o == nil {
		return
	}
	if _, err := strconv.Atoi(name); err == nil || strings.Contains(name, ".") {
		r.ProblemAt(o.Get("name"), "use a word", "a statement can't be called %q", name)
	}
	if _, again := f.steps[name]; !again {
		if f.steps == nil {
			f.steps = map[string]int{}
		}
		f.steps[name] = f.step
	}
}

// paramForm is the form of a parameter: a generated value, a part of a record, or a value of an earlier statement.
type paramForm struct {
	refs  *references
	all   *form.Mapping // all keys, for the JSON Schema and to detect unknown ones
	value *form.Mapping
}

// partNames returns the types of parameters that are parts of records.
func partNames() form.Choice {
	return form.Choice{"Key", "Field", "Document", "TextDocument", "ScanLength"}
}

func newParamForm(refs *references) *paramForm {
	value := append(valueFields(),
		form.Key("start", "Start", form.Choice{string(plan.StartRange), string(plan.StartAfter)},
			"where a sequence begins: at the start of its range, or after the greatest value that its column (or that of table and column) holds; after for keys inserted into the plan's tables"))
	p := &paramForm{refs: refs, value: form.NewMapping("", "a parameter", value...)}
	p.value.After = func(_ *form.Reader, o *form.Object, to any) { checkValue(o, to.(*plan.ValueSpec)) }
	for i := range value {
		value[i].Must = false
	}
	value[0].Form = append(typeNames(), partNames()...)
	p.all = form.NewMapping("param", "a parameter", append([]form.Field{form.Key("name", "", form.Name(),
		"for same_as")}, append(value,
		form.Key("field", "", form.Name(), "Field: which one, unless the statement's variants pick it"),
		form.Key("from", "", form.Custom[plan.Param]{As: typesSchema("string", "number")},
			"what an earlier statement captured: its number or name, a dot, and the column"),
		form.Key("same_as", "", form.Name(), "the earlier parameter with that name"))...)...)
	p.all.Rules = append([]any{form.Exactly([]string{"type", "from", "same_as"})}, valueRules()...)
	return p
}

func (f *paramForm) Read(r *form.Reader, _ string, n *yaml.Node, to reflect.Value) {
	p := to.Addr().Interface().(*plan.Param)
	f.refs.param++
	p.At = r.At(n)
	o := r.Object(n, "a parameter", f.all.Keys)
	if o == nil {
		return
	}
	if n := o.Get("name"); n != nil {
		form.Name().Read(r, "name", n, form.ValueOf(&p.Name))
	}
	kind := ""
	if t := o.Get("type"); t != nil && form.TagIs(t, "!!str") {
		kind = strings.ToLower(t.Value)
	}
	switch {
	case o.Has("from") || o.Has("same_as"):
		f.refs.earlier(r, o)
	case slices.Contains(keyspace.Parts(), keyspace.Part(kind)):
		p.Part = keyspace.Part(kind)
		if n := o.Get("field"); n != nil {
			p.Field = r.TextOf(n, "field")
		}
		for k := range o.Values {
			if k != "name" && k != "type" && (k != "field" || p.Part != keyspace.Field) {
				o.Refuse("remove it", "for a part of a record", k)
			}
		}
	default:
		o.Refuse("remove it or use type: Field", "here", "field")
		v := plan.ValueSpec{At: p.At}
		f.value.Fill(r, o, form.ValueOf(&v))
		p.Value = &v
	}
	f.refs.nameParam(r, o, p.Name)
}

func (f *references) nameParam(r *form.Reader, o *form.Object, name string) {
	if name == "" {
		return
	}
	if _, again := f.params[name]; again {
		r.ProblemAt(o.Get("name"), "rename one", "parameter %q stands twice", name)
		return
	}
	if f.params == nil {
		f.params = map[string][2]int{}
	}
	f.params[name] = [2]int{f.step, f.param}
}

// earlier records a parameter with from or same_as, to be resolved later.
func (f *references) earlier(r *form.Reader, o *form.Object) {
	from, same := o.Get("from"), o.Get("same_as")
	if from != nil && same != nil {
		r.ProblemAt(same, "keep one", "a parameter has both from and same_as")
		return
	}
	for k := range o.Values {
		if k != "name" && k != "from" && k != "same_as" {
			o.Refuse("remove it", "for a parameter with from or same_as", k)
		}
	}
	source := cmp.Or(from, same)
	if form.TagIs(source, "!!null", "!!bool") || source.Kind != yaml.ScalarNode ||
		from == nil && !form.TagIs(source, "!!str") {
		r.Wrong(source, "from or same_as", "a text", "write for example from: 1.id")
		return
	}
	f.pending = append(f.pending, pending{f.step, f.param, source, from != nil})
}

func (f *paramForm) Schema(d *form.Definitions) form.Schema { return f.all.Schema(d) }

// write returns the YAML of a generated value or a part of a record. paramNodes writes values of earlier statements,
// which need the operation.
func (f *paramForm) Write(from reflect.Value) *yaml.Node {
	p := from.Addr().Interface().(*plan.Param)
	if p.Part != "" {
		n := pairs(form.Text("type"), partNames().Write(reflect.ValueOf(string(p.Part))))
		if p.Field != "" {
			n.Content = append(n.Content, form.Text("field"), form.Text(p.Field))
		}
		return n
	}
	return f.value.Write(form.ValueOf(p.Value))
}

// paramNodes writes the parameters of a statement. Parameters that others refer to get a name if they have none.
func (f *paramForm) paramNodes(op *plan.Operation, step int) *yaml.Node {
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := range op.Steps[step].Params {
		p := &op.Steps[step].Params[i]
		n := pairs()
		if name := paramName(op, p, step, i); name != "" {
			n.Content = append(n.Content, form.Text("name"), form.Text(name))
		}
		switch {
		case p.Value != nil || p.Part != "":
			n.Content = append(n.Content, f.Write(form.ValueOf(p)).Content...)
		case p.Argument:
			source := &op.Steps[p.Step].Params[p.Index]
			n.Content = append(n.Content, form.Text("same_as"), form.Text(paramName(op, source, p.Step, p.Index)))
		default:
			c := op.Steps[p.Step].Request.Capture[p.Index]
			column := c.Name
			if column == "" {
				column = strconv.Itoa(c.Column)
			}
			n.Content = append(n.Content, form.Text("from"), form.Text(strconv.Itoa(p.Step+1)+"."+column))
		}
		out.Content = append(out.Content, n)
	}
	if len(out.Content) == 0 {
		return nil
	}
	return out
}

func paramName(op *plan.Operation, p *plan.Param, step, index int) string {
	if p.Name != "" {
		return p.Name
	}
	for s := range op.Steps {
		for _, other := range op.Steps[s].Params {
			if other.Argument && other.Step == step && other.Index == index {
				return "statement " + strconv.Itoa(step+1) + " parameter " + strconv.Itoa(index+1)
			}
		}
	}
	return ""
}

// resolve sets the sources of parameters with from or same_as.
func (f *references) resolve(r *form.Reader, op *plan.Operation) {
	for _, w := range f.pending {
		if w.step >= len(op.Steps) || w.param >= len(op.Steps[w.step].Params) {
			continue
		}
		p := &op.Steps[w.step].Params[w.param]
		if !w.from {
			at, ok := f.params[w.node.Value]
			if !ok {
				fix := suggest.Or(w.node.Value, keysOf(f.params), "give a parameter of an earlier statement that name")
				r.ProblemAt(w.node, fix, "same_as names unknown parameter %q", w.node.Value)
				continue
			}
			p.Step, p.Index, p.Argument = at[0], at[1], true
			continue
		}
		step, ok := f.source(r, op, w)
		if !ok {
			continue
		}
		p.Step = step
		p.Index = captured(r, op, step, w.node)
	}
}

// source returns the index of the statement named before the dot.
func (f *references) source(r *form.Reader, op *plan.Operation, w pending) (step int, ok bool) {
	name, _, dotted := strings.Cut(w.node.Value, ".")
	if !dotted {
		r.ProblemAt(w.node, "write for example from: 1.id", "from is %q without a column", w.node.Value)
		return 0, false
	}
	if step, ok = f.steps[name]; !ok {
		n, err := strconv.Atoi(name)
		if step, ok = n-1, err == nil && n >= 1 && n <= len(op.Steps); !ok {
			fix := suggest.Or(name, keysOf(f.steps), "name one of the statements or write its number, from 1")
			r.ProblemAt(w.node, fix, "from names unknown statement %q", name)
			return 0, false
		}
	}
	if step >= w.step {
		r.ProblemAt(w.node, "name an earlier statement", "from names statement %q, which isn't earlier", name)
		return 0, false
	}
	return step, true
}

// captured returns the index of the capture named after the dot.
func captured(r *form.Reader, op *plan.Operation, step int, n *yaml.Node) int {
	_, column, _ := strings.Cut(n.Value, ".")
	for i, c := range op.Steps[step].Request.Capture {
		if c.Name == column || c.Name == "" && strconv.Itoa(c.Column) == column {
			return i
		}
	}
	r.ProblemAt(n, "add capture: ["+column+"] to it", "statement %d doesn't capture %q", step+1, column)
	return 0
}

func keysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
