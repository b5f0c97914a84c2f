package kubernetes

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/run/scale"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// noEnvironment hides the user's own kubeconfig from the tests.
func noEnvironment(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
}

const usual = `apiVersion: v1
kind: Config
current-context: a
preferences: {colors: true}
clusters:
- {name: one, cluster: {server: "https://10.1.2.3:6443", insecure-skip-tls-verify: true}}
- {name: two, cluster: {server: "https://10.9.9.9:6443/k8s/", tls-server-name: api}}
users:
- {name: me, user: {token: hidden-token}}
contexts:
- {name: a, context: {cluster: one, user: me}}
- {name: b, context: {cluster: two, user: me, namespace: load}}
- {name: lost, context: {cluster: three, user: me}}
- {name: nobody, context: {cluster: one, user: you}}
`

func TestKubeconfigsAreRead(t *testing.T) {
	noEnvironment(t)
	path := write(t, t.TempDir(), "config", usual)
	for name, row := range map[string]struct {
		s                 Source
		server, namespace string
	}{
		"current context": {Source{Kubeconfig: path}, "https://10.1.2.3:6443", "default"},
		"named context":   {Source{Kubeconfig: path, Context: "b"}, "https://10.9.9.9:6443/k8s", "load"},
		"namespace":       {Source{Kubeconfig: path, Context: "b", Namespace: "x"}, "https://10.9.9.9:6443/k8s", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := row.s.read()
			if err != nil {
				t.Fatal(err)
			}
			if c.server != row.server {
				t.Errorf("server %s, want %s", c.server, row.server)
			}
			if c.namespace != row.namespace {
				t.Errorf("namespace %s, want %s", c.namespace, row.namespace)
			}
			token, err := c.bearer(context.Background())
			if err != nil || token != "hidden-token" {
				t.Errorf("token %q, %v", token, err)
			}
		})
	}
}

// The files of KUBECONFIG are merged, and settings of earlier files take precedence.
func TestSeveralKubeconfigs(t *testing.T) {
	noEnvironment(t)
	dir := t.TempDir()
	first := write(t, dir, "first", "current-context: c\ncontexts: [{name: c, context: {cluster: two, user: me}}]\n")
	second := write(t, dir, "second", usual)
	files := []string{filepath.Join(dir, "none"), first, second}
	t.Setenv("KUBECONFIG", strings.Join(files, string(filepath.ListSeparator)))
	c, err := (&Source{}).read()
	if err != nil {
		t.Fatal(err)
	}
	if want := "https://10.9.9.9:6443/k8s"; c.server != want {
		t.Errorf("server %s, want %s", c.server, want)
	}
}

// In a pod without a kubeconfig, the service account is used, and its token is read again for each request.
func TestInCluster(t *testing.T) {
	noEnvironment(t)
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	dir := t.TempDir()
	write(t, dir, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	write(t, dir, "token", "first\n")
	write(t, dir, "namespace", "load\n")
	c, err := (&Source{}).inCluster("10.0.0.1:443", dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.server != "https://10.0.0.1:443" || c.namespace != "load" {
		t.Errorf("server %s, namespace %s", c.server, c.namespace)
	}
	for _, want := range []string{"first", "second"} {
		write(t, dir, "token", want)
		if token, err := c.bearer(context.Background()); err != nil || token != want {
			t.Errorf("token %q, %v, want %q", token, err, want)
		}
	}
}

func TestBadKubeconfigs(t *testing.T) {
	noEnvironment(t)
	dir := t.TempDir()
	path := write(t, dir, "config", usual)
	replaced := func(name, old, replacement string) string {
		return write(t, dir, name, strings.Replace(usual, old, replacement, 1))
	}
	for name, row := range map[string]struct {
		s    Source
		want string
	}{
		"none":       {Source{}, "no kubeconfig: there is no ~/.kube/config and KUBECONFIG is not set"},
		"no file":    {Source{Kubeconfig: filepath.Join(dir, "no")}, "the kubeconfig can't be read"},
		"no YAML":    {Source{Kubeconfig: write(t, dir, "bad", "a: [hidden-token\n")}, "is no kubeconfig: "},
		"binary":     {Source{Kubeconfig: write(t, dir, "binary", "\x00\x01\xff")}, "is no kubeconfig: "},
		"a list":     {Source{Kubeconfig: write(t, dir, "list", "- a\n- b\n")}, "is no kubeconfig: "},
		"empty":      {Source{Kubeconfig: write(t, dir, "empty", "")}, "has no current-context"},
		"no context": {Source{Kubeconfig: path, Context: "z"}, "has no context z; there are: a, b, lost, nobody"},
		"no cluster": {Source{Kubeconfig: path, Context: "lost"}, `names the cluster "three", which is not there`},
		"no user":    {Source{Kubeconfig: path, Context: "nobody"}, `names the user "you", who is not there`},
		"no URL": {Source{Kubeconfig: replaced("u", "https://10.1.2.3:6443", "10.1.2.3")},
			"the cluster's server is not a URL"},
		"auth-provider": {Source{Kubeconfig: replaced("p", "token: hidden-token", "auth-provider: {name: gcp}")},
			"auth-provider"},
		"password": {Source{Kubeconfig: replaced("w", "token: hidden-token", "username: u, password: hidden-token")},
			"a user name with password"},
		"authority": {Source{Kubeconfig: replaced("a", "insecure-skip-tls-verify: true", "certificate-authority-data: '%'")},
			"certificate-authority-data is not base64"},
		"no authority": {Source{Kubeconfig: replaced("n", "insecure-skip-tls-verify: true",
			"certificate-authority-data: "+base64.StdEncoding.EncodeToString([]byte("no")))}, "no certificate in PEM"},
		"certificate": {Source{Kubeconfig: replaced("c", "token: hidden-token", "client-certificate: gone.crt")}, "gone.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(row.s)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("got %v, want %q", err, row.want)
			}
			if strings.Contains(err.Error(), "hidden-token") {
				t.Errorf("the error tells a secret: %v", err)
			}
			if e, ok := err.(*scale.Error); !ok || e.Code != codeBadFlags {
				t.Errorf("not an error of code %d: %v", codeBadFlags, err)
			}
		})
	}
}

func TestCredentialPlugins(t *testing.T) {
	noEnvironment(t)
	dir := t.TempDir()
	write(t, dir, "good", `#!/bin/sh
echo x >> `+dir+`/calls
case "$KUBERNETES_EXEC_INFO" in *client.authentication.k8s.io/v1*) ;; *) exit 1;; esac
echo '{"status":{"token":"'"$1-$WHO"'","expirationTimestamp":"2999-01-01T00:00:00Z"}}'
`)
	write(t, dir, "bad", "#!/bin/sh\necho first >&2\necho not logged in >&2\nexit 3\n")
	write(t, dir, "talk", "#!/bin/sh\necho hello\n")
	for name, row := range map[string]struct{ command, token, want string }{
		"good":   {"./good", "T-me", ""},
		"fails":  {"./bad", "", "failed: exit status 3: not logged in"},
		"talks":  {"./talk", "", "printed no ExecCredential"},
		"absent": {"no-such-plugin", "", "is not installed; get it from there"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, dir, "config-"+name, strings.Replace(usual, "token: hidden-token",
				"exec: {apiVersion: client.authentication.k8s.io/v1, command: "+row.command+
					", args: [T], env: [{name: WHO, value: me}], installHint: get it from there}", 1))
			c, err := (&Source{Kubeconfig: path}).read()
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				token, err := c.bearer(context.Background())
				if token != row.token {
					t.Errorf("token %q, want %q", token, row.token)
				}
				if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
					t.Errorf("error %v, want %q", err, row.want)
				}
			}
		})
	}
	if calls, _ := os.ReadFile(filepath.Join(dir, "calls")); string(calls) != "x\n" {
		t.Errorf("a valid token was asked for again: %q", calls)
	}
}

// If the API server doesn't answer, the error is one line with its address, the cause and what to do.
func TestAPIServersThatDontAnswer(t *testing.T) {
	noEnvironment(t)
	answers := func(code int, text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(text))
		})
	}
	secure := func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = nil
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
		s.StartTLS()
		return s
	}
	foreign := secure(answers(200, "{}"))
	denies := secure(answers(401, `{"kind":"Status","message":"Unauthorized","reason":"Unauthorized","code":401}`))
	gone := httptest.NewServer(answers(200, ""))
	plain := httptest.NewServer(answers(200, "hello"))
	gone.Close()
	for _, s := range []*httptest.Server{foreign, denies, plain} {
		t.Cleanup(s.Close)
	}
	for name, row := range map[string]struct{ server, trust, want string }{
		"nothing there": {gone.URL, "insecure-skip-tls-verify: true", "can't be reached: "},
		"not trusted":   {foreign.URL, "tls-server-name: example.com", "is not trusted: "},
		"not HTTPS": {strings.Replace(plain.URL, "http:", "https:", 1), "insecure-skip-tls-verify: true",
			"is it an HTTPS server?"},
		"no API server":  {plain.URL, "insecure-skip-tls-verify: true", "is no Kubernetes API server"},
		"no credentials": {denies.URL, "insecure-skip-tls-verify: true", "refuses the credentials of context a"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(usual, "https://10.1.2.3:6443", row.server, 1)
			text = strings.Replace(text, "insecure-skip-tls-verify: true", row.trust, 1)
			c, err := Open(Source{Kubeconfig: write(t, t.TempDir(), "config", text)})
			if err != nil {
				t.Fatal(err)
			}
			err = c.Check(context.Background())
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("got %v, want %q", err, row.want)
			}
			if !strings.Contains(err.Error(), row.server) {
				t.Errorf("the error lacks the address %s: %v", row.server, err)
			}
			if e, ok := err.(*scale.Error); !ok || e.Code != codeUnreachable {
				t.Errorf("not an error of code %d: %v", codeUnreachable, err)
			}
		})
	}
}

func FuzzKubeconfig(f *testing.F) {
	f.Add([]byte(usual))
	f.Add([]byte("contexts: [{name: a, context: {cluster: &x [*x]}}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Source{Kubeconfig: path}); err == nil {
			return
		} else if _, ok := err.(*scale.Error); !ok {
			t.Errorf("not an error for people: %v", err)
		}
	})
}

func TestNames(t *testing.T) {
	for plan, want := range map[string]string{
		"CARS": "brunt-cars-01234567", "Über Größe 2": "brunt-ber-gr--e-2-01234567", "": "brunt-01234567",
		"***":                      "brunt-01234567",
		strings.Repeat("long", 50): "brunt-" + strings.Repeat("long", 7) + "lo-01234567",
	} {
		t.Run(plan, func(t *testing.T) {
			if got := Name(plan, "0123456789abcdef"); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestPodsAreChecked(t *testing.T) {
	good := Pods{Image: "registry:5000/brunt:1", CPU: "500m", Memory: "1.5Gi", Deadline: time.Hour}
	if err := good.Check(); err != nil {
		t.Errorf("good pods: %v", err)
	}
	for name, change := range map[string]func(*Pods){
		"no image": func(p *Pods) { p.Image = "" }, "blank": func(p *Pods) { p.Image = "a b" },
		"option": func(p *Pods) { p.Image = "-x" }, "cores": func(p *Pods) { p.CPU = "two" },
		"memory": func(p *Pods) { p.Memory = "1 GB" },
	} {
		t.Run(name, func(t *testing.T) {
			p := good
			change(&p)
			if p.Check() == nil {
				t.Errorf("%+v was taken", p)
			}
		})
	}
}
