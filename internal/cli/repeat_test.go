package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"brunt/internal/cli"
	"brunt/internal/run/program"
	"brunt/test/testserver"
)

// do runs a command line in this process.
func do(args ...string) (code int, err string) {
	var stdout, stderr bytes.Buffer
	code = cli.Main("test", append([]string{"brunt"}, args...), strings.NewReader(""), &stdout, &stderr)
	return code, stderr.String()
}

// recorder is a service that records the requests that it receives.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		if q.Method == http.MethodHead {
			return // brunt asks what the server is
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = append(r.seen, fmt.Sprint(q.Method, " ", q.URL, " ", q.Header.Get("Authorization"),
			q.Header.Get("Sc-Req-Id"), " ", string(body)))
	}))
	t.Cleanup(r.Close)
	return r
}

// take returns the requests since the last call, sorted.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.seen
	r.seen = nil
	slices.Sort(out)
	return out
}

// The plan in a run's folder sends again what the run has sent, for every command that can make the run.
func TestAnyRunIsRepeated(t *testing.T) {
	testserver.SkipQuick(t)
	r := newRecorder(t)
	for name, args := range map[string][]string{
		"http": {"http", r.URL + "/a?x=$1", r.URL + "/b", "-n", "20", "--sessions", "2", "-X", "POST", "-d", "{$}"},
		"cook": {"cook", "-qps", "50", "-concurrency", "2", "-totalRequests", "20", "-interval", "1s", r.URL + "/c"},
		"ycsb": {"ycsb", "run", "http", "-p", "http.addr=" + r.URL, "-p", "recordcount=50", "-p", "operationcount=40", "-p",
			"insertproportion=0.2",
			"-p", "readproportion=0.5", "-p", "updateproportion=0.3", "-p", "requestdistribution=zipfian", "-p",
			"fieldlength=9",
			"--threads", "1"},
		"load": {"ycsb", "load", "http", "-p", "http.addr=" + r.URL, "-p", "recordcount=50", "-p", "fieldlength=9"},
	} {
		dir := filepath.Join(t.TempDir(), name)
		split := "--"
		if name == "cook" {
			split = "-"
		}
		if code, err := do(append(args, split+"bundle="+dir)...); code != 0 && code != 98 {
			t.Fatalf("%s: exit %d\n%s", name, code, err)
		}
		first := r.take()
		if code, err := do("run", filepath.Join(dir, "plan.yml"), "--quiet", "--bundle", dir+"-again"); code != 0 &&
			code != 98 {
			t.Fatalf("%s again: exit %d\n%s", name, code, err)
		}
		if again := r.take(); len(first) < 20 || !slices.Equal(first, again) {
			t.Errorf("%s sent %d requests, and then %d:\n%s\n\n%s", name, len(first), len(again), strings.Join(first[:5],
				"\n"),
				strings.Join(again[:min(len(again), 5)], "\n"))
		}
	}
}

// A run that had secrets can be repeated when they are given again.
func TestSecretsAreAskedFor(t *testing.T) {
	r := newRecorder(t)
	dir := filepath.Join(t.TempDir(), "first")
	if code, err := do("http", r.URL+"/a?token=s3cret&x=1", "-n", "5", "--sessions", "1", "-H",
		"Authorization: Bearer s3cret", "--secret-data", "s3cret", "--bundle", dir); code != 0 && code != 98 {
		t.Fatalf("exit %d\n%s", code, err)
	}
	first := r.take()
	plan := filepath.Join(dir, "plan.yml")
	code, err := do("run", plan, "--quiet", "--no-record")
	if code != 104 || len(r.take()) > 0 {
		t.Errorf("without secrets: exit %d\n%s", code, err)
	}
	for name, value := range map[string]string{"AUTHORIZATION": "Bearer s3cret", "TOKEN": "s3cret", "BODY": "s3cret"} {
		if !strings.Contains(err, "BRUNT_SECRET_"+name) || strings.Contains(err, "s3cret") {
			t.Errorf("%s isn't asked for: %s", name, err)
		}
		t.Setenv("BRUNT_SECRET_"+name, value)
	}
	if code, err := do("run", plan, "--quiet", "--no-record"); code != 0 && code != 98 {
		t.Errorf("with secrets: exit %d\n%s", code, err)
	}
	if again := r.take(); len(first) != 5 || !slices.Equal(first, again) {
		t.Errorf("sent %q, then %q", first, again)
	}
}

const twice = `config_name: TWICE
target: {protocol: http, addresses: ["%s"]}
queries: [{name: page, http: {path: /page}, rate: 40}]
thresholds: ["errors < 1%%"]
load: [{constant: {duration: 300ms}}]
`

// asEarlier changes a series' folder to the format of earlier versions: with a hash of the request, and without a
// journal.
func asEarlier(t *testing.T, dir string) {
	t.Helper()
	h, _, err := program.ReadJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.Remove(filepath.Join(dir, program.JournalName)),
		os.WriteFile(filepath.Join(dir, "series.sha256"), []byte(h.Hash+"\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}

// A killed series keeps its complete runs when it is continued, and makes the remaining ones.
func TestSeriesGoOnAfterAKill(t *testing.T) {
	testserver.SkipQuick(t)
	r := newRecorder(t)
	plan := filepath.Join(t.TempDir(), "plan.yml")
	if err := os.WriteFile(plan, fmt.Appendf(nil, twice, strings.TrimPrefix(r.URL, "http://")), 0o644); err != nil {
		t.Fatal(err)
	}
	for last, args := range map[string][]string{
		"run-03-A": {"repeat", "3", plan, "--cool-down", "0s", "--quiet"},
		"trial-03": {"search", plan, "--trial", "300ms", "--warm-up", "10ms", "--pause", "0s", "--trials", "3", "--max",
			"1000", "--anyway", "--quiet"},
	} {
		dir := filepath.Join(t.TempDir(), "series")
		sure := func(of string, want bool, args ...string) {
			t.Helper()
			if code, err := do(args...); (code == 0 || code == 98 || code == 99) != want {
				t.Fatalf("%s: %s: exit %d\n%s", last, of, code, err)
			}
		}
		sure("begun", true, append(args, "--bundle", dir)...)
		r.take()
		// As a kill leaves it: a run without its end, and no result.
		for _, name := range []string{filepath.Join(last, "run.json"), "series.json"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		sure("with other flags", false, append(args, "--scale", "2", "--resume", dir)...)
		sure("of nothing", false, append(args, "--resume", t.TempDir())...)
		if seen := r.take(); len(seen) > 0 {
			t.Errorf("%s: %d requests although it was refused", last, len(seen))
		}
		sure("resumed", true, append(args, "--resume", dir)...)
		if _, err := os.Stat(filepath.Join(dir, last+".killed-1")); err != nil {
			t.Error(err)
		}
		for _, name := range []string{filepath.Join(last, "run.json"), "series.json"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		if seen := r.take(); len(seen) == 0 {
			t.Errorf("%s wasn't made again", last)
		}
		if err := os.Remove(filepath.Join(dir, last, "run.json")); err != nil {
			t.Fatal(err)
		}
		sure("resumed by its folder alone", true, "resume", dir, "--quiet")
		if seen := r.take(); len(seen) == 0 {
			t.Errorf("%s wasn't made again by brunt resume", last)
		}
		asEarlier(t, dir)
		sure("of an earlier version by its folder alone", false, "resume", dir)
		sure("resumed when over", true, append(args, "--resume", dir)...)
		if seen := r.take(); len(seen) > 0 {
			t.Errorf("%s: %d requests although all is there", last, len(seen))
		}
	}
}
