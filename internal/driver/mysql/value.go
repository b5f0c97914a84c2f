package mysql

import (
	sqldriver "database/sql/driver"
	"strconv"
	"strings"
	"time"

	"brunt/internal/driver"
	"brunt/internal/driver/kv"
	"brunt/internal/driver/sqlconn"
	"brunt/internal/gen"
	"brunt/internal/template"
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

// decode sets v to a column's value, converted to want unless that is gen.Null.
func decode(v *gen.Value, from sqldriver.Value, want gen.Kind) *driver.Error {
	if from == nil {
		v.SetNull()
		return nil
	}
	if want == gen.Null {
		switch from.(type) {
		case int64:
			want = gen.Int
		case uint64:
			want = gen.Uint
		case float32, float64:
			want = gen.Float
		}
	}
	text := sqlconn.Text(from)
	switch want {
	case gen.Decimal:
		whole, fraction, _ := strings.Cut(string(text), ".")
		if i, err := strconv.ParseInt(whole+fraction, 10, 64); err == nil && len(fraction) < 256 {
			v.Kind, v.I, v.Scale = gen.Decimal, i, uint8(len(fraction))
			return nil
		}
		v.SetNull()
	case gen.Datetime:
		v.SetNull()
		for _, layout := range [...]string{"2006-01-02 15:04:05.999999", "2006-01-02"} {
			if at, err := time.Parse(layout, string(text)); err == nil {
				v.Kind, v.I = gen.Datetime, at.UnixMicro()
			}
		}
	default:
		template.SetText(v, want, text)
	}
	if v.Kind == gen.Null {
		return driver.Bad("a captured value (%.60s) can't be read as the kind that the plan wants", text)
	}
	return nil
}
