package svg

import (
	"fmt"
	"math"

	"brunt/internal/render/cell"
)

// Change is an estimated change with its interval, and the tolerance within which a change doesn't matter.
type Change struct {
	Name             string
	Value, Low, High float64 // Low and High are NaN where there is no interval
	Tolerance        float64
	Figure           string // the value as text
	Mark             cell.Mark
}

// Changes draws estimates one below the other, each relative to its own tolerance. The band in the middle is the range
// of the tolerance. Intervals that extend beyond four tolerances end in an arrow.
func Changes(f Frame, all []Change) string {
	const each, most = 26.0, 4.0 // most: greatest number of tolerances on either side
	longest := 0
	for _, c := range all {
		longest = max(longest, cell.Width(cell.Shorten(c.Name, 40)))
	}
	f.Height = int(30 + each*float64(max(len(all), 1)))
	c := newCanvas(f, 24+6.6*float64(longest))
	c.right = 110
	x := func(tolerances float64) float64 {
		return c.left + (min(max(tolerances, -most), most)+most)/(2*most)*(c.width-c.left-c.right)
	}
	c.open()
	bottom := c.height - 16
	fmt.Fprintf(c, `<rect x="%.1f" y="8" width="%.1f" height="%.1f" fill="var(--mute,#999)" opacity=".16"/>`, x(-1),
		x(1)-x(-1), bottom-8)
	fmt.Fprintf(c, `<path d="M%.1f 8V%.1f" stroke="%s"/>`, x(0), bottom, ink)
	for i, one := range all {
		y := 24 + each*float64(i)
		stroke := map[cell.Mark]string{cell.Bad: "var(--bad,#b3261e)", cell.Good: "var(--good,#00684a)"}[one.Mark]
		if stroke == "" {
			stroke = ink
		}
		c.text(c.left-10, y+4, "end", cell.Shorten(one.Name, 40))
		c.text(c.width-c.right+10, y+4, "start", one.Figure)
		if math.IsNaN(one.Value) || math.IsInf(one.Value, 0) || one.Tolerance <= 0 {
			continue
		}
		if !math.IsNaN(one.Low + one.High) {
			low, high := one.Low/one.Tolerance, one.High/one.Tolerance
			fmt.Fprintf(c, `<path d="M%.1f %.1fH%.1f" stroke="%s" stroke-width="3"/>`, x(low), y, x(high), stroke)
			for _, end := range []float64{low, high} {
				if math.Abs(end) > most {
					way := math.Copysign(6, end)
					fmt.Fprintf(c, `<path d="M%.1f %.1fl%.1f 5v-10z" fill="%s"/>`, x(end)+way, y, -way, stroke)
				}
			}
		}
		fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="4.5" fill="%s"/>`, x(one.Value/one.Tolerance), y, stroke)
	}
	return c.close()
}
