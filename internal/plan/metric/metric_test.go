package metric

import (
	"os"
	"strings"
	"testing"
)

// A metric is declared here and explained to people: what is added must be in the documentation.
func TestMetricsAreDocumented(t *testing.T) {
	for i := range All {
		m := &All[i]
		t.Run(m.Name, func(t *testing.T) {
			pages := map[string]bool{"plan.md": true, "compare.md": m.Tolerance > 0}
			for page, needed := range pages {
				text, err := os.ReadFile("../../../docs/" + page)
				if err != nil {
					t.Fatal(err)
				}
				if needed && !strings.Contains(string(text), "`"+m.Name+"`") {
					t.Errorf("docs/%s doesn't name `%s`", page, m.Name)
				}
			}
		})
	}
}

func TestMetricsAreOfOneKind(t *testing.T) {
	for i := range All {
		m := &All[i]
		t.Run(m.Name, func(t *testing.T) {
			if m.Times == (m.Part != "") {
				t.Error("it is of times, or of a part of the counts")
			}
			if len(m.Aggregates) == 0 || m.Better == Neutral {
				t.Error("it has no aggregate or no direction")
			}
			if m.PerS && m.Whole != "" {
				t.Error("a rate a second is a share of nothing")
			}
			if !m.Times && Find(m.Name).UnitOf("rate") == Fraction && m.Whole == "" && m.Aggregates[0] == "rate" {
				t.Error("a share needs to be of something")
			}
		})
	}
}

func TestOf(t *testing.T) {
	numbers := map[string]uint64{"ok": 90, "done": 100, "failed": 10, "dropped": 25, "arrivals": 125}
	number := func(name string) uint64 { return numbers[name] }
	for rule, want := range map[string]float64{
		"rate.rate": 45, "count.count": 100, "errors.rate": 0.1, "errors.count": 10, "dropped.count": 25, "dropped.rate": 0.2,
	} {
		t.Run(rule, func(t *testing.T) {
			name, aggregate, _ := strings.Cut(rule, ".")
			if got := Find(name).Of(number, 2e9, aggregate); got != want {
				t.Errorf("got %g, want %g", got, want)
			}
			if got := Find(name).Of(func(string) uint64 { return 0 }, 0, aggregate); got != 0 {
				t.Errorf("of nothing: %g", got)
			}
		})
	}
}
