package report

import (
	"fmt"
	"io"
	"strings"

	"brunt/internal/record"
	"brunt/internal/report/junit"
	"brunt/internal/units"
	"brunt/internal/verdict"
)

// JUnit writes a run as a suite of tests: one that the result can be trusted, and one for each
// threshold, or for the verdict where there are none. A threshold of an invalid result is an error:
// it says nothing.
func JUnit(w io.Writer, run *record.Run, _ Options) error {
	s := junit.Suite{Name: run.Name, Began: run.Started}
	reasons := strings.Join(run.Verdict.Reasons, "\n")
	class := "brunt." + run.Name
	valid := junit.Case{Class: class, Name: "the result can be trusted", Seconds: float64(run.DurationNs) / 1e9}
	invalid := run.Verdict.Result == verdict.Invalid
	if invalid {
		valid.Failure = reasons
	}
	s.Cases = append(s.Cases, valid)
	for _, t := range run.Thresholds {
		c := junit.Case{Class: class, Name: t.Text, Output: "measured " + units.Value(float64(t.Value), t.Unit)}
		switch {
		case invalid:
			c.Error = "the result is invalid, so the threshold says nothing"
		case !t.Pass:
			c.Failure = fmt.Sprintf("%s: %s", t.Text, units.Value(float64(t.Value), t.Unit))
		}
		s.Cases = append(s.Cases, c)
	}
	if len(run.Thresholds) == 0 || run.Verdict.Result == verdict.Fail && !failedThreshold(run) {
		c := junit.Case{Class: class, Name: "the load was carried"}
		switch run.Verdict.Result {
		case verdict.Fail:
			c.Failure = reasons
		case verdict.Invalid:
			c.Error = "the result is invalid"
		case "":
			c.Skipped = "the run has no verdict yet"
		}
		s.Cases = append(s.Cases, c)
	}
	return junit.Write(w, s)
}

func failedThreshold(run *record.Run) bool {
	for _, t := range run.Thresholds {
		if !t.Pass {
			return true
		}
	}
	return false
}
