package sqlite

import (
	sqldriver "database/sql/driver"
	"math"
	"time"

	"brunt/internal/driver"
	"brunt/internal/driver/sqlconn"
	"brunt/internal/gen"
)

// argument is a value as the library takes it. SQLite has no decimals, times or UUIDs: they go as
// floats and texts.
func argument(v *gen.Value) (sqldriver.Value, *driver.Error) {
	switch v.Kind {
	case gen.Bool:
		return v.I, nil
	case gen.Uint:
		if v.I < 0 {
			return nil, driver.Bad("the value %d is beyond SQLite's integers", uint64(v.I))
		}
		return v.I, nil
	case gen.Decimal:
		return float64(v.I) / math.Pow10(int(v.Scale)), nil
	case gen.Datetime:
		return time.UnixMicro(v.I).UTC().Format(sqlconn.TimeFormat), nil
	case gen.UUID:
		return string(gen.AppendUUID(nil, v.B)), nil
	}
	return v.Any(), nil
}
