package cassandra

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"reflect"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"gopkg.in/inf.v0"

	"brunt/internal/load/gen"
)

// column is a column of an answer, or an element of a tuple, as the server encodes it. It is a gocql.Unmarshaler.
type column struct {
	name string
	info gocql.TypeInfo
	data []byte // nil: null
}

// UnmarshalCQL implements gocql.Unmarshaler.
func (c *column) UnmarshalCQL(info gocql.TypeInfo, data []byte) error {
	c.info, c.data = info, data
	return nil
}

// columnsOf returns room for a row. A tuple is as many columns as it has elements; these are named as t[0], t[1], ….
func columnsOf(all []gocql.ColumnInfo) (row []column, scan []any) {
	for i := range all {
		c := &all[i]
		tuple, ok := c.TypeInfo.(gocql.TupleTypeInfo)
		if !ok {
			row = append(row, column{name: c.Name})
			continue
		}
		for k := range tuple.Elems {
			row = append(row, column{name: gocql.TupleColumnName(c.Name, k)})
		}
	}
	for i := range row {
		scan = append(scan, &row[i])
	}
	return row, scan
}

// Formats of values that are read as text, and taken as arguments in the same form.
const (
	dateFormat = "2006-01-02"
	timeFormat = "15:04:05.999999999"
	// months, days and nanoseconds, as CQL writes durations
	durationFormat = "%dmo%dd%dns"
)

// value decodes the column. Types that no kind of value can hold are text: a date, a time of day, an address of a host,
// a duration, as CQL writes them. Collections and the like are gen.Packed, which only a parameter of their own type
// accepts.
func (c *column) value(v *gen.Value) error {
	if c.data == nil {
		v.SetNull()
		return nil
	}
	switch t := c.info.Type(); t {
	case gocql.TypeTinyInt, gocql.TypeSmallInt, gocql.TypeInt, gocql.TypeBigInt, gocql.TypeCounter:
		var i int64
		err := gocql.Unmarshal(c.info, c.data, &i)
		v.SetInt(i)
		return err
	case gocql.TypeVarint:
		var i big.Int
		err := gocql.Unmarshal(c.info, c.data, &i)
		if i.IsInt64() {
			v.SetInt(i.Int64())
		} else {
			v.Kind, v.B = gen.Number, i.Append(v.B[:0], 10)
		}
		return err
	case gocql.TypeDecimal:
		return c.decimal(v)
	case gocql.TypeFloat:
		var f float32
		err := gocql.Unmarshal(c.info, c.data, &f)
		v.Kind, v.F = gen.Float, float64(f)
		return err
	case gocql.TypeDouble:
		v.Kind = gen.Float
		return gocql.Unmarshal(c.info, c.data, &v.F)
	case gocql.TypeBoolean:
		var b bool
		err := gocql.Unmarshal(c.info, c.data, &b)
		v.SetAny(b)
		return err
	case gocql.TypeText, gocql.TypeVarchar, gocql.TypeAscii:
		v.SetString(string(c.data))
	case gocql.TypeBlob:
		v.SetAny(c.data)
	case gocql.TypeUUID, gocql.TypeTimeUUID:
		var u gocql.UUID
		err := gocql.Unmarshal(c.info, c.data, &u)
		v.SetAny([16]byte(u))
		return err
	case gocql.TypeTimestamp:
		var at time.Time
		err := gocql.Unmarshal(c.info, c.data, &at)
		v.SetAny(at)
		return err
	default:
		return c.text(v, t)
	}
	return nil
}

func (c *column) decimal(v *gen.Value) error {
	var d inf.Dec
	if err := gocql.Unmarshal(c.info, c.data, &d); err != nil {
		return err
	}
	if u, ok := d.Unscaled(); ok && d.Scale() >= 0 && d.Scale() <= 18 {
		v.Kind, v.I, v.Scale = gen.Decimal, u, uint8(d.Scale())
		return nil
	}
	v.Kind, v.B = gen.Number, append(v.B[:0], d.UnscaledBig().String()...)
	if e := -int64(d.Scale()); e != 0 {
		v.B = strconv.AppendInt(append(v.B, 'e'), e, 10)
	}
	return nil
}

// text decodes what is given as text, and packs all else.
func (c *column) text(v *gen.Value, t gocql.Type) error {
	switch t {
	case gocql.TypeTime:
		var d time.Duration
		err := gocql.Unmarshal(c.info, c.data, &d)
		v.SetString(time.Unix(0, int64(d)).UTC().Format(timeFormat))
		return err
	case gocql.TypeDate:
		if len(c.data) != 4 {
			return fmt.Errorf("a date of %d bytes", len(c.data))
		}
		days := int64(binary.BigEndian.Uint32(c.data)) - 1<<31 // native_protocol_v4.spec, section 6.7
		v.SetString(time.Unix(days*24*60*60, 0).UTC().Format(dateFormat))
	case gocql.TypeInet:
		var ip net.IP
		err := gocql.Unmarshal(c.info, c.data, &ip)
		v.SetString(ip.String())
		return err
	case gocql.TypeDuration:
		var d gocql.Duration
		err := gocql.Unmarshal(c.info, c.data, &d)
		v.SetString(fmt.Sprintf(durationFormat, d.Months, d.Days, d.Nanoseconds))
		return err
	default:
		v.Kind, v.B = gen.Packed, append(packing(v.B[:0], c.info), c.data...)
	}
	return nil
}

// packing appends the prefix of packed values of a type, by which a parameter recognizes them.
func packing(b []byte, info gocql.TypeInfo) []byte { return append(append(b, typeName(info)...), 0) }

// typeName returns the name of a type, with those of its parts.
func typeName(info gocql.TypeInfo) string {
	var parts []string
	switch t := info.(type) {
	case gocql.CollectionType:
		if t.Key != nil {
			parts = append(parts, typeName(t.Key))
		}
		parts = append(parts, typeName(t.Elem))
	case gocql.VectorType:
		parts = []string{typeName(t.SubType), fmt.Sprint(t.Dimensions)}
	case gocql.TupleTypeInfo:
		for _, e := range t.Elems {
			parts = append(parts, typeName(e))
		}
	case gocql.UDTTypeInfo:
		return t.Keyspace + "." + t.Name
	}
	name := cmp.Or(typeNames[info.Type()], fmt.Sprintf("type %#04x", int(info.Type())))
	if len(parts) == 0 {
		return name
	}
	return name + "<" + strings.Join(parts, ", ") + ">"
}

// typeNames has the names of types in CQL, by their numbers (native_protocol_v4.spec, section 4.2.5.2).
var typeNames = map[gocql.Type]string{
	gocql.TypeCustom: "vector", gocql.TypeAscii: "ascii", gocql.TypeBigInt: "bigint", gocql.TypeBlob: "blob",
	gocql.TypeBoolean: "boolean", gocql.TypeCounter: "counter", gocql.TypeDecimal: "decimal", gocql.TypeDouble: "double",
	gocql.TypeFloat: "float", gocql.TypeInt: "int", gocql.TypeText: "text", gocql.TypeTimestamp: "timestamp",
	gocql.TypeUUID: "uuid", gocql.TypeVarchar: "text", gocql.TypeVarint: "varint", gocql.TypeTimeUUID: "timeuuid",
	gocql.TypeInet: "inet", gocql.TypeDate: "date", gocql.TypeTime: "time", gocql.TypeSmallInt: "smallint",
	gocql.TypeTinyInt: "tinyint", gocql.TypeDuration: "duration", gocql.TypeList: "list", gocql.TypeMap: "map",
	gocql.TypeSet: "set", gocql.TypeUDT: "udt", gocql.TypeTuple: "tuple",
}

// packed is a value as a server has encoded it. It is a gocql.Marshaler.
type packed []byte

// MarshalCQL implements gocql.Marshaler.
func (p packed) MarshalCQL(info gocql.TypeInfo) ([]byte, error) {
	prefix := packing(nil, info)
	if data, ok := strings.CutPrefix(string(p), string(prefix)); ok {
		return []byte(data), nil
	}
	from, _, _ := strings.Cut(string(p), "\x00")
	return nil, fmt.Errorf("marshal: a captured value of type %s isn't a %s", from, typeName(info))
}

// shown returns the value for people and scripts: what is packed is decoded to JSON.
func (c *column) shown(v *gen.Value) error {
	if err := c.value(v); err != nil || v.Kind != gen.Packed {
		return err
	}
	x := reflect.New(reflect.TypeOf(c.info.Zero()))
	if err := gocql.Unmarshal(c.info, c.data, x.Interface()); err != nil {
		return err
	}
	text, err := json.Marshal(plain(x.Elem()))
	v.Kind, v.B = gen.JSON, append(v.B[:0], text...)
	return err
}

// plain converts a value of the library to one that JSON has: keys become text.
func plain(x reflect.Value) any {
	switch y := x.Interface().(type) {
	case fmt.Stringer: // UUIDs, decimals, addresses, times
		return y.String()
	case []byte:
		return hex.EncodeToString(y)
	}
	switch x.Kind() {
	case reflect.Map:
		out := map[string]any{}
		for key, value := range x.Seq2() {
			out[fmt.Sprint(plain(key))] = plain(value)
		}
		return out
	case reflect.Slice, reflect.Array:
		out := make([]any, x.Len())
		for i := range out {
			out[i] = plain(x.Index(i))
		}
		return out
	case reflect.Interface, reflect.Pointer:
		if x.IsNil() {
			return nil
		}
		return plain(x.Elem())
	}
	return x.Interface()
}
