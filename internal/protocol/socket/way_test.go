package socket

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/test/testserver"
)

// accept serves each connection of a listener.
func accept(t *testing.T, network, address string, serve func(net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l
}

// echoLine sends the first line that it receives back, when it has read all up to "hello": what is unread when it
// closes the connection would reset it.
func echoLine(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	first, err := r.ReadString('\n')
	for line := first; err == nil && line != "hello\n"; {
		line, err = r.ReadString('\n')
	}
	_, _ = io.WriteString(c, first)
}

// talk sends "hello" over a way and returns the answer.
func talk(t *testing.T, w *Way, address string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := Dial(With(ctx, w), address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_, _ = io.WriteString(c, "hello\n")
	b, err := io.ReadAll(c)
	return string(b), err
}

// proxy is an HTTP proxy that answers CONNECT with a status, and tunnels if it is 200.
func proxy(t *testing.T, status int, user string) *url.URL {
	l := accept(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
		defer c.Close()
		r := bufio.NewReader(c)
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte(user))
		if user != "" && req.Header.Get("Proxy-Authorization") != want {
			status = http.StatusProxyAuthRequired
		}
		if status != http.StatusOK {
			_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
			return
		}
		to, err := net.Dial("tcp", req.Host)
		if err != nil {
			return
		}
		defer to.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nVia: test\r\n\r\n")
		go io.Copy(to, r)
		_, _ = io.Copy(c, to)
	})
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

func TestWays(t *testing.T) {
	server := accept(t, "tcp", "127.0.0.1:0", echoLine).Addr().String()
	path := filepath.Join(t.TempDir(), "s")
	accept(t, "unix", path, echoLine)
	_, port, _ := net.SplitHostPort(server)
	via := proxy(t, 200, "")
	with := proxy(t, 200, "u:p")
	with.User = url.UserPassword("u", "p")
	for name, c := range map[string]struct {
		resolve       []string
		via, announce string
		address, want string
	}{
		"directly":            {nil, "", "", server, "hello\n"},
		"another address":     {[]string{"shop.invalid:" + port + ":127.0.0.1"}, "", "", "shop.invalid:" + port, "hello\n"},
		"another port":        {[]string{"shop.invalid:443:" + server}, "", "", "shop.invalid:443", "hello\n"},
		"a Unix socket":       {[]string{"shop.invalid:80:" + path}, "", "", "shop.invalid:80", "hello\n"},
		"a proxy":             {nil, via.String(), "", server, "hello\n"},
		"a proxy with a user": {nil, with.String(), "", server, "hello\n"},
		"announced":           {nil, "", "v1", server, "PROXY TCP4 127.0.0.1 127.0.0.1 "},
		"announced by a proxy": {[]string{"shop.invalid:80:" + server}, via.String(), "v1", "shop.invalid:80",
			"PROXY TCP4 127.0.0.1 127.0.0.1 "},
		"announced to a Unix socket": {[]string{"shop.invalid:80:" + path}, "", "v1", "shop.invalid:80",
			"PROXY UNKNOWN\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := ParseWay(c.resolve, c.via, c.announce, "")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := talk(t, w, c.address); err != nil || !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// Connections go from the address that is named, also to a proxy, and not those to Unix sockets.
func TestFrom(t *testing.T) {
	sender := func(c net.Conn) {
		defer c.Close()
		_, _ = io.WriteString(c, Host(c.RemoteAddr().String()))
		_, _ = io.Copy(io.Discard, c)
	}
	server := accept(t, "tcp", "127.0.0.1:0", sender).Addr().String()
	path := filepath.Join(t.TempDir(), "s")
	accept(t, "unix", path, echoLine)
	for _, c := range []struct{ from, address, want string }{
		{"127.0.0.9", server, "127.0.0.9"}, {"::ffff:127.0.0.8", server, "127.0.0.8"}, {"127.0.0.9", path, "hello\n"},
	} {
		w, err := ParseWay(nil, "", "", c.from)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := Dial(With(t.Context(), w), c.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "hello\n")
		got := make([]byte, len(c.want))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
		conn.Close()
	}
	w, err := ParseWay(nil, "", "", "203.0.113.7")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := talk(t, w, server); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("an address of another machine: %v", err)
	}
}

func TestHosted(t *testing.T) {
	server := accept(t, "tcp", "127.0.0.1:0", echoLine).Addr().String()
	path := filepath.Join(t.TempDir(), "s")
	accept(t, "unix", path, echoLine)
	for _, c := range []struct {
		w       *Way
		address string
		want    string
	}{
		{nil, path, "hello\n"}, {nil, server, "hello\n"}, {&Way{Announce: 1}, path, "PROXY UNKNOWN\r\n"},
		{&Way{Resolve: map[string]string{path: server}}, path, "hello\n"},
	} {
		address, w := c.w.Hosted(c.address, "80")
		if got, err := talk(t, w, address); Network(address) != "tcp" || err != nil || got != c.want {
			t.Errorf("%s, %+v: %q over %s, %v", c.address, c.w, got, address, err)
		}
	}
}

// Several addresses of a name are tried until one takes the connection.
func TestSeveralAddressesOfOneName(t *testing.T) {
	server := accept(t, "tcp", "127.0.0.1:0", echoLine).Addr().String()
	_, port, _ := net.SplitHostPort(server)
	n := testserver.ServeNames(t)
	n.Set("shop.test", "127.0.0.2", "127.0.0.3", "127.0.0.1")
	usual := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = usual })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", n.Addr())
	}}
	for _, w := range []*Way{nil, {Resolve: map[string]string{"other.test:80": "shop.test:" + port}}} {
		address := "shop.test:" + port
		if w != nil {
			address = "other.test:80"
		}
		if got, err := talk(t, w, address); err != nil || got != "hello\n" {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
	n.Set("shop.test", "127.0.0.2", "127.0.0.3")
	if _, err := talk(t, nil, "shop.test:"+port); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("nobody there: %v", err)
	}
}

func TestFaultsOfWays(t *testing.T) {
	server := accept(t, "tcp", "127.0.0.1:0", echoLine).Addr().String()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	silent := accept(t, "tcp", "127.0.0.1:0", func(c net.Conn) { c.Close() })
	fixed := func(answer string) string {
		l := accept(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
			defer c.Close()
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, answer)
		})
		return "http://" + l.Addr().String()
	}
	for via, want := range map[string]string{
		"http://" + dead.Addr().String():                        "can't connect to the proxy 127.0.0.1:",
		"http://" + silent.Addr().String():                      "the proxy 127.0.0.1:",
		fixed("HTTP/1.1 407 Proxy Authentication\r\n\r\n"):      "wants a user: it answers 407",
		fixed("HTTP/1.1 502 Bad Gateway\r\nX: y\r\n\r\n"):       "refuses to connect to " + server + ": 502 Bad Gateway",
		fixed("SSH-2.0-OpenSSH\r\n\r\n"):                        "doesn't answer CONNECT with HTTP",
		fixed(strings.Repeat("x", maxProxyHead+2) + "\r\n\r\n"): "doesn't answer CONNECT with HTTP",
	} {
		w, err := ParseWay(nil, via, "", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := talk(t, w, server); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", via, err, want)
		}
	}
	w, _ := ParseWay([]string{"shop.invalid:80:" + dead.Addr().String()}, "", "", "")
	if _, err := talk(t, w, "shop.invalid:80"); err == nil ||
		!strings.Contains(err.Error(), "shop.invalid:80 at 127.0.0.1:") {
		t.Error(err)
	}
	for _, wrong := range []struct{ resolve, via, announce, from string }{
		{resolve: "shop"}, {resolve: "shop:80"}, {resolve: "shop:x:127.0.0.1"}, {resolve: ":80:a"}, {via: "ftp://a:1"},
		{via: "http://a/path"}, {announce: "v3"}, {from: "shop"}, {from: "127.0.0.1:80"},
	} {
		var resolve []string
		if wrong.resolve != "" {
			resolve = []string{wrong.resolve}
		}
		if _, err := ParseWay(resolve, wrong.via, wrong.announce, wrong.from); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
}

// The headers are those of the specification's examples.
func TestAnnouncements(t *testing.T) {
	four := func(ip string, port int) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: port} }
	a, b := four("192.168.0.1", 56324), four("192.168.0.11", 443)
	if got := string(Announcement(1, a, b)); got != "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n" {
		t.Errorf("%q", got)
	}
	want := []byte("\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xc0\xa8\x00\x01\xc0\xa8\x00\x0b\xdc\x04\x01\xbb")
	if got := Announcement(2, a, b); !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Announcement(2, four("::1", 1), four("::1", 2)); len(got) != 16+36 || got[13] != 0x21 {
		t.Errorf("%q", got)
	}
	if got := Announcement(2, &net.UnixAddr{}, &net.UnixAddr{}); string(got) != signature+"\x21\x00\x00\x00" {
		t.Errorf("%q", got)
	}
}

func FuzzParseWay(f *testing.F) {
	f.Add("[::1]:80:[::2]:81", "http://u:p@h:1", "v1")
	f.Fuzz(func(_ *testing.T, resolve, via, announce string) {
		_, _ = ParseWay([]string{resolve}, via, announce, via)
	})
}

// The host of an address has no port, and no brackets.
func TestHost(t *testing.T) {
	for address, want := range map[string]string{"h:1": "h", "h": "h", "[::1]:9042": "::1", "/run/s:1": "/run/s:1"} {
		if got := Host(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
	for host, want := range map[string]string{
		"[fe80::1%eth0]:80": "[fe80::1]:80", "fe80::1%25": "fe80::1", "[::1]:80": "[::1]:80",
		"[fe80::1%eth0]": "[fe80::1]", "a%b:80": "a%b:80", "h:80": "h:80",
	} {
		if got := WithoutZone(host); got != want {
			t.Errorf("%s: got %s, want %s", host, got, want)
		}
	}
}
