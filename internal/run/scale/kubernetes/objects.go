package kubernetes

import (
	"fmt"
	"strings"
	"time"

	"brunt/internal/base/lazyregexp"
)

// object is a Kubernetes object or a part of one.
type object = map[string]any

// Pods describes the pods of a run.
type Pods struct {
	Image      string // its entrypoint must be brunt
	PullSecret string // "" means none
	CPU        string // request and limit: a quantity such as 2 or 500m
	Memory     string // request and limit: a quantity such as 512Mi
	Upload     string // s3://bucket/prefix for bundles that the coordinator can't receive; "" means none
	EnvSecret  string // a Secret whose keys become variables, such as credentials for Upload; "" means none
	// Deadline limits the lifetime of the pods, also if the coordinator is lost.
	Deadline time.Duration
}

// quantity matches Kubernetes' notation for numbers of cores and bytes.
var quantity = lazyregexp.New(`^[0-9]+(\.[0-9]+)?(m|[kMGT]|[KMGT]i)?$`)

// Check returns an error, in terms of flags, for values that the API server would refuse.
func (p *Pods) Check() error {
	switch {
	case p.Image == "":
		return fault(codeBadFlags, "--on kubernetes: name the image of brunt with --image; docs/kubernetes.md says how to make one")
	case strings.ContainsAny(p.Image, " \t\n") || p.Image[0] == '-':
		return fault(codeBadFlags, "--image %q: write REGISTRY/NAME:TAG", p.Image)
	case !quantity().MatchString(p.CPU):
		return fault(codeBadFlags, "--cpu %s: write cores, such as 2 or 500m", p.CPU)
	case !quantity().MatchString(p.Memory):
		return fault(codeBadFlags, "--memory %s: write bytes, such as 512Mi", p.Memory)
	}
	return nil
}

// Name returns the name of a run's objects. It contains only characters that are allowed in object and host names, and
// is short enough that the names of pods can end with the index.
func Name(plan, run string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(plan) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if b.Len() > 0 {
			b.WriteByte('-')
		}
	}
	name := b.String()
	name = "brunt-" + strings.Trim(name[:min(len(name), 30)], "-")
	if run == "" {
		return strings.Trim(name, "-")
	}
	return strings.Trim(name, "-") + "-" + run[:min(len(run), 8)]
}

// The files in pods.
const (
	ticketFolder = "/run/brunt" // where the Secret is mounted
	workFolder   = "/data"      // an emptyDir for bundles and temporary files; the image's working folder
	// TicketFile is the key of the ticket in the Secret.
	TicketFile = "worker.json"
	// CoordinatorFile is the key of the coordinator's part of the ticket in the Secret.
	CoordinatorFile = "coordinator.json"
)

// Where the image's user may write.
const nobody = 65532

// uploadGraceS is the time in seconds that pods have to upload their bundles after they are told to end.
const uploadGraceS = 120

// keptS is the time in seconds after which Kubernetes deletes a Job that has ended and was not deleted.
const keptS = 3600

// indexLabel is the label that contains a pod's index.
const indexLabel = "batch.kubernetes.io/job-completion-index"

func labels(name, component string) object {
	return object{
		"app.kubernetes.io/name": "brunt", "app.kubernetes.io/instance": name,
		"app.kubernetes.io/component": component,
	}
}

// job returns the Indexed Job of the workers. retries is how often an index may fail.
func job(name, namespace string, workers, retries int, p *Pods) object {
	args := []any{"worker", "--ticket", ticketFolder + "/" + TicketFile}
	if p.Upload != "" {
		args = append(args, "--upload", p.Upload)
	}
	spec := p.pod("worker", args, name, TicketFile)
	spec["topologySpreadConstraints"] = []any{object{
		"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
		"nodeTaintsPolicy": "Honor", "labelSelector": object{"matchLabels": labels(name, "worker")},
	}}
	j := p.job(name, namespace, "worker", spec)
	more := j["spec"].(object)
	more["completions"], more["parallelism"], more["completionMode"] = workers, workers, "Indexed"
	more["backoffLimitPerIndex"], more["maxFailedIndexes"] = retries, workers
	more["podReplacementPolicy"] = "Failed"
	more["podFailurePolicy"] = object{"rules": []any{
		object{"action": "Ignore", "onPodConditions": []any{object{"type": "DisruptionTarget", "status": "True"}}},
		object{"action": "FailIndex", "onExitCodes": object{"operator": "In", "values": []any{codeBadFlags}}},
	}}
	return j
}

func (p *Pods) job(name, namespace, component string, pod object) object {
	return object{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": meta(name, namespace, component),
		"spec": object{
			"activeDeadlineSeconds":   int(p.Deadline / time.Second),
			"ttlSecondsAfterFinished": keptS,
			"template": object{
				"metadata": object{"labels": labels(name, component)},
				"spec":     pod,
			},
		},
	}
}

func meta(name, namespace, component string) object {
	if component == coordinatorPart {
		name += "-coordinator"
	}
	m := object{"name": name, "labels": labels(strings.TrimSuffix(name, "-coordinator"), component)}
	if namespace != "" {
		m["namespace"] = namespace
	}
	return m
}

// pod returns the spec of a pod that runs brunt: restricted, without a service account's token, and with a writable
// folder. One key of the Secret is mounted.
func (p *Pods) pod(name string, args []any, ticket, key string) object {
	amounts := func() object { return object{"cpu": p.CPU, "memory": p.Memory} }
	container := object{
		"name": name, "image": p.Image, "args": args,
		"env": []any{
			object{"name": "TMPDIR", "value": workFolder},
			object{"name": "HOME", "value": workFolder},
		},
		"workingDir":               workFolder,
		"resources":                object{"requests": amounts(), "limits": amounts()},
		"terminationMessagePolicy": "FallbackToLogsOnError",
		"securityContext": object{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": object{"drop": []any{"ALL"}},
		},
		"volumeMounts": []any{
			object{"name": "ticket", "mountPath": ticketFolder, "readOnly": true},
			object{"name": "work", "mountPath": workFolder},
		},
	}
	if p.EnvSecret != "" {
		container["envFrom"] = []any{object{"secretRef": object{"name": p.EnvSecret}}}
	}
	spec := object{
		"restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false,
		"terminationGracePeriodSeconds": uploadGraceS,
		"securityContext": object{
			"runAsNonRoot": true, "runAsUser": nobody, "runAsGroup": nobody, "fsGroup": nobody,
			"seccompProfile": object{"type": "RuntimeDefault"},
		},
		"containers": []any{container},
		"volumes": []any{
			object{"name": "ticket", "secret": object{"secretName": ticket, "defaultMode": 0o400,
				"items": []any{object{"key": key, "path": key}}}},
			object{"name": "work", "emptyDir": object{}},
		},
	}
	if p.PullSecret != "" {
		spec["imagePullSecrets"] = []any{object{"name": p.PullSecret}}
	}
	return spec
}

// secret returns the Secret that contains the ticket. It is deleted together with its owner, the Job.
func secret(name, namespace, owner string, ticket []byte) object {
	m := meta(name, namespace, "worker")
	m["ownerReferences"] = []any{object{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": owner}}
	return object{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true, "metadata": m,
		"data": object{TicketFile: ticket}, // encoding/json writes bytes in base64, as the API requires
	}
}

// describe returns the number of a worker, from 1, and the name of its pod, for people.
func describe(worker int, pod string) string { return fmt.Sprintf("%d (pod %s)", worker+1, pod) }
