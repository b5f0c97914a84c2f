package sqlite

import (
	sqldriver "database/sql/driver"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"brunt/internal/driver"
	"brunt/internal/driver/sqlconn"
	"brunt/internal/gen"
)

// argument is a value as the library takes it. SQLite has no decimals, times or UUIDs: they go as
// floats and texts.
func argument(v *gen.Value) (sqldriver.Value, *driver.Error) {
	switch v.Kind {
	case gen.Null:
		return nil, nil
	case gen.Bool, gen.Int:
		return v.I, nil
	case gen.Uint:
		if v.I < 0 {
			return nil, driver.Bad("the value %d is beyond SQLite's integers", uint64(v.I))
		}
		return v.I, nil
	case gen.Float:
		return v.F, nil
	case gen.Decimal:
		return float64(v.I) / math.Pow10(int(v.Scale)), nil
	case gen.Datetime:
		return time.UnixMicro(v.I).UTC().Format(sqlconn.TimeFormat), nil
	case gen.UUID:
		return string(gen.AppendUUID(nil, v.B)), nil
	case gen.Bytes:
		return v.B, nil
	}
	return string(v.B), nil
}

// decode sets v to a column's value, converted to want unless that is gen.Null.
func decode(v *gen.Value, from sqldriver.Value, want gen.Kind) *driver.Error {
	switch x := from.(type) {
	case nil:
		v.SetNull()
		return nil
	case int64:
		v.SetInt(x)
	case float64:
		v.Kind, v.F = gen.Float, x
	case bool:
		v.Kind, v.I = gen.Bool, 0
		if x {
			v.I = 1
		}
	case time.Time:
		v.Kind, v.I = gen.Datetime, x.UnixMicro()
	case []byte:
		v.Kind, v.B = gen.Bytes, append(v.B[:0], x...)
	default:
		v.SetString(string(sqlconn.Text(from)))
	}
	if want == gen.Null || want == v.Kind || convert(v, from, want) {
		return nil
	}
	return driver.Bad("a captured value (%.60s) can't be read as the kind that the plan wants", string(sqlconn.Text(from)))
}

// convert changes v, which holds from, to a kind; false means that this can't be done.
func convert(v *gen.Value, from sqldriver.Value, want gen.Kind) bool {
	text := string(sqlconn.Text(from))
	switch want {
	case gen.String, gen.Bytes, gen.JSON:
		v.SetString(text)
		v.Kind = want
		return true
	case gen.Int, gen.Uint, gen.Bool:
		i, err := strconv.ParseInt(text, 10, 64)
		if f, ok := from.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
			i, err = int64(f), nil
		}
		if err != nil || want != gen.Int && i < 0 || want == gen.Bool && i > 1 {
			return false
		}
		v.Kind, v.I = want, i
		return true
	case gen.Float:
		f, err := strconv.ParseFloat(text, 64)
		v.Kind, v.F = want, f
		return err == nil
	case gen.Decimal:
		if f, ok := from.(float64); ok {
			text = strconv.FormatFloat(f, 'f', -1, 64)
		}
		whole, fraction, _ := strings.Cut(text, ".")
		i, err := strconv.ParseInt(whole+fraction, 10, 64)
		v.Kind, v.I, v.Scale = want, i, uint8(len(fraction))
		return err == nil && len(fraction) < 256
	case gen.Datetime:
		for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999", "2006-01-02"} {
			if t, err := time.Parse(layout, text); err == nil {
				v.Kind, v.I = want, t.UnixMicro()
				return true
			}
		}
	case gen.UUID:
		b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		if err == nil && len(b) == 16 {
			v.Kind, v.B = want, append(v.B[:0], b...)
			return true
		}
	}
	return false
}
