package executor

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/executor"
	"go.k6.io/k6/v2/metrics"

	"brunt/internal/dialect/k6/private"
	"brunt/internal/dialect/k6/session"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// growEvery is the interval of checks whether more VUs are needed.
const growEvery = 20 * time.Millisecond

// open is the executor of brunt-open. Each VU takes the next arrival of the schedule, sleeps until it is due, and runs
// the iteration. While all VUs are busy, due arrivals wait in the schedule.
type open struct {
	*executor.BaseExecutor
	c         *OpenConfig
	es        *lib.ExecutionState
	logger    *logrus.Entry
	account   *measure.Shared
	counter   *lib.SegmentedIndex
	counterMu sync.Mutex

	queue   *queue
	startNs int64 // of the schedule, on the run's clock
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	failed  atomic.Pointer[error] // error of an iteration that ends the run
	of      session.Scenario
}

// Init implements lib.Executor.
func (e *open) Init(context.Context) error {
	e.account = e.c.s.Recorder(e.tell)
	e.of.Name = e.c.GetName()
	e.counter = lib.NewSegmentedIndex(e.es.ExecutionTuple)
	return nil
}

// tell reports how many arrivals became due and are waiting. It is called just before an interval is cut.
func (e *open) tell(r *measure.Recorder) {
	if q := e.queue; q != nil {
		fresh, waiting, running := q.state(e.c.s.Now() - e.startNs)
		r.Offer(fresh)
		r.SetGauges(nil, running, waiting, 0)
	}
}

// Run implements lib.Executor.
func (e *open) Run(parent context.Context, out chan<- metrics.SampleContainer) error {
	shape, err := e.c.shape()
	if err != nil {
		return err
	}
	s := e.c.s
	s.Samples(out)
	length := time.Duration(shape.DurationNs())
	begun := time.Now()
	ctx, cancel := context.WithDeadline(parent, begun.Add(length+e.c.GetGracefulStop()))
	defer cancel()
	e.cancel = cancel
	queue := newQueue(&schedule.Stage{Shape: shape, Process: e.c.process(), Seed: s.Seed(),
		Part: part(e.es.ExecutionTuple)})
	e.account.Do(func(*measure.Recorder) { e.startNs, e.queue = s.At(begun), queue })
	s.Tolerates(e.c.TimingTolerance.TimeDuration())
	defer s.Working(true)()
	progress := func() (float64, []string) {
		waiting, running := queue.now(s.Now() - s.At(begun))
		return passed(begun, length, fmt.Sprintf("%d VUs at work", running), fmt.Sprintf("%d iterations wait", waiting))
	}
	show(e.GetProgress().Modify, atWork, progress)
	defer func() { showEnd(e.GetProgress().Modify, parent.Err() == nil && e.failed.Load() == nil, progress) }()
	run := lib.WithScenarioState(ctx, &lib.ScenarioState{Name: e.c.GetName(), Executor: OpenType, StartTime: begun,
		ProgressFn: progress})
	planned, most := e.c.vus(e.es.ExecutionTuple)
	for range planned {
		vu, err := e.es.GetPlannedVU(e.logger, true)
		if err != nil {
			cancel()
			e.wg.Wait()
			return err
		}
		e.launch(run, vu)
	}
	e.wg.Go(func() { e.grow(run, most-planned) })
	e.waitForTheEnd(ctx, begun.Add(length))
	e.wg.Wait()
	e.giveUp()
	if err := e.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// waitForTheEnd returns when the schedule is over. Arrivals that are still waiting then count as overdue.
func (e *open) waitForTheEnd(ctx context.Context, end time.Time) {
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	select {
	case <-timer.C:
		e.account.Do(func(r *measure.Recorder) {
			fresh, waiting, _ := e.queue.state(e.c.s.Now() - e.startNs)
			r.Offer(fresh)
			e.c.s.Overdue(waiting)
		})
	case <-ctx.Done():
	}
}

// giveUp counts the arrivals that were due and never begun.
func (e *open) giveUp() {
	e.account.Do(func(r *measure.Recorder) {
		fresh, waiting, _ := e.queue.state(e.c.s.Now() - e.startNs)
		r.Offer(fresh)
		if waiting > 0 {
			r.GiveUp(e.of.Operation(e.c.s), measure.UnsentLoadOver, waiting)
		}
		r.SetGauges(nil, 0, 0, 0)
		e.queue = nil
	})
}

// grow starts additional VUs while arrivals are waiting, until all have been taken.
func (e *open) grow(ctx context.Context, most int64) {
	ticker := time.NewTicker(growEvery)
	defer ticker.Stop()
	for n := int64(0); n < most; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if e.queue.given() {
			return
		}
		waiting := uint64(0)
		e.account.Do(func(r *measure.Recorder) {
			var fresh uint64
			fresh, waiting, _ = e.queue.state(e.c.s.Now() - e.startNs)
			r.Offer(fresh)
		})
		if waiting == 0 {
			continue
		}
		n++
		vu, err := e.es.GetUnplannedVU(ctx, e.logger)
		if err != nil {
			e.logger.WithError(err).Error("Error while allocating unplanned VU")
			return
		}
		e.es.ModCurrentlyActiveVUsCount(+1)
		e.launch(ctx, vu)
	}
}

// launch starts a VU, which works until the schedule is over.
func (e *open) launch(ctx context.Context, vu lib.InitializedVU) {
	vuCtx, stop := context.WithCancel(ctx)
	h := e.c.s.Handle(vu.GetID())
	returned := make(chan struct{})
	active := vu.Activate(&lib.VUActivationParams{
		RunContext: h.Traced(vuCtx), Scenario: e.c.GetName(), Exec: e.c.GetExec(), Env: e.c.GetEnv(), Tags: e.c.GetTags(),
		GetNextIterationCounters: e.nextIteration,
		DeactivateCallback: func(u lib.InitializedVU) {
			e.es.ReturnVU(u, true)
			close(returned)
		},
	})
	e.wg.Go(func() {
		e.work(vuCtx, active, h)
		stop()
		<-returned
	})
}

func (e *open) nextIteration() (local, global uint64) {
	e.counterMu.Lock()
	defer e.counterMu.Unlock()
	scaled, unscaled := e.counter.Next()
	return uint64(scaled - 1), uint64(unscaled - 1)
}

// work runs iterations one after the other, each when it is due.
func (e *open) work(ctx context.Context, vu lib.ActiveVU, h *session.Handle) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	q, now, tolerance := e.queue, e.c.s.Now, int64(e.c.TimingTolerance.TimeDuration())
	a := session.Arrival{Ready: now()}
	for {
		due, ok := q.take()
		if !ok {
			return
		}
		a.Intended = e.startNs + due
		wait := a.Intended - now()
		if tolerance > 0 && wait > 0 {
			wait += (tolerance - due%tolerance) % tolerance // so that several begin together
		}
		if wait > 0 {
			timer.Reset(time.Duration(wait))
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		q.begin()
		a.Began = now()
		a.Behind = h.Begin(&e.of, a)
		err := vu.RunOnce()
		a.Ready = now()
		e.ended(ctx, h, a.Ready, err)
		q.end()
		if e.failed.Load() != nil {
			return
		}
	}
}

// ended counts a finished iteration.
func (e *open) ended(ctx context.Context, h *session.Handle, end int64, err error) {
	interrupt := errext.IsInterruptError(err)
	if ctx.Err() != nil || interrupt {
		e.es.AddInterruptedIterations(1)
		h.End(end, protocol.OK, true)
		if interrupt && ctx.Err() == nil {
			e.failed.CompareAndSwap(nil, &err)
			e.cancel()
		}
		return
	}
	class := protocol.OK
	if err != nil {
		class = protocol.Client
		text, fields := errext.Format(err)
		e.logger.WithFields(logrus.Fields(fields)).Error(text)
	}
	e.es.AddFullIterations(1)
	h.End(end, class, false)
}

// Marks of k6's progress bars for the state of a scenario.
const (
	atWork = ' '
	whole  = '✓'
	cutOff = '✗'
)

// show sets the progress function and the status of a progress bar. modify is the bar's method; progress returns the
// share of the scenario that is over, and the texts after the bar. The type of k6's bars is in an internal package, so
// two fields are set by their names. If they don't exist, the bar is left unchanged.
func show[Bar any, Option ~func(*Bar)](modify func(...Option), status rune, progress func() (float64, []string)) {
	modify(func(bar *Bar) {
		for name, value := range map[string]any{"status": status, "progress": progress} {
			private.Set(bar, name, value)
		}
	})
}

// showEnd sets the final state of the progress bar.
func showEnd[Bar any, Option ~func(*Bar)](modify func(...Option), complete bool, progress func() (float64, []string)) {
	share, behind := progress()
	status := cutOff
	if complete {
		status, share = whole, 1
	}
	show(modify, status, func() (float64, []string) { return share, behind })
}

// passed returns which share of length is over, and texts for the progress bar: the time, then more. A length of 0
// means unknown.
func passed(begun time.Time, length time.Duration, more ...string) (share float64, behind []string) {
	if length == 0 {
		return 0, more
	}
	spent := min(time.Since(begun), length)
	text := length.String()
	if spent < length {
		share = float64(spent) / float64(length)
		text = spent.Truncate(100*time.Millisecond).String() + "/" + text
	} else {
		share = 1
	}
	return share, append([]string{text}, more...)
}
