// Package svg draws printable charts as SVG, which can stand alone or within a page: lines over time, bars, percentile
// curves, heat maps and matrices. The colours are those of Okabe and Ito, which colour-blind people can distinguish. A
// page can set them with CSS variables (--c1 … --c7, --ink, --grid, --heat). Lines also differ in their dashes.
package svg

import (
	"fmt"
	"html"
	"strings"

	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// Axis is one axis of a chart.
type Axis struct {
	Label    string
	Unit     string // a unit of units.Value, "clock" for seconds since the start, "" for plain numbers
	Log      bool
	Min, Max float64  // both 0: determined by the data
	Names    []string // labels at 1, 2, … instead of numbers
}

// Frame holds the settings that all charts have in common.
type Frame struct {
	Title         string // for screen readers; not drawn
	X, Y          Axis
	Width, Height int // 0 means 900 by 260
	Language      units.Language
}

// palette is the list of colours of series (Okabe and Ito 2008, without black).
var palette = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7a00"}

// dashes distinguish series without colour.
var dashes = [...]string{"", "7 3", "2 3", "9 3 2 3", "4 4", "12 4", "1 2"}

// color returns the colour of the n-th series, which a page can override.
func color(n int) string {
	n %= len(palette)
	return fmt.Sprintf("var(--c%d,%s)", n+1, palette[n])
}

const (
	ink   = "var(--ink,#333)"
	faint = "var(--grid,#ddd)"
)

// canvas is a chart that is being drawn.
type canvas struct {
	strings.Builder
	f                        Frame
	width, height            float64
	left, right, top, bottom float64 // margins
	x, y                     scale
	colors                   []int    // of series with a colour other than that of their index, from 1
	marks                    []Series // the series of a legend; nil: lines
}

// color returns the colour of the chart's n-th series.
func (c *canvas) color(n int) string {
	if n < len(c.colors) && c.colors[n] > 0 {
		return color(c.colors[n] - 1)
	}
	return color(n)
}

func newCanvas(f Frame, left float64) *canvas {
	c := &canvas{f: f, width: 900, height: 260, left: left, right: 16, top: 14, bottom: 40}
	if f.Width > 0 {
		c.width = float64(f.Width)
	}
	if f.Height > 0 {
		c.height = float64(f.Height)
	}
	c.left = min(left, c.width/2)
	return c
}

// open writes the beginning of the SVG.
func (c *canvas) open() {
	title := html.EscapeString(units.Clean(c.f.Title))
	fmt.Fprintf(
		c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img" aria-label="%s" font-family="system-ui,sans-serif" font-size="11" fill="%s">`,
		c.width, c.height, c.width, c.height, title, ink)
	fmt.Fprintf(c, "<title>%s</title>", title)
}

func (c *canvas) close() string {
	c.WriteString("</svg>\n")
	return c.String()
}

// px and py return the coordinates of values within the margins.
func (c *canvas) px(v float64) float64 { return c.left + c.x.at(v)*(c.width-c.left-c.right) }
func (c *canvas) py(v float64) float64 {
	return c.height - c.bottom - c.y.at(v)*(c.height-c.top-c.bottom)
}

// text writes a text at a position. anchor is start, middle or end.
func (c *canvas) text(x, y float64, anchor, s string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, html.EscapeString(units.Clean(s)))
}

// axes draws the grid, the ticks and the labels.
func (c *canvas) axes() {
	low, high := c.top, c.height-c.bottom
	for _, t := range c.y.ticks(max(2, int((high-low)/42))) {
		y := c.py(t)
		fmt.Fprintf(c, `<path d="M%.1f %.1fH%.1f" stroke="%s"/>`, c.left, y, c.width-c.right, faint)
		c.text(c.left-6, y+4, "end", tickText(c.f.Language, t, c.f.Y.Unit))
	}
	if len(c.f.X.Names) > 0 {
		c.names(low, high)
		c.labels()
		return
	}
	for _, t := range c.xTicks() {
		x := c.px(t)
		fmt.Fprintf(c, `<path d="M%.1f %.1fV%.1f" stroke="%s"/>`, x, low, high, faint)
		c.text(x, high+15, "middle", tickText(c.f.Language, t, c.f.X.Unit))
	}
	c.labels()
}

// names writes as many labels of the horizontal axis as there is space for, always including the last.
func (c *canvas) names(low, high float64) {
	const longest, letter = 14, 6.4
	all := c.f.X.Names
	widest := 3
	for _, name := range all {
		widest = max(widest, min(cell.Width(units.Clean(name)), longest))
	}
	room := max(int((c.width-c.left-c.right)/(letter*float64(widest)+10)), 1)
	each := max((len(all)+room-1)/room, 1)
	for i := len(all) - 1; i >= 0; i -= each {
		x := c.px(float64(i + 1))
		fmt.Fprintf(c, `<path d="M%.1f %.1fV%.1f" stroke="%s"/>`, x, low, high, faint)
		c.text(x, high+15, "middle", cell.Shorten(units.Clean(all[i]), longest))
	}
}

// labels writes the axes' names.
func (c *canvas) labels() {
	if c.f.X.Label != "" {
		c.text(c.width-c.right, c.height-6, "end", c.f.X.Label)
	}
	if c.f.Y.Label != "" {
		c.text(4, c.top-4, "start", c.f.Y.Label)
	}
}

// places returns where the names of a legend are written, right of the label of the vertical axis, in as many rows as
// they need.
func (c *canvas) places(names []string) (at [][2]float64, rows int) {
	first := c.left
	if c.width > 700 {
		first += 120
	}
	at, rows = placed(names, 40, c.width-c.right-first)
	for i := range at {
		at[i][0] += first
	}
	return at, rows
}

const legendRow = 14.0

// legendHeight returns how much space above the chart a legend needs.
func (c *canvas) legendHeight(names []string) float64 {
	_, rows := c.places(names)
	return 8 + legendRow*float64(rows-1)
}

// legend writes the names of the series above the chart. A single series needs no name.
func (c *canvas) legend(names []string) {
	if len(names) < 2 {
		return
	}
	at, rows := c.places(names)
	for i, name := range names {
		x, y := at[i][0], c.top-8-legendRow*(float64(rows-1)-at[i][1])
		switch {
		case i < len(c.marks) && c.marks[i].Crosses:
			fmt.Fprintf(c, `<path d="M%.1f %.1fl8 8m0 -8l-8 8" stroke="%s" stroke-width="2" fill="none"/>`, x+8, y-4, c.color(i))
		case i < len(c.marks) && c.marks[i].Scatter:
			fmt.Fprintf(c, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`, x+12, y, c.color(i))
		default:
			fmt.Fprintf(c, `<path d="M%.1f %.1fh22" stroke="%s" stroke-width="2.5" stroke-dasharray="%s"/>`, x, y, c.color(i),
				dashes[i%len(dashes)])
		}
		c.text(x+27, y+4, "start", name)
	}
}

func (c *canvas) xTicks() []float64 {
	n := max(2, int((c.width-c.left-c.right)/90))
	if c.f.X.Unit == "clock" {
		return clockTicks(c.x, n)
	}
	return c.x.ticks(n)
}
