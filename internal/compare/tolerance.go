package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tolerances say by how much a metric may change before that matters: shares of it, by the metric's
// name, by "response" for all response times or "check" for all checks of k6's scripts; of errors and checks a
// difference of shares.
type Tolerances map[string]float64

// DefaultTolerances are 3 % of rates and counts, 5 % of response times, and 0.1 percentage points of
// errors and checks.
func DefaultTolerances() Tolerances {
	return Tolerances{"rate": 0.03, "count": 0.03, "response": 0.05, "errors": 0.001, "check": 0.001}
}

// Of is the tolerance of a metric.
func (t Tolerances) Of(metric string) float64 {
	for _, from := range []Tolerances{t, DefaultTolerances()} {
		if x, ok := from[metric]; ok {
			return x
		}
		for _, all := range []string{"response", "check"} {
			if x, ok := from[all]; ok && (strings.HasPrefix(metric, all+".") || strings.HasPrefix(metric, all+" ") || metric == all+"s") {
				return x
			}
		}
	}
	return 0.05
}

// ParseTolerances reads "METRIC=SHARE" or "SHARE" for rates, counts and response times alike; a share is
// 0.05 or 5%, from 0 to 1.
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
		names := []string{"rate", "count", "response"}
		if named {
			if !knownMetric(name) {
				return nil, fmt.Errorf("%q is no tolerance: there is no metric %q; use rate, count, errors, check, response or for example response.p(99)", text, name)
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
	return slices.Contains([]string{"rate", "count", "errors", "response", "response.avg", "check"}, name) || strings.HasPrefix(name, "check ") ||
		strings.HasPrefix(name, "response.p(") && strings.HasSuffix(name, ")")
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
