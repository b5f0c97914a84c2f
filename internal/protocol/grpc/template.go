package grpc

import (
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

	"brunt/internal/base/suggest"
	"brunt/internal/load/gen"
	"brunt/internal/load/template"
)

// part is a part of a message on the wire: constant bytes, a field whose value has parameters, or a message of parts.
type part struct {
	fixed []byte
	tag   uint64 // of the field, as a varint
	name  string // of the field, for messages
	text  *template.Template
	kind  protoreflect.Kind
	enum  map[string]int32
	time  bool   // text is a google.protobuf.Timestamp
	parts []part // of a message, whose length precedes them
	// whole, if not nil, is what text is as JSON: a message of which nothing is known before it is sent.
	whole protoreflect.MessageDescriptor
	types *dynamicpb.Types
}

// compiler compiles messages in JSON to parts once, so that a request needs neither reflection nor JSON.
type compiler struct {
	params int
	types  *dynamicpb.Types // for google.protobuf.Any
}

// message compiles a message in JSON.
func (c *compiler) message(md protoreflect.MessageDescriptor, text string) ([]part, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("the message isn't JSON: %w", err)
	}
	if d.More() {
		return nil, fmt.Errorf("the message isn't one JSON value")
	}
	if all, ok := value.(string); ok && c.dynamic(value) && !wrapper(md) && md.FullName() != "google.protobuf.Timestamp" {
		t, err := c.parse(all)
		return []part{{text: t, name: orMessage(""), whole: md, types: c.types}}, err
	}
	parts, err := c.body(md, value, "")
	if err != nil {
		return nil, err
	}
	return merge(parts), nil
}

// merge joins constant parts that follow each other.
func merge(parts []part) (out []part) {
	for _, p := range parts {
		if last := len(out) - 1; last >= 0 && out[last].fixed != nil && p.fixed != nil {
			out[last].fixed = append(slices.Clone(out[last].fixed), p.fixed...)
			continue
		}
		out = append(out, p)
	}
	return out
}

// body compiles the fields of a message. path says where it is, for errors.
func (c *compiler) body(md protoreflect.MessageDescriptor, value any, path string) (parts []part, err error) {
	if !c.dynamic(value) {
		fixed, err := c.fixed(md, value)
		if err != nil {
			return nil, fmt.Errorf("the message doesn't fit %s: %w", md.FullName(), err)
		}
		return []part{{fixed: fixed}}, nil
	}
	if text, ok := value.(string); ok && md.FullName() == "google.protobuf.Timestamp" {
		t, err := c.parse(text)
		return []part{{text: t, time: true, name: path}}, err
	}
	if wrapper(md) {
		return c.field(md.Fields().ByNumber(1), value, path)
	}
	object, ok := value.(map[string]any)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s is %s where there must be a %s", orMessage(path), kindOf(value), md.FullName())
	case strings.HasPrefix(string(md.FullName()), "google.protobuf."):
		return nil, fmt.Errorf("%s: a %s can't hold parameters", orMessage(path), md.FullName())
	}
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	var constant = map[string]any{}
	for _, name := range names {
		fd := fieldOf(md, name)
		if fd == nil {
			return nil, unknownField(md, name)
		}
		if !c.dynamic(object[name]) {
			constant[name] = object[name]
			continue
		}
		more, err := c.field(fd, object[name], strings.TrimPrefix(path+"."+name, "."))
		if err != nil {
			return nil, err
		}
		parts = append(parts, more...)
	}
	fixed, err := c.fixed(md, constant)
	if err != nil {
		return nil, fmt.Errorf("the message doesn't fit %s: %w", md.FullName(), err)
	}
	if len(fixed) > 0 {
		parts = append([]part{{fixed: fixed}}, parts...)
	}
	return parts, nil
}

func orMessage(path string) string {
	if path == "" {
		return "the message"
	}
	return path
}

func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "a truth value"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}

func fieldOf(md protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if fd := md.Fields().ByJSONName(name); fd != nil {
		return fd
	}
	return md.Fields().ByTextName(name)
}

func unknownField(md protoreflect.MessageDescriptor, name string) error {
	var all []string
	for i := range md.Fields().Len() {
		all = append(all, md.Fields().Get(i).TextName())
	}
	if near := suggest.Nearest(name, all); near != "" {
		return fmt.Errorf("%s has no field %q; did you mean %s?", md.FullName(), name, near)
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no field %q; it has none", md.FullName(), name)
	}
	return fmt.Errorf("%s has no field %q; it has %s", md.FullName(), name, strings.Join(all, ", "))
}

// wrapper reports whether a message is one of google/protobuf/wrappers.proto, which JSON writes as their value.
func wrapper(md protoreflect.MessageDescriptor) bool {
	return md.ParentFile().Path() == "google/protobuf/wrappers.proto"
}

// dynamic reports whether a value, or a key in it, holds a parameter.
func (c *compiler) dynamic(value any) bool {
	switch v := value.(type) {
	case string:
		t, err := template.Parse(v, c.params)
		if err != nil {
			return true // reported when it is compiled
		}
		_, fixed := t.Fixed()
		return !fixed
	case []any:
		return slices.ContainsFunc(v, c.dynamic)
	case map[string]any:
		for k, e := range v {
			if c.dynamic(k) || c.dynamic(e) {
				return true
			}
		}
	}
	return false
}

// plain returns a value without parameters as it is meant: $$ stands for a dollar sign.
func (c *compiler) plain(value any) any {
	switch v := value.(type) {
	case string:
		if t, err := template.Parse(v, c.params); err == nil {
			text, _ := t.Fixed()
			return string(text)
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = c.plain(v[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[c.plain(k).(string)] = c.plain(e)
		}
		return out
	}
	return value
}

// fixed encodes a message without parameters.
func (c *compiler) fixed(md protoreflect.MessageDescriptor, value any) ([]byte, error) {
	text, err := json.Marshal(c.plain(value))
	if err != nil {
		return nil, err
	}
	m, err := fromJSON(md, c.types, text)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m)
}

// fromJSON decodes a message in JSON.
func fromJSON(md protoreflect.MessageDescriptor, types *dynamicpb.Types, text []byte) (*dynamicpb.Message, error) {
	m := dynamicpb.NewMessage(md)
	if err := (protojson.UnmarshalOptions{Resolver: types, AllowPartial: true}).Unmarshal(text, m); err != nil {
		reason := strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\u00a0", " ")), " ")
		return nil, fmt.Errorf("%s", strings.TrimPrefix(reason, "proto: "))
	}
	return m, nil
}

// field compiles a field with parameters in its value.
func (c *compiler) field(fd protoreflect.FieldDescriptor, value any, path string) (parts []part, err error) {
	switch {
	case fd.IsMap():
		return c.mapping(fd, value, path)
	case fd.IsList():
		list, ok := value.([]any)
		if !ok {
			return nil, fmt.Errorf("%s is %s where there must be a list", path, kindOf(value))
		}
		for i, e := range list {
			one, err := c.single(fd, e, fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return nil, err
			}
			parts = append(parts, one)
		}
		return parts, nil
	}
	one, err := c.single(fd, value, path)
	return []part{one}, err
}

func (c *compiler) mapping(fd protoreflect.FieldDescriptor, value any, path string) (parts []part, err error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is %s where there must be an object", path, kindOf(value))
	}
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		key, err := c.single(fd.MapKey(), name, path+"'s key")
		if err != nil {
			return nil, err
		}
		entry, err := c.single(fd.MapValue(), object[name], path+"["+name+"]")
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{tag: protowire.EncodeTag(fd.Number(), protowire.BytesType), name: path,
			parts: []part{key, entry}})
	}
	return parts, nil
}

// single compiles one value of a field.
func (c *compiler) single(fd protoreflect.FieldDescriptor, value any, path string) (p part, err error) {
	kind := fd.Kind()
	if kind == protoreflect.GroupKind {
		return p, fmt.Errorf("%s is a group, which can't hold parameters", path)
	}
	if kind == protoreflect.MessageKind {
		p = part{tag: protowire.EncodeTag(fd.Number(), protowire.BytesType), name: path}
		p.parts, err = c.body(fd.Message(), value, path)
		p.parts = merge(p.parts)
		return p, err
	}
	text, ok := value.(string)
	switch v := value.(type) {
	case json.Number:
		text, ok = v.String(), true
	case bool:
		text, ok = strconv.FormatBool(v), true
	}
	if !ok {
		return p, fmt.Errorf("%s is %s where there must be a %s", path, kindOf(value), kind)
	}
	p = part{tag: protowire.EncodeTag(fd.Number(), wireType(kind)), name: path, kind: kind}
	if kind == protoreflect.EnumKind {
		p.enum = map[string]int32{}
		values := fd.Enum().Values()
		for i := range values.Len() {
			p.enum[string(values.Get(i).Name())] = int32(values.Get(i).Number())
		}
	}
	if p.text, err = c.parse(text); err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	if fixed, ok := p.text.Fixed(); ok {
		b, ok := p.scalar(nil, &gen.Value{Kind: gen.String, B: fixed}, nil)
		if !ok {
			return p, fmt.Errorf("%s is %q where there must be a %s", path, fixed, kind)
		}
		return part{fixed: b}, nil
	}
	return p, nil
}

func (c *compiler) parse(text string) (*template.Template, error) {
	t, err := template.Parse(text, c.params)
	return &t, err
}

func wireType(kind protoreflect.Kind) protowire.Type {
	switch kind {
	case protoreflect.StringKind, protoreflect.BytesKind:
		return protowire.BytesType
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	}
	return protowire.VarintType
}

// appendParts appends a message. wrong is the field whose argument doesn't fit.
func appendParts(dst []byte, parts []part, args []gen.Value, scratch *[]byte) (out []byte, wrong *part) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.fixed != nil:
			dst = append(dst, p.fixed...)
		case p.text == nil:
			dst = protowire.AppendVarint(dst, p.tag)
			start := len(dst)
			if dst, wrong = appendParts(dst, p.parts, args, scratch); wrong != nil {
				return dst, wrong
			}
			dst = insertLength(dst, start)
		default:
			var ok bool
			if dst, ok = p.append(dst, args, scratch); !ok {
				return dst, p
			}
		}
	}
	return dst, nil
}

// insertLength inserts the length of dst[start:] in front of it.
func insertLength(dst []byte, start int) []byte {
	n := len(dst) - start
	size := protowire.SizeVarint(uint64(n))
	for range size {
		dst = append(dst, 0)
	}
	copy(dst[start+size:], dst[start:start+n])
	protowire.AppendVarint(dst[:start], uint64(n))
	return dst
}

// append appends a field whose value has parameters. A null argument leaves the field out.
func (p *part) append(dst []byte, args []gen.Value, scratch *[]byte) (out []byte, ok bool) {
	if n, only := p.text.Only(); only {
		if args[n].Kind == gen.Null {
			return dst, true
		}
		return p.scalar(dst, &args[n], scratch)
	}
	*scratch = p.text.Plain((*scratch)[:0], args)
	v := gen.Value{Kind: gen.String, B: *scratch}
	return p.scalar(dst, &v, nil)
}

// scalar appends a field with a value.
func (p *part) scalar(dst []byte, v *gen.Value, scratch *[]byte) (out []byte, ok bool) {
	if p.whole != nil {
		m, err := fromJSON(p.whole, p.types, v.B)
		if err != nil {
			return dst, false
		}
		dst, err = proto.MarshalOptions{AllowPartial: true}.MarshalAppend(dst, m)
		return dst, err == nil
	}
	if p.time {
		if v.Kind != gen.Datetime {
			return dst, false
		}
		seconds, micros := v.I/1e6, v.I%1e6
		if micros < 0 {
			seconds, micros = seconds-1, micros+1e6
		}
		dst = protowire.AppendVarint(append(dst, 1<<3), uint64(seconds))
		return protowire.AppendVarint(append(dst, 2<<3), uint64(micros*1000)), true
	}
	start := len(dst)
	dst = protowire.AppendVarint(dst, p.tag)
	switch p.kind {
	case protoreflect.StringKind, protoreflect.BytesKind:
		if v.Kind == gen.String || v.Kind == gen.Bytes || v.Kind == gen.JSON {
			return protowire.AppendBytes(dst, v.B), true
		}
		from := len(dst)
		return insertLength(template.AppendValue(dst, v), from), true
	case protoreflect.BoolKind:
		b, ok := truth(v)
		return protowire.AppendVarint(dst, protowire.EncodeBool(b)), ok
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		f, ok := floating(v)
		if p.kind == protoreflect.FloatKind {
			ok = ok && (math.Abs(f) <= math.MaxFloat32 || math.IsInf(f, 0) || math.IsNaN(f)) // others would become infinite
			return protowire.AppendFixed32(dst, math.Float32bits(float32(f))), ok
		}
		return protowire.AppendFixed64(dst, math.Float64bits(f)), ok
	case protoreflect.EnumKind:
		if n, named := p.enum[string(v.B)]; named && v.Kind == gen.String {
			return protowire.AppendVarint(dst, uint64(n)), true
		}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind, protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return p.unsigned(dst, v)
	}
	n, ok := whole(v)
	if !ok {
		return dst[:start], false
	}
	return p.signed(dst, n)
}

func (p *part) signed(dst []byte, n int64) (out []byte, ok bool) {
	in32 := n >= math.MinInt32 && n <= math.MaxInt32
	switch p.kind {
	case protoreflect.Int64Kind:
		return protowire.AppendVarint(dst, uint64(n)), true
	case protoreflect.Int32Kind, protoreflect.EnumKind:
		return protowire.AppendVarint(dst, uint64(n)), in32
	case protoreflect.Sint32Kind:
		return protowire.AppendVarint(dst, protowire.EncodeZigZag(n)), in32
	case protoreflect.Sint64Kind:
		return protowire.AppendVarint(dst, protowire.EncodeZigZag(n)), true
	case protoreflect.Sfixed32Kind:
		return protowire.AppendFixed32(dst, uint32(n)), in32
	case protoreflect.Sfixed64Kind:
		return protowire.AppendFixed64(dst, uint64(n)), true
	}
	return dst, false
}

func (p *part) unsigned(dst []byte, v *gen.Value) (out []byte, ok bool) {
	n, ok := uint64(0), true
	switch v.Kind {
	case gen.Uint:
		n = uint64(v.I)
	case gen.String, gen.Number:
		var err error
		n, err = strconv.ParseUint(string(v.B), 10, 64)
		ok = err == nil
	default:
		var i int64
		i, ok = whole(v)
		n, ok = uint64(i), ok && i >= 0
	}
	switch p.kind {
	case protoreflect.Uint32Kind:
		return protowire.AppendVarint(dst, n), ok && n <= math.MaxUint32
	case protoreflect.Fixed32Kind:
		return protowire.AppendFixed32(dst, uint32(n)), ok && n <= math.MaxUint32
	case protoreflect.Fixed64Kind:
		return protowire.AppendFixed64(dst, n), ok
	}
	return protowire.AppendVarint(dst, n), ok
}

// whole returns an argument as a whole number.
func whole(v *gen.Value) (n int64, ok bool) {
	switch v.Kind {
	case gen.Int, gen.Bool, gen.Datetime:
		return v.I, true
	case gen.Uint:
		return v.I, v.I >= 0
	case gen.Decimal:
		return v.I, v.Scale == 0
	case gen.Float:
		return int64(v.F), v.F == math.Trunc(v.F) && math.Abs(v.F) < 1<<63
	case gen.String, gen.Number:
		n, err := strconv.ParseInt(string(v.B), 10, 64)
		return n, err == nil
	}
	return 0, false
}

func truth(v *gen.Value) (b, ok bool) {
	switch v.Kind {
	case gen.Bool, gen.Int, gen.Uint:
		return v.I != 0, true
	case gen.String:
		b, err := strconv.ParseBool(string(v.B))
		return b, err == nil
	}
	return false, false
}

func floating(v *gen.Value) (f float64, ok bool) {
	switch v.Kind {
	case gen.Float:
		return v.F, true
	case gen.Int, gen.Datetime:
		return float64(v.I), true
	case gen.Uint:
		return float64(uint64(v.I)), true
	case gen.Decimal:
		return float64(v.I) / math.Pow10(int(v.Scale)), true
	case gen.String, gen.Number:
		f, err := strconv.ParseFloat(string(v.B), 64)
		return f, err == nil
	}
	return 0, false
}
