package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// fakeProc is a /proc whose files the test sets.
type fakeProc struct {
	t   *testing.T
	dir string
}

func (f fakeProc) put(pid, parent int, state string, ticks, childTicks uint64) {
	f.t.Helper()
	dir := filepath.Join(f.dir, strconv.Itoa(pid))
	if err := os.MkdirAll(filepath.Join(dir, "fd"), 0o755); err != nil {
		f.t.Fatal(err)
	}
	text := fmt.Sprintf("%d (x) %s %d 0 0 0 -1 0 0 0 0 0 %d 0 %d 0 20 0 1 0 77 0 10 0\n", pid, state, parent, ticks,
		childTicks)
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f fakeProc) end(pid int) {
	f.t.Helper()
	if err := os.RemoveAll(filepath.Join(f.dir, strconv.Itoa(pid))); err != nil {
		f.t.Fatal(err)
	}
}

// The processor time of a tree never falls when children end, and is counted once, no matter which process waits for
// them.
func TestTreeCountsChildrenThatEnded(t *testing.T) {
	f := fakeProc{t, t.TempDir()}
	f.put(10, 1, "S", 1000, 0)
	p, err := newProcess("tree", f.dir, t.TempDir(), 10, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name     string
		change   func()
		cpu      float64
		children float64
	}{
		{"alone", func() {}, 10, 0},
		{"a child works", func() { f.put(11, 10, "R", 150, 0) }, 11.5, 1},
		{"it ends, nobody waited yet", func() { f.put(11, 10, "Z", 200, 0) }, 12, 0},
		{"its parent has waited", func() { f.end(11); f.put(10, 1, "S", 1000, 200) }, 12, 0},
		{"another works", func() { f.put(12, 10, "R", 100, 0) }, 13, 1},
		{"it is gone without a wait", func() { f.end(12) }, 13, 0},
		{"the parent goes on", func() { f.put(10, 1, "S", 1050, 200) }, 13.5, 0},
	} {
		t.Run(step.name, func(t *testing.T) {
			step.change()
			sample, err := p.Sample(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range sample {
				if v.Metric == metricCPU && v.Value != step.cpu {
					t.Errorf("%g s of processor time, want %g", v.Value, step.cpu)
				}
				if v.Metric.Name == "processes" && v.Value != 1+step.children {
					t.Errorf("%g processes, want %g", v.Value, 1+step.children)
				}
			}
		})
	}
}
