package report

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"brunt/internal/record"
	"brunt/internal/units"
	"brunt/internal/verdict"
)

// formats are what Write writes, by name.
var formats = map[string]func(w io.Writer, run *record.Run, o Options) error{
	"text":       Terminal,
	"brief":      Brief,
	"json":       func(w io.Writer, run *record.Run, _ Options) error { return JSON(w, run) },
	"csv":        func(w io.Writer, run *record.Run, _ Options) error { return CSV(w, run) },
	"md":         func(w io.Writer, run *record.Run, _ Options) error { return Markdown(w, run) },
	"picostress": func(w io.Writer, run *record.Run, _ Options) error { return Picostress(w, run) },
}

// Formats names what Write takes.
func Formats() []string { return []string{"text", "brief", "json", "csv", "md", "picostress"} }

// Write writes the report in a format named by Formats.
func Write(w io.Writer, format string, run *record.Run, o Options) error {
	f := formats[format]
	if f == nil {
		return fmt.Errorf("unknown output format %q; use one of %s", format, strings.Join(Formats(), ", "))
	}
	return f(w, run, o)
}

// Picostress writes the run's summary as Picostress prints it.
func Picostress(w io.Writer, run *record.Run) error {
	text, err := record.SummaryOf(run).Text()
	if err == nil {
		_, err = fmt.Fprintln(w, text)
	}
	return err
}

// JSON writes the run as run.json has it, with the exit code beside the verdict.
func JSON(w io.Writer, run *record.Run) error {
	out := struct {
		*record.Run
		ExitCode int `json:"exit_code"`
	}{run, verdict.ExitCode(run)}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// CSV writes a line per operation, the sum first, with a header line. Times are nanoseconds.
func CSV(w io.Writer, run *record.Run) error {
	out := csv.NewWriter(w)
	head := []string{"operation", "done", "ok", "failed", "attempts", "retries", "dropped", "late", "duration_s", "rate_per_s", "offered_per_s"}
	for _, kind := range []string{"response", "service", "lag"} {
		for _, q := range []string{"min", "mean", "p50", "p75", "p90", "p95", "p99", "p999", "p9999", "max"} {
			head = append(head, kind+"_"+q+"_ns")
		}
	}
	// Errors of writing are kept until Error is asked.
	_ = out.Write(append(head, "verdict"))
	for _, o := range append([]record.Operation{run.Total}, run.Operations...) {
		row := []string{o.Name}
		for _, n := range []uint64{o.Done, o.OK, o.Failed, o.Attempts, o.Retries, o.Dropped, o.Late} {
			row = append(row, strconv.FormatUint(n, 10))
		}
		row = append(row, float(float64(run.DurationNs)/1e9), float(o.RatePerS), float(o.OfferedPerS))
		for _, l := range []record.Latency{o.Response, o.Service, o.Lag} {
			row = append(row, number(l.MinNs), float(l.MeanNs))
			for _, ns := range []record.Ns{l.P50Ns, l.P75Ns, l.P90Ns, l.P95Ns, l.P99Ns, l.P999Ns, l.P9999Ns, l.MaxNs} {
				row = append(row, number(ns))
			}
		}
		_ = out.Write(append(row, run.Verdict.Result))
	}
	out.Flush()
	return out.Error()
}

// number writes nanoseconds, and nothing for what is infinite.
func number(ns record.Ns) string {
	if ns == record.Infinite {
		return ""
	}
	return strconv.FormatInt(int64(ns), 10)
}

func float(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Markdown writes the headline figures as GitHub's Markdown, for a pull request or an issue.
func Markdown(w io.Writer, run *record.Run) error {
	out := bufio.NewWriter(w)
	print := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
	print("## %s: %s\n\n", markdownText(run.Name), strings.ToUpper(run.Verdict.Result))
	for _, r := range run.Verdict.Reasons {
		print("- %s\n", markdownText(r))
	}
	print("\n%s operations in %s, **%s/s**, %s failed; %s load, %s; %s; seed %d.\n\n",
		units.Count(run.Total.Done), units.Span(time.Duration(run.DurationNs)), units.Rate(run.Total.RatePerS), units.Percent(run.Total.Failed, run.Total.Done),
		run.LoadModel, units.Plural(run.Sessions, "session", "sessions"), markdownText(strings.Join(targetGroups(run), "; ")), run.Seed)
	if lost, note := timeLost(run); lost != "" {
		print("**Time lost: %s**; %s.\n\n", lost, note)
	}
	print("| Operation | Time | Rate/s | Failed | Mean | p50 | p90 | p95 | p99 | p99.9 | Max |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	row := func(name, kind string, o *record.Operation, l *record.Latency) {
		print("| %s | %s | %s | %s |", markdownText(name), kind, units.Rate(o.RatePerS), units.Percent(o.Failed, o.Done))
		print(" %s |", units.Latency(l.MeanNs))
		for _, ns := range []record.Ns{l.P50Ns, l.P90Ns, l.P95Ns, l.P99Ns, l.P999Ns, l.MaxNs} {
			print(" %s |", units.LatencyInt(ns))
		}
		print("\n")
	}
	for _, o := range append([]record.Operation{run.Total}, run.Operations...) {
		if run.LoadModel != "closed" {
			row(o.Name, "response", &o, &o.Response)
			if o.Response.NoAnswer > 0 {
				row(o.Name, "response of successes", &o, &o.ResponseOK)
			}
		}
		row(o.Name, "service", &o, &o.Service)
	}
	if len(run.Thresholds) > 0 {
		print("\n| Threshold | Value | |\n|---|---:|---|\n")
		for _, t := range run.Thresholds {
			print("| %s | %s | %s |\n", markdownText(t.Text), units.Value(float64(t.Value), t.Unit), map[bool]string{true: "pass", false: "**fail**"}[t.Pass])
		}
	}
	watchedMarkdown(print, run)
	if len(run.Warnings) > 0 {
		print("\n")
		for _, w := range run.Warnings {
			print("- **%s**: %s", w.ID, markdownText(w.Text))
			if w.Remedy != "" {
				print("; %s", markdownText(w.Remedy))
			}
			print(".\n")
		}
	}
	return out.Flush()
}

// markdownText makes text that means only itself in Markdown's tables and lines.
func markdownText(s string) string {
	return strings.NewReplacer("|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "<", "&lt;", "[", "\\[", "#", "\\#").Replace(units.Clean(s))
}
