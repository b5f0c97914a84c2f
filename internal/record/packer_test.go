package record

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// variousIntervals returns a run and intervals whose lines lack various parts.
func variousIntervals() (run *Run, all []*measure.Interval) {
	run = workersRun()
	empty := newInterval(0)
	all = append(append(all, empty), intervalsOf(samples(300), everything)...)
	all = append(all, workersIntervals(3, 2)...)
	failed := newInterval(9)
	record(failed, sample{service: 1000, response: 2000, lateBy: 10, class: protocol.Server})
	merged := newInterval(10)
	merged.Intervals, merged.EndNs = 3, merged.EndNs+2e9
	record(merged, sample{operation: 1, address: 1, service: 7, response: math.MaxInt64, lateBy: 10})
	merged.Turnaround = measure.NewHistogram()
	merged.Turnaround.RecordN(300, math.MaxUint32)
	closed := newInterval(13) // response and service times are the same
	record(closed, sample{service: 5000, response: 5000})
	all = append(all, failed, merged, closed)
	for i, iv := range all {
		iv.Phase, iv.WarmUp = "hold", false
		iv.StartNs, iv.EndNs = int64(i)*1e9, int64(i)*1e9+iv.DurationNs()
		iv.Settle()
	}
	return run, all
}

// alignedLines returns the combined lines of two parts, of which the second has packed histograms.
func alignedLines(t *testing.T, run *Run, lines, packed [][]byte) (out [][]byte) {
	t.Helper()
	source := func(packed [][]byte) Source {
		return Source{Run: run, Lines: func(f func(line, packed []byte) error) error {
			for i := range lines {
				var with []byte
				if packed != nil {
					with = packed[i]
				}
				if err := f(lines[i], with); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	e := &lineEncoder{}
	err := Align(run, []Source{source(nil), source(packed)}, func(iv *measure.Interval) error {
		line, err := e.encode(iv)
		out = append(out, bytes.Clone(line))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Combining packed histograms gives the same bytes as combining those of the lines.
func TestPackedHistogramsAreThoseOfTheLines(t *testing.T) {
	run, all := variousIntervals()
	e, p := &lineEncoder{}, &Packer{}
	var lines, packed [][]byte
	for i, iv := range all {
		line, err := e.encode(iv)
		if err != nil {
			t.Fatal(err)
		}
		lines, packed = append(lines, bytes.Clone(line)), append(packed, p.AppendPacked(nil, iv))
		if begins := p.AppendBeginning(nil, iv); !bytes.HasPrefix(line, begins) {
			t.Errorf("interval %d begins with %.80s, not %s", i, line, begins)
		}
		text := &lineText{}
		if err := text.read(line, packed[i]); err != nil || len(packed[i]) > 0 && text.packed == nil {
			t.Errorf("interval %d isn't read as packed (%v)", i, err)
		}
	}
	want := alignedLines(t, run, lines, nil)
	if got := alignedLines(t, run, lines, packed); !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("got %s\nwant %s", bytes.Join(got, nil), bytes.Join(want, nil))
	}
	if len(want) != len(all) {
		t.Errorf("%d intervals, want %d", len(want), len(all))
	}
	for name, other := range map[string][]byte{ // in these cases the line itself is decoded
		"one less":  packed[len(all)-4][:1],
		"garbage":   {0xff, 0xff},
		"cut off":   packed[1][:len(packed[1])-1],
		"one more":  append(bytes.Clone(packed[1]), 0),
		"too large": {200, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			with := slices.Repeat([][]byte{other}, len(lines))
			if got := alignedLines(t, run, lines, with); !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("got %s\nwant %s", bytes.Join(got, nil), bytes.Join(want, nil))
			}
		})
	}
}

// Packed histograms of another interval are not used, even if their number is that of the line.
func TestPackedHistogramsOfAnotherIntervalAreRefused(t *testing.T) {
	run, all := workersRun(), workersIntervals(1, 2)
	record(all[1], sample{service: 77, response: 77})
	line, err := new(lineEncoder).encode(all[0])
	if err != nil {
		t.Fatal(err)
	}
	text := &lineText{}
	if err := text.read(line, new(Packer).AppendPacked(nil, all[1])); err != nil {
		t.Fatal(err)
	}
	if _, err := new(lineDecoder).interval(text, run); err == nil {
		t.Error("they are taken")
	}
}

// FuzzPacked decodes arbitrary lines with arbitrary packed histograms. The result has the counts of the line.
func FuzzPacked(f *testing.F) {
	run, all := variousIntervals()
	e, p := &lineEncoder{}, &Packer{}
	for _, iv := range all[:3] {
		line, err := e.encode(iv)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(line), p.AppendPacked(nil, iv))
	}
	f.Add([]byte(`{"operations":[{"op":0,"response":{"count":3,"at":-7}},{"op":1,"lag":{"count":1,"at":9}}]}`), []byte{1, 0})
	text, d := &lineText{}, &lineDecoder{reuse: true}
	f.Fuzz(func(t *testing.T, line, packed []byte) {
		if text.read(line, packed) != nil {
			return
		}
		iv, err := d.interval(text, run)
		if err != nil {
			return
		}
		for i := range text.line.Operations {
			l := &text.line.Operations[i]
			if l.Response == nil || i > 0 { // a later entry may belong to the same operation
				continue
			}
			if o := &iv.Operations[l.Operation]; len(text.line.Operations) == 1 && o.Response.Count() != l.Response.Count {
				t.Errorf("%d values, the line says %d", o.Response.Count(), l.Response.Count)
			}
		}
	})
}
