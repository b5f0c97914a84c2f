package svg

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"brunt/internal/render/units"
)

// scale maps values to the range 0 to 1.
type scale struct {
	low, high float64
	log       bool
	unit      float64 // ticks are round multiples of it; 0 means 1
}

// scaleOf returns a scale that contains all values. A linear scale of non-negative values starts at zero. A logarithmic
// scale ends at 1, 2 or 5 times a power of ten.
func scaleOf(a Axis, values ...[]float64) (s scale) {
	s = scale{low: math.Inf(1), high: math.Inf(-1), log: a.Log}
	defer func() {
		// Byte sizes are round in binary units.
		for s.unit = 1; a.Unit == "bytes" && s.high >= 1000*s.unit; s.unit *= 1024 {
		}
	}()
	for _, all := range values {
		for _, v := range all {
			if math.IsNaN(v) || math.IsInf(v, 0) || a.Log && v <= 0 {
				continue
			}
			s.low, s.high = min(s.low, v), max(s.high, v)
		}
	}
	switch {
	case a.Min != 0 || a.Max != 0:
		s.low, s.high = a.Min, a.Max
	case math.IsInf(s.low, 1):
		s.low, s.high = 1, 10
		if !a.Log {
			s.low, s.high = 0, 1
		}
	case a.Log:
		s.low, s.high = below(s.low), above(s.high)
	case s.low >= 0:
		s.low = 0
		if step := stepFor(s.high, 5); s.high > 0 && a.Unit != "bytes" {
			s.high = math.Ceil(s.high/step-1e-9) * step
		}
	}
	if !(s.high > s.low) {
		s.high = s.low + 1
		if a.Log {
			s.high = s.low * 10
		}
	}
	return s
}

// below and above return the nearest 1, 2 or 5 times a power of ten that is not above, or not below, v.
func below(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)+1e-12))
	for _, m := range []float64{5, 2} {
		if v >= m*decade*(1-1e-12) {
			return m * decade
		}
	}
	return decade
}

func above(v float64) float64 {
	b := below(v)
	if b >= v*(1-1e-12) {
		return b
	}
	for _, m := range []float64{2, 5, 10} {
		if decade := math.Pow(10, math.Floor(math.Log10(b)+1e-12)); m*decade > b*(1+1e-12) {
			return m * decade
		}
	}
	return b
}

// at returns the position of a value. Values outside of the scale are at its ends.
func (s scale) at(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	if s.log {
		if v <= s.low {
			return 0
		}
		return min(math.Log(v/s.low)/math.Log(s.high/s.low), 1)
	}
	return min(max((v-s.low)/(s.high-s.low), 0), 1)
}

// stepFor returns the distance between about n ticks from 0 to v: 1, 2 or 5 times a power of ten.
func stepFor(v float64, n int) float64 {
	if !(v > 0) {
		return 1
	}
	return above(v / float64(n))
}

// ticks returns about n round values within the scale.
func (s scale) ticks(n int) (out []float64) {
	if !s.log {
		unit := max(s.unit, 1)
		step := stepFor((s.high-s.low)/unit, n) * unit
		for k := math.Ceil(s.low/step - 1e-9); k*step <= s.high*(1+1e-12); k++ {
			out = append(out, k*step+0) // no −0
		}
		return out
	}
	decades := math.Log10(s.high / s.low)
	steps := []float64{1, 2, 5}
	if decades*3 > float64(n)+1 {
		steps = []float64{1}
	}
	every := max(1, int(math.Ceil(decades/float64(n))))
	first := int(math.Floor(math.Log10(s.low) + 1e-12))
	for d := first; float64(d) <= math.Log10(s.high)+1e-9; d++ {
		if (d-first)%every != 0 {
			continue
		}
		for _, m := range steps {
			if v := m * math.Pow(10, float64(d)); v >= s.low*(1-1e-9) && v <= s.high*(1+1e-9) {
				out = append(out, v)
			}
		}
	}
	return out
}

// tickText formats a round value exactly.
func tickText(l units.Language, v float64, unit string) string {
	switch unit {
	case "clock":
		return Clock(v)
	case "ns":
		for _, u := range []struct {
			name string
			ns   float64
		}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
			if v >= u.ns*(1-1e-9) {
				return l.Figure(round(v/u.ns) + " " + u.name)
			}
		}
		return l.Figure(round(v) + " ns")
	case "share", "fraction":
		return l.Figure(round(100*v) + " %")
	case "bytes":
		for _, name := range []string{"B", "KiB", "MiB", "GiB"} {
			if v < 1000 {
				return l.Figure(round(v) + " " + name)
			}
			v /= 1024
		}
		return l.Figure(round(v) + " TiB")
	case "per_s":
		return l.Figure(round(v) + "/s")
	}
	return l.Figure(round(v))
}

// round formats a number as short as possible, with thousands separators.
func round(v float64) string {
	if math.Abs(v) >= 1000 && v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strings.Replace("-"+units.Count(uint64(math.Abs(v))), "-", map[bool]string{true: "−", false: ""}[v < 0], 1)
	}
	s := strconv.FormatFloat(v, 'g', 6, 64)
	return strings.Replace(s, "-", "−", 1)
}

// Clock formats seconds since the start: 0:07, 12:34, 1:02:03. Fractions are shown as tenths.
func Clock(seconds float64) string {
	whole := int64(seconds + 1e-9)
	s := fmt.Sprintf("%d:%02d", whole/60, whole%60)
	if whole >= 3600 {
		s = fmt.Sprintf("%d:%02d:%02d", whole/3600, whole/60%60, whole%60)
	}
	if rest := seconds - float64(whole); rest > 0.001 {
		s += strings.TrimPrefix(strconv.FormatFloat(rest, 'f', 1, 64), "0")
	}
	return s
}

// clockTicks returns round times for a scale in seconds, such as multiples of 15 s or 1 min.
func clockTicks(s scale, n int) (out []float64) {
	const day = 86400.0
	step := day * math.Ceil((s.high-s.low)/day/float64(n))
	for _, k := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600,
		43200, 86400} {
		if (s.high-s.low)/k <= float64(n) {
			step = k
			break
		}
	}
	for k := math.Ceil(s.low / step); k*step <= s.high+1e-9; k++ {
		out = append(out, k*step+0)
	}
	return out
}
