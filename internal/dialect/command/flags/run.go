package flags

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"brunt/internal/load/schedule"
	"brunt/internal/plan"
)

// Run contains the values of further flags for the load of a plan, in addition to Load.
type Run struct {
	Sessions       int
	Balance        string
	Retries        int
	ErrorThreshold float64       // per cent of the operations
	Scale          float64       // multiplies the plan's rates
	Duration       time.Duration // length of the load; see plan.Lasting. Only for commands that keep the plan's load
	Part           string        // K/N; "" means the whole load
}

// Apply applies the flags to p. If load is not nil, it replaces the plan's load. Then Apply applies the flags of l.
func (r *Run) Apply(p *plan.Plan, l *Load, load *plan.Load) error {
	if err := r.settings(&p.Settings, l); err != nil {
		return err
	}
	override(l.Given, "balance", &p.Target.Balance.Mode, r.Balance)
	if load != nil {
		if err := p.SetLoad(*load); err != nil {
			return err
		}
	}
	if load == nil && l.Given("duration") {
		if err := Above("duration", r.Duration); err != nil {
			return err
		}
		if err := plan.Lasting(p, r.Duration); err != nil {
			return fmt.Errorf("--duration %s: %w", r.Duration, err)
		}
	}
	if l.Given("scale") {
		if err := plan.Scale(p, r.Scale); err != nil {
			return fmt.Errorf("--scale: %w", err)
		}
	}
	if l.Given("vu") {
		if err := SetSessions(p, r.Sessions); err != nil {
			return err
		}
	}
	if len(p.Load) == 0 {
		return fmt.Errorf(
			"plan %s doesn't say how its load goes; add a load section or counts, or use brunt run --duration, brunt rate or "+
				"brunt spike", p.Name)
	}
	return l.Shape(p)
}

// SetSessions applies the flag --vu: n sessions, which closed phases use all.
func SetSessions(p *plan.Plan, n int) error {
	if n < 1 {
		return fmt.Errorf("--vu %d: a load needs at least 1 session", n)
	}
	p.Settings.Sessions = n
	for i := range p.Load {
		if p.Load[i].Kind == plan.Closed {
			p.Load[i].Sessions = 0
		}
	}
	return nil
}

// settings applies the flags to a plan's settings.
func (r *Run) settings(s *plan.Settings, l *Load) error {
	if l.Given("retries") {
		if r.Retries < 0 {
			return fmt.Errorf("--retries %d: give a number of at least 0", r.Retries)
		}
		if s.Retries = r.Retries; r.Retries == 0 {
			s.Retries = -1
		}
	}
	if l.Given("error-threshold") {
		if r.ErrorThreshold < 0 || r.ErrorThreshold > 100 {
			return fmt.Errorf("--error-threshold %g: give a percentage from 0 to 100", r.ErrorThreshold)
		}
		s.ErrorThreshold = r.ErrorThreshold
	}
	return l.Settings(s)
}

// maxParts is the maximum number of machines for one load.
const maxParts = 10000

// ParsePart parses the flag Part.
func (r *Run) ParsePart() (schedule.Part, error) {
	if r.Part == "" {
		return schedule.Part{}, nil
	}
	first, of, _ := strings.Cut(r.Part, "/")
	k, err1 := strconv.ParseUint(first, 10, 64)
	n, err2 := strconv.ParseUint(of, 10, 64)
	if err1 != nil || err2 != nil || k < 1 || k > n || n > maxParts {
		return schedule.Part{}, fmt.Errorf("--part %s: write K/N, such as 1/3 for the first of three machines", r.Part)
	}
	return schedule.Part{Of: n, Takes: []uint64{k - 1}}, nil
}
