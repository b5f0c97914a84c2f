// Package form describes text formats in YAML. A format is a form of forms: each mapping lists its keys with the fields
// of a Go struct that they are stored in. From this description a format is read, with all problems and their places,
// and written, and its JSON Schema is derived.
package form

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"brunt/internal/plan"
)

// Form describes one kind of value in the file: how it is read and written, and its JSON Schema for editors.
type Form interface {
	// Read sets to from n, the value of key, or adds problems.
	Read(r *Reader, key string, n *yaml.Node, to reflect.Value)
	// Write returns the YAML of a value, or nil if the key is to be left out.
	Write(from reflect.Value) *yaml.Node
	// Schema returns the JSON Schema of the value.
	Schema(d *Definitions) Schema
}

// Field is a key of a mapping.
type Field struct {
	Key  string
	At   string // where the value is stored: Go field names and item indexes joined by dots; "" for the whole struct
	Form Form
	Doc  string // one line
	Must bool   // the key is required
}

// Required returns a key that must be present. at is the place of its value: see Field.
func Required(key, at string, f Form, doc string) Field {
	return Field{Key: key, At: at, Form: f, Doc: doc, Must: true}
}

// Key returns a key that may be missing.
func Key(key, at string, f Form, doc string) Field { return Field{Key: key, At: at, Form: f, Doc: doc} }

// in returns the place of f's value within v. If grow is set, it appends missing list items on the way.
func (f *Field) in(v reflect.Value, grow bool) reflect.Value {
	if f.At == "" {
		return v
	}
	for name := range strings.SplitSeq(f.At, ".") {
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

// Mapping is the form of a Go struct: a YAML mapping. The struct may have fields At and Where for the positions of the
// mapping and of its values.
type Mapping struct {
	name   string // see NewMapping
	what   string
	fields []Field
	After  func(r *Reader, o *Object, to any) // called with the struct's pointer after all keys are read; o may be nil
	Rules  []any                              // further parts of the JSON Schema
	Keys   []string                           // of all fields; x-* stands for all that begin with x-
}

// NewMapping returns the form of a mapping with the given keys. name is that of its definition in the JSON Schema, ""
// to write it inline; what is the mapping's name in problems.
func NewMapping(name, what string, fields ...Field) *Mapping {
	m := &Mapping{name: name, what: what, fields: fields}
	for _, f := range fields {
		m.Keys = append(m.Keys, f.Key)
	}
	return m
}

// Read implements Form.
func (m *Mapping) Read(r *Reader, _ string, n *yaml.Node, to reflect.Value) {
	if at := to.FieldByName("At"); at.IsValid() {
		at.Set(reflect.ValueOf(r.At(n)))
	}
	o := r.Object(n, m.what, m.Keys)
	if o != nil {
		m.Fill(r, o, to)
	} else if m.After != nil {
		m.After(r, nil, to.Addr().Interface())
	}
}

// Fill sets a struct from the values of an object.
func (m *Mapping) Fill(r *Reader, o *Object, to reflect.Value) {
	if where := to.FieldByName("Where"); where.IsValid() {
		where.Set(reflect.ValueOf(o.Where()))
	}
	for i := range m.fields {
		f := &m.fields[i]
		if n := o.Get(f.Key); n != nil {
			f.Form.Read(r, f.Key, n, f.in(to, true))
		} else if f.Must {
			o.Require(m.what, f.Key)
		}
	}
	if m.After != nil {
		m.After(r, o, to.Addr().Interface())
	}
}

// Write implements Form.
func (m *Mapping) Write(from reflect.Value) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := range m.fields {
		f := &m.fields[i]
		if n := f.Form.Write(f.in(from, false)); n != nil {
			out.Content = append(out.Content, Text(f.Key), n)
		}
	}
	if len(out.Content) == 0 {
		return nil
	}
	return out
}

// Schema implements Form.
func (m *Mapping) Schema(d *Definitions) Schema {
	if m.name == "" {
		return m.body(d)
	}
	if d.made[m.name] == nil {
		d.made[m.name] = Schema{} // the body may refer to this definition
		d.made[m.name] = m.body(d)
	}
	return Schema{"$ref": "#/$defs/" + m.name}
}

func (m *Mapping) body(d *Definitions) Schema {
	properties := Schema{}
	var required []string
	out := Schema{"type": "object", "properties": properties, "additionalProperties": false}
	for _, f := range m.fields {
		if prefix, pattern := strings.CutSuffix(f.Key, "*"); pattern {
			out["patternProperties"] = Schema{"^" + prefix: true}
			continue
		}
		s := f.Form.Schema(d)
		if f.Doc != "" {
			s["description"] = f.Doc
		}
		properties[f.Key] = s
		if f.Must {
			required = append(required, f.Key)
		}
	}
	if len(required) > 0 {
		out["required"] = required
	}
	if len(m.Rules) > 0 {
		out["allOf"] = m.Rules
	}
	return out
}

// Kinds are keys of a mapping of which exactly one must be present. It says what the item is, and its value has a form
// of its own.
type Kinds struct {
	What, Nothing string // "a phase", "no load"
	Names         []string
}

// Of returns the kind of an item; "" if it has none. sound reports whether the item has exactly one kind.
func (k *Kinds) Of(r *Reader, o *Object) (kind string, sound bool) {
	for _, name := range k.Names {
		switch {
		case !o.Has(name):
		case kind != "":
			r.ProblemAt(o.Get(name), "make it "+k.What+" of its own", "%s is both %s and %s", k.What, kind, name)
			return kind, false
		default:
			kind = name
		}
	}
	if kind == "" {
		r.ProblemAt(o.Node, "add one of "+strings.Join(k.Names, ", "), "%s says %s", k.What, k.Nothing)
	}
	return kind, kind != ""
}

// List is the form of a slice.
type List struct {
	Of    Form
	Sound bool // remember items with problems, because their meaning can't be checked
	Cross bool // nor can references to them: see plan.Problem
	Flow  bool // written on one line
	Full  bool // an empty list is an error
}

// Read implements Form.
func (l List) Read(r *Reader, key string, n *yaml.Node, to reflect.Value) {
	before := len(r.Problems)
	if n.Kind != yaml.SequenceNode {
		r.ProblemAt(n, "write a list", "%s is %s instead of a list", key, KindName(n))
	} else if l.Full && len(n.Content) == 0 {
		r.ProblemAt(n, "add to it or remove it", "%s is empty", key)
	}
	if n.Kind == yaml.SequenceNode {
		for _, c := range n.Content {
			c = Resolve(c)
			v := reflect.New(to.Type().Elem()).Elem()
			if l.Sound {
				r.Item(c, func() { l.Of.Read(r, key, c, v) })
			} else {
				l.Of.Read(r, key, c, v)
			}
			to.Set(reflect.Append(to, v))
		}
	}
	r.cross = r.cross || l.Cross && len(r.Problems) > before
}

// Write implements Form.
func (l List) Write(from reflect.Value) *yaml.Node {
	if from.Len() == 0 {
		return nil
	}
	out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if l.Flow {
		out.Style = yaml.FlowStyle
	}
	for i := range from.Len() {
		n := l.Of.Write(from.Index(i))
		if n == nil {
			n = zero(from.Index(i))
		}
		out.Content = append(out.Content, n)
	}
	return out
}

// zero returns the YAML of a list item that has its zero value, which a key of a mapping would be left out for.
func zero(v reflect.Value) *yaml.Node {
	switch {
	case v.Kind() == reflect.String:
		return Text("")
	case v.Kind() == reflect.Bool:
		return Scalar("!!bool", "false")
	case v.CanInt(), v.CanUint(), v.CanFloat():
		return Number(0)
	}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
}

// Schema implements Form.
func (l List) Schema(d *Definitions) Schema {
	s := Schema{"type": "array", "items": l.Of.Schema(d)}
	if l.Full {
		s["minItems"] = 1
	}
	return s
}

// Custom is the form of a value of type T, given by functions. Without In the value is ignored, and without Out it is
// not written.
type Custom[T any] struct {
	In  func(r *Reader, key string, n *yaml.Node, to *T)
	Out func(from *T) *yaml.Node
	As  func(d *Definitions) Schema
}

// Read implements Form.
func (c Custom[T]) Read(r *Reader, key string, n *yaml.Node, to reflect.Value) {
	if c.In != nil {
		c.In(r, key, n, to.Addr().Interface().(*T))
	}
}

// Write implements Form.
func (c Custom[T]) Write(from reflect.Value) *yaml.Node {
	if c.Out == nil {
		return nil
	}
	return c.Out(from.Addr().Interface().(*T))
}

// Schema implements Form.
func (c Custom[T]) Schema(d *Definitions) Schema { return c.As(d) }

// ValueOf returns the value that a pointer points to, for use with forms.
func ValueOf[T any](p *T) reflect.Value { return reflect.ValueOf(p).Elem() }

// Where returns the positions of the values, including those of items of scalar lists.
func (o *Object) Where() plan.Places {
	w := make(plan.Places, 0, len(o.Values))
	for _, k := range slices.Sorted(maps.Keys(o.Values)) {
		v := o.Values[k]
		w = append(w, plan.Place{Key: k, At: o.r.At(v)})
		if v.Kind == yaml.SequenceNode && len(v.Content) > 0 && v.Content[0].Kind == yaml.ScalarNode {
			for i, c := range v.Content {
				w = append(w, plan.Place{Key: k + "[" + strconv.Itoa(i) + "]", At: o.r.At(c)})
			}
		}
	}
	return w
}
