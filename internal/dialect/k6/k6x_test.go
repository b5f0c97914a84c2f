//go:build !nok6

package k6x_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/testserver"
)

const emptyScript = "export default function () {}\n"

func TestCommandsOfK6(t *testing.T) {
	t.Parallel()
	help := k6(t, "ours", "", "help")
	help.expect(t, 0)
	if !strings.Contains(help.stdout, "\n  k6 [command]") || strings.Contains(help.stdout, "brunt") {
		t.Errorf("k6 calls itself something else:\n%s", help.stdout)
	}
	version := k6(t, "ours", "", "version")
	if version.expect(t, 0); !strings.HasPrefix(version.stdout, "k6 v2.2.0 (go1.") || !strings.Contains(version.stdout,
		"\n  k6/x/tarantool [js]\n") || strings.Contains(version.stdout, "internal") {
		t.Errorf("version: %s", version.stdout)
	}
	theirs := k6(t, "real", "", "run", "--help")
	ours := k6(t, "ours", "", "run", "--help")
	names := regexp.MustCompile(`(?m)^\s+(?:-\w, )?--([-\w]+)`)
	if !slices.Equal(names.FindAllString(theirs.stdout, -1), names.FindAllString(ours.stdout, -1)) ||
		len(names.FindAllString(ours.stdout, -1)) < 30 {
		t.Errorf("flags differ:\n%s\n%s", theirs.stdout, ours.stdout)
	}
	inspect := k6(t, "ours", emptyScript, "inspect", "--execution-requirements", "SCRIPT")
	if inspect.expect(t, 0); !strings.HasPrefix(inspect.stdout, "{") || inspect.stderr != "" {
		t.Errorf("inspect must be JSON and nothing else: %q %q", inspect.stdout, inspect.stderr)
	}
	if _, err := os.Stat(inspect.dir); err == nil {
		t.Error("inspect has left a bundle")
	}
	k6(t, "ours", "", "x", "httpbin").expect(t, 255)
	k6(t, "ours", "", "run", "--no-such-flag").expect(t, 255, "unknown flag: --no-such-flag")
	k6(t, "ours", "", "cars.yml").expect(t, 255,
		`unknown command \"cars.yml\" for \"k6\"; run a plan by brunt run cars.yml`)
	k6(t, "ours", "", "script.js").expect(t, 255,
		`unknown command \"script.js\" for \"k6\"; run a script by k6 run script.js`)
	k6(t, "ours", "", "rnu", "script.js").expect(t, 255, "Did you mean this?")
}

// TestExitCodes compares exit codes and records with k6's own.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		code   int
		text   string // must be in stderr
		record bool
		result string
	}{
		"fine": {"export const options = {iterations: 3}; export default () => {};", 0, "", true, ""},
		"threshold": {
			"export const options = {iterations: 3, thresholds: {iterations: ['count>10']}}; export default () => {};", 99,
			"thresholds on metrics 'iterations' have been crossed", true, ""},
		"doesn't parse":  {"export default function () {", 107, "Unexpected end of input", false, ""},
		"throws in init": {"throw new Error('no init'); export default () => {};", 107, "no init", false, ""},
		"throws in setup": {"export function setup() { throw new Error('no setup'); } export default () => {};", 107,
			"no setup", false, ""},
		"throws": {
			"export const options = {iterations: 3}; export default () => { throw new Error('no iteration'); };", 0,
			"no iteration", true, verdict.Fail},
		"bad options": {"export const options = {scenarios: {a: {executor: 'no-such'}}}; export default () => {};", 104,
			"no-such", false, ""},
		"bad threshold": {"export const options = {thresholds: {iterations: ['p(95)<1']}}; export default () => {};", 104,
			"unsupported aggregation method", false, ""},
		"aborts": {"import exec from 'k6/execution'; export default () => { exec.test.abort('enough'); };", 108,
			"enough", true, ""},
		"fails": {"import exec from 'k6/execution'; export default () => { exec.test.fail('bad'); };", 110, "bad",
			true, ""},
		"open without rate": {
			"export const options = {scenarios: {a: {executor: 'brunt-open', preAllocatedVUs: 1}}}; export default () => {};",
			104, "the rate must be given", false, ""},
		"no plan": {
			"export const options = {scenarios: {a: {executor: 'brunt-native', plan: 'missing.yml'}}}; export default () => {};",
			104, "missing.yml", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours := k6(t, "ours", c.script, "run", "-q", "SCRIPT")
			ours.expect(t, c.code, c.text)
			if !strings.Contains(c.script, "brunt-") {
				if theirs := k6(t, "real", c.script, "run", "-q", "SCRIPT"); theirs.code != ours.code {
					t.Errorf("exit code %d, k6's is %d", ours.code, theirs.code)
				}
			}
			_, err := os.Stat(filepath.Join(ours.dir, record.RunFile))
			if kept := err == nil; kept != c.record {
				t.Errorf("a record is kept: %v, want %v\n%s", kept, c.record, ours.stderr)
			}
			if c.result != "" && ours.run(t).Verdict.Result != c.result {
				t.Errorf("verdict %+v, want %s", ours.run(t).Verdict, c.result)
			}
		})
	}
}

func TestAnUnknownModuleIsNotDownloaded(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", "import redis from 'k6/x/redis'; export default () => {};", "run", "SCRIPT")
	o.expect(t, 107, `unknown modules [\"k6/x/redis\"]`, "this binary has", "downloads nothing")
}

// counter starts a server that counts requests and fails every tenth.
func counter(t *testing.T) (url string, requests *atomic.Int64) {
	requests = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%10 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, "hello")
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// TestResultsAreK6s runs the same scripts under brunt and k6 and compares k6's results.
func TestResultsAreK6s(t *testing.T) {
	t.Parallel()
	url, _ := counter(t)
	for name, script := range map[string]string{
		"http": `import http from 'k6/http'; import { check, group } from 'k6';
			export const options = {vus: 3, iterations: 100, thresholds: {http_req_failed: ['rate<0.5'], 'http_req_duration{expected_response:true}': ['p(95)<5000']}};
			export default () => { group('g', () => { const r = http.get('` + url + `/x', {tags: {name: 'x'}}); check(r, {'is 200': (r) => r.status === 200}); }); };`,
		"metrics": `import { Trend, Counter, Gauge, Rate } from 'k6/metrics';
			const t = new Trend('waiting', true), c = new Counter('things'), g = new Gauge('level'), r = new Rate('good');
			export const options = {scenarios: {a: {executor: 'per-vu-iterations', vus: 2, iterations: 50}}, thresholds: {waiting: ['p(90)<60', 'avg<30', 'med<30'], things: ['count==5050'], good: ['rate>0.4']}};
			export default () => { t.add(__ITER); c.add(__ITER + 26); g.add(__ITER); r.add(__ITER % 2); };`,
		"stages": `import { sleep } from 'k6';
			export const options = {scenarios: {a: {executor: 'ramping-vus', startVUs: 1, stages: [{duration: '500ms', target: 3}, {duration: '1s', target: 0}], gracefulRampDown: '0s'}}};
			export function setup() { return {n: 7}; }
			export default (d) => { if (d.n !== 7) { throw new Error('no data'); } sleep(0.05); };
			export function teardown(d) { if (d.n !== 7) { throw new Error('no data'); } }`,
		"summary": `export const options = {iterations: 5}; export default () => {};
			export function handleSummary(data) { return {stdout: 'iterations: ' + data.metrics.iterations.values.count + '\n'}; }`,
		"modules": `import crypto from 'k6/crypto'; import encoding from 'k6/encoding'; import { SharedArray } from 'k6/data'; import exec from 'k6/execution';
			const a = new SharedArray('a', () => [1, 2, 3]);
			export const options = {iterations: 5};
			export default () => { if (crypto.md5('a', 'hex') !== '0cc175b9c0f1b6a831c399e269772661' || encoding.b64encode('a') !== 'YQ==' || a.length !== 3) { exec.test.abort(); } };`,
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"run", "-q", "--summary-export", "summary.json", "SCRIPT"}
			ours, theirs := k6(t, "ours", script, slices.Clone(args)...), k6(t, "real", script, slices.Clone(args)...)
			if ours.code != theirs.code {
				t.Errorf("exit code %d, k6's is %d\n%s", ours.code, theirs.code, ours.stderr)
			}
			if name == "summary" {
				if ours.stdout != "iterations: 5\n" {
					t.Errorf("stdout %q", ours.stdout)
				}
				return
			}
			if got, want := shape(ours.stdout), shape(theirs.stdout); got != want {
				t.Errorf("the summary differs:\n%s\nk6's:\n%s", got, want)
			}
			compare(t, ours.summary(t), theirs.summary(t))
		})
	}
}

var figures = regexp.MustCompile(`[0-9.]+(ns|µs|ms|s|B|kB|MB|m|h)?|[ .]+`)

// shape returns a summary without its figures and their alignment. The number of VUs is shown only if the run took more
// than a second.
func shape(text string) string {
	text = regexp.MustCompile(`[kMG]B`).ReplaceAllString(text, "B")
	text = regexp.MustCompile(`(?m)^ *vus(_max)?\..*\n`).ReplaceAllString(text, "")
	return regexp.MustCompile(`#+`).ReplaceAllString(figures.ReplaceAllString(text, "#"), "#")
}

// compare checks that both have the same metrics with the same counts. Times differ between runs.
func compare(t *testing.T, got, want map[string]map[string]any) {
	t.Helper()
	for _, m := range []map[string]map[string]any{got, want} {
		delete(m, "vus")
		delete(m, "vus_max")
	}
	if !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		t.Errorf("metrics %v, k6's are %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	for name, values := range want {
		if !slices.Equal(slices.Sorted(maps.Keys(got[name])), slices.Sorted(maps.Keys(values))) {
			t.Errorf("%s has %v, k6's %v", name, got[name], values)
		}
		if name == "waiting" || name == "things" || name == "level" || name == "good" {
			for stat, v := range values {
				if stat != "rate" && fmt.Sprint(got[name][stat]) != fmt.Sprint(v) {
					t.Errorf("%s %s is %v, k6's %v", name, stat, got[name][stat], v)
				}
			}
		}
		for _, stat := range []string{"passes", "fails"} {
			if got[name][stat] != values[stat] {
				t.Errorf("%s %s is %v, k6's %v", name, stat, got[name][stat], values[stat])
			}
		}
	}
}

// In TestManyValuesAreJudgedFromQuantiles a Trend has more values than brunt stores exactly, and k6's thresholds use
// it.
func TestManyValuesAreJudgedFromQuantiles(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", `import { Trend } from 'k6/metrics';
		const t = new Trend('waiting', true);
		export const options = {vus: 2, iterations: 400, thresholds: {
			waiting: ['p(95)<95.5', 'p(95)>94.5', 'p(99.9)>99.5', 'avg>49.9', 'avg<50.1', 'max<100.01', 'min<0.01', 'med<50.5', 'med>49.5'],
			'waiting{kind:odd}': ['p(50)>49', 'p(50)<51', 'avg>49.9', 'avg<50.1'],
		}};
		export default () => { for (let i = 0; i <= 100; i++) { t.add(i, {kind: i % 2 ? 'odd' : 'even'}); } };`,
		"run", "-q", "--summary-export", "summary.json", "SCRIPT")
	o.expect(t, 0)
	m := o.summary(t)
	if v := m["waiting"]; v["avg"] != 50.0 || v["min"] != 0.0 || v["max"] != 100.0 ||
		math.Abs(v["p(90)"].(float64)-90) > 0.2 {
		t.Errorf("waiting: %v", v)
	}
	for _, rule := range o.run(t).Thresholds {
		if !rule.Pass || rule.Value == 0 && !strings.Contains(rule.Text, "min") {
			t.Errorf("%+v", rule)
		}
	}
}

func TestRequestsAreRecorded(t *testing.T) {
	t.Parallel()
	url, requests := counter(t)
	o := k6(t, "ours", `import http from 'k6/http';
		export const options = {vus: 2, iterations: 200};
		export function setup() { http.get('`+url+`/setup'); }
		export default () => { http.get('`+url+`/a'); };`, "run", "-q", "SCRIPT")
	o.expect(t, 0)
	run := o.run(t)
	op := operation(run, "GET "+url+"/a")
	if op.Done != 200 || requests.Load() != 201 || len(run.Operations) != 1 {
		t.Errorf("%d of 200 requests in %d operations; the server saw %d", op.Done, len(run.Operations), requests.Load())
	}
	if op.Failed != 20 || op.Errors[protocol.Server] != 20 || op.Status[5] != 20 {
		t.Errorf("failures: %+v", op.Counts)
	}
	if len(run.Targets) != 1 || "http://"+run.Targets[0].Address != url || run.Targets[0].Counts.Done != 200 {
		t.Errorf("targets: %+v", run.Targets)
	}
	if run.LoadModel != "closed" || !warned(run, "k6-service-time") || run.Extra["tool"] != "k6" {
		t.Errorf("the load is %s, warnings %+v", run.LoadModel, run.Warnings)
	}
	if run.Verdict.Result == verdict.Pass {
		t.Errorf("a tenth failed, and the verdict is %+v", run.Verdict)
	}
	if data, err := os.ReadFile(filepath.Join(o.dir, record.ErrorsFile)); err != nil ||
		!bytes.Contains(data, []byte(`"operation":"GET http`)) {
		t.Errorf("no sample of a failure: %s %v", data, err)
	}
}

func TestDroppedIterationsSaturate(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", `import { sleep } from 'k6';
		export const options = {scenarios: {a: {executor: 'constant-arrival-rate', rate: 100, duration: '2s', preAllocatedVUs: 1}}};
		export default () => { sleep(0.1); };`, "run", "-q", "SCRIPT")
	o.expect(t, 0)
	run := o.run(t)
	if run.Total.Dropped < 100 || !warned(run, verdict.WarnSaturated) || !warned(run, "k6-service-time") {
		t.Errorf("dropped %d, warnings %+v", run.Total.Dropped, run.Warnings)
	}
	if run.Verdict.Result == verdict.Pass {
		t.Errorf("verdict %+v", run.Verdict)
	}
}

func TestAKilledRunIsRecordedUpToItsLastInterval(t *testing.T) {
	t.Parallel()
	c, o := command(t, "ours",
		`import { sleep } from 'k6'; export const options = {vus: 2, duration: '1m'}; export default () => { sleep(0.01); };`,
		"run", "-q", "SCRIPT")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill() }()
	waitFor(t, func() bool {
		data, _ := os.ReadFile(filepath.Join(o.dir, record.IntervalsFile))
		return bytes.Count(data, []byte("\n")) >= 2
	})
	if err := c.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	run := o.run(t)
	if run.Complete || operation(run, "iteration default").Done == 0 {
		t.Errorf("complete %v, %+v", run.Complete, run.Operations)
	}
}

func waitFor(t *testing.T, there func() bool) {
	t.Helper()
	for end := time.Now().Add(longest); !there(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

func TestAnInterruptedRunIsComplete(t *testing.T) {
	t.Parallel()
	c, o := command(t, "ours",
		`import { sleep } from 'k6'; export const options = {vus: 2, duration: '1m'}; export default () => { sleep(0.01); };`,
		"run", "-q", "SCRIPT")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		data, _ := os.ReadFile(filepath.Join(o.dir, record.IntervalsFile))
		return len(data) > 0
	})
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	o.finish(t, &stdout, &stderr, c.Wait()).expect(t, 105)
	if run := o.run(t); !run.Complete || !run.Interrupted {
		t.Errorf("complete %v, interrupted %v", run.Complete, run.Interrupted)
	}
}

func TestTwoRunsInOneFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	start := func() (wait func() error) {
		c, _ := command(t, "ours", "export const options = {iterations: 20}; export default () => {};", "run", "-q", "SCRIPT")
		c.Env = append(c.Env, "BRUNT_BUNDLE=", "BRUNT_RESULTS="+root)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c.Wait
	}
	for _, wait := range []func() error{start(), start()} {
		if err := wait(); err != nil {
			t.Error(err)
		}
	}
	bundles, err := filepath.Glob(filepath.Join(root, "*", record.RunFile))
	if err != nil || len(bundles) != 2 {
		t.Errorf("bundles %v %v", bundles, err)
	}
}

func TestOutputsOfTheUserGetEverySample(t *testing.T) {
	t.Parallel()
	const script = `import { Trend } from 'k6/metrics'; const t = new Trend('waiting');
		export const options = {iterations: 200}; export default () => { for (let i = 0; i < 100; i++) { t.add(i); } };`
	o := k6(t, "ours", script, "run", "-q", "-o", "json=samples.json", "SCRIPT")
	o.expect(t, 0)
	data, err := os.ReadFile(filepath.Join(filepath.Dir(o.dir), "samples.json"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte(`"metric":"waiting","type":"Point"`)); n != 20_000 {
		t.Errorf("%d of 20000 samples", n)
	}
	if bytes.Contains(data, []byte("_brunt")) {
		t.Error("samples of ours are among them")
	}
	c, o := command(t, "ours", script, "run", "-q", "SCRIPT")
	c.Env = append(c.Env, "K6_OUT=json=samples.json")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(o.dir), "samples.json")); err != nil {
		t.Errorf("K6_OUT is lost: %v", err)
	}
	o.run(t)
}

func TestNoRecord(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", "export const options = {iterations: 1}; export default () => {};", "run", "-q", "-o", "brunt=none",
		"SCRIPT")
	o.expect(t, 0)
	if _, err := os.Stat(o.dir); err == nil {
		t.Error("there is a bundle")
	}
}

func TestASingleEqualInAThreshold(t *testing.T) {
	t.Parallel()
	o := k6(
		t, "ours", "export const options = {iterations: 1, thresholds: {checks: ['rate = 1']}};\nimport { check } from 'k6'; export default () => { check(1, {one: (x) => x === 1}); };", "run", "-q", "SCRIPT")
	o.expect(t, 0, "it is read as")
}

func TestIntervalsAreExported(t *testing.T) {
	t.Parallel()
	points := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		points <- b.String()
		w.WriteHeader(http.StatusNoContent)
	}))
	defer s.Close()
	const script = `import { sleep } from 'k6'; export const options = {vus: 1, duration: '1500ms'}; export default () => { sleep(0.01); };`
	o := k6(t, "ours", script, "run", "-q", "-o", "brunt=export=influx="+s.URL+"/write?db=k6", "SCRIPT")
	o.expect(t, 0)
	close(points)
	var all strings.Builder
	for p := range points {
		all.WriteString(p)
	}
	if !strings.Contains(all.String(), "default") || warned(o.run(t), "export-lost") {
		t.Errorf("exported %q", all.String())
	}
	k6(t, "ours", script, "run", "-q", "-o", "brunt=exports=x", "SCRIPT").expect(t, 255, `no setting \"exports\"`)
}

// TestK6sOwnExamples runs the short examples of k6's sources that need nothing external, under both.
func TestK6sOwnExamples(t *testing.T) {
	testserver.SkipQuick(t)
	t.Parallel()
	where, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.k6.io/k6/v2").Output()
	if err != nil {
		t.Fatalf("find k6's sources: %v", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(where)), "examples")
	for _, name := range []string{
		"base64.js", "crypto.js", "jwt.js", "logging.js", "enhanced/script.ts", "enhanced/abort.ts", "enhanced/user.ts",
		"experimental/csv-parse.js", "experimental/csv-parser.js", "experimental/fs/fs.js", "experimental/streams.js",
		"source_map/issue_1804/main.js", "source_map/typescript_template/test1.ts",
		"webcrypto/digest.js", "webcrypto/getRandomValues.js", "webcrypto/randomUUID.js",
		"webcrypto/sign_verify/sign-verify-ecdsa.js",
	} {
		script := filepath.Join(dir, filepath.FromSlash(name))
		ours, theirs := k6(t, "ours", "", "run", "-q", script), k6(t, "real", "", "run", "-q", script)
		if ours.code != theirs.code || said(ours.stderr) != said(theirs.stderr) {
			t.Errorf("%s: exit code %d, k6's %d; it says\n%s\nk6\n%s", name, ours.code, theirs.code, said(ours.stderr),
				said(theirs.stderr))
		}
		if got, want := shape(ours.stdout), shape(theirs.stdout); got != want {
			t.Errorf("%s: the summary differs:\n%s\nk6's:\n%s", name, got, want)
		}
	}
}

// said returns what a script has logged, without times and random values.
func said(stderr string) string {
	return regexp.MustCompile(`time="[^"]*"|[0-9a-f-]{36}|[0-9][0-9,.]*`).ReplaceAllString(stderr, "#")
}

func TestChecksAndTheScriptsMetricsAreRecorded(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", `import { check } from 'k6'; import { Trend, Counter } from 'k6/metrics';
		const waiting = new Trend('waiting', true), things = new Counter('things');
		export const options = {iterations: 4};
		export default () => { check(__ITER, {even: (i) => i % 2 === 0}); waiting.add(10 * __ITER); things.add(2); };`, "run", "-q", "SCRIPT")
	o.expect(t, 0)
	run := o.run(t)
	got := map[string]record.WatchedMetric{}
	for _, w := range run.Watched {
		for _, m := range w.Metrics {
			got[w.Source+" "+m.Name] = m
		}
	}
	if got["k6 check even"].Mean != 0.5 || got["k6 things"].Last != 8 || got["k6 waiting"].Max != 0.03 ||
		got["k6 waiting"].Mean != 0.015 || got["k6 iterations"].Last != 4 {
		t.Errorf("%+v", run.Watched)
	}
}

func TestChecksAndTheScriptsMetricsAreSampledEachInterval(t *testing.T) {
	o := k6(t, "ours", `import { check, sleep } from 'k6'; import { Trend, Counter } from 'k6/metrics';
		const waiting = new Trend('waiting', true), things = new Counter('things');
		export const options = {duration: '3500ms'};
		const began = Date.now();
		export default () => { const early = Date.now() - began < 1500; check(early, {early: (x) => x}); waiting.add(early ? 10 : 30); things.add(2); sleep(0.05); };`, "run", "-q", "SCRIPT")
	o.expect(t, 0)
	r, err := record.Open(record.OS{}, o.dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []record.WatchedSample
	err = r.WatchedSamples(func(source string) bool { return source == "k6" },
		func(_ string, s *record.WatchedSample) error {
			all = append(all, *s)
			return nil
		})
	if err != nil || len(all) < 2 {
		t.Fatalf("%d samples, %v", len(all), err)
	}
	first, last := all[0].Values, all[len(all)-1].Values
	if first["check early"] <= last["check early"] || first["waiting"] >= last["waiting"] ||
		first["things"] >= last["things"] || last["waiting"] > 0.031 {
		t.Errorf("the first sample is %v, the last %v", first, last)
	}
	run := o.run(t)
	for _, w := range run.Watched {
		if w.Source != "k6" {
			continue
		}
		early := w.Metric("check early")
		if w.File == "" || w.Samples < 2 || early.First <= early.Last || early.Min > early.Mean || early.Max < early.Mean {
			t.Errorf("%+v", w)
		}
	}
}

// k6's own messages about a request have its URL, whose secrets are hidden. What a script prints is the script's.
func TestSecretsInMessagesOfK6(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", `import http from 'k6/http';
		export default () => {
			const url = 'http://127.0.0.1:1/path?token=Hidden5&page=2';
			http.get(url); http.batch([url]); console.warn('mine: ' + url);
			http.get(url, { responseCallback: null, timeout: 'Wrong?token=Hidden5' });
		};`, "run", "-q", "SCRIPT")
	if !strings.Contains(o.stderr, "mine: http://127.0.0.1:1/path?token=Hidden5") {
		t.Errorf("the script's own message has changed:\n%s", o.stderr)
	}
	if !strings.Contains(o.stderr, "/path?token=***&page=2") {
		t.Errorf("the warning of a failed request is missing:\n%s", o.stderr)
	}
	for line := range strings.Lines(o.stderr) {
		if strings.Contains(line, "Hidden5") && !strings.Contains(line, "source=console") {
			t.Errorf("a secret is printed: %s", line)
		}
	}
}

// Rates count from the beginning of the load, as k6's do, and not from the first request. setup isn't part of it.
func TestTheLoadBeginsBeforeTheFirstRequest(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	const iterations, slept = 3, 300 * time.Millisecond
	for _, setup := range []string{"", "export function setup() { sleep(0.7); }"} {
		o := k6(t, "ours", `import http from 'k6/http'; import { sleep } from 'k6'; `+setup+`
			export const options = { vus: 1, iterations: 3 };
			export default () => { sleep(0.3); http.get('`+server.URL+`'); };`, "run", "-q", "SCRIPT")
		o.expect(t, 0)
		run := o.run(t)
		if got := time.Duration(run.DurationNs); got < iterations*slept {
			t.Errorf("with %q the load took %s, want at least %s", setup, got, iterations*slept)
		}
		if most := run.Ended.Sub(run.Started); setup != "" && time.Duration(run.DurationNs) > most-700*time.Millisecond {
			t.Errorf("the load took %s of %s, with setup", time.Duration(run.DurationNs), most)
		}
	}
}
