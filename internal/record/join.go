package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"path/filepath"

	"brunt/internal/measure"
)

// Join writes the bundle of the run that parts make together, as Merge returned it and package verdict
// judged it, into a new or empty folder. Intervals that ran at the same time become one, whose counts
// and distributions are the sums; samples of errors and what was observed are kept of every part, all of them. run gets
// the hints that follow from the joined intervals.
func Join(fsys FS, dir string, run *Run, parts ...*Recorded) error {
	plan, err := parts[0].Plan()
	if err != nil {
		return fmt.Errorf("read the plan of %s: %w", parts[0].Dir, err)
	}
	b, err := CreateIn(fsys, dir, Options{SyncEvery: -1, SamplesPerClass: math.MaxInt})
	if err != nil {
		return err
	}
	hash := run.PlanHash // plan.yml holds remarks, which don't count
	if err = b.Start(plan, run); err == nil {
		run.PlanHash = hash
		err = b.join(run, parts)
	}
	if err != nil {
		b.Abandon()
		return err
	}
	b.appendFailures()
	b.flush(0)
	if err := errors.Join(b.intervals.Close(), b.errors.Close(), b.writeRun(run)); err != nil {
		return fmt.Errorf("write the merged record to %s: %w", dir, err)
	}
	return nil
}

func (b *Bundle) join(run *Run, parts []*Recorded) error {
	hints := NewHintTaker(run, nil)
	err := Together(run, parts, func(iv *measure.Interval) error {
		return errors.Join(b.Interval(iv), hints.Interval(Filled(iv)))
	})
	if err != nil {
		return err
	}
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

// Together calls f with the intervals of all parts of run together, in order, as Merge returned it. Parts
// whose clocks began apart are joined by the time since their own beginning.
func Together(run *Run, parts []*Recorded, f func(*measure.Interval) error) error {
	sources := make([]Source, len(parts))
	for i, p := range parts {
		sources[i] = Source{p.Run, p.Intervals}
	}
	return Align(run, sources, f)
}

// Source is where the intervals of a part come from, in order: a bundle, or a run under way.
type Source struct {
	Run       *Run
	Intervals func(func(*measure.Interval) error) error
}

// Align is Together for parts that may be under way: it calls f as soon as each source has passed on what belongs to an
// interval, or ended.
func Align(run *Run, sources []Source, f func(*measure.Interval) error) error {
	readers := make([]*partReader, len(sources))
	for i, s := range sources {
		readers[i] = newPartReader(s.Intervals, operationMap(run, s.Run), targetMap(run, s.Run))
		defer readers[i].stop()
		readers[i].fetch()
		readers[i].laterNs = readers[i].beganNs() - readers[0].beganNs()
	}
	for index := 0; ; index++ {
		for _, r := range readers {
			r.fetch()
		}
		first := earliest(readers)
		if first == nil {
			break
		}
		sum := *first
		sum.Account, sum.Index, sum.Arrivals, sum.ArrivalsLost = measure.Account{}, index, nil, 0
		for _, r := range readers {
			r.addTo(&sum, first, run)
		}
		sum.Settle()
		if err := f(&sum); err != nil {
			return err
		}
	}
	for _, r := range readers {
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// partReader reads one part's intervals one by one.
type partReader struct {
	next                func() (*measure.Interval, bool)
	stop                func()
	now                 *measure.Interval // not yet joined; nil if it has to be fetched, or at the end
	ended               bool
	operations, targets []int
	laterNs             int64 // how much later its load began than the first part's, each by its own clock
	err                 error
}

func newPartReader(intervals func(func(*measure.Interval) error) error, operations, targets []int) *partReader {
	r := &partReader{operations: operations, targets: targets}
	r.next, r.stop = iter.Pull(func(yield func(*measure.Interval) bool) {
		stopped := errors.New("stopped")
		if err := intervals(func(iv *measure.Interval) error {
			if !yield(iv) {
				return stopped
			}
			return nil
		}); err != nil && err != stopped {
			r.err = err
		}
	})
	return r
}

// fetch reads the next interval, unless one is there that isn't joined yet.
func (r *partReader) fetch() {
	if r.now == nil && !r.ended {
		iv, more := r.next()
		r.now, r.ended = iv, !more
	}
}

// beganNs is when its load began, by its own clock.
func (r *partReader) beganNs() int64 {
	if r.now == nil {
		return 0
	}
	return r.now.StartNs
}

// earliest is the interval that began first.
func earliest(readers []*partReader) (first *measure.Interval) {
	for _, r := range readers {
		if r.now != nil && (first == nil || r.now.StartNs < first.StartNs) {
			first = r.now
		}
	}
	return first
}

// addTo adds the reader's interval to sum if it ran next to first: in the same part of the load, and
// beginning less than half an interval later.
func (r *partReader) addTo(sum, first *measure.Interval, run *Run) {
	iv := r.now
	if iv == nil || iv.Phase != first.Phase || iv.WarmUp != first.WarmUp || iv.Drain != first.Drain {
		return
	}
	if iv.StartNs-first.StartNs >= max(min(run.IntervalNs, first.DurationNs())/2, 1) {
		return
	}
	sum.Account.AddParallel(&iv.Account, r.operations, r.targets)
	measure.Shift(iv.Arrivals, -r.laterNs)
	sum.AddArrivals(iv, r.operations, r.targets)
	r.now = nil
}

// copyObserved copies the files of a part's observe folder, if it has one.
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
