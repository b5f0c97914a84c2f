package sqlconn

import (
	sqldriver "database/sql/driver"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/load/template"
	"brunt/internal/protocol"
)

// TimeFormat is the format of times: UTC, of fixed width, so that times sort as text.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

// Text returns a value of an answer as text; nil for null. The result may share v's memory.
func Text(v sqldriver.Value) []byte {
	switch x := v.(type) {
	case nil:
		return nil
	case []byte:
		return x
	case string:
		return []byte(x)
	case int64:
		return strconv.AppendInt(nil, x, 10)
	case uint64:
		return strconv.AppendUint(nil, x, 10)
	case float32:
		return strconv.AppendFloat(nil, float64(x), 'g', -1, 32)
	case float64:
		return strconv.AppendFloat(nil, x, 'g', -1, 64)
	case time.Time:
		return x.UTC().AppendFormat(nil, TimeFormat)
	}
	return fmt.Append(nil, v)
}

// Result stores the rows of an answer in a reply.
type Result struct {
	Request  *protocol.Request
	Reply    *protocol.Reply
	Captures []int    // columns to capture, see Captures
	Columns  []string // names
	Bytes    gen.Kind // kind of byte values unless a capture asks for another
	// Kinds are those of the columns, if known; Null for Bytes. Captures keep times, decimals and JSON as their texts,
	// which the server takes back as they are.
	Kinds []gen.Kind
}

// bytesOf returns the kind of byte values in a column.
func (r *Result) bytesOf(column int) gen.Kind {
	if column < len(r.Kinds) && r.Kinds[column] != gen.Null {
		return r.Kinds[column]
	}
	return r.Bytes
}

// Take processes the next row.
func (r *Result) Take(row []sqldriver.Value) {
	if r.Reply.Each != nil {
		whole := make([]gen.Value, len(row))
		for i := range row {
			_ = decode(&whole[i], row[i], gen.Null, r.Bytes) // can't fail: any kind will do
			if content, is := row[i].([]byte); is {
				setBytes(&whole[i], r.bytesOf(i), content)
			}
		}
		r.Reply.Each(r.Columns, whole)
	}
	if r.Reply.Rows++; r.Reply.Rows > 1 {
		return
	}
	for k, column := range r.Captures {
		bytes := r.Bytes
		if r.bytesOf(column) == gen.Bytes {
			bytes = gen.Bytes
		}
		if e := decode(&r.Reply.Captured[k], row[column], r.Request.Capture[k].Kind, bytes); e != nil &&
			r.Reply.Class == protocol.OK {
			r.Reply.Fail(e)
		}
	}
}

// setBytes sets v, which holds the bytes of a column, to what they are by the column's kind.
func setBytes(v *gen.Value, kind gen.Kind, content []byte) {
	switch kind {
	case gen.Decimal:
		var ok bool
		if v.I, v.Scale, ok = gen.ParseDecimal(content); ok {
			v.Kind = gen.Decimal
		} else {
			v.Kind = gen.Number
		}
	case gen.Datetime:
		if t, ok := gen.ParseTime(string(content)); ok {
			v.Kind, v.I = gen.Datetime, t.UnixMicro()
		} // else one that no calendar has, such as 0000-00-00
	case gen.Uint:
		template.SetText(v, gen.Uint, content)
	default:
		v.Kind = kind
	}
}

// Captures returns the column numbers of a request's captures in a result. Names are compared without regard to
// letter case.
func Captures(req *protocol.Request, columns []string) (captures []int, refused *protocol.Error) {
	for i := range req.Capture {
		c := &req.Capture[i]
		at := c.Column
		if c.Name != "" {
			at = slices.IndexFunc(columns, func(name string) bool { return strings.EqualFold(name, c.Name) })
		}
		if at < 0 || at >= len(columns) {
			return nil, protocol.Bad("captured column %q (number %d) isn't in the result, which has: %s", c.Name, c.Column,
				strings.Join(columns, ", "))
		}
		captures = append(captures, at)
	}
	return captures, nil
}

// decode sets v to a column's value, converted to kind want unless that is gen.Null.
func decode(v *gen.Value, from sqldriver.Value, want, bytes gen.Kind) *protocol.Error {
	switch x := from.(type) {
	case []byte:
		v.Kind, v.B = bytes, append(v.B[:0], x...)
	case float32:
		template.SetText(v, gen.Float, Text(from))
	default:
		if !v.SetAny(from) {
			v.SetString(string(Text(from)))
		}
	}
	if v.Kind == gen.Null || want == gen.Null || want == v.Kind {
		return nil
	}
	if convert(v, from, want, bytes); v.Kind == gen.Null {
		return protocol.Bad("a captured value (%.60s) can't be read as the kind that the plan wants", Text(from))
	}
	return nil
}

// convert converts v, which holds from, to kind want. If that isn't possible, v becomes null. UUIDs stay text
// for servers that represent them as text.
func convert(v *gen.Value, from sqldriver.Value, want, bytes gen.Kind) {
	text, ok := Text(from), true
	f, isFloat := from.(float64)
	switch want {
	case gen.Int, gen.Uint, gen.Bool:
		if isFloat && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
			text = strconv.AppendInt(nil, int64(f), 10)
		}
	case gen.Decimal:
		if isFloat {
			text = strconv.AppendFloat(nil, f, 'f', -1, 64)
		}
		if v.I, v.Scale, ok = gen.ParseDecimal(text); ok {
			v.Kind = gen.Decimal
			return
		}
	case gen.Datetime:
		var t time.Time
		if t, ok = gen.ParseTime(string(text)); ok {
			v.Kind, v.I = gen.Datetime, t.UnixMicro()
			return
		}
	case gen.UUID:
		if bytes != gen.String {
			if v.B, ok = gen.ParseUUID(v.B[:0], text); ok {
				v.Kind = gen.UUID
				return
			}
		}
	}
	if v.SetNull(); ok {
		template.SetText(v, want, text)
	}
}
