//go:build !nok6

package picostress

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"brunt/internal/gen"
	"brunt/internal/k6x/bind"
)

// valueOf is a parameter as the plan's request takes it: params made it a value of JSON. ok is false if it
// is none of the kind. gen.Null stands for no kind in particular.
func valueOf(x any, kind gen.Kind) (v gen.Value, ok bool) {
	text, isText := x.(string)
	if !isText {
		v, ok = bind.Generated(x)
		if ok && kind == gen.Float && v.Kind == gen.Int {
			v.Kind, v.F = gen.Float, float64(v.I)
		}
		return v, ok
	}
	switch kind {
	case gen.Int:
		n, err := strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
		return v, err == nil
	case gen.Uint:
		n, err := strconv.ParseUint(text, 10, 64)
		v.Kind, v.I = gen.Uint, int64(n)
		return v, err == nil
	case gen.Float:
		f, err := strconv.ParseFloat(text, 64)
		v.Kind, v.F = gen.Float, f
		return v, err == nil
	case gen.Decimal:
		return bind.Decimal(text)
	case gen.Datetime:
		t, err := time.Parse(time.RFC3339Nano, text)
		v.Kind, v.I = gen.Datetime, t.UnixMicro()
		return v, err == nil
	case gen.Bytes, gen.UUID:
		b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		v.Kind, v.B = kind, b
		return v, err == nil
	case gen.JSON:
		v.Kind, v.B = gen.JSON, []byte(text)
		return v, true
	}
	v.SetString(text)
	return v, true
}
