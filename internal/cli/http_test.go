package cli_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/test/shell"
	"brunt/test/testserver"
)

func TestHTTPOneLine(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	c := shell.Run(t, "brunt http", server.Addr, "--duration", "1s", "--quiet")
	if c.Code != exitcode.Pass && c.Code != exitcode.Invalid || c.Run.Total.Done != 100 || c.Run.LoadModel != "open" ||
		!strings.Contains(c.Out, "GET /  ") {
		t.Errorf("exit %d, %d done", c.Code, c.Run.Total.Done)
	}
	c = shell.Run(t, "brunt http", "http://"+server.Addr+"/missing", "--sessions", "3", "--requests", "200",
		"--threshold",
		"errors < 10%", "--quiet")
	if c.Code != exitcode.Threshold && c.Code != exitcode.Invalid || c.Run.Total.Failed != 200 ||
		c.Run.LoadModel != "closed" || c.Run.Sessions != 3 {
		t.Errorf("exit %d, %d failed", c.Code, c.Run.Total.Failed)
	}
	c = shell.Run(t, "brunt http", "http://"+server.Addr+"/missing", "--requests", "50", "--rate", "100", "--good",
		"200-299,404", "--quiet")
	if c.Run.Total.OK != 50 || c.Run.Total.Done != 50 {
		t.Errorf("%d good of %d", c.Run.Total.OK, c.Run.Total.Done)
	}
}

// A service that asks clients for certificates gets the one that is given.
func TestHTTPClientCertificates(t *testing.T) {
	t.Parallel()
	var service *httptest.Server
	service = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.TLS.PeerCertificates[0].Equal(service.Certificate()) {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	service.EnableHTTP2 = true
	service.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	service.StartTLS()
	defer service.Close()
	secret, err := x509.MarshalPKCS8PrivateKey(service.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, kind string, content []byte) string {
		return shell.File(t, name, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})))
	}
	cert := file("cert.pem", "CERTIFICATE", service.Certificate().Raw)
	key := file("key.pem", "PRIVATE KEY", secret)
	for _, line := range []string{
		"http -n 10 --rate 100", "http -n 10 --rate 100 --http1", "http -n 10 --rate 100 --http2-prior",
		"cook -qps 100 -concurrency 1 -totalRequests 10 -interval 1s",
	} {
		t.Run(line, func(t *testing.T) {
			args := append(strings.Fields(line)[1:], "--cacert", cert, "--cert", cert, "--key", key, service.URL)
			c := shell.Run(t, "brunt "+strings.Fields(line)[0], args...)
			if c.Run == nil || c.Run.Total.OK != 10 || c.Run.Total.Failed != 0 {
				t.Errorf("exit %d, %+v", c.Code, c.Run)
			}
		})
	}
	c := shell.Run(t, "brunt http", "-n", "10", "--rate", "100", "--cacert", cert, service.URL)
	// With TLS 1.3 a client learns after the handshake that it was refused: on a busy machine, by its first request.
	late := c.Run != nil && c.Run.Total.OK == 0 && strings.Contains(c.Out, "tls: certificate")
	if c.Code != exitcode.Unreachable && !late {
		t.Errorf("without a certificate: exit %d", c.Code)
	}
}

func TestHTTPList(t *testing.T) {
	t.Parallel()
	p := shell.NewService(t)
	dir := t.TempDir()
	body, list := filepath.Join(dir, "body"), filepath.Join(dir, "list")
	text := "GET " + p.URL + "/a\nX-A: 1\n\nGET " + p.URL + "/a\nX-A: 2\n\nPOST " + p.URL + "/b\n@" + body + "\n"
	for path, content := range map[string]string{body: "{}", list: text} {
		shell.Put(t, path, content)
	}
	c := shell.Run(t, "brunt http", list, "--rate", "300", "--requests", "300", "--quiet")
	if len(c.Run.Operations) != 2 || c.Run.Total.Done != 300 {
		t.Fatalf("exit %d, %+v", c.Code, c.Run)
	}
	for _, request := range []string{"GET /a 1 ", "GET /a 2 ", "POST /b  {}"} {
		if got := p.Count(request); got != 100 {
			t.Errorf("%s: %d times in order, want 100", request, got)
		}
	}
	p = shell.NewService(t)
	text = strings.ReplaceAll(text, "GET http", "GET  http")
	text = regexp.MustCompile(`http://[^/]*`).ReplaceAllString(text, p.URL)
	shell.Put(t, list, text)
	shell.Run(t, "brunt http", list, "--rate", "300", "--requests", "300", "--quiet", "--in-order=false")
	for request, n := range map[string][2]int{"GET /a 1 ": {60, 140}, "GET /a 2 ": {60, 140}, "POST /b  {}": {60, 140}} {
		if got := p.Count(request); got < n[0] || got > n[1] {
			t.Errorf("%s: %d times", request, got)
		}
	}
}

func TestHTTPUsage(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                                      "needs arguments, and there are none",
		"nonsense":                              "neither a file nor a URL",
		"http://":                               "missing host",
		"http://a --rate 0":                     "above zero",
		"http://a --sessions 0":                 "at least 1",
		"http://a --duration 0s":                "above zero",
		"http://a --threshold x":                "--threshold",
		"http://a -H nonsense":                  "write Name: value",
		"http://a -d @missing-file":             "no such file",
		"http://a --late never":                 "queue or drop",
		"http://a --output x":                   "use text",
		"http://a -X get":                       "HTTP method",
		"- -X PUT":                              "for URLs",
		"http://a --rate 5/x":                   "N/unit",
		"http://a --rate 5/0s":                  "N/unit",
		"http://a -d x --secret-data y":         "give one",
		"http://a --bundle b --no-record":       "exclude each other",
		"http://a --warm-up 0s":                 "--warm-up",
		"-":                                     "holds no request",
		"http://a --hlog /nonexistent/folder/x": "no such file",
	} {
		c := shell.Run(t, "brunt http", strings.Fields(line)...)
		if c.Code != exitcode.BadPlan || !strings.Contains(c.Err, want) || strings.Count(c.Err, "\n") != 1 {
			t.Errorf("%q: exit %d\n%s", line, c.Code, c.Err)
		}
	}
}

// Requests are sent in the order of the list, repeatedly. A request with a body is a POST, several arguments are one
// list, and the warm-up is not counted.
func TestHTTPOrderAndBodies(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return // brunt asks what the server is
		}
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+r.URL.Path+r.Header.Get("X-N")+string(body))
	}))
	defer server.Close()
	list := filepath.Join(t.TempDir(), "targets.json")
	text := `{"method":"PUT","url":"` + server.URL + `/j","body":"eA==","header":{"X-N":["7"]}}` + "\n\n" +
		`{"method":"GET","url":"` + server.URL + `/a"}` + "\n"
	shell.Put(t, list, text)
	for _, c := range []struct {
		args, want string
	}{
		{server.URL + "/a " + server.URL + "/b " + server.URL + "/a -n 7 -c 1",
			"GET/a GET/b GET/a GET/a GET/b GET/a GET/a"},
		{server.URL + "/a -d x -n 2 -c 1", "POST/ax POST/ax"},
		{server.URL + "/a -d x -X PATCH -n 1 -c 1", "PATCH/ax"},
		{server.URL + "/a --secret-data x -n 1 -c 1", "POST/ax"},
		{list + " " + server.URL + "/b -H X-N:1 -n 4 -c 1", "PUT/j7x GET/a1 GET/b1 PUT/j7x"},
	} {
		seen = nil
		r := shell.Run(t, "brunt http", append(strings.Fields(c.args), "--quiet")...)
		got := strings.Join(seen, " ")
		if got != c.want {
			t.Errorf("%s: exit %d, sent %s, want %s\n%s", c.args, r.Code, got, c.want, r.Err)
		}
	}
	r := shell.Run(t, "brunt http", server.URL+"/w", "--rate", "100", "--requests", "20", "--warm-up", "300ms", "--quiet")
	if r.Run.Total.Done != 20 || len(r.Run.Phases) != 2 || !r.Run.Phases[0].WarmUp || r.Run.Phases[0].Done == 0 {
		t.Errorf("exit %d: done %d in %+v", r.Code, r.Run.Total.Done, r.Run.Phases)
	}
}

func TestHTTPFollowsRedirectsIfAsked(t *testing.T) {
	t.Parallel()
	p := shell.NewService(t)
	c := shell.Run(t, "brunt http", "--redirects", "2", "--rate", "20", "--requests", "20", p.URL+"/moved")
	if c.Run.Total.Status[2] != 20 || c.Run.Total.Done != 20 || p.Count("GET /elsewhere  ") != 20 {
		t.Errorf("%v, %d were followed", c.Run.Total.Status, p.Count("GET /elsewhere  "))
	}
}

// Neither the output nor any file of the bundle contains the user's secrets.
func TestHTTPKeepsSecrets(t *testing.T) {
	t.Parallel()
	p := shell.NewService(t)
	c := shell.Run(t, "brunt http", "--rate", "20", "--requests", "20", "-H", "Authorization: hunter2", p.URL)
	for _, text := range c.Texts(t) {
		if strings.Contains(text, "hunter2") {
			t.Errorf("a secret stands in\n%s", text)
		}
	}
}
