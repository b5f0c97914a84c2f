package grpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
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
}

// wholeMessage is the path of the message itself.
const wholeMessage = "."

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
	if path == wholeMessage {
		return capturing{kind: gen.String, whole: md}, nil
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
		template.SetText(to, c.kind, asJSON(c.whole, message))
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
