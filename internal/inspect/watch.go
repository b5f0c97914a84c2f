package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/record"
	"brunt/internal/secret"
	"brunt/internal/workload"
)

const (
	beginTimeout  = 10 * time.Second
	sampleTimeout = 5 * time.Second
	endTimeout    = 60 * time.Second
	samplePeriod  = 200 * time.Millisecond
	maxPeriod     = 10 * time.Second
	costBound     = 100 // samples take at most 1 part of so many of the time
)

// Watch inspects servers next to a load. It is a measure.Sink that only tells its goroutines: a server
// that answers slowly delays nothing.
type Watch struct {
	Writes bool         // see Load.Writes
	Tell   func(string) // see Load.Tell

	servers []*server
	stop    chan struct{} // closed when the sampling is to end
	stopped bool
	done    sync.WaitGroup
	counts  []measure.Counts // of each operation so far
}

var _ measure.Sink = (*Watch)(nil)

// server is one that is inspected, and what its goroutine knows.
type server struct {
	inspector Inspector
	intervals chan interval
	begun     time.Time
	phase     Phase
	phases    []record.Phase // as planned
	phaseNs   int64          // on the run's clock, when the phase began
	snapshot  time.Duration  // that the last one took
	snapped   time.Time      // when it was taken
	cost      record.InspectionCost
	broken    error
}

type interval struct {
	phase          Phase
	startNs, endNs int64
}

// NewWatch returns a watch of servers, of which there may be none.
func NewWatch(inspectors []Inspector) *Watch {
	w := &Watch{stop: make(chan struct{})}
	for _, i := range inspectors {
		w.servers = append(w.servers, &server{inspector: i, intervals: make(chan interval, 4)})
	}
	return w
}

// Start takes the first snapshots and begins to sample; the load comes right after. Its errors are the
// user's.
func (w *Watch) Start(run *record.Run) error {
	for _, s := range w.servers {
		ctx, cancel := context.WithTimeout(context.Background(), beginTimeout)
		err := s.inspector.Begin(ctx)
		cancel()
		if err != nil {
			return fmt.Errorf("inspect %s: %w", s.inspector.Name(), err)
		}
		s.begun, s.phases = time.Now(), slices.Clone(run.Phases)
		if len(run.Phases) > 0 {
			s.phase = Phase{run.Phases[0].Name, run.Phases[0].WarmUp}
		}
		w.done.Add(1)
		go func() {
			defer w.done.Done()
			s.run(w.stop)
		}()
	}
	return nil
}

// Interval implements measure.Sink. It never fails and never waits.
func (w *Watch) Interval(iv *measure.Interval) error {
	if len(w.servers) == 0 {
		return nil
	}
	for len(w.counts) < len(iv.Operations) {
		w.counts = append(w.counts, measure.Counts{})
	}
	for k := range iv.Operations {
		w.counts[k].Add(&iv.Operations[k].Counts)
	}
	for _, s := range w.servers {
		select {
		case s.intervals <- interval{Phase{iv.Phase, iv.WarmUp}, iv.StartNs, iv.EndNs}:
		default:
		}
	}
	return nil
}

// run samples, and takes snapshots where phases may meet, until it is stopped. A question under way is
// answered first: to give it up would cost the connection.
func (s *server) run(stop <-chan struct{}) {
	period := samplePeriod
	timer := time.NewTimer(period)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case iv := <-s.intervals:
			s.interval(iv)
		case <-timer.C:
			took := s.timed(func(ctx context.Context) error {
				return s.inspector.Sample(ctx, time.Since(s.begun))
			})
			period = min(max(samplePeriod, took*costBound), maxPeriod)
			timer.Reset(period)
		}
	}
}

// interval notes where phases meet. An interval is reported at its end, so the end of the phase before
// is where the interval before ended: at the snapshot that was taken then.
func (s *server) interval(iv interval) {
	if iv.phase != s.phase {
		s.inspector.Mark(s.phase)
		s.phase, s.phaseNs = iv.phase, iv.startNs
	}
	if s.mayEnd(iv) {
		s.snapshot, s.snapped = s.timed(s.inspector.Snapshot), time.Now()
	}
}

// mayEnd reports whether the phase may end where the interval does. Where its length isn't known, that
// is any interval's end, as often as snapshots may be taken.
func (s *server) mayEnd(iv interval) bool {
	if len(s.phases) == 1 {
		return false
	}
	for i := range s.phases {
		if p := &s.phases[i]; p.Name == s.phase.Name && p.DurationNs > 0 {
			return iv.endNs+(iv.endNs-iv.startNs)/2 >= s.phaseNs+p.DurationNs
		}
	}
	return time.Since(s.snapped) >= s.snapshot*costBound
}

// timed asks the server something and notes what it cost.
func (s *server) timed(ask func(context.Context) error) time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), sampleTimeout)
	defer cancel()
	began := time.Now()
	err := ask(ctx)
	took := time.Since(began)
	s.cost.TimeNs += int64(took)
	if err != nil {
		s.broken = err
		s.cost.Skipped++
	}
	return took
}

// Finish ends the sampling, looks closer, and returns what each server said, with warnings of what went
// wrong. It comes after the last interval. Whole inspections go into the bundle's folder, "" if none is
// kept. When hard is closed, looking closer ends.
func (w *Watch) Finish(hard <-chan struct{}, fsys record.FS, bundle string,
	load *workload.Workload) ([]record.Inspection, []record.Warning) {
	w.halt()
	about := Load{Operations: operations(load, w.counts), Writes: w.Writes, Tell: w.Tell}
	var out []record.Inspection
	var warnings []record.Warning
	for k, s := range w.servers {
		if s.begun.IsZero() {
			continue
		}
		duration := time.Since(s.begun)
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		go func() {
			select {
			case <-hard:
				cancel()
			case <-ctx.Done():
			}
		}()
		found, err := s.inspector.End(ctx, s.phase, about)
		cancel()
		if err == nil {
			err = s.broken
		}
		if err != nil {
			warnings = append(warnings, record.Notice("inspect", message.Text("server", s.inspector.Name()),
				message.Text("error", secret.Text(err.Error()))))
		}
		if found == nil {
			continue
		}
		s.cost.Queries, s.cost.AfterNs = found.Cost.Queries, int64(time.Since(began))
		s.cost.Share = float64(s.cost.TimeNs) / max(float64(duration), 1)
		if n := found.Activity.Samples; n > 0 {
			s.cost.PeriodNs = int64(duration) / int64(n)
			found.Activity.PeriodNs = s.cost.PeriodNs
		}
		found.Cost = s.cost
		if bundle != "" {
			name := fmt.Sprintf("observe/inspect-%d.json", k+1)
			if err := write(fsys, bundle, name, found); err != nil {
				warnings = append(warnings, record.Notice("inspect-record", message.Text("error", err.Error())))
			} else {
				found.File = name
			}
		}
		out = append(out, brief(*found))
	}
	w.Close()
	return out, warnings
}

// Close ends everything, whether or not it began. Further calls change nothing.
func (w *Watch) Close() {
	w.halt()
	for _, s := range w.servers {
		s.inspector.Close()
	}
	w.servers = nil
}

// halt ends the sampling.
func (w *Watch) halt() {
	if !w.stopped {
		w.stopped = true
		close(w.stop)
	}
	w.done.Wait()
}

// write puts a whole inspection into the bundle.
func write(fsys record.FS, bundle, name string, found *record.Inspection) error {
	path := bundle + "/" + name
	if err := fsys.MkdirAll(path[:strings.LastIndexByte(path, '/')]); err != nil {
		return fmt.Errorf("make a folder for %s: %w", name, err)
	}
	data, err := json.MarshalIndent(struct {
		*record.Inspection
		Messages message.Table `json:"messages,omitempty"`
	}{found, message.TableOf(found)}, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	f, err := fsys.Create(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(append(data, '\n'))
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return err
}
