package svg

import (
	"fmt"
	"html"
	"math"

	"brunt/internal/render/units"
)

// Series is a line given by points in ascending order of X. It has a gap where Y is NaN.
type Series struct {
	Name      string
	X, Y      []float64
	Low, High []float64 // if set, an area around the line: extremes, or an interval
	Dots      bool      // draw its points
	Scatter   bool      // draw its points only, and no line
	Crosses   bool      // draw its points as crosses
	Color     int       // from 1, for lines that share a colour; 0: that of its index
}

// Band is a period of time with a meaning; it is an instant if From equals To.
type Band struct {
	From, To float64
	Label    string
	Kind     string // "change", "fault", "event", "standstill" or "warm-up"
}

// bandColors maps the kinds of bands to colours.
var bandColors = map[string]string{
	"change": "var(--c5,#e69f00)", "fault": "var(--c2,#d55e00)", "standstill": "var(--c2,#d55e00)",
	"event": "var(--c3,#009e73)", "warm-up": "var(--mute,#999)",
}

// Lines draws series in one chart, with bands behind them.
func Lines(f Frame, series []Series, bands []Band) string {
	c := newCanvas(f, 64)
	var xs, ys [][]float64
	var names []string
	for _, s := range series {
		xs, ys, names = append(xs, s.X), append(ys, s.Y, s.Low, s.High), append(names, s.Name)
		c.colors = append(c.colors, s.Color)
	}
	if len(names) > 1 {
		c.top += 8
	}
	c.x, c.y = scaleOf(f.X, xs...), scaleOf(f.Y, ys...)
	if f.X.Unit == "clock" && f.X.Max == 0 && len(series) > 0 {
		c.x = timeScale(xs)
	}
	c.open()
	for _, b := range bands {
		c.band(b)
	}
	c.axes()
	for i, s := range series {
		c.area(s, i)
		c.line(s, i)
	}
	c.legend(names)
	return c.close()
}

// timeScale returns the scale from the first to the last point in time.
func timeScale(xs [][]float64) scale {
	s := scale{low: math.Inf(1), high: math.Inf(-1)}
	for _, x := range xs {
		if len(x) > 0 {
			s.low, s.high = min(s.low, x[0]), max(s.high, x[len(x)-1])
		}
	}
	if math.IsInf(s.low, 1) {
		s.low, s.high = 0, 1
	}
	if !(s.high > s.low) {
		s.high = s.low + 1
	}
	return s
}

// band draws a band or an instant behind the lines.
func (c *canvas) band(b Band) {
	x, to := c.px(b.From), c.px(b.To)
	fill := bandColors[b.Kind]
	if fill == "" {
		fill = bandColors["event"]
	}
	fmt.Fprintf(c, `<g><title>%s</title>`, html.EscapeString(units.Clean(b.Label)))
	if to-x < 1.5 {
		fmt.Fprintf(c, `<path d="M%.1f %.1fV%.1f" stroke="%s" stroke-width="1.5" stroke-dasharray="3 2"/>`, x, c.top,
			c.height-c.bottom, fill)
	} else {
		fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" opacity=".16"/>`, x, c.top, to-x,
			c.height-c.top-c.bottom, fill)
	}
	c.WriteString("</g>")
}

// line draws a series. It is thinned in such a way that each pixel column keeps its extremes.
func (c *canvas) line(s Series, n int) {
	if s.Scatter {
		c.points(s, n)
		return
	}
	x, y := Extremes(s.X, s.Y, int(c.width-c.left-c.right))
	fmt.Fprintf(c, `<path fill="none" stroke="%s" stroke-width="1.6" stroke-linejoin="round" stroke-dasharray="%s" d="`,
		c.color(n), dashes[n%len(dashes)])
	pen := "M"
	for i := range x {
		if math.IsNaN(y[i]) || math.IsInf(y[i], 0) {
			pen = "M"
			continue
		}
		fmt.Fprintf(c, "%s%.1f %.1f", pen, c.px(x[i]), c.py(y[i]))
		pen = "L"
	}
	c.WriteString(`"/>`)
	if s.Dots {
		c.points(s, n)
	}
}

// points draws the points of a series.
func (c *canvas) points(s Series, n int) {
	for i := range s.X {
		switch {
		case math.IsNaN(s.Y[i]) || math.IsInf(s.Y[i], 0):
		case s.Crosses:
			fmt.Fprintf(c, `<path d="M%.1f %.1fl8 8m0 -8l-8 8" stroke="%s" stroke-width="2" fill="none"/>`, c.px(s.X[i])-4,
				c.py(s.Y[i])-4, c.color(n))
		default:
			fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`, c.px(s.X[i]), c.py(s.Y[i]), c.color(n))
		}
	}
}

// area draws the area between Low and High.
func (c *canvas) area(s Series, n int) {
	if len(s.Low) != len(s.X) || len(s.High) != len(s.X) || len(s.X) == 0 {
		return
	}
	columns := int(c.width - c.left - c.right)
	lowX, low := Extremes(s.X, s.Low, columns)
	highX, high := Extremes(s.X, s.High, columns)
	fmt.Fprintf(c, `<path stroke="none" fill="%s" opacity=".18" d="M`, c.color(n))
	for i := range highX {
		if v := high[i]; !math.IsNaN(v) {
			fmt.Fprintf(c, "%.1f %.1f ", c.px(highX[i]), c.py(v))
		}
	}
	for i := len(lowX) - 1; i >= 0; i-- {
		if v := low[i]; !math.IsNaN(v) {
			fmt.Fprintf(c, "%.1f %.1f ", c.px(lowX[i]), c.py(v))
		}
	}
	c.WriteString(`Z"/>`)
}

// Extremes thins a line for a chart that is n columns wide. For each column it keeps the first, the lowest, the highest
// and the last point, in order, so that no peak is lost.
func Extremes(x, y []float64, n int) (outX, outY []float64) {
	if len(x) <= 4*n || n < 1 {
		return x, y
	}
	low, width := x[0], (x[len(x)-1]-x[0])/float64(n)
	for from := 0; from < len(x); {
		to := from
		column := int((x[from] - low) / width)
		for to < len(x) && int((x[to]-low)/width) == column {
			to++
		}
		keep := [4]int{from, from, from, to - 1}
		for i := from; i < to; i++ {
			if y[i] < y[keep[1]] || math.IsNaN(y[keep[1]]) {
				keep[1] = i
			}
			if y[i] > y[keep[2]] || math.IsNaN(y[keep[2]]) {
				keep[2] = i
			}
		}
		keep[1], keep[2] = min(keep[1], keep[2]), max(keep[1], keep[2])
		last := -1
		for _, i := range keep {
			if i > last {
				outX, outY, last = append(outX, x[i]), append(outY, y[i]), i
			}
		}
		from = to
	}
	return outX, outY
}

// Stack draws series with the same X as stacked areas.
func Stack(f Frame, series []Series, bands []Band) string {
	c := newCanvas(f, 64)
	var names []string
	var tops [][]float64
	for i, s := range series {
		names = append(names, s.Name)
		top := make([]float64, len(s.Y))
		for k, v := range s.Y {
			if !math.IsNaN(v) {
				top[k] = v
			}
			if i > 0 && k < len(tops[i-1]) {
				top[k] += tops[i-1][k]
			}
		}
		tops = append(tops, top)
	}
	if len(series) > 0 {
		c.x = scaleOf(f.X, series[0].X)
		if f.X.Unit == "clock" {
			c.x = timeScale([][]float64{series[0].X})
		}
	}
	c.top += 8
	c.y = scaleOf(f.Y, tops...)
	c.open()
	for _, b := range bands {
		c.band(b)
	}
	c.axes()
	for i, s := range series {
		below := make([]float64, len(s.Y))
		if i > 0 {
			below = tops[i-1]
		}
		fmt.Fprintf(c, `<path stroke="none" fill="%s" opacity=".75" d="M`, color(i))
		for k := range s.X {
			fmt.Fprintf(c, "%.1f %.1f ", c.px(s.X[k]), c.py(tops[i][k]))
		}
		for k := len(s.X) - 1; k >= 0; k-- {
			fmt.Fprintf(c, "%.1f %.1f ", c.px(s.X[k]), c.py(below[k]))
		}
		c.WriteString(`Z"/>`)
	}
	c.legend(names)
	return c.close()
}
