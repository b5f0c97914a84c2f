// Package scripts_test runs scripts as users do: by brunt k6 run, against real servers.
package scripts_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/cli"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/testserver"
)

// The test binary is brunt itself when this variable is set: k6 ends its process.
const roleVariable = "BRUNT_SCRIPTS_ROLE"

var servers testserver.Pool

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		os.Exit(cli.Main("test", os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	// Tests that run in parallel with others mostly wait.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(servers.Run(m))
}

// patience is how long a script may take before a test gives up.
const patience = 3 * time.Minute

// outcome is what a script left behind.
type outcome struct {
	code int
	text string      // all that was printed
	run  *record.Run // nil if there is no record
}

// job is a script under way.
type job struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string
	text spoken
	stop context.CancelFunc
}

// spoken is what a script has printed so far. It is safe for concurrent use.
type spoken struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (s *spoken) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// String implements fmt.Stringer.
func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// begin starts brunt k6 run in the module's root.
func begin(t *testing.T, args ...string) *job { return beginWith(t, nil, args...) }

// beginWith is begin with more in its environment.
func beginWith(t *testing.T, env []string, args ...string) *job {
	t.Helper()
	return prepare(t, "", env, append([]string{"k6", "run", "--quiet", "--no-color"}, args...)...).start()
}

// beginReading is begin with a text on stdin.
func beginReading(t *testing.T, stdin string, args ...string) *job {
	t.Helper()
	return prepare(t, stdin, nil, append([]string{"k6", "run", "--quiet", "--no-color"}, args...)...).start()
}

// prepare is brunt with arguments, not started yet.
func prepare(t *testing.T, stdin string, env []string, args ...string) *job {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	j := &job{t: t, dir: filepath.Join(t.TempDir(), "bundle"), stop: stop}
	j.cmd = exec.CommandContext(ctx, self, args...)
	j.cmd.Env = append(os.Environ(), roleVariable+"=brunt", "BRUNT_BUNDLE="+j.dir)
	j.cmd.Env = append(j.cmd.Env, env...)
	j.cmd.Dir, j.cmd.Stdout, j.cmd.Stderr = "../../..", &j.text, &j.text
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
	for end := time.Now().Add(patience); !strings.Contains(j.text.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			j.t.Fatalf("waited in vain for %q", text)
		}
	}
}

// underWay waits until the record has n intervals.
func (j *job) underWay(n int) {
	j.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if b, _ := os.ReadFile(filepath.Join(j.dir, record.IntervalsFile)); bytes.Count(b, []byte("\n")) >= n {
			return
		}
		if time.Now().After(end) {
			j.t.Fatalf("waited in vain for %d intervals", n)
		}
	}
}

// wait waits for the script's end and reads its record.
func (j *job) wait() outcome {
	j.t.Helper()
	_ = j.cmd.Wait() // the exit code says it
	j.stop()
	o := outcome{code: j.cmd.ProcessState.ExitCode(), text: j.text.String()}
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

// script writes a script into a folder of the test.
func script(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "script.js")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// counts are an operation's of the record.
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

// failed are all failures of a class.
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

// tarantool is a Tarantool of the test's own: prepared statements expire whenever anybody changes any of
// its tables.
func tarantool(t *testing.T) *testserver.Server { return testserver.Tarantool(t) }

// as are the settings of a script for a Tarantool of the tests.
func as(s *testserver.Server) []string {
	return []string{"-e", "ADDR=" + s.Addr, "-e", "TNT_USER=" + s.User, "-e", "TNT_PASSWORD=" + s.Password}
}
