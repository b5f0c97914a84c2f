package scale

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// If a worker's intervals can't be stored anywhere, this is said once, the worker keeps them, and sends them again.
func TestIntervalsThatCantBeStored(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	c, ticket := coordinator(t, "run", 1, time.Minute)
	told := ""
	c.o.Tell = func(text string) { told += text + "\n" }
	w, _ := connected(t, c, ticket)
	name := filepath.Join(c.folder(0), record.IntervalsFile)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", name); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if a, err := w.reportAs(t, Running, 0, "a\nb\n"); err != nil || a.Have != 0 {
			t.Fatalf("answer %+v, %v", a, err)
		}
	}
	if strings.Count(told, "no space left on device") != 1 {
		t.Errorf("told\n%s", told)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if a, err := w.reportAs(t, Running, 0, "a\nb\n"); err != nil || a.Have != 2 {
		t.Errorf("when there is room: answer %+v, %v", a, err)
	}
}

// What a worker's full disk doesn't take goes to the coordinator from memory, in order, and isn't replaced by the short
// file.
func TestIntervalsOfAFullDiskTravel(t *testing.T) {
	c, ticket := coordinator(t, "run", 1, time.Minute)
	w, _ := connected(t, c, ticket)
	if err := os.MkdirAll(c.folder(0), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.Dir, record.IntervalsFile)
	w.lines = tail{path: path}
	var want []byte
	onDisk := 0
	for i := range 6 {
		iv := &measure.Interval{Index: i, Phase: "hold", Kind: measure.KindOpen}
		iv.StartNs, iv.EndNs = int64(i)*1e9, int64(i+1)*1e9
		line, err := new(record.Packer).Line(iv)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, line...)
		var text []byte
		switch { // two lines fit, a third partly; then there is room again, and one line stands for two
		case i < 2:
			text = want
		case i < 4:
			text = want[:onDisk+5]
		default:
			text = append(bytes.Clone(want[:onDisk]), "{merged}\n{another}\n"...)
		}
		if i < 2 {
			onDisk = len(want)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := w.Interval(iv); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 && !w.report() {
			t.Fatal("no answer")
		}
	}
	if err := os.WriteFile(filepath.Join(w.Dir, record.RunFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.home(t.Context(), w.Dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(c.folder(0), record.IntervalsFile))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, the coordinator has\n%s\nwant\n%s", err, got, want)
	}
	if !w.Holds() || len(w.held.lines) != 0 || w.held.first != 2 {
		t.Error(fmt.Sprint("held: ", w.held.first, len(w.held.lines)))
	}
}
