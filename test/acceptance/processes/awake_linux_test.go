package processes_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brunt/internal/record"
	"brunt/test/shell"
)

// childrenOf lists the processes whose parent is pid, zombies excluded.
func childrenOf(pid int) (children []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		f := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(f) > 1 && string(f[0]) != "Z" && string(f[1]) == strconv.Itoa(pid) {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			children = append(children, child)
		}
	}
	return children
}

func alive(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !bytes.Contains(text, []byte(") Z "))
}

// underLoad starts a load that lasts until it is ended, and waits until it has sent something.
func underLoad(t *testing.T, args ...string) (pid int, dir string, end func(syscall.Signal)) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	dir = filepath.Join(t.TempDir(), "bundle")
	cmd, _ := shell.Start(t, nil, append(append([]string{"brunt", "http", "--rate", "20", "--duration", "1h",
		"--interval",
		"100ms", "--bundle", dir}, args...), server.URL)...)
	shell.Until(t, "the load is recorded", func() bool {
		b, _ := os.ReadFile(filepath.Join(dir, record.IntervalsFile))
		return bytes.Count(b, []byte("\n")) >= 2
	})
	return cmd.Process.Pid, dir, func(s syscall.Signal) {
		if err := cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	}
}

func TestCoresAreKeptAwakeForTheLoadOnly(t *testing.T) {
	t.Parallel()
	quota := record.Fingerprint().CPUQuota != ""
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		pid, dir, end := underLoad(t, "--awake", "on")
		children := childrenOf(pid)
		if len(children) != 1 && !quota || len(children) != 0 && quota {
			t.Errorf("%d processes beside a load, with a CPU quota: %v", len(children), quota)
		}
		end(signal)
		for _, child := range children {
			shell.Until(t, "the threads of idle priority have ended", func() bool { return !alive(child) })
		}
		if signal == syscall.SIGKILL {
			continue
		}
		run, _, _ := shell.Recorded(t, dir)
		if a := run.Awake; a == nil || a.Mode != "on" || !quota && (a.Threads != runtime.NumCPU() ||
			a.ThreadsReason != "") ||
			quota && !strings.Contains(a.ThreadsReason, "quota") {
			t.Errorf("the record says %+v", a)
		}
	}
}

func TestCoresMaySleepIfWanted(t *testing.T) {
	t.Parallel()
	pid, dir, end := underLoad(t, "--awake", "off")
	if children := childrenOf(pid); len(children) != 0 {
		t.Errorf("%d processes beside a load with --awake off", len(children))
	}
	end(syscall.SIGINT)
	run, _, _ := shell.Recorded(t, dir)
	if a := run.Awake; a == nil || a.Mode != "off" || a.Threads != 0 || a.DMALatency || a.Nice != 0 {
		t.Errorf("the record says %+v", a)
	}
}
