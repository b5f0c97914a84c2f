package kubernetes_test

import (
	"strings"
	"syscall"
	"testing"
)

// shellJob is an Indexed Job of four pods, which wait for a file in their volume, or for a signal.
const shellJob = `
apiVersion: batch/v1
kind: Job
metadata: {name: shell}
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  backoffLimitPerIndex: 1
  podReplacementPolicy: Failed
  podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}]}]}
  template:
    metadata: {labels: {app: shell}}
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 60
      securityContext: {runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: shell}}}
      volumes:
      - {name: data, emptyDir: {}}
      - {name: secret, secret: {secretName: shell, defaultMode: 256}}
      containers:
      - name: c
        image: localhost/shell:test
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
        resources: {requests: {cpu: "1", memory: 64Mi}, limits: {cpu: "1", memory: 64Mi}}
        env:
        - {name: INDEX, valueFrom: {fieldRef: {fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']"}}}
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        volumeMounts: [{name: data, mountPath: /var/data}, {name: secret, mountPath: /etc/secret, readOnly: true}]
        command: [sh, -c]
        args:
        - |
          echo "index=$(INDEX) $INDEX node=$NODE host=$(hostname) user=$(id -u) secret=$(cat /etc/secret/key)"
          touch /no-such-place 2>&1; echo $JOB_COMPLETION_INDEX > /var/data/index
          trap 'echo ended; exit 0' TERM
          while [ ! -e /var/data/go ]; do sleep 0.1; done
`

// The nodes that these tests use behave like those of a cluster: the pods of a Job are spread over them, get their
// volumes and environment, obey their security context, are replaced if they are killed, and end when they are deleted.
func TestNodes(t *testing.T) {
	const namespace = "nodes"
	s := onStage(t, namespace, `{"pod-security.kubernetes.io/enforce": "restricted"}`)
	path := "/api/v1/namespaces/" + namespace
	if err := s.Create(path+"/secrets", `{"metadata": {"name": "shell"}, "stringData": {"key": "word"}}`); err != nil {
		t.Fatal(err)
	}
	jobs := "/apis/batch/v1/namespaces/" + namespace + "/jobs"
	if err := s.Create(jobs, shellJob); err != nil {
		t.Fatal(err)
	}
	first := s.running(t, namespace, 4)
	nodes := map[string]bool{}
	for _, p := range first {
		nodes[p.Spec.NodeName] = true
		want := "index=" + p.index() + " " + p.index() + " node=" + p.Spec.NodeName + " host=shell-" + p.index() +
			" user=65532 secret=word\n"
		eventually(t, "the pod has written", func() bool {
			return strings.Contains(s.nodes.Log(namespace, p.Metadata.Name), "Read-only file system")
		})
		if log := s.nodes.Log(namespace, p.Metadata.Name); !strings.HasPrefix(log, want) {
			t.Errorf("%s has written %q, want %q", p.Metadata.Name, log, want)
		}
	}
	if len(nodes) != 4 {
		t.Errorf("the pods run on %d nodes, want 4", len(nodes))
	}
	victim := first[0]
	syscall.Kill(s.nodes.PID(namespace, victim.Metadata.Name), syscall.SIGKILL)
	eventually(t, "the pod that was killed has failed", func() bool {
		for _, p := range s.pods(t, namespace) {
			if p.Metadata.Name == victim.Metadata.Name && p.Status.Phase == "Failed" {
				return p.exitCode() == 137
			}
		}
		return false
	})
	var successor pod
	for _, p := range s.running(t, namespace, 4) {
		if p.index() == victim.index() {
			successor = p
		}
	}
	eventually(t, "the API server has the successor's log", func() bool {
		log, err := s.Read(path + "/pods/" + successor.Metadata.Name + "/log")
		return err == nil && strings.HasPrefix(log, "index="+victim.index()+" ")
	})
	if err := s.Delete(jobs + "/shell?propagationPolicy=Foreground"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no pod is left", func() bool { return len(s.pods(t, namespace)) == 0 })
	for _, p := range append(first, successor) {
		if pid := s.nodes.PID(namespace, p.Metadata.Name); pid != 0 {
			t.Errorf("%s still runs", p.Metadata.Name)
		}
	}
}
