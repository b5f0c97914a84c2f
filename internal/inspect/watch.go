package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"brunt/internal/base/secret"
	"brunt/internal/measure"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

const (
	beginTimeout  = 10 * time.Second
	sampleTimeout = 5 * time.Second
	endTimeout    = 60 * time.Second
	samplePeriod  = 200 * time.Millisecond
	restPeriod    = 500 * time.Millisecond // if the server had nothing to do at the latest sample
	maxPeriod     = 10 * time.Second
	costBound     = 200 // samples take at most 1/costBound of the time
	fewSamples    = 4   // of which the shortest tells the cost
	fewPeriods    = 4   // most between samples until there are so many
	waitTimes     = 3   // as long as the shortest question, from which a question waited
	// nothingAsked is the time below which an inspector hasn't asked anything.
	nothingAsked = 20 * time.Microsecond
)

// Watch inspects servers during a load. It is a measure.Sink that only signals its goroutines, so a server that
// answers slowly delays nothing.
type Watch struct {
	Brief  bool // see Load.Brief
	Writes bool // see Load.Writes
	// Profile makes inspectors that can do it sample the server's functions; see Profiler.
	Profile bool
	Tell    func(string) // see Load.Tell

	mu      sync.Mutex // guards servers and early while the load runs, as Join may be called at any time
	servers []*server
	early   []record.Warning
	stop    chan struct{} // closed to end the sampling
	stopped bool
	done    sync.WaitGroup
	counts  []measure.Counts // totals of each operation so far
	service []serviceTime    // of each operation so far, without warm-up
}

var _ measure.Sink = (*Watch)(nil)

// server is an inspected server with the state of its goroutine.
type server struct {
	inspector Inspector
	optional  bool
	intervals chan interval
	begun     time.Time
	phase     Phase
	phases    []record.Phase // as planned
	phaseNs   int64          // start of the phase on the run's clock
	snapshot  time.Duration  // how long the last snapshot took
	snapped   time.Time      // when the last snapshot was taken
	cost      record.InspectionCost
	samples   asked
	snapshots asked
	broken    error
}

// asked sums up how long questions of one kind took.
type asked struct {
	n               int
	total, shortest time.Duration
}

func (a *asked) add(took time.Duration) {
	if took < nothingAsked {
		return
	}
	if a.n == 0 || took < a.shortest {
		a.shortest = took
	}
	a.n, a.total = a.n+1, a.total+took
}

// spent returns how much of the time isn't waiting for a server that does something else: a single-threaded one that
// executes a long command answers no question until it ends.
func (a *asked) spent() time.Duration {
	return min(a.total, waitTimes*a.shortest*time.Duration(a.n))
}

// serviceTime is the sum of an operation's service times, ns, and their number.
type serviceTime struct{ sumNs, n float64 }

type interval struct {
	phase          Phase
	startNs, endNs int64
}

// NewWatch returns a watch of servers, which may be none.
func NewWatch(inspectors []Inspector) *Watch {
	w := &Watch{stop: make(chan struct{})}
	for _, i := range inspectors {
		w.servers = append(w.servers, &server{inspector: i, intervals: make(chan interval, 4)})
	}
	return w
}

// Suggest adds a server that is inspected if it can be. If it can't, that is a warning.
func (w *Watch) Suggest(i Inspector) {
	w.servers = append(w.servers, &server{inspector: i, optional: true, intervals: make(chan interval, 4)})
}

// Join adds a server that is inspected from now on, if it can be, while the load runs. It returns when the server was
// asked for the first time. It may be called by any goroutine, but not after Finish.
func (w *Watch) Join(i Inspector, run *record.Run) {
	s := &server{inspector: i, optional: true, intervals: make(chan interval, 4)}
	if err := w.begin(s, run); err != nil {
		w.Warn(fmt.Sprintf("%s: %s", i.Name(), err))
		i.Close()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers = append(w.servers, s)
	w.done.Go(func() { s.run(w.stop) })
}

// Warn adds a warning about servers that can't be inspected.
func (w *Watch) Warn(why string) {
	w.mu.Lock()
	w.early = append(w.early, record.Notice("inspect-auto", message.Text("why", secret.Text(why))))
	w.mu.Unlock()
	if w.Tell != nil {
		w.Tell("--inspect auto: " + secret.Text(why))
	}
}

// Start takes the first snapshots and starts sampling. It must be called right before the load starts. Its errors
// are for the user.
func (w *Watch) Start(run *record.Run) error {
	all := w.servers
	w.servers = nil
	for k, s := range all {
		err := w.begin(s, run)
		switch {
		case err != nil && s.optional:
			w.Warn(fmt.Sprintf("%s: %s", s.inspector.Name(), err))
			s.inspector.Close()
			continue
		case err != nil:
			w.servers = append(w.servers, all[k:]...)
			return fmt.Errorf("inspect %s: %w", s.inspector.Name(), err)
		}
		w.servers = append(w.servers, s)
		w.done.Go(func() { s.run(w.stop) })
	}
	return nil
}

// begin takes a server's first snapshot.
func (w *Watch) begin(s *server, run *record.Run) error {
	if p, ok := s.inspector.(Profiler); ok && w.Profile {
		p.ProfileFunctions()
	}
	ctx, cancel := context.WithTimeout(context.Background(), beginTimeout)
	defer cancel()
	if err := s.inspector.Begin(ctx); err != nil {
		return err
	}
	s.begun, s.phases = time.Now(), slices.Clone(run.Phases)
	if len(run.Phases) > 0 {
		s.phase = Phase{run.Phases[0].Name, run.Phases[0].WarmUp}
	}
	return nil
}

// Interval implements measure.Sink. It never fails or blocks.
func (w *Watch) Interval(iv *measure.Interval) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.servers) == 0 {
		return nil
	}
	for len(w.counts) < len(iv.Operations) {
		w.counts, w.service = append(w.counts, measure.Counts{}), append(w.service, serviceTime{})
	}
	for k := range iv.Operations {
		o := &iv.Operations[k]
		w.counts[k].Add(&o.Counts)
		if o.Service != nil && !iv.WarmUp {
			w.service[k].sumNs, w.service[k].n = w.service[k].sumNs+o.Service.Sum(), w.service[k].n+float64(o.Service.Count())
		}
	}
	for _, s := range w.servers {
		select {
		case s.intervals <- interval{Phase{iv.Phase, iv.WarmUp}, iv.StartNs, iv.EndNs}:
		default:
		}
	}
	return nil
}

// run takes samples, and snapshots wherever a phase may end, until stop is closed. It waits for queries in
// progress, since cancelling them would cost the connection.
func (s *server) run(stop <-chan struct{}) {
	var recent []time.Duration // how long the last samples took
	timer := time.NewTimer(samplePeriod)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case iv := <-s.intervals:
			s.interval(iv)
		case <-timer.C:
			took := s.timed(&s.samples, func(ctx context.Context) error {
				return s.inspector.Sample(ctx, time.Since(s.begun))
			})
			recent = append(recent[max(len(recent)-fewSamples+1, 0):], took)
			timer.Reset(nextPeriod(recent, s.leastPeriod()))
		}
	}
}

// leastPeriod returns the least time until the next sample. A question to a server that does nothing shows little, and
// takes three times as much of its CPU as one to a server that is awake.
func (s *server) leastPeriod() time.Duration {
	if w, ok := s.inspector.(Worker); ok && !w.AtWork() {
		return restPeriod
	}
	return samplePeriod
}

// nextPeriod returns the time until the next sample, by how long the last ones took. The shortest of them counts,
// because on a busy machine the others mostly wait. A single long one isn't believed yet.
func nextPeriod(recent []time.Duration, least time.Duration) time.Duration {
	most := maxPeriod
	if len(recent) < fewSamples {
		most = fewPeriods * samplePeriod
	}
	return min(max(least, slices.Min(recent)*costBound), most)
}

// interval processes an interval. It detects the start of a new phase at the end of that phase's first interval, so
// the previous phase ended with the previous interval: at the snapshot taken then.
func (s *server) interval(iv interval) {
	if iv.phase != s.phase {
		s.inspector.Mark(s.phase)
		s.phase, s.phaseNs = iv.phase, iv.startNs
	}
	if s.mayEnd(iv) {
		s.snapshot, s.snapped = s.timed(&s.snapshots, s.inspector.Snapshot), time.Now()
	}
}

// mayEnd reports whether the phase may end with this interval. If the phase's length isn't known, any interval may
// be the last; snapshots are then taken as often as costBound allows.
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

// timed queries the server, adds the duration to those of its kind and notes an error. It returns the duration.
func (s *server) timed(kind *asked, ask func(context.Context) error) time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), sampleTimeout)
	defer cancel()
	began := time.Now()
	err := ask(ctx)
	took := time.Since(began)
	kind.add(took)
	if err != nil {
		s.broken = err
		s.cost.Skipped++
	}
	return took
}

// end examines the server after the load. It is cancelled when hard is closed.
func (s *server) end(hard <-chan struct{}, about Load) (*record.Inspection, error) {
	ctx, cancel := protocol.Until(context.Background(), hard)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, endTimeout)
	defer cancel()
	return s.inspector.End(ctx, s.phase, about)
}

// Finish ends the sampling and returns the inspection of each server, with warnings of failures. It must be called
// after the last interval. The complete inspections are written to the bundle's folder, unless bundle is "". When
// hard is closed, the final examination of the servers is cancelled.
func (w *Watch) Finish(hard <-chan struct{}, fsys record.FS, bundle string,
	load *workload.Workload) ([]record.Inspection, []record.Warning) {
	w.halt()
	about := Load{Operations: operations(load, w.counts, w.service), Brief: w.Brief, Writes: w.Writes, Tell: w.Tell}
	var out []record.Inspection
	warnings := w.early
	for k, s := range w.servers {
		if s.begun.IsZero() {
			continue
		}
		duration := time.Since(s.begun)
		began := time.Now()
		found, err := s.end(hard, about)
		if err = cmp.Or(err, s.broken); err != nil {
			warnings = append(warnings, record.Notice("inspect", message.Text("server", s.inspector.Name()),
				message.Text("error", secret.Text(err.Error()))))
		}
		if found == nil {
			continue
		}
		if w := otherClients(found, about.Operations); !w.Text.IsZero() {
			found.Missing = append(found.Missing, w)
		}
		s.cost.Queries, s.cost.AfterNs = found.Cost.Queries, int64(time.Since(began))
		s.cost.TimeNs = int64(s.samples.spent() + s.snapshots.spent())
		s.cost.WaitNs = int64(s.samples.total+s.snapshots.total) - s.cost.TimeNs
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

// Close ends the sampling and closes the inspectors, whether or not Start was called. It may be called more than
// once.
func (w *Watch) Close() {
	w.halt()
	for _, s := range w.servers {
		s.inspector.Close()
	}
	w.servers = nil
}

// halt ends the sampling and waits for the goroutines.
func (w *Watch) halt() {
	if !w.stopped {
		w.stopped = true
		close(w.stop)
	}
	w.done.Wait()
}

// write writes a complete inspection into the bundle.
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
