// Package acceptance_test tests brunt as users use it: by its command line, against real servers.
package acceptance_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/cli"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// If this variable is set, the test binary runs as brunt. Tests need separate processes if they kill or interrupt
// brunt, or limit its disk.
const roleVariable = "BRUNT_ACCEPTANCE_ROLE"

var servers testserver.Pool

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if os.Args[0] == "brunt" { // the watchdog of a run in the test's process: never the tests once more
		role = "brunt"
	}
	switch role {
	case "brunt":
		os.Exit(cli.Main("test", os.Args, os.Stdin, os.Stdout, os.Stderr))
	case "full disk":
		os.Exit(onSmallDisk(os.Args))
	case "read-only disk":
		os.Exit(onReadOnlyDisk(os.Args))
	}
	// Tests that run in parallel with others mostly wait.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(servers.Run(m))
}

// outcome is the result of a command.
type outcome struct {
	code     int
	out, err string
	dir      string      // folder of the bundle, if the command writes one
	run      *record.Run // nil if there is none
}

// brunt runs a command in this process.
func brunt(t *testing.T, args ...string) outcome {
	t.Helper()
	return bruntWith(t, strings.NewReader(""), args...)
}

// bruntWith runs a command in this process with a text on standard input.
func bruntWith(t *testing.T, stdin io.Reader, args ...string) outcome {
	t.Helper()
	var out, err bytes.Buffer
	code := cli.Main("test", append([]string{"brunt"}, args...), stdin, &out, &err)
	t.Logf("brunt %s: exit %d\n%s", strings.Join(args, " "), code, err.String())
	return outcome{code: code, out: out.String(), err: err.String()}
}

// load runs a command that writes a bundle, and reads the bundle.
func load(t *testing.T, args ...string) outcome {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	o := brunt(t, append(args, "--bundle", dir)...)
	o.dir = dir
	o.run = readRun(t, dir)
	return o
}

// readRun reads a bundle's result. It returns nil if there is no bundle.
func readRun(t *testing.T, dir string) *record.Run {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, record.RunFile)); err != nil {
		return nil
	}
	return recordtest.Result(t, dir)
}

// child is brunt in a separate process.
type child struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err shell.Output
	done     chan struct{}
}

// spawn starts brunt in a separate process, in the given folder.
func spawn(t *testing.T, dir string, args ...string) *child {
	t.Helper()
	return spawnWith(t, dir, nil, args...)
}

// spawnWith is spawn with variables of the environment.
func spawnWith(t *testing.T, dir string, env []string, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: exec.Command(self, args...), done: make(chan struct{})}
	c.cmd.Env = append(append(os.Environ(), env...), roleVariable+"=brunt")
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = dir, &c.out, &c.err
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.cmd.Wait()
		close(c.done)
	}()
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		<-c.done
	})
	return c
}

// wait waits for the end of the process. If a signal ended it, the code is -1.
func (c *child) wait() outcome {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(shell.Patience):
		c.cmd.Process.Kill()
		<-c.done
		c.t.Fatalf("brunt didn't end: %s", c.err.String())
	}
	c.t.Logf("%v: exit %d\n%s", c.cmd.Args[1:], c.cmd.ProcessState.ExitCode(), c.err.String())
	return outcome{code: c.cmd.ProcessState.ExitCode(), out: c.out.String(), err: c.err.String()}
}

// inTime runs a scene that must fit into a load's time, and repeats it if the machine was too busy.
func inTime(t *testing.T, scene func() bool) {
	t.Helper()
	const tries = 8
	for range tries {
		if scene() {
			return
		}
	}
	t.Fatalf("%d times this machine was too busy to play it within the load's time", tries)
}

// oneLine fails the test unless a text is one line that contains all the words.
func oneLine(t *testing.T, text string, words ...string) {
	t.Helper()
	if strings.Count(strings.TrimSuffix(text, "\n"), "\n") != 0 || !strings.HasPrefix(text, "brunt: ") {
		t.Errorf("not one line of brunt's:\n%s", text)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q doesn't say %q", text, w)
		}
	}
}

// judged reports whether an exit code is that of a run that found no fault of the server: pass, or invalid, because a
// generator on a busy machine may have been late.
func judged(code int) bool { return code == 0 || code == 98 }
