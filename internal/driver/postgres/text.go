package postgres

import (
	"time"

	"brunt/internal/gen"
)

// appendText appends a value that isn't null as text that the server's input functions and
// people read.
func appendText(dst []byte, v *gen.Value) []byte {
	switch v.Kind {
	case gen.Datetime:
		return time.UnixMicro(v.I).UTC().AppendFormat(dst, "2006-01-02 15:04:05.999999Z07:00")
	case gen.String, gen.Bytes, gen.JSON:
		return append(dst, v.B...)
	}
	return v.AppendText(dst)
}
