package iproto

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
	"brunt/internal/protocol/msgpack"

	iproto "github.com/tarantool/go-iproto"
)

var (
	_ protocol.RowReader = (*codec)(nil)
	_ protocol.Adder     = (*codec)(nil)
)

// packetOf is a packet cut from the start of a buffer.
type packetOf struct {
	code uint32
	sync uint64
	body []byte
	size int // size of the whole packet; 0 if bytes are missing
	need int // if size is 0: the least number of bytes that the buffer must hold
}

// cutPacket returns the packet at the start of buf. ok is false if there is no valid packet.
func cutPacket(buf []byte) (p packetOf, ok bool) {
	r := read(buf)
	length := r.Uint()
	switch {
	case r.Err == msgpack.Short:
		return packetOf{need: prefixSize(buf)}, true
	case r.Err == msgpack.Bad, length == 0, length > maxAnswer:
		return p, false
	}
	total := uint64(r.At) + length
	if uint64(len(buf)) < total {
		return packetOf{need: int(min(total, protocol.MostPending))}, true
	}
	r = read(buf[r.At:total])
	p.code, p.sync = r.header()
	p.body, p.size = r.B[r.At:], int(total)
	return p, r.Err == msgpack.Fine
}

// isAnswer reports whether a packet is complete and an answer, rather than a pushed message or an event.
func (p *packetOf) isAnswer() bool { return p.size > 0 && p.code != codeChunk && p.code != codeEvent }

// Rows reads the last packet. Other packets may precede it: events, and the answer to preparing the statement
// again.
func (c *codec) Rows(answer []byte, req *protocol.Request,
	each func(columns []string, row []gen.Value)) *protocol.Error {
	var last packetOf
	for len(answer) > 0 {
		p, ok := cutPacket(answer)
		if !ok || p.size == 0 {
			return protocolError("an answer makes no sense")
		}
		if answer = answer[p.size:]; p.isAnswer() {
			last = p
		}
	}
	return c.statements[req.ID].each(last.body, each)
}

// Add compiles a request. It asks the server for the definitions that it needs.
func (c *codec) Add(ctx context.Context, x protocol.Exchanger, req *protocol.Request) error {
	p := &protocol.Program{Requests: []protocol.Request{*req}}
	if err := check(p); err != nil {
		return err
	}
	list, small, err := compile(ctx, asking{c, x}, c.options, p)
	if err != nil {
		return err
	}
	c.small = c.small || small
	c.statements = protocol.Put(c.statements, req.ID, list[0])
	return nil
}

// asking is an asker over the connection of a codec.
type asking struct {
	codec *codec
	x     protocol.Exchanger
}

func (a asking) ask(ctx context.Context, kind byte, body []byte) (code uint32, answer []byte, err *protocol.Error) {
	a.codec.sent = nextSync(a.codec.sent, true) // nothing else is in flight
	out := append(appendHeader(nil, kind, a.codec.sent), body...)
	setLength(out, 0)
	var wrong *protocol.Error
	err = a.x.Exchange(ctx, out, func(buf []byte) (n int, done bool, need int) {
		for {
			p, ok := cutPacket(buf[n:])
			switch {
			case !ok:
				wrong = protocolError("an answer makes no sense")
				return n, true, 0
			case p.size == 0 && n > 0:
				return n, false, 0
			case p.size == 0:
				return 0, false, p.need
			}
			if n += p.size; !p.isAnswer() {
				continue
			}
			if code, answer = p.code, slices.Clone(p.body); p.sync != a.codec.sent {
				wrong = protocolError("an answer to another request came")
			}
			return n, true, 0
		}
	})
	if err == nil {
		err = wrong
	}
	return code, answer, err
}

// each calls f with every row of a complete body that answer has read. Columns without names are named by their
// numbers, from 1.
func (s *statement) each(body []byte, f func(columns []string, row []gen.Value)) *protocol.Error {
	w := rowWriter{reader: read(body), each: f}
	if s.space != nil {
		w.names = s.space.fields
		if len(s.space.keys) > 0 {
			w.key = s.space.keys[0]
		}
	}
	if len(body) == 0 {
		return nil
	}
	for n := w.Map(); n > 0 && w.Err == msgpack.Fine; n-- {
		switch w.Uint() {
		case uint64(iproto.IPROTO_METADATA):
			w.names = columnNames(&w.reader)
		case uint64(iproto.IPROTO_DATA):
			switch s.shape {
			case tuples:
				w.rows()
			case values:
				w.returned()
			case dispatch:
				w.dispatched()
			}
		default:
			w.Skip()
		}
	}
	if w.Err != msgpack.Fine {
		return protocolError("an answer makes no sense")
	}
	return nil
}

// rowWriter passes the rows of an answer to each.
type rowWriter struct {
	reader
	each  func(columns []string, row []gen.Value)
	names []string
	key   int // the column to move to the front
}

// rows passes on an array of rows.
func (w *rowWriter) rows() {
	for n := w.Array(); n > 0 && w.Err == msgpack.Fine; n-- {
		w.row()
	}
}

// row passes on one row: an array, a map with the names of its fields, or a single value.
func (w *rowWriter) row() {
	switch {
	case isMap(w.Peek()):
		w.fields()
	case isArray(w.Peek()):
		w.tuple(w.Array())
	default:
		w.tuple(1)
	}
}

// tuple passes on the next n values as a row.
func (w *rowWriter) tuple(n uint64) {
	row := make([]gen.Value, min(n, uint64(len(w.B)-w.At)))
	for i := range row {
		w.column(&row[i])
	}
	if w.Err == msgpack.Fine {
		w.each(keyFirst(w.key, w.names, row))
	}
}

// column reads a value of a row; an array or map becomes JSON.
func (w *rowWriter) column(v *gen.Value) {
	if c := w.Peek(); isArray(c) || isMap(c) {
		v.Kind, v.B = gen.JSON, w.appendJSON(v.B[:0], deepest)
		return
	}
	w.Value(v)
	msgpack.Present(v)
}

const (
	// deepest is the maximum nesting depth of arrays and maps.
	deepest = 100
	// exactInJSON is the greatest integer up to which JSON readers represent every integer exactly.
	exactInJSON = 1<<53 - 1
)

// appendJSON appends a value as JSON. Values that JSON can't represent become strings: bytes, times, decimals,
// UUIDs, and integers beyond exactInJSON.
func (w *rowWriter) appendJSON(dst []byte, depth int) []byte {
	c := w.Peek()
	switch {
	case depth == 0:
		w.Fail(msgpack.Bad)
		return dst
	case isArray(c):
		dst = append(dst, '[')
		for i, n := uint64(0), w.Array(); i < n && w.Err == msgpack.Fine; i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = w.appendJSON(dst, depth-1)
		}
		return append(dst, ']')
	case isMap(c):
		dst = append(dst, '{')
		for i, n := uint64(0), w.Map(); i < n && w.Err == msgpack.Fine; i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			var key gen.Value
			w.Value(&key)
			dst = append(appendText(dst, &key), ':')
			dst = w.appendJSON(dst, depth-1)
		}
		return append(dst, '}')
	}
	var v gen.Value
	w.Value(&v)
	msgpack.Present(&v)
	switch {
	case v.Kind == gen.Null:
		return append(dst, "null"...)
	case v.Kind == gen.Bool:
		return strconv.AppendBool(dst, v.I != 0)
	case v.Kind == gen.Int && v.I <= exactInJSON && v.I >= -exactInJSON:
		return strconv.AppendInt(dst, v.I, 10)
	case v.Kind == gen.Float && !math.IsNaN(v.F) && !math.IsInf(v.F, 0):
		return strconv.AppendFloat(dst, v.F, 'g', -1, 64)
	}
	return appendText(dst, &v)
}

// appendText appends a value's text as a JSON string.
func appendText(dst []byte, v *gen.Value) []byte {
	text, err := json.Marshal(string(template.AppendValue(nil, v)))
	if err != nil { // can't happen: every string can be marshalled
		return append(dst, "null"...)
	}
	return append(dst, text...)
}

func (w *rowWriter) fields() {
	n := w.Map()
	var columns []string
	var row []gen.Value
	for ; n > 0 && w.Err == msgpack.Fine; n-- {
		var name, v gen.Value
		w.Value(&name)
		w.column(&v)
		columns, row = append(columns, string(template.AppendValue(nil, &name))), append(row, v)
	}
	if w.Err == msgpack.Fine {
		w.each(columns, row)
	}
}

// returned passes on what a function or program returned. A single array of arrays or maps is a list of rows;
// any other single value is one row; several values are one row.
func (w *rowWriter) returned() {
	n := w.Array()
	if n != 1 || !isArray(w.Peek()) {
		if n == 1 {
			w.row()
		} else if n > 1 {
			w.tuple(n)
		}
		return
	}
	start := w.At
	if w.Array() == 0 {
		return
	}
	inner := w.Peek()
	w.At = start
	if isArray(inner) || isMap(inner) {
		w.rows()
	} else {
		w.row()
	}
}

// dispatched passes on the rows that .proc_sql_dispatch returned. The column names may follow the rows.
func (w *rowWriter) dispatched() {
	for depth := 0; depth < 3 && isArray(w.Peek()); depth++ {
		if w.Array() == 0 {
			return
		}
	}
	rows := -1
	for n := w.Map(); n > 0 && w.Err == msgpack.Fine; n-- {
		switch string(w.Text()) {
		case "metadata":
			w.names = columnNames(&w.reader)
		case "rows":
			rows = w.At
			w.Skip()
		default:
			w.Skip()
		}
	}
	if end := w.At; rows >= 0 && w.Err == msgpack.Fine {
		w.At = rows
		w.rows()
		w.At = end
	}
}

// columnNames reads an answer's metadata, an array of maps in which the name has the key 0 or "name".
func columnNames(r *reader) (names []string) {
	for n := r.Array(); n > 0 && r.Err == msgpack.Fine; n-- {
		name := ""
		for k := r.Map(); k > 0 && r.Err == msgpack.Fine; k-- {
			if r.isName() {
				name = string(r.Text())
			} else {
				r.Skip()
			}
		}
		names = append(names, name)
	}
	return names
}

// isName reads a key of a column's metadata and reports whether its value is the column's name.
func (r *reader) isName() bool {
	if isText(r.Peek()) {
		return string(r.Text()) == "name"
	}
	return r.Uint() == uint64(iproto.IPROTO_FIELD_NAME)
}

// keyFirst returns a row's column names and values, with the key moved to the front.
func keyFirst(key int, names []string, row []gen.Value) ([]string, []gen.Value) {
	columns := make([]string, len(row))
	for i := range columns {
		if columns[i] = strconv.Itoa(i + 1); i < len(names) && names[i] != "" {
			columns[i] = names[i]
		}
	}
	if key == 0 || key >= len(row) {
		return columns, row
	}
	name, value := columns[key], row[key]
	columns, row = slices.Delete(columns, key, key+1), slices.Delete(row, key, key+1)
	return slices.Insert(columns, 0, name), slices.Insert(row, 0, value)
}

func isText(c byte) bool { return c >= 0xa0 && c < 0xc0 || c >= 0xd9 && c <= 0xdb }
