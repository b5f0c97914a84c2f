package flight

import (
	"strconv"
	"strings"

	"brunt/internal/base/lazyregexp"
)

// The types that are read. All others are passed over, as their descriptions say.
const (
	sampleInJava   = "jdk.ExecutionSample"
	sampleInNative = "jdk.NativeMethodSample"
	typeMethod     = "jdk.types.Method"
	typeSymbol     = "jdk.types.Symbol"
	typeStack      = "jdk.types.StackTrace"
	typeClass      = "java.lang.Class"
	typeThread     = "java.lang.Thread"
	typeText       = "java.lang.String"
)

const (
	deepest      = 32      // of values within values
	mostElements = 1 << 18 // of the description of types
	mostFrames   = 1 << 22 // of all stacks
	mostConstant = 1 << 21 // constants
	longestName  = 500     // bytes, of a method
)

// class is a type of values.
type class struct {
	id     int64
	name   string
	fields []field
}

// field is a part of a type's values.
type field struct {
	name     string
	kind     int64 // the type of its values
	constant bool  // its value is the number of one of the constants of that type
	array    bool
}

// method is a method's class and name, by the numbers of the constants.
type method struct{ class, name int64 }

// chunk is what is known of a chunk.
type chunk struct {
	in      decoder
	classes map[int64]*class
	named   map[string]*class

	symbols map[int64]string
	owners  map[int64]int64 // of classes: the symbols of their names
	methods map[int64]method
	stacks  map[int64][]int64 // of methods
	threads map[int64]int64   // the operating system's numbers
	framed  int               // frames of all stacks
	number  int               // of constants
	written map[int64][]string
	names   map[int64]string
}

// readMetadata reads the types.
func (c *chunk) readMetadata(at int64) error {
	c.classes, c.named = map[int64]*class{}, map[string]*class{}
	d := &c.in
	d.seek(at)
	for range 5 { // the event's size, type, start and duration, and the description's number
		d.long()
	}
	texts := make([]string, 0, 1<<10)
	for range d.count() {
		texts = append(texts, d.text())
		if d.failed {
			return errBroken
		}
	}
	elements := 0
	c.element(texts, 0, nil, &elements)
	if d.failed {
		return errBroken
	}
	for _, t := range c.classes {
		c.named[t.name] = t
	}
	return nil
}

// element reads an element of the tree that describes the types. within is the type that it is a part of.
func (c *chunk) element(texts []string, depth int, within *class, elements *int) {
	d := &c.in
	*elements++
	if depth > deepest || *elements > mostElements {
		d.fail()
		return
	}
	text := func() string {
		i := d.long()
		if d.failed || i < 0 || i >= int64(len(texts)) {
			d.fail()
			return ""
		}
		return texts[i]
	}
	name := text()
	var f field
	t := &class{}
	for range d.count() {
		key, value := text(), text()
		if d.failed {
			return
		}
		switch key {
		case "name":
			t.name, f.name = value, value
		case "id":
			t.id, _ = strconv.ParseInt(value, 10, 64)
		case "class":
			f.kind, _ = strconv.ParseInt(value, 10, 64)
		case "constantPool":
			f.constant = value == "true"
		case "dimension":
			f.array = value == "1"
		}
	}
	switch {
	case name == "class":
		within = t
		c.classes[t.id] = t
	case name == "field" && within != nil:
		within.fields = append(within.fields, f)
		within = nil
	}
	for range d.count() {
		if c.element(texts, depth+1, within, elements); d.failed {
			return
		}
	}
}

// readConstants reads the constants, which are in lists of which each says where the one before it is.
func (c *chunk) readConstants(at int64) error {
	c.symbols, c.owners, c.methods = map[int64]string{}, map[int64]int64{}, map[int64]method{}
	c.stacks, c.threads = map[int64][]int64{}, map[int64]int64{}
	c.written, c.names = map[int64][]string{}, map[int64]string{}
	d := &c.in
	seen := map[int64]bool{}
	for !seen[at] {
		seen[at] = true
		d.seek(at)
		for range 4 { // the event's size, type, start and duration
			d.long()
		}
		delta := d.long()
		d.bytes(1) // what kind of list it is
		for range d.count() {
			t := c.classes[d.long()]
			if t == nil {
				d.fail()
			}
			for range d.count() {
				c.constant(t, d.long())
				if c.number++; !d.spend() || c.number > mostConstant {
					return errBroken
				}
			}
			if d.failed {
				return errBroken
			}
		}
		if delta == 0 {
			break
		}
		at += delta
	}
	if d.failed {
		return errBroken
	}
	return nil
}

// constant reads a constant.
func (c *chunk) constant(t *class, id int64) {
	switch t.name {
	case typeSymbol:
		var text string
		c.object(t, 0, nil, func(name string) *string {
			if name == "string" {
				return &text
			}
			return nil
		})
		c.symbols[id] = text
	case typeClass:
		var name int64
		c.object(t, 0, only("name", &name), nil)
		c.owners[id] = name
	case typeThread:
		var number int64
		c.object(t, 0, only("osThreadId", &number), nil)
		c.threads[id] = number
	case typeMethod:
		var m method
		c.object(t, 0, func(name string) *int64 {
			switch name {
			case "type":
				return &m.class
			case "name":
				return &m.name
			}
			return nil
		}, nil)
		c.methods[id] = m
	case typeStack:
		c.stacks[id] = c.frames(t)
	default:
		c.value(t, 0, nil, nil)
	}
}

// only returns what stores one field's number.
func only(field string, into *int64) func(string) *int64 {
	return func(name string) *int64 {
		if name == field {
			return into
		}
		return nil
	}
}

// frames reads the methods of a stack.
func (c *chunk) frames(t *class) (methods []int64) {
	for i := range t.fields {
		f := &t.fields[i]
		frame := c.classes[f.kind]
		if f.name != "frames" || !f.array || f.constant || frame == nil {
			c.field(f, 0, nil, nil)
			continue
		}
		for range c.in.count() {
			var m int64
			if c.object(frame, 0, only("method", &m), nil); c.in.failed {
				return nil
			}
			if c.framed++; c.framed > mostFrames {
				c.in.fail()
				return nil
			}
			methods = append(methods, m)
		}
	}
	return methods
}

// object reads the fields of a value. number and text say where a field's value goes, if it is a number or the number
// of a constant, or a text; nil passes over it.
func (c *chunk) object(t *class, depth int, number func(string) *int64, text func(string) *string) {
	for i := range t.fields {
		f := &t.fields[i]
		var n *int64
		var s *string
		if number != nil {
			n = number(f.name)
		}
		if text != nil {
			s = text(f.name)
		}
		if c.field(f, depth, n, s); c.in.failed {
			return
		}
	}
}

// field reads the value of a field, or the values, of which none is kept.
func (c *chunk) field(f *field, depth int, number *int64, text *string) {
	d := &c.in
	times := int64(1)
	if f.array {
		times, number, text = d.count(), nil, nil
	}
	t := c.classes[f.kind]
	for range times {
		switch {
		case f.constant:
			n := d.long()
			if number != nil {
				*number = n
			}
		case t == nil:
			d.fail()
		default:
			c.value(t, depth+1, number, text)
		}
		if !d.spend() {
			return
		}
	}
}

// value reads a value of a type.
func (c *chunk) value(t *class, depth int, number *int64, text *string) {
	d := &c.in
	var n int64
	switch t.name {
	case "boolean", "byte":
		if b := d.bytes(1); b != nil {
			n = int64(b[0])
		}
	case "char", "short", "int", "long":
		n = d.long()
	case "float":
		d.bytes(floatSize)
	case "double":
		d.bytes(doubleSize)
	case typeText:
		if s := d.text(); text != nil {
			*text = s
		}
	default:
		if depth > deepest || !d.spend() {
			d.fail()
			return
		}
		c.object(t, depth, nil, nil)
		return
	}
	if number != nil {
		*number = n
	}
}

// stack returns the names of a stack's methods.
func (c *chunk) stack(id int64) []string {
	if names, ok := c.written[id]; ok {
		return names
	}
	frames := c.stacks[id]
	names := make([]string, len(frames))
	for i, m := range frames {
		names[i] = c.methodName(m)
	}
	c.written[id] = names
	return names
}

// numbered is what a name has from the order in which the JVM made hidden classes, which is another one in each run.
var numbered = lazyregexp.New(`(\$\$Lambda)?\$?\d*[/+]0x[0-9a-f]+([./]\d+)?|(\$\$Lambda)\$\d+/\d+`)

// methodName returns the name of a method with that of its class.
func (c *chunk) methodName(id int64) string {
	if name, ok := c.names[id]; ok {
		return name
	}
	m := c.methods[id]
	owner := numbered().ReplaceAllString(c.symbols[c.owners[m.class]], "$1$3")
	owner = strings.ReplaceAll(owner, "/", ".")
	name := c.symbols[m.name]
	switch {
	case name == "":
		name = "(unknown)"
	case owner != "":
		name = owner + "." + name
	}
	if len(name) > longestName || !c.in.keep(len(name)) {
		name = "(unknown)"
	}
	c.names[id] = name
	return name
}
