package postgres

// form is how values of a server's type are written.
type form uint8

const (
	formOther form = iota // a type this package doesn't know: text format
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
)

// forms are how values of types are written, by the types' numbers in PostgreSQL's catalogue pg_type.
var forms = map[uint32]form{
	25: formText, 1043: formText, 1042: formText, 19: formText, 705: formText, 142: formText, // text, varchar, bpchar, name, unknown, xml
	114: formJSON, 3802: formJSONB, 21: formInt2, 23: formInt4, 20: formInt8, 26: formOid, 700: formFloat4, 701: formFloat8,
	1700: formNumeric, 16: formBool, 1082: formDate, 1083: formTime, 2950: formUUID, 17: formBytea,
	1114: formTimestamp, 1184: formTimestamp, // without and with a zone
}

// name is the type as messages call it.
func (f form) name() string {
	return [...]string{"this type", "text", "json", "jsonb", "smallint", "integer", "bigint", "oid", "real",
		"double precision", "numeric", "boolean", "timestamp", "date", "time", "uuid", "bytea"}[f]
}

// The format codes of the protocol.
const (
	textFormat   int16 = 0
	binaryFormat int16 = 1
)

// resultFormat is the format in which a captured column is asked for.
func (f form) resultFormat() int16 {
	switch f {
	case formOther, formText, formJSON, formJSONB, formTime, formOid:
		return textFormat
	}
	return binaryFormat
}
