package plan

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
	c.oneOf(ph.At, "arrivals", ph.Arrivals, "uniform", "poisson")
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
}

// maxRatePerS is one operation a nanosecond.
const maxRatePerS = 1e9

func (c *checker) closedPhase(ph *Phase) {
	sessions := max(c.plan.Settings.Sessions, 1)
	switch {
	case ph.Sessions < 0:
		c.add(ph.At, "give a number ≥ 0", "phase %q has %d sessions", ph.Name, ph.Sessions)
	case ph.Sessions > sessions:
		c.add(ph.At, "raise sessions to the most that a phase needs", "phase %q needs %d sessions and there are %d", ph.Name, ph.Sessions, sessions)
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
				fix = didYouMean(t.Operation, names)
			}
			c.cross(t.At, fix, "threshold %q is about unknown operation %q", t.Text, t.Operation)
		}
		if t.AbortDelay < 0 {
			c.add(t.At, "give a time ≥ 0", "threshold %q has a negative delay", t.Text)
		}
		known := aggregatesOf(t.Metric)
		if known == nil {
			c.add(t.At, didYouMean(t.Metric, ThresholdMetrics()), "unknown metric %q", t.Metric)
			continue
		}
		c.oneOf(t.At, "aggregate", t.Aggregate, known...)
		c.oneOf(t.At, "comparison", t.Comparison, "<", "<=", ">", ">=", "==", "!=")
		if !(t.Quantile >= 0 && t.Quantile <= 100) || !finite(t.Limit) {
			c.add(t.At, "write for example p(99) < 10ms", "threshold %q", t.Text)
		}
	}
}
