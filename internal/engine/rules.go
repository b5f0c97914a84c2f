package engine

import (
	"fmt"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/workload"
)

// ThresholdOutcome is a threshold and what came of it.
type ThresholdOutcome struct {
	Threshold plan.Threshold
	Value     float64 // ns, fraction, per second or count, as Unit says
	Unit      string
	Pass      bool
	Aborted   bool // it ended the run
}

// enoughOperations is how many operations must be done before the error threshold of a load
// without a known length may abort it: one early failure isn't a percentage.
const enoughOperations = 100

// rules decide while the load runs whether it must stop, and judge it at the end.
type rules struct {
	workload *workload.Workload
	aborted  int // index of the threshold that ended the run, −1 if none
}

func newRules(w *workload.Workload) *rules { return &rules{workload: w, aborted: -1} }

// check returns why the run must stop, or "". durationNs is the load's length so far.
func (r *rules) check(total *measure.Interval, durationNs, nowNs int64) string {
	p := r.workload.Plan
	if why := r.errors(total); why != "" {
		return why
	}
	for i := range p.Thresholds {
		t := &p.Thresholds[i]
		if !t.AbortOnFail || nowNs < int64(t.AbortDelay) {
			continue
		}
		o := r.judge(t, total, durationNs)
		if !o.Pass {
			r.aborted = i
			return fmt.Sprintf("threshold %q failed after %s", t.Text, time.Duration(nowNs).Round(time.Millisecond))
		}
	}
	return ""
}

// errors checks the error percentage. Of a queue it is a share of its whole length, as in
// Picostress; otherwise of what has been done.
func (r *rules) errors(total *measure.Interval) string {
	percent := r.workload.Plan.Settings.ErrorThreshold
	if percent <= 0 {
		return ""
	}
	c := sum(total, "", r.workload)
	of, what := c.Done, "operations done"
	if r.workload.Total > 0 {
		of, what = r.workload.Total, "queued operations"
	} else if of < enoughOperations {
		return ""
	}
	if failed := c.Failed(); float64(failed) >= percent*float64(of)/100 && failed > 0 {
		return fmt.Sprintf("%d errors are %g %% or more of the %d %s", failed, percent, of, what)
	}
	return ""
}

// final judges all thresholds over the whole run.
func (r *rules) final(total *measure.Interval, durationNs int64) []ThresholdOutcome {
	var out []ThresholdOutcome
	for i := range r.workload.Plan.Thresholds {
		o := r.judge(&r.workload.Plan.Thresholds[i], total, durationNs)
		if i == r.aborted {
			o.Aborted, o.Pass = true, false
		}
		out = append(out, o)
	}
	return out
}

// judge evaluates one threshold. A latency without a sample passes nothing: its value is 0 and
// the threshold fails only if operations were done and none succeeded.
func (r *rules) judge(t *plan.Threshold, total *measure.Interval, durationNs int64) ThresholdOutcome {
	o := ThresholdOutcome{Threshold: *t}
	c := sum(total, t.Operation, r.workload)
	switch t.Metric {
	case "response", "service", "lag":
		h := merged(total, t.Operation, t.Metric, r.workload)
		o.Unit, o.Value = "ns", aggregate(h, t)
		if h.Count() == 0 {
			o.Pass = c.Done == 0
			return o
		}
	case "errors":
		o.Unit, o.Value = "fraction", 0
		if t.Aggregate == "count" {
			o.Unit, o.Value = "count", float64(c.Failed())
		} else if c.Done > 0 {
			o.Value = float64(c.Failed()) / float64(c.Done)
		}
	case "dropped":
		o.Unit, o.Value = "count", float64(c.Dropped)
		if t.Aggregate == "rate" {
			o.Unit, o.Value = "fraction", 0
			if all := c.Done + c.Dropped; all > 0 {
				o.Value = float64(c.Dropped) / float64(all)
			}
		}
	case "count":
		o.Unit, o.Value = "count", float64(c.Done)
	case "rate":
		o.Unit = "per_s"
		if durationNs > 0 {
			o.Value = float64(c.OK()) / (float64(durationNs) / 1e9)
		}
	}
	o.Pass = compare(o.Value, t.Comparison, t.Limit)
	return o
}

func compare(v float64, op string, limit float64) bool {
	switch op {
	case "<":
		return v < limit
	case "<=":
		return v <= limit
	case ">":
		return v > limit
	case ">=":
		return v >= limit
	case "==":
		return v == limit
	default:
		return v != limit
	}
}

func aggregate(h *measure.Histogram, t *plan.Threshold) float64 {
	switch t.Aggregate {
	case "avg":
		return h.Mean()
	case "min":
		return float64(h.Min())
	case "max":
		return float64(h.Max())
	case "med":
		return float64(h.Quantile(0.5))
	default:
		return float64(h.Quantile(t.Quantile / 100))
	}
}

// sum adds the counts of an operation, or of all if name is "".
func sum(total *measure.Interval, name string, w *workload.Workload) measure.Counts {
	var c measure.Counts
	for i := range total.Operations {
		if name == "" || w.Operations[i].Name == name {
			c.Add(&total.Operations[i].Counts)
		}
	}
	return c
}

// merged merges one latency of an operation, or of all if name is "".
func merged(total *measure.Interval, name, metric string, w *workload.Workload) *measure.Histogram {
	h := measure.NewHistogram()
	for i := range total.Operations {
		o := &total.Operations[i]
		if name != "" && w.Operations[i].Name != name {
			continue
		}
		switch metric {
		case "response":
			h.Merge(o.Response)
		case "service":
			h.Merge(o.Service)
		default:
			h.Merge(o.Lag)
		}
	}
	return h
}
