//go:build !nok6

package k6x_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/verdict"
)

// TestLateIterationsWaitAndAreCounted asks more of two VUs than they can do, as k6's own executors would
// be asked: nothing is dropped while there is time, and the wait is part of the response.
func TestLateIterationsWaitAndAreCounted(t *testing.T) {
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

func TestVUsThatOutliveTheGracefulStop(t *testing.T) {
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

// TestPartsOfALoad runs the parts of a load and adds them up.
func TestPartsOfALoad(t *testing.T) {
	const script = `export const options = {scenarios: {a: {executor: 'brunt-open', rate: 70, duration: '1s', preAllocatedVUs: 3}}};
		export default () => {};`
	sum := uint64(0)
	for _, part := range []string{"0:1/3", "1/3:2/3", "2/3:1"} {
		o := k6(t, "ours", script, "run", "-q", "--execution-segment", part, "--execution-segment-sequence", "0,1/3,2/3,1", "SCRIPT")
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
	o := k6(t, "ours", `import exec from 'k6/execution';
		export const options = {scenarios: {a: {executor: 'brunt-open', rate: 10, duration: '30s', preAllocatedVUs: 3}}};
		export default () => { exec.test.abort('enough'); };
		export function teardown() { console.log('torn down'); }`, "run", "-q", "SCRIPT")
	o.expect(t, 108, "enough", "torn down")
	if run := o.run(t); !strings.Contains(run.Aborted, "exit code 108") {
		t.Errorf("aborted: %q", run.Aborted)
	}
}

// nativePlan is a plan for the database inside brunt.
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
	segment := k6(t, "ours", script, "run", "-q", "--no-thresholds", "--execution-segment", "1/2:1", tar)
	segment.expect(t, 0)
	if op := operation(segment.run(t), "look up"); op.Done != 100 {
		t.Errorf("half of the load is %d of 200", op.Done)
	}
	k6(t, "ours", script, "inspect", "SCRIPT").expect(t, 0)
}

func TestAFaultInAPlanInsideK6(t *testing.T) {
	o := k6(t, "ours", "export const options = {scenarios: {n: {executor: 'brunt-native', plan: `config_name: x\nload: nothing\n`}}};\nexport default () => {};", "run", "-q", "SCRIPT")
	o.expect(t, 104, "plan:2")
}
