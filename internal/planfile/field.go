package planfile

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
)

// form describes one kind of value in the file: how it is read and written, and its JSON Schema for editors.
type form interface {
	// read sets to from n, the value of key, or adds problems.
	read(r *reader, key string, n *yaml.Node, to reflect.Value)
	// write returns the YAML of a value, or nil if the key is to be left out.
	write(from reflect.Value) *yaml.Node
	// schema returns the JSON Schema of the value.
	schema(d *definitions) schema
}

// field is a key of a mapping.
type field struct {
	key  string
	at   string // where the value is stored: Go field names and item indexes joined by dots; "" for the whole struct
	form form
	doc  string // one line
	must bool   // the key is required
}

// in returns the place of f's value within v. If grow is set, it appends missing list items on the way.
func (f *field) in(v reflect.Value, grow bool) reflect.Value {
	if f.at == "" {
		return v
	}
	for name := range strings.SplitSeq(f.at, ".") {
		i, err := strconv.Atoi(name)
		if err != nil {
			v = v.FieldByName(name)
			continue
		}
		if grow && v.Len() == i {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		}
		v = v.Index(i)
	}
	return v
}

// mapping is the form of a Go struct: a YAML mapping.
type mapping struct {
	name   string // of its definition in the JSON Schema; "" to write it inline
	what   string // name of the mapping in problems
	fields []field
	after  func(r *reader, o *object, to any) // called with the struct's pointer after all keys are read; o may be nil
	rules  []any                              // further parts of the JSON Schema
	keys   []string
}

func newMapping(name, what string, fields ...field) *mapping {
	m := &mapping{name: name, what: what, fields: fields}
	for _, f := range fields {
		m.keys = append(m.keys, f.key)
	}
	return m
}

func (m *mapping) read(r *reader, _ string, n *yaml.Node, to reflect.Value) {
	if at := to.FieldByName("At"); at.IsValid() {
		at.Set(reflect.ValueOf(r.at(n)))
	}
	o := r.object(n, m.what, m.keys)
	if o != nil {
		m.fill(r, o, to)
	} else if m.after != nil {
		m.after(r, nil, to.Addr().Interface())
	}
}

// fill sets a struct from the values of an object.
func (m *mapping) fill(r *reader, o *object, to reflect.Value) {
	if where := to.FieldByName("Where"); where.IsValid() {
		where.Set(reflect.ValueOf(o.where()))
	}
	for i := range m.fields {
		f := &m.fields[i]
		if n := o.get(f.key); n != nil {
			f.form.read(r, f.key, n, f.in(to, true))
		} else if f.must {
			o.require(m.what, f.key)
		}
	}
	if m.after != nil {
		m.after(r, o, to.Addr().Interface())
	}
}

func (m *mapping) write(from reflect.Value) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := range m.fields {
		f := &m.fields[i]
		if n := f.form.write(f.in(from, false)); n != nil {
			out.Content = append(out.Content, text(f.key), n)
		}
	}
	if len(out.Content) == 0 {
		return nil
	}
	return out
}

func (m *mapping) schema(d *definitions) schema {
	if m.name == "" {
		return m.body(d)
	}
	if d.made[m.name] == nil {
		d.made[m.name] = schema{} // the body may refer to this definition
		d.made[m.name] = m.body(d)
	}
	return schema{"$ref": "#/$defs/" + m.name}
}

func (m *mapping) body(d *definitions) schema {
	properties := schema{}
	var required []string
	out := schema{"type": "object", "properties": properties, "additionalProperties": false}
	for _, f := range m.fields {
		if prefix, pattern := strings.CutSuffix(f.key, "*"); pattern {
			out["patternProperties"] = schema{"^" + prefix: true}
			continue
		}
		s := f.form.schema(d)
		if f.doc != "" {
			s["description"] = f.doc
		}
		properties[f.key] = s
		if f.must {
			required = append(required, f.key)
		}
	}
	if len(required) > 0 {
		out["required"] = required
	}
	if len(m.rules) > 0 {
		out["allOf"] = m.rules
	}
	return out
}

// kinds are keys of a mapping of which exactly one must be present. It says what the item is, and its value has a form
// of its own.
type kinds struct {
	what, nothing string // "a phase", "no load"
	names         []string
}

// of returns the kind of an item; "" if it has none. sound reports whether the item has exactly one kind.
func (k *kinds) of(r *reader, o *object) (kind string, sound bool) {
	for _, name := range k.names {
		switch {
		case !o.has(name):
		case kind != "":
			r.problemAt(o.get(name), "make it "+k.what+" of its own", "%s is both %s and %s", k.what, kind, name)
			return kind, false
		default:
			kind = name
		}
	}
	if kind == "" {
		r.problemAt(o.node, "add one of "+strings.Join(k.names, ", "), "%s says %s", k.what, k.nothing)
	}
	return kind, kind != ""
}

// list is the form of a slice.
type list struct {
	of    form
	sound bool // remember items with problems, because their meaning can't be checked
	cross bool // nor can references to them
	flow  bool // written on one line
	full  bool // an empty list is an error
}

func (l list) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	before := len(r.problems)
	if n.Kind != yaml.SequenceNode {
		r.problemAt(n, "write a list", "%s is %s instead of a list", key, kindName(n))
	} else if l.full && len(n.Content) == 0 {
		r.problemAt(n, "add to it or remove it", "%s is empty", key)
	}
	if n.Kind == yaml.SequenceNode {
		for _, c := range n.Content {
			c = resolve(c)
			v := reflect.New(to.Type().Elem()).Elem()
			if l.sound {
				r.item(c, func() { l.of.read(r, key, c, v) })
			} else {
				l.of.read(r, key, c, v)
			}
			to.Set(reflect.Append(to, v))
		}
	}
	r.cross = r.cross || l.cross && len(r.problems) > before
}

func (l list) write(from reflect.Value) *yaml.Node {
	if from.Len() == 0 {
		return nil
	}
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if l.flow {
		out.Style = yaml.FlowStyle
	}
	for i := range from.Len() {
		n := l.of.write(from.Index(i))
		if n == nil {
			n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		out.Content = append(out.Content, n)
	}
	return out
}

func (l list) schema(d *definitions) schema {
	s := schema{"type": "array", "items": l.of.schema(d)}
	if l.full {
		s["minItems"] = 1
	}
	return s
}

// custom is the form of a value of type T, given by functions.
type custom[T any] struct {
	in  func(r *reader, key string, n *yaml.Node, to *T)
	out func(from *T) *yaml.Node
	as  func(d *definitions) schema
}

func (c custom[T]) read(r *reader, key string, n *yaml.Node, to reflect.Value) {
	if c.in != nil {
		c.in(r, key, n, to.Addr().Interface().(*T))
	}
}

func (c custom[T]) write(from reflect.Value) *yaml.Node {
	if c.out == nil {
		return nil
	}
	return c.out(from.Addr().Interface().(*T))
}

func (c custom[T]) schema(d *definitions) schema { return c.as(d) }

// valueOf returns the value that a pointer points to, for use with forms.
func valueOf[T any](p *T) reflect.Value { return reflect.ValueOf(p).Elem() }

// where returns the positions of the values, including those of items of scalar lists.
func (o *object) where() plan.Places {
	w := make(plan.Places, 0, len(o.values))
	for _, k := range slices.Sorted(maps.Keys(o.values)) {
		v := o.values[k]
		w = append(w, plan.Place{Key: k, At: o.r.at(v)})
		if v.Kind == yaml.SequenceNode && len(v.Content) > 0 && v.Content[0].Kind == yaml.ScalarNode {
			for i, c := range v.Content {
				w = append(w, plan.Place{Key: k + "[" + strconv.Itoa(i) + "]", At: o.r.at(c)})
			}
		}
	}
	return w
}
