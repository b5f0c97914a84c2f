// Package kubernetes_test runs brunt on a Kubernetes cluster with a real control plane, whose pods are processes of
// this machine. `make test-kubernetes` builds the control plane first.
package kubernetes_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/test/testserver"
)

// owner stops the servers that the tests share.
var owner = testserver.NewStandalone(os.Stderr)

func TestMain(m *testing.M) {
	code := m.Run()
	owner.Close()
	os.Exit(code)
}

// The images that are available on the nodes.
const (
	bruntImage    = "localhost/brunt:test" // built as by tools/release
	shellImage    = "localhost/shell:test" // the programs of this machine
	operatorImage = "ghcr.io/grafana/k6-operator:test"
	starterImage  = "ghcr.io/grafana/k6-operator:latest-starter" // has sh and curl
)

// stage contains what the tests share: a cluster, and a binary of brunt.
type stage struct {
	*testserver.KubernetesCluster
	nodes *testserver.KubernetesNodes
	brunt string
}

var shared = sync.OnceValues(func() (*stage, error) {
	dir, err := os.MkdirTemp("", "brunt-test-")
	if err != nil {
		return nil, err
	}
	owner.Cleanup(func() { os.RemoveAll(dir) })
	s := &stage{brunt: filepath.Join(dir, "brunt")}
	build := exec.Command("go", "build", "-o", s.brunt, "brunt/cmd/brunt")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build brunt: %w: %s", err, out)
	}
	s.KubernetesCluster = testserver.Kubernetes(owner)
	operator, definitions := testserver.K6Operator(owner)
	s.nodes = s.AddNodes(map[string]testserver.KubernetesImage{
		bruntImage: {Files: map[string]string{"/brunt": s.brunt, "/usr/bin/k6": s.brunt}, Entrypoint: []string{"/brunt"},
			WorkingDir: "/data", User: 65532},
		shellImage:    {Host: true},
		operatorImage: {Files: map[string]string{"/manager": operator}, Entrypoint: []string{"/manager"}, User: 65532},
		starterImage:  {Host: true, User: 65532},
	}, nodesOf(4, "4")...)
	for _, d := range definitions {
		if err := s.Create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", d); err != nil {
			return nil, err
		}
	}
	return s, nil
})

func nodesOf(n int, cpu string) (all []testserver.KubernetesNode) {
	for i := range n {
		all = append(all, testserver.KubernetesNode{Name: fmt.Sprintf("node-%d", i+1), CPU: cpu, Memory: "8Gi"})
	}
	return all
}

// onStage returns the shared stage, and creates a namespace for one test.
func onStage(t *testing.T, namespace, labels string) *stage {
	t.Helper()
	testserver.SkipQuick(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	s.Namespace(t, namespace, labels)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, p := range s.pods(t, namespace) {
			t.Logf("%s, index %s, on %q: %s\n%s", p.Metadata.Name, p.index(), p.Spec.NodeName, p.Status.Phase,
				s.nodes.Log(namespace, p.Metadata.Name))
		}
	})
	return s
}

// pods returns the pods of a namespace.
func (s *stage) pods(t *testing.T, namespace string) (all []pod) {
	t.Helper()
	var list struct{ Items []pod }
	if err := s.Get("/api/v1/namespaces/"+namespace+"/pods", &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

type pod struct {
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Spec   struct{ NodeName string }
	Status struct {
		Phase    string
		Statuses []struct {
			State struct {
				Terminated struct{ ExitCode int }
			}
		} `json:"containerStatuses"`
	}
}

// index returns the pod's index in its Job.
func (p *pod) index() string { return p.Metadata.Labels["batch.kubernetes.io/job-completion-index"] }

// exitCode returns the exit code of the pod's container, or 0 if it hasn't ended.
func (p *pod) exitCode() int {
	if len(p.Status.Statuses) == 0 {
		return 0
	}
	return p.Status.Statuses[0].State.Terminated.ExitCode
}

// patience is the longest time that a test waits for an expected event.
const patience = 3 * time.Minute

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain until %s", what)
}

// running waits until n pods of a namespace are running, and returns them.
func (s *stage) running(t *testing.T, namespace string, n int) (all []pod) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d pods run", n), func() bool {
		all = nil
		for _, p := range s.pods(t, namespace) {
			if p.Status.Phase == "Running" && s.nodes.PID(namespace, p.Metadata.Name) != 0 {
				all = append(all, p)
			}
		}
		return len(all) == n
	})
	return all
}

// restricted makes the cluster refuse pods that exceed the strictest security profile.
const restricted = `{"pod-security.kubernetes.io/enforce": "restricted"}`

// documented returns the block of YAML that contains a text on a page of docs, either in fences or indented.
func documented(t *testing.T, name, with string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```|(?m)((?:^    [^\n]*\n)+)")
	for _, block := range blocks.FindAllStringSubmatch(string(page), -1) {
		if text := block[1] + block[2]; strings.Contains(text, with) {
			indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
			return regexp.MustCompile("(?m)^"+indent).ReplaceAllString(text, "")
		}
	}
	t.Fatalf("%s has no block of YAML with %q", name, with)
	return ""
}
