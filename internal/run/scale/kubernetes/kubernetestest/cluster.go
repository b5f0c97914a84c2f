// Package kubernetestest imitates the API server of a Kubernetes cluster with its Job controller and kubelet, as far as
// package kubernetes needs them. Pods are processes of this machine. A real control plane is stricter; see make
// test-kubernetes.
package kubernetestest

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

type object = map[string]any

// Cluster is an imitated cluster with one namespace.
type Cluster struct {
	Kubeconfig string // file
	URL        string

	// Faults. They must be set before the cluster is used.
	Forbidden []string         // permissions that the account lacks, as "verb resource"
	Quota     string           // the message of the event for an exceeded quota of pods
	Pending   func(pod object) // if set, it changes each new pod, which is then not run

	t       testing.TB
	dir     string
	command string

	mu      sync.Mutex
	changed *sync.Cond        // signals that a Secret was created or the cluster ends
	objects map[string]object // by path
	pods    map[string]*running
	seen    []string // requests received, as "METHOD path"
	number  int
	events  []object
	wg      sync.WaitGroup
	over    bool
}

// Namespace is the only namespace.
const Namespace = "load"

const token = "pretended-token"

type running struct {
	object object
	cmd    *exec.Cmd
	job    string
	index  int
	tries  int
}

// New starts a cluster whose pods run command instead of their image's entrypoint.
func New(t testing.TB, command string) *Cluster {
	t.Helper()
	c := &Cluster{t: t, command: command, dir: t.TempDir(), objects: map[string]object{}, pods: map[string]*running{}}
	c.changed = sync.NewCond(&c.mu)
	server := httptest.NewTLSServer(c)
	c.URL = server.URL
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c.Kubeconfig = filepath.Join(c.dir, "kubeconfig")
	c.WriteKubeconfig(c.Kubeconfig, authority)
	t.Cleanup(func() {
		c.mu.Lock()
		c.over = true
		c.changed.Broadcast()
		for _, p := range c.pods {
			p.kill(syscall.SIGKILL)
		}
		c.mu.Unlock()
		c.wg.Wait()
		server.Close()
	})
	return c
}

// WriteKubeconfig writes a kubeconfig for the cluster that trusts the given authority (PEM).
func (c *Cluster) WriteKubeconfig(path string, authority []byte) {
	c.t.Helper()
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: here
clusters: [{name: pretended, cluster: {server: "%s", certificate-authority-data: %s}}]
users: [{name: me, user: {token: %s}}]
contexts: [{name: here, context: {cluster: pretended, user: me, namespace: %s}}]
`, c.URL, base64.StdEncoding.EncodeToString(authority), token, Namespace)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// Requests returns the methods and paths of all requests so far.
func (c *Cluster) Requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen)
}

// Objects returns the paths of the existing Jobs, Secrets and pods.
func (c *Cluster) Objects() (paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	paths = slices.Collect(maps.Keys(c.objects))
	for name := range c.pods {
		paths = append(paths, "pods/"+name)
	}
	slices.Sort(paths)
	return paths
}

// Object returns the object that was created at a path, such as jobs/NAME, or nil if there is none.
func (c *Cluster) Object(path string) object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[path]
}

// podsOf returns the pods of an index, in the order of their start. The caller holds c.mu.
func (c *Cluster) podsOf(index int) (pods []*running) {
	for _, p := range c.pods {
		if p.index == index {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b *running) int { return a.tries - b.tries })
	return pods
}

// Pods returns the process ids of the pods of an index, in the order of their start; 0 for a pod that never started.
func (c *Cluster) Pods(index int) (pids []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.podsOf(index) {
		if p.cmd == nil {
			pids = append(pids, 0)
			continue
		}
		pids = append(pids, p.cmd.Process.Pid)
	}
	return pids
}

// Phases returns the phases of the pods of an index, in the order of their start.
func (c *Cluster) Phases(index int) (phases []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.podsOf(index) {
		phases = append(phases, fmt.Sprint(p.object["status"].(object)["phase"]))
	}
	return phases
}

func refuse(w http.ResponseWriter, code int, reason, message string) {
	answer(w, code, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
		"message": message})
}

func answer(w http.ResponseWriter, code int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(what)
}

// ServeHTTP implements http.Handler.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+token {
		refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, r.Method+" "+r.URL.Path)
	var body object
	_ = json.NewDecoder(r.Body).Decode(&body) // GET requests have no body
	if strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
		a := body["spec"].(object)["resourceAttributes"].(object)
		allowed := !slices.Contains(c.Forbidden, fmt.Sprintf("%s %s", a["verb"], a["resource"]))
		answer(w, http.StatusCreated, object{"status": object{"allowed": allowed}})
		return
	}
	_, rest, _ := strings.Cut(r.URL.Path, "/namespaces/")
	namespace, path, _ := strings.Cut(rest, "/")
	if namespace != Namespace {
		refuse(w, http.StatusNotFound, "NotFound", fmt.Sprintf("namespaces %q not found", namespace))
		return
	}
	kind, name, _ := strings.Cut(path, "/")
	verb := map[string]string{http.MethodPost: "create", http.MethodDelete: "delete", http.MethodGet: "list"}[r.Method]
	if slices.Contains(c.Forbidden, "really "+verb+" "+kind) {
		refuse(w, http.StatusForbidden, "Forbidden", fmt.Sprintf("%s is forbidden: User \"me\" cannot %s resource %q", kind, verb,
			kind))
		return
	}
	switch {
	case r.Method == http.MethodPost && name == "":
		c.create(w, kind, body)
	case r.Method == http.MethodDelete:
		c.remove(w, kind, name)
	case kind == "pods":
		items := []object{}
		for _, p := range c.pods {
			items = append(items, p.object)
		}
		answer(w, http.StatusOK, object{"kind": "PodList", "items": items})
	case kind == "events":
		answer(w, http.StatusOK, object{"kind": "EventList", "items": c.events})
	default:
		refuse(w, http.StatusNotFound, "NotFound", path+" not found")
	}
}

func (c *Cluster) create(w http.ResponseWriter, kind string, body object) {
	m := body["metadata"].(object)
	name := m["name"].(string)
	if c.objects[kind+"/"+name] != nil {
		refuse(w, http.StatusConflict, "AlreadyExists", name+" already exists")
		return
	}
	c.number++
	m["uid"] = fmt.Sprintf("uid-%d", c.number)
	c.objects[kind+"/"+name] = body
	c.changed.Broadcast()
	if kind == "jobs" {
		for i := range int(body["spec"].(object)["completions"].(float64)) {
			c.pod(name, i, 0)
		}
	}
	answer(w, http.StatusCreated, body)
}

func (c *Cluster) remove(w http.ResponseWriter, kind, name string) {
	if c.objects[kind+"/"+name] == nil {
		refuse(w, http.StatusNotFound, "NotFound", name+" not found")
		return
	}
	delete(c.objects, kind+"/"+name)
	for id, p := range c.pods {
		if kind == "jobs" && p.job == name {
			p.kill(syscall.SIGTERM)
			delete(c.pods, id)
		}
	}
	answer(w, http.StatusOK, object{"kind": "Status", "status": "Success"})
}

func (p *running) kill(signal syscall.Signal) {
	if p.cmd != nil && p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Signal(signal) // the process may just have ended
	}
}

// pod creates a pod of a Job and runs it.
func (c *Cluster) pod(job string, index, tries int) {
	if c.Quota != "" {
		c.events = append(c.events, object{"reason": "FailedCreate", "type": "Warning",
			"message": fmt.Sprintf("Error creating: pods %q is forbidden: %s", fmt.Sprintf("%s-%d-x%d", job, index, c.number), c.Quota)})
		return
	}
	c.number++
	name := fmt.Sprintf("%s-%d-p%d", job, index, c.number)
	template := c.objects["jobs/"+job]["spec"].(object)["template"].(object)
	p := &running{job: job, index: index, tries: tries, object: object{
		"metadata": object{"name": name, "uid": "uid-" + name,
			"creationTimestamp": time.Now().UTC().Add(time.Duration(tries) * time.Second).Format(time.RFC3339),
			"labels":            object{"batch.kubernetes.io/job-completion-index": strconv.Itoa(index)}},
		"spec":   object{"nodeName": "node" + strconv.Itoa(index)},
		"status": object{"phase": "Pending"},
	}}
	c.pods[name] = p
	if c.Pending != nil {
		c.Pending(p.object)
		return
	}
	c.wg.Go(func() { c.run(p, name, template["spec"].(object)) })
}

// run does the work of a kubelet for a pod.
func (c *Cluster) run(p *running, name string, spec object) {
	dir := filepath.Join(c.dir, name)
	container := spec["containers"].([]any)[0].(object)
	mounts := c.mount(spec, dir)
	cmd := exec.Command(c.command)
	for _, a := range container["args"].([]any) {
		cmd.Args = append(cmd.Args, outside(mounts, a.(string)))
	}
	cmd.Env = append(os.Environ(), "JOB_COMPLETION_INDEX="+strconv.Itoa(p.index))
	for _, e := range container["env"].([]any) {
		v := e.(object)
		cmd.Env = append(cmd.Env, v["name"].(string)+"="+outside(mounts, v["value"].(string)))
	}
	log, err := os.Create(filepath.Join(c.dir, name+".log"))
	if err != nil {
		c.t.Error(err)
		return
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	c.mu.Lock()
	if c.over || c.pods[name] == nil {
		c.mu.Unlock()
		return
	}
	if err := cmd.Start(); err != nil {
		c.mu.Unlock()
		c.t.Errorf("start a pod: %v", err)
		return
	}
	p.cmd, p.object["status"] = cmd, object{"phase": "Running"}
	c.mu.Unlock()
	state, _ := cmd.Process.Wait() // the state is reported below, as a kubelet does
	c.mu.Lock()
	defer c.mu.Unlock()
	code := state.ExitCode()
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		code = 128 + int(s.Signal())
	}
	said, _ := os.ReadFile(log.Name())
	phase := "Failed"
	if code == 0 {
		phase = "Succeeded"
	}
	p.object["status"] = object{"phase": phase, "containerStatuses": []any{object{"state": object{"terminated": object{
		"exitCode": code, "message": string(said)}}}}}
	retries := int(c.retries(p.job))
	if phase == "Failed" && p.tries < retries && !c.over && c.pods[name] != nil {
		c.pod(p.job, p.index, p.tries+1)
	}
}

func (c *Cluster) retries(job string) float64 {
	if o := c.objects["jobs/"+job]; o != nil {
		return o["spec"].(object)["backoffLimitPerIndex"].(float64)
	}
	return 0
}

// outside returns the path on this machine of a path in a pod, if that is below a mount.
func outside(mounts map[string]string, path string) string {
	for inside, here := range mounts {
		if path == inside || strings.HasPrefix(path, inside+"/") {
			return here + strings.TrimPrefix(path, inside)
		}
	}
	return path
}

// mount creates the volumes of a pod. It returns their paths on this machine by their paths in the pod.
func (c *Cluster) mount(spec object, dir string) (paths map[string]string) {
	paths = map[string]string{}
	volumes := map[string]string{}
	for _, v := range spec["volumes"].([]any) {
		volume := v.(object)
		here := filepath.Join(dir, volume["name"].(string))
		if err := os.MkdirAll(here, 0o700); err != nil {
			c.t.Error(err)
		}
		volumes[volume["name"].(string)] = here
		if s, ok := volume["secret"].(object); ok {
			c.files(s["secretName"].(string), here)
		}
	}
	for _, m := range spec["containers"].([]any)[0].(object)["volumeMounts"].([]any) {
		mount := m.(object)
		paths[mount["mountPath"].(string)] = volumes[mount["name"].(string)]
	}
	return paths
}

// files writes the contents of a Secret into a folder. It waits until the Secret exists, as a kubelet does.
func (c *Cluster) files(secret, dir string) {
	c.mu.Lock()
	for c.objects["secrets/"+secret] == nil && !c.over {
		c.changed.Wait()
	}
	o := c.objects["secrets/"+secret]
	c.mu.Unlock()
	if o == nil {
		return
	}
	for key, value := range o["data"].(object) {
		data, err := base64.StdEncoding.DecodeString(value.(string))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, key), data, 0o400)
		}
		if err != nil {
			c.t.Error(err)
		}
	}
}
