package verdict

import (
	"math"
	"strings"
	"time"

	"brunt/internal/measure"
	"brunt/internal/message"
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
	windows *Windows
}

// due is how many arrivals had fallen due at a time.
type due struct {
	atNs int64
	n    uint64
}

// NewWatch returns the watch of a load that hasn't begun.
func NewWatch(r Rules) *Watch {
	w := &Watch{rules: r, aborted: -1}
	var texts []string
	for i := range r.Thresholds {
		texts = append(texts, r.Thresholds[i].Text)
	}
	w.windows = NewWindows(texts, r.Operations)
	for i := range r.Thresholds {
		if t := &r.Thresholds[i]; waitable(t) {
			w.longest = max(w.longest, int64(min(t.Limit, math.MaxInt64/2)))
		}
	}
	return w
}

// waitable reports whether arrivals that still wait can break a threshold.
func waitable(t *plan.Threshold) bool {
	return t.AbortOnFail && t.Window == 0 && t.Metric == "response" && t.Aggregate == "p" && !t.OK && t.Operation == "" &&
		(t.Comparison == "<" || t.Comparison == "<=")
}

// Check returns why the load must stop, if it must. total is the account so far, nowNs the run's clock.
// Arrivals that have waited longer than a limit on response times have broken it already, answered or
// not.
func (w *Watch) Check(total *measure.Account, nowNs int64) message.Message {
	w.note(total, nowNs)
	if why := w.errors(total); !why.IsZero() {
		return why
	}
	for i := range w.rules.Thresholds {
		t := &w.rules.Thresholds[i]
		if !t.AbortOnFail || total.LoadNs < int64(t.AbortDelay) {
			continue
		}
		if t.Window > 0 {
			if w.windows.broken(i) {
				return w.abort(i, nowNs)
			}
			continue
		}
		waiting := uint64(0)
		if waitable(t) {
			waiting = w.waiting(total, nowNs-int64(min(t.Limit, math.MaxInt64/2)))
		}
		o := evaluate(&t.Rule, w.rules.Operations, total, func(all *measure.OperationAccount) measure.Answers {
			a := all.Answers()
			a.NoAnswer += waiting
			return a
		})
		if !o.Pass {
			return w.abort(i, nowNs)
		}
	}
	return message.Message{}
}

// abort notes that the i-th threshold ends the load, and says so.
func (w *Watch) abort(i int, nowNs int64) message.Message {
	w.aborted = i
	return message.New("stop.threshold", message.Text("threshold", w.rules.Thresholds[i].Text),
		message.Span("after", time.Duration(nowNs)))
}

// Windows are those of the rules, a sink that must receive each interval before Check.
func (w *Watch) Windows() *Windows { return w.windows }

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
func (w *Watch) errors(total *measure.Account) (none message.Message) {
	percent := w.rules.ErrorPercent
	if percent <= 0 {
		return none
	}
	c := total.Totals()
	of := c.Done
	if w.rules.Queue > 0 {
		of = w.rules.Queue
	} else if of < enoughOperations {
		return none
	}
	failed := c.Failed()
	if float64(failed) < percent*float64(of)/100 || failed == 0 {
		return none
	}
	errors, limit, all := message.Count("errors", failed), message.Figure("limit", percent, "count"),
		message.Count("all", of)
	if w.rules.Queue > 0 {
		return message.New("stop.queue-errors", errors, limit, all)
	}
	return message.New("stop.errors", errors, limit, all)
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
				out = append(out, record.NewWarning(WarnLeak, message.Text("source", w.Source),
					message.Nested("figure", FigureName(m.Name)),
					message.Figure("first", m.First, m.Unit), message.Figure("last", m.Last, m.Unit),
					message.Nested("growth", GrowthText(m))))
			case record.TrendDrift:
				out = append(out, record.NewWarning(WarnDrift, message.Change("change", m.Trend.Share)))
			}
		}
	}
	return out
}

// GrowthText is how fast a figure grows and what that comes to.
func GrowthText(m *record.WatchedMetric) message.Message {
	t := m.Trend
	grows := message.New("growth", message.Signed("per_hour", t.PerHour))
	if m.Unit == "bytes" {
		grows = message.New("growth.bytes", message.Bytes("per_hour", max(t.PerHour, 0)))
	}
	if t.Limit <= 0 || t.HoursToLimit <= 0 {
		return grows
	}
	return message.List(grows, message.New("growth.limit", message.Span("in", hours(t.HoursToLimit)),
		message.Figure("limit", t.Limit, m.Unit),
		message.Text("name", t.LimitName)))
}

// hours is a time that may be longer than a time.Duration can be.
func hours(h float64) time.Duration {
	return time.Duration(min(h*float64(time.Hour), math.MaxInt64/2))
}

// FigureName is a watched metric's name without its unit.
func FigureName(name string) message.Message {
	name = strings.TrimSuffix(strings.TrimSuffix(units.Clean(name), "_bytes"), "_seconds")
	return message.NewOr("figure."+name, strings.ReplaceAll(name, "_", " "))
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
		w := record.NewWarning("k6-dropped", message.Count("dropped", dropped), message.Count("all", all),
			message.Part("share", dropped, all))
		w.ID = WarnSaturated
		run.Warnings = append([]record.Warning{w}, run.Warnings...)
		if float64(dropped) > droppedDefault*float64(all) && len(run.Thresholds) == 0 {
			brokenBy(v, w)
		}
	}
	if threw := n.Threw; threw > 0 {
		all := max(threw, n.Done)
		w := record.NewWarning(WarnThrew, message.Count("threw", threw), message.Count("all", all),
			message.Part("share", threw, all))
		run.Warnings = append(run.Warnings, w)
		if float64(threw) >= threwDefault*float64(all) && len(run.Thresholds) == 0 {
			brokenBy(v, w)
		}
		if threw == all && len(run.Thresholds) == 0 {
			v.Result = Fail // which no busy generator is the cause of
		}
	}
	if run.LoadModel != "open" {
		run.Warnings = append(run.Warnings, record.NewWarning(WarnServiceTime))
	}
}

// brokenBy makes a passed verdict a failed one, for what a warning says, which stands before those that others have
// found.
func brokenBy(v *record.Verdict, w record.Warning) {
	if v.Result == Pass {
		v.Result, v.Reasons = Fail, nil
	}
	v.Reasons = append([]message.Message{message.Sentences(w.Text, w.Remedy)}, v.Reasons...)
}
