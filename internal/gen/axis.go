package gen

import "math"

// axis says which values the ranks of a range stand for: rank k is the integer lo + k, in units
// of 1/scale.
type axis struct {
	lo     uint64 // bits of a signed or unsigned integer
	signed bool
	scale  float64 // 0 means 1
}

// rank returns the rank of a value, rounded up or down to the next integer, and whether it is
// at least the axis' lo. The caller compares it with the range's end.
func (a axis) rank(x float64, up bool) (uint64, bool) {
	n, ok := a.integer(x, up)
	if !ok {
		return 0, false
	}
	if a.signed {
		return n - a.lo, int64(n) >= int64(a.lo)
	}
	return n - a.lo, n >= a.lo
}

// integer scales a value and rounds it up or down, but to the nearest integer if it is within
// the error of scaling. It reports whether the integer fits.
func (a axis) integer(x float64, up bool) (uint64, bool) {
	if a.scale != 0 {
		x *= a.scale
	}
	near := math.Round(x)
	switch {
	case math.Abs(x-near) <= 1e-14*math.Abs(x)+1e-12 && a.scale != 0:
		x = near
	case up:
		x = math.Ceil(x)
	default:
		x = math.Floor(x)
	}
	if a.signed {
		return uint64(int64(x)), x >= -0x1p63 && x < 0x1p63
	}
	return uint64(x), x >= 0 && x < 0x1p64
}
