package kubernetes

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// coordinatorPart is the value of the component label of the coordinator's objects.
const coordinatorPart = "coordinator"

// coordinatorPort is the port of a coordinator in the cluster.
const coordinatorPort = 7070

// Deployment is a run whose coordinator and workers are all in the cluster, and are created by the user.
type Deployment struct {
	Name      string
	Namespace string // "" means the namespace that kubectl uses
	Workers   int
	Pods      Pods
	Plan      []byte   // must not contain secrets
	Flags     []string // further flags of the coordinator's command
	Secrets   []string // names of the secret variables that the plan needs
}

// Manifest writes the objects of a deployment as YAML for kubectl, with comments that say what must be done first. The
// YAML contains no secrets: a command that the user runs creates the ticket.
func Manifest(w io.Writer, d *Deployment) error {
	namespace := ""
	if d.Namespace != "" {
		namespace = " --namespace " + d.Namespace
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `# A load of %d workers and their coordinator. Before kubectl apply, make the ticket of the run, once for each run:
#
#   brunt ticket --address %s:%d --out ticket
#   kubectl create secret generic %s%s --from-file=ticket
`, d.Workers, d.Name, coordinatorPort, d.Name, namespace)
	if len(d.Secrets) > 0 {
		fmt.Fprintf(&b, "#   kubectl create secret generic %s-plan%s --from-literal=%s=…\n", d.Name, namespace,
			strings.Join(d.Secrets, "=… --from-literal="))
	}
	fmt.Fprintf(&b, `#
# The coordinator prints the report: kubectl logs%s job/%s-coordinator
# Its bundle is in the volume "work": make that a PersistentVolumeClaim, or add --upload s3://BUCKET/PREFIX.
`, namespace, d.Name)
	for _, o := range d.objects() {
		b.WriteString("---\n")
		text, err := yaml.Dump(o)
		if err != nil {
			return err
		}
		b.Write(text)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// objects returns the objects of the deployment in the order in which they must be created.
func (d *Deployment) objects() []object {
	args := []any{"run", "/plan/plan.yml", "--workers", strconv.Itoa(d.Workers), "--on", "external", "--ticket",
		ticketFolder + "/" + CoordinatorFile, "--listen", ":" + strconv.Itoa(coordinatorPort), "--bundle",
		workFolder + "/bundle"}
	for _, f := range d.Flags {
		args = append(args, f)
	}
	pod := d.Pods.pod(coordinatorPart, args, d.Name, CoordinatorFile)
	container := pod["containers"].([]any)[0].(object)
	container["ports"] = []any{object{"name": "workers", "containerPort": coordinatorPort}}
	container["volumeMounts"] = append(container["volumeMounts"].([]any),
		object{"name": "plan", "mountPath": "/plan", "readOnly": true})
	pod["volumes"] = append(pod["volumes"].([]any), object{"name": "plan", "configMap": object{"name": d.Name + "-plan"}})
	if len(d.Secrets) > 0 {
		from, _ := container["envFrom"].([]any)
		container["envFrom"] = append(from, object{"secretRef": object{"name": d.Name + "-plan"}})
	}
	coordinator := d.Pods.job(d.Name, d.Namespace, coordinatorPart, pod)
	coordinator["spec"].(object)["backoffLimit"] = 0
	plan := meta(d.Name, d.Namespace, coordinatorPart)
	plan["name"] = d.Name + "-plan"
	service := meta(d.Name, d.Namespace, coordinatorPart)
	service["name"] = d.Name
	return []object{
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": plan, "data": object{"plan.yml": string(d.Plan)}},
		{"apiVersion": "v1", "kind": "Service", "metadata": service, "spec": object{
			"clusterIP": "None", "publishNotReadyAddresses": true, "selector": labels(d.Name, coordinatorPart),
			"ports": []any{object{"name": "workers", "port": coordinatorPort}},
		}},
		coordinator,
		job(d.Name, d.Namespace, d.Workers, externalRetries, &d.Pods),
	}
}

// externalRetries is how often a worker of a deployment may fail, for example because the coordinator does not run yet.
const externalRetries = 5
