package tools_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// A timedLoad is a load of a tool at 50 operations a second.
type timedLoad struct {
	line      func(seconds int) []string
	inspected bool // brunt can ask the server what it did
}

// timedLoads returns loads of the tools for databases, on servers that have their tables.
func timedLoads(t *testing.T) map[string]timedLoad {
	s := testserver.Postgres(t)
	host, port, _ := net.SplitHostPort(s.Addr)
	url := "postgres://brunt@" + s.Addr + "/postgres"
	pgbench := []string{"pgbench", "-h", host, "-p", port, "-U", "brunt"}
	sysbench := []string{"sysbench", "oltp_read_write", "--db-driver=pgsql", "--pgsql-host=" + host,
		"--pgsql-port=" + port, "--pgsql-user=brunt", "--pgsql-db=postgres", "--table-size=100"}
	for _, line := range [][]string{
		append(slices.Clip(pgbench), "-i", "-q", "postgres"),
		{"tpcb", "load", "--branches", "1", "--shrink", "100", "--quiet", "-a", url},
		{"tpcc", "load", "--warehouses", "1", "--shrink", "100", "--quiet", "-a", url},
		append(slices.Clip(sysbench), "prepare"),
	} {
		if o := shell.Run(t, "brunt", line...); o.Code != 0 {
			t.Fatalf("%q: %d", line, o.Code)
		}
	}
	etcd, cassandra := testserver.Etcd(t).Addr, testserver.Cassandra(t).Addr
	of := func(inspected bool, words ...string) timedLoad { // a word has a number of seconds
		return timedLoad{inspected: inspected, line: func(seconds int) (line []string) {
			for _, w := range words {
				line = append(line, strings.ReplaceAll(w, "SECONDS", strconv.Itoa(seconds)))
			}
			return line
		}}
	}
	return map[string]timedLoad{
		"pgbench":  of(true, append(slices.Clip(pgbench), "-n", "-c", "2", "-R", "50", "-T", "SECONDS", "postgres")...),
		"tpcb":     of(true, "tpcb", "run", "--rate", "50", "--sessions", "2", "--duration", "SECONDSs", "-a", url),
		"tpcc":     of(true, "tpcc", "run", "--rate", "50", "--terminals", "2", "--duration", "SECONDSs", "-a", url),
		"sysbench": of(true, append(slices.Clip(sysbench), "--threads=2", "--rate=50", "--time=SECONDS", "run")...),
		"cassandra-stress": of(false, "cassandra-stress", "write", "duration=SECONDSs", "no-warmup", "cl=ONE", "-rate",
			"threads=2", "fixed=50/s", "-node", cassandra),
		"etcd-benchmark": of(true, "etcd-benchmark", "put", "--endpoints", etcd, "--clients", "2", "--conns", "2", "--rate",
			"50", "--total", "SECONDS00"),
	}
}

// A load of a tool is a load like any other: it is judged, asks the server, is watched, runs on workers, is compared,
// searched with, disturbed, part of a campaign, and can be killed.
func TestToolsAreJudgedComparedSearchedAndDisturbed(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	for name, load := range timedLoads(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &worked{load: load, dir: t.TempDir()}
			t.Run("killed", w.killed)
			t.Run("verdict and inspection", w.judged)
			t.Run("workers", w.shared)
			t.Run("compare", w.compared)
			t.Run("search", w.searched)
			t.Run("faults", w.disturbed)
			t.Run("campaign", w.campaign)
		})
	}
}

// worked is the load of a tool, and the folder of its bundles.
type worked struct {
	load timedLoad
	dir  string
	plan string // the load as a plan
}

// brunt runs a command line, which must end with one of the exit codes.
func (w *worked) brunt(t *testing.T, codes string, args ...string) (out string) {
	t.Helper()
	cmd := exec.Command("brunt", args...)
	cmd.Dir = w.dir
	text, _ := cmd.CombinedOutput() // the code says it
	if code := fmt.Sprint(cmd.ProcessState.ExitCode()); !slices.Contains(strings.Fields(codes), code) {
		t.Fatalf("%q: exit %s, want %s\n%s", args, code, codes, text)
	}
	return string(text)
}

// bundle returns the path of a bundle.
func (w *worked) bundle(name string) string { return filepath.Join(w.dir, name) }

// result returns the result of a bundle, in which operations were done.
func (w *worked) result(t *testing.T, name string) *record.Run {
	t.Helper()
	run := recordtest.Result(t, w.bundle(name))
	if run.Total.OK == 0 {
		t.Errorf("nothing was done: %+v", run.Total)
	}
	return run
}

// killed kills a load in the middle. What was done until then is reported; judged starts the load again.
func (w *worked) killed(t *testing.T) {
	line := slices.Concat([]string{"brunt"}, w.load.line(600), []string{"--bundle", w.bundle("killed")})
	cmd, _ := shell.Start(t, nil, line...)
	shell.UntilIntervals(t, w.bundle("killed"), 2)
	shell.Kill(t, cmd)
	if out := w.brunt(t, "98", "report", "killed"); !strings.Contains(out, "INVALID") {
		t.Errorf("the report of a load that was killed: %s", out)
	}
	if w.result(t, "killed").Complete {
		t.Error("a load that was killed is complete")
	}
}

func (w *worked) judged(t *testing.T) {
	out := w.brunt(t, "0 98", append(w.load.line(1), "--bundle", "judged", "--inspect", "auto", "--watch",
		fmt.Sprint("pid:", os.Getpid()), "--threshold", "errors < 50%")...)
	run := w.result(t, "judged")
	if n := len(run.Watched); n < 2 || run.Watched[n-1].Samples == 0 {
		t.Errorf("watched %+v\n%s", run.Watched, out)
	}
	if len(run.Thresholds) != 1 || !run.Thresholds[0].Pass {
		t.Errorf("thresholds %+v\n%s", run.Thresholds, out)
	}
	if run.Verdict.Result != verdict.Pass && run.Verdict.Result != verdict.Invalid {
		t.Errorf("verdict %+v", run.Verdict)
	}
	if got := len(run.Inspections) == 1; got != w.load.inspected || !got && !strings.Contains(out, "--inspect auto") {
		t.Errorf("%d servers were asked\n%s", len(run.Inspections), out)
	}
}

func (w *worked) shared(t *testing.T) {
	w.brunt(t, "99 98", append(w.load.line(1), "--bundle", "shared", "--workers", "2", "--threshold", "p(99) < 1ns")...)
	run := w.result(t, "shared")
	if len(run.Parts) != 2 || len(run.Thresholds) != 1 || run.Thresholds[0].Pass {
		t.Errorf("%d workers, thresholds %+v", len(run.Parts), run.Thresholds)
	}
}

func (w *worked) compared(t *testing.T) {
	if out := w.brunt(t, "0 97", "compare", "judged", "shared", "--anyway"); !strings.Contains(out, "COMPARED") {
		t.Errorf("%s", out)
	}
}

func (w *worked) searched(t *testing.T) {
	w.plan = w.brunt(t, "0", append([]string{"convert"}, w.load.line(1)...)...)
	shell.Put(t, w.bundle("plan.yml"), w.plan)
	out := w.brunt(t, "0 98 99", "search", "plan.yml", "--trial", "300ms", "--warm-up", "100ms", "--pause", "0s",
		"--trials", "2", "--threshold", "errors < 50%", "--quiet", "--bundle", "searched", "--output", "json")
	if strings.Count(out, `"verdict"`) < 2 {
		t.Errorf("%s", out)
	}
}

func (w *worked) disturbed(t *testing.T) {
	shell.Put(t, w.bundle("disturbed.yml"), w.plan+"faults:\n  - {name: slow, at: 200ms, for: 300ms, must: happen, "+
		"network: {do: latency, delay: 5ms}}\n")
	out := w.brunt(t, "0 98 99", "run", "disturbed.yml", "--allow-faults", "--bundle", "disturbed", "--quiet")
	run := w.result(t, "disturbed")
	if len(run.Faults) != 1 || run.Faults[0].BeginNs == 0 || run.Faults[0].HealedNs == 0 || run.Faults[0].Error != "" {
		t.Errorf("faults %+v\n%s", run.Faults, out)
	}
}

func (w *worked) campaign(t *testing.T) {
	text, analyse := "campaign: worked\nplan: plan.yml\n", ""
	if w.load.inspected {
		text, analyse = text+"inspect: auto\n", "  - analyse: {at: 1, warm_up: 0, duration: 1s}\n"
	}
	shell.Put(t, w.bundle("campaign.yml"), text+"steps:\n  - confirm: {at: 1, ramp: 0, hold: 1s}\n"+analyse+
		"  - document: {lang: [en]}\n")
	out := w.brunt(t, "0 98 99", "campaign", "run", "campaign.yml", "--bundle", "campaign", "--quiet", "--anyway")
	if _, err := os.Stat(filepath.Join(w.bundle("campaign"), "report-en.html")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Loads of tools without the end that the tool gave them are those of series: a search sends its trials to their ends,
// whatever the tool's own load had (a number of transactions for each client, an ammo limit, late requests that are all
// sent).
func TestSeriesOfLimitedLoads(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	s := testserver.Postgres(t)
	host, port, _ := net.SplitHostPort(s.Addr)
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(web.Close)
	tank := "phantom:\n  address: " + web.Listener.Addr().String() + "\n  uris: [/]\n  ammo_limit: 3\n" +
		"  load_profile: {load_type: rps, schedule: 'const(50, 1s)'}\n"
	list := shell.List(t, "GET "+web.URL+"/")
	for name, line := range map[string][]string{
		"pgbench": {"pgbench", "-n", "-h", host, "-p", port, "-U", "brunt", "-c", "2", "-R", "50", "-t", "2", "-f",
			shell.File(t, "one.sql", "SELECT 1;\n"), "postgres"},
		"tank":   {"tank", "-c", shell.File(t, "load.yaml", tank)},
		"hey":    {"hey", "-n", "4", "-c", "2", "-q", "25", web.URL},
		"wrk2":   {"wrk2", "-t", "1", "-c", "2", "-d", "1", "-R", "50", web.URL},
		"vegeta": {"vegeta", "attack", "-rate", "50", "-duration", "1s", "-targets", list},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &worked{dir: t.TempDir()}
			shell.Put(t, w.bundle("plan.yml"), w.brunt(t, "0", append([]string{"convert"}, line...)...))
			w.brunt(t, "0 98 99", "search", "plan.yml", "--trial", "300ms", "--warm-up", "100ms", "--pause", "0s",
				"--trials", "2", "--threshold", "errors < 50%", "--quiet", "--bundle", "searched")
			run := recordtest.Result(t, filepath.Join(w.bundle("searched"), "trial-01"))
			if run.Total.Done < 8 || run.Total.Failed > 0 {
				t.Errorf("%d done, %d failed of 15 arrivals", run.Total.Done, run.Total.Failed)
			}
			w.brunt(t, "0 98 99", "run", "plan.yml", "--duration", "300ms", "--quiet", "--bundle", "longer")
			if run := w.result(t, "longer"); run.Total.Done < 8 || run.Total.Failed > 0 {
				t.Errorf("with a duration: %d done, %d failed", run.Total.Done, run.Total.Failed)
			}
		})
	}
}
