package scale

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
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

// diskVariable is where a process of TestFullDiskWhileABundleComes mounts its disk.
const diskVariable = "BRUNT_SCALE_DISK"

// A coordinator whose disk becomes full while a bundle comes takes the whole of it to another disk. If there is none,
// the worker keeps its bundle, and the coordinator what it has; when there is room, the bundle arrives.
func TestFullDiskWhileABundleComes(t *testing.T) {
	small := os.Getenv(diskVariable)
	if small == "" {
		inNamespaces(t, "^TestFullDiskWhileABundleComes$", diskVariable+"="+t.TempDir())
		return
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}
	roomy := t.TempDir()
	for _, another := range []bool{true, false} {
		t.Setenv("TMPDIR", roomy)
		c, ticket := coordinator(t, "run", 1, time.Minute)
		c.members[0].inbox.home = filepath.Join(small, fmt.Sprint(another))
		var mu sync.Mutex
		told := ""
		c.o.Tell = func(text string) { mu.Lock(); told += text + "\n"; mu.Unlock() }
		w, _ := connected(t, c, ticket)
		files := map[string]string{record.IntervalsFile: "a\nb\n", record.RunFile: strings.Repeat("x", 100<<10)}
		for name, text := range files {
			path := filepath.Join(w.Dir, name)
			if err := errors.Join(os.MkdirAll(w.Dir, 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		w.lines = tail{path: filepath.Join(w.Dir, record.IntervalsFile)}
		if err := os.MkdirAll(c.folder(0), 0o755); err != nil {
			t.Fatal(err)
		}
		if a, err := w.reportAs(t, Running, 0, "a\nb\n"); err != nil || a.Have != 2 {
			t.Fatalf("answer %+v, %v", a, err)
		}
		filler := filepath.Join(small, "filler")
		if err := os.WriteFile(filler, make([]byte, 200<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		if !another {
			t.Setenv("TMPDIR", small)
		}
		if err := w.home(t.Context(), w.Dir); err == nil || !strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("another disk %v: the first attempt ends with %v", another, err)
		}
		if err := w.home(t.Context(), w.Dir); (err == nil) != another {
			t.Errorf("another disk %v: the second attempt ends with %v", another, err)
		}
		if have := c.members[0].inbox.have(); have != 2 {
			t.Errorf("another disk %v: the coordinator has %d intervals", another, have)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		if err := w.home(t.Context(), w.Dir); !another && err != nil {
			t.Errorf("when there is room: %v", err)
		}
		for name, want := range files {
			if got, err := os.ReadFile(filepath.Join(c.folder(0), name)); err != nil || string(got) != want {
				t.Errorf("another disk %v: %s has %d bytes, want %d, %v", another, name, len(got), len(want), err)
			}
		}
		mu.Lock()
		if moved := strings.Contains(told, "there is no room for its bundle, which goes to "+roomy); moved != another ||
			strings.Count(told, "no space left on device") != 1 {
			t.Errorf("another disk %v: told\n%s", another, told)
		}
		mu.Unlock()
	}
}

// inNamespaces runs a test in a process that may mount file systems. This needs no privileges.
func inNamespaces(t *testing.T, test, env string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run="+test)
	cmd.Env = append(os.Environ(), env)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
