package shell

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"brunt/test/testserver"
)

// Patience is the longest time that tests wait for an expected event.
const Patience = 5 * time.Minute

// Until waits until a condition holds.
func Until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain until %s", what)
}

// Start starts a command line in a separate process, with its output in a file. At the end of the test it kills the
// process and those that the process has started. If the test failed, it logs the output. `make quick` skips the test.
func Start(t *testing.T, env []string, args ...string) (cmd *exec.Cmd, output string) {
	t.Helper()
	testserver.SkipQuick(t)
	output = filepath.Join(t.TempDir(), "out")
	f, err := os.Create(output)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd = exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = f, f, t.TempDir()
	mark := "BRUNT_TEST_OUTPUT=" + output // what the process starts has it, too: workers outlive coordinators
	cmd.Env = append(append(os.Environ(), env...), mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		testserver.EndAll(t, mark)
		if said, _ := os.ReadFile(output); t.Failed() {
			t.Logf("%q said:\n%s", args, said)
		}
	})
	return cmd, output
}

// Said returns what a process that Start started has printed to its output.
func Said(t *testing.T, output string) string {
	t.Helper()
	text, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Send sends a signal to a process.
func Send(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
}

// Kill kills a process with SIGKILL and waits for its end.
func Kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	Send(t, cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
}

// BlockedPipe returns a full pipe, which blocks the next write, and the number of bytes in it.
func BlockedPipe(t *testing.T) (r, w *os.File, filling int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for line := bytes.Repeat([]byte("x"), 4096); err == nil; {
		var n int
		n, err = w.Write(line)
		filling += n
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, w, filling
}

// StartBlocked starts a command line whose standard output is a full pipe that is not read. filling is the number of
// bytes in the pipe; errs collects the standard error output. `make quick` skips the test.
func StartBlocked(t *testing.T, args ...string) (cmd *exec.Cmd, r *os.File, filling int, errs *bytes.Buffer) {
	t.Helper()
	testserver.SkipQuick(t)
	r, w, filling := BlockedPipe(t)
	defer w.Close()
	errs = &bytes.Buffer{}
	cmd = exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = w, errs, t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, r, filling, errs
}
