package record

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

var began = time.Date(2026, 3, 1, 12, 30, 5, 0, time.UTC)

func startedRun() *Run {
	return &Run{
		Schema: SchemaVersion, ID: "r1", Name: "cars", Started: began, Seed: 7, LoadModel: "open", Sessions: 8,
		IntervalNs: 1e9,
		Operations: []Operation{{Name: "read"}, {Name: "write"}},
		Targets:    []Target{{Address: "a:1", Protocol: "pg"}, {Address: "b:1", Protocol: "pg"}},
		Phases: []Phase{
			{Name: "warm", Kind: "open", DurationNs: 1e9, WarmUp: true},
			{Name: "hold", Kind: "open", DurationNs: 3e9, RateFrom: 100, RateTo: 100},
		},
	}
}

// sample is one operation of the generated runs.
type sample struct {
	operation, address int
	response, service  int64
	class              protocol.Class
	interval           int
	lateBy             int64
}

// samples generates n operations for each of four intervals. The first interval is warm-up.
func samples(n int) []sample {
	r := rand.New(rand.NewPCG(1, 2))
	var out []sample
	for i := range 4 * n {
		service := 50_000 + r.Int64N(5_000_000)
		late := r.Int64N(20_000)
		s := sample{operation: i % 2, address: (i / 2) % 2, service: service, response: service + late, lateBy: late,
			interval: i / n}
		if i%50 == 0 {
			s.class = protocol.Timeout
		}
		out = append(out, s)
	}
	return out
}

// intervalsOf divides the samples for which take returns true into intervals.
func intervalsOf(all []sample, take func(i int) bool) []*measure.Interval {
	ivs := make([]*measure.Interval, 4)
	for k := range ivs {
		ivs[k] = newInterval(k)
	}
	for i, s := range all {
		if take(i) {
			record(ivs[s.interval], s)
		}
	}
	for _, iv := range ivs {
		iv.Settle()
	}
	return ivs
}

func newInterval(k int) *measure.Interval {
	iv := &measure.Interval{Index: k, UnixNs: began.UnixNano() + int64(k)*1e9, Phase: "hold", Kind: "open",
		Account: measure.Account{StartNs: int64(k) * 1e9, EndNs: int64(k+1) * 1e9, Sessions: 8, Busy: 1,
			OwnLag: measure.NewHistogram(), Health: measure.Health{LoopBusy: 0.1 * float64(k+1), ProcessCPU: 0.5, GCCycles: 1,
				RSSBytes: 1 << 20}, Operations: make([]measure.OperationAccount, 2), Addresses: make([]measure.AddressAccount, 2)}}
	if k == 0 {
		iv.Phase, iv.WarmUp = "warm", true
	}
	for i := range iv.Operations {
		o := &iv.Operations[i]
		o.Response, o.WithoutGenerator, o.Service, o.Lag, o.FailedResponse = measure.NewHistogram(), measure.NewHistogram(),
			measure.NewHistogram(), measure.NewHistogram(), measure.NewHistogram()
	}
	for i := range iv.Addresses {
		iv.Addresses[i].Service, iv.Addresses[i].Up = measure.NewHistogram(), 4
	}
	return iv
}

func record(iv *measure.Interval, s sample) {
	o, a := &iv.Operations[s.operation], &iv.Addresses[s.address]
	iv.Offered++
	o.Lag.Record(s.lateBy)
	iv.OwnLag.Record(s.lateBy / 2)
	for _, c := range []*measure.Counts{&o.Counts, &a.Counts} {
		c.Done++
		c.Attempts++
		if s.class != protocol.OK {
			c.Errors[s.class]++
		}
	}
	if s.class != protocol.OK {
		o.FailedResponse.Record(s.response)
		return
	}
	if s.operation == 0 { // its answers are streams
		if o.StreamFirst == nil {
			o.StreamFirst, o.StreamBetween = measure.NewHistogram(), measure.NewHistogram()
		}
		o.StreamFirst.Record(s.service / 2)
		o.StreamBetween.Record(s.service / 4)
		for _, c := range []*measure.Counts{&o.Counts, &a.Counts} {
			c.Streams++
			c.StreamMessages += 2
		}
	}
	o.Response.Record(s.response)
	o.WithoutGenerator.Record(s.response - s.lateBy/2)
	o.Service.Record(s.service)
	a.Service.Record(s.service)
}

func everything(int) bool { return true }

// write writes a bundle of the intervals and returns its folder. finish says whether the run finished.
func write(t *testing.T, fsys FS, ivs []*measure.Interval, finish bool) string {
	t.Helper()
	b, err := CreateIn(fsys, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := startedRun()
	if err := b.Start([]byte("name: cars\n"), run); err != nil {
		t.Fatal(err)
	}
	for _, iv := range ivs {
		if err := b.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	if finish {
		fill(run, ivs)
		run.Complete, run.Ended = true, began.Add(4*time.Second)
		if err := b.Finish(run); err != nil {
			t.Fatal(err)
		}
	}
	return b.Dir
}

// fill sets the figures of run from the intervals.
func fill(run *Run, ivs []*measure.Interval) {
	sums := &measure.Tally{}
	for _, iv := range ivs {
		_ = sums.Interval(iv)
	}
	Fill(run, sums)
}

// fullDisk is the real file system with a limited number of bytes for appended files.
type fullDisk struct {
	OS
	room *int
}

func (d fullDisk) Create(path string) (File, error) {
	f, err := d.OS.Create(path)
	return &fullFile{f, path, d.room}, err
}

type fullFile struct {
	File
	path string
	room *int
}

func (f *fullFile) Write(p []byte) (int, error) {
	n := min(len(p), *f.room)
	*f.room -= n
	n, err := f.File.Write(p[:n])
	if err == nil && n < len(p) {
		err = &fs.PathError{Op: "write", Path: f.path, Err: syscall.ENOSPC}
	}
	return n, err
}

// failing is a file system in which reading a file fails halfway.
type failing struct{ OS }

func (failing) Open(string) (io.ReadCloser, error) { return failingReader{}, nil }

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("input/output error") }
func (failingReader) Close() error             { return nil }

// decodeInterval decodes a line of run's intervals.
func decodeInterval(line []byte, run *Run) (*measure.Interval, error) {
	t := &lineText{}
	if err := t.read(line, nil); err != nil {
		return nil, err
	}
	return (&lineDecoder{}).interval(t, run)
}
