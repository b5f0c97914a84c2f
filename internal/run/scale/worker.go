package scale

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// Worker is the worker's side of a run. It finds the coordinator and reports the progress of the load.
type Worker struct {
	Job    Job
	Offset Offset // offset of the coordinator's clock
	Dir    string // folder for the bundle, which doesn't exist yet
	// Lead is how long before the start the worker learned the time of the start. It is set when Begin has returned.
	Lead time.Duration
	// Shared says which arrivals belong to the worker. It is nil unless shares of lost workers are given to others.
	Shared *schedule.Redistribution

	link
	clock Clock
	lines tail
	packs packs // used by Interval and reports
	held  heldLines
	talk  talk

	stop  context.CancelFunc
	hard  chan struct{}
	quiet func() // ends the signs of life before the load

	stopped chan struct{} // the coordinator has ended the load
	wake    chan struct{} // an interval has ended
	quit    chan struct{} // ends the reports
	done    chan struct{} // the reports have ended

	leaves bool // the process was told to stop before the load was over
}

// How long a worker tries to reach its coordinator: before the load, when giving up loses nothing, and after the load,
// when its bundle is to be sent.
const (
	patienceBefore = 30 * time.Second
	patienceAfter  = 15 * time.Minute
	patienceStore  = 2 * time.Minute  // while the coordinator can't store what it receives
	patienceFill   = 10 * time.Second // while tables are filled
)

// ErrCalledOff is returned if the coordinator has ended the run before the load.
var ErrCalledOff = errors.New("the coordinator has called the run off")

// Connect connects to the coordinator of a ticket, measures the offset of its clock, and waits for the job. ctx ends
// everything that the worker does. An *Error means that the coordinator refused the worker. It has the exit code.
func Connect(ctx context.Context, t Ticket, version string) (*Worker, context.Context, error) {
	config, err := t.Identity.config()
	if err != nil {
		return nil, ctx, err
	}
	config.ServerName = coordinatorName(t.Run)
	t.Addresses = slices.Clone(t.Addresses)
	for i, a := range t.Addresses {
		if port, ok := strings.CutPrefix(a, ":"); ok {
			t.Addresses[i] = net.JoinHostPort(callerAddress(), port)
		}
	}
	host := os.Getenv("SLURMD_NODENAME")
	if host == "" {
		host, _ = os.Hostname() // without a host name the worker is named by its number
	}
	w := &Worker{
		link:  link{ticket: t, client: &http.Client{Transport: &http.Transport{TLSClientConfig: config}}},
		clock: NewClock(), talk: talk{state: Joined, heard: time.Now(), changed: make(chan struct{})},
		hard: make(chan struct{}), stopped: make(chan struct{}),
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if w.Dir, err = workerFolder(t); err != nil {
		return nil, ctx, err
	}
	w.hello = Hello{
		Run: t.Run, Worker: t.Worker, Process: record.NewID(), Host: host, PID: os.Getpid(), Version: version,
		Cores: runtime.GOMAXPROCS(0), Dir: w.Dir,
	}
	ctx, w.stop = context.WithCancel(ctx)
	if err := w.join(ctx); err != nil {
		w.stop()
		w.Discard()
		return nil, ctx, err
	}
	if w.Job.Redistribute {
		w.Shared = schedule.NewRedistribution()
		w.Shared.OnRequest(func() { _ = w.Interval(nil) })
	}
	w.quiet = w.beat(ctx)
	return w, ctx, nil
}

// beatEvery is how often a worker gives a sign of life before it is ready.
const beatEvery = 500 * time.Millisecond

// beat gives signs of life until end is called or ctx ends.
func (w *Worker) beat(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	alive := w.says(Joined)
	go func() {
		defer close(done)
		for {
			said := alive
			_ = w.post(ctx, 10*time.Second, "report", &said, nil) // what it answers is heard when the worker is ready
			if !protocol.Sleep(ctx, beatEvery) {
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// join finds the coordinator, measures the offset of its clock, and waits for the job.
func (w *Worker) join(ctx context.Context) error {
	if err := w.find(ctx); err != nil {
		return err
	}
	if err := w.measure(ctx); err != nil {
		return err
	}
	w.hello.Offset = w.Offset
	return w.post(ctx, 0, "join", &w.hello, &w.Job)
}

// workerFolder returns the folder for a worker's bundle, which doesn't exist yet.
func workerFolder(t Ticket) (string, error) {
	if t.Dir != "" {
		return t.Dir, nil
	}
	dir, err := os.MkdirTemp("", "brunt-worker-")
	return filepath.Join(dir, "bundle"), err
}

// Number returns the worker's number, from 0.
func (w *Worker) Number() int { return w.ticket.Worker }

// Name returns the worker's name for messages.
func (w *Worker) Name() string {
	m := member{number: w.ticket.Worker, host: w.hello.Host}
	return m.name()
}

// Exchanges for measuring the offset of a clock: at least fewSamples, and manySamples at most while enough says no.
const (
	fewSamples  = 9
	manySamples = 100
)

// measure measures the offset of the coordinator's clock.
func (w *Worker) measure(ctx context.Context) error {
	var samples []sample
	for len(samples) < fewSamples || len(samples) < manySamples && !enough(samples) {
		sent := w.clock.Now()
		var s sample
		if err := w.post(ctx, 5*time.Second, "clock", nil, &s); err != nil {
			return err
		}
		s.SentNs, s.AnsweredNs = sent, w.clock.Now()
		samples = append(samples, s)
	}
	w.Offset = bestOffset(samples)
	return nil
}

// At returns the time at which the coordinator's clock reads ns.
func (w *Worker) At(ns int64) time.Time { return w.clock.At(ns - w.Offset.Ns) }

// Stopped returns a channel that is closed when the coordinator ends the load.
func (w *Worker) Stopped() <-chan struct{} { return w.stopped }

// Hard returns a channel that is closed when answers must no longer be awaited.
func (w *Worker) Hard() <-chan struct{} { return w.hard }

// Interval implements measure.Sink. It makes the worker report at once. If iv is nil, the report only contains the
// worker's state. All intervals must come from one goroutine, after the bundle has had them.
func (w *Worker) Interval(iv *measure.Interval) (err error) {
	if iv != nil {
		err = w.hold(iv, w.packs.add(iv))
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return err
}

// Begin tells the coordinator that the worker is ready, with the present contents of its bundle, and waits for the
// instant at which all workers begin. It returns how much later than this instant it returned, in ns.
func (w *Worker) Begin(ctx context.Context, bundle string) (lateNs int64, err error) {
	for _, name := range []string{record.RunFile, record.PlanFile} {
		if err := w.send(ctx, bundle, name); err != nil {
			return 0, err
		}
	}
	w.lines = tail{path: filepath.Join(bundle, record.IntervalsFile)}
	return w.Await(ctx)
}

// Await is Begin for a worker without a bundle.
func (w *Worker) Await(ctx context.Context) (lateNs int64, err error) {
	w.quiet()
	w.talk.enter(Ready)
	go w.reports()
	for {
		answer, changed, heard, refused := w.talk.last()
		switch {
		case refused != nil:
			return 0, refused
		case answer.Stop:
			return 0, ErrCalledOff
		case time.Since(heard) > patienceBefore:
			return 0, &Error{Code: exitcode.Unreachable, Text: "the coordinator has not answered for " + patienceBefore.String()}
		case answer.StartNs > 0:
			at := w.At(answer.StartNs)
			w.Lead = time.Until(at)
			if err := sleepUntil(ctx, at); err != nil {
				return 0, w.endedBy(err)
			}
			w.talk.enter(Running)
			return int64(time.Since(at)), nil
		}
		select {
		case <-ctx.Done():
			return 0, w.endedBy(ctx.Err())
		case <-changed:
		case <-time.After(time.Second):
		}
	}
}

// endedBy returns why a worker ends before its load: because of the coordinator, if that has ended its context, and
// otherwise err.
func (w *Worker) endedBy(err error) error {
	if _, _, _, refused := w.talk.last(); refused != nil {
		return refused
	}
	select {
	case <-w.stopped:
		return ErrCalledOff
	default:
		return err
	}
}

// spin is the time before an instant for which a worker polls the clock instead of sleeping. Most kernels wake a thread
// with a smaller delay.
const spin = 2 * time.Millisecond

// sleepUntil waits for a time, or until ctx ends.
func sleepUntil(ctx context.Context, at time.Time) error {
	if !protocol.Sleep(ctx, time.Until(at)-spin) && ctx.Err() != nil {
		return ctx.Err()
	}
	for time.Until(at) > 0 {
		runtime.Gosched()
	}
	return nil
}

// reports sends reports until quit is closed.
func (w *Worker) reports() {
	defer close(w.done)
	for {
		every := w.every()
		if !w.report() {
			every = max(every, 200*time.Millisecond)
			w.loseCoordinator()
		}
		select {
		case <-w.quit:
			return
		case <-w.wake:
		case <-time.After(every):
		}
	}
}

// loseCoordinator ends the load if the coordinator doesn't return and the worker has sent all that it may send, or
// fills tables. A worker that fills tables must not interfere with a resumed load.
func (w *Worker) loseCoordinator() {
	w.talk.mu.Lock()
	defer w.talk.mu.Unlock()
	silent := time.Since(w.talk.heard)
	if w.Shared != nil && w.talk.state == Running && silent > patienceAfter || w.Job.Fill != nil && silent > patienceFill {
		w.stop()
	}
}

// every returns the maximum time between two reports.
func (w *Worker) every() time.Duration {
	switch {
	case w.Job.Fill != nil:
		return 250 * time.Millisecond
	case w.talk.waits():
		return 50 * time.Millisecond
	case w.Job.Adaptive:
		return min(max(time.Duration(w.Job.IntervalNs)/4, 20*time.Millisecond), 250*time.Millisecond)
	}
	// A little more than half an interval, so that a report isn't due just when the next interval ends.
	return min(max(time.Duration(w.Job.IntervalNs)*5/8, 50*time.Millisecond), 625*time.Millisecond)
}

// report sends what the coordinator doesn't have, and follows its answer. It returns whether the coordinator answered.
func (w *Worker) report() bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		said := w.says("")
		w.talk.report(&said)
		if w.Shared != nil {
			said.Request = w.Shared.Request()
		}
		said.Lines = w.linesFrom(said.From)
		var last uint64
		said.Packed, last = w.packs.of(said.Lines)
		var answer Answer
		err := w.post(ctx, 10*time.Second, "report", &said, &answer)
		var refused *Error
		if errors.As(err, &refused) {
			w.talk.refuse(refused)
			answer, err = Answer{Stop: true, Hard: true, Have: said.From}, nil
		}
		if err != nil {
			return false
		}
		w.heed(answer, &said)
		if refused != nil || answer.Have <= said.From {
			return true
		}
		w.packs.forget(last)
		// The coordinator may have fewer lines: only those of an earlier report whose answer the worker didn't wait for.
		if len(said.Lines) < mostLines && answer.Have == said.From+countLines(said.Lines) {
			return true
		}
	}
}

// heed follows the coordinator's answer.
func (w *Worker) heed(answer Answer, said *Report) {
	before := w.talk.hear(&answer, said)
	defer w.talk.tell() // last: those who wait for the answer may look at the rest
	w.held.drop(answer.Have)
	if w.Shared != nil {
		w.Shared.Set(answer.UntilNs, answer.Losses)
		if answer.Grant != nil {
			w.Shared.Grant(answer.Grant)
		}
	}
	if answer.Stop && !before.Stop {
		close(w.stopped)
		w.stop()
	}
	if answer.Hard && !before.Hard {
		close(w.hard)
	}
}

// ErrLeft is returned by Finish if the worker's process was told to stop, after the coordinator has received everything
// that the worker recorded, and knows that the worker leaves.
var ErrLeft = errors.New("the worker's process was told to stop")

// Finish sends the bundle to the coordinator: first the intervals that the coordinator doesn't have, and then all
// files. It tries for patienceAfter. If it succeeds, the local bundle is removed. If a worker leaves the load before
// its end, the coordinator receives only the intervals, as for a lost worker, and the local bundle is kept.
func (w *Worker) Finish(ctx context.Context, bundle string) error {
	close(w.quit)
	<-w.done
	timed, cancel := context.WithTimeout(ctx, patienceAfter)
	defer cancel()
	for began := time.Now(); ; {
		err := w.home(timed, bundle)
		if errors.Is(err, ErrLeft) {
			return err
		}
		if err == nil {
			err = os.RemoveAll(bundle)
			_ = os.Remove(filepath.Dir(bundle)) // removes the folder only if it is empty
			return err
		}
		var refused *Error
		var unstored *refusal
		full := errors.As(err, &unstored) && time.Since(began) > patienceStore
		if errors.As(err, &refused) || full || !protocol.Sleep(timed, time.Second) {
			return fmt.Errorf("the bundle stays in %s: %w", bundle, err)
		}
	}
}

func (w *Worker) home(ctx context.Context, bundle string) error {
	if !w.report() {
		return errors.New("the coordinator doesn't answer")
	}
	if w.leaves {
		if err := w.tellFailure(ctx, ErrLeft, 0); err != nil {
			return err
		}
		return ErrLeft
	}
	err := filepath.WalkDir(bundle, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(bundle, path)
		if err != nil || !bundleFile(filepath.ToSlash(name)) || name == record.IntervalsFile && w.Holds() {
			return err
		}
		return w.send(ctx, bundle, filepath.ToSlash(name))
	})
	if err != nil {
		return err
	}
	w.talk.enter(Ended)
	if !w.report() {
		return errors.New("the coordinator doesn't answer")
	}
	return nil
}

// Fail tells the coordinator why the worker gives up, and the exit code. It returns whether the coordinator knows it.
func (w *Worker) Fail(err error, code int) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return w.tellFailure(ctx, err, code) == nil // otherwise it notices the end of the process
}

// tail reads the lines of a growing file.
type tail struct {
	path   string
	line   int   // number of the line
	offset int64 // offset of this line
}

// from returns complete lines from a number on, up to the size limit of a report, and before the number end unless that
// is negative. It returns nothing if there are none yet.
func (t *tail) from(line, end int) (lines []byte) {
	file, err := os.Open(t.path)
	if err != nil {
		return nil
	}
	defer file.Close()
	if line < t.line {
		t.line, t.offset = 0, 0
	}
	if _, err := file.Seek(t.offset, io.SeekStart); err != nil {
		return nil
	}
	in := bufio.NewReaderSize(file, 1<<16)
	for found := line; len(lines) < mostLines && (end < 0 || found < end); found++ {
		text, err := in.ReadBytes('\n')
		if err != nil { // the last line is incomplete
			return lines
		}
		if t.line < line {
			t.line, t.offset = t.line+1, t.offset+int64(len(text))
			found--
			continue
		}
		lines = append(lines, text...)
	}
	return lines
}
