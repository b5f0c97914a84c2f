package goycsb_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"brunt/internal/cli"
	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// documentedLive is the command of docs/ycsb.md that exports and watches.
func documentedLive(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/ycsb.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^    (brunt ycsb run .*--metrics-addr .*)$`).FindSubmatch(text)
	if command == nil {
		t.Fatal("docs/ycsb.md shows no command with --metrics-addr")
	}
	return strings.Fields(string(command[1]))
}

// During a workload the database is watched, and intervals are scraped and sent. No secret is printed or recorded.
func TestYCSBExportsAndWatches(t *testing.T) {
	t.Parallel()
	redis, influx := servers.Redis(t), testserver.InfluxDB(t)
	answer, err := http.PostForm("http://"+influx.Addr+"/query", url.Values{"q": {"CREATE DATABASE load"}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	given := []string{"-p", "redis.addr=" + redis.Addr, "-p", "redis.db=4", "-p", "recordcount=100", "--results",
		t.TempDir()}
	var out, errs bytes.Buffer
	if code := cli.Main("test", append(strings.Fields("brunt ycsb load redis --workload b"), given...),
		strings.NewReader(""),
		&out, &errs); code != exitcode.Pass {
		t.Fatalf("exit %d\n%s%s", code, out.String(), errs.String())
	}
	dir := filepath.Join(t.TempDir(), "bundle")
	args := documentedLive(t)
	for i := range args {
		args[i] = strings.NewReplacer(
			"127.0.0.1:9464", "127.0.0.1:0", "127.0.0.1:8086", "me:geheim@"+influx.Addr, "pid:4711",
			fmt.Sprint("pid:", redis.PID),
		).Replace(args[i])
	}
	args = append(append(args, given...), "-p", "operationcount=1200", "--target", "400", "--bundle", dir)
	stdout, stderr := shell.Listen(""), shell.Listen("/metrics\n")
	ended := make(chan int)
	go func() { ended <- cli.Main("test", args, strings.NewReader(""), stdout, stderr) }()
	var code int
	select {
	case <-stderr.Heard():
		scrapeUntil(t, stderr.String(), `brunt_operations_total{operation="READ",outcome="ok"}`, ended)
		code = <-ended
	case code = <-ended:
	}
	text := stdout.String() + stderr.String()
	if code != exitcode.Pass || !strings.Contains(text, "Run finished, takes ") || strings.Contains(text, "geheim") {
		t.Fatalf("exit %d\n%s", code, text)
	}
	checkYCSBRecord(t, dir)
	answer, err = http.Get("http://" + influx.Addr + "/query?" +
		url.Values{"db": {"load"}, "q": {"SELECT sum(done) FROM brunt"}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); !strings.Contains(string(body), ",1200]") {
		t.Errorf("InfluxDB has %s", body)
	}
}

// scrapeUntil reads the endpoint that stderr names until a series is there.
func scrapeUntil(t *testing.T, stderr, series string, ended <-chan int) {
	t.Helper()
	address := regexp.MustCompile(`http://\S+/metrics`).FindString(stderr)
	for {
		answer, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if strings.Contains(string(body), series) {
			return
		}
		select {
		case code := <-ended:
			t.Fatalf("exit %d before there was a series; the last answer:\n%s", code, body)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func checkYCSBRecord(t *testing.T, dir string) {
	t.Helper()
	run := recordtest.Result(t, dir)
	if len(run.Watched) != 2 || run.Watched[0].Source != record.WatchedHost || run.Watched[1].Samples < 2 ||
		run.Total.Done != 1200 {
		t.Errorf("%d done, watched %+v", run.Total.Done, run.Watched)
	}
	for _, w := range run.Warnings {
		if w.ID == "export-lost" {
			t.Error(w.Text)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte("geheim")) {
			t.Errorf("the password is in %s", f)
		}
	}
}

// Mistakes in the flags are reported before the database is touched. Data that couldn't be sent is reported at the end.
func TestYCSBSaysWhatIsWrongWithExports(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"load", "run"} {
		for want, flags := range map[string]string{
			"is no kind of destination":   "--export graphite=http://u:geheim@h",
			"not the number of a process": "--watch pid:x",
			"metrics can't be served":     "--metrics-addr 256.0.0.1:1",
		} {
			var out, errs bytes.Buffer
			args := append([]string{"brunt", "ycsb", command, "redis", "-p", "redis.addr=127.0.0.1:1", "-p", "recordcount=5",
				"-p", "operationcount=5", "--results", t.TempDir()}, strings.Fields(flags)...)
			code := cli.Main("test", args, strings.NewReader(""), &out, &errs)
			if code != exitcode.BadPlan || !strings.Contains(errs.String(), want) || strings.Contains(errs.String(),
				"geheim") ||
				out.Len() != 0 {
				t.Errorf("%s %s: exit %d\n%s%s", command, flags, code, out.String(), errs.String())
			}
		}
	}
	var out, errs bytes.Buffer
	args := strings.Fields(
		"brunt ycsb run basic -p operationcount=100 --export influx=http://127.0.0.1:1/load --quiet --results")
	code := cli.Main("test", append(args, t.TempDir()), strings.NewReader(""), &out, &errs)
	if code != exitcode.Pass || !strings.Contains(errs.String(), "influx 127.0.0.1:1") ||
		!strings.Contains(errs.String(), "refused") {
		t.Errorf("exit %d\n%s%s", code, out.String(), errs.String())
	}
}
