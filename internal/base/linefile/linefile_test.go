package linefile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// full is a disk with room for so many bytes more.
type full struct {
	*os.File
	room int
}

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if len(p) <= f.room {
		f.room -= len(p)
		return f.File.Write(p)
	}
	n, _ := f.File.Write(p[:f.room])
	f.room = 0
	return n, errFull
}

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func lines(t *testing.T, path string) (all []string) {
	t.Helper()
	for _, line := range open(t, path).Lines() {
		all = append(all, string(line))
	}
	return all
}

// A line that a full disk cut off isn't glued to the next one.
func TestAppendGoesOnAfterAShortWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f := open(t, path)
	if err := f.Append([]byte("first")); err != nil {
		t.Fatal(err)
	}
	disk := &full{f.log.disk.(*os.File), 4}
	f.log.disk = disk
	if err := f.Append([]byte("a long second")); !errors.Is(err, errFull) {
		t.Fatalf("got %v, want %v", err, errFull)
	}
	if got := lines(t, path); !slices.Equal(got, []string{"first"}) {
		t.Errorf("with a torn line behind them, lines are %q", got)
	}
	disk.room = 100
	if err := f.Append([]byte("3")); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, path); !slices.Equal(got, []string{"first", "3"}) {
		t.Errorf("lines are %q", got)
	}
}

func TestOpenReadsWholeLines(t *testing.T) {
	for name, row := range map[string]struct {
		text string
		want []string
	}{
		"empty":      {"", nil},
		"whole":      {"a\nb\n", []string{"a", "b"}},
		"empty line": {"a\n\n", []string{"a", ""}},
		"torn":       {"a\nb", []string{"a"}},
		"only torn":  {"b", nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(path, []byte(row.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := lines(t, path); !slices.Equal(got, row.want) {
				t.Errorf("lines are %q, want %q", got, row.want)
			}
			if err := open(t, path).Append([]byte("next")); err != nil {
				t.Fatal(err)
			}
			if got := lines(t, path); !slices.Equal(got, append(row.want, "next")) {
				t.Errorf("after one more, lines are %q", got)
			}
		})
	}
}

func TestAppendRefusesNewlines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := open(t, path).Append([]byte("a\nb")); err == nil {
		t.Error("a line with a newline was taken")
	}
}

func TestOpenNamesThePath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nowhere", "x")
	if _, err := Open(path); err == nil || strings.Count(err.Error(), path) != 1 {
		t.Errorf("got %v, want the path once", err)
	}
}

// stuck is a disk whose syncs last until it is released, and then fail.
type stuck struct {
	Disk
	syncs   chan struct{}
	release chan struct{}
}

func (d *stuck) Sync() error {
	d.syncs <- struct{}{}
	<-d.release
	return errFull
}

// AppendSoon doesn't wait for a slow disk, and Close tells of what the disk refused.
func TestAppendSoonDoesntWaitForSyncs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f := open(t, path)
	disk := &stuck{Disk: f.log.disk, syncs: make(chan struct{}, 1), release: make(chan struct{})}
	f.log.disk = disk
	for _, line := range []string{"first", "second", "third"} {
		if err := f.AppendSoon([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := lines(t, path), []string{"first", "second", "third"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	<-disk.syncs
	close(disk.release)
	for f.log.syncing.Load() {
		runtime.Gosched()
	}
	if err := f.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close returned %v, want %v", err, errFull)
	}
}
