package brunt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/report"
)

// Verdict says whether what is under load holds, and whether that can be told.
type Verdict string

// The verdicts.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
	// Invalid means that the generator, not what is under load, limited or changed the result: this machine was too
	// busy, or stood still. Nothing follows from the figures.
	Invalid Verdict = "invalid"
)

// Result is what a run measured.
type Result struct {
	Name    string
	Verdict Verdict
	Reasons []string // of the verdict
	// Complete is false if the run was killed: the result then reaches up to its last interval. Interrupted says that
	// it was ended early, in good order.
	Complete, Interrupted bool
	Started               time.Time
	Duration              time.Duration // of the load, the warm-up excluded
	Total                 Figures       // of all operations together
	Operations            []Figures     // of each operation
	Rules                 []Rule
	Failures              []FailureCount // the most frequent first
	Warnings              []string       // what a reader must know
	Dir                   string         // folder of the bundle; "" if there is none

	run   *record.Run
	tally *measure.Tally // nil if the result was read
}

// Figures are those of one operation, or of all together. Done = OK + Failed. In an open load, each arrival that fell
// due is done, dropped (never sent) or unfinished (in progress at the end).
type Figures struct {
	Operation  string // "" for all operations together
	Done       uint64
	OK         uint64
	Failed     uint64
	Dropped    uint64
	Unfinished uint64
	Rate       float64 // successful operations a second
	Response   Times   // from the intended start to the end, of all arrivals
	Service    Times   // from the actual start to the end, of successful operations
	Lag        Times   // from the intended to the actual start
	// Of answers that were streams of messages: from the start to the first message, and from each message to the next.
	StreamFirst, StreamBetween Times
	StreamLag                  Times // of messages sent at an interval, from when one was due to when it was sent
}

// Rule is a rule that a load was to hold, and its measured value.
type Rule struct {
	Text  string
	Holds bool
	Value float64 // in the unit; infinite for a time of arrivals without an answer
	Unit  string  // "ns", "fraction", "per_s" or "count"
}

// FailureCount counts the failed attempts with the same class, code and text. Texts are the same if they differ only in
// numbers, addresses and quoted names.
type FailureCount struct {
	Class Class
	Code  string
	Text  string // of the first one, with "…" for what differs
	Count uint64
}

// Never is the time of an arrival without a good answer.
const Never = time.Duration(math.MaxInt64)

// Times is a distribution of times, with a relative error below 0.1 %. The zero value has none.
type Times struct{ answers measure.Answers }

// Count returns the number of times, those without a good answer included.
func (t Times) Count() uint64 { return t.answers.Times.Count() + t.answers.NoAnswer }

// Quantile returns the time that a share of all arrivals didn't exceed: Quantile(0.99) is the 99th percentile. It is
// Never if the quantile lies among arrivals without a good answer, and 0 if there are no times.
func (t Times) Quantile(share float64) time.Duration {
	if t.Count() == 0 {
		return 0
	}
	ns := t.answers.Quantile(min(max(share, 0), 1))
	if ns == measure.Infinite {
		return Never
	}
	return time.Duration(ns)
}

// Mean returns the mean of the times with a good answer.
func (t Times) Mean() time.Duration { return time.Duration(t.answers.Times.Mean()) }

// newResult returns the result of a run.
func newResult(run *record.Run, dir string, tally *measure.Tally) (*Result, error) {
	r := &Result{
		Name: run.Name, Verdict: Verdict(run.Verdict.Result), Reasons: run.Verdict.Texts(), Complete: run.Complete,
		Interrupted: run.Interrupted, Started: run.Started, Duration: time.Duration(run.DurationNs), Dir: dir, run: run,
		tally: tally,
	}
	var err error
	if r.Total, err = figures(&run.Total); err != nil {
		return nil, fmt.Errorf("brunt: damaged result: %w", err)
	}
	r.Total.Operation = ""
	for i := range run.Operations {
		f, err := figures(&run.Operations[i])
		if err != nil {
			return nil, fmt.Errorf("brunt: damaged result: %w", err)
		}
		r.Operations = append(r.Operations, f)
	}
	for _, t := range run.Thresholds {
		r.Rules = append(r.Rules, Rule{Text: t.Text, Holds: t.Pass, Value: float64(t.Value), Unit: t.Unit})
	}
	for _, f := range run.Failures {
		r.Failures = append(r.Failures, FailureCount{Class(f.Class), f.Code, f.Text, f.Count})
	}
	slices.SortStableFunc(r.Failures, func(a, b FailureCount) int { return int(int64(b.Count) - int64(a.Count)) })
	for _, w := range run.Warnings {
		r.Warnings = append(r.Warnings, w.Text.String())
	}
	return r, nil
}

// figures returns the figures of an operation of the record.
func figures(o *record.Operation) (f Figures, err error) {
	f = Figures{Operation: o.Name, Done: o.Done, OK: o.OK, Failed: o.Failed, Dropped: o.Dropped, Unfinished: o.Unfinished,
		Rate: o.RatePerS}
	for _, t := range []struct {
		to   *Times
		from *record.Latency
	}{{&f.Response, &o.Response}, {&f.Service, &o.Service}, {&f.Lag, &o.Lag}, {&f.StreamFirst, &o.StreamFirst},
		{&f.StreamBetween, &o.StreamBetween}, {&f.StreamLag, &o.StreamLag}} {
		if t.to.answers, err = t.from.Answers(); err != nil {
			return f, fmt.Errorf("operation %q: %w", o.Name, err)
		}
	}
	return f, nil
}

// Operation returns the figures of the operation with a name; false if there is none.
func (r *Result) Operation(name string) (Figures, bool) {
	i := slices.IndexFunc(r.Operations, func(f Figures) bool { return f.Operation == name })
	if i < 0 {
		return Figures{}, false
	}
	return r.Operations[i], true
}

// ExitCode returns the code with which brunt's commands exit for this result: 0 if it passes, 99 if it fails, 98 if it
// is invalid, and 105 if it was interrupted.
func (r *Result) ExitCode() int { return verdict.ExitCode(r.run) }

// String returns a short report.
func (r *Result) String() string {
	var b strings.Builder
	if err := r.Report(&b, "brief"); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// Report writes the report in a format: text, brief, json (as in run.json), csv, md, junit, or html, which needs a
// result with a bundle.
func (r *Result) Report(w io.Writer, format string) error {
	if format != "html" {
		if err := report.Write(w, format, r.run, report.Options{Path: r.Dir}); err != nil {
			return fmt.Errorf("brunt: %w", err)
		}
		return nil
	}
	if r.Dir == "" {
		return errors.New("brunt: the page needs the intervals of a bundle; set Results before the run")
	}
	sheet, err := report.ReadSheet([]string{r.Dir}, nil, nil, "")
	if err != nil {
		return fmt.Errorf("brunt: %w", err)
	}
	var page bytes.Buffer
	if err := report.HTML(&page, sheet, report.Options{}); err != nil {
		return fmt.Errorf("brunt: %w", err)
	}
	_, err = w.Write(page.Bytes())
	return err
}

// Read reads the result of a run from its bundle, a folder that a run of the command line or of this package wrote. The
// result of a run that was killed reaches up to its last interval. A bundle of a newer version of brunt is refused.
func Read(dir string) (*Result, error) {
	b, err := record.Open(record.OS{}, dir)
	if err != nil {
		return nil, fmt.Errorf("brunt: %w", err)
	}
	opened, err := report.Open(b)
	if err != nil {
		return nil, fmt.Errorf("brunt: %w", err)
	}
	return newResult(opened.Run, b.Dir, nil)
}

// Judge returns a copy of the result that is judged by other rules; by the rules for loads without any if none is
// given. Rules about windows of time need a result with a bundle.
func (r *Result) Judge(texts ...string) (*Result, error) {
	wanted, err := rules(texts)
	if err != nil {
		return nil, err
	}
	run, tally, intervals, err := r.measured()
	if err != nil {
		return nil, err
	}
	run.Thresholds, run.Verdict = nil, record.Verdict{}
	run.Aborted = r.run.Aborted
	for i := range wanted {
		if wanted[i].Window > 0 && intervals == nil {
			return nil, fmt.Errorf("brunt: rule %q is about windows of time, for which the intervals of a bundle are needed",
				wanted[i].Text)
		}
		run.Thresholds = append(run.Thresholds, record.Threshold{Text: wanted[i].Text, Limit: wanted[i].Limit})
	}
	if intervals != nil {
		if err := verdict.FillWindows(run, intervals); err != nil {
			return nil, fmt.Errorf("brunt: %w", err)
		}
	}
	warnings := run.Warnings
	verdict.Judge(run, tally.Total())
	run.Warnings = warnings
	return newResult(run, r.Dir, tally)
}

// measured returns a copy of the run with what was measured. intervals is nil if there is no bundle.
func (r *Result) measured() (run *record.Run, _ *measure.Tally,
	intervals func(func(*measure.Interval) error) error, err error) {
	copied := *r.run
	if r.Dir == "" {
		return &copied, r.tally, nil, nil
	}
	b, err := record.Open(record.OS{}, r.Dir)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("brunt: %w", err)
	}
	_, tally, err := b.Rebuild()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("brunt: %w", err)
	}
	return &copied, tally, b.Intervals, nil
}
