package verdict

import (
	"brunt/internal/measure"
	"brunt/internal/plan/metric"
	"brunt/internal/record"
)

// Windows judges the rules that hold over windows. After every interval it judges each rule over the last intervals
// that fill the rule's window. Intervals of the warm-up are left out, and no window spans a pause. A load that is
// shorter than a window is judged as a whole. Windows is a measure.Sink and must be used by one goroutine.
type Windows struct {
	names []string
	rules []*windowRule // one per threshold; nil for a threshold over the whole load
}

var _ measure.Sink = (*Windows)(nil)

// NewWindows returns the windows of a load that hasn't begun, for thresholds with these texts and operations with these
// names.
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

// WindowsOf returns the windows of the run's thresholds; nil if none of them has a window. Call Fill before Judge.
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

// FillWindows judges the run's windowed rules over the intervals that the iterator yields. Call it before Judge. Its
// error is the iterator's.
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
		case iv.Drain && r.metric.PerS: // no arrivals fall due during the drain
		default:
			r.add(slice{selected(r.rule.Operation, w.names, &iv.Account), iv.LoadNs})
		}
	}
	return nil
}

// Fill writes the results into the run's thresholds. These must be the thresholds that were passed to NewWindows.
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

// broken reports whether the i-th threshold has a window and was broken for longer than its budget.
func (w *Windows) broken(i int) bool {
	return w != nil && i < len(w.rules) && w.rules[i] != nil && w.rules[i].broken()
}

// windowRule is a rule with a window, and the window's current intervals.
type windowRule struct {
	rule     metric.Rule
	metric   *metric.Metric
	window   queue
	judged   bool
	worst    float64 // value that is furthest from the limit so far
	brokenNs int64   // length of the intervals whose window broke the rule
}

func (r *windowRule) broken() bool { return r.brokenNs > int64(r.rule.Budget) }

// add appends an interval to the window, drops those that fell out of it, and judges the window once it is full.
func (r *windowRule) add(s slice) {
	lengthNs := s.loadNs
	r.window.push(s)
	for r.window.ns()-r.window.firstNs() >= int64(r.rule.Window) {
		r.window.pop()
	}
	// The last interval of a phase can be a little shorter or longer than the others.
	if r.window.ns()+lengthNs/2 >= int64(r.rule.Window) {
		r.judge(lengthNs)
	}
}

// judge judges the current window. If it breaks the rule, ns is added to the time for which the rule was broken.
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

// worse reports whether v is worse than the worst value so far.
func (r *windowRule) worse(v float64) bool {
	switch r.rule.Comparison {
	case "<", "<=":
		return v > r.worst
	case ">", ">=":
		return v < r.worst
	}
	return v != r.rule.Limit
}

// slice is the part of an interval that a rule is judged by.
type slice struct {
	all    measure.OperationAccount
	loadNs int64
}

func (s *slice) add(o *slice) {
	s.all.Add(&o.all)
	s.loadNs += o.loadNs
}

// queue holds the slices of a window in two stacks, so that their sum costs a few additions a slice. Each element of
// older is the sum of a slice and of all older slices that follow it; newer has one running sum.
type queue struct {
	older  []slice // sums, the last is of all of them
	ofEach []int64 // loadNs of each slice in older
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

// firstNs returns the length of the oldest slice, in ns; 0 if the queue is empty.
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
