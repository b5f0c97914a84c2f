package history

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"brunt/internal/judge/compare"
	"brunt/internal/judge/result"
	"brunt/internal/record"
	"brunt/internal/render/units"
)

// mostOperations is the most operations for which an entry also stores each operation's own metrics.
const mostOperations = 20

// NewEntry summarizes the runs of one version. series defaults to the plan's name. If the runs can't be compared
// with each other, NewEntry returns a *compare.Refused, unless anyway is true.
func NewEntry(runs []*result.Result, series, version string, now time.Time, anyway bool) (Entry, error) {
	if version == "" {
		return Entry{}, errors.New("no version; name what was measured with --version, such as a commit or a release")
	}
	for name, text := range map[string]string{"--version": version, "--series": series} {
		if text != units.Clean(text) || text != strings.TrimSpace(text) {
			return Entry{}, fmt.Errorf("%s %q: write it in one line, without spaces around it and control characters",
				name, text)
		}
	}
	summary, err := compare.Intervals(runs, compare.Options{Anyway: anyway})
	if err != nil {
		return Entry{}, err
	}
	first := runs[0]
	if series = cmp.Or(series, first.Name); series == "" {
		return Entry{}, fmt.Errorf("%s doesn't tell what it is a run of; name the series with --series", first.Path)
	}
	e := Entry{Added: now.UTC(), Series: series, Version: version, Environment: environment(first),
		Load: compare.Fingerprint(first), Began: first.Started,
		Count: len(runs)}
	for _, r := range runs {
		if r.ID != "" {
			e.Runs = append(e.Runs, r.ID)
		}
		if r.Started.Before(e.Began) {
			e.Began = r.Started
		}
	}
	several := len(operations(first)) <= mostOperations
	for _, row := range summary.Rows {
		if row.Operation != "" && !several {
			continue
		}
		m := first.Find(row.Metric, row.Operation)
		deviation := 0.0
		if len(runs) > 1 {
			deviation = row.Deviation * row.Mean.Value
		}
		e.Metrics = append(e.Metrics, Metric{
			Name: row.Metric, Operation: row.Operation, Unit: row.Unit, Better: m.Better,
			Mean: record.Figure(row.Mean.Value), Deviation: finite(deviation),
		})
	}
	return e, nil
}

// finite returns x, or 0 if x is infinite or not a number.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

func operations(r *result.Result) map[string]bool {
	names := map[string]bool{}
	for _, m := range r.Metrics {
		if m.Operation != "" {
			names[m.Operation] = true
		}
	}
	return names
}

// environment describes where a run was made: the program, the generator's machine and the products of the servers,
// without their versions. Runs with different descriptions belong to different series.
func environment(r *result.Result) string {
	parts := []string{r.Program}
	if m := r.Machine; m != nil {
		parts = append(parts, fmt.Sprintf("%d × %s", m.Cores, strings.Join(strings.Fields(m.CPU), " ")), m.OS+"/"+m.Arch)
		if m.CPUQuota != "" {
			parts = append(parts, "limit "+m.CPUQuota)
		}
	}
	seen := map[string]bool{}
	for _, s := range r.Servers {
		if product, _, _ := strings.Cut(s, " "); !seen[product] {
			parts, seen[product] = append(parts, product), true
		}
	}
	return strings.Join(parts, ", ")
}
