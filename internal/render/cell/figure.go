package cell

import (
	"fmt"
	"math"
	"strings"

	"brunt/internal/units"
)

// Metric is the figure of a metric over several runs: a mean of counts is rounded, and what isn't known is
// a dash.
func Metric(x float64, unit string) Cell {
	if math.IsNaN(x) {
		return None()
	}
	if unit == "count" {
		x = math.Round(x)
	}
	return Figure(x, unit)
}

// Figure writes c's value, without its interval, for people.
func (c Cell) Figure(l units.Language) string {
	if c.Unit == "" || c.Unit == UnitBar {
		return units.Clean(c.Text)
	}
	s := ""
	switch {
	case math.IsNaN(c.Value):
		return "–"
	case math.IsInf(c.Value, 1):
		s = "∞"
	case c.Unit == UnitNumber && c.Value < 0:
		s = l.Figure(units.Signed(c.Value))
	default:
		s = l.Figure(units.To(c.Value, c.Step, c.Unit))
	}
	if c.Text != "" {
		s += " " + units.Clean(c.Text)
	}
	return s
}

// The signs of estimates whose interval is not what one expects.
const (
	signRefused    = "*"
	signCorrelated = "?"
)

// Spread writes the interval as half its width next to the value, rounded up: ±2%, with a sign if it is
// doubtful; only a sign if there is none; nothing if c is no estimate.
func (c Cell) Spread() string {
	switch b := c.Bounds; {
	case b == nil || c.Unit == "" || math.IsNaN(c.Value):
		return ""
	case !b.Why.IsZero() || c.Value == 0 || math.IsInf(c.Value, 0):
		return signRefused
	default:
		percent := 100 * max(b.High-c.Value, c.Value-b.Low) / math.Abs(c.Value)
		s := fmt.Sprintf("±%.0f%%", math.Abs(math.Ceil(percent-1e-9)))
		if percent > 999 {
			s = "±>999%"
		}
		if b.Correlated {
			s += signCorrelated
		}
		return s
	}
}

// Span writes the interval from its low to its high end, "" if there is none.
func (c Cell) Span(l units.Language) string {
	if b := c.Bounds; b == nil || !b.Why.IsZero() || c.Unit == "" {
		return ""
	}
	low, high := c, c
	low.Value, high.Value, low.Text, high.Text = c.Bounds.Low, c.Bounds.High, "", ""
	if c.Unit != "change" && c.Unit != "points" {
		low.Value = max(low.Value, 0)
	}
	return low.Figure(l) + " … " + high.Figure(l)
}

// String writes the value and its interval in English.
func (c Cell) String() string {
	return strings.TrimSpace(c.Figure(units.English) + " " + c.Spread())
}
