package mongodb

import (
	"strconv"

	"brunt/internal/load/gen"
	"brunt/internal/protocol/kv"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// binaryOfBytes is the subtype of binary data without a meaning of its own (bsonspec.org), which brunt writes.
const binaryOfBytes = 0

// content returns a field's content: bytes and strings as they are, other values as text, and documents, arrays and
// what is particular to MongoDB as extended JSON. A field that is absent or null has none.
func content(v bson.RawValue) ([]byte, bool) {
	switch v.Type {
	case 0, bson.TypeNull, bson.TypeUndefined:
		return nil, false
	case bson.TypeBinary:
		_, data, ok := v.BinaryOK()
		return data, ok
	case bson.TypeString:
		text, ok := v.StringValueOK()
		return []byte(text), ok
	case bson.TypeDouble:
		f, ok := v.DoubleOK()
		return strconv.AppendFloat(nil, f, 'g', -1, 64), ok
	case bson.TypeInt32, bson.TypeInt64:
		i, ok := v.AsInt64OK()
		return strconv.AppendInt(nil, i, 10), ok
	case bson.TypeBoolean:
		b, ok := v.BooleanOK()
		return strconv.AppendBool(nil, b), ok
	case bson.TypeDecimal128:
		d, ok := v.Decimal128OK()
		return []byte(d.String()), ok
	case bson.TypeObjectID:
		id, ok := v.ObjectIDOK()
		return []byte(id.Hex()), ok
	case bson.TypeDateTime:
		at, ok := v.TimeOK()
		return at.UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z"), ok
	}
	return []byte(v.String()), true
}

// pack sets out to a value with its type, as BSON encodes it: the type's number and the content. It returns false for
// what has no type of its own: no field, null, and bytes.
func pack(out *gen.Value, v bson.RawValue) bool {
	switch v.Type {
	case 0, bson.TypeNull:
		return false
	case bson.TypeBinary:
		if subtype, _, ok := v.BinaryOK(); ok && subtype == binaryOfBytes {
			return false
		}
	}
	out.Kind, out.B = gen.Packed, append(append(out.B[:0], byte(v.Type)), v.Value...)
	return true
}

// unpack returns the value that pack has packed.
func unpack(v *gen.Value) bson.RawValue {
	return bson.RawValue{Type: bson.Type(v.B[0]), Value: v.B[1:]}
}

// keyOf returns an argument as a document's key: text, or a captured value with the type that it had.
func keyOf(v *gen.Value) any {
	if v.Kind == gen.Packed {
		return unpack(v)
	}
	return kv.Text(v)
}

// fieldOf returns an argument as a field: bytes, null, or a captured value with the type that it had.
func fieldOf(v *gen.Value) any {
	switch v.Kind {
	case gen.Null:
		return nil
	case gen.Packed:
		return unpack(v)
	case gen.Bytes, gen.String:
		if v.B != nil { // nil would be null
			return v.B
		}
	}
	return kv.AppendText([]byte{}, v)
}
