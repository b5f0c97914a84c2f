// Package scripts_test runs scripts as users do, with brunt k6 run, against real servers.
package scripts_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

var servers testserver.Pool

// sharing are the tests with servers that they share.
type sharing struct{ *testing.M }

// Run runs the tests.
func (s sharing) Run() int { return servers.Run(s.M) }

func TestMain(m *testing.M) { shell.Main(sharing{m}, 4, "k6") }

// patience is the longest time that a script may take.
const patience = 3 * time.Minute

// outcome is the result of a script.
type outcome struct {
	code int
	text string      // all output
	run  *record.Run // nil if there is no record
	dir  string      // of the record
}

// job is a running script.
type job struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string
	text shell.Output
	stop context.CancelFunc
}

// begin starts brunt k6 run in the module's root folder.
func begin(t *testing.T, args ...string) *job { return beginWith(t, nil, args...) }

// beginWith is begin with additional environment variables.
func beginWith(t *testing.T, env []string, args ...string) *job {
	t.Helper()
	return prepare(t, "", env, append([]string{"k6", "run", "--quiet", "--no-color"}, args...)...).start()
}

// beginReading is begin with a text as standard input.
func beginReading(t *testing.T, stdin string, args ...string) *job {
	t.Helper()
	return prepare(t, stdin, nil, append([]string{"k6", "run", "--quiet", "--no-color"}, args...)...).start()
}

// prepare returns a brunt command that has not been started.
func prepare(t *testing.T, stdin string, env []string, args ...string) *job {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	j := &job{t: t, dir: filepath.Join(t.TempDir(), "bundle"), stop: stop}
	j.cmd = exec.CommandContext(ctx, "brunt", args...)
	j.cmd.Env = append(os.Environ(), "BRUNT_BUNDLE="+j.dir)
	j.cmd.Env = append(j.cmd.Env, env...)
	j.cmd.Dir, j.cmd.Stdout, j.cmd.Stderr = "../../../..", &j.text, &j.text
	j.cmd.Stdin = strings.NewReader(stdin)
	t.Cleanup(stop)
	return j
}

func (j *job) start() *job {
	j.t.Helper()
	if err := j.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	return j
}

func (j *job) signal(s os.Signal) {
	j.t.Helper()
	if err := j.cmd.Process.Signal(s); err != nil {
		j.t.Fatal(err)
	}
}

// said waits until the script has printed a text.
func (j *job) said(text string) {
	j.t.Helper()
	shell.Until(j.t, fmt.Sprintf("the script has printed %q", text), func() bool {
		return strings.Contains(j.text.String(), text)
	})
}

// underWay waits until the record has n intervals.
func (j *job) underWay(n int) {
	j.t.Helper()
	shell.Until(j.t, fmt.Sprintf("the record has %d intervals", n), func() bool { return shell.Intervals(j.dir) >= n })
}

// wait waits for the end of the script and reads its record.
func (j *job) wait() outcome {
	j.t.Helper()
	_ = j.cmd.Wait() // the exit code is checked later
	j.stop()
	o := outcome{code: j.cmd.ProcessState.ExitCode(), text: j.text.String(), dir: j.dir}
	j.t.Logf("%v: exit %d\n%s", j.cmd.Args[1:], o.code, o.text)
	if _, err := os.Stat(filepath.Join(j.dir, record.RunFile)); err != nil {
		return o
	}
	b, err := record.Open(record.OS{}, j.dir)
	if err != nil {
		j.t.Fatal(err)
	}
	if o.run, _, err = b.Result(); err != nil {
		j.t.Fatal(err)
	}
	return o
}

func run(t *testing.T, args ...string) outcome {
	t.Helper()
	return begin(t, args...).wait()
}

// script writes a script into a temporary folder.
func script(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "script.js")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// counts returns the counts of an operation in the record.
func (o *outcome) counts(name string) (ok, failed uint64) {
	if o.run == nil {
		return 0, 0
	}
	for i := range o.run.Operations {
		if op := &o.run.Operations[i]; op.Name == name {
			return op.Counts.OK, op.Counts.Failed
		}
	}
	return 0, 0
}

// failed returns the number of failures of a class.
func (o *outcome) failed(class string) (n uint64) {
	if o.run != nil {
		of, _ := protocol.ParseClass(class)
		n = o.run.Total.Errors[of]
	}
	return n
}

// warned reports whether the record has a warning.
func (o *outcome) warned(id string) bool {
	return o.run != nil && slices.ContainsFunc(o.run.Warnings, func(w record.Warning) bool { return w.ID == id })
}

func (o *outcome) says(text string) bool { return strings.Contains(o.text, text) }

// tarantool starts a separate Tarantool for the test, because any change of a table invalidates prepared statements.
func tarantool(t *testing.T) *testserver.Server { return testserver.Tarantool(t) }

// as returns the settings of a script for a Tarantool of the tests.
func as(s *testserver.Server) []string {
	return []string{"-e", "ADDR=" + s.Addr, "-e", "TNT_USER=" + s.User, "-e", "TNT_PASSWORD=" + s.Password}
}
