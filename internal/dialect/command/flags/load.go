package flags

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"brunt/internal/engine/machine"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
)

// Load contains the values of the flags that every load has.
type Load struct {
	Given      Given
	Thresholds []string // added to the plan's
	Account    bool     // account for outages
	Poisson    bool
	WarmUp     time.Duration
	Pipeline   int // requests in flight per session
	Timeout    time.Duration
	Late       string // one of Choices
	Outage     string // one of Choices
	Tolerance  time.Duration
	Spin       time.Duration
	Tier       string // one of Choices
	Loops      int
	Awake      string // one of Choices
	Interval   time.Duration
}

// Choices returns the values of a flag that takes one of several words; nil for other flags.
func Choices(flag string) []string {
	switch flag {
	case "late":
		return []string{"queue", "drop"}
	case "outage":
		return []string{"fail", "wait"}
	case "tier":
		return []string{plan.TierAuto, plan.TierCodec, plan.TierLibrary}
	case "awake":
		return []string{machine.Auto, machine.On, machine.Off}
	}
	return nil
}

// OneOf returns an error unless the value of a flag is one of some words.
func OneOf(flag, value string, words []string) error {
	if slices.Contains(words, value) {
		return nil
	}
	last := len(words) - 1
	return fmt.Errorf("--%s %s: use %s or %s", flag, value, strings.Join(words[:last], ", "), words[last])
}

// Above returns an error unless the time that a flag gives is above zero.
func Above(flag string, d time.Duration) error {
	if d <= 0 {
		return exitcode.Usage(fmt.Errorf("--%s %s: give a time above zero, such as 30s", flag, d))
	}
	return nil
}

// Settings applies the flags to a plan's settings.
func (l *Load) Settings(s *plan.Settings) error {
	for _, f := range []struct {
		name, value string
		to          *string
	}{
		{"late", l.Late, &s.LatePolicy},
		{"outage", l.Outage, &s.Outage},
		{"tier", l.Tier, &s.Tier},
		{"awake", l.Awake, &s.Awake},
	} {
		if !l.Given(f.name) {
			continue
		}
		if err := OneOf(f.name, f.value, Choices(f.name)); err != nil {
			return err
		}
		*f.to = f.value
	}
	for _, f := range []struct {
		name  string
		value time.Duration
		to    *time.Duration
	}{
		{"timeout", l.Timeout, &s.OperationTimeout},
		{"interval", l.Interval, &s.Interval},
	} {
		if !l.Given(f.name) {
			continue
		}
		if err := Above(f.name, f.value); err != nil {
			return err
		}
		*f.to = f.value
	}
	if l.Given("pipeline") {
		if l.Pipeline < 1 {
			return fmt.Errorf("--pipeline %d: give a number of at least 1", l.Pipeline)
		}
		s.Pipeline = l.Pipeline
	}
	override(l.Given, "timing-tolerance", &s.TimingTolerance, l.Tolerance)
	override(l.Given, "spin", &s.Spin, l.Spin)
	override(l.Given, "loops", &s.Loops, l.Loops)
	return nil
}

// Shape applies the flags to a plan's load and thresholds, and checks the resulting plan.
func (l *Load) Shape(p *plan.Plan) error {
	for i := range p.Load {
		if l.Poisson && p.Load[i].Kind == plan.Open {
			p.Load[i].Arrivals = "poisson"
		}
	}
	if l.Given("warm-up") {
		if err := plan.WarmUp(p, l.WarmUp); err != nil {
			return fmt.Errorf("--warm-up %s: %w", l.WarmUp, err)
		}
	}
	if l.Account {
		p.Account.Enabled = true
	}
	if err := p.Require(l.Thresholds); err != nil {
		return err
	}
	if problems := p.Validate(); len(problems) > 0 {
		return problems
	}
	return nil
}
