package plan

import (
	"slices"
	"strings"

	"brunt/internal/base/suggest"
	"brunt/internal/load/control"
	"brunt/internal/load/keyspace"
	"brunt/internal/load/schedule"
	"brunt/internal/plan/metric"
	"brunt/internal/protocol"
)

func (c *checker) load() {
	p := c.plan
	if len(p.Load) == 0 {
		return
	}
	if len(p.Operations) == 0 {
		c.add(p.Load[0].At, "add queries or transactions", "a load without operations")
	}
	seen := map[string]bool{}
	counted := false
	for i := range p.Load {
		ph := &p.Load[i]
		if seen[ph.Name] {
			c.add(ph.At, "rename one", "phase %q stands twice", ph.Name)
		}
		seen[ph.Name] = true
		counted = counted || !ph.WarmUp && ph.Kind != Pause
		if ph.Duration < 0 {
			c.add(ph.At, "give a time ≥ 0", "phase %q has a negative duration", ph.Name)
		}
		switch ph.Kind {
		case Open:
			c.openPhase(ph)
		case Closed:
			c.closedPhase(ph)
		case Pause:
			if ph.Duration == 0 {
				c.add(ph.At, "write for example pause: 10s", "pause %q has no duration", ph.Name)
			}
		default:
			c.add(ph.At, "use open, closed or pause", "unknown kind of phase %q", ph.Kind)
		}
	}
	if !counted {
		c.add(p.Load[0].At, "add a phase without warm_up", "the whole load is warm-up or pause, so there is no result")
	}
}

func (c *checker) openPhase(ph *Phase) {
	c.oneOf(ph.At, "arrivals", ph.Arrivals, "uniform", "poisson", "whole")
	if ph.Times != nil {
		_, e := ph.Segment()
		if err := schedule.CheckTimes(e.TimesNs, int64(ph.Duration)); err != nil || len(ph.Times) == 0 {
			c.add(ph.At, "give ascending times from 0 to below the duration", "phase %q: %v", ph.Name, err)
		}
		if ph.Arrivals != "" || ph.Adaptive != nil || ph.Operations > 0 {
			c.add(ph.At, "leave the rest out", "phase %q lists its arrivals", ph.Name)
		}
	}
	for _, rate := range []float64{ph.RateFrom, ph.RateTo} {
		if rate < 0 || !finite(rate) || rate > maxRatePerS {
			c.add(ph.At, "give operations a second from 0 to 1e9", "phase %q has rate %v", ph.Name, rate)
			return
		}
	}
	if ph.RateFrom == 0 && ph.RateTo == 0 {
		c.add(ph.At, "give it a rate above 0 or write pause", "phase %q has rate 0", ph.Name)
	}
	if ph.Duration == 0 {
		c.add(ph.At, "add duration: 1m", "phase %q has no duration", ph.Name)
	}
	if ph.Adaptive != nil {
		c.adaptivePhase(ph, ph.Adaptive)
	}
}

// adaptivePhase checks how a phase's rate is controlled.
func (c *checker) adaptivePhase(ph *Phase, a *Adaptive) {
	if ph.Operations > 0 {
		c.add(ph.At, "remove operations", "adaptive phase %q can't stop after so many operations", ph.Name)
	}
	switch g := &a.Goal; {
	case !(a.MinPerS > 0 && a.MinPerS <= a.MaxPerS && a.MaxPerS <= maxRatePerS):
		c.add(ph.At, "give 0 < min <= max", "phase %q has rates from %v to %v", ph.Name, a.MinPerS, a.MaxPerS)
	case ph.RateFrom < a.MinPerS || ph.RateFrom > a.MaxPerS:
		c.add(ph.At, "begin between min and max", "phase %q begins at %v operations a second", ph.Name, ph.RateFrom)
	case a.Method == control.Gradient && (g.Text != "" || a.Watch != ""):
		c.add(ph.At, "remove goal and watch, or use method: aimd", "phase %q has a goal, and its method none", ph.Name)
	case a.Method == control.Gradient:
		if !(a.Tolerance > 1 && a.Tolerance <= maxTolerance) {
			c.add(ph.At, "give a number above 1, such as 2", "phase %q has tolerance %v", ph.Name, a.Tolerance)
		}
	case (g.Text == "") == (a.Watch == ""):
		c.add(ph.At, "write either goal: response.p(99) < 20ms, or watch, metric and at", "phase %q needs one goal",
			ph.Name)
	case a.Watch != "" && (a.Metric == "" || !(a.Level > 0) || !finite(a.Level)):
		c.add(ph.At, "add for example metric: cpu_seconds and at: 1.5", "phase %q doesn't say where to keep %s", ph.Name,
			a.Watch)
	case g.Text != "":
		c.adaptiveGoal(ph, g)
	}
	c.oneOf(ph.At, "method", a.Method, control.Methods()...)
	if !(a.MaxErrors >= 0 && a.MaxErrors <= 1) {
		c.add(ph.At, "give a share from 0 to 1", "phase %q has max_errors %v", ph.Name, a.MaxErrors)
	}
}

// maxTolerance is far above any useful value.
const maxTolerance = 1000

// adaptiveGoal checks the rule that an adaptive phase maintains.
func (c *checker) adaptiveGoal(ph *Phase, g *metric.Rule) {
	m := metric.Find(g.Metric)
	times := m != nil && m.Times && (g.Aggregate == "p" || g.Aggregate == "avg")
	if !times && (g.Metric != "errors" || g.Aggregate != "rate") {
		c.add(ph.At, "use a quantile or avg of response or service, or errors", "the load can't be controlled by %q",
			g.Text)
	}
	if g.Comparison != "<" && g.Comparison != "<=" || !(g.Limit > 0) || g.Aggregate == "p" && g.Quantile >= 100 {
		c.add(ph.At, "write for example response.p(99) < 20ms", "%q is no upper limit that a load can be kept at", g.Text)
	}
	named := func(o Operation) bool { return o.Name == g.Operation }
	if g.Operation != "" && !slices.ContainsFunc(c.plan.Operations, named) {
		c.cross(ph.At, "name one of the plan's", "goal %q is about unknown operation %q", g.Text, g.Operation)
	}
}

// maxRatePerS is one operation a nanosecond.
const maxRatePerS = 1e9

func (c *checker) closedPhase(ph *Phase) {
	sessions := max(c.plan.Settings.Sessions, 1)
	switch {
	case ph.Sessions < 0:
		c.add(ph.At, "give a number ≥ 0", "phase %q has %d sessions", ph.Name, ph.Sessions)
	case ph.Sessions > sessions:
		c.add(ph.At, "raise sessions to the most that a phase needs", "phase %q needs %d sessions and there are %d", ph.Name,
			ph.Sessions, sessions)
	}
	if ph.Duration == 0 && ph.Operations == 0 && c.plan.Mix != ByCount {
		c.add(ph.At, "add duration: 1m or operations: 1000", "phase %q has no end", ph.Name)
	}
}

func (c *checker) thresholds() {
	names := make([]string, len(c.plan.Operations))
	known := map[string]bool{}
	for i := range c.plan.Operations {
		names[i] = c.plan.Operations[i].Name
		known[names[i]] = true
	}
	for i := range c.plan.Thresholds {
		t := &c.plan.Thresholds[i]
		if t.Operation != "" && !known[t.Operation] {
			fix := "add operations"
			if len(names) > 0 {
				fix = suggest.DidYouMean(t.Operation, names)
			}
			c.cross(t.At, fix, "threshold %q is about unknown operation %q", t.Text, t.Operation)
		}
		if t.AbortDelay < 0 {
			c.add(t.At, "give a time ≥ 0", "threshold %q has a negative delay", t.Text)
		}
		m := metric.Find(t.Metric)
		if m == nil {
			c.add(t.At, suggest.DidYouMean(t.Metric, metric.Names()), "unknown metric %q", t.Metric)
			continue
		}
		c.oneOf(t.At, "aggregate", t.Aggregate, m.Aggregates...)
		c.oneOf(t.At, "comparison", t.Comparison, metric.Comparisons()...)
		if !(t.Quantile >= 0 && t.Quantile <= 100) || !finite(t.Limit) {
			c.add(t.At, "write for example p(99) < 10ms", "threshold %q", t.Text)
		}
	}
}

// keyspace checks how operations use parts of records.
func (c *checker) keyspace() {
	p := c.plan
	at := p.Where.At("keyspace", Position{})
	k := p.Keyspace
	if k != nil {
		if err := k.Validate(); err != nil {
			what, fix := cutLast(err.Error(), "; ")
			c.add(at, fix, "keyspace: %s", what)
		}
	}
	for i := range p.Operations {
		op := &p.Operations[i]
		for s := range op.Steps {
			for _, param := range op.Steps[s].Params {
				switch {
				case param.Part == "":
				case k == nil:
					c.cross(param.At, "add a keyspace", "a part of a record, and the plan has no records")
				case param.Part == keyspace.Field && param.Field != "" && !slices.Contains(k.Fields, param.Field):
					c.cross(param.At, suggest.DidYouMean(param.Field, k.Fields), "records have no field %q", param.Field)
				case !op.Inserts && k.Choice == nil && param.Part != keyspace.ScanLength:
					c.cross(param.At, "add choice to the keyspace, or inserts: true here", "nothing says which record is meant")
				}
			}
		}
	}
}

// variants checks the alternatives to a step's request and how one is chosen.
func (c *checker) variants(s *Step) {
	at := s.Where.At("variants", s.At)
	if len(s.Variants) == 0 {
		if s.Pick != (Pick{}) {
			c.add(s.Where.At("pick", s.At), "remove it or add variants", "pick without variants")
		}
		c.parts(s)
		return
	}
	c.oneOf(s.Where.At("pick", at), "pick", s.Pick.By, PickTurn, PickWalk, PickField, PickOtherField)
	k := c.plan.Keyspace
	switch byField := s.Pick.By == PickField || s.Pick.By == PickOtherField; {
	case s.Pick.By == "":
		c.add(at, "add pick: turn", "variants, and nothing says how one is picked")
	case byField && (k == nil || len(k.Fields) != len(s.Variants)):
		c.add(at, "give one for each field of the keyspace", "%d variants can't be picked by field", len(s.Variants))
	}
	for i := range s.Variants[1:] {
		one := *s
		one.Request = s.Variants[i+1]
		c.request(&one)
		if len(one.Request.Capture) != len(s.Request.Capture) || one.Request.Rows != s.Request.Rows {
			c.add(at, "give all the same number of captures and rows", "variant %d differs from the first", i+2)
		}
	}
	c.parts(s)
}

// wrong checks the deliberately wrong request of a step.
func (c *checker) wrong(s *Step) {
	w := &s.Wrong
	if w.Share == 0 && w.Expect == "" {
		return
	}
	at := s.Where.At("wrong", s.At)
	if !(w.Share > 0 && w.Share <= 1) {
		c.add(at, "give a share above 0 and up to 1", "share is %v", w.Share)
	}
	if strings.TrimSpace(w.Expect) == "" {
		c.add(at, "add expect: the error's code, a class of failures, or any", "nothing says how the wrong request must fail")
	}
	if len(w.Request.Capture) > 0 {
		c.add(at, "remove capture", "a request that fails has no answer to keep")
	}
	one := *s
	one.Request, one.Variants = w.Request, nil
	if w.Request.Web == nil && w.Request.Verb == protocol.HTTP {
		return // already reported
	}
	if !UsesParams(&w.Request) {
		one.Params = nil
	}
	c.request(&one)
}

// parts checks settings that only a step with a keyspace can have.
func (c *checker) parts(s *Step) {
	byField := s.Pick.By == PickField || s.Pick.By == PickOtherField
	for i := range s.Params {
		if p := &s.Params[i]; p.Part == keyspace.Field && p.Field == "" && !byField {
			c.add(p.At, "name it, or pick variants by field", "nothing says which field parameter %d is", i+1)
		}
	}
	if s.Check == "" {
		return
	}
	at := s.Where.At("check", s.At)
	c.oneOf(at, "check", string(s.Check), string(keyspace.CheckFields), string(keyspace.CheckSome),
		string(keyspace.CheckDocument))
	switch {
	case c.plan.Keyspace == nil:
		c.add(at, "add a keyspace", "a check of records, and the plan has none")
	case !c.plan.Keyspace.Integrity:
		c.add(at, "add integrity: true to the keyspace", "what records hold can't be checked")
	case len(s.Params) == 0 || s.Params[0].Part != keyspace.Key || len(s.Request.Capture) == 0:
		c.add(at, "make the record's key the first parameter, and capture its fields", "a check without a record")
	}
}
