package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"brunt/internal/base/linefile"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

const (
	sampleTimeout = 5 * time.Second
	endTimeout    = 2 * time.Second
	// machineEvery is the shortest time between two samples of a machine: a sample takes 0.2 ms.
	machineEvery = time.Second
)

// Watcher samples sources once per interval and judges them at the end. It is a measure.Sink whose Interval
// method only signals the sampling goroutines: a source that takes longer than an interval misses samples but
// delays nothing. Throughput is watched as well, even without sources.
type Watcher struct {
	now       func() time.Time
	watched   []*watched
	drift     drift
	longestNs int64 // interval
	cancel    context.CancelFunc
	done      sync.WaitGroup
}

var _ measure.Sink = (*Watcher)(nil)

// tick is a request for a sample at the end of an interval.
type tick struct {
	endNs, unixNs int64
	phase         string
	warmUp        bool
}

// watched is a source and what was observed of it. mu guards the fields below it.
type watched struct {
	source Source
	ticks  chan tick
	log    *logFile
	name   string // of the file, relative to the bundle

	askedNs int64 // end of the interval for which a sample was last requested

	mu      sync.Mutex
	samples uint64
	missed  uint64
	trouble string
	goneNs  int64
	figures []*figure
	fromNs  int64 // time of the first sample after the warm-up
	toNs    int64
	lastAt  time.Time
}

// NewWatcher returns a watcher of sources, which may be none. now is the clock for rates: time.Now, except in
// tests.
func NewWatcher(sources []Source, now func() time.Time) *Watcher {
	w := &Watcher{now: now, cancel: func() {}}
	for _, s := range sources {
		w.watched = append(w.watched, &watched{source: s, ticks: make(chan tick, 1)})
	}
	return w
}

// Start creates the files in the bundle's folder and starts the sampling. It fails only if the folder or a file
// can't be created.
func (w *Watcher) Start(fsys record.FS, bundle string) error {
	if len(w.watched) == 0 {
		return nil
	}
	dir := bundle + "/" + record.WatchedFolder
	if err := fsys.MkdirAll(dir); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	for i, s := range w.watched {
		file := fmt.Sprintf("%d-%s.ndjson", i+1, fileName(s.source.Name()))
		s.name = record.WatchedFolder + "/" + file
		if s.log = newLog(fsys, dir, file, s.source.Name()); s.log.err != nil {
			cancel()
			return fmt.Errorf("record what is watched: %w", s.log.err)
		}
		if isMachine(s.source) {
			s.ticks <- tick{unixNs: w.now().UnixNano(), warmUp: true} // baseline for the counters of the first interval
		}
		w.done.Go(func() { s.run(ctx, w.now) })
	}
	return nil
}

// fileName replaces all characters of a name that aren't safe in a file name, and limits its length.
func fileName(name string) string {
	clean := regexp.MustCompile("[^A-Za-z0-9.]+").ReplaceAllString(name, "-")
	return strings.Trim(clean[:min(len(clean), 60)], "-.")
}

// Interval implements measure.Sink. It never fails or blocks. Intervals shorter than half the longest one, such
// as the rest of an interval at the end of a phase, are ignored.
func (w *Watcher) Interval(iv *measure.Interval) error {
	length := iv.EndNs - iv.StartNs
	w.longestNs = max(w.longestNs, length)
	if length < w.longestNs/2 {
		return nil
	}
	w.drift.add(iv)
	t := tick{iv.EndNs, iv.UnixNs + iv.EndNs - iv.StartNs, iv.Phase, iv.WarmUp}
	for _, s := range w.watched {
		if isMachine(s.source) {
			// Intervals differ slightly in length, so half an interval early counts as on time.
			if iv.EndNs-s.askedNs+length/2 < int64(machineEvery) {
				continue
			}
			s.askedNs = iv.EndNs
		}
		select {
		case s.ticks <- t:
		default:
			s.mu.Lock()
			s.missed++
			s.mu.Unlock()
		}
	}
	return nil
}

// Finish stops the sampling and returns what was observed, with warnings of failures. It waits at most
// endTimeout for sources that are being sampled.
func (w *Watcher) Finish() ([]record.Watched, []record.Warning) {
	w.cancel()
	ended := make(chan struct{})
	go func() {
		w.done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(endTimeout):
	}
	var out []record.Watched
	var warnings []record.Warning
	if d, ok := w.drift.result(); ok {
		out = append(out, d)
	}
	for _, s := range w.watched {
		r, err := s.result()
		out = append(out, r)
		if err != nil {
			warnings = append(warnings, record.NewWarning("watch-record", message.Text("source", s.source.Name()),
				message.Text("error", err.Error())))
		}
		switch {
		case r.GoneNs > 0:
			warnings = append(warnings, record.Notice("watch-gone", message.Text("source", r.Source),
				message.Span("after", time.Duration(r.GoneNs).Round(100*time.Millisecond))))
		case r.Samples == 0 && r.Missed > 0:
			warnings = append(warnings, record.NewWarning("watch-failed", message.Text("source", r.Source),
				message.Text("why", r.Trouble)))
		}
	}
	return out, warnings
}

// run takes a sample at every tick until ctx ends or the source is gone.
func (s *watched) run(ctx context.Context, now func() time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-s.ticks:
			if !s.sample(ctx, t, now) {
				return
			}
		}
	}
}

// sample takes one sample. It returns false if no more can be taken.
func (s *watched) sample(ctx context.Context, t tick, now func() time.Time) bool {
	bounded, cancel := context.WithTimeout(ctx, sampleTimeout)
	values, err := s.source.Sample(bounded)
	cancel()
	if ctx.Err() != nil && err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := record.WatchedSample{TNs: t.endNs, UnixNs: t.unixNs, Phase: t.phase, WarmUp: t.warmUp}
	if err != nil {
		out.Error = err.Error()
		s.log.write(out)
		s.missed++
		s.trouble = err.Error()
		if errors.Is(err, ErrGone) {
			s.goneNs = max(t.endNs, 1)
			return false
		}
		return true
	}
	out.Values = make(map[string]float64, len(values))
	for _, v := range values {
		out.Values[v.Name] = v.Value
	}
	s.log.write(out)
	s.samples++
	at := now()
	for _, v := range values {
		s.figure(v.Metric).add(v, at.Sub(s.lastAt).Seconds(), t.warmUp)
	}
	s.lastAt = at
	if !t.warmUp {
		if s.fromNs == 0 {
			s.fromNs = t.endNs
		}
		s.toNs = t.endNs
	}
	return true
}

// mostWaitingBytes is how many bytes of a source's samples are kept while the disk is full. Later samples are
// lost.
const mostWaitingBytes = 1 << 20

// logFile is a source's file in the record: a header line, then one line per sample.
type logFile struct {
	path string
	log  *linefile.Log
	err  error // of creating the file, or else of the first lost sample
}

func newLog(fsys record.FS, dir, name, source string) *logFile {
	l := &logFile{path: filepath.Join(dir, name)}
	file, err := fsys.Create(l.path)
	if l.err = err; err == nil {
		l.log = linefile.NewLog(file, mostWaitingBytes)
		l.write(record.WatchedHeader{Schema: 1, Source: source})
	}
	return l
}

func (l *logFile) write(v any) {
	if l.log == nil {
		return
	}
	line, err := json.Marshal(v)
	full := l.log.Flush()
	if err == nil && l.log.Room(len(line)+1) {
		l.log.Add(append(line, '\n'))
		_ = l.log.Flush() // lines that can't be written stay in the buffer
		return
	}
	l.err = cmp.Or(l.err, err, full)
}

// close writes the buffered lines. If samples were lost, it returns the reason.
func (l *logFile) close() error {
	if l.log == nil {
		return l.err
	}
	return cmp.Or(l.err, l.log.Close())
}
