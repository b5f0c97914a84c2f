package svg

import (
	"fmt"
	"math"
	"strings"

	"brunt/internal/render/cell"
)

// Heat holds the numbers of values per field: columns along X, rows along a logarithmic Y.
type Heat struct {
	X       []float64  // the columns' edges, one more than there are columns
	Y       []float64  // the rows' edges, ascending, one more than there are rows
	Columns [][]uint64 // counts of the rows, by column
}

// levels is the number of shades of a heat map.
const levels = 9

// HeatMap draws h. The more values, the darker, on a logarithmic scale, so that a rare slow response is visible next to
// a million fast ones.
func HeatMap(f Frame, h Heat, bands []Band) string {
	c := newCanvas(f, 64)
	f.Y.Log = true
	c.f = f
	c.x, c.y = timeScale([][]float64{h.X}), scale{high: 1}
	if len(h.Y) > 1 {
		c.y = scale{low: h.Y[0], high: h.Y[len(h.Y)-1], log: true}
	}
	var most uint64
	for _, column := range h.Columns {
		for _, n := range column {
			most = max(most, n)
		}
	}
	var paths [levels]strings.Builder
	for i, column := range h.Columns {
		x, to := c.px(h.X[i]), c.px(h.X[i+1])
		for k, n := range column {
			if n == 0 {
				continue
			}
			level := 0
			if most > 1 {
				level = min(int(levels*math.Log(float64(n)+1)/math.Log(float64(most)+1)), levels-1)
			}
			bottom, top := c.py(h.Y[k]), c.py(h.Y[k+1])
			fmt.Fprintf(&paths[level], "M%.1f %.1fh%.2fv%.2fh-%.2fz", x, top, to-x, bottom-top, to-x)
		}
	}
	c.open()
	c.axes()
	for i := range paths {
		if paths[i].Len() > 0 {
			fmt.Fprintf(c, `<path fill="var(--heat,#0072b2)" opacity="%.2f" d="%s"/>`, 0.15+0.85*float64(i)/(levels-1),
				paths[i].String())
		}
	}
	for _, b := range bands {
		c.band(b)
	}
	return c.close()
}

// Matrix draws a table of rows by columns as coloured fields, each with its value. NaN means no value. The greater the
// value, the darker the field.
func Matrix(f Frame, rows, columns []string, values [][]float64) string {
	const each = 26
	longest := 0
	for _, r := range rows {
		longest = max(longest, cell.Width(cell.Shorten(r, 40)))
	}
	f.Height = 24 + each*max(len(rows), 1) + 16
	c := newCanvas(f, 16+6.4*float64(longest))
	least, most := math.Inf(1), math.Inf(-1)
	for _, row := range values {
		for _, v := range row {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	c.open()
	wide := (c.width - c.left - c.right) / float64(max(len(columns), 1))
	for k, name := range columns {
		c.text(c.left+wide*(float64(k)+.5), 16, "middle", cell.Shorten(name, max(int(wide/6.4), 3)))
	}
	for i, name := range rows {
		y := 24 + float64(i)*each
		c.text(c.left-6, y+17, "end", cell.Shorten(name, 40))
		for k := range columns {
			v := math.NaN()
			if i < len(values) && k < len(values[i]) {
				v = values[i][k]
			}
			c.field(c.left+wide*float64(k), y, wide, each, v, least, most)
		}
	}
	return c.close()
}

// field draws one field of a matrix.
func (c *canvas) field(x, y, w, h, v, least, most float64) {
	part := 0.0
	if most > least && !math.IsNaN(v) {
		part = min(max((v-least)/(most-least), 0), 1)
	}
	fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="var(--heat,#0072b2)" opacity="%.2f"/>`, x+1,
		y+1, w-2, h-2, 0.06+0.44*part)
	c.text(x+w/2, y+h/2+4, "middle", cell.Figure(v, c.f.Y.Unit).Figure(c.f.Language))
}
