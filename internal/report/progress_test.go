package report

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/internal/render/cell"
)

// tick returns an interval of a second of a run.
func tick(k, done, failed int) *measure.Interval {
	iv := &measure.Interval{Index: k, Phase: "hold", Account: measure.Account{StartNs: int64(k) * 1e9,
		EndNs: int64(k+1) * 1e9, Operations: make([]measure.OperationAccount, 1)}}
	o := &iv.Operations[0]
	o.Done, o.Errors[1] = uint64(done), uint64(failed)
	o.Response = measure.NewHistogram()
	o.Response.RecordN(1_500_000, uint64(done-failed))
	return iv
}

// progressOf returns the progress of a run with one phase.
func progressOf(w io.Writer, o Options, planned time.Duration, limit uint64) *Progress {
	p := NewProgress(w, o)
	p.Start(&record.Run{Phases: []record.Phase{{Name: "hold", Kind: "closed", DurationNs: int64(planned), Limit: limit}}})
	return p
}

func TestProgressWithoutTerminal(t *testing.T) {
	var b bytes.Buffer
	p := progressOf(&b, Options{}, 25*time.Second, 0)
	for k := range 25 {
		iv := tick(k, 1000, 0)
		if k == 12 {
			iv = tick(k, 1000, 100)
			iv.Backlog = 7
		}
		if err := p.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	p.Done()
	want := "hold      0:10    1,000/s  p99 1.50 ms  0 failed  0:15 left\n" +
		"hold      0:20      990/s  p99 1.50 ms  100 failed (1.00 %)  0:05 left\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// The line of a load of workers says how many are left.
func TestProgressOfWorkers(t *testing.T) {
	var b bytes.Buffer
	p := progressOf(&b, Options{}, 25*time.Second, 0)
	for k := range 10 {
		iv := tick(k, 1000, 0)
		iv.Workers = []measure.Worker{{Name: "1 (a)"}, {Name: "2 (b)", Lost: true}, {Name: "3 (c)"}}
		if err := p.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	if want := "0 failed  2 of 3 workers  0:15 left\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("got %q, want it to end with %q", b.String(), want)
	}
}

func TestProgressOnTerminalFollowsItsWidth(t *testing.T) {
	var b bytes.Buffer
	columns := 100
	p := progressOf(&b, Options{Live: true, Color: true, Resize: func() int { return columns }}, 10*time.Second, 0)
	for k := range 5 {
		b.Reset()
		columns = []int{100, 100, 60, 30, 5}[k]
		iv := tick(k, 1000, 10)
		iv.Backlog = 1234
		if err := p.Interval(iv); err != nil {
			t.Fatal(err)
		}
		s := b.String()
		if k == 0 {
			if s != "" {
				t.Errorf("drew %q within two seconds", s)
			}
			continue
		}
		line := strings.TrimSuffix(strings.TrimPrefix(s, "\r"), "\x1b[K")
		if line = escapes.ReplaceAllString(line, ""); cell.Width(line) >= columns || line == "" ||
			strings.Contains(line, "\n") {
			t.Errorf("at %d columns: %q", columns, line)
		}
		if columns == 100 && !strings.Contains(line, "backlog 1,234") {
			t.Errorf("no backlog in %q", line)
		}
	}
	b.Reset()
	p.Done()
	p.Done()
	if b.String() != "\r\x1b[K" {
		t.Errorf("closing wrote %q", b.String())
	}
}

func TestShortWorkIsQuiet(t *testing.T) {
	var b bytes.Buffer
	now := recordtest.Began
	o := Options{Live: true, Color: true, Now: func() time.Time { return now }}
	p := progressOf(&b, o, 1900*time.Millisecond, 0)
	for k := range 4 {
		if err := p.Interval(tick(k, 10, 0)); err != nil {
			t.Fatal(err)
		}
	}
	p.Done()
	l := NewLoadProgress(&b, o)
	now = now.Add(1900 * time.Millisecond)
	l.Show(Filling{Table: "cars", AllDone: 10, AllTotal: 100})
	l.Done()
	if b.Len() != 0 {
		t.Errorf("wrote %q", b.String())
	}
}

func TestProgressOfAQueueEstimates(t *testing.T) {
	var b bytes.Buffer
	p := progressOf(&b, Options{}, 0, 20_000)
	for k := range 10 {
		if err := p.Interval(tick(k, 500, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if want := "0:30 left"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in %q", want, b.String())
	}
}

func TestLoadProgress(t *testing.T) {
	var b bytes.Buffer
	now := recordtest.Began
	l := NewLoadProgress(&b, Options{Now: func() time.Time { return now }})
	for s := 1; s <= 21; s++ {
		now = now.Add(time.Second)
		l.Show(Filling{
			Table: "cars", AllDone: uint64(s) * 50_000, AllTotal: 5_000_000, RatePerS: 50_000,
			Left: time.Duration(100-s) * time.Second,
		})
	}
	now = now.Add(10 * time.Second)
	l.ShowCheck(2000, 100_000)
	want := "fill cars  0:10  50,000 rows/s  500,000 of 5,000,000 rows  1:30 left\n" +
		"fill cars  0:20  50,000 rows/s  1,000,000 of 5,000,000 rows  1:20 left\n" +
		"check  0:31  2,000 of 100,000 statements\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestNotesStayAboveTheLine(t *testing.T) {
	var b bytes.Buffer
	p := progressOf(&b, Options{Live: true}, time.Minute, 0)
	for k := range 3 {
		if err := p.Interval(tick(k, 10, 0)); err != nil {
			t.Fatal(err)
		}
	}
	b.Reset()
	p.Note("the disk is full")
	p.Note("still")
	if got := b.String(); got != "\r\x1b[Kthe disk is full\nstill\n" {
		t.Errorf("wrote %q", got)
	}
}
