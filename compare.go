package brunt

import (
	"errors"
	"fmt"
	"io"

	"brunt/internal/judge/compare"
	"brunt/internal/judge/result"
	"brunt/internal/judge/result/reader"
	"brunt/internal/record"
	"brunt/internal/render/cell"
)

// Comparison says how the runs of one side differ from those of the other.
type Comparison struct {
	// Change is the verdict over the metrics that count most: the rate, the errors and the response times.
	Change  Change
	Metrics []MetricChange
	c       *compare.Comparison
}

// Change is the verdict of a comparison.
type Change string

// The verdicts of a comparison.
const (
	Regression   Change = "regression"   // worse by more than the tolerance
	Improvement  Change = "improvement"  // better by more than the tolerance
	Equivalent   Change = "equivalent"   // within the tolerance
	Inconclusive Change = "inconclusive" // more runs are needed
	Unknown      Change = "unknown"      // a side has one run, which says nothing about the next
)

// MetricChange is the change of one metric.
type MetricChange struct {
	Metric    string // as in rules: "rate", "errors", "response.p(99)"
	Operation string // "" for all operations together
	Unit      string
	Base      float64 // mean of the base's runs
	Candidate float64
	Share     float64 // candidate ÷ base − 1; of shares, candidate − base
	Change    Change
}

// Compare compares the results of several runs of the same plan before and after a change: does the candidate differ
// from the base by more than the runs of a side differ among themselves? It refuses runs that can't be compared, such
// as invalid ones and those of different plans.
func Compare(base, candidate []*Result) (*Comparison, error) {
	c, err := compare.Runs(compared(base), compared(candidate), compare.Options{})
	if err != nil {
		return nil, fmt.Errorf("brunt: %w", err)
	}
	out := &Comparison{Change: Change(c.Verdict), c: c}
	for i := range c.Rows {
		r := &c.Rows[i]
		out.Metrics = append(out.Metrics, MetricChange{Metric: r.Metric, Operation: r.Operation, Unit: r.Unit,
			Base: r.Base.Value, Candidate: r.Candidate.Value, Share: r.Change.Value, Change: Change(r.Verdict)})
	}
	return out, nil
}

// compared returns the form of results that comparisons use.
func compared(all []*Result) (out []*result.Result) {
	for _, r := range all {
		if r.Dir != "" {
			if read, err := reader.Read(record.OS{}, r.Dir, len(all) == 1, nil); err == nil {
				out = append(out, read)
				continue
			}
		}
		out = append(out, result.Of(r.run))
	}
	return out
}

// Report writes the comparison in a format: text, md, csv, json or junit.
func (c *Comparison) Report(w io.Writer, format string) error {
	switch format {
	case "text":
		return cell.WriteText(w, cell.Look{}, c.c.Tables("")...)
	case "md":
		return cell.WriteMarkdown(w, "", c.c.Tables("")...)
	case "csv":
		return c.c.CSV(w)
	case "json":
		return c.c.JSON(w, 0)
	case "junit":
		return c.c.JUnit(w)
	}
	return errors.New("brunt: a comparison is written as text, md, csv, json or junit")
}
