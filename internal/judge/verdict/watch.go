package verdict

import (
	"math"
	"strings"
	"time"

	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// enoughOperations is the number of operations that must be done before the error threshold can abort a load whose
// length isn't known: a percentage of fewer is too imprecise. Chosen so that one failure is errorsDefault of them.
const enoughOperations = 100

// Rules are the rules that a load is watched by.
type Rules struct {
	Thresholds   []plan.Threshold
	Operations   []string // names, as the account's
	ErrorPercent float64  // of Queue, or of the operations done; 0 means none
	Queue        uint64   // how many operations the load has, 0 if that isn't known
}

// Watch decides during a load whether it must stop. It must be used by one goroutine.
type Watch struct {
	rules   Rules
	offered []due // number of arrivals due over time, in order
	longest int64 // the longest limit on response times, ns
	aborted int   // index of the threshold that ended the load, −1 if none
	windows *Windows
}

// due is the number of arrivals that had fallen due at a time.
type due struct {
	atNs int64
	n    uint64
}

// NewWatch returns a Watch for a load that hasn't begun.
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

// waitable reports whether arrivals that are still waiting can break a threshold.
func waitable(t *plan.Threshold) bool {
	return t.AbortOnFail && t.Window == 0 && t.Metric == "response" && t.Aggregate == "p" && !t.OK && t.Operation == "" &&
		(t.Comparison == "<" || t.Comparison == "<=")
}

// Check returns why the load must stop; the zero message if it may go on. total is the account so far, nowNs the time
// on the run's clock. An arrival that has waited longer than a limit on response times has broken that limit, answered
// or not.
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

// abort records that the i-th threshold ended the load and returns the message about it.
func (w *Watch) abort(i int, nowNs int64) message.Message {
	w.aborted = i
	return message.New("stop.threshold", message.Text("threshold", w.rules.Thresholds[i].Text),
		message.Span("after", time.Duration(nowNs)))
}

// Windows returns the windows of the rules: a sink that must receive each interval before Check is called for it.
func (w *Watch) Windows() *Windows { return w.windows }

// note records how many arrivals have fallen due by now, and drops records that no limit needs any more.
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

// waiting returns a lower bound of the number of arrivals that fell due before a time and are not finished.
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

// errors checks the error percentage: of the length of the queue if there is one, as in Picostress, otherwise of the
// operations done.
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

// Aborted returns the index of the threshold that ended the load; −1 if none did.
func (w *Watch) Aborted() int { return w.aborted }

// assessWatched warns about leaks and about drifting throughput.
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

// GrowthText returns how fast a figure grows and, if it has a limit, when it will reach the limit.
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

// hours converts hours to a time.Duration, limited to half of the longest one.
func hours(h float64) time.Duration {
	return time.Duration(min(h*float64(time.Hour), math.MaxInt64/2))
}

// FigureName returns the name of a watched metric without its unit.
func FigureName(name string) message.Message {
	name = strings.TrimSuffix(strings.TrimSuffix(units.Clean(name), "_bytes"), "_seconds")
	return message.NewOr("figure."+name, strings.ReplaceAll(name, "_", " "))
}

// WarnServiceTime is the id of the warning that k6's executors drove the load: their times leave out how long
// iterations waited before they began, and how long dropped iterations would have waited.
const WarnServiceTime = "k6-service-time"

// WarnThrew is the id of the warning that iterations ended with exceptions.
const WarnThrew = "k6-exceptions"

// threwDefault is the share of iterations with exceptions from which on a run without thresholds fails. It equals the
// default for failed operations.
const threwDefault = 0.01

// droppedDefault is the share of dropped iterations above which a run without thresholds fails. It is 1 − rateDefault,
// because dropped iterations are arrivals that were not sent.
const droppedDefault = 0.05

// JudgeIterations adds the results of the iterations to the verdict of a k6 run. Call it after Judge.
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
			v.Result = Fail // no busy generator can cause that
		}
	}
	if run.LoadModel != "open" {
		run.Warnings = append(run.Warnings, record.NewWarning(WarnServiceTime))
	}
}

// brokenBy makes a passed verdict a failed one and puts the warning's text before the other reasons.
func brokenBy(v *record.Verdict, w record.Warning) {
	if v.Result == Pass {
		v.Result, v.Reasons = Fail, nil
	}
	v.Reasons = append([]message.Message{message.Sentences(w.Text, w.Remedy)}, v.Reasons...)
}
