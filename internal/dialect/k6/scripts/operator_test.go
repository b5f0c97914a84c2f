package scripts_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// operatorScript sends 40 requests by two VUs.
const operatorScript = `import http from 'k6/http';
export const options = {scenarios: {s: {executor: 'shared-iterations', vus: 2, iterations: 40}}};
export default function () { http.get(__ENV.TARGET); }
`

// The binary works as k6 for k6-operator 1.6.0, with the flags that the operator passes: first a shell line that
// archives and inspects the script, and whose output the operator parses; then a paused runner for each instance, which
// begins after the starter's curl.
func TestAsTheRunnerOfK6Operator(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	var asked atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer target.Close()
	dir := t.TempDir()
	script, archive := filepath.Join(dir, "test.js"), filepath.Join(dir, "test.js.archived.tar")
	shell.Put(t, script, operatorScript)
	t.Run("initializer", func(t *testing.T) {
		logs := filepath.Join(dir, "k6logs")
		line := fmt.Sprintf("mkdir -p \"$(dirname %s)\" && command -v k6 > /dev/null && k6 archive %s -O %s -e TARGET=%s 2> %s && "+
			"k6 inspect --execution-requirements %s 2> %s ; ! cat %s | grep 'level.*error'",
			archive, script, archive, target.URL, logs, archive, logs, logs)
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = t.TempDir()
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out, errs.String())
		}
		var said struct {
			MaxVUs        int    `json:"maxVUs"`
			TotalDuration string `json:"totalDuration"`
		}
		if err := json.Unmarshal(out, &said); err != nil || said.MaxVUs != 2 || said.TotalDuration == "" {
			t.Errorf("no pure JSON with the requirements: %v\n%s", err, out)
		}
		if left, _ := os.ReadDir(cmd.Dir); len(left) > 0 {
			t.Errorf("a bundle of no run is left: %v", left)
		}
	})
	t.Run("initializer of a bad script", func(t *testing.T) {
		bad := filepath.Join(dir, "bad.js")
		shell.Put(t, bad, "export default function ( {")
		logs := filepath.Join(t.TempDir(), "k6logs")
		out, err := exec.Command("sh", "-c", fmt.Sprintf("k6 archive %s -O %s.tar 2> %s && k6 inspect %s.tar 2> %s ; "+
			"! cat %s | grep 'level.*error'", bad, bad, logs, bad, logs, logs)).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "level=error") {
			t.Errorf("the initializer doesn't fail: %v\n%s", err, out)
		}
	})
	t.Run("runners", func(t *testing.T) { operatorRunners(t, script, target.URL) })
	if n := asked.Load(); n != 40 {
		t.Errorf("the target was asked %d times, want 40", n)
	}
}

// operatorRunners runs both halves of a script as the operator's Jobs do, and merges their bundles.
func operatorRunners(t *testing.T, script, target string) {
	const sequence = "0,1/2,1"
	var addresses, bundles []string
	var runners []*exec.Cmd
	var outputs []string
	for i, segment := range []string{"0:1/2", "1/2:1"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, l.Addr().String())
		_ = l.Close() // its port is likely to stay free
		bundles = append(bundles, filepath.Join(t.TempDir(), "bundle"))
		cmd, output := shell.Start(t, []string{"BRUNT_BUNDLE=" + bundles[i]}, "k6", "run", "--quiet",
			"--execution-segment="+segment, "--execution-segment-sequence="+sequence,
			"-e", "TARGET="+target, script, "--address="+addresses[i], "--paused",
			"--tag", fmt.Sprintf("instance_id=%d", i+1), "--tag", "testrun_name=load")
		runners, outputs = append(runners, cmd), append(outputs, output)
	}
	for _, a := range addresses {
		shell.Until(t, "the runner answers its probes and is paused", func() bool { return operatorStatus(a) == "paused" })
	}
	var chain []string
	for _, a := range addresses {
		chain = append(chain, fmt.Sprintf(`curl --retry 3 -X PATCH -H 'Content-Type: application/json' http://%s/v1/status `+
			`-d '{"data":{"attributes":{"paused":false},"id":"default","type":"status"}}' -s -w '{"http_code":%%{http_code}}'`, a))
	}
	out, err := exec.Command("sh", "-c", strings.Join(chain, ";")).CombinedOutput()
	if err != nil || strings.Count(string(out), `{"http_code":200}`) != 2 {
		t.Errorf("the starter: %v\n%s", err, out)
	}
	for i, cmd := range runners {
		if err := cmd.Wait(); err != nil {
			text, _ := os.ReadFile(outputs[i])
			t.Errorf("runner %d: %v\n%s", i+1, err, text)
		}
	}
	whole := filepath.Join(t.TempDir(), "whole")
	merge := exec.Command("brunt", "merge", bundles[0], bundles[1], "--bundle", whole)
	if out, err := merge.CombinedOutput(); err != nil {
		t.Logf("brunt merge: %v\n%s", err, out)
	}
	if b := recordtest.Open(t, whole); b.Run.Total.Done != 40 {
		t.Errorf("the merged run has %d operations, want 40", b.Run.Total.Done)
	}
}

// operatorStatus returns the status that a runner reports by its REST API, or "" if it doesn't answer.
func operatorStatus(address string) string {
	response, err := http.Get("http://" + address + "/v1/status")
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	var said struct {
		Data struct {
			Attributes struct {
				Paused bool `json:"paused"`
			} `json:"attributes"`
		} `json:"data"`
	}
	if err != nil || json.Unmarshal(text, &said) != nil {
		return ""
	}
	if said.Data.Attributes.Paused {
		return "paused"
	}
	return "running"
}
