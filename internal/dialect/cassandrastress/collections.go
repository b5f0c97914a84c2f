package cassandrastress

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"brunt/internal/load/gen"
)

// elements makes a list or a set (classes Lists and Sets of cassandra-stress's sources): of as many elements as the
// column's size says, each of which is one of its population. A set has fewer if some are equal. The value is encoded
// as the server encodes it (section 6 of the native protocol, version 4).
func (c *Column) elements(v *gen.Value, stream gen.Stream, r *gen.Rand, number int64, name, element string) {
	one := Column{Name: c.Name, Type: element, Spec: c.Spec}
	var all [][]byte
	for range c.Spec.Size.Draw(r, uint64(number)) {
		var e gen.Value
		at := r.Uint64()
		one.value(&e, stream, c.Spec.Population.Draw(r, at))
		all = append(all, encoded(nil, element, &e))
	}
	if name == "set" {
		slices.SortFunc(all, bytes.Compare)
		all = slices.CompactFunc(all, bytes.Equal)
	}
	v.Kind = gen.Packed
	v.B = append(append(v.B[:0], packedName(c.Type)...), 0)
	v.B = binary.BigEndian.AppendUint32(v.B, uint32(len(all)))
	for _, e := range all {
		v.B = append(binary.BigEndian.AppendUint32(v.B, uint32(len(e))), e...)
	}
}

// packedName returns the name of a type with which packed values of it begin.
func packedName(kind string) string {
	name, element := collection(kind)
	switch {
	case element != "":
		return name + "<" + packedName(element) + ">"
	case kind == "varchar":
		return "text"
	}
	return kind
}

// encoded appends an element as the server encodes it.
func encoded(b []byte, kind string, v *gen.Value) []byte {
	order := binary.BigEndian
	switch kind {
	case "bigint", "counter", "timestamp", "time":
		return order.AppendUint64(b, uint64(v.I))
	case "int":
		return order.AppendUint32(b, uint32(v.I))
	case "smallint":
		return order.AppendUint16(b, uint16(v.I))
	case "tinyint", "boolean":
		return append(b, byte(v.I))
	case "date": // days, with the epoch at 2^31
		return order.AppendUint32(b, uint32(v.I+1<<31))
	case "float":
		return order.AppendUint32(b, math.Float32bits(float32(v.F)))
	case "double":
		return order.AppendUint64(b, math.Float64bits(v.F))
	case "decimal":
		return varint(order.AppendUint32(b, uint32(v.Scale)), v.I)
	case "varint":
		return varint(b, v.I)
	}
	if _, element := collection(kind); element != "" {
		return append(b, v.B[bytes.IndexByte(v.B, 0)+1:]...)
	}
	return append(b, v.B...)
}

// varint appends a number in as few bytes as hold it, in two's complement.
func varint(b []byte, n int64) []byte {
	bytesOf := 8
	for bytesOf > 1 {
		if half := int64(1) << (8*(bytesOf-1) - 1); n < -half || n >= half {
			break
		}
		bytesOf--
	}
	for i := bytesOf - 1; i >= 0; i-- {
		b = append(b, byte(n>>(8*i)))
	}
	return b
}
