package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// decode sets v to the content of a non-null column according to its type, then converts it to kind want unless
// that is gen.Null. The error is of class Client if the value can't be converted, and Protocol if the content
// doesn't fit the type.
func decode(v *gen.Value, f form, format int16, b []byte, want gen.Kind) *protocol.Error {
	ok := false
	if format == binaryFormat {
		ok = decodeBinary(v, f, b)
	} else {
		ok = decodeText(v, f, b)
	}
	if !ok {
		return &protocol.Error{Class: protocol.Protocol, Fatal: true,
			Text: fmt.Sprintf("a captured column of type %s holds %d bytes that aren't one", f.name(), len(b))}
	}
	if want == gen.Null || want == v.Kind || convert(v, want) {
		return nil
	}
	return protocol.Bad("a captured value (%s) can't be read as the kind that the plan wants", describe(v))
}

func decodeBinary(v *gen.Value, f form, b []byte) bool {
	if size := f.size(); size > 0 && len(b) != size {
		return false
	}
	switch f {
	case formInt2:
		v.SetInt(int64(int16(binary.BigEndian.Uint16(b))))
	case formInt4:
		v.SetInt(int64(int32(binary.BigEndian.Uint32(b))))
	case formInt8:
		v.SetInt(int64(binary.BigEndian.Uint64(b)))
	case formFloat4:
		v.Kind, v.F = gen.Float, float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	case formFloat8:
		v.Kind, v.F = gen.Float, math.Float64frombits(binary.BigEndian.Uint64(b))
	case formBool:
		v.Kind, v.I = gen.Bool, int64(b[0])
		return b[0] <= 1
	case formNumeric:
		text, ok := appendNumericText(v.B[:0], b)
		v.B = text
		if !ok {
			return false
		}
		setDecimal(v)
	case formDate:
		v.Kind, v.I = gen.Datetime, int64(int32(binary.BigEndian.Uint32(b)))*usPerDay+epochShiftUs
	case formTimestamp: // "infinity" becomes the greatest value
		v.Kind, v.I = gen.Datetime, min(int64(binary.BigEndian.Uint64(b)), math.MaxInt64-epochShiftUs)+epochShiftUs
	case formUUID:
		v.Kind, v.B = gen.UUID, append(v.B[:0], b...)
	case formBytea:
		v.Kind, v.B = gen.Bytes, append(v.B[:0], b...)
	default:
		return false
	}
	return true
}

// size returns the size of values of a form in binary format, in bytes; 0 if it varies.
func (f form) size() int {
	switch f {
	case formBool:
		return 1
	case formInt2:
		return 2
	case formInt4, formFloat4, formDate:
		return 4
	case formInt8, formFloat8, formTimestamp:
		return 8
	case formUUID:
		return 16
	}
	return 0
}

// setDecimal makes v, whose B holds the text of a number, a Decimal, or a String if the number doesn't fit.
func setDecimal(v *gen.Value) {
	if i, scale, ok := gen.ParseDecimal(v.B); ok {
		v.Kind, v.I, v.Scale = gen.Decimal, i, scale
		return
	}
	v.Kind = gen.String
}

func decodeText(v *gen.Value, f form, b []byte) bool {
	switch f {
	case formInt2, formInt4, formInt8, formOid:
		i, ok := gen.ParseInteger(b)
		v.SetInt(i)
		return ok
	case formFloat4, formFloat8:
		x, err := strconv.ParseFloat(string(b), 64)
		v.Kind, v.F = gen.Float, x
		return err == nil
	case formBool:
		if len(b) != 1 || b[0] != 't' && b[0] != 'f' {
			return false
		}
		v.Kind, v.I = gen.Bool, 0
		if b[0] == 't' {
			v.I = 1
		}
	case formNumeric:
		v.B = append(v.B[:0], b...)
		setDecimal(v)
	case formUUID:
		u, ok := gen.ParseUUID(v.B[:0], b)
		v.Kind, v.B = gen.UUID, u
		return ok
	case formJSON, formJSONB:
		v.Kind, v.B = gen.JSON, append(v.B[:0], b...)
	case formBytea:
		return decodeHex(v, b)
	case formTimestamp, formDate:
		if t, ok := gen.ParseTime(string(b)); ok {
			v.Kind, v.I = gen.Datetime, t.UnixMicro()
			return true
		}
		v.Kind, v.B = gen.String, append(v.B[:0], b...) // another DateStyle, or infinity
	default:
		v.Kind, v.B = gen.String, append(v.B[:0], b...)
	}
	return true
}

// decodeHex decodes the hex format of bytea's text. Text in the older escape format is kept as it is.
func decodeHex(v *gen.Value, b []byte) bool {
	v.Kind, v.B = gen.Bytes, v.B[:0]
	if len(b) < 2 || b[0] != '\\' || b[1] != 'x' {
		v.B = append(v.B, b...)
		return true
	}
	var err error
	v.B, err = hex.AppendDecode(v.B, b[2:])
	return err == nil
}

// convert converts v to kind want. It returns false and leaves v unchanged if the conversion would lose
// information.
func convert(v *gen.Value, want gen.Kind) bool {
	switch want {
	case gen.Int, gen.Uint, gen.Bool:
		i, ok := wholeNumber(v)
		if !ok || want == gen.Uint && i < 0 && v.Kind != gen.Uint || want == gen.Bool && i != 0 && i != 1 {
			return false
		}
		v.Kind, v.I = want, i
	case gen.Float:
		x, ok := floating(v)
		if !ok && v.Kind == gen.String {
			f, err := strconv.ParseFloat(string(v.B), 64)
			x, ok = f, err == nil
		}
		if !ok {
			return false
		}
		v.Kind, v.F = gen.Float, x
	case gen.Decimal:
		return convertToDecimal(v)
	case gen.String:
		if v.Kind != gen.JSON && v.Kind != gen.Bytes {
			var a [64]byte
			v.B = append(v.B[:0], appendText(a[:0], v)...)
		}
		v.Kind = gen.String
	case gen.Bytes, gen.JSON:
		if v.Kind != gen.String && v.Kind != gen.JSON && v.Kind != gen.Bytes {
			return false
		}
		v.Kind = want
	case gen.Datetime:
		t, ok := gen.ParseTime(string(v.B))
		if v.Kind != gen.String || !ok {
			return false
		}
		v.Kind, v.I = gen.Datetime, t.UnixMicro()
	case gen.UUID:
		u, ok := gen.ParseUUID(nil, v.B)
		if v.Kind != gen.String || !ok {
			return false
		}
		v.Kind, v.B = gen.UUID, u
	}
	return true
}

func wholeNumber(v *gen.Value) (int64, bool) {
	if v.Kind == gen.String {
		return gen.ParseInteger(v.B)
	}
	return integral(v)
}

func convertToDecimal(v *gen.Value) bool {
	text := v.B
	switch v.Kind {
	case gen.Int, gen.Bool:
		v.Kind, v.Scale = gen.Decimal, 0
		return true
	case gen.Float:
		text = strconv.AppendFloat(nil, v.F, 'f', -1, 64)
	case gen.String:
	default:
		return false
	}
	i, scale, ok := gen.ParseDecimal(text)
	if ok {
		v.Kind, v.I, v.Scale = gen.Decimal, i, scale
	}
	return ok
}
