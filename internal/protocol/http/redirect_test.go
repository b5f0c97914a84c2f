package http

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
)

func TestRedirectsAreFollowedIfAsked(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	note := func(r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.Path+" "+string(body)+" "+r.Header.Get("Authorization"))
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { note(r) }))
	defer other.Close()
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r)
		switch r.URL.Path {
		case "/found":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/same":
			w.Header().Set("Connection", "close")
			http.Redirect(w, r, "end", http.StatusTemporaryRedirect)
		case "/away":
			http.Redirect(w, r, other.URL+"/there", http.StatusSeeOther)
		case "/circle":
			http.Redirect(w, r, "/circle", http.StatusFound)
		case "/nowhere":
			w.Header().Set("Location", "mailto:x@example.org")
			w.WriteHeader(http.StatusFound)
		}
	}))
	defer home.Close()
	for _, c := range []struct {
		path, redirects string
		status          int
		want            string
	}{
		{"/found", "0", 302, "POST /found b s"},
		{"/found", "3", 200, "POST /found b s, GET /end  s"},
		{"/same", "3", 200, "POST /same b s, POST /end b s"},
		{"/away", "3", 200, "POST /away b s, GET /there  "},
		{"/circle", "2", 302, "POST /circle b s, GET /circle  s, GET /circle  s"},
		{"/nowhere", "2", 302, "POST /nowhere b s"},
		{"/end", "2", 200, "POST /end b s"},
	} {
		asked = nil
		target := protocol.Target{Address: strings.TrimPrefix(home.URL, "http://"),
			Options: map[string]string{"redirects": c.redirects}}
		program := &protocol.Program{Requests: []protocol.Request{{Verb: protocol.HTTP, Web: &protocol.Web{
			Method: "POST", Path: c.path, Body: []byte("b"), Header: [][2]string{{"Authorization", "s"}},
		}}}}
		if _, ok := New().Takes(target, program); ok != (c.redirects == "0") {
			t.Errorf("the codec takes %s redirects: %v", c.redirects, ok)
		}
		conn, err := New().Dial(t.Context(), target, program)
		if err != nil {
			t.Fatal(err)
		}
		var reply protocol.Reply
		conn.Do(t.Context(), &program.Requests[0], nil, &reply)
		conn.Close()
		class := protocol.OK
		if c.status == 302 && c.redirects != "0" {
			class = protocol.Server // redirects are to be followed, and this one leads nowhere
		}
		if got := strings.Join(asked, ", "); got != c.want || reply.Status != c.status || reply.Class != class {
			t.Errorf("%s: %q, want %q; %+v", c.path, got, c.want, reply)
		}
	}
	for _, bad := range []string{"x", "-1", "21"} {
		if _, err := parseOptions(protocol.Target{Options: map[string]string{"redirects": bad}}); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

// A redirect to the same IPv6 address is followed there, although servers aren't told the zone that leads to it.
func TestRedirectsKeepTheZone(t *testing.T) {
	var hosts []string
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts = append(hosts, r.Host+r.URL.Path)
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "/two", http.StatusFound)
		case "/two":
			http.Redirect(w, r, "http://"+r.Host+"/three", http.StatusFound)
		}
	}))
	defer home.Close()
	const zoned = "[fe80::1%eth0]:81"
	target := protocol.Target{Address: zoned, Options: map[string]string{"redirects": "2"},
		Way: &socket.Way{Resolve: map[string]string{zoned: strings.TrimPrefix(home.URL, "http://")}}}
	program := &protocol.Program{Requests: []protocol.Request{get("/")}}
	conn, err := New().Dial(t.Context(), target, program)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := do(t, conn, &program.Requests[0])
	if got := strings.Join(hosts, " "); r.Class != protocol.OK || got != "[fe80::1]:81/ [fe80::1]:81/two [fe80::1]:81/three" {
		t.Errorf("%s, %+v", got, r.Failure)
	}
}

// Certificates that aren't verified, and the client's own, count for the addresses that redirects lead to.
func TestRedirectsLeadToHTTPSWithTheTargetsSettings(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	secure.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	secure.StartTLS()
	defer secure.Close()
	home := httptest.NewServer(http.RedirectHandler(secure.URL, http.StatusFound))
	defer home.Close()
	address := strings.TrimPrefix(home.URL, "http://")
	for name, c := range map[string]struct {
		config *tls.Config
		class  protocol.Class
	}{
		"verified":     {nil, protocol.Connect},
		"not verified": {&tls.Config{InsecureSkipVerify: true}, protocol.Server},
		"certificate": {&tls.Config{InsecureSkipVerify: true, Certificates: secure.TLS.Certificates},
			protocol.OK},
	} {
		t.Run(name, func(t *testing.T) {
			target := protocol.Target{Address: address, TLS: c.config,
				Options: map[string]string{"redirects": "1", "plain": address}}
			program := &protocol.Program{Requests: []protocol.Request{get("/")}}
			conn, err := New().Dial(t.Context(), target, program)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if r := do(t, conn, &program.Requests[0]); r.Class != c.class {
				t.Errorf("%+v, want class %v", r, c.class)
			}
		})
	}
}
