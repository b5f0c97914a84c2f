package kubernetes_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"brunt/internal/record"
	"brunt/test/testserver"
)

// operatorPod runs k6-operator as the administrator. It finds the API server as programs in a cluster do.
const operatorPod = `
apiVersion: v1
kind: Pod
metadata: {name: operator}
spec:
  automountServiceAccountToken: false
  containers:
  - name: manager
    image: ghcr.io/grafana/k6-operator:test
    args: [--metrics-bind-address=0, --health-probe-bind-address=0]
    env: [{name: KUBERNETES_SERVICE_HOST, value: %s}, {name: KUBERNETES_SERVICE_PORT, value: "%d"}, {name: WATCH_NAMESPACE, value: %s}]
    volumeMounts: [{name: account, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}]
  volumes: [{name: account, secret: {secretName: account}}]
`

// operate starts k6-operator for the TestRuns of a namespace. The operator has its own namespace.
func (s *stage) operate(t *testing.T, namespace string) {
	t.Helper()
	own := namespace + "-operator"
	s.Namespace(t, own, "{}")
	authority, err := os.ReadFile(s.API.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/namespaces/" + own
	secret := fmt.Sprintf(`{"metadata": {"name": "account"}, "stringData": {"token": %q, "ca.crt": %q}}`,
		testserver.KubernetesAdmin, authority)
	if err := s.Create(path+"/secrets", secret); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(path+"/pods", fmt.Sprintf(operatorPod, s.API.Host, s.API.Port, namespace)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("k6-operator:\n%s", s.nodes.Log(own, "operator"))
		}
	})
}

// The TestRun in docs/k6-operator.md is valid for k6-operator's definition. The operator's Jobs run to their end with
// our image and send each iteration of the script once, and their bundles can be merged into one result.
func TestK6Operator(t *testing.T) {
	const namespace, iterations = "k6", 400
	s := onStage(t, namespace, restricted)
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	script := fmt.Sprintf(`import http from 'k6/http';
export const options = {scenarios: {one: {executor: 'shared-iterations', vus: 8, iterations: %d}}};
export default () => { http.get('%s'); };`, iterations, server.URL)
	if err := s.Create("/api/v1/namespaces/"+namespace+"/configmaps", fmt.Sprintf(
		`{"metadata": {"name": "shop"}, "data": {"script.js": %q}}`, script)); err != nil {
		t.Fatal(err)
	}
	testRuns := "/apis/k6.io/v1alpha1/namespaces/" + namespace + "/testruns"
	eventually(t, "the API server has the definition", func() bool { return s.Get(testRuns, nil) == nil })
	object := documented(t, "k6-operator.md", "kind: TestRun")
	object = strings.Replace(object, "registry.example/brunt:VERSION", bruntImage, 1)
	object = regexp.MustCompile(`persistentVolumeClaim: \{.*?\}`).ReplaceAllLiteralString(object, "emptyDir: {}")
	if err := s.Create(testRuns+"?fieldValidation=Strict", object); err != nil {
		t.Fatal(err)
	}
	s.operate(t, namespace)
	eventually(t, "the TestRun has finished", func() bool {
		var run struct{ Status struct{ Stage string } }
		if err := s.Get(testRuns+"/shop", &run); err != nil {
			t.Fatal(err)
		}
		if run.Status.Stage == "error" {
			t.Fatal("the TestRun's stage is error")
		}
		return run.Status.Stage == "finished"
	})
	if n := requests.Load(); n != iterations {
		t.Errorf("%d requests, want %d", n, iterations)
	}
	whole := filepath.Join(t.TempDir(), "whole")
	merge := []string{"merge", "--bundle", whole}
	nodes := map[string]bool{}
	for _, p := range s.pods(t, namespace) {
		if strings.Contains(p.Metadata.Name, "starter") {
			continue
		}
		nodes[p.Spec.NodeName] = true
		merge = append(merge, filepath.Join(s.nodes.Volume(namespace, p.Metadata.Name, "data"), p.Metadata.Name))
	}
	if len(nodes) != 4 {
		t.Errorf("runners on %d nodes, want 4", len(nodes))
	}
	out, err := exec.Command(s.brunt, merge...).CombinedOutput()
	b, missing := record.Open(record.OS{}, whole)
	if missing != nil {
		t.Fatalf("%v: %v: %s", missing, err, out)
	}
	if !bytes.Contains(out, []byte("400")) || len(b.Run.Parts) != 4 {
		t.Errorf("%d parts:\n%s", len(b.Run.Parts), out)
	}
}
