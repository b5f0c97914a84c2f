package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"brunt/internal/base/linefile"
	"brunt/internal/base/linefile/filelock"
	"brunt/internal/measure"
	"brunt/internal/render/message"
)

// Recorded is a bundle opened for reading. Its run may be complete, killed or still in progress.
type Recorded struct {
	Dir string
	Run *Run // content of run.json; see Result

	fsys     FS
	damaged  []int // numbers of the lines of intervals.ndjson that couldn't be read
	arrivals int64 // those in run.json minus those in the intervals when all were last read
}

// Limits of what is read of one file or line, so that a damaged bundle can't exhaust memory.
const (
	maxRunBytes  = 256 << 20
	maxLineBytes = 64 << 20
)

// Open reads a bundle's run.json. path is the bundle's folder or a file in it. It fails if path is not a bundle, or if
// a newer version of brunt wrote it.
func Open(fsys FS, path string) (*Recorded, error) {
	if name := filepath.Base(path); name == RunFile || name == IntervalsFile || name == PlanFile {
		path = filepath.Dir(path)
	}
	data, err := ReadFile(fsys, filepath.Join(path, RunFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if workers, err := fsys.Open(filepath.Join(path, WorkersFolder)); err == nil {
			workers.Close()
			return nil, fmt.Errorf("%s holds no %s: the process that led its workers didn't end; complete it with brunt resume %s",
				path, RunFile, path)
		}
		return nil, fmt.Errorf("%s holds no %s; name the folder of a run, such as %s", path, RunFile,
			filepath.Join(DefaultRoot, "<name>-<time>"))
	}
	if err != nil {
		return nil, fmt.Errorf("read the record in %s: %w", path, err)
	}
	run, err := DecodeRun(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(path, RunFile), err)
	}
	return &Recorded{Dir: path, Run: run, fsys: fsys}, nil
}

// ReadFile returns the content of a file. It fails if that is larger than 256 MiB.
func ReadFile(fsys FS, path string) ([]byte, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRunBytes+1))
	if err == nil && len(data) > maxRunBytes {
		err = fmt.Errorf("larger than %d bytes", maxRunBytes)
	}
	return data, err
}

// DecodeRun decodes a run.json or the output of --output json. It fails if a newer version of brunt wrote it.
func DecodeRun(data []byte) (*Run, error) {
	var version struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("not a run's record: %w", err)
	}
	switch {
	case version.Schema == nil || *version.Schema < 1:
		return nil, fmt.Errorf("not a run's record: it has no schema version")
	case *version.Schema > SchemaVersion:
		return nil, fmt.Errorf("schema version %d is newer than this program reads (%d); update brunt", *version.Schema,
			SchemaVersion)
	}
	run := &Run{}
	if err := json.Unmarshal(data, run); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	table := run.Messages
	run.Messages = nil
	if err := table.Resolve(run); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return run, nil
}

// Plan returns the content of plan.yml.
func (r *Recorded) Plan() ([]byte, error) { return ReadFile(r.fsys, filepath.Join(r.Dir, PlanFile)) }

// Intervals calls f with every interval in order until f fails. It skips damaged lines, and an incomplete last line,
// which a killed run may leave. Damage then reports what is missing from a complete run.
func (r *Recorded) Intervals(f func(iv *measure.Interval) error) error {
	return r.intervals(&lineDecoder{}, f)
}

func (r *Recorded) intervals(d *lineDecoder, f func(iv *measure.Interval) error) error {
	r.damaged, r.arrivals = nil, 0
	t, found := &lineText{}, uint64(0)
	err := r.lines(IntervalsFile, func(line []byte) (func() error, error) {
		if err := t.read(line, nil); err != nil {
			return nil, err
		}
		iv, err := d.interval(t, r.Run)
		return func() error {
			if !iv.WarmUp {
				c := iv.Totals()
				found += c.Arrivals()
			}
			return f(iv)
		}, err
	})
	if c := &r.Run.Total; err == nil && r.Run.Complete {
		r.arrivals = int64(c.Done + c.Dropped + c.Unfinished - found)
	}
	return err
}

// Errors calls f with every error sample in order until f fails.
func (r *Recorded) Errors(f func(e *ErrorSample) error) error {
	return r.lines(ErrorsFile, func(line []byte) (func() error, error) {
		e := &ErrorSample{}
		err := json.Unmarshal(line, e)
		return func() error { return f(e) }, err
	})
}

// intervalLines calls f with the lines of intervals.ndjson, including damaged ones. It doesn't keep the file open, and
// reads into buffer, which other parts may use between two calls of f: so it keeps no memory for a part.
func (r *Recorded) intervalLines(buffer *[]byte, f func(line []byte) error) error {
	path := filepath.Join(r.Dir, IntervalsFile)
	in := &reopened{fsys: r.fsys, path: path}
	defer in.close()
	for n := 1; ; n++ {
		line, err := in.line(buffer)
		if err == io.EOF || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s:%d: %w", path, n, err)
		}
		if err := f(line); err != nil {
			return err
		}
	}
}

// reopened reads the lines of a file that it opens for each of them.
type reopened struct {
	fsys   FS
	path   string
	at     int64 // where the next line begins
	likely int   // an estimate of the line's length
	// kept and lines are set if the file is no io.ReaderAt: it then stays open.
	kept  io.Closer
	lines *linefile.Reader
}

// leastLine is the least that is read at a time, bytes.
const leastLine = 4 << 10

// line returns the next line without its newline, in the memory of buffer, or io.EOF. It ignores what follows the last
// newline.
func (r *reopened) line(buffer *[]byte) ([]byte, error) {
	if r.lines != nil {
		return r.lines.Next()
	}
	file, err := r.fsys.Open(r.path)
	if err != nil {
		return nil, err
	}
	from, ok := file.(io.ReaderAt)
	if !ok {
		r.kept, r.lines = file, linefile.NewReader(file, maxLineBytes)
		return r.lines.Next()
	}
	line, err := r.lineOf(from, buffer)
	return line, cmp.Or(err, file.Close())
}

func (r *reopened) lineOf(file io.ReaderAt, buffer *[]byte) ([]byte, error) {
	for have, want := 0, max(r.likely, leastLine); ; want *= 2 {
		*buffer = slices.Grow((*buffer)[:have], want-have)[:want]
		n, err := file.ReadAt((*buffer)[have:], r.at+int64(have))
		if end := bytes.IndexByte((*buffer)[have:have+n], '\n'); end >= 0 {
			end += have
			r.at, r.likely = r.at+int64(end)+1, end+end/8
			return (*buffer)[:end], nil
		}
		switch have += n; {
		case err != nil:
			return nil, err
		case have > maxLineBytes:
			return nil, fmt.Errorf("line longer than %d bytes", maxLineBytes)
		}
	}
}

func (r *reopened) close() {
	if r.kept != nil {
		_ = r.kept.Close() // nothing was written
	}
}

// lines decodes a file line by line and calls use for each line that decodes. A missing file has no lines.
func (r *Recorded) lines(name string, decode func(line []byte) (use func() error, err error)) error {
	path := filepath.Join(r.Dir, name)
	f, err := r.fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	defer f.Close()
	in := linefile.NewReader(f, maxLineBytes)
	for n := 1; ; n++ {
		line, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s:%d: %w", path, n, err)
		}
		use, err := decode(line)
		if err != nil {
			if in.AtEnd() {
				return nil
			}
			if name == IntervalsFile {
				r.damaged = append(r.damaged, n)
			}
			continue
		}
		if err := use(); err != nil {
			return err
		}
	}
}

// Live reports whether the run is still in progress, as far as can be seen on this machine.
func (r *Recorded) Live() bool {
	return !r.Run.Complete && filelock.Claimed(filepath.Join(r.Dir, IntervalsFile))
}

// Result returns the run. If it is complete, this is the content of run.json and the tally is nil. Otherwise it is
// rebuilt from the intervals and returned with its sums, to be judged by package verdict.
func (r *Recorded) Result() (*Run, *measure.Tally, error) {
	if r.Run.Complete {
		return r.Run, nil, nil
	}
	return r.Rebuild()
}

// Rebuild computes the run's figures from its intervals. An incomplete run stays incomplete and ends with its last
// interval. The sums are returned to be judged by package verdict.
func (r *Recorded) Rebuild() (*Run, *measure.Tally, error) {
	run := *r.Run
	run.Hints, run.HintsMore = nil, 0
	run.Phases = slices.Clone(r.Run.Phases)
	t, hints := &measure.Tally{}, NewHintTaker(&run, nil)
	err := r.Intervals(func(iv *measure.Interval) error {
		return errors.Join(t.Interval(iv), hints.Interval(Filled(iv)))
	})
	if err != nil {
		return nil, nil, err
	}
	Fill(&run, t)
	run.Warnings = append(slices.Clone(run.Warnings), r.Damage()...)
	if !run.Complete {
		run.Ended = run.Started
		if last := t.LastUnixNs(); last > 0 {
			run.Ended = time.Unix(0, last).UTC()
		}
		if run.Faults, err = r.Faults(); err != nil {
			return nil, nil, err
		}
		if run.Failures, err = r.countErrors(); err != nil {
			return nil, nil, err
		}
		if run.Verified == nil {
			run.Verified, err = r.unverified()
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return &run, t, nil
}

// Damage returns warnings about what was missing when the intervals were last read: lines that were skipped, whose
// operations are missing from every figure, or operations that only run.json counts.
func (r *Recorded) Damage() (out []Warning) {
	path := message.Text("file", filepath.Join(r.Dir, IntervalsFile))
	if n := len(r.damaged); n > 0 {
		return []Warning{NewWarning("record-damaged", message.Count("n", n),
			message.Text("first", strconv.Itoa(r.damaged[0])), path)}
	}
	if c := &r.Run.Total; r.arrivals != 0 {
		counted := c.Done + c.Dropped + c.Unfinished
		w := NewWarning("record-damaged", message.Count("held", int64(counted)-r.arrivals), message.Count("counted", counted),
			path)
		w.Text = message.New("record-short", w.Text.Args...)
		out = append(out, w)
	}
	return out
}

// Tally returns the sums of all intervals.
func (r *Recorded) Tally() (*measure.Tally, error) {
	t := &measure.Tally{}
	return t, r.intervals(&lineDecoder{reuse: true}, t.Interval)
}

// countErrors counts the recorded samples. There may have been more failures.
func (r *Recorded) countErrors() ([]FailureCount, error) {
	log := newFailureLog(0)
	err := r.Errors(func(e *ErrorSample) error {
		log.count(FailureCount{e.Class, e.Code, e.Text, 1})
		return nil
	})
	return log.counts(), err
}
