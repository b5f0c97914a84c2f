package testserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// KubernetesNode is the name of a node and its capacity, such as "4" cores and "8Gi" of memory.
type KubernetesNode struct{ Name, CPU, Memory string }

// KubernetesNodes run the pods that the scheduler assigns to them. Each pod has one container, which runs as a process
// on this machine with a file system of its own (which requires root) and an IP address of its own. The process must
// use that address: "0.0.0.0:" in its arguments is replaced by it.
type KubernetesNodes struct {
	k      *KubernetesCluster
	images map[string]KubernetesImage
	dir    string
	port   int // port of the nodes' server, from which the API server reads logs
	names  []string
	ctx    context.Context
	wg     sync.WaitGroup

	mu    sync.Mutex
	pods  map[string]*podRun // by UID
	begun int                // number of pods so far
}

// podRun is a pod that was assigned to a node.
type podRun struct {
	pod     kubePod
	ip      string
	dir     string
	process *process // nil before it was started
	deleted chan struct{}
}

// AddNodes adds nodes to a cluster. images are the container images that they have, by name.
func (k *KubernetesCluster) AddNodes(images map[string]KubernetesImage, nodes ...KubernetesNode) *KubernetesNodes {
	k.tb.Helper()
	if os.Geteuid() != 0 {
		k.tb.Fatalf("pods need mount namespaces: run the test as root")
	}
	dir, err := os.MkdirTemp("", "brunt-test-")
	if err != nil {
		k.tb.Fatalf("make a folder: %v", err)
	}
	n := &KubernetesNodes{k: k, images: images, dir: dir, pods: map[string]*podRun{}}
	ctx, cancel := context.WithCancel(context.Background())
	n.ctx = ctx
	k.tb.Cleanup(func() {
		cancel()
		n.mu.Lock()
		for _, r := range n.pods {
			if r.process != nil {
				r.process.kill()
			}
		}
		n.mu.Unlock()
		n.wg.Wait()
		os.RemoveAll(dir)
	})
	if err := n.serveLogs(); err != nil {
		k.tb.Fatalf("%v", err)
	}
	for _, node := range nodes {
		n.names = append(n.names, node.Name)
		if err := n.register(node); err != nil {
			k.tb.Fatalf("add the node %s: %v", node.Name, err)
		}
	}
	n.wg.Go(n.heartbeats)
	n.wg.Go(n.follow)
	n.wg.Go(n.serveServices)
	return n
}

// register creates the API object of a node.
func (n *KubernetesNodes) register(node KubernetesNode) error {
	const path = "/api/v1/nodes/"
	about := map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": node.Name, "labels": map[string]string{"kubernetes.io/hostname": node.Name}},
	}
	const query = "?fieldManager=node&force=true"
	if err := n.k.send("PATCH", path+node.Name+query, kubeApply, about, nil); err != nil {
		return err
	}
	has := map[string]string{"cpu": node.CPU, "memory": node.Memory, "pods": "50", "ephemeral-storage": "20Gi"}
	about["status"] = map[string]any{
		"capacity": has, "allocatable": has,
		"addresses":       []any{map[string]string{"type": "InternalIP", "address": loopback}},
		"daemonEndpoints": map[string]any{"kubeletEndpoint": map[string]int{"Port": n.port}},
		"conditions": []any{map[string]string{"type": "Ready", "status": "True", "reason": "Test", "message": "ready",
			"lastHeartbeatTime": kubeTime()[:19] + "Z", "lastTransitionTime": kubeTime()[:19] + "Z"}},
	}
	return n.k.send("PATCH", path+node.Name+"/status"+query, kubeApply, about, nil)
}

// heartbeats renews the leases of the nodes.
func (n *KubernetesNodes) heartbeats() {
	for n.ctx.Err() == nil {
		for _, name := range n.names {
			lease := map[string]any{
				"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]string{"name": name},
				"spec": map[string]any{"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": kubeTime()},
			}
			path := "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + name
			// If a renewal fails, the next one replaces it.
			_ = n.k.send("PATCH", path+"?fieldManager=node&force=true", kubeApply, lease, nil)
		}
		select {
		case <-n.ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

// follow runs pods as the API server reports them, until the test ends.
func (n *KubernetesNodes) follow() {
	for n.ctx.Err() == nil {
		n.watch("/api/v1/pods?watch=true&fieldSelector=spec.nodeName!=", func(kind string, object json.RawMessage) error {
			var p kubePod
			if err := json.Unmarshal(object, &p); err != nil {
				return err
			}
			n.heed(&p, kind == "DELETED")
			return nil
		})
	}
}

// watch calls changed for each existing object and for each change, until the connection breaks or the test ends.
func (n *KubernetesNodes) watch(path string, changed func(kind string, object json.RawMessage) error) {
	r, err := n.k.open("GET", path, "", nil)
	if err != nil {
		select {
		case <-n.ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
		return
	}
	defer r.Body.Close()
	stop := context.AfterFunc(n.ctx, func() { r.Body.Close() })
	defer stop()
	for lines := json.NewDecoder(r.Body); ; {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if lines.Decode(&event) != nil || changed(event.Type, event.Object) != nil {
			return
		}
	}
}

// heed acts on the state of a pod: it starts the pod or ends it.
func (n *KubernetesNodes) heed(p *kubePod, gone bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	uid := p.Metadata.UID
	r := n.pods[uid]
	switch {
	case gone && r != nil:
		delete(n.pods, uid)
		if r.process != nil {
			go r.process.kill()
		}
	case r == nil && p.Metadata.Deleted != "" && !gone:
		n.wg.Go(func() { n.forget(p) })
	case r == nil && p.Status.Phase == "Pending" && !gone:
		r = &podRun{pod: *p, dir: filepath.Join(n.dir, uid), deleted: make(chan struct{}),
			ip: fmt.Sprintf("127.64.%d.%d", n.begun/250%250, n.begun%250+1)}
		n.begun++
		n.pods[uid] = r
		n.wg.Go(func() { n.live(r) })
	case r != nil && p.Metadata.Deleted != "" && r.pod.Metadata.Deleted == "":
		r.pod.Metadata.Deleted, r.pod.Metadata.DeletedGrace = p.Metadata.Deleted, p.Metadata.DeletedGrace
		close(r.deleted)
	}
}

// live runs a pod, from its image to its removal.
func (n *KubernetesNodes) live(r *podRun) {
	c := &r.pod.Spec.Containers[0]
	for attempt := 0; ; attempt++ {
		reason, err := n.begin(r, c)
		if err == nil {
			break
		}
		message := err.Error()
		if reason == errImagePull && attempt%2 == 1 {
			message = fmt.Sprintf("Back-off pulling image %q: %s: %s", c.Image, errImagePull, message)
			reason = "ImagePullBackOff"
		}
		n.report(r, "Pending", map[string]any{"waiting": map[string]string{"reason": reason, "message": message}})
		select {
		case <-n.ctx.Done():
			return
		case <-r.deleted:
			n.forget(&r.pod)
			return
		case <-time.After(min(time.Duration(attempt)*100*time.Millisecond, 5*time.Second)):
		}
	}
	started := kubeTime()[:19] + "Z"
	n.report(r, "Running", map[string]any{"running": map[string]string{"startedAt": started}})
	select {
	case <-r.process.done:
	case <-r.deleted:
		syscall.Kill(r.process.pid, syscall.SIGTERM)
		grace := *cmp.Or(r.pod.Metadata.DeletedGrace, &r.pod.Spec.Grace)
		if !r.process.ended(time.Duration(grace) * time.Second) {
			r.process.kill()
		}
	case <-n.ctx.Done():
		r.process.kill()
		return
	}
	phase, end := n.ending(r, c)
	end["startedAt"], end["finishedAt"] = started, kubeTime()[:19]+"Z"
	n.report(r, phase, map[string]any{"terminated": end})
	select {
	case <-r.deleted:
		n.forget(&r.pod)
	case <-n.ctx.Done():
	}
}

// ending returns how a pod's process has ended.
func (n *KubernetesNodes) ending(r *podRun, c *kubeContainer) (phase string, end map[string]any) {
	phase, end = "Succeeded", map[string]any{"exitCode": 0, "reason": "Completed"}
	var failed *exec.ExitError
	if errors.As(r.process.err, &failed) {
		code := failed.ExitCode()
		if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			code = 128 + int(status.Signal())
		}
		phase, end["exitCode"], end["reason"] = "Failed", code, "Error"
		if text, _ := os.ReadFile(r.log()); c.Message == "FallbackToLogsOnError" {
			end["message"] = string(text[max(0, len(text)-2048):])
		}
	}
	return phase, end
}

func (r *podRun) log() string { return filepath.Join(r.dir, "log") }

// errImagePull is the reason for which a container waits if its node doesn't have the image. Every other time the
// reported reason is that it backs off.
const errImagePull = "ErrImagePull"

// begin starts the process of a pod, or returns the reason why it can't be started.
func (n *KubernetesNodes) begin(r *podRun, c *kubeContainer) (reason string, err error) {
	image, known := n.images[c.Image]
	nonRoot := cmp.Or(c.Security.NonRoot, r.pod.Spec.Security.NonRoot)
	switch {
	case !known:
		return errImagePull, fmt.Errorf("failed to pull and unpack image %q: not found", c.Image)
	case len(r.pod.Spec.Containers) > 1 || len(r.pod.Spec.InitContainers) > 0:
		return "CreateContainerError", errors.New("a node of the tests runs pods of one container only")
	case nonRoot != nil && *nonRoot && r.pod.user(&image, c) == 0:
		return "CreateContainerConfigError", errors.New("container has runAsNonRoot and image will run as root")
	}
	env, err := n.k.environment(&r.pod, c, r.ip)
	if err != nil {
		return "CreateContainerConfigError", err
	}
	root, volumes := filepath.Join(r.dir, "root"), filepath.Join(r.dir, "volumes")
	if err := errors.Join(os.MkdirAll(root, 0o755), os.Chmod(n.dir, 0o755)); err != nil {
		return "CreateContainerError", err
	}
	if err := n.k.volumes(&r.pod, volumes); err != nil {
		return "ContainerCreating", err
	}
	command := c.Command
	if len(command) == 0 {
		command = image.Entrypoint
	}
	command = append(command[:len(command):len(command)], c.Args...)
	for i, argument := range command {
		command[i] = strings.ReplaceAll(expand(argument, env), "0.0.0.0:", r.ip+":")
	}
	hosts, err := n.k.hosts(r.pod.Metadata.Namespace)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, "hosts"), []byte(hosts), 0o644)
	}
	if err != nil {
		return "CreateContainerError", err
	}
	log, err := os.Create(r.log())
	if err != nil {
		return "CreateContainerError", err
	}
	defer log.Close()
	cmd := exec.Command("unshare", "--mount", "--uts", "--propagation", "private", "--", "sh", "-c",
		script(r.dir, &image, &r.pod, c, command))
	cmd.Env, cmd.Stdout, cmd.Stderr = nil, log, log
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.SysProcAttr = attributes(nil, syscall.SIGKILL)
	started, err := run(cmd)
	if err != nil {
		return "RunContainerError", err
	}
	n.mu.Lock()
	r.process = started
	n.mu.Unlock()
	return "", nil
}

// report sends the state of a pod to the API server.
func (n *KubernetesNodes) report(r *podRun, phase string, state map[string]any) {
	c := r.pod.Spec.Containers[0]
	ready := map[bool]string{true: "True", false: "False"}[phase == "Running"]
	status := map[string]any{
		"phase": phase, "hostIP": loopback, "podIP": r.ip, "podIPs": []any{map[string]string{"ip": r.ip}},
		"conditions": []any{
			map[string]string{"type": "Ready", "status": ready},
			map[string]string{"type": "ContainersReady", "status": ready},
		},
		"containerStatuses": []any{map[string]any{"name": c.Name, "image": c.Image, "imageID": c.Image,
			"ready": phase == "Running", "restartCount": 0, "state": state}},
	}
	if phase != "Pending" {
		status["startTime"] = kubeTime()[:19] + "Z"
	}
	// A pod that is gone needs no state. After any other error the test would wait in vain, and print the log.
	_ = n.k.send("PATCH", kubePath(&r.pod)+"/status", kubePatch, map[string]any{"status": status}, nil)
}

// forget makes the API server delete a pod that has ended.
func (n *KubernetesNodes) forget(p *kubePod) {
	// It may have been force-deleted already.
	_ = n.k.send("DELETE", kubePath(p), kubeJSON, map[string]any{"gracePeriodSeconds": 0,
		"preconditions": map[string]string{"uid": p.Metadata.UID}}, nil)
}

func kubePath(p *kubePod) string {
	return "/api/v1/namespaces/" + p.Metadata.Namespace + "/pods/" + p.Metadata.Name
}

// PID returns the process ID of a running pod; 0 if there is none.
func (n *KubernetesNodes) PID(namespace, pod string) int {
	if r := n.find(namespace, pod); r != nil && r.process != nil && !r.process.gone() {
		return r.process.pid
	}
	return 0
}

// Log returns the output of a pod. It is empty for a pod that has been removed.
func (n *KubernetesNodes) Log(namespace, pod string) string {
	r := n.find(namespace, pod)
	if r == nil {
		return ""
	}
	text, _ := os.ReadFile(r.log()) // there is no log before the pod is started
	return string(text)
}

// Volume returns the folder of a pod's volume. It exists until the pod is removed.
func (n *KubernetesNodes) Volume(namespace, pod, volume string) string {
	r := n.find(namespace, pod)
	if r == nil {
		return ""
	}
	return filepath.Join(r.dir, "volumes", volume)
}

func (n *KubernetesNodes) find(namespace, pod string) *podRun {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.pods {
		if r.pod.Metadata.Namespace == namespace && r.pod.Metadata.Name == pod {
			found := *r
			return &found
		}
	}
	return nil
}

// serveLogs serves the logs of the nodes' pods to the API server.
func (n *KubernetesNodes) serveLogs() error {
	l, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		return err
	}
	n.port = l.Addr().(*net.TCPAddr).Port
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, n.Log(r.PathValue("namespace"), r.PathValue("pod")))
	})
	server := &http.Server{Handler: mux}
	n.wg.Go(func() {
		_ = server.ServeTLS(l, filepath.Join(n.k.API.Dir, "server.crt"), n.k.API.keyFile()) // until it is closed
	})
	context.AfterFunc(n.ctx, func() { server.Close() })
	return nil
}
