package shell

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"brunt/internal/cli"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/testserver"
)

// Outcome is what a command did.
type Outcome struct {
	Code     int
	Out, Err string      // what it printed
	Run      *record.Run // nil if there is none
	Dir      string      // of the bundle; it may not exist
}

// Run runs a command line in this process, with its bundle in a folder of the test's. command is the program's name, to
// which the first arguments may be added, as in "brunt http". brunt alone gets no flag for a bundle.
func Run(t *testing.T, command string, args ...string) Outcome {
	t.Helper()
	notWithin()
	o := Outcome{Dir: filepath.Join(t.TempDir(), "bundle")}
	var out, err bytes.Buffer
	args = append(strings.Fields(command), args...)
	if command != "brunt" {
		args = append(args, "--bundle", o.Dir)
	}
	o.Code = cli.Main("test", args, strings.NewReader(""), &out, &err)
	o.Out, o.Err = out.String(), err.String()
	t.Logf("%s: exit %d\n%s%s", strings.Join(args, " "), o.Code, o.Out, o.Err)
	if b, err := record.Open(record.OS{}, o.Dir); err == nil {
		if o.Run, _, err = b.Result(); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// notWithin ends a test's program that was started as brunt. Some commands start their own program again, to heal
// faults or to be a worker: run in this process, they would start the tests again, and those themselves, without end.
func notWithin() {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		panic("this is the tests' program, started as brunt " + strings.Join(os.Args[1:], " ") +
			": run the command that starts it in a process of its own")
	}
}

// Texts returns what the command printed and the texts of all files of its bundle, of which there must be some.
func (o *Outcome) Texts(t *testing.T) []string {
	t.Helper()
	texts := []string{o.Out, o.Err}
	entries, err := os.ReadDir(o.Dir)
	if err != nil || len(entries) < 3 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(o.Dir, e.Name()))
		if err != nil && !e.IsDir() {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// RunLate is Run with a server that is down at first. It starts the server when out or err has received its text.
func RunLate(t *testing.T, server *testserver.Server, out, err *Output, command string, args ...string) Outcome {
	t.Helper()
	o := Outcome{Dir: filepath.Join(t.TempDir(), "bundle")}
	ended := make(chan int)
	go func() {
		args := append(strings.Fields(command), append(args, "--bundle", o.Dir)...)
		ended <- cli.Main("test", args, strings.NewReader(""), out, err)
	}()
	select {
	case <-out.Heard():
	case <-err.Heard():
	case o.Code = <-ended:
		t.Fatalf("exit %d before the server was started\n%s%s", o.Code, out, err)
	}
	server.Restart()
	o.Code = <-ended
	o.Out, o.Err = out.String(), err.String()
	t.Logf("exit %d\n%s%s", o.Code, o.Out, o.Err)
	o.Run = recordtest.Result(t, o.Dir)
	return o
}

// Output is an output that signals when a certain text has been written to it. It is safe for concurrent use.
type Output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	until string
	heard chan struct{}
}

// Listen returns an output that waits for a text; for none if it is "".
func Listen(until string) *Output { return &Output{until: until, heard: make(chan struct{})} }

// Heard returns a channel that is closed when the text has been written.
func (o *Output) Heard() <-chan struct{} { return o.heard }

// Write implements io.Writer.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.until != "" && strings.Contains(o.text.String(), o.until)
	o.text.Write(b)
	if !before && o.until != "" && strings.Contains(o.text.String(), o.until) {
		close(o.heard)
	}
	return len(b), nil
}

// String returns what has been written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
