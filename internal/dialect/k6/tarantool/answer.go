package tarantool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/grafana/sobek"
	"github.com/tarantool/go-iproto"

	"brunt/internal/dialect/k6/bind"
	"brunt/internal/load/gen"
	"brunt/internal/protocol/msgpack"
)

var noContext = context.Background()

// results converts answers to JavaScript objects.
type results struct {
	vu    *bind.VU
	proto *sobek.Object // prototype of results, with their methods
	ok    sobek.Value   // the code of a successful request
	in    msgpack.Reader
}

func newResults(vu *bind.VU) *results {
	r := &results{vu: vu, proto: vu.Runtime().NewObject(), ok: vu.Runtime().ToValue(0)}
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
	err := r.each(x.answer(), func(key iproto.Key) (err error) {
		switch key {
		case iproto.IPROTO_METADATA:
			x.form, err = r.metadata(o)
		case iproto.IPROTO_DATA:
			data, err = r.data(x)
		case iproto.IPROTO_SQL_INFO:
			err = r.info(o)
		default:
			r.in.Skip()
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
func (r *results) each(b []byte, f func(key iproto.Key) error) error {
	if len(b) == 0 {
		return nil
	}
	r.in = msgpack.Reader{B: b}
	for n := r.in.Map(); n > 0 && r.in.Err == msgpack.Fine; n-- {
		if key := r.in.Uint(); r.in.Err == msgpack.Fine {
			if err := f(iproto.Key(key)); err != nil {
				return err
			}
		}
	}
	return r.trouble()
}

// trouble returns the error of the reader.
func (r *results) trouble() error {
	switch r.in.Err {
	case msgpack.Fine:
		return nil
	case msgpack.Short:
		return errors.New("it ends too early")
	}
	return fmt.Errorf("another kind of value is expected at byte %d", r.in.At)
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
	info := r.vu.Runtime().NewObject()
	_ = info.Set("affected_count", 0)
	for n := r.in.Map(); n > 0 && r.in.Err == msgpack.Fine; n-- {
		key, err := r.value(0) // a number in Tarantool, a text in Picodata
		if err != nil {
			return err
		}
		v, err := r.value(0)
		if err != nil {
			return err
		}
		if name := key.String(); name == "0" || name == "row_count" {
			_ = info.Set("affected_count", v)
		}
	}
	_ = o.Set("sql_info", info)
	return r.trouble()
}

// data decodes an answer's data. Tuples become objects if the script asked for that.
func (r *results) data(x *exchange) (sobek.Value, error) {
	if x.form == nil || x.rows == values || !x.objects {
		return r.value(0)
	}
	n := r.in.Array()
	all := make([]any, 0, min(n, 1<<16))
	for ; n > 0 && r.in.Err == msgpack.Fine; n-- {
		o, width := r.vu.Runtime().NewObject(), int(r.in.Array())
		for k := range width {
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
	return r.vu.Runtime().NewArray(all...), r.trouble()
}

// maxDepth limits the nesting of arrays and maps.
const maxDepth = 128

// value decodes the next value.
func (r *results) value(depth int) (sobek.Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("more than %d arrays and maps within each other", maxDepth)
	}
	var v any
	switch f, n := r.in.Head(); f {
	case msgpack.Nil:
		return sobek.Null(), nil
	case msgpack.Bool:
		v = n != 0
	case msgpack.Unsigned:
		v = n
	case msgpack.Signed:
		v = int64(n)
	case msgpack.Float:
		v = math.Float64frombits(n)
	case msgpack.String:
		v = string(r.in.Body(n))
	case msgpack.Binary:
		v = slices.Clone(r.in.Body(n))
	case msgpack.List:
		return r.array(n, depth)
	case msgpack.Mapping:
		return r.object(n, depth)
	case msgpack.Extension:
		v = extension(r.in.Body(n + 1))
	}
	if err := r.trouble(); err != nil {
		return nil, err
	}
	return r.vu.Value(v), nil
}

// array decodes the n values of an array.
func (r *results) array(n uint64, depth int) (sobek.Value, error) {
	items := make([]any, 0, min(n, 1<<16))
	for ; n > 0; n-- {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return r.vu.Runtime().NewArray(items...), nil
}

// object decodes the n pairs of a map.
func (r *results) object(n uint64, depth int) (sobek.Value, error) {
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

// extension decodes an extension as scripts see it: see msgpack.ReadExtension. b begins with the extension's kind; it
// is empty if the input ended too early.
func extension(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	v := &gen.Value{}
	msgpack.ReadExtension(v, b[0], b[1:])
	return v
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
