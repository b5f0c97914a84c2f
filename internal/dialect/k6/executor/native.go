package executor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/executor"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
	"gopkg.in/guregu/null.v3"

	"brunt/internal/dialect/k6/native"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/load/schedule"
	"brunt/internal/plan"
	"brunt/internal/render/units"
	"brunt/internal/server/target"
)

// NativeConfig is a scenario of brunt-native: a plan, and options that replace parts of it.
type NativeConfig struct {
	executor.BaseConfig
	Plan      null.String        `json:"plan"` // a plan's file, or its text
	Addresses []string           `json:"addresses"`
	User      null.String        `json:"user"`
	Password  null.String        `json:"password"` // BRUNT_PASSWORD is safer
	Sessions  null.Int           `json:"sessions"` // of all instances together
	Rate      null.Float         `json:"rate"`     // operations a second for duration, instead of the plan's load
	Duration  types.NullDuration `json:"duration"`

	s *session.Session
}

var _ lib.ExecutorConfig = (*NativeConfig)(nil)

// plan returns the plan, before it is cut to an instance's part.
func (c *NativeConfig) plan() native.Plan {
	n := native.Plan{
		Addresses: c.Addresses, User: c.User.String, Password: c.Password.String,
		Sessions: int(c.Sessions.Int64), Rate: c.Rate.Float64, Duration: c.Duration.TimeDuration(),
		Grace: c.GetGracefulStop(),
	}
	if native.Inline(c.Plan.String) {
		n.Text = c.Plan.String
	} else {
		n.File = c.Plan.String
	}
	return n
}

// Validate implements lib.ExecutorConfig.
func (c *NativeConfig) Validate() (faults []error) {
	faults = c.BaseConfig.Validate()
	if c.Plan.String == "" {
		return append(faults, errors.New(`give a plan: its file, or its text by open("file")`))
	}
	if c.Rate.Valid != c.Duration.Valid || c.Rate.Valid && (!(c.Rate.Float64 > 0) || c.Duration.TimeDuration() <= 0) {
		faults = append(faults, errors.New("rate and duration go together, and both must be more than 0"))
	}
	p, err := c.plan().Read()
	if err != nil {
		return append(faults, err)
	}
	if err := p.Validate(); err != nil {
		faults = append(faults, err)
	}
	return faults
}

// Open reports whether the plan's operations follow a schedule.
func (c *NativeConfig) Open() bool {
	p, err := c.plan().Read()
	return err == nil && p.LoadModel() != "closed"
}

// length returns how long the plan's load lasts, 0 if that is unknown.
func (c *NativeConfig) length() (d time.Duration) {
	p, err := c.plan().Read()
	if err != nil {
		return 0
	}
	for i := range p.Load {
		d += p.Load[i].Duration
	}
	return d
}

// GetExecutionRequirements implements lib.ExecutorConfig. It needs no VUs.
func (c *NativeConfig) GetExecutionRequirements(*lib.ExecutionTuple) []lib.ExecutionStep {
	return []lib.ExecutionStep{{}, {TimeOffset: c.length() + c.GetGracefulStop()}}
}

// GetDescription implements lib.ExecutorConfig.
func (c *NativeConfig) GetDescription(*lib.ExecutionTuple) string {
	what := "a plan"
	if !native.Inline(c.Plan.String) {
		what = c.Plan.String
	}
	return fmt.Sprintf("%s for %s on brunt's own engine (gracefulStop: %s)", what, c.length(), c.GetGracefulStop())
}

// HasWork implements lib.ExecutorConfig.
func (c *NativeConfig) HasWork(*lib.ExecutionTuple) bool { return true }

// NewExecutor implements lib.ExecutorConfig. It fails, before any load, if the plan can't be divided among instances.
func (c *NativeConfig) NewExecutor(es *lib.ExecutionState, logger *logrus.Entry) (lib.Executor, error) {
	c.s.State(es)
	e := &nativeRun{BaseExecutor: executor.NewBaseExecutor(c, es, logger), c: c, es: es, n: c.plan()}
	return e, e.cut(&e.n)
}

// nativeRun is the executor of brunt-native.
type nativeRun struct {
	*executor.BaseExecutor
	c  *NativeConfig
	es *lib.ExecutionState
	n  native.Plan // this instance's part
}

// Run implements lib.Executor.
func (e *nativeRun) Run(ctx context.Context, out chan<- metrics.SampleContainer) error {
	n, s := e.n, e.c.s
	s.Samples(out)
	tags := e.es.Test.RunTags.With(metrics.TagScenario.String(), e.c.GetName())
	iterations := e.es.Test.BuiltinMetrics.Iterations
	begun, length := time.Now(), e.c.length()
	var done atomic.Uint64
	progress := func() (float64, []string) {
		return passed(begun, length, units.Plural(done.Load(), "operation", "operations"))
	}
	show(e.GetProgress().Modify, atWork, progress)
	n.Interval = func(finished uint64) {
		done.Add(finished)
		e.es.AddFullIterations(finished)
		metrics.PushIfNotDone(ctx, out, metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: iterations, Tags: tags}, Time: time.Now(), Value: float64(finished),
		})
	}
	n.Interval(0) // k6's summary fails if there are no samples
	_, err := native.Run(ctx, s, n)
	showEnd(e.GetProgress().Modify, err == nil && ctx.Err() == nil, progress)
	if ctx.Err() != nil {
		return nil // k6 knows the reason
	}
	if _, ok := errors.AsType[*target.UsageError](err); ok {
		return errext.WithExitCodeIfNone(err, exitcodes.InvalidConfig)
	}
	return errext.WithExitCodeIfNone(err, exitcodes.ScriptException)
}

// part returns what an instance takes of a schedule, by k6's striped offsets.
func part(et *lib.ExecutionTuple) (p schedule.Part) {
	start, gaps, lcd := et.GetStripedOffsets()
	if lcd <= 1 {
		return p
	}
	p.Of = uint64(lcd)
	for i, at := 0, start; i < len(gaps); at, i = at+gaps[i], i+1 {
		p.Takes = append(p.Takes, uint64(at))
	}
	return p
}

// cut reduces the plan to the part of this instance.
func (e *nativeRun) cut(n *native.Plan) error {
	et := e.es.ExecutionTuple
	if n.Part = part(et); n.Part.Of == 0 {
		return nil
	}
	p, err := n.Read()
	if err != nil {
		return err
	}
	sessions := p.Settings.WithDefaults().Sessions
	n.Sessions = max(1, int(et.ScaleInt64(int64(sessions))))
	for i := range p.Load {
		if p.Load[i].Kind == plan.Closed && p.Load[i].Sessions > n.Sessions {
			return errext.WithExitCodeIfNone(
				fmt.Errorf("scenario %s: phase %s names sessions of its own, which can't be shared out", e.c.GetName(),
					p.Load[i].Name), exitcodes.InvalidConfig)
		}
	}
	return nil
}
