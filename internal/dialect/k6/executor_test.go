//go:build !nok6

package k6x_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
)

// TestLateIterationsWaitAndAreCounted requests more of two VUs than they can do. Nothing is dropped before the end of
// the load, and the waiting time is part of the response time.
func TestLateIterationsWaitAndAreCounted(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", `import { sleep } from 'k6';
		export const options = {scenarios: {a: {executor: 'brunt-open', rate: 100, duration: '1s', preAllocatedVUs: 2, gracefulStop: '20s'}}};
		export default () => { sleep(0.03); };`, "run", "-q", "--summary-export", "summary.json", "SCRIPT")
	o.expect(t, 0)
	run := o.run(t)
	op := operation(run, "iteration a")
	if op.Done != 100 || run.Total.Offered != 100 || run.Total.Dropped != 0 {
		t.Errorf("done %d, offered %d, dropped %d of 100", op.Done, run.Total.Offered, run.Total.Dropped)
	}
	// The last of 100 falls due after 1 s and can't end before 50 × 30 ms.
	if op.Response.MaxNs < 400e6 || op.Service.P50Ns < 30e6 || float64(op.Response.P50Ns) < 2*float64(op.Service.P50Ns) {
		t.Errorf("response %d … %d, service %d", op.Response.P50Ns, op.Response.MaxNs, op.Service.P50Ns)
	}
	if run.LoadModel != "open" || run.Health.BacklogMax < 10 || run.Total.Overdue == 0 || warned(run, "k6-service-time") {
		t.Errorf("load %s, backlog %d, overdue %d", run.LoadModel, run.Health.BacklogMax, run.Total.Overdue)
	}
	if run.Verdict.Result == verdict.Pass {
		t.Errorf("verdict %+v", run.Verdict)
	}
	if n := o.summary(t)["iterations"]["count"]; n != 100.0 {
		t.Errorf("k6 counts %v iterations", n)
	}
}

// Options of another type are named as scripts name them.
func TestOptionsOfAnotherKind(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		"executor: 'brunt-open', rate: 'x'":              `scenario a: the option \"rate\" isn't a number`,
		"executor: 'brunt-open', preAllocatedVUs: 1.5":   `scenario a: the option \"preAllocatedVUs\" isn't a whole number`,
		"executor: 'brunt-open', duration: {}":           `scenario a: the option \"duration\" isn't a time such as \"10s\"`,
		"executor: 'brunt-open', stages: [{target: []}]": `scenario a: the option \"stages\" isn't an array such as`,
		"executor: 'brunt-open', tags: 7":                `scenario a: the option \"tags\" isn't an object of strings`,
		"executor: 'brunt-open', exec: 7":                `scenario a: the option \"exec\" isn't a string`,
		"executor: 'brunt-open', vus: 7":                 `scenario a: unknown option \"vus\"; there are arrivals, duration,`,
		"executor: 'brunt-native', addresses: 'a'":       `scenario a: the option \"addresses\" isn't an array of strings`,
		"executor: 'brunt-native', password: 7":          `scenario a: the option \"password\" isn't a string`,
	} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			o := k6(t, "ours", "export const options = {scenarios: {a: {"+options+"}}}; export default () => {};", "run", "-q",
				"SCRIPT")
			o.expect(t, 104, want)
			if strings.Contains(o.stderr, "json") || strings.Contains(o.stderr, "null.") ||
				strings.Contains(o.stderr, "strconv") {
				t.Errorf("words of Go: %s", o.stderr)
			}
		})
	}
}

func TestVUsThatOutliveTheGracefulStop(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", `import { sleep } from 'k6';
		export const options = {scenarios: {a: {executor: 'brunt-open', rate: 20, duration: '500ms', preAllocatedVUs: 2, gracefulStop: '200ms'}}};
		export default () => { sleep(30); };`, "run", "-q", "SCRIPT")
	o.expect(t, 0)
	run := o.run(t)
	if run.Total.Unfinished != 2 || run.Total.Dropped != 8 || run.Total.Offered != 10 {
		t.Errorf("unfinished %d of 2, unsent %v of 8, offered %d", run.Total.Unfinished, run.Total.Unsent, run.Total.Offered)
	}
}

func TestMoreVUsWhileIterationsWait(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", `import { sleep } from 'k6';
		export const options = {scenarios: {a: {executor: 'brunt-open', stages: [{duration: '1s', target: 100}], arrivals: 'poisson', preAllocatedVUs: 1, maxVUs: 20, gracefulStop: '20s'}}};
		export default () => { sleep(0.1); };`, "run", "-q", "--summary-export", "summary.json", "SCRIPT")
	o.expect(t, 0)
	run := o.run(t)
	if run.Total.Done != run.Total.Offered || run.Total.Done < 20 || run.Total.Done > 100 {
		t.Errorf("done %d, offered %d; 50 are expected", run.Total.Done, run.Total.Offered)
	}
	if run.Health.InFlightMean < 1.1 {
		t.Errorf("%g in flight: no more VUs have come", run.Health.InFlightMean)
	}
}

// TestPartsOfALoad runs the parts of a load and adds up their results.
func TestPartsOfALoad(t *testing.T) {
	t.Parallel()
	const script = `export const options = {scenarios: {a: {executor: 'brunt-open', rate: 70, duration: '1s', preAllocatedVUs: 3}}};
		export default () => {};`
	sum := uint64(0)
	for _, part := range []string{"0:1/3", "1/3:2/3", "2/3:1"} {
		o := k6(t, "ours", script, "run", "-q", "--execution-segment", part, "--execution-segment-sequence", "0,1/3,2/3,1",
			"SCRIPT")
		o.expect(t, 0)
		n := o.run(t).Total.Done
		if n < 23 || n > 24 {
			t.Errorf("part %s has %d of 70", part, n)
		}
		sum += n
	}
	if sum != 70 {
		t.Errorf("the parts have %d of 70", sum)
	}
}

func TestAbortInAnOpenLoad(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", `import exec from 'k6/execution';
		export const options = {scenarios: {a: {executor: 'brunt-open', rate: 10, duration: '30s', preAllocatedVUs: 3}}};
		export default () => { exec.test.abort('enough'); };
		export function teardown() { console.log('torn down'); }`, "run", "-q", "SCRIPT")
	o.expect(t, 108, "enough", "torn down")
	if run := o.run(t); !strings.Contains(run.Aborted.String(), "exit code 108") {
		t.Errorf("aborted: %q", run.Aborted)
	}
}

// nativePlan is a plan for an embedded database.
const nativePlan = `config_name: inside
target: {protocol: sqlite}
tables_schema:
  - name: cars
    row_count: 100
    columns: [{name: id, type: Integer, unique: true, range: [1, 100]}]
    primary_keys: [id]
queries:
  - name: look up
    sql: select id from cars where id = $1
    params: [{type: Integer, range: [1, 100]}]
load:
  - constant: {rate: 200, duration: 1s}
sessions: 4
`

func TestPlansInsideK6(t *testing.T) {
	t.Parallel()
	script := "const plan = `" + nativePlan + "`;\n" + `
		import { sleep } from 'k6';
		export const options = {scenarios: {
			n: {executor: 'brunt-native', plan: plan},
			js: {executor: 'constant-vus', vus: 1, duration: '1s', exec: 'js'},
		}, thresholds: {iterations: ['count>200']}};
		export function setup() { console.log('set up'); }
		export function js() { sleep(0.1); }
		export default () => {};
		export function teardown() { console.log('torn down'); }`
	o := k6(t, "ours", script, "run", "-q", "SCRIPT")
	o.expect(t, 0, "set up", "torn down")
	run := o.run(t)
	if op := operation(run, "look up"); op.Done != 200 || op.Failed != 0 || run.Total.Offered != 200 {
		t.Errorf("%d of 200 done, %d offered: %+v", op.Done, run.Total.Offered, op.Counts)
	}
	if run.LoadModel != "mixed" || len(run.Targets) != 1 || run.Targets[0].Protocol != "sqlite" {
		t.Errorf("load %s, targets %+v", run.LoadModel, run.Targets)
	}
	archive, o := command(t, "ours", script, "archive", "-O", "script.tar", "SCRIPT")
	if text, err := archive.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	tar := filepath.Join(filepath.Dir(o.dir), "script.tar")
	if _, err := os.Stat(tar); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		segment, sequence string
		done              uint64
	}{{"1/2:1", "0,1/2,1", 100}, {"0:0.35", "0,0.35,0.6,1", 70}, {"0.35:0.6", "0,0.35,0.6,1", 50},
		{"0.6:1", "0,0.35,0.6,1", 80}} {
		part := k6(t, "ours", "", "run", "-q", "--no-thresholds", "--execution-segment", c.segment,
			"--execution-segment-sequence", c.sequence, tar)
		part.expect(t, 0)
		if op := operation(part.run(t), "look up"); op.Done != c.done {
			t.Errorf("%s of the load is %d of 200", c.segment, op.Done)
		}
	}
	k6(t, "ours", script, "inspect", "SCRIPT").expect(t, 0)
}

// TestScenariosShowHowFarTheyAre checks that k6's progress bars exist.
func TestScenariosShowHowFarTheyAre(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", "const plan = `"+nativePlan+"`;\n"+`
		export const options = {scenarios: {
			n: {executor: 'brunt-native', plan: plan},
			o: {executor: 'brunt-open', rate: 10, duration: '1s', preAllocatedVUs: 1},
		}};
		export default () => {};`, "run", "SCRIPT")
	o.expect(t, 0)
	for _, want := range []string{"n ✓ [ 100% ] 1s  200 operations", "o ✓ [ 100% ] 1s  0 VUs at work  0 iterations wait"} {
		if !strings.Contains(strings.Join(strings.Fields(o.stdout), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("it doesn't say %q:\n%s", want, o.stdout)
		}
	}
}

func TestAFaultInAPlanInsideK6(t *testing.T) {
	t.Parallel()
	o := k6(
		t, "ours", "export const options = {scenarios: {n: {executor: 'brunt-native', plan: `config_name: x\nload: nothing\n`}}};\nexport default () => {};", "run", "-q", "SCRIPT")
	o.expect(t, 104, "plan:2")
}

// In TestTheFirstCallTakesTheArrival an iteration has two calls. The response time of the first counts from the
// intended start.
func TestTheFirstCallTakesTheArrival(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", `import brunt from 'k6/x/brunt'; import { sleep } from 'k6';
		const db = brunt.open('sqlite::memory:');
		export const options = {scenarios: {a: {executor: 'brunt-open', rate: 60, duration: '1s', preAllocatedVUs: 1, gracefulStop: '20s'}},
			thresholds: {brunt_operations: ['count==120'], brunt_failed: ['rate==0'], brunt_response: ['max>300']}};
		export default () => { db.query('select 1'); sleep(0.03); db.query('select 2'); };`, "run", "-q", "SCRIPT")
	o.expect(t, 0)
	run := o.run(t)
	if run.Total.Done != 120 || run.Total.Offered != 60 || len(run.Operations) != 1 {
		t.Errorf("%d of 120 calls, %d of 60 arrivals, operations %+v", run.Total.Done, run.Total.Offered, run.Operations)
	}
	// Half of the calls waited for the iterations before them.
	if r := run.Operations[0].Response; r.MaxNs < 300e6 || r.P50Ns > 300e6 || run.Total.Late < 50 || run.Total.Late > 60 {
		t.Errorf("response %d … %d, late %d", r.P50Ns, r.MaxNs, run.Total.Late)
	}
}

func TestAnInterruptedPlanIsComplete(t *testing.T) {
	t.Parallel()
	c, o := command(t, "ours", "const plan = `"+strings.Replace(nativePlan, "duration: 1s", "duration: 60s", 1)+"`;\n"+`
		export const options = {scenarios: {n: {executor: 'brunt-native', plan}}};
		export default () => {};`, "run", "-q", "SCRIPT")
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
	if run := o.run(t); !run.Complete || !run.Interrupted || run.Total.Done == 0 {
		t.Errorf("complete %v, interrupted %v, %d done", run.Complete, run.Interrupted, run.Total.Done)
	}
}

// TestAThresholdOnCallsEndsTheRun aborts a run by a threshold on a metric without a k6 sample.
func TestAThresholdOnCallsEndsTheRun(t *testing.T) {
	t.Parallel()
	o := k6(t, "ours", `import brunt from 'k6/x/brunt';
		const db = brunt.open('sqlite::memory:');
		export const options = {scenarios: {a: {executor: 'constant-vus', vus: 1, duration: '60s'}},
			thresholds: {brunt_failed: [{threshold: 'rate<0.5', abortOnFail: true}]}};
		export default () => { try { db.query('select nothing from nowhere'); } catch (e) {} };`, "run", "-q", "SCRIPT")
	o.expect(t, 99, "brunt_failed")
	run := o.run(t)
	if run.Total.Failed == 0 || run.Total.OK != 0 || run.Verdict.Result != verdict.Fail &&
		run.Verdict.Result != verdict.Invalid {
		t.Errorf("%+v, verdict %+v", run.Total.Counts, run.Verdict)
	}
}

func TestAnUnreachableServerOfAPlan(t *testing.T) {
	t.Parallel()
	plan := "config_name: dead\ntarget: {protocol: pg, addresses: [\"127.0.0.1:1\"], user: x}\nqueries: [{name: q, sql: select 1}]\nload: [{constant: {rate: 10, duration: 1s}}]\n"
	o := k6(
		t, "ours", "const plan = `"+plan+"`;\nexport const options = {scenarios: {n: {executor: 'brunt-native', plan}}};\nexport default () => {};", "run", "-q", "SCRIPT")
	o.expect(t, 107, "can't connect to 127.0.0.1:1")
	if strings.Contains(o.stderr, "failed to handle") {
		t.Errorf("the summary fails:\n%s", o.stderr)
	}
	if _, err := os.Stat(o.dir); err == nil {
		if files, _ := os.ReadDir(o.dir); len(files) > 0 {
			t.Errorf("nothing was sent, and %v is left", files)
		}
	}
}
