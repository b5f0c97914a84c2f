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

// formOf returns how to write values of a type, by its number in PostgreSQL's catalogue pg_type.
func formOf(oid uint32) form {
	switch oid {
	case 25, 1043, 1042, 19, 705, 142: // text, varchar, bpchar, name, unknown, xml
		return formText
	case 114:
		return formJSON
	case 3802:
		return formJSONB
	case 21:
		return formInt2
	case 23:
		return formInt4
	case 20:
		return formInt8
	case 26:
		return formOid
	case 700:
		return formFloat4
	case 701:
		return formFloat8
	case 1700:
		return formNumeric
	case 16:
		return formBool
	case 1114, 1184: // without and with a zone
		return formTimestamp
	case 1082:
		return formDate
	case 1083:
		return formTime
	case 2950:
		return formUUID
	case 17:
		return formBytea
	}
	return formOther
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

// resultFormat is the format in which a captured column of a type is asked for.
func resultFormat(oid uint32) int16 {
	switch formOf(oid) {
	case formOther, formText, formJSON, formJSONB, formTime, formOid:
		return textFormat
	}
	return binaryFormat
}
