package observe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// service starts the test program and returns its process id and address.
func service(t *testing.T, args ...string) (pid int, address string, stop func()) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "service")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "./testdata/service")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as brunt is built, so the library is compiled once
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "GOGC=100") // tests count its collections
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, strings.TrimSpace(line), stop
}

// watchFor makes the service take a step and the watcher take a sample of every source, n times. The first ones are
// warm-up. The result depends on the steps and not on their duration: each counts as ten seconds.
func watchFor(t *testing.T, w *Watcher, address string, first, n, warmUp int) {
	t.Helper()
	const every = int64(10 * time.Second)
	for i := first; i < first+n; i++ {
		if response, err := http.Get("http://" + address + "/step"); err == nil { // the service may have been stopped
			response.Body.Close()
		}
		_ = w.Interval(&measure.Interval{Index: i, Phase: "load", WarmUp: i < warmUp,
			Account: measure.Account{StartNs: int64(i) * every, EndNs: int64(i+1) * every}})
		for _, s := range w.watched {
			for !s.tookTick(i) {
				time.Sleep(time.Millisecond)
			}
		}
	}
}

// tookTick reports whether a source was sampled at tick i, with or without success, or is gone.
func (s *watched) tookTick(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.samples+s.missed > uint64(i) || s.goneNs > 0
}

func sources(t *testing.T, texts ...string) (out []Source) {
	t.Helper()
	for _, text := range texts {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func metricOf(t *testing.T, w record.Watched, name string) record.WatchedMetric {
	t.Helper()
	for _, m := range w.Metrics {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("%s has no %s: %+v", w.Source, name, w.Metrics)
	return record.WatchedMetric{}
}

func watchService(t *testing.T, args ...string) (process, metrics record.Watched, dir string) {
	t.Helper()
	pid, address, _ := service(t, args...)
	dir = t.TempDir()
	w := NewWatcher(sources(t, "pid:"+strconv.Itoa(pid), "url:http://"+address+"/metrics"), time.Now)
	if err := w.Start(record.OS{}, dir); err != nil {
		t.Fatal(err)
	}
	watchFor(t, w, address, 0, 130, 30)
	out, warnings := w.Finish()
	if len(out) != 2 || len(warnings) != 0 {
		t.Fatalf("watched %+v, warnings %+v", out, warnings)
	}
	return out[0], out[1], dir
}

func TestLeakingServiceIsCaught(t *testing.T) {
	testserver.SkipQuick(t)
	t.Parallel()
	process, metrics, dir := watchService(t, "-leak")
	for _, c := range []struct {
		of   record.Watched
		name string
	}{{process, "rss_bytes"}, {process, "open_files"}, {metrics, "heap_bytes"}, {metrics, "goroutines"}} {
		m := metricOf(t, c.of, c.name)
		if m.Trend.Verdict != record.TrendLeak || m.Trend.PerHour <= 0 {
			t.Errorf("%s: %+v is no leak: %+v", c.name, m, m.Trend)
		}
	}
	if rss := metricOf(t, process, "rss_bytes").Trend; rss.Limit <= 0 || rss.HoursToLimit <= 0 {
		t.Errorf("no hours to the limit: %+v", rss)
	}
	if cpu := metricOf(t, process, "cpu_seconds"); cpu.Unit != "cores" || cpu.Mean <= 0 || cpu.Trend != nil {
		t.Errorf("CPU %+v", cpu)
	}
	checkFile(t, filepath.Join(dir, process.File), "rss_bytes", process.Samples)
	checkFile(t, filepath.Join(dir, metrics.File), "heap_bytes", metrics.Samples)
}

func checkFile(t *testing.T, path, metric string, samples uint64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	if uint64(len(lines)) != samples+1 {
		t.Errorf("%s: %d lines for %d samples", path, len(lines), samples)
	}
	for _, text := range lines[1:] {
		var l record.WatchedSample
		if err := json.Unmarshal(text, &l); err != nil || l.Values[metric] <= 0 || l.TNs <= 0 || l.Phase != "load" {
			t.Fatalf("%s: %s (%v)", path, text, err)
		}
	}
}

func TestSteadyServiceIsNotCaught(t *testing.T) {
	testserver.SkipQuick(t)
	t.Parallel()
	process, metrics, _ := watchService(t)
	for _, w := range []record.Watched{process, metrics} {
		for _, m := range w.Metrics {
			if m.Trend != nil && m.Trend.Verdict == record.TrendLeak {
				t.Errorf("%s: %+v is said to leak: %+v", w.Source, m, m.Trend)
			}
		}
	}
	if m := metricOf(t, metrics, "heap_bytes"); m.Trend.Verdict == record.TrendUnjudged {
		t.Errorf("the heap isn't judged: %s", m.Trend.Why)
	}
}

func TestVanishedProcessIsNoted(t *testing.T) {
	t.Parallel()
	pid, address, stop := service(t)
	w := NewWatcher(sources(t, "tree:"+strconv.Itoa(pid), "url:http://"+address+"/metrics"), time.Now)
	if err := w.Start(record.OS{}, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	watchFor(t, w, address, 0, 5, 0)
	stop()
	watchFor(t, w, address, 5, 5, 0)
	out, warnings := w.Finish()
	if out[0].GoneNs == 0 || out[0].Samples == 0 {
		t.Errorf("the process isn't noted as gone: %+v", out[0])
	}
	if out[1].GoneNs != 0 || out[1].Missed == 0 || out[1].Samples == 0 {
		t.Errorf("an address that doesn't answer is no end: %+v", out[1])
	}
	if len(warnings) != 1 || warnings[0].ID != "watch-gone" {
		t.Errorf("warnings %+v", warnings)
	}
}
