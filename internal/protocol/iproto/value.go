package iproto

import (
	"math"
	"strconv"

	"brunt/internal/load/gen"
)

// convert converts v to kind want if no information is lost, and reports whether it could.
func convert(v *gen.Value, want gen.Kind) bool {
	if want == gen.Null || v.Kind == want || v.Kind == gen.Null {
		return true
	}
	switch {
	case want == gen.Uint && v.Kind == gen.Int && v.I >= 0:
	case want == gen.Datetime && v.Kind == gen.Int: // Tarantool's SQL: µs since the epoch
	case want == gen.Decimal && v.Kind == gen.Int:
		v.Scale = 0
	case want == gen.Float && v.Kind == gen.Int:
		v.F = float64(v.I)
	case want == gen.Float && v.Kind == gen.Decimal:
		v.F = float64(v.I) / math.Pow10(int(v.Scale))
	case want == gen.Float && v.Kind == gen.Number:
		x, err := strconv.ParseFloat(string(v.B), 64)
		if err != nil {
			return false
		}
		v.F = x
	case want == gen.String && v.Kind == gen.Number:
	case want == gen.Int && v.Kind == gen.Float && v.F == math.Trunc(v.F) && math.Abs(v.F) < 1<<63:
		v.I = int64(v.F)
	case (want == gen.String || want == gen.Bytes || want == gen.JSON) &&
		(v.Kind == gen.String || v.Kind == gen.Bytes || v.Kind == gen.JSON):
	default:
		return false
	}
	v.Kind = want
	return true
}
