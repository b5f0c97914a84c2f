package tarantool

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/grafana/sobek"
	"github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/load/gen"
	ours "brunt/internal/protocol/iproto"
)

var noContext = context.Background()

// results converts answers to JavaScript objects.
type results struct {
	vu    *bind.VU
	proto *sobek.Object // prototype of results, with their methods
	ok    sobek.Value   // the code of a successful request
	in    bytes.Reader
	dec   *msgpack.Decoder
}

func newResults(vu *bind.VU) *results {
	r := &results{vu: vu, proto: vu.Runtime().NewObject(), ok: vu.Runtime().ToValue(0)}
	r.dec = msgpack.NewDecoder(&r.in)
	// The text has the format of xk6-tarantool's results: <3 OK [[1 cadillac]]>.
	text := vu.Runtime().ToValue(func(call sobek.FunctionCall) sobek.Value {
		o := call.This.ToObject(vu.Runtime())
		return vu.Runtime().ToValue(fmt.Sprintf("<%v OK %v>", o.Get("request_id"), o.Get("data").Export()))
	})
	// xk6-tarantool's results have two methods of go-tarantool.
	tuples := vu.Runtime().ToValue(func(call sobek.FunctionCall) sobek.Value {
		data := call.This.ToObject(vu.Runtime()).Get("data")
		list, _ := data.Export().([]any)
		for i := range list {
			if _, tuple := list[i].([]any); !tuple {
				panic(vu.Exception(fmt.Errorf("value %d of the answer is no tuple", i)))
			}
		}
		return data
	})
	for name, f := range map[string]sobek.Value{"toString": text, "string": text, "tuples": tuples} {
		_ = r.proto.DefineDataProperty(name, f, sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE)
	}
	return r
}

// of returns the result of an exchange: request_id, code, error, data and, for SQL, meta_data and sql_info.
func (r *results) of(x *exchange) (*sobek.Object, error) {
	o := r.vu.Runtime().CreateObject(r.proto)
	_ = o.Set("request_id", int64(x.Tag))
	_ = o.Set("code", r.ok)
	_ = o.Set("error", "")
	data := sobek.Value(r.vu.Runtime().NewArray())
	err := r.each(x.answer(), func(key int) (err error) {
		switch iproto.Key(key) {
		case iproto.IPROTO_METADATA:
			x.form, err = r.metadata(o)
		case iproto.IPROTO_DATA:
			data, err = r.data(x)
		case iproto.IPROTO_SQL_INFO:
			err = r.info(o)
		default:
			err = r.dec.Skip()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("an answer makes no sense: %w", err)
	}
	_ = o.Set("data", data)
	return o, nil
}

// each calls f for each key of an answer's body. f must decode the value.
func (r *results) each(b []byte, f func(key int) error) error {
	if len(b) == 0 {
		return nil
	}
	r.in.Reset(b)
	r.dec.Reset(&r.in)
	n, err := r.dec.DecodeMapLen()
	for ; n > 0 && err == nil; n-- {
		var key int
		if key, err = r.dec.DecodeInt(); err == nil {
			err = f(key)
		}
	}
	return err
}

// metadata decodes the columns of SQL rows.
func (r *results) metadata(o *sobek.Object) (form []string, err error) {
	list, err := r.value(0)
	if err != nil {
		return nil, err
	}
	columns, ok := list.Export().([]any)
	if !ok {
		return nil, errors.New("its metadata isn't a list")
	}
	for _, column := range columns {
		fields, _ := column.(map[string]any)
		name, numbered := fields[strconv.Itoa(int(iproto.IPROTO_FIELD_NAME))].(string)
		if !numbered {
			name, _ = fields["name"].(string) // the key in Picodata's answers
		}
		form = append(form, name)
	}
	names := make([]any, len(form))
	for i, name := range form {
		c := r.vu.Runtime().NewObject()
		_ = c.Set("field_name", name)
		names[i] = c
	}
	return form, o.Set("meta_data", r.vu.Runtime().NewArray(names...))
}

// info decodes how many rows an SQL statement changed.
func (r *results) info(o *sobek.Object) error {
	n, err := r.dec.DecodeMapLen()
	info := r.vu.Runtime().NewObject()
	_ = info.Set("affected_count", 0)
	for ; n > 0 && err == nil; n-- {
		var key any // a number in Tarantool, a text in Picodata
		if key, err = r.dec.DecodeInterfaceLoose(); err != nil {
			return err
		}
		var v sobek.Value
		if v, err = r.value(0); err == nil && (key == int64(0) || key == uint64(0) || key == "row_count") {
			_ = info.Set("affected_count", v)
		}
	}
	_ = o.Set("sql_info", info)
	return err
}

// data decodes an answer's data. Tuples become objects if the script asked for that.
func (r *results) data(x *exchange) (sobek.Value, error) {
	if x.form == nil || x.rows == values || !x.objects {
		return r.value(0)
	}
	n, err := r.dec.DecodeArrayLen()
	if err != nil {
		return nil, err
	}
	all := make([]any, 0, min(max(n, 0), 1<<16))
	for ; n > 0; n-- {
		width, err := r.dec.DecodeArrayLen()
		if err != nil {
			return nil, err
		}
		o := r.vu.Runtime().NewObject()
		for k := range max(width, 0) {
			name := strconv.Itoa(k)
			if k < len(x.form) && x.form[k] != "" {
				name = x.form[k]
			}
			v, err := r.value(0)
			if err != nil {
				return nil, err
			}
			_ = o.Set(name, v)
		}
		all = append(all, o)
	}
	return r.vu.Runtime().NewArray(all...), nil
}

// maxDepth limits the nesting of arrays and maps.
const maxDepth = 128

// value decodes the next value.
func (r *results) value(depth int) (sobek.Value, error) {
	c, err := r.dec.PeekCode()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("more than %d arrays and maps within each other", maxDepth)
	}
	switch {
	case c == msgpcode.Nil:
		return sobek.Null(), r.dec.DecodeNil()
	case c == msgpcode.True || c == msgpcode.False:
		return r.scalar(r.dec.DecodeBool())
	case c <= msgpcode.PosFixedNumHigh || c >= msgpcode.Uint8 && c <= msgpcode.Uint64:
		return r.scalar(r.dec.DecodeUint64())
	case c >= msgpcode.NegFixedNumLow || c >= msgpcode.Int8 && c <= msgpcode.Int64:
		return r.scalar(r.dec.DecodeInt64())
	case c == msgpcode.Float || c == msgpcode.Double:
		return r.scalar(r.dec.DecodeFloat64())
	case msgpcode.IsString(c):
		return r.scalar(r.dec.DecodeString())
	case msgpcode.IsBin(c):
		return r.scalar(r.dec.DecodeBytes())
	case msgpcode.IsFixedArray(c) || c == msgpcode.Array16 || c == msgpcode.Array32:
		return r.array(depth)
	case msgpcode.IsFixedMap(c) || c == msgpcode.Map16 || c == msgpcode.Map32:
		return r.object(depth)
	case msgpcode.IsExt(c):
		return r.extension()
	}
	return nil, fmt.Errorf("the byte %#x begins no value", c)
}

func (r *results) scalar(x any, err error) (sobek.Value, error) {
	if err != nil {
		return nil, err
	}
	return r.vu.Value(x), nil
}

func (r *results) array(depth int) (sobek.Value, error) {
	n, err := r.dec.DecodeArrayLen()
	if err != nil {
		return nil, err
	}
	items := make([]any, 0, min(max(n, 0), 1<<16))
	for ; n > 0; n-- {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return r.vu.Runtime().NewArray(items...), nil
}

func (r *results) object(depth int) (sobek.Value, error) {
	n, err := r.dec.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	o := r.vu.Runtime().NewObject()
	for ; n > 0; n-- {
		key, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		_ = o.Set(key.String(), v)
	}
	return o, nil
}

// extension decodes a decimal, UUID or time. Other extensions become the hexadecimal digits of their bytes.
func (r *results) extension() (sobek.Value, error) {
	kind, n, err := r.dec.DecodeExtHeader()
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r.dec.Buffered(), b); err != nil {
		return nil, err
	}
	var v gen.Value
	if !ours.ReadExtension(&v, byte(kind), b) {
		return r.vu.Value(hex.EncodeToString(b)), nil
	}
	return r.vu.Value(&v), nil
}

// lazy is a result that is decoded when the script first reads it. Most scripts read only its code, or nothing.
type lazy struct {
	results *results
	x       *exchange
	made    *sobek.Object // nil until it is decoded
}

// later returns an exchange's result, which is decoded on demand.
func (r *results) later(x *exchange) *sobek.Object {
	o := r.vu.Runtime().NewDynamicObject(&lazy{results: r, x: x})
	_ = o.SetPrototype(r.proto) // can't fail for a new object
	return o
}

// whole returns the decoded result. It throws an exception if the answer is malformed.
func (l *lazy) whole() *sobek.Object {
	if err := l.make(); err != nil {
		panic(l.results.vu.Exception(err)) // this is how sobek throws
	}
	return l.made
}

func (l *lazy) make() error {
	if l.made != nil {
		return nil
	}
	o, err := l.results.of(l.x)
	if err == nil {
		l.made, l.x = o, nil
	}
	return err
}

// MarshalJSON implements json.Marshaler: k6 passes on the result of setup() as JSON. It is called outside of
// JavaScript, so it returns an error instead of throwing.
func (l *lazy) MarshalJSON() ([]byte, error) {
	if err := l.make(); err != nil {
		return nil, err
	}
	return json.Marshal(l.made.Export())
}

// own reports whether the result itself, not its prototype, has a property.
func (l *lazy) own(key string) bool {
	return slices.Contains(l.whole().Keys(), key)
}

// Get implements sobek.DynamicObject.
func (l *lazy) Get(key string) sobek.Value {
	if l.made == nil && key == "code" {
		return l.results.ok
	}
	if !l.own(key) {
		return nil // the prototype may have it
	}
	return l.made.Get(key)
}

// Set implements sobek.DynamicObject.
func (l *lazy) Set(key string, value sobek.Value) bool { return l.whole().Set(key, value) == nil }

// Has implements sobek.DynamicObject.
func (l *lazy) Has(key string) bool { return l.own(key) }

// Delete implements sobek.DynamicObject.
func (l *lazy) Delete(key string) bool { return l.whole().Delete(key) == nil }

// Keys implements sobek.DynamicObject.
func (l *lazy) Keys() []string { return l.whole().Keys() }

var _ sobek.DynamicObject = (*lazy)(nil)
