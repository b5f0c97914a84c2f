package tools_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/credentials"

	"brunt/test/shell"
	"brunt/test/testserver/grpcserver"
)

// names collects the names for TLS that clients ask for.
type names struct {
	mu  sync.Mutex
	all []string
}

// take returns those since the last call.
func (n *names) take() (all []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all, n.all = n.all, nil
	return all
}

// demanding makes a server demand a client's certificate, and note the names that it is asked for.
func (n *names) demanding(c *tls.Config, certificate []byte) *tls.Config {
	c.ClientAuth = tls.RequireAnyClientCert
	c.VerifyConnection = func(s tls.ConnectionState) error {
		if !bytes.Equal(s.PeerCertificates[0].Raw, certificate) {
			return errors.New("another certificate")
		}
		n.mu.Lock()
		n.all = append(n.all, s.ServerName)
		n.mu.Unlock()
		return nil
	}
	return c
}

const withCertificate = `
phantom:
  enabled: true
  address: ADDRESS
  load_profile: {load_type: instances, schedule: "const(1, 1s)"}
  uris: [/]
  headers: ["[Host: a]"]
  loop: 1
  ssl: true
  client_certificate: CERT
  client_key: KEY
core: {artifacts_base_dir: DIR}
`

// Tools that have options for a client's certificate, an authority and the name for TLS use what they are given.
func TestToolsPresentCertificates(t *testing.T) {
	var asked names
	made := httptest.NewUnstartedServer(nil) // of the certificate, for which both sides have the key
	made.StartTLS()
	made.Close()
	own := made.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		shell.Put(t, path, string(text))
		return path
	}
	cert, secret, both := file("c.pem", certPEM), file("k.pem", keyPEM), file("both.pem", append(certPEM, keyPEM...))
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	web.TLS = asked.demanding(&tls.Config{}, own.Certificate[0])
	web.StartTLS()
	defer web.Close()
	rpc := grpcserver.Start(t, grpcserver.TLS(credentials.NewTLS(asked.demanding(
		&tls.Config{Certificates: []tls.Certificate{own}}, own.Certificate[0]))))
	names := strings.NewReplacer("ADDRESS", web.Listener.Addr().String(), "CERT", cert, "KEY", secret, "DIR", dir)
	tank := file("load.yaml", []byte(names.Replace(withCertificate)))
	list := file("list", []byte("GET "+web.URL+"/\n"))
	pair, url := " --cacert "+cert+" --cert "+cert+" --key "+secret, " "+web.URL+"/"
	for name, c := range map[string]struct {
		args string
		sni  string
	}{
		"ab": {"ab -n 2 -E " + both + url, ""},
		"vegeta": {"vegeta attack -rate 20 -duration 100ms -targets " + list + " -cert " + cert + " -key " + secret +
			" -root-certs " + cert + " -output " + filepath.Join(dir, "results"), ""},
		"tank": {"tank -c " + tank, ""},
		"http": {"http --requests 2 --server-name example.com" + pair + url, "example.com"},
		"ghz":  {"ghz --call brunt.test.Echo/Say -n 2 -c 1 --cname example.com" + pair + " " + rpc.Addr, "example.com"},
		"grpc": {"grpc " + rpc.Addr + " brunt.test.Echo/Say -n 2 --server-name example.com" + pair, "example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			words := strings.Fields(c.args)
			o := shell.Run(t, "brunt "+words[0], words[1:]...)
			all := asked.take()
			if len(all) == 0 {
				t.Fatalf("exit %d, no connection\n%s%s", o.Code, o.Out, o.Err)
			}
			for _, sni := range all {
				if sni != c.sni {
					t.Errorf("asked for %q, want %q", sni, c.sni)
				}
			}
		})
	}
}

// proxy tunnels by CONNECT, and passes whole URLs on, for a user with a password.
type proxy struct {
	tunnels, whole atomic.Int64
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("me:pw")) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="proxy"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if r.Method != http.MethodConnect {
		if r.URL.IsAbs() {
			p.whole.Add(1)
		}
		return
	}
	to, err := net.Dial("tcp", r.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer to.Close()
	p.tunnels.Add(1)
	w.WriteHeader(http.StatusOK)
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	go func() { _, _ = io.Copy(to, buffered) }()
	_, _ = io.Copy(c, to)
}

const throughAProxy = `<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
<TestPlan testname="P"/><hashTree><ThreadGroup testname="G"/><hashTree>
<HTTPSamplerProxy testname="h"><stringProp name="HTTPSampler.domain">127.0.0.1</stringProp>
<stringProp name="HTTPSampler.port">PORT</stringProp></HTTPSamplerProxy><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>`

// Tools that have options for an HTTP proxy send all requests through it.
func TestToolsGoThroughProxies(t *testing.T) {
	var served atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
	defer web.Close()
	secure := httptest.NewTLSServer(web.Config.Handler)
	defer secure.Close()
	var p proxy
	via := httptest.NewServer(&p)
	defer via.Close()
	at := via.Listener.Addr().String()
	host, port, _ := net.SplitHostPort(at)
	_, webPort, _ := net.SplitHostPort(web.Listener.Addr().String())
	jmx := filepath.Join(t.TempDir(), "x.jmx")
	shell.Put(t, jmx, strings.ReplaceAll(throughAProxy, "PORT", webPort))
	options := " -H " + host + " -P " + port + " -u me -a pw"
	for name, c := range map[string]struct {
		args  string
		whole int64 // URLs that the proxy gets; 0: it is asked for tunnels
	}{
		"ab":                        {"ab -n 2 -X " + at + " -P me:pw " + web.URL + "/", 2},
		"hey":                       {"hey -n 2 -c 1 -x http://me:pw@" + at + " " + web.URL, 2},
		"hey, TLS":                  {"hey -n 2 -c 1 -x http://me:pw@" + at + " " + secure.URL, 0},
		"http":                      {"http " + web.URL + " --requests 2 --via http://me:pw@" + at, 0},
		"jmeter":                    {"jmeter -n -t " + jmx + options, 1},
		"jmeter, sending to anyone": {"jmeter -n -t " + jmx + options + " -Jbrunt.hosts=any", 1},
	} {
		t.Run(name, func(t *testing.T) {
			p.tunnels.Store(0)
			p.whole.Store(0)
			served.Store(0)
			words := strings.Fields(c.args)
			o := shell.Run(t, "brunt "+words[0], words[1:]...)
			if p.whole.Load() != c.whole || c.whole == 0 && (p.tunnels.Load() == 0 || served.Load() == 0) {
				t.Errorf("exit %d: %d tunnels, %d whole URLs, %d requests\n%s%s", o.Code, p.tunnels.Load(), p.whole.Load(),
					served.Load(), o.Out, o.Err)
			}
		})
	}
}
