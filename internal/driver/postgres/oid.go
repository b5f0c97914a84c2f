package postgres

// Object identifiers of built-in types, from PostgreSQL's catalogue pg_type.
const (
	oidBool        = 16
	oidBytea       = 17
	oidName        = 19
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidText        = 25
	oidOid         = 26
	oidJSON        = 114
	oidXML         = 142
	oidFloat4      = 700
	oidFloat8      = 701
	oidUnknown     = 705
	oidBpchar      = 1042
	oidVarchar     = 1043
	oidDate        = 1082
	oidTime        = 1083
	oidTimestamp   = 1114
	oidTimestamptz = 1184
	oidNumeric     = 1700
	oidUUID        = 2950
	oidJSONB       = 3802
)

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

// formOf returns how to write values of a type.
func formOf(oid uint32) form {
	switch oid {
	case oidText, oidVarchar, oidBpchar, oidName, oidUnknown, oidXML:
		return formText
	case oidJSON:
		return formJSON
	case oidJSONB:
		return formJSONB
	case oidInt2:
		return formInt2
	case oidInt4:
		return formInt4
	case oidInt8:
		return formInt8
	case oidOid:
		return formOid
	case oidFloat4:
		return formFloat4
	case oidFloat8:
		return formFloat8
	case oidNumeric:
		return formNumeric
	case oidBool:
		return formBool
	case oidTimestamp, oidTimestamptz:
		return formTimestamp
	case oidDate:
		return formDate
	case oidTime:
		return formTime
	case oidUUID:
		return formUUID
	case oidBytea:
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
