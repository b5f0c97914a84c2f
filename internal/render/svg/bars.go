package svg

import (
	"fmt"
	"math"

	"brunt/internal/render/cell"
)

// Bar is a named value with its confidence interval; Low and High are equal if there is none.
type Bar struct {
	Label     string
	Value     float64
	Low, High float64
}

// Bars draws horizontal bars from zero, one below the other, each with its value as text. The frame's height is
// ignored; it follows from the number of bars.
func Bars(f Frame, bars []Bar) string {
	const each = 22
	longest := 0
	values := make([]float64, 0, 2*len(bars))
	for _, b := range bars {
		longest = max(longest, cell.Width(cell.Shorten(b.Label, 40)))
		values = append(values, b.Value, b.High)
	}
	f.Height = 14 + 40 + each*max(len(bars), 1)
	c := newCanvas(f, 16+6.4*float64(longest))
	c.right = min(90, c.width/4)
	c.x, c.y = scaleOf(f.X, values), scale{high: 1}
	c.open()
	for _, t := range c.xTicks() {
		x := c.px(t)
		fmt.Fprintf(c, `<path d="M%.1f %.1fV%.1f" stroke="%s"/>`, x, c.top, c.height-c.bottom, faint)
		c.text(x, c.height-c.bottom+15, "middle", tickText(f.Language, t, f.X.Unit))
	}
	c.labels()
	for i, b := range bars {
		y := c.top + float64(i)*each + 4
		c.text(c.left-6, y+11, "end", cell.Shorten(b.Label, 40))
		if !math.IsNaN(b.Value) {
			fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="14" fill="%s"/>`, c.left, y,
				max(c.px(b.Value)-c.left, 0), color(0))
		}
		end := b.Value
		if b.High > b.Low {
			fmt.Fprintf(c, `<path d="M%.1f %.1fH%.1fm0 -4v8M%.1f %.1fv8" stroke="%s" stroke-width="1.5"/>`, c.px(b.Low), y+7,
				c.px(b.High), c.px(b.Low), y+3, ink)
			end = max(end, b.High)
		}
		c.text(c.px(end)+6, y+11, "start", cell.Figure(b.Value, f.X.Unit).Figure(f.Language))
	}
	return c.close()
}
