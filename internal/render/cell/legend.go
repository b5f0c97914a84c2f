package cell

import (
	"fmt"
	"slices"
	"strings"

	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// Legend explains the signs that the tables use next to figures; nil if they use none.
func Legend(l units.Language, tables ...Table) []string {
	var confidence, ofRuns float64
	var correlated, refused bool
	var reasons []string
	for _, t := range tables {
		for _, row := range t.Rows {
			for _, c := range row {
				switch s := c.Spread(); {
				case s == "":
				case s == signRefused:
					refused = true
					if why := c.Bounds.Why.In(l); why != "" && !slices.Contains(reasons, why) {
						reasons = append(reasons, why)
					}
				case c.Bounds.Runs:
					ofRuns = c.Bounds.Confidence
				default:
					confidence = c.Bounds.Confidence
					correlated = correlated || c.Bounds.Correlated
				}
			}
		}
	}
	var out []string
	if confidence > 0 {
		out = append(out, message.Label(l, "± %s confidence within this run; another run may differ by more",
			l.Figure(fmt.Sprintf("%g %%", 100*confidence))))
	}
	if ofRuns > 0 {
		out = append(out, message.Label(l, "± %s confidence over these runs", l.Figure(fmt.Sprintf("%g %%", 100*ofRuns))))
	}
	if correlated {
		out = append(out, message.Label(l, "%s its values depend on those before: widened, perhaps not enough", signCorrelated))
	}
	if refused {
		out = append(out, strings.TrimSuffix(message.Label(l, "%s no interval: %s", signRefused, strings.Join(reasons, "; ")),
			": "))
	}
	return out
}
