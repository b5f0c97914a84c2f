package cook_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

func reports(path string) int {
	b, _ := os.ReadFile(path)
	return len(reportLine.FindAllString(string(b), -1))
}

// A generator that was stopped says so. Neither its lines, nor the hints, nor the verdict blame the server.
func TestCookSaysThatItStoodStill(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, output := shell.Start(t, nil, "brunt", "cook", "-qps", "100", "-interval", "500ms", "-iterations", "12",
		"-bundle", dir,
		"http://"+server.Addr+"/")
	shell.Until(t, "there are two reports", func() bool { return reports(output) >= 2 })
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
	cmd, output := shell.Start(t, nil, "brunt", "cook", "-qps", "50", "-interval", "200ms", "-iterations", "15", "-log",
		log,
		"-summary", "1.2", "http://"+server.Addr+"/")
	shell.Until(t, "the log has reports", func() bool { return reports(log) >= 3 })
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	shell.Send(t, cmd.Process.Pid, syscall.SIGHUP)
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
		cmd, output := shell.Start(t, nil, append(args, "-summary", "1.2", "-qps", "50", "-interval", "300ms",
			"http://"+server.Addr+"/")...)
		shell.Until(t, "there is a report", func() bool { return reports(output) >= 1 })
		shell.Send(t, cmd.Process.Pid, syscall.SIGINT)
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
	cmd, output := shell.Start(t, []string{"http_proxy=" + proxy.URL, "no_proxy="}, "slow_cooker", "-qps", "20",
		"-interval",
		"1s", "-totalRequests", "20", "http://service.example:8080/x?y")
	cmd.Wait()
	out, _ := os.ReadFile(output)
	if cmd.ProcessState.ExitCode() != 0 || asked.Load() != 20 || other.Load() != 0 ||
		!strings.Contains(string(out), "pass") && !strings.Contains(string(out), "invalid") {
		t.Errorf("exit %d, %d and %d requests\n%s", cmd.ProcessState.ExitCode(), asked.Load(), other.Load(), out)
	}
}

// If nobody reads the report lines, the load still ends on time, the record is complete, and the exit code is that of
// the result.
func TestCookRunsThoughNobodyReads(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, _, _, errs := shell.StartBlocked(t, "brunt", "cook", "-qps", "100", "-interval", "200ms", "-iterations", "15",
		"-threshold", "count > 1000000", "-bundle", dir, "http://"+server.Addr+"/")
	cmd.Wait()
	run, intervals, done := shell.Recorded(t, dir)
	// On a busy machine an interval may take longer than planned. Operations that weren't sent by the end are given up.
	if intervals < 10 || done != run.Total.Done || !run.Complete || done+run.Total.Dropped != 300 || done == 0 ||
		run.Interrupted {
		t.Errorf("%d intervals, %d requests, run %+v", intervals, done, run.Verdict)
	}
	want := map[string]int{"fail": exitcode.Threshold, "invalid": exitcode.Invalid}[run.Verdict.Result]
	if code := cmd.ProcessState.ExitCode(); code != want {
		t.Errorf("exit %d, want %d\n%s", code, want, errs)
	}
	if !strings.Contains(errs.String(), "report lines were not printed: standard output didn't take them\n") {
		t.Errorf("nothing says that lines are missing:\n%s", errs)
	}
}

// A reader that resumes late gets all lines in order.
func TestCookPrintsAllToALateReader(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	dir := filepath.Join(t.TempDir(), "bundle")
	cmd, r, filling, errs := shell.StartBlocked(t, "brunt", "cook", "-qps", "100", "-interval", "200ms", "-iterations",
		"20",
		"-summary", "1.2", "-bundle", dir, "http://"+server.Addr+"/")
	shell.Until(t, "half of the run is recorded", func() bool {
		b, _ := os.ReadFile(filepath.Join(dir, record.IntervalsFile))
		return bytes.Count(b, []byte("\n")) >= 10
	})
	in := bufio.NewReader(r)
	if _, err := io.CopyN(io.Discard, in, int64(filling)); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if !bytes.HasPrefix(out, []byte("# sending 100 GET req/s")) || !bytes.HasSuffix(out, []byte("}\n")) {
		t.Errorf("the beginning or the end is missing:\n%s%s", out, errs)
	}
	found := reportLine.FindAllSubmatch(out, -1)
	if len(found) < 10 {
		t.Fatalf("%d reports\n%s", len(found), out)
	}
	requests := 0
	for i, m := range found {
		good, err := strconv.Atoi(string(m[2]))
		if err != nil || string(m[1]) != strconv.Itoa(i) {
			t.Errorf("report %s stands at place %d", m[1], i)
		}
		requests += good
	}
	run, _, _ := shell.Recorded(t, dir)
	if uint64(requests) != run.Total.Done || run.Total.Done+run.Total.Dropped != 400 ||
		strings.Contains(errs.String(), "not printed") {
		t.Errorf("%d requests in the reports\n%s%s", requests, out, errs)
	}
}
