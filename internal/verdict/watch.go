package verdict

import (
	"fmt"
	"math"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan"
)

// enoughOperations is how many operations must be done before the error threshold of a load
// without a known length may abort it: one early failure isn't a percentage.
const enoughOperations = 100

// Rules are what a load is watched and judged by.
type Rules struct {
	Thresholds   []plan.Threshold
	Operations   []string // names, as the account's
	ErrorPercent float64  // of Queue, or of the operations done; 0 means none
	Queue        uint64   // how many operations the load has, 0 if that isn't known
}

// Watch decides while a load runs whether it must stop. It is used by one goroutine.
type Watch struct {
	rules   Rules
	offered []due // when so many arrivals had fallen due, in order
	longest int64 // the longest limit on response times, ns
	aborted int   // index of the threshold that ended the load, −1 if none
}

// due is how many arrivals had fallen due at a time.
type due struct {
	atNs int64
	n    uint64
}

// NewWatch returns the watch of a load that hasn't begun.
func NewWatch(r Rules) *Watch {
	w := &Watch{rules: r, aborted: -1}
	for i := range r.Thresholds {
		if t := &r.Thresholds[i]; waitable(t) {
			w.longest = max(w.longest, int64(min(t.Limit, math.MaxInt64/2)))
		}
	}
	return w
}

// waitable reports whether arrivals that still wait can break a threshold.
func waitable(t *plan.Threshold) bool {
	return t.AbortOnFail && t.Metric == "response" && t.Aggregate == "p" && !t.OK && t.Operation == "" &&
		(t.Comparison == "<" || t.Comparison == "<=")
}

// Check returns why the load must stop, or "". total is the account so far, nowNs the run's clock.
// Arrivals that have waited longer than a limit on response times have broken it already, answered or
// not.
func (w *Watch) Check(total *measure.Account, nowNs int64) string {
	w.note(total, nowNs)
	if why := w.errors(total); why != "" {
		return why
	}
	for i := range w.rules.Thresholds {
		t := &w.rules.Thresholds[i]
		if !t.AbortOnFail || nowNs < int64(t.AbortDelay) {
			continue
		}
		waiting := uint64(0)
		if waitable(t) {
			waiting = w.waiting(total, nowNs-int64(min(t.Limit, math.MaxInt64/2)))
		}
		o := evaluate(t, w.rules.Operations, total, func(all *measure.OperationAccount) measure.Answers {
			a := all.Answers()
			a.NoAnswer += waiting
			return a
		})
		if !o.Pass {
			w.aborted = i
			return fmt.Sprintf("threshold %q failed after %s", t.Text, time.Duration(nowNs).Round(time.Millisecond))
		}
	}
	return ""
}

// note remembers how many arrivals have fallen due by now, for as long as a limit needs it.
func (w *Watch) note(total *measure.Account, nowNs int64) {
	if w.longest == 0 {
		return
	}
	old := 0
	for old+1 < len(w.offered) && w.offered[old+1].atNs <= nowNs-w.longest {
		old++
	}
	w.offered = append(w.offered[old:], due{nowNs, total.Offered})
}

// waiting is at least how many arrivals fell due before a time and have not met their fate.
func (w *Watch) waiting(total *measure.Account, beforeNs int64) uint64 {
	var fell uint64
	for _, d := range w.offered {
		if d.atNs > beforeNs {
			break
		}
		fell = d.n
	}
	c := total.Totals()
	return fell - min(fell, c.Arrivals())
}

// errors checks the error percentage. Of a queue it is a share of its whole length, as in
// Picostress; otherwise of what has been done.
func (w *Watch) errors(total *measure.Account) string {
	percent := w.rules.ErrorPercent
	if percent <= 0 {
		return ""
	}
	c := total.Totals()
	of, what := c.Done, "operations done"
	if w.rules.Queue > 0 {
		of, what = w.rules.Queue, "queued operations"
	} else if of < enoughOperations {
		return ""
	}
	if failed := c.Failed(); float64(failed) >= percent*float64(of)/100 && failed > 0 {
		return fmt.Sprintf("%d errors are %g %% or more of the %d %s", failed, percent, of, what)
	}
	return ""
}

// Aborted is the index of the threshold that ended the load, −1 if none did.
func (w *Watch) Aborted() int { return w.aborted }
