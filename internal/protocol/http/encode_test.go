package http

import (
	"bufio"
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

func value(s string) gen.Value { return gen.Value{Kind: gen.String, B: []byte(s)} }

func TestEncode(t *testing.T) {
	kinds := []gen.Kind{gen.String, gen.Int}
	args := []gen.Value{value("a b/ü?"), {Kind: gen.Int, I: -7}}
	for _, c := range []struct {
		name, want string
		target     protocol.Target
		web        protocol.Web
	}{
		{"fixed", "GET / HTTP/1.1\r\nHost: h:81\r\nUser-Agent: brunt\r\n\r\n",
			protocol.Target{Address: "h:81"}, protocol.Web{Method: "GET", Path: "/"}},
		{"path", "GET /a%20b%2F%C3%BC%3F?n=-7&d=$x HTTP/1.1\r\nHost: h\r\nUser-Agent: brunt\r\n\r\n",
			protocol.Target{Address: "h:80"}, protocol.Web{Method: "GET", Path: "/$1?n=$2&d=$x"}},
		{"own fields", "GET / HTTP/1.1\r\nUSER-agent: me\r\nHost: virtual\r\nX: -7!\r\n\r\n",
			protocol.Target{Address: "[::1]:80"}, protocol.Web{Method: "GET", Path: "/",
				Header: [][2]string{{"USER-agent", "me"}, {"Host", "virtual"}, {"X", "$2!"}}}},
		{"body", "PUT / HTTP/1.1\r\nHost: [::1]\r\nUser-Agent: brunt\r\nContent-Length: 3\r\n\r\nabc",
			protocol.Target{Address: "[::1]:80"}, protocol.Web{Method: "PUT", Path: "/", Body: []byte("abc")}},
		{"empty body", "POST / HTTP/1.1\r\nHost: h\r\nUser-Agent: brunt\r\nContent-Length: 0\r\n\r\n",
			protocol.Target{Address: "h:80"}, protocol.Web{Method: "POST", Path: "/"}},
		{"made body", "POST /-7 HTTP/1.1\r\nHost: h\r\nUser-Agent: brunt\r\nContent-Length: 10\r\n\r\n{a b/ü?-7",
			protocol.Target{Address: "h:80"}, protocol.Web{Method: "POST", Path: "/$2", Body: []byte("{$1$2")}},
		{"chunked body", "PUT / HTTP/1.1\r\nHost: h\r\nUser-Agent: brunt\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"10\r\nabcdefghijklmnop\r\n0\r\n\r\n", protocol.Target{Address: "h:80"}, protocol.Web{Method: "PUT", Path: "/",
			Header: [][2]string{{"transfer-encoding", "Chunked"}}, Body: []byte("abcdefghijklmnop")}},
		{"made body in a chunk", "GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: brunt\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"2\r\n-7\r\n0\r\n\r\n", protocol.Target{Address: "h:80"}, protocol.Web{Method: "GET", Path: "/",
			Header: [][2]string{{"Transfer-Encoding", "chunked"}}, Body: []byte("$2")}},
		{"empty body in chunks", "GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: brunt\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"0\r\n\r\n", protocol.Target{Address: "h:80"}, protocol.Web{Method: "GET", Path: "/",
			Header: [][2]string{{"Transfer-Encoding", "chunked"}}}},
		{
			"authorization", "GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: brunt\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n",
			protocol.Target{Address: "h:80", User: "Aladdin", Password: "open sesame"}, protocol.Web{Method: "GET", Path: "/"}},
		{"compress", "GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: brunt\r\nAccept-Encoding: gzip\r\n\r\n",
			protocol.Target{Address: "h:80", Options: map[string]string{"compress": "on"}},
			protocol.Web{Method: "GET", Path: "/"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := protocol.Request{Verb: protocol.HTTP, Web: &c.web, Params: kinds}
			got, refused := fresh(t, c.target, req)().Encode([]byte(">"), &req, args)
			if refused != nil {
				t.Fatal(refused)
			}
			want := ">" + c.want
			if string(got) != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			parsed, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(got[1:])))
			if err != nil || parsed.Method != c.web.Method {
				t.Errorf("net/http reads it as %v, %v", parsed, err)
			}
		})
	}
}

func TestEncodeRefusesLineBreaksInFields(t *testing.T) {
	req := protocol.Request{Verb: protocol.HTTP,
		Web: &protocol.Web{Method: "GET", Path: "/", Header: [][2]string{{"X", "$1"}}}, Params: []gen.Kind{gen.String}}
	c := fresh(t, plain, req)()
	for _, bad := range []string{"a\r\nB: c", "a\nb", "a\x00"} {
		out, refused := c.Encode([]byte(">"), &req, []gen.Value{value(bad)})
		if refused == nil || refused.Class != protocol.Client || string(out) != ">" {
			t.Errorf("%q: got %q, %v", bad, out, refused)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	web := func(method, path string, header ...[2]string) protocol.Request {
		return protocol.Request{Verb: protocol.HTTP, Web: &protocol.Web{Method: method, Path: path, Header: header},
			Params: []gen.Kind{gen.Int}}
	}
	capturing := web("GET", "/")
	capturing.Capture = []protocol.Capture{{Name: "Location"}}
	for _, c := range []struct {
		req     protocol.Request
		options map[string]string
		want    string
	}{
		{protocol.Request{Verb: protocol.SQL, Text: "SELECT 1"}, nil, "only HTTP requests"},
		{web("CONNECT", "/"), nil, "CONNECT"},
		{web("GE T", "/"), nil, "GE T"},
		{web("GET", "x"), nil, "doesn't begin with /"},
		{web("GET", "/a b"), nil, "write %20"},
		{web("GET", "/$2"), nil, "$2 names no parameter"},
		{web("GET", "/", [2]string{"Content-Length", "3"}), nil, "Content-Length is set by brunt"},
		{web("GET", "/", [2]string{"Transfer-Encoding", "gzip"}), nil, "Transfer-Encoding is set by brunt"},
		{web("GET", "/"), map[string]string{"proxy.A B": "1"}, "option proxy.A B isn't a header field"},
		{web("GET", "/", [2]string{"A B", "3"}), nil, "isn't the name of a header"},
		{web("GET", "/", [2]string{"A", "3\r\nB: 4"}), nil, "line break"},
		{capturing, nil, "write header:Name"},
		{web("GET", "/"), map[string]string{"god": "200"}, `unknown option "god"`},
		{web("GET", "/"), map[string]string{"good": "100-200"}, "100-200"},
		{web("GET", "/"), map[string]string{"good": "200-600"}, "200-600"},
		{web("GET", "/"), map[string]string{"good": ""}, "isn't a status"},
		{web("GET", "/"), map[string]string{"proxy": "yes"}, `"yes" isn't possible; give off, env`},
	} {
		_, refused := New().prepare(protocol.Target{Address: "h:80", Options: c.options},
			&protocol.Program{Requests: []protocol.Request{c.req}})
		if refused == nil || refused.Class != protocol.Client || !strings.Contains(refused.Text, c.want) {
			t.Errorf("want %q; got %v", c.want, refused)
		}
	}
}

func TestTakes(t *testing.T) {
	body := get("/")
	body.Capture = []protocol.Capture{{Name: "json:a.0"}}
	hashed := get("/")
	hashed.Web.HashEvery = 1
	for _, c := range []struct {
		d       *Driver
		req     protocol.Request
		options map[string]string
		want    string
	}{
		{New(), get("/"), nil, ""},
		{NewSecure(), get("/"), nil, ""},
		{New(), get("/"), map[string]string{"proxy": "env"}, "proxy"},
		{New(), get("/"), map[string]string{"noreuse": "on"}, "for each request"},
		{New(), body, nil, "capturing"},
		{New(), hashed, map[string]string{"compress": "on"}, "packed body"},
	} {
		why, ok := c.d.Takes(protocol.Target{Address: "h:80", Options: c.options},
			&protocol.Program{Requests: []protocol.Request{c.req}})
		if ok != (c.want == "") || !strings.Contains(why, c.want) {
			t.Errorf("want %q; got %q, %v", c.want, why, ok)
		}
	}
}

func FuzzEscapePath(f *testing.F) {
	f.Add([]byte("a b"), 3)
	f.Fuzz(func(t *testing.T, text []byte, prefix int) {
		before := strings.Repeat("/", prefix&7)
		out, ok := escapePath(append([]byte(before), text...), len(before))
		if !ok || !strings.HasPrefix(string(out), before) {
			t.Fatalf("got %q, %v", out, ok)
		}
		back, err := url.PathUnescape(string(out[len(before):]))
		if err != nil || back != string(text) {
			t.Fatalf("%q became %q and then %q, %v", text, out, back, err)
		}
	})
}
