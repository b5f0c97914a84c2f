package svg

import (
	"fmt"
	"math"
	"strconv"
)

// Curve is a distribution: quantiles in ascending order and their values.
type Curve struct {
	Name   string
	Q      []float64 // in [0, 1); 1 is drawn at the right edge
	Values []float64
	Color  int // as Series.Color
}

// nines returns the position of a quantile on an axis of nines: 0 for 0, 1 for 0.9, 2 for 0.99.
func nines(q float64) float64 { return -math.Log10(max(1-q, 1e-12)) }

// Percentiles draws distributions over an axis on which each further nine takes the same width, like HdrHistogram's
// plotter.
func Percentiles(f Frame, curves []Curve) string {
	c := newCanvas(f, 64)
	var values [][]float64
	var names []string
	most := 1.0
	for _, v := range curves {
		values, names = append(values, v.Values), append(names, v.Name)
		c.colors = append(c.colors, v.Color)
		for _, q := range v.Q {
			if q < 1 {
				most = max(most, nines(q))
			}
		}
	}
	if len(names) > 1 {
		c.top += 8
	}
	f.Y.Log = true
	c.f = f
	c.x, c.y = scale{high: most * 1.02}, scaleOf(f.Y, values...)
	c.open()
	low, high := c.top, c.height-c.bottom
	for _, t := range c.y.ticks(max(2, int((high-low)/36))) {
		fmt.Fprintf(c, `<path d="M%.1f %.1fH%.1f" stroke="%s"/>`, c.left, c.py(t), c.width-c.right, faint)
		c.text(c.left-6, c.py(t)+4, "end", tickText(f.Language, t, f.Y.Unit))
	}
	for _, q := range ninesTicks(most) {
		x := c.px(nines(q))
		fmt.Fprintf(c, `<path d="M%.1f %.1fV%.1f" stroke="%s"/>`, x, low, high, faint)
		c.text(x, high+15, "middle", f.Language.Figure(strconv.FormatFloat(100*q, 'g', 10, 64)+" %"))
	}
	c.labels()
	for i, v := range curves {
		fmt.Fprintf(c, `<path fill="none" stroke="%s" stroke-width="1.8" stroke-dasharray="%s" d="`, c.color(i),
			dashes[i%len(dashes)])
		pen := "M"
		for k, q := range v.Q {
			if math.IsNaN(v.Values[k]) || math.IsInf(v.Values[k], 0) {
				break
			}
			fmt.Fprintf(c, "%s%.1f %.1f", pen, c.px(min(nines(q), c.x.high)), c.py(v.Values[k]))
			pen = "L"
		}
		c.WriteString(`"/>`)
	}
	c.legend(names)
	return c.close()
}

// ninesTicks returns the quantiles 0, 0.5, 0.9, 0.99 … up to a number of nines.
func ninesTicks(most float64) []float64 {
	out := []float64{0, 0.5}
	for k := 1.0; k <= most+1e-9; k++ {
		out = append(out, 1-math.Pow(10, -k))
	}
	return out
}
