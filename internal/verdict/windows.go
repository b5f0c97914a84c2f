package verdict

import (
	"brunt/internal/measure"
	"brunt/internal/metric"
	"brunt/internal/record"
)

// Windows judges the rules that hold over windows: after every interval, each is judged over the intervals that fill
// its window and end with that one. Warm-up is left out, and no window reaches across a pause. A load that is shorter
// than a window is judged as a whole. It is a measure.Sink, for one goroutine.
type Windows struct {
	names []string
	rules []*windowRule // as the thresholds; nil for those over the whole load
}

var _ measure.Sink = (*Windows)(nil)

// NewWindows returns the windows of a load that hasn't begun, for thresholds with these texts.
func NewWindows(texts []string, operations []string) *Windows {
	w := &Windows{names: operations}
	for _, text := range texts {
		rule, err := metric.ParseRule(text)
		if err != nil || rule.Window == 0 {
			w.rules = append(w.rules, nil)
			continue
		}
		w.rules = append(w.rules, &windowRule{rule: rule, metric: metric.Find(rule.Metric)})
	}
	return w
}

// WindowsOf returns the windows of the run's rules; nil if none has one. Fill comes before Judge.
func WindowsOf(run *record.Run) *Windows {
	var texts []string
	windowed := false
	for i := range run.Thresholds {
		texts = append(texts, run.Thresholds[i].Text)
		rule, err := metric.ParseRule(run.Thresholds[i].Text)
		windowed = windowed || err == nil && rule.Window > 0
	}
	if !windowed {
		return nil
	}
	return NewWindows(texts, run.OperationNames())
}

// FillWindows judges the run's rules over windows of the intervals that the iterator passes on. It comes before Judge.
func FillWindows(run *record.Run, intervals func(func(*measure.Interval) error) error) error {
	w := WindowsOf(run)
	if w == nil {
		return nil
	}
	if err := intervals(w.Interval); err != nil {
		return err
	}
	w.Fill(run)
	return nil
}

// Interval implements measure.Sink. It never fails.
func (w *Windows) Interval(iv *measure.Interval) error {
	for _, r := range w.rules {
		switch {
		case r == nil || iv.WarmUp:
		case iv.Kind == measure.KindPause:
			r.window = queue{}
		case iv.Drain && r.metric.PerS: // nothing falls due any more
		default:
			r.add(slice{selected(r.rule.Operation, w.names, &iv.Account), iv.LoadNs})
		}
	}
	return nil
}

// Fill puts what came of the rules into the run's thresholds, which are those of NewWindows.
func (w *Windows) Fill(run *record.Run) {
	for i, r := range w.rules {
		if r == nil || i >= len(run.Thresholds) {
			continue
		}
		if !r.judged {
			r.judge(r.window.ns())
		}
		t := &run.Thresholds[i]
		t.Value, t.Unit, t.Limit = record.Figure(r.worst), r.metric.UnitOf(r.rule.Aggregate), r.rule.Limit
		t.Pass, t.BrokenNs, t.Windowed = !r.broken(), r.brokenNs, true
	}
}

// broken reports whether the i-th threshold is one over windows that doesn't hold any more.
func (w *Windows) broken(i int) bool {
	return w != nil && i < len(w.rules) && w.rules[i] != nil && w.rules[i].broken()
}

// windowRule is a rule and its present window.
type windowRule struct {
	rule     metric.Rule
	metric   *metric.Metric
	window   queue
	judged   bool
	worst    float64 // of the windows so far
	brokenNs int64   // of the intervals whose window broke it
}

func (r *windowRule) broken() bool { return r.brokenNs > int64(r.rule.Budget) }

// add moves the window on by an interval.
func (r *windowRule) add(s slice) {
	lengthNs := s.loadNs
	r.window.push(s)
	for r.window.ns()-r.window.firstNs() >= int64(r.rule.Window) {
		r.window.pop()
	}
	// The last intervals of phases are a little shorter or longer than the others.
	if r.window.ns()+lengthNs/2 >= int64(r.rule.Window) {
		r.judge(lengthNs)
	}
}

// judge judges the present window. If it breaks the rule, that counts for ns.
func (r *windowRule) judge(ns int64) {
	all, loadNs := r.window.sum()
	share := !r.metric.Times && !r.metric.PerS && r.rule.Aggregate != "count"
	if ns == 0 || share && all.Arrivals() == 0 {
		return
	}
	o := evaluateOf(&r.rule, &all, loadNs, (*measure.OperationAccount).Answers)
	if !r.judged || r.worse(o.Value) {
		r.worst = o.Value
	}
	r.judged = true
	if !o.Pass {
		r.brokenNs += ns
	}
}

// worse reports whether a value is further from holding than the worst so far.
func (r *windowRule) worse(v float64) bool {
	switch r.rule.Comparison {
	case "<", "<=":
		return v > r.worst
	case ">", ">=":
		return v < r.worst
	}
	return v != r.rule.Limit
}

// slice is what a rule needs of an interval.
type slice struct {
	all    measure.OperationAccount
	loadNs int64
}

func (s *slice) add(o *slice) {
	s.all.Add(&o.all)
	s.loadNs += o.loadNs
}

// queue is the slices of a window, with their sum at the cost of a few additions a slice: the older ones are kept as
// sums of each with those after it, the newer ones have one sum.
type queue struct {
	older  []slice // sums, the last is of all of them
	ofEach []int64 // loadNs of each of older
	newer  []slice
	sumNew slice
}

func (q *queue) push(s slice) {
	q.newer = append(q.newer, s)
	q.sumNew.add(&s)
}

func (q *queue) pop() {
	if len(q.older) == 0 {
		for i := len(q.newer) - 1; i >= 0; i-- {
			s := q.newer[i]
			q.ofEach = append(q.ofEach, s.loadNs)
			sum := slice{}
			sum.add(&s)
			if n := len(q.older); n > 0 {
				sum.add(&q.older[n-1])
			}
			q.older = append(q.older, sum)
		}
		q.newer, q.sumNew = nil, slice{}
	}
	if n := len(q.older); n > 0 {
		q.older, q.ofEach = q.older[:n-1], q.ofEach[:n-1]
	}
}

// firstNs is the length of the first slice.
func (q *queue) firstNs() int64 {
	if n := len(q.ofEach); n > 0 {
		return q.ofEach[n-1]
	}
	if len(q.newer) > 0 {
		return q.newer[0].loadNs
	}
	return 0
}

func (q *queue) ns() int64 {
	ns := q.sumNew.loadNs
	if n := len(q.older); n > 0 {
		ns += q.older[n-1].loadNs
	}
	return ns
}

func (q *queue) sum() (all measure.OperationAccount, loadNs int64) {
	s := slice{}
	s.add(&q.sumNew)
	if n := len(q.older); n > 0 {
		s.add(&q.older[n-1])
	}
	return s.all, s.loadNs
}
