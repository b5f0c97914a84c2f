package cassandrastress

import (
	"math"
	"strings"

	"brunt/internal/load/gen"
)

// scalarTypes are the types whose values can be made.
var scalarTypes = map[string]gen.Kind{
	"ascii": gen.String, "text": gen.String, "varchar": gen.String, "blob": gen.Bytes, "bigint": gen.Int,
	"counter": gen.Int, "int": gen.Int, "smallint": gen.Int, "tinyint": gen.Int, "varint": gen.Int, "boolean": gen.Bool,
	"float": gen.Float, "double": gen.Float, "decimal": gen.Decimal, "inet": gen.Bytes, "timestamp": gen.Int,
	"date": gen.Int, "time": gen.Int, "uuid": gen.UUID, "timeuuid": gen.UUID, hexBytes: gen.Bytes,
}

// unsupported says why values of a type can't be made; "" if they can.
func unsupported(kind string) string {
	if _, element := collection(kind); element != "" {
		return unsupported(element)
	}
	if scalarTypes[kind] != gen.Null {
		return ""
	}
	return "cassandra-stress makes no such values"
}

// kindOf returns the kind of a type's values.
func kindOf(kind string) gen.Kind {
	if _, element := collection(kind); element != "" {
		return gen.Packed
	}
	return scalarTypes[kind]
}

// collection takes the name of a list or a set apart; element is "" for other types.
func collection(kind string) (name, element string) {
	for {
		name, rest, ok := strings.Cut(kind, "<")
		switch element, closed := strings.CutSuffix(rest, ">"); {
		case !ok || !closed:
			return "", ""
		case name == "frozen":
			kind = element
		case name == "list", name == "set":
			return name, element
		default:
			return "", ""
		}
	}
}

// value makes the value of a column that has a number in the column's population: the same number makes the same value.
// Texts and bytes have the column's size.
func (c *Column) value(v *gen.Value, stream gen.Stream, number int64) {
	r := stream.At(uint64(number))
	if name, element := collection(c.Type); element != "" {
		c.elements(v, stream, &r, number, name, element)
		return
	}
	v.Kind = scalarTypes[c.Type]
	switch c.Type {
	case "ascii", "text", "varchar":
		size := c.Spec.Size.Draw(&r, uint64(number))
		v.B = v.B[:0]
		for bits, left := uint64(0), 0; size > 0; size-- {
			if left == 0 {
				bits, left = r.Uint64(), 8
			}
			v.B = append(v.B, byte(bits)%95+32) // printable
			bits, left = bits>>8, left-1
		}
	case "blob":
		size := c.Spec.Size.Draw(&r, uint64(number))
		v.B = v.B[:0]
		for bits, left := uint64(0), 0; size > 0; size-- {
			if left == 0 {
				bits, left = r.Uint64(), 8
			}
			v.B = append(v.B, byte(bits))
			bits, left = bits>>8, left-1
		}
	case hexBytes:
		v.Kind, v.B = gen.Bytes, v.B[:0]
		size := c.Spec.Size.Draw(&r, uint64(number))
		for bits, left := uint64(0), 0; size > 0; size-- {
			if left == 0 {
				bits, left = r.Uint64(), 16
			}
			v.B = append(v.B, "0123456789ABCDEF"[bits&15])
			bits, left = bits>>4, left-1
		}
	case "boolean":
		v.I = number & 1
	case "float", "double":
		v.F = float64(number) + r.Float64()
	case "decimal":
		v.I, v.Scale = number, 1
	case "inet":
		bits := r.Uint64()
		v.B = append(v.B[:0], byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
	case "uuid", "timeuuid":
		uuid(v, &r, c.Type == "timeuuid")
	case "smallint":
		v.I = int64(int16(number))
	case "tinyint":
		v.I = int64(int8(number))
	case "int":
		v.I = int64(int32(number))
	case "date":
		v.I = number & math.MaxInt16
	case "time":
		v.I = number % 86_400_000_000_000
	default: // whole numbers are those of the population
		v.I = number
	}
}

// hexBytes is the type of the key of the predefined tables: hexadecimal digits as bytes.
const hexBytes = "hexbytes"

// uuid makes a random UUID, or one of version 1, which begins with a time.
func uuid(v *gen.Value, r *gen.Rand, timed bool) {
	v.B = v.B[:0]
	for _, bits := range [...]uint64{r.Uint64(), r.Uint64()} {
		for range 8 {
			v.B = append(v.B, byte(bits))
			bits >>= 8
		}
	}
	version := byte(0x40)
	if timed {
		version = 0x10
	}
	v.B[6], v.B[8] = v.B[6]&0x0f|version, v.B[8]&0x3f|0x80
}
