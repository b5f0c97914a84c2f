package scripts_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/record"
	"brunt/test/testserver"
)

// segmented sends 40 requests with four names, each of which occurs in only one of two segments. The requests with one
// of the names fail.
const segmented = `
	import http from "k6/http";
	import exec from "k6/execution";
	import { check } from "k6";
	import { Counter } from "k6/metrics";
	const seen = new Counter("seen");
	export const options = {
		scenarios: { s: { executor: "shared-iterations", vus: 4, iterations: 40 } },
		thresholds: { http_reqs: ["count>=40"], http_req_failed: ["rate<0.3"], checks: ["rate>=0.75"], seen: ["count<41"], http_req_duration: ["p(95)<60000"] },
	};
	export default function () {
		const kind = exec.scenario.iterationInTest % 4;
		const r = http.get(__ENV.URL + (kind === 0 ? "/nowhere" : "/-/ready"), { tags: { name: "kind " + kind } });
		check(r, { well: (r) => r.status === 200 });
		seen.add(1);
	}`

func TestSegmentsMerge(t *testing.T) {
	t.Parallel()
	s, path := testserver.Prometheus(t), script(t, segmented)
	segment := func(of, sequence string) (string, outcome) {
		j := begin(t, "-e", "URL=http://"+s.Addr, "--execution-segment", of, "--execution-segment-sequence", sequence, path)
		o := j.wait()
		if o.code != 99 || o.run == nil {
			t.Fatalf("segment %s: exit %d", of, o.code)
		}
		return j.dir, o
	}
	one, first := segment("0:1/4", "0,1/4,1")
	two, second := segment("1/4:1", "0,1/4,1")
	if a, b := len(first.run.Operations), len(second.run.Operations); a != 1 || b != 3 {
		t.Errorf("%d and %d operations", a, b)
	}
	whole := filepath.Join(t.TempDir(), "whole")
	if code, text := merge(t, one, two, "--bundle", whole); code != 0 && code != 98 {
		t.Fatalf("merge: exit %d\n%s", code, text)
	}
	b, err := record.Open(record.OS{}, whole)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := b.Rebuild()
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []*record.Run{b.Run, again} { // the sums and the intervals
		if len(run.Operations) != 4 || run.Total.Done != 40 || run.Total.Failed != 10 {
			t.Errorf("%d operations, %d done, %d failed", len(run.Operations), run.Total.Done, run.Total.Failed)
		}
		for i := range run.Operations {
			if o := &run.Operations[i]; o.Done != 10 || (o.Failed == 10) != strings.HasSuffix(o.Name, "kind 0") {
				t.Errorf("%s: %d done, %d failed", o.Name, o.Done, o.Failed)
			}
		}
	}
	if len(b.Run.Thresholds) != 5 || b.Run.Iterations.Done != 40 {
		t.Errorf("%+v, %+v", b.Run.Thresholds, b.Run.Iterations)
	}
	values := map[string]record.Figure{"http_reqs: count>=40": 40, "http_req_failed: rate<0.3": 0.25,
		"checks: rate>=0.75": 0.75, "seen: count<41": 40}
	for _, r := range b.Run.Thresholds {
		if want, exact := values[r.Text]; !r.Pass || exact && r.Value != want {
			t.Errorf("threshold %+v", r)
		}
	}
	for i := range b.Run.Watched {
		w := &b.Run.Watched[i]
		if w.Source == record.WatchedScript && (w.Metric("seen").Last != 40 || w.Metric("check well").Mean != 0.75 ||
			w.Metric("iterations").Last != 40) {
			t.Errorf("figures %+v", w)
		}
	}
	half, _ := segment("0:1/2", "0,1/2,1")
	if code, text := merge(t, two, half, "--bundle", whole+"-not"); code != 104 ||
		!strings.Contains(text, "give all parts the same --execution-segment-sequence") {
		t.Errorf("other segments: exit %d\n%s", code, text)
	}
}

// merge runs brunt merge.
func merge(t *testing.T, args ...string) (code int, text string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "brunt", append([]string{"merge"}, args...)...)
	out, _ := cmd.CombinedOutput() // the exit code is returned
	return cmd.ProcessState.ExitCode(), string(out)
}
