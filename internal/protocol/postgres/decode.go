package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"

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
		decodeDate(v, int32(binary.BigEndian.Uint32(b)))
	case formTimestamp:
		decodeTimestamp(v, int64(binary.BigEndian.Uint64(b)))
	case formUUID:
		v.Kind, v.B = gen.UUID, append(v.B[:0], b...)
	case formBytea:
		v.Kind, v.B = gen.Bytes, append(v.B[:0], b...)
	default:
		return false
	}
	return true
}

// decodeDate sets v to the date of a number of days since 2000-01-01. Infinity, and dates whose microseconds int64
// can't count, become texts, which the server takes back.
func decodeDate(v *gen.Value, days int32) {
	switch days {
	case math.MaxInt32:
		v.SetString("infinity")
	case math.MinInt32:
		v.SetString("-infinity")
	default:
		if seconds := int64(days)*86400 + epochShiftUs/1e6; seconds > math.MaxInt64/1_000_000 {
			v.SetString(time.Unix(seconds, 0).UTC().Format(time.DateOnly))
			return
		}
		v.Kind, v.I = gen.Datetime, int64(days)*usPerDay+epochShiftUs
	}
}

// decodeTimestamp sets v to the time of a number of microseconds since 2000-01-01. Infinity, and times that int64 can't
// count from 1970 on, become texts, which the server takes back.
func decodeTimestamp(v *gen.Value, micros int64) {
	switch {
	case micros == math.MaxInt64:
		v.SetString("infinity")
	case micros == math.MinInt64:
		v.SetString("-infinity")
	case micros > math.MaxInt64-epochShiftUs:
		at := time.Unix(micros/1e6+epochShiftUs/1e6, micros%1e6*1000).UTC()
		v.SetString(at.Format("2006-01-02 15:04:05.999999+00"))
	default:
		v.Kind, v.I = gen.Datetime, micros+epochShiftUs
	}
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

// setDecimal makes v, whose B holds the text of a number, a Decimal, or a Number if it doesn't fit. NaN and Infinity
// become a String.
func setDecimal(v *gen.Value) {
	if i, scale, ok := gen.ParseDecimal(v.B); ok {
		v.Kind, v.I, v.Scale = gen.Decimal, i, scale
		return
	}
	v.Kind = gen.Number
	if last := len(v.B) - 1; last < 0 || v.B[last] > '9' {
		v.Kind = gen.String
	}
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
		out, ok := appendBytea(v.B[:0], b)
		v.Kind, v.B = gen.Bytes, out
		return ok
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

// appendBytea appends the bytes that a text of type bytea stands for, in the hex or the escape format ("Binary Data
// Types" in PostgreSQL's manual). ok is false if it is neither.
func appendBytea(dst, text []byte) (_ []byte, ok bool) {
	if len(text) >= 2 && text[0] == '\\' && text[1] == 'x' {
		dst, err := hex.AppendDecode(dst, text[2:])
		return dst, err == nil
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\':
			dst = append(dst, text[i])
		case i+1 < len(text) && text[i+1] == '\\':
			dst = append(dst, '\\')
			i++
		case i+3 < len(text):
			n, err := strconv.ParseUint(string(text[i+1:i+4]), 8, 8)
			if err != nil {
				return dst, false
			}
			dst = append(dst, byte(n))
			i += 3
		default:
			return dst, false
		}
	}
	return dst, true
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
		if !ok && (v.Kind == gen.String || v.Kind == gen.Number) {
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
		if v.Kind != gen.JSON && v.Kind != gen.Bytes && v.Kind != gen.Number {
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
