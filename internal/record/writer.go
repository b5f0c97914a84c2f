package record

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"brunt/internal/base/finite"
	"brunt/internal/base/linefile"
	"brunt/internal/measure"
	"brunt/internal/render/message"
)

// Options configure how a bundle is written. A zero field means the default given next to it.
type Options struct {
	SyncEvery       time.Duration // time between syncs to disk; 5 s. Negative: only at the end
	SamplesPerClass int           // errors kept in errors.ndjson for each class; 100
	// most bytes that wait in memory while the disk is full, before intervals are merged; 16 MiB
	WaitingBytes int
	Warn         func(Warning) // called once for each failure while running; may be nil
}

// Bundle writes a run's record while it runs. Interval must be called by one goroutine only; Failed is safe for
// concurrent use.
type Bundle struct {
	Dir string

	fsys      FS
	ours      bool // the folder was made for this bundle
	options   Options
	failures  *failureLog
	intervals *linefile.Log
	errors    *linefile.Log
	run       []byte              // RunFile of the complete run, if the disk has not taken it
	merged    []*measure.Interval // beyond WaitingBytes: lossless sums of unwritten intervals, by phase
	lines     lineEncoder
	syncedNs  int64
	began     bool // an interval has been reported
	spare     spareFiles

	mu       sync.Mutex
	warnings []Warning

	faults   eventLog
	verified eventLog
	writes   writesLog
}

var _ measure.Sink = (*Bundle)(nil)

func newBundle(fsys FS, dir string, intervals, failures File, o Options) *Bundle {
	o.SyncEvery = cmp.Or(o.SyncEvery, 5*time.Second)
	o.SamplesPerClass = cmp.Or(o.SamplesPerClass, 100)
	o.WaitingBytes = cmp.Or(o.WaitingBytes, 16<<20)
	return &Bundle{
		Dir: dir, fsys: fsys, options: o, failures: newFailureLog(o.SamplesPerClass),
		intervals: linefile.NewLog(intervals, o.WaitingBytes),
		errors:    linefile.NewLog(failures, 1<<20),
		faults:    eventLog{name: FaultsFile}, verified: eventLog{name: VerifiedFile},
	}
}

// Start writes plan.yml and a run.json that marks the run as incomplete. run must already list its Operations, Targets
// and Phases, which are needed to read a killed run.
func (b *Bundle) Start(plan []byte, run *Run) error {
	hash := sha256.Sum256(plan)
	run.PlanHash = hex.EncodeToString(hash[:])
	if err := ReplaceFile(b.fsys, filepath.Join(b.Dir, PlanFile), plan); err != nil {
		return folderError(b.Dir, err)
	}
	if err := b.Update(run); err != nil {
		return folderError(b.Dir, err)
	}
	b.spare.hold(b.fsys, filepath.Join(b.Dir, RunFile))
	return nil
}

// Remark rewrites plan.yml with comments appended: values that the run found and that a repetition needs. plan must be
// the text passed to Start. PlanHash remains the hash of the plan alone.
func (b *Bundle) Remark(plan []byte, lines ...string) error {
	text := bytes.TrimRight(plan, "\n")
	for _, line := range lines {
		text = append(text[:len(text):len(text)], "\n# "+line...)
	}
	if err := ReplaceFile(b.fsys, filepath.Join(b.Dir, PlanFile), append(text, '\n')); err != nil {
		return folderError(b.Dir, err)
	}
	return nil
}

// Update replaces run.json during the run with what became known since Start, such as the tier, the timing method and
// the setup. The run remains marked as incomplete.
func (b *Bundle) Update(run *Run) error {
	now := *run
	now.Complete, now.Ended = false, time.Time{}
	return b.writeRun(&now)
}

// Interval implements measure.Sink. It fails only if the interval can't be encoded. A full disk doesn't end the load:
// lines then wait in memory (see Options.WaitingBytes), and Options.Warn is called once.
func (b *Bundle) Interval(iv *measure.Interval) error {
	b.began = true
	if err := b.appendInterval(iv); err != nil {
		return fmt.Errorf("encode interval %d of the record: %w", iv.Index, err)
	}
	b.appendFailures()
	b.FlushWrites()
	b.flush(iv.EndNs)
	return nil
}

func (b *Bundle) appendInterval(v *measure.Interval) error {
	if len(b.merged) > 0 {
		b.merge(v)
		return nil
	}
	line, err := b.lines.encode(v)
	if err != nil {
		return err
	}
	if !b.intervals.Room(len(line)) {
		b.merge(v)
		return nil
	}
	b.intervals.Add(line)
	return nil
}

// merge adds v to the merged intervals that wait. Intervals of different phases are kept apart.
func (b *Bundle) merge(v *measure.Interval) {
	if n := len(b.merged); n > 0 && b.merged[n-1].Extend(v) {
		return
	}
	sum := &measure.Interval{}
	sum.Extend(v)
	b.merged = append(b.merged, sum)
}

func (b *Bundle) appendFailures() {
	for _, line := range b.failures.take() {
		if b.errors.Room(len(line)) {
			b.errors.Add(line)
		}
	}
}

func (b *Bundle) flush(nowNs int64) {
	err := b.intervals.Flush()
	if err == nil && len(b.merged) > 0 {
		err = b.flushMerged()
	}
	if e := b.errors.Flush(); err == nil {
		err = e
	}
	if err != nil {
		b.warn(writeWarning(b.Dir, err))
	}
	if every := int64(b.options.SyncEvery); every > 0 && nowNs-b.syncedNs >= every {
		b.syncedNs = nowNs
		b.intervals.Sync()
		b.errors.Sync()
	}
}

func (b *Bundle) flushMerged() error {
	for _, m := range b.merged {
		line, err := b.lines.encode(m)
		if err != nil {
			return err
		}
		b.intervals.Add(line)
	}
	b.merged = nil
	return b.intervals.Flush()
}

// Failed records a failed attempt. The first few of each class, code and text are written to errors.ndjson with the
// next interval; all are counted. It is quick and does no I/O.
func (b *Bundle) Failed(e *ErrorSample) { b.failures.add(e) }

// Failures returns the numbers of failed attempts so far by class, code and text, the most frequent first.
func (b *Bundle) Failures() []FailureCount { return b.failures.counts() }

// Warnings returns the problems met while writing.
func (b *Bundle) Warnings() []Warning {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.warnings)
}

// Finish writes what still waits and the final run.json, and closes the bundle. It adds to run the failures and
// warnings that the bundle has collected. The error says what is missing from the record.
func (b *Bundle) Finish(run *Run) error {
	b.appendFailures()
	b.flush(b.syncedNs)
	unwritten := b.intervals.Waiting() > 0 || len(b.merged) > 0
	err := joined(b.intervals.Close(), b.errors.Close(), b.faults.close(), b.verified.close(), b.closeWrites())
	run.Failures = b.Failures()
	run.Warnings = append(run.Warnings, b.Warnings()...)
	if e := b.writeRun(run); e != nil {
		if unwritten && errors.Is(err, FileCause(e)) { // one full disk
			return fmt.Errorf("%w; the last intervals are missing, too", e)
		}
		return joined(e, err)
	}
	if err == nil {
		return nil
	}
	what := "some of it may not survive a power failure"
	if unwritten {
		what = "its last intervals are missing; totals in " + RunFile + " are whole"
	}
	return fmt.Errorf("the record in %s could not be written completely: %w; %s", b.Dir, err, what)
}

// Unwritten returns the contents of the files that a full disk has not taken as a whole, by their names: of
// IntervalsFile and of RunFile. It must be called after Finish. There are none if all was written, or if they can't be
// read.
func (b *Bundle) Unwritten() map[string][]byte {
	files := map[string][]byte{}
	if b.run != nil {
		files[RunFile] = b.run
	}
	lines := slices.Clone(b.intervals.Rest())
	for _, m := range b.merged {
		line, err := b.lines.encode(m)
		if err != nil {
			break // Finish has returned it
		}
		lines = append(lines, line...)
	}
	if len(lines) == 0 {
		return files
	}
	in, err := b.fsys.Open(filepath.Join(b.Dir, IntervalsFile))
	if err != nil {
		return files
	}
	defer in.Close()
	if text, err := io.ReadAll(in); err == nil {
		files[IntervalsFile] = append(text[:bytes.LastIndexByte(text, '\n')+1], lines...)
	}
	return files
}

// joined combines errors into one whose text is a single line without repetitions; nil if all are nil.
func joined(all ...error) (out error) {
	for _, err := range all {
		switch {
		case err == nil:
		case out == nil:
			out = err
		case !strings.Contains(out.Error(), err.Error()):
			out = fmt.Errorf("%w; %w", out, err)
		}
	}
	return out
}

// Abandon closes the bundle without a final run.json, for a run that failed before its load.
func (b *Bundle) Abandon() {
	b.spare.release()
	_ = b.intervals.Close()
	_ = b.errors.Close()
	_ = b.faults.close()
	_ = b.verified.close()
	_ = b.closeWrites()
}

// Discard closes the bundle like Abandon, and removes its files if no interval was recorded. A folder made for this
// bundle is removed, too; one that the user named remains, empty.
func (b *Bundle) Discard() {
	b.Abandon()
	if b.began {
		return
	}
	for _, name := range []string{
		RunFile, PlanFile, IntervalsFile, ErrorsFile, FaultsFile, WatchdogFile, WritesFile, VerifiedFile, TraceFile,
	} {
		_ = b.fsys.Remove(filepath.Join(b.Dir, name))
	}
	if b.ours {
		_ = b.fsys.Remove(b.Dir)
	}
}

// mostIndented is the greatest number of operations with which run.json is indented for human readers.
const mostIndented = 1000

func (b *Bundle) writeRun(run *Run) error {
	run.Schema = SchemaVersion
	encode := finite.Marshal
	if len(run.Operations) <= mostIndented {
		encode = func(v any) ([]byte, error) { return finite.MarshalIndent(v, "", "  ") }
	}
	data, err := encode(run.Described())
	path := filepath.Join(b.Dir, RunFile)
	if err == nil {
		held := b.spare.release()
		data = append(data, '\n')
		err = ReplaceFile(b.fsys, path, data)
		if held && !run.Complete {
			b.spare.hold(b.fsys, path)
		}
	}
	if err == nil {
		return nil
	}
	if run.Complete {
		b.run = data
	}
	if b.began {
		return fmt.Errorf("%w; the run can still be reported from its intervals", err)
	}
	return err
}

func (b *Bundle) warn(w Warning) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.warnings, func(have Warning) bool { return have.ID == w.ID }) {
		return
	}
	b.warnings = append(b.warnings, w)
	if b.options.Warn != nil {
		b.options.Warn(w)
	}
}

func writeWarning(dir string, err error) Warning {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return NewWarning("record-disk-full", message.Text("folder", dir))
	}
	return NewWarning("record-write-failed", message.Text("folder", dir), message.Text("error", err.Error()))
}
