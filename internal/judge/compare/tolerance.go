package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/plan/metric"
)

// Tolerances are the changes up to which a metric counts as unchanged. The keys are names of metrics, "response",
// "first" or "between" for all times of that metric, or "check" for all checks of k6 scripts. The values are shares of
// the metric; for errors and checks, differences of shares.
type Tolerances map[string]float64

// checkTolerance is the default tolerance of checks of k6 scripts.
const checkTolerance = 0.001

// DefaultTolerances returns the default tolerances of the compared metrics and of checks.
func DefaultTolerances() Tolerances {
	out := Tolerances{"check": checkTolerance}
	for _, m := range metric.All {
		if m.Tolerance > 0 {
			out[m.Name] = m.Tolerance
		}
	}
	return out
}

// Of returns the tolerance of a metric: from t, or else the default, or else 0.05.
func (t Tolerances) Of(name string) float64 {
	for _, from := range []Tolerances{t, DefaultTolerances()} {
		if x, ok := from[name]; ok {
			return x
		}
		all := timesOf(name)
		if name == "checks" || strings.HasPrefix(name, "check ") {
			all = "check"
		}
		if x, ok := from[all]; ok {
			return x
		}
	}
	return 0.05
}

// timesOf returns the metric of times that a figure such as response.p(99) is of; "" if it is of none.
func timesOf(figure string) string {
	name, _, more := strings.Cut(figure, ".")
	if m := metric.Find(name); more && m != nil && m.Times && m.Tolerance > 0 {
		return name
	}
	return ""
}

// ParseTolerances reads texts of the form "METRIC=SHARE", or "SHARE" for all rates, counts and response times. A share
// is written as 0.05 or 5%, and lies between 0 and 1, both excluded.
func ParseTolerances(texts []string) (Tolerances, error) {
	out := Tolerances{}
	for _, text := range texts {
		name, share, named := strings.Cut(text, "=")
		if !named {
			name, share = "", text
		}
		x, err := parseShare(share)
		if err != nil {
			return nil, fmt.Errorf("%q is no tolerance: %w", text, err)
		}
		var names []string
		for _, m := range metric.All {
			if m.Tolerance > 0 && m.UnitOf(m.Compared()) != metric.Fraction {
				names = append(names, m.Name)
			}
		}
		if named {
			if !knownMetric(name) {
				known := slices.Sorted(maps.Keys(DefaultTolerances()))
				return nil, fmt.Errorf("%q is no tolerance: there is no metric %q; use %s or for example response.p(99)",
					text, name, strings.Join(known, ", "))
			}
			names = []string{name}
		}
		for _, n := range names {
			out[n] = x
		}
	}
	return out, nil
}

func knownMetric(name string) bool {
	if _, known := DefaultTolerances()[name]; known || strings.HasPrefix(name, "check ") {
		return true
	}
	of := timesOf(name)
	quantile, ok := strings.CutPrefix(name, of+".p(")
	return of != "" && (name == of+".avg" || ok && strings.HasSuffix(quantile, ")"))
}

func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x > 0) || x >= 1 {
		return 0, fmt.Errorf("write a share above 0 and below 1, such as 5%% or 0.05")
	}
	return x, nil
}
