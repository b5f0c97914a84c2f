package testserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// KubernetesCluster is a Kubernetes cluster with the real etcd, API server, controller manager and scheduler. AddNodes
// adds simulated nodes. Service accounts and webhooks are not supported.
type KubernetesCluster struct {
	API *Server // uses https; clients connect with its TLS and CAFile

	tb     TB
	client *http.Client
}

// The users of a cluster. RBAC allows KubernetesAdmin everything, and other users what is bound to their names.
const (
	KubernetesAdmin = "admin"
	KubernetesUser  = "user"
)

// Kubernetes starts a control plane without nodes.
func Kubernetes(t TB) *KubernetesCluster {
	t.Helper()
	SkipQuick(t)
	apiserver := kubernetesBinary(t, "kube-apiserver")
	store := Etcd(t)
	s := launch(t, &spec{
		name:   "kube-apiserver",
		binary: apiserver,
		prepare: func(s *Server) error {
			_, err := s.write("tokens", fmt.Sprintf("%[1]s,%[1]s,1,system:masters\n%[2]s,%[2]s,2\n",
				KubernetesAdmin, KubernetesUser))
			return errors.Join(err, s.certify(), s.signAccounts())
		},
		arguments: func(s *Server) []string {
			return []string{
				"--etcd-servers=http://" + store.Addr, "--bind-address=" + s.Host, fmt.Sprint("--secure-port=", s.Port),
				"--tls-cert-file=server.crt", "--tls-private-key-file=server.key",
				"--service-account-key-file=accounts.key", "--service-account-signing-key-file=accounts.key",
				"--service-account-issuer=https://kubernetes.default.svc", "--disable-admission-plugins=ServiceAccount",
				"--token-auth-file=tokens", "--authorization-mode=RBAC",
				// A loopback address can't be advertised, and nothing uses this one.
				"--endpoint-reconciler-type=none", "--advertise-address=192.0.2.1", "--external-hostname=" + s.Host,
				// Services get loopback addresses, on which AddNodes serves them.
				"--service-cluster-ip-range=127.96.0.0/16",
			}
		},
		ready: httpReady("/readyz", http.StatusOK),
	}, &Server{User: KubernetesAdmin})
	k := &KubernetesCluster{API: s, tb: t, client: &http.Client{Transport: &http.Transport{TLSClientConfig: s.TLS}}}
	k.component("kube-controller-manager", "--node-monitor-period=500ms", "--controllers=job-controller,"+
		"pod-garbage-collector-controller,garbage-collector-controller,node-lifecycle-controller,"+
		"resourcequota-controller,namespace-controller,ttl-after-finished-controller")
	k.component("kube-scheduler")
	return k
}

// signAccounts creates the key that signs tokens of service accounts, in the format that Kubernetes requires.
func (s *Server) signAccounts() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	_, err = s.write("accounts.key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})))
	return err
}

// component starts a program of the control plane that is a client of the API server.
func (k *KubernetesCluster) component(name string, args ...string) {
	k.tb.Helper()
	config := k.Kubeconfig(KubernetesAdmin, "default")
	launch(k.tb, &spec{
		name:   name,
		binary: kubernetesBinary(k.tb, name),
		arguments: func(s *Server) []string {
			return append([]string{"--kubeconfig=" + config, "--leader-elect=false", "--bind-address=" + s.Host,
				fmt.Sprint("--secure-port=", s.Port), "--cert-dir=" + s.Dir}, args...)
		},
	}, &Server{})
}

// kubernetesBinary returns the path of a program that .ci/kubernetes has built.
func kubernetesBinary(t TB, name string) string {
	t.Helper()
	path := filepath.Join(kubernetesFolder(t), name)
	if !executable(path) {
		t.Fatalf("%s isn't built: run: make kubernetes", path)
	}
	return path
}

// kubernetesFolder returns the folder into which .ci/kubernetes writes its results.
func kubernetesFolder(t TB) string {
	t.Helper()
	path, err := cached("kubernetes-" + kubernetesModule(t, "k8s.io/kubernetes"))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return path
}

// kubernetesModule returns the version of a module that .ci/kubernetes builds.
func kubernetesModule(t TB, name string) string {
	t.Helper()
	source, err := sourceDir()
	if err != nil {
		t.Fatalf("%v", err)
	}
	text, err := os.ReadFile(filepath.Join(source, "kubernetes", "go.mod"))
	if err != nil {
		t.Fatalf("%v", err)
	}
	version := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(name) + ` (v\S+)`).FindSubmatch(text)
	if version == nil {
		t.Fatalf("test/testserver/kubernetes/go.mod doesn't require %s", name)
	}
	return string(version[1])
}

// K6Operator returns the path of the k6-operator that .ci/kubernetes has built, and its custom resource definitions in
// YAML.
func K6Operator(t TB) (program string, definitions []string) {
	t.Helper()
	program = kubernetesBinary(t, "k6-operator-"+kubernetesModule(t, "github.com/grafana/k6-operator"))
	for _, name := range []string{"k6.io_testruns.yaml", "k6.io_privateloadzones.yaml"} {
		text, err := os.ReadFile(filepath.Join(kubernetesFolder(t), name))
		if err != nil {
			t.Fatalf("%v: run: make kubernetes", err)
		}
		definitions = append(definitions, string(text))
	}
	return program, definitions
}

// Kubeconfig writes a kubeconfig file for a user and a default namespace, and returns its path.
func (k *KubernetesCluster) Kubeconfig(user, namespace string) (path string) {
	k.tb.Helper()
	path, err := k.API.write("kubeconfig-"+user+"-"+namespace, fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
contexts:
- name: test
  context: {cluster: test, user: %[1]s, namespace: %[2]s}
clusters:
- name: test
  cluster: {server: "https://%[3]s", certificate-authority: %[4]s}
users:
- name: %[1]s
  user: {token: %[1]s}
`, user, namespace, k.API.Addr, k.API.CAFile))
	if err != nil {
		k.tb.Fatalf("%v", err)
	}
	return path
}

// KubernetesError is an error response of the API server.
type KubernetesError struct {
	Code    int // HTTP status
	Message string
}

// Error implements error.
func (e *KubernetesError) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// The content types of request bodies.
const (
	kubeJSON  = "application/json"
	kubePatch = "application/strategic-merge-patch+json"
	kubeApply = "application/apply-patch+yaml"
)

// Create creates an object, given in JSON or YAML, as the administrator. path is the path of its collection.
func (k *KubernetesCluster) Create(path, object string) error {
	return k.call("POST", path, "application/yaml", []byte(object), nil)
}

// Get reads an object or a list of objects into answer, as the administrator.
func (k *KubernetesCluster) Get(path string, answer any) error {
	return k.call("GET", path, "", nil, answer)
}

// Read returns a resource that isn't JSON, such as the log of a pod, as the administrator.
func (k *KubernetesCluster) Read(path string) (string, error) {
	r, err := k.open("GET", path, "", nil)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return string(text), err
}

// Delete deletes an object, or all objects of a collection, as the administrator.
func (k *KubernetesCluster) Delete(path string) error { return k.call("DELETE", path, "", nil, nil) }

// send is call with a body that it encodes as JSON.
func (k *KubernetesCluster) send(method, path, kind string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return k.call(method, path, kind, text, answer)
}

// call sends a request as the administrator. An error response is a *KubernetesError.
func (k *KubernetesCluster) call(method, path, kind string, body []byte, answer any) error {
	r, err := k.open(method, path, kind, body)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// open sends a request and returns the response. The caller must read and close its body.
func (k *KubernetesCluster) open(method, path, kind string, body []byte) (*http.Response, error) {
	request, err := http.NewRequest(method, "https://"+k.API.Addr+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+KubernetesAdmin)
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	r, err := k.client.Do(request)
	if err != nil || r.StatusCode < 300 {
		return r, err
	}
	defer r.Body.Close()
	refused := KubernetesError{Code: r.StatusCode}
	if err := json.NewDecoder(r.Body).Decode(&refused); err != nil {
		refused.Message = r.Status
	}
	refused.Code = r.StatusCode
	return nil, &refused
}

// Namespace creates a namespace that is deleted at the end of the test. labels is a JSON object, such as {"a": "b"}.
func (k *KubernetesCluster) Namespace(t TB, name, labels string) {
	t.Helper()
	path := "/api/v1/namespaces"
	if err := k.Create(path, fmt.Sprintf(`{"metadata": {"name": %q, "labels": %s}}`, name, labels)); err != nil {
		t.Fatalf("make a namespace: %v", err)
	}
	t.Cleanup(func() {
		if err := k.Delete(path + "/" + name); err != nil {
			t.Logf("remove a namespace: %v", err)
		}
	})
}

// kubeTime returns the current time in the API's format.
func kubeTime() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000Z") }
