package scripts_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// dashboard contains the queries of a dashboard.
type dashboard struct {
	Title  string
	Panels []struct {
		Title   string
		Targets []struct{ Expr, Query string }
	}
}

// loaded is a script with failures. The load of a plan is exported to the same place.
const loaded = `
	import { check } from "k6";
	import brunt from "k6/x/brunt";
	const db = brunt.open("sqlite::memory:outputs");
	export const options = {
		scenarios: {
			steady: { executor: "constant-arrival-rate", rate: 50, timeUnit: "1s", duration: "6s", preAllocatedVUs: 5 },
			dropping: { executor: "constant-arrival-rate", rate: 50, timeUnit: "1s", duration: "6s", preAllocatedVUs: 1, maxVUs: 1, exec: "slow" },
		},
	};
	export default function () {
		check(db.query("SELECT 1 AS one"), { one: (r) => r[0].one === 1, two: () => __ITER % 7 !== 0 });
		if (__ITER % 5 === 0) try { db.exec({ sql: "SELECT broken", name: "broken" }) } catch (e) {}
	}
	export function slow() { const until = Date.now() + 60; while (Date.now() < until) db.query("SELECT 2 AS two") }`

// exported is a plan with operations that succeed, wait and fail.
const exported = `
config_name: EXPORTED
target: {protocol: sqlite}
tables_schema:
  - {name: t, row_count: 10, columns: [{name: id, type: Integer, range: [1, 10], unique: true}], primary_keys: [id]}
queries:
  - {name: good, sql: "select id from t where id = $1", params: [{type: Integer, range: [1, 10]}], weight: 5}
  - {name: bad, sql: "insert into t values (1)", weight: 1}
load:
  - constant: {rate: 100, duration: 6s}
`

// k6's own outputs receive brunt's metrics during the load, and the sums are correct.
func TestOutputsGetBruntsMetrics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		rate int
	}{{"each call has a sample", 20}, {"some stand for all", 400}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "samples.json")
			o := run(t, "-o", "json="+file, "--tag", "build=7", script(t, fmt.Sprintf(sqlite+`
				export const options = { scenarios: { a: { executor: "constant-arrival-rate", rate: %d, timeUnit: "1s", duration: "3s",
					preAllocatedVUs: 5 } } };
				export default function () {
					db.query({ sql: "SELECT 1 AS one", name: "one" });
					try { db.query({ sql: __ITER %% 5 ? "SELECT 2 AS two" : "SELECT broken", name: "two" }) } catch (e) {}
				}`, c.rate)))
			if o.run == nil {
				t.Fatalf("exit %d", o.code)
			}
			sums, moments, seconds := map[string]float64{}, map[string]bool{}, map[string]map[int64]int{}
			samples := samplesIn(t, file)
			for _, s := range samples {
				if !strings.HasPrefix(s.Metric, "brunt_") || s.Data.Tags["operation"] == "" {
					continue
				}
				if s.Data.Tags["build"] != "7" {
					t.Fatalf("tags %v", s.Data.Tags)
				}
				series := s.Metric + " " + s.Data.Tags["operation"]
				if at := series + s.Data.Time.String(); moments[at] {
					t.Fatalf("two values of %s", at)
				} else {
					moments[at] = true
				}
				if seconds[series] == nil {
					seconds[series] = map[int64]int{}
				}
				seconds[series][s.Data.Time.Unix()]++
				sums[series] += s.Data.Value
			}
			for _, op := range o.run.Operations {
				if got := sums["brunt_operations "+op.Name]; got != float64(op.Done) {
					t.Errorf("%s: outputs add up %g operations, the record has %d", op.Name, got, op.Done)
				}
				share := sums["brunt_failed "+op.Name] / float64(countOf(seconds["brunt_failed "+op.Name]))
				if want := float64(op.Failed) / float64(op.Done); math.Abs(share-want) > 0.01 {
					t.Errorf("%s: %g of the samples of brunt_failed say that it failed, want %g", op.Name, share, want)
				}
			}
			if n := len(seconds["brunt_response one"]); n < 3 {
				t.Errorf("values of brunt_response in %d of 3 seconds", n)
			}
			checkService(t, o.dir, samples)
		})
	}
}

// checkService checks the values of brunt_service of operation one against the intervals of the record in dir. In each
// interval, equal shares of the operations are represented by one value each, so that the mean is off by at most the
// longest time divided by the number of values.
func checkService(t *testing.T, dir string, samples []jsonSample) {
	t.Helper()
	bundle, err := record.Open(record.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(bundle.Run.OperationNames(), "one")
	values := 0
	err = bundle.Intervals(func(iv *measure.Interval) error {
		if at >= len(iv.Operations) || iv.Operations[at].Service.Count() == 0 {
			return nil
		}
		of, start := iv.Operations[at].Service, time.Unix(0, iv.UnixNs)
		sum, n := 0.0, 0
		for _, s := range samples {
			in := !s.Data.Time.Before(start) && s.Data.Time.Before(start.Add(time.Duration(iv.DurationNs())))
			if in && s.Metric == "brunt_service" && s.Data.Tags["operation"] == "one" {
				sum, n = sum+s.Data.Value*1e6, n+1
			}
		}
		values += n
		if uint64(n) != min(of.Count(), 100) {
			t.Errorf("%d values of brunt_service stand for %d operations", n, of.Count())
			return nil
		}
		if off, most := math.Abs(sum/float64(n)-of.Mean()), float64(of.Max())/float64(n)+0.01*of.Mean(); off > most {
			t.Errorf("the mean of brunt_service is %g ns, in the record %g, at most %g ns off", sum/float64(n), of.Mean(),
				most)
		}
		return nil
	})
	if err != nil || values == 0 {
		t.Errorf("%d values of brunt_service: %v", values, err)
	}
}

func countOf(seconds map[int64]int) (n int) {
	for _, k := range seconds {
		n += k
	}
	return n
}

// jsonSample is a line of k6's JSON output.
type jsonSample struct {
	Metric, Type string
	Data         struct {
		Time  time.Time
		Value float64
		Tags  map[string]string
	}
}

// samplesIn reads the samples in a file of k6's JSON output.
func samplesIn(t *testing.T, file string) (all []jsonSample) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var s jsonSample
		if err := json.Unmarshal([]byte(line), &s); err == nil && s.Type == "Point" {
			all = append(all, s)
		}
	}
	return all
}

// stores are an InfluxDB server with a database, and a Prometheus server.
type stores struct{ influx, prometheus *testserver.Server }

func newStores(t *testing.T) stores {
	t.Helper()
	s := stores{testserver.InfluxDB(t), testserver.Prometheus(t)}
	answer, err := http.PostForm("http://"+s.influx.Addr+"/query", url.Values{"q": {"CREATE DATABASE load"}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return s
}

// destinations returns the values of --export for them.
func (s stores) destinations() []string {
	return []string{"influx=http://" + s.influx.Addr + "/load", "prometheus=http://" + s.prometheus.Addr}
}

// After a run, each query of each dashboard returns data from real servers.
func TestDashboards(t *testing.T) {
	t.Parallel()
	scripts, plans, began := newStores(t), newStores(t), time.Now()
	env := []string{
		"K6_PROMETHEUS_RW_SERVER_URL=http://" + scripts.prometheus.Addr + "/api/v1/write",
		"K6_PROMETHEUS_RW_PUSH_INTERVAL=1s",
		"BRUNT_EXPORT=" + strings.Join(scripts.destinations(), " "),
	}
	j := beginWith(t, env, "--out", "influxdb=http://"+scripts.influx.Addr+"/load", "--out", "experimental-prometheus-rw",
		script(t, loaded))
	wait := load(t, exported, plans.destinations())
	if o := j.wait(); o.code != 0 {
		t.Fatalf("exit %d", o.code)
	}
	if code := wait(); code != 0 && code != 98 && code != 99 {
		t.Fatalf("the plan's run: exit %d", code)
	}
	files, _ := filepath.Glob(root + "/examples/grafana/dashboards/*.json")
	if len(files) != 4 {
		t.Errorf("dashboards %v", files)
	}
	for _, path := range files {
		var d dashboard
		if err := json.Unmarshal([]byte(text(t, path)), &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if len(d.Panels) != 6 {
			t.Errorf("%s has %d panels", d.Title, len(d.Panels))
		}
		from := plans
		if strings.Contains(path, "-k6-") {
			from = scripts
		}
		d.check(t, from, began)
	}
}

// check runs the queries of all panels.
func (d *dashboard) check(t *testing.T, from stores, began time.Time) {
	t.Helper()
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			points := 0
			if target.Expr != "" {
				points = promPoints(t, from.prometheus.Addr, target.Expr, began)
			} else {
				points = influxPoints(t, from.influx.Addr, target.Query)
			}
			if points == 0 {
				t.Errorf("%s, %s: no data for %s%s", d.Title, p.Title, target.Expr, target.Query)
			}
		}
	}
}

// load runs a plan in a separate process and returns a function that waits for its exit code.
func load(t *testing.T, plan string, destinations []string) (wait func() int) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.yml")
	if err := os.WriteFile(path, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "brunt", "run", path, "--quiet", "--bundle", filepath.Join(dir, "bundle"))
	for _, d := range destinations {
		cmd.Args = append(cmd.Args, "--export", d)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() int {
		_ = cmd.Wait() // the exit code is returned
		return cmd.ProcessState.ExitCode()
	}
}

// promPoints counts the points that a panel's query returns.
func promPoints(t *testing.T, addr, expr string, began time.Time) (n int) {
	t.Helper()
	expr = strings.ReplaceAll(expr, "$__rate_interval", "15s")
	var got struct {
		Error string
		Data  struct{ Result []struct{ Values [][]any } }
	}
	ask(t, "http://"+addr+"/api/v1/query_range?"+url.Values{
		"query": {expr}, "start": {fmt.Sprint(began.Unix())}, "end": {fmt.Sprint(time.Now().Unix())}, "step": {"1"},
	}.Encode(), &got)
	if got.Error != "" {
		t.Errorf("%s: %s", expr, got.Error)
	}
	for _, r := range got.Data.Result {
		n += len(r.Values)
	}
	return n
}

// influxPoints counts the points that are not null.
func influxPoints(t *testing.T, addr, query string) (n int) {
	t.Helper()
	query = strings.NewReplacer("$timeFilter", "time > now() - 10m", "$__interval", "2s").Replace(query)
	var got struct {
		Results []struct {
			Error  string
			Series []struct{ Values [][]any }
		}
	}
	ask(t, "http://"+addr+"/query?"+url.Values{"db": {"load"}, "q": {query}}.Encode(), &got)
	for _, r := range got.Results {
		if r.Error != "" {
			t.Errorf("%s: %s", query, r.Error)
		}
		for _, s := range r.Series {
			for _, v := range s.Values {
				if v[1] != nil {
					n++
				}
			}
		}
	}
	return n
}

func ask(t *testing.T, address string, into any) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%s: %v: %s", address, err, body)
	}
}

// Grafana's provisioning files define the data sources that the dashboards use.
func TestProvisioning(t *testing.T) {
	t.Parallel()
	sources := text(t, root+"/examples/grafana/provisioning/datasources/brunt.yml")
	files, _ := filepath.Glob(root + "/examples/grafana/dashboards/*.json")
	for _, path := range files {
		var d struct {
			UID    string
			Panels []struct{ Datasource struct{ UID, Type string } }
		}
		if err := json.Unmarshal([]byte(text(t, path)), &d); err != nil {
			t.Fatal(err)
		}
		if d.UID+".json" != filepath.Base(path) {
			t.Errorf("%s has the uid %q", path, d.UID)
		}
		for _, p := range d.Panels {
			if !strings.Contains(sources, "uid: "+p.Datasource.UID+"\n    type: "+p.Datasource.Type+"\n") {
				t.Errorf("%s asks %+v, which isn't provisioned", path, p.Datasource)
			}
		}
	}
}
