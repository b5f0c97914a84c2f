package sql

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"

	"brunt/internal/load/gen"
)

// timeFormat is the format of a datetime as text: UTC, microseconds, fixed width. For the years 0 to 9999, the order of
// the texts is the order in time.
const timeFormat = "2006-01-02T15:04:05.000000Z"

// mysqlTime is the format of a datetime literal in MySQL. Its sessions use UTC.
const mysqlTime = "2006-01-02 15:04:05.000000"

// ParamKind returns the kind as which values of kind k are sent, both as parameters of statements and as fields of
// loaded rows.
//
// PostgreSQL and Picodata take each kind unchanged. Tarantool: Datetime → Int (µs since the epoch), Decimal → Float,
// UUID and JSON → String. SQLite: Bool → Int, Uint → Int, Decimal → Float, Datetime → String (UTC, fixed width), UUID
// and JSON → String. MySQL: Bool → Int, UUID and JSON → String.
func (f Flavor) ParamKind(k gen.Kind) gen.Kind {
	if to := sentAs[f.product][k]; to != gen.Null {
		return to
	}
	return k
}

// sentAs lists, for each product, the kinds that are sent as another kind.
var sentAs = [...][gen.JSON + 1]gen.Kind{
	Tarantool: {gen.Datetime: gen.Int, gen.Decimal: gen.Float, gen.UUID: gen.String, gen.JSON: gen.String},
	SQLite: {
		gen.Bool: gen.Int, gen.Uint: gen.Int, gen.Decimal: gen.Float, gen.Datetime: gen.String, gen.UUID: gen.String,
		gen.JSON: gen.String,
	},
	MySQL: {gen.Bool: gen.Int, gen.UUID: gen.String, gen.JSON: gen.String},
}

// Convert changes v in place to the kind that ParamKind returns. It doesn't allocate once v's buffer is large enough. A
// Uint above the signed range remains a Uint, which SQLite's driver refuses.
func (f Flavor) Convert(v *gen.Value) {
	to := f.ParamKind(v.Kind)
	if to == v.Kind {
		return
	}
	switch v.Kind {
	case gen.Uint:
		if v.I < 0 {
			return
		}
	case gen.Decimal:
		v.F = decimalFloat(v.I, v.Scale)
	case gen.Datetime:
		if to == gen.String {
			v.B = time.UnixMicro(v.I).UTC().AppendFormat(v.B[:0], timeFormat)
		}
	case gen.UUID:
		var room [16]byte
		v.B = gen.AppendUUID(v.B[:0], append(room[:0], v.B...))
	}
	v.Kind = to
}

// decimalFloat returns unscaled × 10^-scale. The result is the nearest double if |unscaled| ≤ 2^53 and scale ≤ 22,
// because both operands of the division are exact then. Otherwise its error is at most one unit in the last place.
func decimalFloat(unscaled int64, scale uint8) float64 {
	return float64(unscaled) / math.Pow10(int(scale))
}

// Wrap returns a generator that converts the values of g for the flavor's server. It returns g itself if the flavor
// converts nothing.
func (f Flavor) Wrap(g gen.Generator) gen.Generator {
	if f.product == PostgreSQL || f.product == Picodata {
		return g
	}
	return gen.Func(func(v *gen.Value, index uint64) {
		g.Value(v, index)
		f.Convert(v)
	})
}

// WrapRow is Wrap for a function that fills a row.
func (f Flavor) WrapRow(row func(values []gen.Value, row uint64)) func(values []gen.Value, row uint64) {
	if f.product == PostgreSQL || f.product == Picodata {
		return row
	}
	return func(values []gen.Value, n uint64) {
		row(values, n)
		for i := range values {
			f.Convert(&values[i])
		}
	}
}

// Literal returns v as a literal of a statement. It doesn't change v.
func (f Flavor) Literal(v *gen.Value) string {
	c := v.Clone()
	f.Convert(&c)
	switch c.Kind {
	case gen.Bool:
		return strconv.FormatBool(c.I != 0)
	case gen.Int:
		return strconv.FormatInt(c.I, 10)
	case gen.Uint:
		return strconv.FormatUint(uint64(c.I), 10)
	case gen.Float:
		return f.floatLiteral(c.F)
	case gen.Decimal:
		return string(gen.AppendDecimal(nil, c.I, c.Scale))
	case gen.String:
		return f.text(string(c.B))
	case gen.JSON:
		return f.typed(f.text(string(c.B)), gen.TypeJSON)
	case gen.Bytes:
		if f.product == PostgreSQL {
			return `'\x` + hex.EncodeToString(c.B) + "'::bytea"
		}
		return "x'" + hex.EncodeToString(c.B) + "'"
	case gen.Datetime:
		if f.product == MySQL {
			return "TIMESTAMP'" + time.UnixMicro(c.I).UTC().Format(mysqlTime) + "'"
		}
		return f.typed("'"+time.UnixMicro(c.I).UTC().Format(timeFormat)+"'", gen.TypeDatetime)
	case gen.UUID:
		return f.typed("'"+string(gen.AppendUUID(nil, c.B))+"'", gen.TypeUUID)
	}
	return "NULL"
}

// typed returns a text literal that is cast to a type. Picodata has no literals of other types.
func (f Flavor) typed(text string, t gen.Type) string {
	return fmt.Sprintf("CAST(%s AS %s)", text, typeNames[t][f.product])
}

func (f Flavor) floatLiteral(x float64) string {
	if f.product == PostgreSQL && (math.IsInf(x, 0) || math.IsNaN(x)) {
		return "'" + strconv.FormatFloat(x, 'g', -1, 64) + "'::float8"
	}
	return strconv.FormatFloat(x, 'e', -1, 64)
}
