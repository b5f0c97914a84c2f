//go:build !nok6

package k6x_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	k6cmd "go.k6.io/k6/v2/cmd"

	"brunt/internal/dialect/k6"
	"brunt/internal/record"
)

// asEnv makes the test binary run as another program: "ours" is k6 with brunt's additions, "real" is k6 alone.
const asEnv = "BRUNT_K6_TEST_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(asEnv) {
	case "ours":
		k6x.Main(k6x.Options{Name: "k6", Version: "test", Command: os.Args, Err: os.Stderr}, os.Args[1:])
	case "real":
		k6cmd.Execute()
	}
	// Parallel tests mostly wait, so more of them can run than there are cores.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// outcome is the result of a process.
type outcome struct {
	code           int
	stdout, stderr string
	dir            string // the run's bundle; may not exist
}

// longest is the time after which a run is regarded as hanging.
const longest = 2 * time.Minute

// command returns a k6 command with args, in its own folder with the script.
func command(t *testing.T, as, script string, args ...string) (*exec.Cmd, *outcome) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "script.js")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	t.Cleanup(cancel)
	for i := range args {
		if args[i] == "SCRIPT" {
			args[i] = file
		}
	}
	c := exec.CommandContext(ctx, self, args...)
	c.Dir = dir
	out := &outcome{dir: filepath.Join(dir, "bundle")}
	c.Env = append(os.Environ(), asEnv+"="+as, "BRUNT_BUNDLE="+out.dir, "HOME="+dir, "K6_NO_USAGE_REPORT=true",
		"K6_AUTO_EXTENSION_RESOLUTION=", "NO_COLOR=1")
	return c, out
}

// finish waits for a process whose output goes into two buffers.
func (o *outcome) finish(t *testing.T, stdout, stderr *bytes.Buffer, err error) *outcome {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		o.code = exit.ExitCode()
	}
	o.stdout, o.stderr = stdout.String(), stderr.String()
	return o
}

// k6 runs k6 and waits for it.
func k6(t *testing.T, as, script string, args ...string) *outcome {
	t.Helper()
	c, o := command(t, as, script, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	return o.finish(t, &stdout, &stderr, c.Run())
}

// run reads the record in the bundle.
func (o *outcome) run(t *testing.T) *record.Run {
	t.Helper()
	r, err := record.Open(record.OS{}, o.dir)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, o.stdout, o.stderr)
	}
	run, _, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// operation returns an operation of the run by its name, or the zero value.
func operation(run *record.Run, name string) record.Operation {
	for _, o := range run.Operations {
		if o.Name == name {
			return o
		}
	}
	return record.Operation{}
}

func warned(run *record.Run, id string) bool {
	for _, w := range run.Warnings {
		if w.ID == id {
			return true
		}
	}
	return false
}

func (o *outcome) expect(t *testing.T, code int, inStderr ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d\n%s%s", o.code, code, o.stdout, o.stderr)
	}
	for _, text := range inStderr {
		if !strings.Contains(o.stderr, text) {
			t.Errorf("stderr lacks %q:\n%s", text, o.stderr)
		}
	}
}

// summary reads the file that --summary-export wrote next to the bundle's folder.
func (o *outcome) summary(t *testing.T) map[string]map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(o.dir), "summary.json"))
	if err != nil {
		t.Fatalf("%v\n%s%s", err, o.stdout, o.stderr)
	}
	var s struct {
		Metrics map[string]map[string]any `json:"metrics"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s.Metrics
}
