// Package executor adds two executors to k6: brunt-open, whose iterations are queued instead of dropped, and
// brunt-native, which runs a plan on brunt's own engine.
package executor

import (
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/executor"
	"go.k6.io/k6/v2/lib/types"
	"gopkg.in/guregu/null.v3"

	"brunt/internal/dialect/k6/session"
	"brunt/internal/load/schedule"
)

// Names of the executors in a script's scenarios.
const (
	OpenType   = "brunt-open"
	NativeType = "brunt-native"
)

// Register adds the executors to k6. It must be called once.
func Register(s *session.Session) {
	lib.RegisterExecutorConfigType(OpenType, func(name string, text []byte) (lib.ExecutorConfig, error) {
		c := &OpenConfig{BaseConfig: executor.NewBaseConfig(name, OpenType),
			TimeUnit: types.NewNullDuration(time.Second, false), s: s}
		return c, readOptions(name, text, c)
	})
	lib.RegisterExecutorConfigType(NativeType, func(name string, text []byte) (lib.ExecutorConfig, error) {
		c := &NativeConfig{BaseConfig: executor.NewBaseConfig(name, NativeType), s: s}
		return c, readOptions(name, text, c)
	})
}

// OpenConfig is a scenario of brunt-open: a rate over a duration, or stages. Each iteration begins when it is due or,
// if all VUs are busy then, as soon as one is free. No iteration is dropped before gracefulStop is over.
type OpenConfig struct {
	executor.BaseConfig
	Rate            null.Float         `json:"rate"`      // iterations per timeUnit
	StartRate       null.Float         `json:"startRate"` // with stages: the rate at the start of the first; default 0
	TimeUnit        types.NullDuration `json:"timeUnit"`  // default 1s
	Duration        types.NullDuration `json:"duration"`
	Stages          []Stage            `json:"stages"`
	Arrivals        null.String        `json:"arrivals"`        // "uniform" or "poisson"; default "uniform"
	TimingTolerance types.NullDuration `json:"timingTolerance"` // delay that lets iterations begin together; default 0
	PreAllocatedVUs null.Int           `json:"preAllocatedVUs"`
	MaxVUs          null.Int           `json:"maxVUs"` // default preAllocatedVUs

	s *session.Session
}

// Stage is a period over which the rate changes linearly to its target.
type Stage struct {
	Duration types.NullDuration `json:"duration"`
	Target   null.Float         `json:"target"` // iterations per timeUnit
}

var _ lib.ExecutorConfig = (*OpenConfig)(nil)

// mostTolerance is the highest timingTolerance.
const mostTolerance = time.Second

// mostPerS is the highest rate that is accepted: one iteration a nanosecond.
const mostPerS = 1e9

// Validate implements lib.ExecutorConfig.
func (c *OpenConfig) Validate() (faults []error) {
	faults = c.BaseConfig.Validate()
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.TimeUnit.TimeDuration() <= 0 {
		add("the timeUnit must be more than 0")
	}
	if len(c.Stages) == 0 {
		if !(c.Rate.Float64 > 0) {
			add("the rate must be given, and more than 0 (or give stages)")
		}
		if c.Duration.TimeDuration() <= 0 {
			add("the duration must be given, and more than 0 (or give stages)")
		}
	} else if c.Rate.Valid || c.Duration.Valid {
		add("give stages, or rate and duration, not both")
	}
	for i, st := range c.Stages {
		if st.Duration.TimeDuration() < 0 || !st.Duration.Valid || !(st.Target.Float64 >= 0) || !st.Target.Valid {
			add("stage %d needs a duration and a target of 0 or more", i+1)
		}
	}
	if a := c.Arrivals.String; a != "" && a != "uniform" && a != "poisson" {
		add(`arrivals %q: use "uniform" or "poisson"`, a)
	}
	if d := c.TimingTolerance.TimeDuration(); d < 0 || d > mostTolerance {
		add("the timingTolerance must be from 0 to %v", mostTolerance)
	}
	if c.PreAllocatedVUs.Int64 <= 0 {
		add("preAllocatedVUs must be given, and more than 0")
	}
	if c.MaxVUs.Valid && c.MaxVUs.Int64 < c.PreAllocatedVUs.Int64 {
		add("maxVUs can't be less than preAllocatedVUs")
	}
	if len(faults) == 0 {
		if shape, err := c.shape(); err != nil {
			faults = append(faults, err)
		} else if shape.DurationNs() == 0 {
			faults = append(faults, errors.New("the stages last no time"))
		}
	}
	return faults
}

// shape returns the rate over time, for all instances together.
func (c *OpenConfig) shape() (*schedule.Shape, error) {
	perS := func(rate float64) float64 { return rate / c.TimeUnit.TimeDuration().Seconds() }
	var segments []schedule.Segment
	if len(c.Stages) == 0 {
		r := perS(c.Rate.Float64)
		segments = []schedule.Segment{{DurationNs: int64(c.Duration.TimeDuration()), RateFrom: r, RateTo: r}}
	}
	from := perS(c.StartRate.Float64)
	for _, st := range c.Stages {
		to := perS(st.Target.Float64)
		segments = append(segments, schedule.Segment{DurationNs: int64(st.Duration.TimeDuration()), RateFrom: from,
			RateTo: to})
		from = to
	}
	for _, g := range segments {
		if g.RateTo > mostPerS || g.RateFrom > mostPerS {
			return nil, fmt.Errorf("the rate is above %g/s", float64(mostPerS))
		}
	}
	return schedule.NewShape(segments, 0)
}

func (c *OpenConfig) process() schedule.Process {
	if c.Arrivals.String == "poisson" {
		return schedule.Poisson
	}
	return schedule.Uniform
}

// Open returns true: the iterations follow a schedule.
func (c *OpenConfig) Open() bool { return true }

func (c *OpenConfig) length() time.Duration {
	shape, err := c.shape()
	if err != nil {
		return 0
	}
	return time.Duration(shape.DurationNs())
}

// vus returns how many VUs an instance starts with, and how many it may have.
func (c *OpenConfig) vus(et *lib.ExecutionTuple) (planned, most int64) {
	planned = et.ScaleInt64(c.PreAllocatedVUs.Int64)
	return planned, max(planned, et.ScaleInt64(c.MaxVUs.Int64))
}

// GetExecutionRequirements implements lib.ExecutorConfig.
func (c *OpenConfig) GetExecutionRequirements(et *lib.ExecutionTuple) []lib.ExecutionStep {
	planned, most := c.vus(et)
	return []lib.ExecutionStep{
		{PlannedVUs: uint64(planned), MaxUnplannedVUs: uint64(most - planned)},
		{TimeOffset: c.length() + c.GetGracefulStop()},
	}
}

// GetDescription implements lib.ExecutorConfig.
func (c *OpenConfig) GetDescription(et *lib.ExecutionTuple) string {
	planned, most := c.vus(et)
	vus := fmt.Sprintf("maxVUs: %d", planned)
	if most > planned {
		vus += fmt.Sprintf("-%d", most)
	}
	what := fmt.Sprintf("%g iterations/s", et.Segment.FloatLength()*c.Rate.Float64/c.TimeUnit.TimeDuration().Seconds())
	if len(c.Stages) > 0 {
		what = fmt.Sprintf("%d stages of iterations/s", len(c.Stages))
	}
	return fmt.Sprintf("%s for %s, queued and timed from their intended start (%s, gracefulStop: %s)", what, c.length(),
		vus, c.GetGracefulStop())
}

// NewExecutor implements lib.ExecutorConfig.
func (c *OpenConfig) NewExecutor(es *lib.ExecutionState, logger *logrus.Entry) (lib.Executor, error) {
	c.s.State(es)
	return &open{BaseExecutor: executor.NewBaseExecutor(c, es, logger), c: c, es: es, logger: logger}, nil
}

// HasWork implements lib.ExecutorConfig.
func (c *OpenConfig) HasWork(et *lib.ExecutionTuple) bool {
	planned, _ := c.vus(et)
	return planned > 0
}
