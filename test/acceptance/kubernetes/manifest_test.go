package kubernetes_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brunt/test/testserver"
)

// collections contains the API paths of the kinds of objects that a manifest may have.
var collections = map[string]string{
	"ConfigMap": "/api/v1/namespaces/%s/configmaps",
	"Service":   "/api/v1/namespaces/%s/services",
	"Secret":    "/api/v1/namespaces/%s/secrets",
	"Job":       "/apis/batch/v1/namespaces/%s/jobs",
}

// apply creates the objects of a manifest. options are options of the requests.
func (s *stage) apply(t *testing.T, namespace, manifest, options string) {
	t.Helper()
	for _, text := range strings.Split("\n"+manifest, "\n---\n")[1:] {
		kind := regexp.MustCompile(`(?m)^kind: (\S+)`).FindStringSubmatch(text)
		if kind == nil || collections[kind[1]] == "" {
			t.Fatalf("what is this?\n%s", text)
		}
		if err := s.Create(fmt.Sprintf(collections[kind[1]], namespace)+"?fieldValidation=Strict"+options, text); err != nil {
			t.Errorf("%s: %v", kind[1], err)
		}
	}
}

// The output of --manifest passes the strictest checks of the API server and, when its comments are followed, runs the
// load with a coordinator in the cluster.
func TestManifestRuns(t *testing.T) {
	const namespace = "manifest"
	s := onStage(t, namespace, restricted)
	_, flags := logged(t, "5s")
	args := append(flags, s.flags(testserver.KubernetesAdmin, namespace)[:6]...)
	cmd := exec.Command(s.brunt, append(args, "--manifest")...)
	cmd.Dir = "../../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	manifest := string(out)
	s.apply(t, namespace, manifest, "&dryRun=All")
	address := regexp.MustCompile(`brunt ticket --address (\S+):\d+ `).FindStringSubmatch(manifest)
	if address == nil {
		t.Fatalf("no command makes the ticket:\n%s", manifest)
	}
	dir := filepath.Join(t.TempDir(), "ticket")
	ticket := exec.Command(s.brunt, "ticket", "--address", address[1]+":7070", "--out", dir)
	if out, err := ticket.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data := ""
	for _, name := range []string{"worker.json", "coordinator.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		data += fmt.Sprintf("%q: %q,", name, base64.StdEncoding.EncodeToString(text))
	}
	if err := s.Create(fmt.Sprintf(collections["Secret"], namespace), fmt.Sprintf(`{"metadata": {"name": %q}, "data": {%s}}`,
		address[1], strings.TrimSuffix(data, ","))); err != nil {
		t.Fatal(err)
	}
	s.apply(t, namespace, manifest, "")
	ended := func() (n int, coordinator string) {
		for _, p := range s.pods(t, namespace) {
			if p.Status.Phase != "Succeeded" && p.Status.Phase != "Failed" {
				continue
			}
			if n++; strings.Contains(p.Metadata.Name, "coordinator") {
				coordinator = p.Metadata.Name
			}
		}
		return n, coordinator
	}
	eventually(t, "all pods have ended", func() bool {
		n, coordinator := ended()
		return n == 5 && coordinator != ""
	})
	_, coordinator := ended()
	if log := s.nodes.Log(namespace, coordinator); !strings.Contains(log, "1,000 operations") {
		t.Errorf("the coordinator's log has no report:\n%s", log)
	}
	for _, p := range s.pods(t, namespace) {
		if p.Metadata.Name != coordinator && p.exitCode() != 0 {
			t.Errorf("%s ended with exit code %d", p.Metadata.Name, p.exitCode())
		}
	}
}
