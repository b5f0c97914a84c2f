package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"path/filepath"
	"slices"

	"brunt/internal/measure"
)

// Join writes the bundle of a merged run into a new or empty folder. run is the result of Merge. Intervals that ran at
// the same time become one, whose counts and distributions are the sums; each is passed to takers. All error samples
// and observations of every part are kept. Then complete, unless it is nil, is called to complete run with the results
// of the takers, and run gets the hints that follow from the joined intervals. If the folder can't be written to, all
// of this is done nevertheless, run gets a warning, and the error is a *FolderError.
func Join(fsys FS, dir string, run *Run, takers []measure.Sink, complete func() error, parts ...*Recorded) error {
	plan, err := parts[0].Plan()
	if err != nil {
		return fmt.Errorf("read the plan of %s: %w", parts[0].Dir, err)
	}
	b, err := CreateIn(fsys, dir, Options{SyncEvery: -1, SamplesPerClass: math.MaxInt})
	var unwritten error
	if folder, ok := errors.AsType[*FolderError](err); ok {
		unwritten = folder
	} else if err != nil {
		return err
	} else {
		defer b.Abandon()
		hash := run.PlanHash // plan.yml also holds comments, which PlanHash excludes
		unwritten = b.Start(plan, run)
		run.PlanHash = hash
	}
	if err := b.join(run, takers, complete, parts, &unwritten); err != nil {
		return err
	}
	if unwritten == nil {
		unwritten = b.copySamples(parts)
	}
	if unwritten == nil {
		b.appendFailures()
		b.flush(0)
		unwritten = errors.Join(b.intervals.Close(), b.errors.Close(), b.writeRun(run))
	}
	if unwritten == nil {
		return nil
	}
	run.Warnings = append(run.Warnings, writeWarning(dir, unwritten))
	if _, ok := errors.AsType[*FolderError](unwritten); !ok {
		unwritten = folderError(dir, unwritten)
	}
	return unwritten
}

// join passes the joined intervals on and completes the run. The first failure to write goes to unwritten, after which
// nothing is written; b may be nil if there is one already.
func (b *Bundle) join(run *Run, takers []measure.Sink, complete func() error, parts []*Recorded,
	unwritten *error) error {
	hinted := *run // a copy: complete judges run later, and doesn't use hints
	hints := NewHintTaker(&hinted, nil)
	err := Together(run, parts, func(iv *measure.Interval) error {
		for _, t := range takers {
			if err := t.Interval(iv); err != nil {
				return err
			}
		}
		if *unwritten == nil {
			*unwritten = b.Interval(iv)
		}
		return hints.Interval(Filled(iv))
	})
	if err == nil && complete != nil {
		err = complete()
	}
	run.Hints, run.HintsMore = hinted.Hints, hinted.HintsMore
	return err
}

// copySamples copies the error samples and observations of the parts.
func (b *Bundle) copySamples(parts []*Recorded) error {
	for i, p := range parts {
		err := p.Errors(func(e *ErrorSample) error {
			b.Failed(e)
			b.appendFailures()
			b.flush(0)
			return nil
		})
		if err != nil {
			return err
		}
		if err := copyObserved(b.fsys, p, filepath.Join(b.Dir, WatchedFolder, partFolder(i))); err != nil {
			return fmt.Errorf("copy what %s observed: %w", p.Dir, err)
		}
	}
	return nil
}

// Together calls f with the joined intervals of all parts of run in order. run is the result of Merge. If the clocks of
// parts started at different times, intervals are joined by the time since the beginning of each part's load. It keeps
// one line of each part in memory and one file open, regardless of the number of parts.
func Together(run *Run, parts []*Recorded, f func(*measure.Interval) error) error {
	sources, buffer := make([]Source, len(parts)), []byte(nil)
	for i, p := range parts {
		sources[i] = Source{Run: p.Run, Lines: func(f func(line, packed []byte) error) error {
			return p.intervalLines(&buffer, func(line []byte) error { return f(line, nil) })
		}}
	}
	return Align(run, sources, f)
}

// Source provides the intervals of a part in order: from a bundle, or from a run that is still in progress.
type Source struct {
	Run *Run
	// Lines calls f with the lines of intervals.ndjson, and with what a Packer made of the same intervals, which may be
	// nil. f must not keep them. A nil line, which is never the first, means that the next line comes after the lines
	// that the other sources already have.
	Lines func(f func(line, packed []byte) error) error
	// Seen, if not nil, is called with each interval of this source, which is valid during the call.
	Seen func(iv *measure.Interval)
}

// Align is Together for parts that may still be running: it calls f as soon as each source has passed on its share of
// an interval, or ended. It decodes the histograms of one line at a time, because those of all sources would need about
// a megabyte each. If a source fails, Align returns its error without waiting for the others.
func Align(run *Run, sources []Source, f func(*measure.Interval) error) error {
	a := &aligner{decoder: lineDecoder{reuse: true}}
	for _, s := range sources {
		r := newPartReader(s, run)
		defer r.stop()
		r.advance()
		for r.now != nil && a.decode(r) == nil {
			r.advance()
		}
		a.readers = append(a.readers, r)
		r.laterNs = r.beganNs() - a.readers[0].beganNs()
	}
	for index := 0; ; {
		for _, r := range a.readers { // not earlier: the next line of a running part comes an interval later
			if r.joined || r.later {
				r.advance()
			}
		}
		first := a.earliest()
		if err := a.failed(); err != nil {
			return err
		}
		if first == nil {
			if slices.ContainsFunc(a.readers, func(r *partReader) bool { return r.later }) {
				continue
			}
			break
		}
		sum := *first
		sum.Account, sum.Index, sum.Arrivals, sum.ArrivalsLost = measure.Account{}, index, nil, 0
		head := span{sum.Phase, sum.WarmUp, sum.Drain, first.StartNs, max(min(run.IntervalNs, first.DurationNs())/2, 1)}
		for _, r := range a.readers {
			a.add(r, &sum, &head)
		}
		sum.Settle()
		index++
		if err := f(&sum); err != nil {
			return err
		}
	}
	return nil
}

// aligner joins the intervals of several parts.
type aligner struct {
	readers []*partReader
	decoder lineDecoder
}

// span is what intervals that ran at the same time have in common.
type span struct {
	phase         string
	warmUp, drain bool
	startNs       int64
	withinNs      int64 // the range from startNs in which they begin
}

// has reports whether the interval of a line belongs to the span.
func (s *span) has(l *intervalLine) bool {
	return l.Phase == s.phase && l.WarmUp == s.warmUp && l.Drain == s.drain && l.StartNs-s.startNs < s.withinNs
}

// failed returns the error of the first source that failed; nil if none did.
func (a *aligner) failed() error {
	for _, r := range a.readers {
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// decode returns the reader's interval, which is valid until the next call, or nil if it can't be decoded.
// Recorded.Intervals skips such lines, too.
func (a *aligner) decode(r *partReader) *measure.Interval {
	iv, err := a.decoder.interval(r.now, r.run)
	if err != nil {
		return nil
	}
	return iv
}

// earliest returns the interval that began first, which is valid until the next call of decode; nil if none is left.
func (a *aligner) earliest() *measure.Interval {
	for {
		var first *partReader
		for _, r := range a.readers {
			if r.now != nil && (first == nil || r.now.line.StartNs < first.now.line.StartNs) {
				first = r
			}
		}
		if first == nil {
			return nil
		}
		if iv := a.decode(first); iv != nil {
			return iv
		}
		first.advance()
	}
}

// add adds the reader's interval to sum if it belongs to the span head.
func (a *aligner) add(r *partReader, sum *measure.Interval, head *span) {
	for r.now != nil && head.has(&r.now.line) {
		iv := a.decode(r)
		if iv == nil {
			r.advance()
			continue
		}
		if r.seen != nil {
			r.seen(iv)
		}
		sum.Account.AddParallel(&iv.Account, r.operations, r.targets)
		measure.Shift(iv.Arrivals, -r.laterNs)
		sum.AddArrivals(iv, r.operations, r.targets)
		r.joined = true
		return
	}
}

// partReader reads the lines of one part.
type partReader struct {
	run                 *Run
	next                func() (line, packed []byte, more bool)
	stop                func()
	text                lineText
	now                 *lineText // nil at the end
	joined              bool      // now has been added to the last sum
	later               bool      // the next line comes after lines of other sources
	operations, targets []int
	seen                func(*measure.Interval)
	laterNs             int64 // start of its load minus that of the first part, each by its own clock
	err                 error
}

func newPartReader(s Source, run *Run) *partReader {
	r := &partReader{run: s.Run, seen: s.Seen, operations: operationMap(run, s.Run), targets: targetMap(run, s.Run)}
	r.next, r.stop = iter.Pull2(func(yield func(line, packed []byte) bool) {
		stopped := errors.New("stopped")
		if err := s.Lines(func(line, packed []byte) error {
			if !yield(line, packed) {
				return stopped
			}
			return nil
		}); err != nil && err != stopped {
			r.err = err
		}
	})
	return r
}

// advance reads the next line that can be decoded. It sets now to nil at the end, and also before later lines.
func (r *partReader) advance() {
	r.joined = false
	for {
		line, packed, more := r.next()
		if r.later = more && line == nil; r.later || !more {
			r.now = nil
			return
		}
		if r.text.read(line, packed) == nil {
			r.now = &r.text
			return
		}
	}
}

// beganNs returns when the part's load began by its own clock; 0 if it has no line.
func (r *partReader) beganNs() int64 {
	if r.now == nil {
		return 0
	}
	return r.now.line.StartNs
}

// copyObserved copies the files of a part's observe folder, if there is one.
func copyObserved(fsys FS, p *Recorded, to string) error {
	from := filepath.Join(p.Dir, WatchedFolder)
	names, err := p.fsys.List(from)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(names) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if err := fsys.MkdirAll(to); err != nil {
		return err
	}
	for _, name := range names {
		if err := copyFile(p.fsys, filepath.Join(from, name), fsys, filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from FS, source string, to FS, target string) error {
	in, err := from.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.Create(target)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
