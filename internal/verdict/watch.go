package verdict

import (
	"fmt"
	"math"
	"strings"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/units"
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
		if !t.AbortOnFail || total.LoadNs < int64(t.AbortDelay) {
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

// assessWatched warns of leaks and of throughput that drifts.
func assessWatched(run *record.Run) (out []record.Warning) {
	for i := range run.Watched {
		w := &run.Watched[i]
		for k := range w.Metrics {
			m := &w.Metrics[k]
			if m.Trend == nil {
				continue
			}
			switch m.Trend.Verdict {
			case record.TrendLeak:
				out = append(out, warning(WarnLeak, "run longer to be sure, and look at what it keeps",
					"%s: %s grew steadily from %s to %s: %s", w.Source, FigureName(m.Name), units.Value(m.First, m.Unit), units.Value(m.Last, m.Unit), GrowthText(m)))
			case record.TrendDrift:
				out = append(out, warning(WarnDrift, "run longer, or find out what changes, before you compare this run with others",
					"throughput changed by %s %% over the run", units.Signed(100*m.Trend.Share)))
			}
		}
	}
	return out
}

// GrowthText is how fast a figure grows and what that comes to.
func GrowthText(m *record.WatchedMetric) string {
	t := m.Trend
	s := units.Signed(t.PerHour) + "/h"
	if m.Unit == "bytes" {
		s = "+" + units.Size(uint64(max(t.PerHour, 0))) + "/h"
	}
	if t.Limit > 0 && t.HoursToLimit > 0 {
		s += fmt.Sprintf(", %s to %s (%s)", units.Span(hours(t.HoursToLimit)), units.Value(t.Limit, m.Unit), units.Clean(t.LimitName))
	}
	return s
}

// hours is a time that may be longer than a time.Duration can be.
func hours(h float64) time.Duration {
	return time.Duration(min(h*float64(time.Hour), math.MaxInt64/2))
}

// FigureName is a watched metric's name without its unit.
func FigureName(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(units.Clean(name), "_bytes"), "_seconds")
	switch name {
	case "rss":
		return "resident memory"
	case "cpu":
		return "CPU cores"
	case "gc_cycles":
		return "collections"
	case "gc_pause":
		return "time in collections"
	}
	return strings.ReplaceAll(name, "_", " ")
}

// WarnServiceTime is the id of the warning that k6's executors drove the load: its times leave out what
// iterations waited before they began, or would have waited had they not been dropped.
const WarnServiceTime = "k6-service-time"

// WarnThrew is the id of the warning that iterations ended with exceptions.
const WarnThrew = "k6-exceptions"

// threwDefault is the share of iterations with exceptions from which on a run without thresholds fails, as it
// does of failed operations.
const threwDefault = 0.01

// droppedDefault is the share of iterations dropped from which on a run without thresholds fails.
const droppedDefault = 0.05

// JudgeIterations adds to the verdict of a run of k6, which Judge has judged, what its iterations say.
func JudgeIterations(run *record.Run) {
	v, n := &run.Verdict, run.Iterations
	if n == nil {
		return
	}
	if dropped := n.Dropped; dropped > 0 {
		all := dropped + n.Done
		text := fmt.Sprintf("k6 dropped %s of %s iterations (%s), because all VUs that it may use were busy: the load was more than they could carry, and what would have waited longest was never sent",
			units.Count(dropped), units.Count(all), units.Percent(dropped, all))
		remedy := `raise maxVUs, lower the rate, or use the executor "brunt-open", which sends everything and counts the wait`
		run.Warnings = append([]record.Warning{{ID: WarnSaturated, Text: text, Remedy: remedy}}, run.Warnings...)
		if float64(dropped) > droppedDefault*float64(all) && len(run.Thresholds) == 0 {
			brokenBy(v, text+"; "+remedy)
		}
	}
	if threw := n.Threw; threw > 0 {
		all := max(threw, n.Done)
		text := fmt.Sprintf("%s of %s iterations (%s) ended with an exception, and what they left undone is missing", units.Count(threw), units.Count(all), units.Percent(threw, all))
		const remedy = "see the messages of k6"
		run.Warnings = append(run.Warnings, record.Warning{ID: WarnThrew, Text: text, Remedy: remedy})
		if float64(threw) >= threwDefault*float64(all) && len(run.Thresholds) == 0 {
			brokenBy(v, text+"; "+remedy)
		}
		if threw == all && len(run.Thresholds) == 0 {
			v.Result = Fail // which no busy generator is the cause of
		}
	}
	if run.LoadModel != "open" {
		run.Warnings = append(run.Warnings, record.Warning{
			ID:     WarnServiceTime,
			Text:   "k6's executors drove the load: response times are service times, from the send on; what iterations waited for a VU isn't in them",
			Remedy: `use the executors "brunt-open" or "brunt-native" for times from the intended start`,
		})
	}
}

// brokenBy makes a passed verdict a failed one, for a reason, which stands before those that others have found.
func brokenBy(v *record.Verdict, why string) {
	if v.Result == Pass {
		v.Result, v.Reasons = Fail, nil
	}
	v.Reasons = append([]string{why}, v.Reasons...)
}
