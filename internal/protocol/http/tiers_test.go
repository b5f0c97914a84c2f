package http

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/internal/protocol/socket"
)

// Each way to send requests sends the same header, also where a request sets what brunt or net/http would set.
func TestHeadersAreTheSameEverywhere(t *testing.T) {
	var seen string
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header := r.Header.Clone()
		header.Del("Content-Length") // it is in r
		if r.ProtoMajor == 2 {       // which has no such field
			if r.Header.Get("Connection") != "" {
				header.Set("Connection", "in HTTP/2")
			} else if to := r.Header.Get("Wanted"); to != "" {
				header.Set("Connection", to)
			}
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(header)) {
			all = append(all, name+"="+strings.Join(header[name], "|"))
		}
		seen = fmt.Sprintf("%s %s %d", r.Host, strings.Join(all, " "), r.ContentLength)
	})
	plainServer := httptest.NewUnstartedServer(handler)
	plainServer.Config.Protocols = new(http.Protocols)
	plainServer.Config.Protocols.SetHTTP1(true)
	plainServer.Config.Protocols.SetUnencryptedHTTP2(true)
	plainServer.Start()
	t.Cleanup(plainServer.Close)
	secure := httptest.NewUnstartedServer(handler)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for _, c := range []struct {
		name, want string
		web        protocol.Web
		user       string
		to         string // "": the server's own address
	}{
		{"none", "ADDRESS User-Agent=brunt 0", protocol.Web{Method: "GET", Path: "/"}, "", ""},
		{"a zone of IPv6", "[fe80::1]:81 User-Agent=brunt 0", protocol.Web{Method: "GET", Path: "/"}, "",
			"[fe80::1%eth0]:81"},
		{"what brunt sets", "own Accept-Encoding=br Authorization=Own Origin=http://a User-Agent=me 2", protocol.Web{
			Method: "POST", Path: "/", Body: []byte("ab"), Header: [][2]string{{"host", "own"}, {"USER-AGENT", "me"},
				{"Authorization", "Own"}, {"accept-encoding", "br"}, {"Origin", "http://a"}}}, "u", ""},
		{"no agent", "ADDRESS  0", protocol.Web{Method: "POST", Path: "/", Header: [][2]string{{"User-Agent", ""}}}, "",
			""},
		{"several", "ADDRESS Origin=a|b User-Agent=brunt 0", protocol.Web{Method: "GET", Path: "/",
			Header: [][2]string{{"Origin", "a"}, {"origin", "b"}}}, "", ""},
		{"connection", "ADDRESS Connection=keep-alive User-Agent=brunt Wanted=keep-alive 0", protocol.Web{Method: "GET",
			Path: "/", Header: [][2]string{{"Connection", "keep-alive"}, {"Wanted", "keep-alive"}}}, "", ""},
	} {
		capture := []protocol.Capture{{Name: "body", Kind: gen.String}} // which needs the library
		for tier, way := range map[string]struct {
			server  *httptest.Server
			options map[string]string
			capture []protocol.Capture
			codec   bool
		}{
			"codec":                        {plainServer, nil, nil, true},
			"codec, HTTP/2":                {plainServer, map[string]string{"http2": "prior"}, nil, true},
			"library":                      {plainServer, nil, capture, false},
			"library, HTTP/2":              {plainServer, map[string]string{"http2": "prior"}, capture, false},
			"library, HTTP/2 over TLS":     {secure, nil, nil, false},
			"library, HTTP/1 over TLS":     {secure, map[string]string{"http2": "off"}, capture, false},
			"codec, HTTP/1 over TLS":       {secure, map[string]string{"http2": "off"}, nil, true},
			"codec, HTTP/2 over TLS":       {secure, map[string]string{"http2": "prior"}, nil, true},
			"library, redirects, HTTP/1":   {plainServer, map[string]string{"redirects": "2"}, nil, false},
			"library, a connection for it": {plainServer, map[string]string{"lazy": "on"}, nil, false},
		} {
			t.Run(c.name+"/"+tier, func(t *testing.T) {
				_, address, _ := strings.Cut(way.server.URL, "://")
				target := protocol.Target{Address: address, Options: way.options, User: c.user}
				d := New()
				if way.server == secure {
					target.TLS = secure.Client().Transport.(*http.Transport).TLSClientConfig
				}
				if c.to != "" {
					target.Address, target.Way = c.to, &socket.Way{Resolve: map[string]string{c.to: address}}
					if target.TLS != nil {
						target.TLS = target.TLS.Clone()
						target.TLS.ServerName = "example.com"
					}
				}
				web := c.web
				p := &protocol.Program{Requests: []protocol.Request{{Verb: protocol.HTTP, Web: &web, Capture: way.capture}}}
				var conn protocol.Conn
				if way.codec {
					conn = protocoltest.Take(t, d, target, p, 64<<10)
				} else {
					var err error
					if conn, err = d.Dial(t.Context(), target, p); err != nil {
						t.Fatal(err)
					}
					defer conn.Close()
				}
				var reply protocol.Reply
				conn.Do(t.Context(), &p.Requests[0], nil, &reply)
				want := strings.ReplaceAll(c.want, "ADDRESS", address)
				if reply.Class != protocol.OK || seen != want {
					t.Errorf("%+v: got %s, want %s", reply.Failure, seen, want)
				}
			})
		}
	}
	_, refused := New().prepare(protocol.Target{Address: "h:80"}, &protocol.Program{Requests: []protocol.Request{
		{Verb: protocol.HTTP, Web: &protocol.Web{Method: "GET", Path: "/",
			Header: [][2]string{{"Host", "a"}, {"host", "b"}}}}}})
	if refused == nil || !strings.Contains(refused.Text, "Host is given twice") {
		t.Errorf("two hosts: %v", refused)
	}
}
