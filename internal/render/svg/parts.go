package svg

import (
	"fmt"
	"html"

	"brunt/internal/render/cell"
)

// Whole is a named value with its parts, in the order of the chart's names.
type Whole struct {
	Label string
	Parts []float64
}

// Parts draws each whole as a horizontal bar that is divided into its parts, one below the other. names are those of
// the parts; that of the last one, the rest, is drawn faintly. The frame's height is ignored; it follows from the
// number of bars.
func Parts(f Frame, names []string, all []Whole) string {
	const each = 24
	longest := 0
	var sums []float64
	for _, w := range all {
		longest = max(longest, cell.Width(cell.Shorten(w.Label, 40)))
		sums = append(sums, sum(w.Parts))
	}
	c := newCanvas(f, 16+6.4*float64(longest))
	places, lines := placed(names, 34, c.width-c.left)
	c.height = float64(14 + lines*legendLine + 40 + each*max(len(all), 1))
	c.right, c.top = min(90, c.width/4), float64(14+lines*legendLine)
	c.x, c.y = scaleOf(f.X, append(sums, 0)), scale{high: 1}
	c.open()
	for _, t := range c.xTicks() {
		x := c.px(t)
		fmt.Fprintf(c, `<path d="M%.1f %.1fV%.1f" stroke="%s"/>`, x, c.top, c.height-c.bottom, faint)
		c.text(x, c.height-c.bottom+15, "middle", tickText(f.Language, t, f.X.Unit))
	}
	c.labels()
	for i, w := range all {
		y := c.top + float64(i)*each + 4
		c.text(c.left-6, y+12, "end", cell.Shorten(w.Label, 40))
		at := 0.0
		for k, part := range w.Parts {
			from, to := c.px(at), c.px(at+part)
			at += part
			if to-from < 0.1 {
				continue
			}
			fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="16" fill="%s"><title>%s</title></rect>`, from, y,
				to-from, partColor(k, len(names)), html.EscapeString(names[k]+" "+cell.Figure(part, f.X.Unit).Figure(f.Language)))
		}
		c.text(c.px(at)+6, y+12, "start", cell.Figure(at, f.X.Unit).Figure(f.Language))
	}
	for k, at := range places {
		x, y := c.left+at[0], 14+at[1]*legendLine
		fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="12" height="10" fill="%s"/>`, x, y-9, partColor(k, len(names)))
		c.text(x+17, y, "start", names[k])
	}
	return c.close()
}

// partColor returns the colour of the k-th of n parts.
func partColor(k, n int) string {
	if k == n-1 {
		return faint
	}
	return color(k)
}

// legendLine is the height of a line of the legend.
const legendLine = 16

// placed returns where the names of a legend go in a given width: the horizontal place, and the line from 0. mark is
// the width of a name's mark and of the space around it.
func placed(names []string, mark, width float64) (places [][2]float64, lines int) {
	x, line := 0.0, 0
	for _, name := range names {
		w := mark + 6.4*float64(cell.Width(name))
		if x > 0 && x+w > width {
			x, line = 0, line+1
		}
		places = append(places, [2]float64{x, float64(line)})
		x += w
	}
	return places, line + 1
}

func sum(all []float64) (total float64) {
	for _, x := range all {
		total += x
	}
	return total
}
