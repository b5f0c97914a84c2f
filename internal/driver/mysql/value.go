package mysql

import (
	sqldriver "database/sql/driver"
	"time"

	"brunt/internal/driver/kv"
	"brunt/internal/gen"
)

// argument is a value as the library takes it. Decimals and UUIDs go as text.
func argument(v *gen.Value) sqldriver.Value {
	switch v.Kind {
	case gen.Null:
		return nil
	case gen.Bool, gen.Int:
		return v.I
	case gen.Uint:
		return uint64(v.I)
	case gen.Float:
		return v.F
	case gen.Datetime:
		return time.UnixMicro(v.I).UTC()
	case gen.Bytes:
		return v.B
	}
	return string(kv.AppendText(nil, v))
}
