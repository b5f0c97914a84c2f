package grpc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
)

// capturing is a value to keep of an answer's first message: a path of fields, and of numbers of elements of lists.
type capturing struct {
	steps []step
	kind  gen.Kind                       // to decode it to; Null means the field's own
	whole protoreflect.MessageDescriptor // not nil: the message itself, as JSON
	text  bool                           // … in protobuf's text format
}

// The paths of the message itself, as JSON and in protobuf's text format.
const (
	wholeMessage = "."
	textMessage  = ".text"
)

// step is one field of a path.
type step struct {
	number  protowire.Number
	index   int // of a list, from 0
	kind    protoreflect.Kind
	list    bool
	packed  bool // the list may be packed
	message bool
	enum    protoreflect.EnumDescriptor
}

// capturePath parses a path such as user.emails.0.address.
func capturePath(md protoreflect.MessageDescriptor, path string, kind gen.Kind) (c capturing, err error) {
	c.kind = kind
	if path == wholeMessage || path == textMessage {
		return capturing{kind: gen.String, whole: md, text: path == textMessage}, nil
	}
	words := strings.Split(path, ".")
	for i := 0; i < len(words); i++ {
		if md == nil {
			return c, fmt.Errorf("capture %q: %s isn't a message", path, strings.Join(words[:i], "."))
		}
		fd := fieldOf(md, words[i])
		if fd == nil {
			return c, fmt.Errorf("capture %q: %w", path, unknownField(md, words[i]))
		}
		if fd.IsMap() || fd.Kind() == protoreflect.GroupKind {
			return c, fmt.Errorf("capture %q: %s is a map or a group, of which nothing can be captured", path, words[i])
		}
		s := step{number: fd.Number(), kind: fd.Kind(), message: fd.Kind() == protoreflect.MessageKind}
		if s.list = fd.IsList(); s.list {
			s.packed = !s.message && fd.Kind() != protoreflect.StringKind && fd.Kind() != protoreflect.BytesKind
			if i+1 < len(words) {
				if n, err := strconv.Atoi(words[i+1]); err == nil && n >= 0 {
					s.index = n
					i++
				}
			}
		}
		if s.kind == protoreflect.EnumKind {
			s.enum = fd.Enum()
		}
		if md = nil; s.message {
			md = fd.Message()
		}
		c.steps = append(c.steps, s)
	}
	if c.steps[len(c.steps)-1].message && kind == gen.Null {
		c.kind = gen.Bytes
	}
	return c, nil
}

// take reads the value from a message. A field that isn't sent has its type's zero value, as in proto3, unless a
// message that contains it, or an element of a list, isn't there: then the value is null.
func (c *capturing) take(message []byte, to *gen.Value) {
	if c.whole != nil {
		form := asJSON
		if c.text {
			form = asText
		}
		template.SetText(to, c.kind, form(c.whole, message))
		return
	}
	last := len(c.steps) - 1
	for i := range c.steps {
		s := &c.steps[i]
		raw, kind, found := s.find(message)
		switch {
		case !found && (i < last || s.message || s.list):
			return
		case i < last:
			message = raw
		case s.message:
			template.SetText(to, c.kind, raw)
		default:
			s.set(to, raw, kind, found, c.kind)
		}
	}
}

// asJSON returns a message as JSON without spaces; nothing if it isn't valid.
func asJSON(md protoreflect.MessageDescriptor, message []byte) []byte {
	m := dynamicpb.NewMessage(md)
	if proto.Unmarshal(message, m) != nil {
		return nil
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil
	}
	var out bytes.Buffer
	_ = json.Compact(&out, text) // it is JSON
	return out.Bytes()
}

// asText returns a message in protobuf's text format in one line: name:"ann" age:7 address:<city:"x">. It is nothing if
// the message isn't valid.
func asText(md protoreflect.MessageDescriptor, message []byte) []byte {
	m := dynamicpb.NewMessage(md)
	if proto.Unmarshal(message, m) != nil {
		return nil
	}
	return appendText(nil, m)
}

// appendText appends the fields of a message by number.
func appendText(b []byte, m protoreflect.Message) []byte {
	var fields []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		fields = append(fields, fd)
		return true
	})
	slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(a.Number(), b.Number()) })
	start := len(b)
	next := func(name protoreflect.Name) {
		if len(b) > start {
			b = append(b, ' ')
		}
		b = append(append(b, name...), ':')
	}
	for _, fd := range fields {
		v := m.Get(fd)
		switch {
		case fd.IsMap():
			for _, k := range mapKeys(v.Map()) {
				next(fd.Name())
				b = appendScalar(append(b, "<key:"...), fd.MapKey(), k.Value())
				b = append(appendScalar(append(b, " value:"...), fd.MapValue(), v.Map().Get(k)), '>')
			}
		case fd.IsList():
			for i := range v.List().Len() {
				next(fd.Name())
				b = appendScalar(b, fd, v.List().Get(i))
			}
		default:
			next(fd.Name())
			b = appendScalar(b, fd, v)
		}
	}
	return b
}

// mapKeys returns the keys of a map in their order.
func mapKeys(m protoreflect.Map) (keys []protoreflect.MapKey) {
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int {
		switch a.Interface().(type) {
		case int32, int64:
			return cmp.Compare(a.Int(), b.Int())
		case uint32, uint64:
			return cmp.Compare(a.Uint(), b.Uint())
		}
		return cmp.Compare(a.String(), b.String())
	})
	return keys
}

// appendScalar appends a value in text format.
func appendScalar(b []byte, fd protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return append(appendText(append(b, '<'), v.Message()), '>')
	case protoreflect.StringKind:
		return appendQuoted(b, v.String())
	case protoreflect.BytesKind:
		return appendQuoted(b, string(v.Bytes()))
	case protoreflect.EnumKind:
		if named := fd.Enum().Values().ByNumber(v.Enum()); named != nil {
			return append(b, named.Name()...)
		}
		return strconv.AppendInt(b, int64(v.Enum()), 10)
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		bits := 64
		if fd.Kind() == protoreflect.FloatKind {
			bits = 32
		}
		return append(b, strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(v.Float(), 'g', -1, bits)), "+")...)
	}
	return append(b, v.String()...)
}

// appendQuoted appends a text in quotes; bytes beyond printable ASCII are octal numbers.
func appendQuoted(b []byte, text string) []byte {
	b = append(b, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ' || c > '~':
			b = fmt.Appendf(b, `\%03o`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// find returns the value of the field in a message: the content of a message or text, or the bytes of a number.
func (s *step) find(message []byte) (raw []byte, kind protowire.Type, found bool) {
	n := 0
	for len(message) > 0 {
		number, wire, size := protowire.ConsumeTag(message)
		if size < 0 {
			return nil, 0, false
		}
		message = message[size:]
		if size = protowire.ConsumeFieldValue(number, wire, message); size < 0 {
			return nil, 0, false
		}
		value := message[:size]
		message = message[size:]
		if number != s.number {
			continue
		}
		if wire == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
			if s.packed {
				element, have, ok := s.unpack(value, s.index-n)
				if ok {
					return element, wireType(s.kind), true
				}
				n += have
				continue
			}
		}
		switch {
		case !s.list:
			raw, kind, found = value, wire, true // the last value of a field that is sent several times counts
		case n == s.index:
			return value, wire, true
		}
		n++
	}
	return raw, kind, found
}

// unpack returns element number index of a packed list, or how many elements it has.
func (s *step) unpack(list []byte, index int) (raw []byte, have int, ok bool) {
	wire := wireType(s.kind)
	for len(list) > 0 {
		size := protowire.ConsumeFieldValue(1, wire, list)
		if size < 0 {
			return nil, have, false
		}
		if have == index {
			return list[:size], have, true
		}
		list, have = list[size:], have+1
	}
	return nil, have, false
}

// set stores a field's value.
func (s *step) set(to *gen.Value, raw []byte, kind protowire.Type, found bool, as gen.Kind) {
	var bits uint64
	switch {
	case !found:
	case kind == protowire.VarintType:
		bits, _ = protowire.ConsumeVarint(raw)
	case kind == protowire.Fixed32Type:
		n, _ := protowire.ConsumeFixed32(raw)
		bits = uint64(n)
	case kind == protowire.Fixed64Type:
		bits, _ = protowire.ConsumeFixed64(raw)
	}
	switch s.kind {
	case protoreflect.StringKind:
		if as == gen.Null {
			as = gen.String
		}
		template.SetText(to, as, raw)
	case protoreflect.BytesKind:
		if as == gen.Null {
			as = gen.Bytes
		}
		template.SetText(to, as, raw)
	case protoreflect.BoolKind:
		to.Kind, to.I = gen.Bool, int64(bits&1)
	case protoreflect.FloatKind:
		to.Kind, to.F = gen.Float, float64(math.Float32frombits(uint32(bits)))
	case protoreflect.DoubleKind:
		to.Kind, to.F = gen.Float, math.Float64frombits(bits)
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		to.SetInt(protowire.DecodeZigZag(bits))
	case protoreflect.Sfixed32Kind:
		to.SetInt(int64(int32(bits)))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind, protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		to.Kind, to.I = gen.Uint, int64(bits)
	case protoreflect.EnumKind:
		if v := s.enum.Values().ByNumber(protoreflect.EnumNumber(int32(bits))); v != nil {
			to.SetString(string(v.Name()))
			return
		}
		to.SetInt(int64(int32(bits)))
	default:
		to.SetInt(int64(bits))
	}
}
