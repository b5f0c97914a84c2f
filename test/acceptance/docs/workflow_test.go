package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/record/recordtest"
	"brunt/test/testserver"

	"go.yaml.in/yaml/v4"
)

// step is a step of the ready workflow.
type step struct{ Name, Uses, Run string }

// workflowSteps returns the steps of the ready workflow.
func workflowSteps(t *testing.T) []step {
	t.Helper()
	text, err := os.ReadFile("../../../examples/ci/github-actions.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct{ Steps []step }
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	return workflow.Jobs["compare"].Steps
}

// workflowStep runs a step's script as GitHub does, with the build settings of make, so that Go's library is compiled
// once.
func workflowStep(dir, script string) (code int, out string) {
	shell := exec.Command("bash", "-e", "-c", script)
	shell.Dir = dir
	shell.Env = append(os.Environ(), "PATH="+filepath.Join(dir, ".bin")+":"+os.Getenv("PATH"), roleVariable+"=brunt",
		"GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"), "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	said, _ := shell.CombinedOutput()
	return shell.ProcessState.ExitCode(), string(said)
}

// pullRequest creates a repository with a plan and a service that the last commit has made many times slower.
func pullRequest(t *testing.T, dir, address string) (base string) {
	t.Helper()
	service := func(pause string) string {
		return `package main

import (
	"flag"
	"net/http"
	"time"
)

func main() {
	listen := flag.String("listen", "", "address")
	flag.Parse()
	_ = http.ListenAndServe(*listen, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(` + pause + `) }))
}
`
	}
	git := func(args ...string) string {
		cmd := exec.Command("git",
			append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.org/service\n\ngo 1.26\n")
	write("load.yml", `config_name: service
target: {protocol: http, addresses: ["`+address+`"]}
sessions: 8
queries: [{name: page, http: {path: /}}]
load: [{constant: {rate: 50, duration: 1s}}]
`)
	write("cmd/service/main.go", service("5*time.Millisecond"))
	git("init", "--quiet")
	git("add", "go.mod", "load.yml", "cmd")
	git("commit", "--quiet", "-m", "before")
	base = git("rev-parse", "HEAD")
	write("cmd/service/main.go", service("80*time.Millisecond"))
	git("commit", "--quiet", "-am", "after")
	return base
}

// The whole workflow, from building both versions to the comment, runs unchanged on a pull request that makes a service
// slower. It has fewer turns, uses a free port, and a fake gh that only records its arguments. Only steps that need
// GitHub's machines are left out: actions, and installing as root.
func TestWorkflowRuns(t *testing.T) {
	t.Parallel()
	dir := workFolder(t)
	if err := os.WriteFile(filepath.Join(dir, ".bin", "gh"),
		[]byte("#!/bin/sh\necho \"$*\" >> gh.txt\ncat \"$5\" >> gh.txt\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	address := testserver.Address(t)
	base := pullRequest(t, dir, address)
	adapt := strings.NewReplacer("127.0.0.1:8080", address, "${{ github.event.pull_request.base.sha }}", base,
		"${{ github.event.pull_request.number }}", "7",
		"for i in 1 2 3 4 5 6;", "for i in 1 2 3;")
	ran := 0
	for _, s := range workflowSteps(t) {
		if s.Run == "" || strings.HasPrefix(s.Run, "sudo ") {
			continue
		}
		script := adapt.Replace(s.Run)
		if strings.Contains(script, "${{") {
			t.Fatalf("%s: %s isn't known here", s.Name, script)
		}
		want := 0
		if s.Name == "Compare" {
			want = gateOf(t, dir)
		}
		if code, out := workflowStep(dir, script); code != want {
			t.Fatalf("%s: exit %d, want %d\n%s", s.Name, code, want, out)
		}
		ran++
	}
	told, err := os.ReadFile(filepath.Join(dir, "gh.txt"))
	if err != nil || ran != 4 || !strings.Contains(string(told), "pr comment 7 --body-file compare.md") {
		t.Errorf("%d steps ran; %v: %s", ran, err, told)
	}
	if bundles, err := filepath.Glob(filepath.Join(dir, "results", "*", "run.json")); err != nil || len(bundles) != 6 {
		t.Errorf("%v, %v", bundles, err)
	}
}

// gateOf returns the exit code that the comparison must have: that of a regression, or 98 if a run is invalid because
// this machine was too busy to measure.
func gateOf(t *testing.T, dir string) int {
	t.Helper()
	bundles, err := filepath.Glob(filepath.Join(dir, "results", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bundles {
		if recordtest.Result(t, b).Verdict.Result == "invalid" {
			return 98
		}
	}
	return 97
}

// The workflow is valid YAML, and its gate works as documented. It is tested on measured results, without GitHub's
// servers.
func TestWorkflowGate(t *testing.T) {
	t.Parallel()
	script := ""
	for _, s := range workflowSteps(t) {
		if s.Name == "Compare" {
			script = s.Run
		}
	}
	for candidate, want := range map[string]int{"after": 97, "again": 0} {
		dir := workFolder(t)
		results := filepath.Join(dir, "results")
		if err := os.Mkdir(results, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := 1; i <= 6; i++ {
			for from, to := range map[string]string{"before": "before", candidate: "after"} {
				file := fmt.Sprintf("%s-%d.json", from, i)
				data, err := os.ReadFile(filepath.Join("../../../examples/ci/results", file))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(results, fmt.Sprintf("%s-%d", to, i)), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		code, out := workflowStep(dir, script)
		if code != want {
			t.Errorf("%s: exit %d, want %d\n%s", candidate, code, want, out)
		}
		summary, err := os.ReadFile(filepath.Join(dir, "summary.md"))
		if err != nil || !strings.Contains(string(summary), "| response mean |") {
			t.Errorf("%s: %v\n%s", candidate, err, summary)
		}
		report, err := os.ReadFile(filepath.Join(dir, "compare.xml"))
		if err != nil || !strings.Contains(string(report), "<testsuite name=") {
			t.Errorf("%s: %v\n%s", candidate, err, report)
		}
	}
}
