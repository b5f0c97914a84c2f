package record

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"brunt/internal/protocol"
)

// someWrites returns n writes as in a real load: their numbers and times are not in order.
func someWrites(n int) (out []Write) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		w := Write{Index: uint64(max(i*2-r.IntN(50), 0)), Operation: r.IntN(2), Address: r.IntN(2),
			SentNs: int64(i)*1000 + r.Int64N(100_000), Effect: protocol.Effect(r.IntN(protocol.NumEffects))}
		w.EndNs = w.SentNs + r.Int64N(1e9)
		out = append(out, w)
	}
	return out
}

// writing returns a bundle of a run that has begun.
func writing(t *testing.T) *Bundle {
	t.Helper()
	b, err := Create(OS{}, t.TempDir(), "w", time.Now(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start([]byte("queries: []\n"), startedRun()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Abandon)
	return b
}

// readWrites reads a bundle's writes.
func readWrites(t *testing.T, dir string) (got []Write, d WritesDamage) {
	t.Helper()
	r, err := Open(OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err = r.Writes(func(w *Write) error {
		got = append(got, *w)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, d
}

func TestWritesAreKept(t *testing.T) {
	b, want := writing(t), someWrites(5000)
	for i, w := range want {
		if b.Wrote(w); i%700 == 0 {
			b.FlushWrites()
		}
	}
	b.FlushWrites()
	if got, d := readWrites(t, b.Dir); !reflect.DeepEqual(got, want) || d != (WritesDamage{}) {
		t.Errorf("%d of %d writes came back, damage %+v", len(got), len(want), d)
	}
}

// A line that a kill has cut off, or that the disk has corrupted, is lost and counted. Writes are never invented.
func TestDamagedWritesArentInvented(t *testing.T) {
	want := someWrites(300)
	for name, row := range map[string]struct {
		damage func(lines [][]byte) []byte
		whole  []Write
		lines  int
	}{
		"cut off": {func(l [][]byte) []byte {
			return bytes.Join(l, nil)[:len(l[0])+len(l[1])+len(l[2])/2]
		}, want[:200], 0},
		"without end": {func(l [][]byte) []byte {
			return bytes.TrimSuffix(bytes.Join(l[:2], nil), []byte("\n"))
		}, want[:100], 0},
		"garbled": {func(l [][]byte) []byte {
			garbled := bytes.Clone(l[1])
			garbled[len(garbled)-10] ^= 1
			return bytes.Join([][]byte{l[0], garbled, l[2]}, nil)
		}, append(append([]Write(nil), want[:100]...), want[200:]...), 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := writing(t)
			var lines [][]byte
			for i := range 3 {
				for _, w := range want[i*100 : (i+1)*100] {
					b.Wrote(w)
				}
				b.FlushWrites()
			}
			path := filepath.Join(b.Dir, WritesFile)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines = bytes.SplitAfter(data, []byte("\n"))
			if err := os.WriteFile(path, row.damage(lines), 0o600); err != nil {
				t.Fatal(err)
			}
			got, d := readWrites(t, b.Dir)
			if !reflect.DeepEqual(got, row.whole) {
				t.Errorf("%d writes came back, want %d", len(got), len(row.whole))
			}
			if d.Lines != row.lines {
				t.Errorf("%d lines are told to be damaged, want %d", d.Lines, row.lines)
			}
		})
	}
}

// Writes that wait for space on the disk, or are given up, are counted as missing until they are on disk.
func TestWritesThatArentOnDiskAreCounted(t *testing.T) {
	room := 1 << 30
	b, err := CreateIn(fullDisk{room: &room}, t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Abandon)
	if err := b.Start(nil, startedRun()); err != nil {
		t.Fatal(err)
	}
	all := someWrites(300)
	put := func(from, to int) uint64 {
		for _, w := range all[from:to] {
			b.Wrote(w)
		}
		return b.FlushWrites()
	}
	if n := put(0, 100); n != 0 {
		t.Errorf("%d are missing while there is room", n)
	}
	room = 10
	for i, want := range []uint64{100, 200} {
		if n := put(100+100*i, 200+100*i); n != want {
			t.Errorf("%d are missing on the full disk, want %d", n, want)
		}
	}
	if got, _ := readWrites(t, b.Dir); len(got) != 100 {
		t.Errorf("%d are on the full disk, want 100", len(got))
	}
	room = 1 << 30
	if n := b.FlushWrites(); n != 0 {
		t.Errorf("%d are missing when there is room again", n)
	}
	if got, d := readWrites(t, b.Dir); !reflect.DeepEqual(got, all) || d != (WritesDamage{}) {
		t.Errorf("%d of %d are there in the end, damage %+v", len(got), len(all), d)
	}
}

// The results of readings after faults survive a kill. A line that is cut off affects only itself.
func TestReadingsAfterFaultsAreKept(t *testing.T) {
	b := writing(t)
	b.Wrote(Write{Operation: 1, Effect: protocol.Applied})
	b.FlushWrites()
	want := []VerifiedFault{{Fault: "kill", Number: 1, NewLost: 2}, {Fault: "kill", Number: 2, NewLost: 1}}
	for i := range want {
		b.VerifiedAfter(&want[i])
	}
	path := filepath.Join(b.Dir, VerifiedFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, data[:20]...), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(OS{}, b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	if v := run.Verified; v == nil || !reflect.DeepEqual(v.AfterFaults, want) || v.LostMeanwhile != 3 {
		t.Errorf("it says %+v", v)
	}
}

// The record of a killed run says how many of its writes haven't been read back.
func TestWritesOfAKilledRun(t *testing.T) {
	b := writing(t)
	for i, e := range []protocol.Effect{protocol.Applied, protocol.AppliedAgain, protocol.Unsure, protocol.NotApplied} {
		b.Wrote(Write{Index: uint64(i), Operation: 1, Effect: e})
	}
	b.FlushWrites()
	r, err := Open(OS{}, b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	want := []VerifiedOperation{{Name: "write", Acknowledged: 2, NotChecked: 2, Unknown: 1, Failed: 1}}
	if run.Verified == nil || !reflect.DeepEqual(run.Verified.Operations, want) || run.Verified.Reason.IsZero() {
		t.Errorf("it says %+v", run.Verified)
	}
}

// FuzzWrites reads arbitrary bytes as a file of writes and as the data of a line. What is read must be the same when it
// is written again.
func FuzzWrites(f *testing.F) {
	var data []byte
	var last Write
	for _, w := range someWrites(20) {
		data = appendWrite(data, &last, &w)
		last = w
	}
	line, err := json.Marshal(writesLine{20, 3, crc32.ChecksumIEEE(data), data})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(line, '\n'), 20, data)
	f.Add(line[:40], 3, data[:10])
	f.Add([]byte("{}\n{\"n\":1}\n"), -1, []byte{})
	f.Fuzz(func(t *testing.T, file []byte, n int, data []byte) {
		dir := t.TempDir()
		for name, content := range map[string][]byte{RunFile: []byte(`{"schema":2,"operations":[{"name":"a"}]}`),
			WritesFile: file} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Open(OS{}, dir)
		if err != nil {
			t.Fatal(err)
		}
		if run, _, err := r.Result(); err != nil || run.Verified != nil &&
			run.Verified.Sum().Acknowledged != run.Verified.Sum().NotChecked {
			t.Errorf("%v: %+v", err, run)
		}
		all, err := decodeWrites(data, n)
		if err != nil {
			return
		}
		var again []byte
		last := Write{}
		for i := range all {
			again = appendWrite(again, &last, &all[i])
			last = all[i]
		}
		if back, err := decodeWrites(again, len(all)); err != nil || len(all) > 0 && !reflect.DeepEqual(back, all) {
			t.Errorf("%v: %+v came back as %+v", err, all, back)
		}
	})
}
