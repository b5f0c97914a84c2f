package scripts_test

import (
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"brunt/internal/record"
)

// sqlite is the beginning of a script that uses an embedded database.
const sqlite = `
	import brunt from "k6/x/brunt";
	import { sleep } from "k6";
	const db = brunt.open("sqlite::memory:hard");
	`

// A second interrupt ends k6 during its teardown. The record is complete nevertheless.
func TestASecondInterruptWhileTeardownRuns(t *testing.T) {
	t.Parallel()
	j := begin(t, script(t, sqlite+`
		export const options = { vus: 4, duration: "1m" };
		export default function () { db.query({ sql: "SELECT 1 AS one", name: "one" }) }
		export function teardown() { console.log("teardown has begun"); for (;;) { db.query("SELECT 2 AS two"); sleep(0.001) } }`))
	j.underWay(1)
	j.signal(syscall.SIGINT)
	j.said("teardown has begun")
	j.signal(syscall.SIGINT)
	o := j.wait()
	if o.code != 105 || o.says("panic") || o.run == nil || !o.run.Complete || !o.run.Interrupted {
		t.Errorf("exit %d, %+v", o.code, o.run)
	}
}

// Having fewer virtual users than the maximum is no problem if their number changes during the run.
func TestVirtualUsersAreNotAskedFor(t *testing.T) {
	t.Parallel()
	o := run(t, script(t, sqlite+`
		export const options = { scenarios: { a: { executor: "ramping-vus", startVUs: 0, stages: [{ duration: "2s", target: 5 }, { duration: "2s", target: 0 }] } } };
		export default function () { db.query({ sql: "SELECT 1 AS one", name: "one" }); sleep(0.05) }`))
	if o.run == nil || !o.run.SessionsAsNeeded || strings.Contains(strings.Join(o.run.Verdict.Texts(), " "),
		"sessions asked for") {
		t.Errorf("%+v", o.run)
	}
}

// In thresholds, a single = is accepted, from any source of thresholds, but nowhere else in a script.
func TestASingleEqualIsReadInThresholdsOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("data.js", `export const text = "value = 3";`)
	write("data.ts", `"rate = 4"`)
	write("options.js", `export const options = { iterations: 2, thresholds: { iterations: ["count = 3"] } };`)
	write("limits.js", `export const limits = { iterations: 2, thresholds: { iterations: ["count = 3"] } };`)
	write("common.js", `exports.limits = { iterations: 2, thresholds: { iterations: ["count = 3"] } };`)
	write("options.json", `{"iterations": 2, "thresholds": {"iterations": ["count = 3"]}}`)
	const body = `
		import { text } from "./data.js";
		const opened = open("./data.ts");
		console.log("[" + text + "|" + "value = 3" + "|" + opened + "]");
		export default function () {}`
	for _, c := range []struct {
		name, options string
		args          []string
		code          int
		note          bool
	}{
		{"none", ``, nil, 0, false},
		{"the word alone", `// There are no thresholds.`, nil, 0, false},
		{"two", `export const options = { iterations: 2, thresholds: { iterations: ["count == 2"] } };`, nil, 0, false},
		{"in the script, holds", `export const options = { iterations: 2, thresholds: { iterations: ["count = 2"] } };`, nil,
			0, true},
		{"in the script, broken", `export let options = { iterations: 2, thresholds: { iterations: ["count = 3"] } };`, nil,
			99, true},
		{
			"in the long form", `export const options = { iterations: 2, thresholds: { iterations: [{ threshold: "count=3", abortOnFail: false }] } };`, nil, 99, true},
		{"computed", "export const options = { iterations: 2, thresholds: { iterations: [`count ${'='} ${__ENV.LIMIT}`] } };",
			[]string{"-e", "LIMIT=3"}, 99, true},
		{"in an import", `export { options } from "./options.js";`, nil, 99, true},
		{"in an import of another name", `export { limits as options } from "./limits.js";`, nil, 99, true},
		{"in an import that is assigned", `import { limits } from "./limits.js"; export const options = limits;`, nil, 99, true},
		{"in an import of all", `export * from "./options.js";`, nil, 99, true},
		{"in data", `export const options = JSON.parse(open("./options.json"));`, nil, 99, true},
		{"in data, exported later", `const options = JSON.parse(open("./options.json")); export { options };`, nil, 99, true},
		{"in a configuration", ``,
			[]string{"--config", write("config.json", `{"iterations": 2, "thresholds": {"iterations": ["count = 3"]}}`)},
			99, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := run(t, append(c.args, write(strings.ReplaceAll(c.name, " ", "_")+".js", body+"\n"+c.options))...)
			if o.code != c.code || o.says(`a single \"=\"`) != c.note {
				t.Errorf("exit %d, want %d; a note: %v", o.code, c.code, c.note)
			}
			if !o.says(`[value = 3|value = 3|\"rate = 4\"]`) {
				t.Error("texts have changed")
			}
		})
	}
	common := `exports.options = require("./common.js").limits; exports.default = function () {};
		console.log("[" + open("./options.js") + "]");`
	if o := run(t, write("common_main.js", common)); o.code != 99 || !o.says(`a single \"=\"`) ||
		!o.says(`[\"count = 3\"] } };]`) {
		t.Errorf("a CommonJS module: exit %d, want 99 with a note, and the opened text as it is", o.code)
	}
	read := `export const options = { iterations: 2, thresholds: { iterations: ["count = 3"] } };
		console.log("[" + "value = 3" + "]"); export default function () {}`
	if o := beginReading(t, read, "-").wait(); o.code != 99 || !o.says(`a single \"=\"`) || !o.says("[value = 3]") {
		t.Errorf("from standard input: exit %d, want 99 with a note\n%s", o.code, o.text)
	}
	if o := beginReading(t, "", "-").wait(); o.code == 0 {
		t.Error("an empty script passes")
	}
}

// The hash of a script covers all files that it imports.
func TestScriptsDifferByWhatTheyImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "script.js")
	hash := func(imported, data, plan, text, stdin string) string {
		t.Helper()
		for name, text := range map[string]string{"lib.js": "export const a = " + imported + ";", "data.json": data,
			"plan.yml": plan, "script.js": text} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		file := path
		if stdin != "" {
			file = "-"
		}
		o := beginReading(t, stdin, file).wait()
		if o.code != 0 || o.run == nil {
			t.Fatalf("exit %d", o.code)
		}
		return o.run.PlanHash
	}
	plan := strings.ReplaceAll(exported, "duration: 6s", "duration: 200ms")
	const text = `import { a } from "./lib.js"; const data = open("./data.json"); export default function () { a }`
	plans := `import brunt from "k6/x/brunt"; export default function () { brunt.runPlan("` +
		filepath.Join(dir, "plan.yml") + `") }`
	const alone = `export default function () {}`
	for _, c := range []struct {
		name string
		a, b [5]string
		same bool
	}{
		{"the same", [5]string{"1", "{}", plan, text}, [5]string{"1", "{}", plan, text}, true},
		{"an import", [5]string{"1", "{}", plan, text}, [5]string{"2", "{}", plan, text}, false},
		{"data", [5]string{"1", "{}", plan, text}, [5]string{"1", "[]", plan, text}, false},
		{"a plan", [5]string{"1", "{}", plan, plans}, [5]string{"1", "{}", plan + "# more\n", plans}, false},
		{"the same plan", [5]string{"1", "{}", plan, plans}, [5]string{"1", "{}", plan, plans}, true},
		{"stdin", [5]string{"1", "{}", plan, alone, alone}, [5]string{"1", "{}", plan, alone, alone + "//"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := hash(c.a[0], c.a[1], c.a[2], c.a[3], c.a[4])
			b := hash(c.b[0], c.b[1], c.b[2], c.b[3], c.b[4])
			if a == "" || (a == b) != c.same {
				t.Errorf("%s and %s", a, b)
			}
		})
	}
}

// Lost exports are reported even in quiet runs, and set the exit code.
func TestALostExportIsNoSuccess(t *testing.T) {
	t.Parallel()
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"database not found: \"none\""}`, http.StatusNotFound)
	}))
	defer store.Close()
	o := run(t, "-o", "brunt=export=influx="+store.URL+"/none", script(t, sqlite+`
		export const options = { iterations: 20 };
		export default function () { db.query("SELECT 1 AS one") }`))
	if o.code != 1 || !o.says("did not reach") || o.run == nil || !o.run.Complete {
		t.Errorf("exit %d", o.code)
	}
}

// Names of brunt's metrics are taken, if a script imports brunt's modules.
func TestMetricsOfBruntsNames(t *testing.T) {
	t.Parallel()
	const body = `import { Counter } from "k6/metrics"; const c = new Counter("brunt_response"); export default function () { c.add(1) }`
	if o := run(t, script(t, `import brunt from "k6/x/brunt"; `+body)); o.code != 107 ||
		!o.says("metric 'brunt_response' already exists") {
		t.Errorf("with brunt's modules: exit %d", o.code)
	}
	if o := run(t, script(t, body)); o.code != 0 {
		t.Errorf("without them: exit %d", o.code)
	}
}

// Values that JSON has no form for (1/0, NaN) are recorded, and cost neither the record nor a part of it.
func TestValuesThatAreNotFinite(t *testing.T) {
	t.Parallel()
	o := run(t, script(t, `
		import { Trend, Gauge, Counter } from "k6/metrics";
		const trend = new Trend("some_trend"), gauge = new Gauge("some_gauge"), counter = new Counter("some_counter");
		export const options = { iterations: 3, thresholds: { some_trend: ["avg<5"], some_counter: ["count>=1"] } };
		export default function () {
			trend.add(1 / 0); trend.add(NaN); gauge.add(-1 / 0); counter.add(1 / 0);
		}`))
	if o.code != 99 || o.run == nil || !o.run.Complete || o.says("unsupported value") {
		t.Errorf("exit %d", o.code)
	}
}

// k6's REST API returns correct metrics, with any of the ways to enable it. This includes Trends with more values than
// are stored, and brunt's own counts.
func TestMetricsOfTheRESTAPI(t *testing.T) {
	t.Parallel()
	source := script(t, sqlite+`
		import http from "k6/http";
		import { Trend } from "k6/metrics";
		const mine = new Trend("mine");
		export const options = { iterations: 1 };
		const shown = (name, what) => http.get("http://" + __ENV.AT + "/v1/metrics/" + name).json("data.attributes.sample." + what);
		export default function () {
			for (let i = 0; i < 30000; i++) mine.add(i < 12000 ? 1 : 3);
			for (let i = 0; i < 50; i++) db.query({ sql: "SELECT 1 AS one", name: "one" });
			for (let tries = 0; tries < 300; tries++, sleep(0.1)) {
				if (shown("mine", "max") === 3 && shown("brunt_operations", "count") >= 50) return console.log("it is shown");
			}
		}`)
	for _, way := range []string{"--address", "K6_ADDRESS"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			at := free.Addr().String()
			free.Close()
			args, env := []string{"-e", "AT=" + at, source}, []string{"K6_ADDRESS=" + at}
			if way == "--address" {
				args, env = append(args, "--address", at), nil
			}
			if o := beginWith(t, env, args...).wait(); o.code != 0 || !o.says("it is shown") {
				t.Errorf("exit %d", o.code)
			}
		})
	}
}

// All spellings of quiet suppress messages of a run that succeeded.
func TestQuiet(t *testing.T) {
	t.Parallel()
	for args, quiet := range map[string]bool{"--quiet": true, "-q": true, "-vq": true, "--quiet=true": true,
		"--quiet=false": false, "": false} {
		t.Run(args, func(t *testing.T) {
			j := prepare(t, "", nil, append(strings.Fields("k6 run "+args), script(t, "export default function () {}"))...)
			if o := j.start().wait(); o.code != 0 || o.says("brunt: verdict") == quiet {
				t.Errorf("exit %d", o.code)
			}
		})
	}
}

// completion is k6's command; brunt's own is brunt completion.
func TestCompletionOfK6(t *testing.T) {
	t.Parallel()
	o := prepare(t, "", nil, "k6", "completion", "bash").start().wait()
	if o.code != 0 || !o.says("__start_k6") || o.says("__start_brunt") || o.says("brunt") {
		t.Errorf("exit %d", o.code)
	}
}

// Thresholds on brunt's own metrics use the values in the record, and fail if there are none.
func TestThresholdsOnCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, threshold string
		code            int
		value           float64 // NaN: no value
	}{
		{"held", `"brunt_failed": ["rate<0.5"]`, 0, 0.25},
		{"broken", `"brunt_failed": ["rate<0.2"]`, 99, 0.25},
		{"a part", `"brunt_failed{operation:bad}": ["rate<0.5"]`, 99, 1},
		{"a part that holds", `"brunt_failed{operation:good}": ["rate<0.5"]`, 0, 0},
		{"a count", `"brunt_operations": ["count==40"]`, 0, 40},
		{"a part's count", `"brunt_operations{operation:bad}": ["count>10"]`, 99, 10},
		{"a mistyped operation", `"brunt_failed{operation:godo}": ["rate<0.5"]`, 99, math.NaN()},
		{"a mistyped operation's times", `"brunt_response{operation:godo}": ["p(95)<5000"]`, 99, math.NaN()},
		{"a mistyped operation's number", `"brunt_operations{operation:godo}": ["count<5"]`, 99, math.NaN()},
		{"times of failures only", `"brunt_response{operation:bad}": ["p(95)<5000", "avg<5000"]`, 99, math.NaN()},
		{"a scenario", `"brunt_failed{scenario:default}": ["rate<0.5"]`, 104, 0},
		{"a group", `"brunt_response{group:::a}": ["p(95)<5000"]`, 104, 0},
		{"an operation in a scenario", `"brunt_failed{operation:good,scenario:default}": ["rate<0.5"]`, 104, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := run(t, script(t, sqlite+`
				export const options = { iterations: 10, thresholds: {`+c.threshold+`} };
				export default function () {
					for (let i = 0; i < 3; i++) db.query({ sql: "SELECT 1 AS one", name: "good" });
					try { db.exec({ sql: "SELECT broken", name: "bad" }) } catch (e) {}
				}`))
			if o.code != c.code {
				t.Errorf("exit %d, want %d", o.code, c.code)
			}
			if c.code == 104 {
				if o.run != nil || !o.says("only by operation") {
					t.Errorf("a record: %+v", o.run)
				}
				return
			}
			got := o.run.Thresholds[0]
			v := float64(got.Value)
			if v != c.value && !(math.IsNaN(v) && math.IsNaN(c.value)) || got.Pass != (c.code == 0) {
				t.Errorf("%+v, want %g", got, c.value)
			}
		})
	}
}

// If nothing that a threshold refers to has happened, thresholds on brunt's metrics fail, and those on k6's pass with a
// warning.
func TestThresholdsWithoutData(t *testing.T) {
	t.Parallel()
	o := run(t, script(t, sqlite+`
		export const options = { iterations: 3, thresholds: { brunt_failed: ["rate<0.5"] } };
		export default function () {}`))
	if o.code != 99 || !o.warned("k6-no-data-broken") {
		t.Errorf("exit %d, %+v", o.code, o.run)
	}
	o = run(t, script(t, `
		export const options = { iterations: 3, thresholds: { http_req_duration: ["p(95)<500"] } };
		export default function () {}`))
	if o.code != 0 || !o.warned("k6-no-data") {
		t.Errorf("exit %d, %+v", o.code, o.run)
	}
}

// The record contains no secret of a command line, an address or a script's settings.
func TestNoSecretIsRecorded(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("fail") != "" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, "script.js")
	source := `
		import http from "k6/http";
		import { check } from "k6";
		const url = __ENV.URL, bare = url.replace("http://", "");
		export const options = {
			scenarios: { a: { executor: "per-vu-iterations", iterations: 2, env: { PASSWORD: "s3cr3t" } } },
			thresholds: { ["http_reqs{name:" + url + "/?api_key=s3cr3t&fail=1}"]: ["count<100"] },
		};
		export default function () {
			for (const end of ["token=s3cr3t", "api_key=s3cr3t&fail=1", "x=1&password=s3cr3t&fail=1"]) {
				const r = http.get(url + "/?" + end, { headers: { Authorization: "Bearer s3cr3t" } });
				check(r, { ["no failure of " + url + "/?token=s3cr3t"]: (r) => r.status === 200 });
			}
			http.get("http://me:s3cr3t@" + bare + "/basic?fail=1");
			http.get("http://me:s3cr3t@127.0.0.1:1/?token=s3cr3t");
			for (const broken of ["s3cr3t#x", "pw#s3cr3t"]) http.get("http://me:" + broken + "@127.0.0.1:1/");
		}`
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PGPASSWORD=" + secret, "BRUNT_PASSWORD=" + secret}
	j := beginWith(t, env, "-e", "URL="+server.URL, "-e", "TOKEN="+secret, "--env", "WHO="+secret,
		"--env=PGPASSWORD="+secret,
		"--secret-source", "mock=default="+secret, "--tag", "token="+secret, path)
	o := j.wait()
	if o.code != 0 || o.run == nil || o.run.Total.Failed == 0 || o.run.Total.OK == 0 {
		t.Fatalf("exit %d, %+v", o.code, o.run)
	}
	for line := range strings.Lines(o.text) {
		if strings.Contains(line, "level=") && (strings.Contains(line, secret) || strings.Contains(line, ":pw")) {
			t.Errorf("k6 says %s", line)
		}
	}
	err := filepath.WalkDir(j.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content := text(t, path)
		for line := range strings.Lines(content) {
			if strings.Contains(line, secret) {
				t.Errorf("%s: %s", filepath.Base(path), line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := text(t, filepath.Join(j.dir, "errors.ndjson")); !strings.Contains(out, "api_key=***") {
		t.Errorf("failures: %s", out)
	}
}

// Checks with the same name are distinguished by their groups, whether or not the user enables these tags.
func TestChecksOfGroups(t *testing.T) {
	t.Parallel()
	source := script(t, `
		import { check, group } from "k6";
		export const options = { iterations: 4 };
		const done = (x) => check(x, { done: (x) => x });
		export function setup() { done(true) }
		export default function () {
			done(true);
			group("cart", () => { done(__ITER > 0); group("pay", () => done(false)) });
			group("login", () => done(__ITER > 1));
		}`)
	want := map[string][2]float64{
		"check done": {4, 1}, "check cart::done": {4, 0.75}, "check cart::pay::done": {4, 0}, "check login::done": {4, 0.5},
		"check setup::done": {1, 1},
	}
	for _, tags := range []string{"check,group", "check", "group", "status"} {
		t.Run(tags, func(t *testing.T) {
			o := run(t, "--system-tags", tags, source)
			if o.code != 0 || o.run == nil {
				t.Fatalf("exit %d", o.code)
			}
			got := map[string][2]float64{}
			for _, w := range o.run.Watched {
				for _, m := range w.Metrics {
					if strings.HasPrefix(m.Name, record.WatchedCheck) {
						got[m.Name] = [2]float64{float64(m.Values), m.Mean}
					}
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// The record does not depend on the tags that the user enables, and the output contains only these tags.
func TestSystemTagsDoNotChangeTheRecord(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	source := `
		import http from "k6/http";
		import { sleep } from "k6";
		const url = __ENV.URL;
		export const options = { scenarios: {
			calls: { executor: "per-vu-iterations", iterations: 6, exec: "calls" },
			waits: { executor: "constant-arrival-rate", rate: 20, duration: "1s", preAllocatedVUs: 1, exec: "waits" },
		} };
		export function setup() { http.get(url + "/setup") }
		export function calls() { http.get(url + "/good"); http.get(url + "/bad"); http.get(url + "/named", { tags: { name: "named" } }) }
		export function waits() { sleep(0.2) }
		export function teardown() { http.get(url + "/teardown") }`
	for _, tags := range []string{"", "vu", "proto,subproto", "method,status", "name,url"} {
		t.Run(tags, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "samples.json")
			args := []string{"-e", "URL=" + server.URL, "-o", "json=" + out}
			if tags != "" {
				args = append(args, "--system-tags", tags)
			}
			o := run(t, append(args, script(t, source))...)
			if o.code != 0 || o.run == nil {
				t.Fatalf("exit %d", o.code)
			}
			for name, want := range map[string][2]uint64{
				"GET " + server.URL + "/good": {6, 0}, "GET " + server.URL + "/bad": {0, 6}, "GET named": {6, 0},
				"GET " + server.URL + "/setup": {0, 0}, "GET " + server.URL + "/teardown": {0, 0},
			} {
				if ok, failed := o.counts(name); ok != want[0] || failed != want[1] {
					t.Errorf("%s: %d succeeded and %d failed, want %v", name, ok, failed, want)
				}
			}
			if o.failed("server") != 6 || o.run.Total.Dropped == 0 {
				t.Errorf("%+v", o.run.Total.Counts)
			}
			for i := range o.run.Operations {
				if name := o.run.Operations[i].Name; name == "iteration " || name == "iteration default" {
					t.Errorf("an operation %q", name)
				}
			}
			samples := text(t, out)
			for _, tag := range []string{"method", "status", "scenario", "group", "url"} {
				if asked := tags == "" || strings.Contains(tags, tag); strings.Contains(samples, `"`+tag+`":"`) != asked {
					t.Errorf("the tag %s is among the samples: %v", tag, !asked)
				}
			}
		})
	}
}

// If a run sends requests, its iterations are not operations, wherever in the script the first request is.
func TestIterationsOfARunWithRequests(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	for _, c := range []struct {
		name, imports, body string
		done                uint64
	}{
		{"requests come late", `import http from "k6/http";`, `if (__ITER >= 70) http.get("` + server.URL + `/x")`, 30},
		{"calls come late", `import brunt from "k6/x/brunt"; const db = brunt.open("sqlite::memory:late");`,
			`if (__ITER >= 70) db.query("SELECT 1 AS one")`, 30},
		{"no request comes", `import http from "k6/http";`, ``, 100},
		{"none can come", ``, ``, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := run(t, script(t, c.imports+`
				export const options = { iterations: 100 };
				export default function () {`+c.body+`}`))
			if o.code != 0 || o.run == nil || o.run.Total.Done != c.done || o.run.Iterations.Done != 100 {
				t.Errorf("exit %d, %+v", o.code, o.run)
			}
			if ok, _ := o.counts("iteration default"); c.done != 100 && ok != 0 {
				t.Errorf("%d iterations are operations", ok)
			}
		})
	}
}
