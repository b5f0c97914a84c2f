package scale

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/record"
)

// If a worker's intervals can't be stored, this is said once, the worker keeps them, and sends them again.
func TestIntervalsThatCantBeStored(t *testing.T) {
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
