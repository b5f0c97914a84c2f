package tools_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
	"brunt/test/testserver/grpcserver"
)

// Tools send all their requests from workers and report them, or say before the load what of their command lines
// workers can't do.
func TestToolsOverWorkers(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	var served atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
	defer web.Close()
	rpc := grpcserver.Start(t)
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		shell.Put(t, path, text)
		return path
	}
	list, shells := put("list", "GET "+web.URL+"/\n"), put("x.sql", "\\setshell x echo 1\nSELECT :x;\n")
	url, say := " "+web.URL+"/", " --insecure --call brunt.test.Echo/Say "+rpc.Addr
	for name, c := range map[string]struct {
		args string
		want uint64 // requests
		says string // instead of a load
	}{
		"ab":              {"ab -n 40 -c 4" + url, 40, ""},
		"ab, CSV":         {"ab -n 40 -c 4 -e x.csv" + url, 0, "-e: with --workers there are no results of single requests"},
		"ab, gnuplot":     {"ab -n 40 -c 4 -g x" + url, 0, "-g: with --workers"},
		"ab, HTML":        {"ab -n 40 -c 4 -w" + url, 0, "-w: with --workers"},
		"hey":             {"hey -n 40 -c 4" + url, 40, ""},
		"hey, CSV":        {"hey -n 40 -c 4 -o csv" + url, 0, "-o: with --workers"},
		"wrk2":            {"wrk2 -t 2 -c 4 -d 1 -R 40" + url, 40, ""},
		"vegeta":          {"vegeta attack -rate 40 -duration 1s -targets " + list, 40, ""},
		"vegeta, file":    {"vegeta attack -rate 40 -duration 1s -targets " + list + " -output x", 0, "-output: with --workers"},
		"vegeta, its own": {"vegeta attack -workers 9 -rate 40 -duration 1s -targets " + list, 40, ""},
		"ghz":             {"ghz -n 40 -c 4 --connections 2" + say, 40, ""},
		"ghz, form":       {"ghz -n 40 -c 4 --connections 2 -O json" + say, 0, "--format: with --workers"},
		"ghz, one connection": {"ghz -n 40 -c 4" + say, 0,
			"2 workers need at least 2 connections, and the load has 1, with up to 4 requests in flight on each"},
		"pgbench, shell": {"pgbench -n -c 2 -h 127.0.0.1 -p 1 -f " + shells, 0, "x.sql: workers run no shell commands"},
		"pgbench, log":   {"pgbench -n -c 2 -h 127.0.0.1 -p 1 -S -l", 0, "-l: with --workers there is no log"},
	} {
		t.Run(name, func(t *testing.T) {
			before, bundle := served.Load(), filepath.Join(t.TempDir(), "bundle")
			args := append(strings.Fields(c.args), "--workers", "2", "--mixed-cores", "--bundle", bundle)
			cmd := exec.Command("brunt", args...)
			cmd.Dir = t.TempDir()
			out, _ := cmd.CombinedOutput() // what it did tells
			sent := served.Load() - before
			if c.says != "" {
				if cmd.ProcessState.Success() || sent > 0 || strings.Count(string(out), "\n") != 1 ||
					!strings.Contains(string(out), c.says) {
					t.Errorf("%s, %d requests, want none and one line with %q:\n%s", cmd.ProcessState, sent, c.says, out)
				}
				return
			}
			run := recordtest.Result(t, bundle)
			if n := run.Total.OK; n != c.want || len(run.Parts) != 2 || !strings.Contains(string(out), "\nWORKERS") {
				t.Errorf("%s, %d requests of %d workers, want %d and brunt's report:\n%s", cmd.ProcessState, n, len(run.Parts),
					c.want, out)
			}
			if !strings.HasPrefix(name, "ghz") && sent < int64(c.want) {
				t.Errorf("the server had %d requests, want %d", sent, c.want)
			}
		})
	}
}

// What a tool does during the load beside its requests is done once, by the process that it is started as.
func TestCompactionsOverWorkers(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	s := testserver.Etcd(t)
	out, err := exec.Command("brunt", "etcd-benchmark", "put", "--endpoints", s.Addr, "--clients", "4", "--conns", "4",
		"--total", "400", "--rate", "200", "--compact-interval", "100ms", "--compact-index-delta", "10", "--workers", "2",
		"--mixed-cores", "--bundle", filepath.Join(t.TempDir(), "bundle")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Get(context.Background(), "x", clientv3.WithRev(2)); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("revision 2: %v, want it to be compacted\n%s", err, out)
	}
}
