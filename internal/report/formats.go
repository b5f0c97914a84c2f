package report

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/junit"
	"brunt/internal/render/units"
)

// Format is a form of the report of a run.
type Format struct {
	Name  string
	Write func(w io.Writer, run *record.Run, o Options) error
}

// Formats returns brunt's own forms of the report. Other tools declare theirs.
func Formats() []Format {
	return []Format{
		{"text", Terminal},
		{"brief", Brief},
		{"json", func(w io.Writer, run *record.Run, _ Options) error { return JSON(w, run) }},
		{"csv", func(w io.Writer, run *record.Run, _ Options) error { return CSV(w, run) }},
		{"md", Markdown},
		{"junit", JUnit},
	}
}

// Write writes the report in the format with a name. more are formats besides Formats.
func Write(w io.Writer, format string, run *record.Run, o Options, more ...Format) error {
	var names []string
	for _, f := range append(Formats(), more...) {
		if f.Name == format {
			return f.Write(w, run, o)
		}
		names = append(names, f.Name)
	}
	return fmt.Errorf("unknown output format %q; use one of %s", format, strings.Join(names, ", "))
}

// JSON writes the run as in run.json, with the exit code next to the verdict.
func JSON(w io.Writer, run *record.Run) error {
	out := struct {
		*record.Run
		ExitCode int `json:"exit_code"`
	}{run.Described(), verdict.ExitCode(run)}
	return cell.WriteJSON(w, out)
}

// CSV writes a line per operation, the sum first, with a header line. Times are nanoseconds.
func CSV(w io.Writer, run *record.Run) error {
	out := csv.NewWriter(w)
	head := []string{"operation", "done", "ok", "failed", "attempts", "retries", "dropped", "late", "duration_s",
		"rate_per_s", "offered_per_s"}
	declared := measure.Declared()
	for _, d := range declared {
		for _, q := range []string{"min", "mean", "p50", "p75", "p90", "p95", "p99", "p999", "p9999", "max"} {
			if d.Metric != "" {
				head = append(head, d.Name+"_"+q+"_ns")
			}
		}
	}
	// Write errors are kept until Error is called.
	_ = out.Write(append(head, "verdict"))
	for _, o := range append([]record.Operation{run.Total}, run.Operations...) {
		row := []string{units.Clean(o.Name)}
		for _, n := range []uint64{o.Done, o.OK, o.Failed, o.Attempts, o.Retries, o.Dropped, o.Late} {
			row = append(row, strconv.FormatUint(n, 10))
		}
		row = append(row, cell.Number(float64(run.DurationNs)/1e9), cell.Number(o.RatePerS),
			cell.Number(o.OfferedPerS))
		for i, l := range o.Times() {
			if declared[i].Metric == "" {
				continue
			}
			row = append(row, cell.Number(cell.Time(l.MinNs).Value), cell.Number(l.MeanNs))
			for _, ns := range []record.Ns{l.P50Ns, l.P75Ns, l.P90Ns, l.P95Ns, l.P99Ns, l.P999Ns, l.P9999Ns, l.MaxNs} {
				row = append(row, cell.Number(cell.Time(ns).Value))
			}
		}
		_ = out.Write(append(row, run.Verdict.Result))
	}
	out.Flush()
	return out.Error()
}

// Markdown writes the headline figures as GitHub's Markdown, for a pull request or an issue.
func Markdown(w io.Writer, run *record.Run, o Options) error {
	t := &writer{run: run, l: o.Language}
	out := bufio.NewWriter(w)
	put := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
	name, _ := verdictOf(run, t.l)
	put("## %s: %s\n\n", cell.MarkdownText(run.Name), strings.ToUpper(name))
	for _, r := range run.Verdict.Reasons {
		put("- %s\n", cell.MarkdownText(r.In(t.l)))
	}
	put("\n%s\n\n", t.say("%s in %s, **%s**, %s failed; %s load, %s; %s; seed %d.",
		plural(t, run.Total.Done, "operation", "operations"), t.span(run.DurationNs),
		t.rate(run.Total.RatePerS), t.percent(run.Total.Failed, run.Total.Done), t.say(run.LoadModel),
		plural(t, run.Sessions, "session", "sessions"),
		cell.MarkdownText(strings.Join(t.targetGroups(), "; ")), run.Seed))
	for _, lost := range t.timeLost() {
		put("%s\n\n", t.say("**Time lost: %s**; %s.", lost.text, cell.MarkdownText(lost.note)))
	}
	tables := t.all(t.latencies, t.thresholds, t.changed, t.failures, t.warnings)
	return errors.Join(out.Flush(), cell.WriteMarkdown(w, o.Language, tables...))
}

// JUnit writes a run as a test suite: one test that the result can be trusted, and one for each threshold, or for the
// verdict if there are no thresholds. A threshold of an invalid result is an error, because it says nothing. If the run
// was interrupted, the result is an error, and what held up to then is skipped.
func JUnit(w io.Writer, run *record.Run, _ Options) error {
	s := junit.Suite{Name: run.Name, Began: run.Started}
	reasons := strings.Join(run.Verdict.Texts(), "\n")
	class := "brunt." + run.Name
	valid := junit.Case{Class: class, Name: "the result can be trusted", Seconds: float64(run.DurationNs) / 1e9}
	invalid := run.Verdict.Result == verdict.Invalid
	switch {
	case invalid:
		valid.Failure = reasons
	case run.Interrupted:
		valid.Error = "the run was interrupted"
	}
	s.Cases = append(s.Cases, valid)
	for _, t := range run.Thresholds {
		c := junit.Case{Class: class, Name: t.Text, Output: "measured " + units.Value(float64(t.Value), t.Unit)}
		switch {
		case invalid:
			c.Error = "the result is invalid, so the threshold says nothing"
		case !t.Pass:
			c.Failure = fmt.Sprintf("%s: %s", t.Text, units.Value(float64(t.Value), t.Unit))
		case run.Interrupted:
			c.Skipped = heldUntil
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
		case verdict.Pass:
			if run.Interrupted {
				c.Skipped = heldUntil
			}
		}
		s.Cases = append(s.Cases, c)
	}
	return junit.Write(w, s)
}

// JUnitError writes a test suite for a command that has no result, because of an error. what is the name of its only
// test.
func JUnitError(w io.Writer, what, why string) error {
	const name = "brunt"
	return junit.Write(w, junit.Suite{Name: name, Cases: []junit.Case{{Class: name, Name: what, Error: why}}})
}

// heldUntil is why a case of an interrupted run is skipped.
const heldUntil = "the run was interrupted; it held up to then"

func failedThreshold(run *record.Run) bool {
	return slices.ContainsFunc(run.Thresholds, func(t record.Threshold) bool { return !t.Pass })
}
