package cell

import (
	"fmt"
	"math"
	"strings"

	"brunt/internal/render/units"
)

// Metric returns the cell for a metric averaged over several runs. Counts are rounded; an unknown value is a dash.
func Metric(x float64, unit string) Cell {
	if math.IsNaN(x) {
		return None()
	}
	if unit == "count" {
		x = math.Round(x)
	}
	return Figure(x, unit)
}

// Figure returns c's value without its interval as text for humans.
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

// The signs of estimates with a doubtful interval or none.
const (
	signRefused    = "*"
	signCorrelated = "?"
)

// Spread returns half the width of the interval relative to the value, rounded up, such as ±2%. A sign is appended if
// the interval is doubtful. It returns only a sign if there is no interval, and "" if c is not an estimate.
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

// Span returns the interval from its lower to its upper end; "" if there is none.
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

// String returns the value and its interval in English.
func (c Cell) String() string {
	return strings.TrimSpace(c.Figure(units.English) + " " + c.Spread())
}
