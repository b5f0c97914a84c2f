package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"brunt/internal/cli"
	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// Commands with all exports and watches enabled leave the expected files and data.
func TestExportsAndWatches(t *testing.T) {
	testserver.SkipQuick(t)
	var received atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	mux.HandleFunc("/metrics",
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "process_resident_memory_bytes 1e6") })
	mux.HandleFunc("/v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		received.Add(1)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	secret := strings.Replace(server.URL, "//", "//me:geheim@", 1)
	for name, args := range map[string][]string{
		"http": {"http", server.URL + "/", "--rate", "100", "--duration", "3s", "--interval", "100ms"},
		"cook": {"cook", "-qps", "100", "-interval", "1s", "-slice", "100ms", "-duration", "3s", server.URL + "/"},
	} {
		received.Store(0)
		dir := filepath.Join(t.TempDir(), "bundle")
		args = append([]string{"brunt"}, append(args,
			"--bundle", dir, "--metrics-addr", "127.0.0.1:0", "--export", "otlp="+secret,
			"--watch", "pid:"+strconv.Itoa(os.Getpid()), "--watch", "url:"+secret+"/metrics")...)
		var out, errs bytes.Buffer
		code := cli.Main("1.2.3", args, strings.NewReader(""), &out, &errs)
		// On a busy machine the result may be invalid, which doesn't matter here.
		if code != exitcode.Pass && code != 98 {
			t.Fatalf("%s: exit %d: %s", name, code, errs.String())
		}
		if !strings.Contains(errs.String(), "brunt: metrics at http://127.0.0.1:") {
			t.Errorf("%s: the endpoint isn't named: %s", name, errs.String())
		}
		if received.Load() == 0 {
			t.Errorf("%s: the collector got nothing", name)
		}
		data, err := os.ReadFile(filepath.Join(dir, record.RunFile))
		if err != nil {
			t.Fatal(err)
		}
		var run record.Run
		if err := json.Unmarshal(data, &run); err != nil {
			t.Fatal(err)
		}
		// The first entry is the load's own throughput, if there were enough intervals to judge it.
		sources := slices.DeleteFunc(run.Watched, func(w record.Watched) bool { return w.Source == "load" })
		if len(sources) != 3 || sources[0].Source != record.WatchedHost {
			t.Fatalf("%s: watched %+v", name, run.Watched)
		}
		for _, w := range sources {
			if w.Samples == 0 {
				t.Errorf("%s: no sample of %s", name, w.Source)
			}
			if _, err := os.Stat(filepath.Join(dir, w.File)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte("geheim")) {
				t.Errorf("%s: the password is in %s", name, path)
			}
			return err
		})
		if err != nil || strings.Contains(out.String()+errs.String(), "geheim") {
			t.Errorf("%s: %v; the password is printed", name, err)
		}
	}
}

func TestMistakesInExportsComeBeforeTheLoad(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	for want, args := range map[string][]string{
		"is no kind of destination":        {"--export", "graphite=http://u:geheim@h"},
		"not the number of a process":      {"--watch", "pid:x"},
		"metrics can't be served":          {"--metrics-addr", strings.TrimPrefix(server.URL, "http://")},
		"use influx=URL, prometheus=URL":   {"--export", "http://u:geheim@h"},
		"give an http or https address":    {"--watch", "url:ftp://u:geheim@h"},
		"is no control group":              {"--watch", "cgroup:" + t.TempDir()},
		"name a database, influx=http://H": {"--export", "influx=http://u:geheim@h"},
	} {
		var out, errs bytes.Buffer
		code := cli.Main("1.2.3", append([]string{"brunt", "http", server.URL, "--bundle", filepath.Join(t.TempDir(), "b")},
			args...), strings.NewReader(""), &out, &errs)
		if code != exitcode.BadPlan || !strings.Contains(errs.String(), want) || strings.Count(errs.String(), "\n") != 1 ||
			strings.Contains(errs.String(), "geheim") {
			t.Errorf("%q: exit %d, %s", args, code, errs.String())
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
