package kubernetes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/test/testserver"
)

// A refusal or failure of the cluster is reported in one line with its reason, and no objects are left behind.
func TestTheClusterRefuses(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "plan.yml")
	text := "target: {protocol: noop, addresses: [none]}\nqueries: [{name: one, command: [PING], weight: 1}]\n"
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		noRole bool
		quota  string
		flags  []string
		words  []string
	}{
		"no-rights": {noRole: true, words: []string{"create jobs.batch", "list pods", "no-rights", "docs/kubernetes.md"}},
		"no-image": {flags: []string{"--image", "localhost/brunt:none"},
			words: []string{"localhost/brunt:none", "can't be pulled", "not found", "--image"}},
		"no-jobs": {quota: `{"count/jobs.batch": "0"}`, words: []string{"exceeded quota", "no-jobs"}},
		"no-cpu":  {quota: `{"limits.cpu": "2"}`, words: []string{"exceeded quota", "limits.cpu"}},
		"no-node": {flags: []string{"--cpu", "64"}, words: []string{"no node takes", "Insufficient cpu", "--cpu"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := onStage(t, name, restricted)
			if !row.noRole {
				s.role(t, name)
			}
			if row.quota != "" {
				s.quota(t, name, row.quota)
			}
			args := append([]string{"rate", "-c", plan, "--rate", "100", "--duration", "10s", "--vu", "8"},
				s.flags(testserver.KubernetesUser, name)...)
			began := time.Now()
			c := s.start(t, append(args, row.flags...)...)
			if code := c.wait(); code != exitcode.Unreachable {
				t.Errorf("exit code %d, want %d", code, exitcode.Unreachable)
			}
			t.Logf("after %.1f s: %s", time.Since(began).Seconds(), c.output())
			lines := strings.Split(strings.TrimSpace(c.output()), "\n")
			last := lines[len(lines)-1]
			for _, word := range row.words {
				if !strings.Contains(last, word) {
					t.Errorf("%q doesn't say %q", last, word)
				}
			}
			s.empty(t, name)
			if left, _ := os.ReadDir(c.dir); len(left) > 0 {
				t.Errorf("left in the bundle's folder: %v", left)
			}
		})
	}
}

// quota sets a quota for a namespace and waits until it is in force.
func (s *stage) quota(t *testing.T, namespace, hard string) {
	t.Helper()
	path := "/api/v1/namespaces/" + namespace + "/resourcequotas"
	if err := s.Create(path, `{"metadata": {"name": "q"}, "spec": {"hard": `+hard+`}}`); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the quota is in force", func() bool {
		var q struct {
			Status struct{ Hard map[string]string }
		}
		return s.Get(path+"/q", &q) == nil && len(q.Status.Hard) > 0
	})
}
