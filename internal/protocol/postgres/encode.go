package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// epochShiftUs is 2000-01-01 in microseconds since the Unix epoch.
const epochShiftUs = 946684800 * 1000000

// timestampMinUs is the first instant that PostgreSQL's timestamps can hold, 4714-11-24 BC, in Unix
// microseconds. Their last instant is later than any int64 of Unix microseconds.
const timestampMinUs = -211813488000000000 + epochShiftUs

const usPerDay = 86400 * 1000000

// appendValue appends a non-null value as the content of a parameter or field, and returns the format code that
// it used. Text for a type that isn't a text type is sent as text for the server to parse. It allocates nothing
// unless it fails. Errors are of class Client.
func appendValue(dst []byte, f form, v *gen.Value) ([]byte, int16, *protocol.Error) {
	if v.Kind == gen.Number || v.Kind == gen.String && f != formBytea {
		if f == formJSONB {
			dst = append(dst, 1)
			return append(dst, v.B...), binaryFormat, nil
		}
		return append(dst, v.B...), textFormat, nil
	}
	switch f {
	case formInt2, formInt4, formInt8, formOid:
		return appendInteger(dst, f, v)
	case formFloat4, formFloat8:
		return appendFloat(dst, f, v)
	case formNumeric:
		out, ok := appendNumeric(dst, v)
		return out, binaryFormat, mismatch(ok, f, v)
	case formBool:
		i, ok := integral(v)
		if !ok || i != 0 && i != 1 {
			return dst, 0, mismatch(false, f, v)
		}
		return append(dst, byte(i)), binaryFormat, nil
	case formTimestamp, formDate, formTime:
		return appendTime(dst, f, v)
	case formUUID:
		if v.Kind != gen.UUID && v.Kind != gen.Bytes || len(v.B) != 16 {
			return dst, 0, mismatch(false, f, v)
		}
		return append(dst, v.B...), binaryFormat, nil
	case formBytea:
		switch v.Kind {
		case gen.Bytes, gen.String, gen.UUID, gen.JSON:
			return append(dst, v.B...), binaryFormat, nil
		}
		return dst, 0, mismatch(false, f, v)
	case formArray:
		if v.Kind != gen.JSON {
			break
		}
		out, ok := appendArray(dst, v.B)
		return out, textFormat, mismatch(ok, f, v)
	case formJSONB:
		dst = append(dst, 1) // the version of the binary format
		dst, err := appendJSON(dst, v)
		return dst, binaryFormat, err
	case formJSON:
		dst, err := appendJSON(dst, v)
		return dst, textFormat, err
	}
	return appendText(dst, v), textFormat, nil
}

// mismatch returns nil if ok, otherwise the error that v can't be sent as f.
func mismatch(ok bool, f form, v *gen.Value) *protocol.Error {
	if ok {
		return nil
	}
	return protocol.Bad("%s can't be sent as %s; check the parameter's type and range", describe(v), f.name())
}

// describe returns a value for messages: numbers as they are, texts by their length.
func describe(v *gen.Value) string {
	switch v.Kind {
	case gen.String, gen.Bytes, gen.JSON, gen.UUID, gen.Number, gen.Packed:
		return fmt.Sprintf("a value of %d bytes", len(v.B))
	case gen.Datetime:
		return "the time " + string(appendText(nil, v))
	}
	return "the value " + string(appendText(nil, v))
}

// integral returns a number without a fraction as an int64. It returns false if v isn't one or is out of range.
func integral(v *gen.Value) (int64, bool) {
	switch v.Kind {
	case gen.Int, gen.Bool:
		return v.I, true
	case gen.Uint:
		return v.I, v.I >= 0
	case gen.Float:
		if v.F != math.Trunc(v.F) || v.F < -(1<<63) || v.F >= 1<<63 {
			return 0, false
		}
		return int64(v.F), true
	case gen.Decimal:
		i := v.I
		for s := v.Scale; s > 0 && i != 0; s-- {
			if i%10 != 0 {
				return 0, false
			}
			i /= 10
		}
		return i, true
	}
	return 0, false
}

func appendInteger(dst []byte, f form, v *gen.Value) ([]byte, int16, *protocol.Error) {
	i, ok := integral(v)
	if !ok {
		return dst, 0, mismatch(false, f, v)
	}
	switch f {
	case formInt2:
		if i < math.MinInt16 || i > math.MaxInt16 {
			return dst, 0, mismatch(false, f, v)
		}
		return binary.BigEndian.AppendUint16(dst, uint16(i)), binaryFormat, nil
	case formInt4:
		if i < math.MinInt32 || i > math.MaxInt32 {
			return dst, 0, mismatch(false, f, v)
		}
		return binary.BigEndian.AppendUint32(dst, uint32(i)), binaryFormat, nil
	case formOid:
		if i < 0 || i > math.MaxUint32 {
			return dst, 0, mismatch(false, f, v)
		}
		return binary.BigEndian.AppendUint32(dst, uint32(i)), binaryFormat, nil
	}
	return binary.BigEndian.AppendUint64(dst, uint64(i)), binaryFormat, nil
}

func appendFloat(dst []byte, f form, v *gen.Value) ([]byte, int16, *protocol.Error) {
	x, ok := floating(v)
	if !ok {
		return dst, 0, mismatch(false, f, v)
	}
	if f == formFloat8 {
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(x)), binaryFormat, nil
	}
	if math.Abs(x) > math.MaxFloat32 && !math.IsInf(x, 0) {
		return dst, 0, mismatch(false, f, v)
	}
	return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(x))), binaryFormat, nil
}

// floating returns a number as a float64, rounded if necessary.
func floating(v *gen.Value) (float64, bool) {
	switch v.Kind {
	case gen.Float:
		return v.F, true
	case gen.Int, gen.Bool:
		return float64(v.I), true
	case gen.Uint:
		return float64(uint64(v.I)), true
	case gen.Decimal:
		return float64(v.I) / math.Pow10(int(v.Scale)), true
	}
	return 0, false
}

func appendTime(dst []byte, f form, v *gen.Value) ([]byte, int16, *protocol.Error) {
	if v.Kind != gen.Datetime {
		return dst, 0, mismatch(false, f, v)
	}
	switch f {
	case formDate:
		return binary.BigEndian.AppendUint32(dst, uint32(int32(floorDiv(v.I, usPerDay)-epochShiftUs/usPerDay))),
			binaryFormat, nil
	case formTime:
		return binary.BigEndian.AppendUint64(dst, uint64(v.I-floorDiv(v.I, usPerDay)*usPerDay)), binaryFormat, nil
	}
	if v.I < timestampMinUs {
		return dst, 0, mismatch(false, f, v)
	}
	return binary.BigEndian.AppendUint64(dst, uint64(v.I-epochShiftUs)), binaryFormat, nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// appendJSON appends a value as JSON text.
func appendJSON(dst []byte, v *gen.Value) ([]byte, *protocol.Error) {
	switch v.Kind {
	case gen.JSON, gen.Bytes:
		return append(dst, v.B...), nil
	case gen.Datetime, gen.UUID:
		dst = append(dst, '"')
		return append(appendText(dst, v), '"'), nil
	case gen.Float:
		if math.IsNaN(v.F) || math.IsInf(v.F, 0) {
			return dst, mismatch(false, formJSON, v)
		}
	}
	return appendText(dst, v), nil
}

// appendText appends a non-null value in a text form that the server's input functions accept.
func appendText(dst []byte, v *gen.Value) []byte {
	switch v.Kind {
	case gen.Datetime:
		at := time.UnixMicro(v.I).UTC()
		if year := at.Year(); year < 1 { // PostgreSQL has no year 0: the year before 1 is 1 BC
			return append(at.AppendFormat(fmt.Appendf(dst, "%04d", 1-year), "-01-02 15:04:05.999999Z07:00"), " BC"...)
		}
		return at.AppendFormat(dst, "2006-01-02 15:04:05.999999Z07:00")
	case gen.String, gen.Bytes, gen.JSON:
		return append(dst, v.B...)
	}
	return v.AppendText(dst)
}

// form is the wire representation of a server type's values.
type form uint8

const (
	formOther form = iota // a type unknown to this package: text format
	formText              // text types: the same bytes in both formats
	formJSON              // likewise
	formJSONB
	formInt2
	formInt4
	formInt8
	formOid
	formFloat4
	formFloat8
	formNumeric
	formBool
	formTimestamp // with and without time zone: µs since 2000-01-01
	formDate
	formTime
	formUUID
	formBytea
	formArray // text; arrays has the form of the elements
)

// forms maps the OID of a type in PostgreSQL's catalogue pg_type to the form of its values.
var forms = map[uint32]form{
	// text, varchar, bpchar, name, unknown, xml
	25: formText, 1043: formText, 1042: formText, 19: formText, 705: formText, 142: formText,
	114: formJSON, 3802: formJSONB, 21: formInt2, 23: formInt4, 20: formInt8, 26: formOid, 700: formFloat4,
	701:  formFloat8,
	1700: formNumeric, 16: formBool, 1082: formDate, 1083: formTime, 2950: formUUID, 17: formBytea,
	1114: formTimestamp, 1184: formTimestamp, // without and with a zone
	1000: formArray, 1005: formArray, 1007: formArray, 1016: formArray, 1028: formArray, 1021: formArray, 1022: formArray,
	1231: formArray, 1009: formArray, 1015: formArray, 1014: formArray, 1003: formArray, 2951: formArray, 1001: formArray,
	1115: formArray, 1185: formArray, 1182: formArray, 1183: formArray, 199: formArray, 3807: formArray,
	1187: formArray, 1041: formArray, 651: formArray, // see arrays
}

// name returns the type's name for messages.
func (f form) name() string {
	return [...]string{"this type", "text", "json", "jsonb", "smallint", "integer", "bigint", "oid", "real",
		"double precision", "numeric", "boolean", "timestamp", "date", "time", "uuid", "bytea", "array"}[f]
}

// The protocol's format codes.
const (
	textFormat   int16 = 0
	binaryFormat int16 = 1
)

// resultFormat returns the format in which to request a captured column.
func (f form) resultFormat() int16 {
	switch f {
	case formOther, formText, formJSON, formJSONB, formTime, formOid, formArray:
		return textFormat
	}
	return binaryFormat
}
