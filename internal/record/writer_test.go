package record

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// rebuildOf reads a folder using only its intervals.
func rebuildOf(t *testing.T, dir string) *Run {
	t.Helper()
	r, err := Open(OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := r.Rebuild()
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestFullDiskLosesNothing(t *testing.T) {
	ivs := intervalsOf(samples(500), everything)
	whole := rebuildOf(t, write(t, OS{}, ivs, true))
	for name, waiting := range map[string]int{"lines wait": 1 << 20, "lines are merged": 1} {
		t.Run(name, func(t *testing.T) {
			room := 1 << 30
			warned := 0
			b, err := CreateIn(fullDisk{room: &room}, t.TempDir(),
				Options{WaitingBytes: waiting, Warn: func(Warning) { warned++ }})
			if err != nil {
				t.Fatal(err)
			}
			run := startedRun()
			if err := b.Start(nil, run); err != nil {
				t.Fatal(err)
			}
			room = 100 // a part of the first line is written, then nothing
			for _, iv := range ivs[:3] {
				if err := b.Interval(iv); err != nil {
					t.Fatal(err)
				}
			}
			room = 1 << 30
			if err := b.Interval(ivs[3]); err != nil {
				t.Fatal(err)
			}
			fill(run, ivs)
			run.Complete = true
			if err := b.Finish(run); err != nil {
				t.Fatal(err)
			}
			if warned != 1 || len(run.Warnings) != 1 || run.Warnings[0].ID != "record-disk-full" {
				t.Errorf("warned %d times: %+v", warned, run.Warnings)
			}
			got := rebuildOf(t, b.Dir)
			if !reflect.DeepEqual(got.Operations, whole.Operations) || !reflect.DeepEqual(got.Targets, whole.Targets) {
				t.Error("the record differs from that of a run with room")
			}
			if !reflect.DeepEqual(got.Phases, whole.Phases) || got.DurationNs != whole.DurationNs {
				t.Errorf("phases %+v in %d ns, want %+v in %d ns", got.Phases, got.DurationNs, whole.Phases, whole.DurationNs)
			}
		})
	}
}

func TestDiskThatStaysFullIsToldAtTheEnd(t *testing.T) {
	room := 1 << 30
	b, err := CreateIn(fullDisk{room: &room}, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := startedRun()
	if err := b.Start(nil, run); err != nil {
		t.Fatal(err)
	}
	room = 10
	ivs := intervalsOf(samples(100), everything)
	for _, iv := range ivs {
		if err := b.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	fill(run, ivs)
	err = b.Finish(run)
	if err == nil || strings.Count(err.Error(), "no space left") != 1 || strings.Count(err.Error(), RunFile) != 1 ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("Finish: %v", err)
	}
	if r, err := Open(OS{}, b.Dir); err != nil || r.Run.Complete {
		t.Errorf("the first run.json is gone: %v", err)
	}
}

func TestErrorSamplesAreBounded(t *testing.T) {
	b, err := CreateIn(OS{}, t.TempDir(), Options{SamplesPerClass: 5})
	if err != nil {
		t.Fatal(err)
	}
	run := startedRun()
	if err := b.Start(nil, run); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		b.Failed(&ErrorSample{Time: began, Class: "server", Code: "23505", Text: "duplicate\n key", Operation: "write",
			Index: uint64(i), Attempt: 1})
	}
	b.Failed(&ErrorSample{Time: began, Class: "server", Code: "40P01", Text: "deadlock"})
	b.Failed(&ErrorSample{Time: began, Class: "connect", Text: strings.Repeat("é", 1000), Address: "a:1"})
	fill(run, nil)
	run.Complete = true
	if err := b.Finish(run); err != nil {
		t.Fatal(err)
	}
	var texts []string
	r, err := Open(OS{}, b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Errors(func(e *ErrorSample) error { texts = append(texts, e.Text); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(texts) != 7 || texts[0] != "duplicate key" || texts[5] != "deadlock" || len(texts[6]) > maxTextBytes+len("…") {
		t.Errorf("%d samples: %.60q", len(texts), texts)
	}
	if f := run.Failures; len(f) != 3 || f[0] != (FailureCount{"server", "23505", "duplicate key", 1000}) {
		t.Errorf("failures %+v", f)
	}
}

func TestManyCodesAreCountedInFixedMemory(t *testing.T) {
	l := newFailureLog(0)
	for i := range 2000 {
		l.add(&ErrorSample{Class: "server", Code: strings.Repeat("x", i%1000+1)})
	}
	var sum uint64
	counts := l.counts()
	for _, c := range counts {
		sum += c.Count
	}
	if sum != 2000 || len(counts) != maxCodes+1 || counts[0].Code != "other" {
		t.Errorf("%d failures in %d codes, most of %q", sum, len(counts), counts[0].Code)
	}
}

func TestEmptyHistogramsAreOmitted(t *testing.T) {
	line, err := new(lineEncoder).encode(newInterval(1))
	if err != nil {
		t.Fatal(err)
	}
	if s := string(line); strings.Contains(s, "hdr") || strings.Count(s, "\n") != 1 ||
		!strings.Contains(s, `"operations":[]`) {
		t.Errorf("got %s", s)
	}
}

func TestRunIsNeverHalfWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, RunFile)
	room := 1 << 20
	fsys := fullDisk{room: &room}
	if err := ReplaceFile(fsys, path, []byte(`{"old":1}`)); err != nil {
		t.Fatal(err)
	}
	room = 4
	if err := ReplaceFile(fsys, path, []byte(`{"new":1}`)); err == nil {
		t.Error("a full disk was not noticed")
	}
	data, err := os.ReadFile(path)
	if err != nil || !json.Valid(data) || string(data) != `{"old":1}` {
		t.Errorf("%q, %v", data, err)
	}
	if names, _ := (OS{}).List(dir); len(names) != 1 {
		t.Errorf("left behind: %q", names)
	}
}

func TestUpdateKeepsTheRunIncomplete(t *testing.T) {
	b, err := CreateIn(OS{}, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abandon()
	run := startedRun()
	if err := b.Start(nil, run); err != nil {
		t.Fatal(err)
	}
	run.Tier, run.Complete = "codec", true
	if err := b.Update(run); err != nil {
		t.Fatal(err)
	}
	r, err := Open(OS{}, b.Dir)
	if err != nil || r.Run.Tier != "codec" || r.Run.Complete {
		t.Errorf("tier %q, complete %v, %v", r.Run.Tier, r.Run.Complete, err)
	}
}

// badClose is the real file system, except that closing a written file fails, as on network file systems.
type badClose struct {
	OS
	bad *bool
}

func (b badClose) Create(path string) (File, error) {
	f, err := b.OS.Create(path)
	return badCloseFile{f, b.bad}, err
}

type badCloseFile struct {
	File
	bad *bool
}

func (f badCloseFile) Close() error {
	err := f.File.Close()
	if *f.bad {
		err = errors.New("the quota is exceeded")
	}
	return err
}

// Errors of closing the record's files are returned, even if run.json can't be written either.
func TestErrorsOfCloseAreTold(t *testing.T) {
	bad := false
	b, err := CreateIn(badClose{bad: &bad}, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := startedRun()
	if err := b.Start(nil, run); err != nil {
		t.Fatal(err)
	}
	ivs := intervalsOf(samples(10), everything)
	fill(run, ivs)
	bad = true
	err = b.Finish(run)
	if err == nil || strings.Count(err.Error(), "the quota is exceeded") != 1 || !strings.Contains(err.Error(), RunFile) {
		t.Errorf("Finish: %v", err)
	}
}

// A run that has opened as many files as the process may open still writes its run.json, because two descriptors are
// reserved for it.
func TestTheLastFilesAreKeptForTheRecord(t *testing.T) {
	fsys := &fewFiles{left: 7} // replacements of run.json and plan.yml, the two logs, the two reserved and one more
	b, err := CreateIn(fsys, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := startedRun()
	if err := b.Start([]byte("name: cars\n"), run); err != nil {
		t.Fatal(err)
	}
	fsys.left = 0 // sessions use the remaining descriptors
	for _, iv := range intervalsOf(samples(10), everything) {
		if err := b.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Update(run); err != nil {
		t.Errorf("the run under way: %v", err)
	}
	run.Complete = true
	if err := b.Finish(run); err != nil {
		t.Errorf("the end: %v", err)
	}
	read, err := Open(OS{}, b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if !read.Run.Complete {
		t.Error("run.json says that the run isn't complete")
	}
}

// If writing run.json fails before anything was recorded, the error doesn't mention intervals.
func TestNoIntervalsNoHint(t *testing.T) {
	fsys := &fewFiles{left: 2}
	b, err := CreateIn(fsys, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start([]byte("name: cars\n"), startedRun()); err == nil || strings.Contains(err.Error(), "intervals") {
		t.Errorf("error %v", err)
	}
}

// fewFiles is a file system with a limited number of open files.
type fewFiles struct {
	OS
	left int
}

func (f *fewFiles) Create(path string) (File, error) {
	if f.left == 0 {
		return nil, syscall.EMFILE
	}
	file, err := f.OS.Create(path)
	if err != nil {
		return nil, err
	}
	f.left--
	return &counted{File: file, of: f}, nil
}

func (f *fewFiles) Open(path string) (io.ReadCloser, error) {
	if f.left == 0 {
		return nil, syscall.EMFILE
	}
	file, err := f.OS.Open(path)
	if err != nil {
		return nil, err
	}
	f.left--
	return &countedReader{ReadCloser: file, of: f}, nil
}

type counted struct {
	File
	of *fewFiles
}

func (c *counted) Close() error {
	c.of.left++
	return c.File.Close()
}

type countedReader struct {
	io.ReadCloser
	of *fewFiles
}

func (c *countedReader) Close() error {
	c.of.left++
	return c.ReadCloser.Close()
}
