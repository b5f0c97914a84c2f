package processes_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// patience is the longest time that tests wait for an expected event.
const patience = 5 * time.Minute

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain until %s", what)
}

// start starts a command line in a separate process, with its output in a file. At the end of the test it kills the
// process and those that the process has started. If the test failed, it logs the output.
func start(t *testing.T, env []string, args ...string) (cmd *exec.Cmd, output string) {
	t.Helper()
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

// send sends a signal to a process.
func send(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
}

func reports(path string) int {
	b, _ := os.ReadFile(path)
	return len(reportLine.FindAllString(string(b), -1))
}

// A generator that was stopped says so. Neither its lines, nor the hints, nor the verdict blame the server.
func TestCookSaysThatItStoodStill(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := start(t, nil, "brunt", "cook", "-qps", "100", "-interval", "500ms", "-iterations", "12", "-bundle", dir,
		"http://"+server.Addr+"/")
	until(t, "there are two reports", func() bool { return reports(output) >= 2 })
	testserver.Freeze(cmd.Process.Pid)
	time.Sleep(2 * time.Second)
	testserver.Thaw(cmd.Process.Pid)
	cmd.Wait()
	out, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	b, err := record.Open(record.OS{}, dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := b.Run
	if cmd.ProcessState.ExitCode() != exitcode.Invalid || run.Verdict.Result != "invalid" || run.Health.PausedNs < 1e9 ||
		run.Total.Done+run.Total.Dropped != 600 {
		t.Errorf("exit %d, verdict %+v, paused %d ns, %d done\n%s", cmd.ProcessState.ExitCode(), run.Verdict,
			run.Health.PausedNs, run.Total.Done, out)
	}
	if !bytes.Contains(out, []byte("\n# the generator itself stood still for ")) {
		t.Errorf("no line says that the generator stood still:\n%s", out)
	}
	own := 0
	for _, h := range run.Hints {
		if h.Metric == "generator" {
			own++
		} else if h.Kind == "pause" {
			t.Errorf("a hint blames the server: %+v", h)
		}
	}
	if own == 0 {
		t.Errorf("hints: %+v", run.Hints)
	}
	// Otherwise the two seconds of the generator would count as a standstill of the server.
	if lost := time.Duration(run.Standstill.LongestNs); lost > time.Second {
		t.Errorf("%v count as the server's standing still", lost)
	}
}

// When a log is moved away and SIGHUP is sent, no line is lost or split.
func TestCookRotatesItsLog(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	log := filepath.Join(t.TempDir(), "cook.log")
	cmd, output := start(t, nil, "brunt", "cook", "-qps", "50", "-interval", "200ms", "-iterations", "15", "-log", log,
		"-summary", "1.2", "http://"+server.Addr+"/")
	until(t, "the log has reports", func() bool { return reports(log) >= 3 })
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	send(t, cmd.Process.Pid, syscall.SIGHUP)
	cmd.Wait()
	var all []byte
	for _, path := range []string{log + ".1", log} {
		b, err := os.ReadFile(path)
		if err != nil || reports(path) == 0 {
			t.Fatalf("%s: %d reports, %v", path, reports(path), err)
		}
		all = append(all, b...)
	}
	found := reportLine.FindAllSubmatch(all, -1)
	if len(found) != 15 || !bytes.HasSuffix(all, []byte("}\n")) {
		t.Fatalf("%d reports\n%s", len(found), all)
	}
	for i, m := range found {
		if string(m[1]) != strconv.Itoa(i) {
			t.Errorf("report %d stands at place %d", i, i)
		}
	}
	if reports(output) != 0 {
		t.Error("reports on standard output too")
	}
}

func TestCookEndsWithAnInterrupt(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	for name, code := range map[string]int{"slow_cooker": 0, "brunt": exitcode.Interrupted} {
		args := []string{name}
		if name == "brunt" {
			args = append(args, "cook")
		}
		cmd, output := start(t, nil, append(args, "-summary", "1.2", "-qps", "50", "-interval", "300ms",
			"http://"+server.Addr+"/")...)
		until(t, "there is a report", func() bool { return reports(output) >= 1 })
		send(t, cmd.Process.Pid, syscall.SIGINT)
		cmd.Wait()
		out, _ := os.ReadFile(output)
		if cmd.ProcessState.ExitCode() != code || !bytes.Contains(out, []byte(`"p999"`)) {
			t.Errorf("%s: exit %d, want %d\n%s", name, cmd.ProcessState.ExitCode(), code, out)
		}
	}
}

func TestCookTakesTheProxyFromTheEnvironment(t *testing.T) {
	t.Parallel()
	var asked, other atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodHead:
		case r.RequestURI == "http://service.example:8080/x?y" && r.Host == "service.example:8080":
			asked.Add(1)
		default:
			other.Add(1)
		}
	}))
	defer proxy.Close()
	cmd, output := start(t, []string{"http_proxy=" + proxy.URL, "no_proxy="}, "slow_cooker", "-qps", "20", "-interval",
		"1s", "-totalRequests", "20", "http://service.example:8080/x?y")
	cmd.Wait()
	out, _ := os.ReadFile(output)
	if cmd.ProcessState.ExitCode() != 0 || asked.Load() != 20 || other.Load() != 0 ||
		!strings.Contains(string(out), "pass") && !strings.Contains(string(out), "invalid") {
		t.Errorf("exit %d, %d and %d requests\n%s", cmd.ProcessState.ExitCode(), asked.Load(), other.Load(), out)
	}
}
