package jmeter

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// pages are HTML pages and what they embed.
var pages = map[string]string{
	"/deep": `<html><head><link rel="stylesheet" href="/deep.css"><link rel="preload" href="/one.png?preload">` +
		`<link rel="alternate stylesheet" href="/other.css"><link rel="shortcut icon" href="/one.png?icon">` +
		`<style>p{background:url(/one.png?inline)}</style></head><body background="/one.png?body">` +
		`<img src="one.png"><img src="/two.png"><img src="/two.png"><IMG SRC='/three.gif'>` +
		`<table background="/one.png?table"><tr><td style="background: url('/one.png?style')">x</td></tr></table>` +
		`<iframe src="/inner/page"></iframe><object data="/one.png?object" codebase="/one.png?base"></object>` +
		`<input type="image" src="/one.png?input"><input src="/one.png?no"><applet code="A.class"></applet>` +
		`<embed src="/one.png?embed"><source src="/one.png?source"><video poster="/one.png?poster"></video>` +
		`<script>var x = "<img src=/one.png?script>"</script><!-- <img src="/one.png?comment"> -->` +
		`<script src="/code.js"></script></body></html>`,
	"/inner/page":  `<html><base href="/inner/"><body><img src="in.png"><img src="../one.png?from-inner"></body></html>`,
	"/broken":      `<html><img src="/status/404"><img src="/two.png"><img src="/status/500"></html>`,
	"/redirects":   `<html><img src="/moved.png"><img src="/two.png?after"></html>`,
	"/gates":       `<html><img src="/gate?1"><img src="/gate?2"><img src="/gate?3"></html>`,
	"/cycle":       `<html><iframe src="/cycle"></iframe></html>`,
	"/setting":     `<html><img src="/cookie?name=a&value=1"><img src="/two.png"></html>`,
	"/late-page":   `<html><img src="/two.png"><img src="/late?resource"><img src="/two.png?last"></html>`,
	"/plain/empty": ``,
}

// embedding adds the pages to a site, and what is late.
func embedding(mux *http.ServeMux) {
	for path, body := range pages {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, body)
		})
	}
	for _, name := range []string{"/one.png", "/two.png", "/inner/in.png", "/three.gif", "/style/css.png"} {
		mux.HandleFunc(name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/"+name[len(name)-3:])
			_, _ = io.WriteString(w, name)
		})
	}
	style := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/css")
			_, _ = io.WriteString(w, text)
		}
	}
	mux.HandleFunc("/deep.css", style(`@import "/imported.css"; p { background: url("style/css.png") }`+
		` /* url(/one.png?commented) */ q { background: url(/two.png?css) }`))
	mux.HandleFunc("/imported.css", style("p { background: url('/one.png?imported') }"))
	mux.HandleFunc("/other.css", style("p { }"))
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	mux.HandleFunc("/moved.png", redirect("/two.png?moved"))
	mux.HandleFunc("/to-deep", redirect("/deep?moved"))
	mux.HandleFunc("/away", redirect("/late?moved"))
	mux.HandleFunc("/late", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/who", func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		name, _, _ := strings.Cut(r.Host, ":")
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%s for %s", host, name)
	})
	three := &gate{width: 3}
	mux.HandleFunc("/gate", func(w http.ResponseWriter, _ *http.Request) {
		three.pass()
		w.Header().Set("Content-Type", "image/png")
	})
}

// gate holds requests until so many are there.
type gate struct {
	width int

	mu   sync.Mutex
	here int
	open chan struct{}
}

func (g *gate) pass() {
	g.mu.Lock()
	if g.open == nil {
		g.open = make(chan struct{})
	}
	open := g.open
	if g.here++; g.here == g.width {
		close(open)
		g.here, g.open = 0, nil
	}
	g.mu.Unlock()
	<-open
}

// deaf returns the port of a server that answers no attempt to connect: its queue is full.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(at.(*unix.SockaddrInet4).Port)
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return port
}
