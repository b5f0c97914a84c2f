package jmeter

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"brunt/internal/dialect/command"
	"brunt/test/testserver"
)

var update = flag.Bool("update", false, "make the golden files again with JMeter itself (see testserver.JMeter)")

// site is a server that answers the same each time and counts what it was asked for.
type site struct {
	*httptest.Server
	secure *httptest.Server // which the site reaches as a proxy
	mu     sync.Mutex
	seen   map[string]int
}

func newSite(t *testing.T) *site {
	s := &site{seen: map[string]int{}}
	mux := http.NewServeMux()
	text := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		}
	}
	mux.HandleFunc("/hello", text("text/plain; charset=utf-8", "Hello, world"))
	mux.HandleFunc("/echo", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "echo") })
	mux.HandleFunc("/other/echo", text("text/plain", "echo"))
	mux.HandleFunc("/upload", text("text/plain", "uploaded"))
	mux.HandleFunc("/json", text("application/json; charset=utf-8",
		`{"token":"abc123","items":[{"id":1,"name":"one"},{"id":2,"name":"two"}],"n":null}`))
	mux.HandleFunc("/xml", text("application/xml", `<root><item id="1">one</item><item id="2">two</item></root>`))
	mux.HandleFunc("/page", text("text/html", `<html><head><title>A page</title>`+
		`<link rel="stylesheet" href="/style.css"><script src="code.js"></script></head><body>`+
		`<form><input name="csrf" value="tok/9"></form><a href="/a">first link</a> <a href="/b">second</a>`+
		`<img src="/image.png"><img src="/image.png"></body></html>`))
	mux.HandleFunc("/style.css", text("text/css", "b{}"))
	mux.HandleFunc("/code.js", text("text/javascript", "x"))
	mux.HandleFunc("/image.png", text("image/png", "png"))
	mux.HandleFunc("/gzip", packed)
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		to := "/hello?redirected"
		if n > 1 {
			to = fmt.Sprint("/redirect?n=", n-1)
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(code)
		fmt.Fprintf(w, "status %d", code)
	})
	mux.HandleFunc("/cookie", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: r.FormValue("name"), Value: r.FormValue("value"), Path: "/"})
	})
	mux.HandleFunc("/etag", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"one"`)
		if r.Header.Get("If-None-Match") == `"one"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, "tagged")
	})
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "ann" || password != "secret" {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, "in")
	})
	embedding(mux)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.note(r)
		if !s.proxied(w, r) {
			mux.ServeHTTP(w, r)
		}
	})
	s.Server, s.secure = httptest.NewServer(handler), httptest.NewTLSServer(handler)
	t.Cleanup(s.secure.Close)
	t.Cleanup(s.Close)
	return s
}

// proxied answers a request to the site as a proxy: it refuses, or opens a tunnel. It reports whether it has answered.
func (s *site) proxied(w http.ResponseWriter, r *http.Request) bool {
	known := r.Header.Get("Proxy-Authorization") == "Basic YW5uOnNlY3JldA==" // ann:secret
	switch {
	case strings.HasPrefix(r.Host, "user.") && !known:
		w.Header().Set("Proxy-Authenticate", `Basic realm="proxy"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
		return true
	case r.Method != http.MethodConnect:
		return false
	}
	to, err := net.Dial("tcp", s.secure.Listener.Addr().String())
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return true
	}
	w.WriteHeader(http.StatusOK)
	from, read, err := http.NewResponseController(w).Hijack()
	if err != nil {
		to.Close()
		return true
	}
	go func() {
		_, _ = io.Copy(to, read)
		to.Close()
	}()
	_, _ = io.Copy(from, to)
	from.Close()
	return true
}

func packed(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, "packed text")
	_ = z.Close()
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write(b.Bytes())
}

// note counts a request: its line, the headers that plans set, and its body.
func (s *site) note(r *http.Request) {
	line := r.Method + " " + r.RequestURI
	for _, name := range []string{"X-Who", "X-All", "Cookie", "Authorization", "If-None-Match", "Accept-Encoding",
		"Accept", "Proxy-Connection", "Proxy-Authorization"} {
		if v := r.Header.Get(name); v != "" && r.Method != http.MethodConnect {
			line += fmt.Sprintf(" %s=%q", name, v)
		}
	}
	kind := r.Header.Get("Content-Type")
	body, _ := io.ReadAll(r.Body)
	if strings.HasPrefix(kind, "multipart/") {
		_, params, _ := mime.ParseMediaType(kind)
		kind = "multipart/form-data"
		form := multipart.NewReader(bytes.NewReader(body), params["boundary"])
		body = nil
		for p, err := form.NextPart(); err == nil; p, err = form.NextPart() {
			content, _ := io.ReadAll(p)
			body = fmt.Appendf(body, "[%s %s %s]", p.FormName(), p.FileName(), content)
		}
	}
	if kind != "" {
		line += fmt.Sprintf(" Content-Type=%q", strings.ToLower(strings.ReplaceAll(kind, "; ", ";")))
	}
	if len(body) > 0 {
		line += fmt.Sprintf(" body=%q", body)
	}
	s.mu.Lock()
	s.seen[line]++
	s.mu.Unlock()
}

// plans returns the plans of testdata as one, whose thread groups run one after the other, in a folder of its own.
func plans(t *testing.T, names ...string) string {
	t.Helper()
	files, _ := filepath.Glob("testdata/plans/*")
	dir := t.TempDir()
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		if filepath.Ext(f) != ".jmx" || name == "included.jmx" {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if len(names) > 0 && !slices.Contains(names, strings.TrimSuffix(name, ".jmx")) {
			continue
		}
		_, inner, _ := strings.Cut(string(b), "</TestPlan>\n    <hashTree>\n")
		inner, _, ok := strings.Cut(inner, "\n    </hashTree>\n  </hashTree>\n</jmeterTestPlan>")
		if !ok {
			t.Fatalf("%s isn't laid out as the others", f)
		}
		all.WriteString(inner + "\n")
	}
	text := `<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3">
  <hashTree>
    <TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="PLAN" enabled="true">
      <boolProp name="TestPlan.serialize_threadgroups">true</boolProp>
      <elementProp name="TestPlan.user_defined_variables" elementType="Arguments">
        <collectionProp name="Arguments.arguments"/>
      </elementProp>
    </TestPlan>
    <hashTree>
` + all.String() + "    </hashTree>\n  </hashTree>\n</jmeterTestPlan>\n"
	path := filepath.Join(dir, "set.jmx")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var seenPort = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// samples returns the rows of a file of results without times, with how often each is there.
func samples(t *testing.T, path string) []string {
	t.Helper()
	counts := map[string]int{}
	for _, row := range csvRows(t, path) {
		number := regexp.MustCompile(`\d{5,}`)
		thread := row[5][:max(strings.LastIndexByte(row[5], '-'), 0)]
		out := []string{row[2], row[3], row[4], thread, row[6], row[7], row[8], seenPort.ReplaceAllString(row[13], "HOST")}
		if row[13] != "null" && !strings.Contains(row[4], "Non HTTP") { // transactions have sums, errors Java's texts
			out = append(out, "bytes "+row[9])
		}
		counts[number.ReplaceAllString(strings.Join(out, " | "), "N")]++
	}
	return counted(counts)
}

// csvRows returns the rows of a file of results.
func csvRows(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(all[0], ","); got != columns {
		t.Fatalf("columns %s", got)
	}
	return all[1:]
}

func counted(counts map[string]int) (lines []string) {
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%4d %s", counts[k], strings.ReplaceAll(k, "\n", "\\n")))
	}
	return lines
}

// run runs a test plan here.
func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	s := &command.Env{Program: "jmeter", Version: "test", Out: &out, Err: &errs}
	err = execute(s, append(args, "--no-record"))
	return out.String(), errs.String(), err
}

// TestPlansAreJMeters runs all plans and compares the requests and the results with those of JMeter 5.6.3, which
// go test ./internal/dialect/jmeter -run PlansAreJMeters -update makes.
func TestPlansAreJMeters(t *testing.T) {
	s := newSite(t)
	path := plans(t)
	log := filepath.Join(filepath.Dir(path), "set.jtl")
	port := s.URL[strings.LastIndexByte(s.URL, ':')+1:]
	args := []string{"-n", "-t", path, "-l", log, "-Jport=" + port, "-H", "127.0.0.1", "-P", port, "-u", "ann",
		"-a", "secret", "-N", "localhost|*.0.0.1|*.test", "-Jfull=" + deaf(t), "-Jclosed=1"}
	if *update {
		cmd := exec.Command("java", append(testserver.JMeter(t, t.TempDir()), args...)...)
		cmd.Dir = filepath.Dir(path)
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("end of run")) {
			t.Fatalf("JMeter: %v\n%s", err, out)
		}
	} else {
		stdout, stderr, err := run(t, args...)
		if err != nil || !strings.Contains(stdout, "end of run") {
			t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
		}
		t.Log(stdout, stderr)
	}
	got := append(append(samples(t, log), ""), counted(s.seen)...)
	text := seenPort.ReplaceAllString(strings.Join(got, "\n")+"\n", "HOST")
	if *update {
		if err := os.WriteFile("testdata/set.golden", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("testdata/set.golden")
	if err != nil {
		t.Fatal(err)
	}
	differ(t, text, string(want))
}

// differ reports the lines in which two texts differ.
func differ(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for _, line := range w {
		if !slices.Contains(g, line) {
			t.Errorf("missing %s", line)
		}
	}
	for _, line := range g {
		if !slices.Contains(w, line) {
			t.Errorf("extra   %s", line)
		}
	}
}

// untried are elements of no effect on the requests, or of none without a window.
var untried = []string{"BackendListener", "MailerResultCollector", "ResultSaver", "Summariser"}

// TestElementsAreTried: each element and each function that is translated is in a plan that JMeter itself has run, and
// the functions are in the documentation.
func TestElementsAreTried(t *testing.T) {
	files, _ := filepath.Glob("testdata/plans/*.jmx")
	var all strings.Builder
	for _, f := range append(files, "testdata/jdbc.jmx") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	page, err := os.ReadFile("../../../docs/jmeter.md")
	if err != nil {
		t.Fatal(err)
	}
	elements := append(slices.Collect(maps.Keys(controllers)), slices.Collect(maps.Keys(classes))...)
	for _, class := range elements {
		if !strings.Contains(all.String(), "<"+class+" ") && !slices.Contains(untried, class) {
			t.Errorf("no plan has a %s", class)
		}
	}
	for name := range functions() {
		if !regexp.MustCompile(`\$\{` + name + `\b`).MatchString(all.String()) {
			t.Errorf("no plan calls %s", name)
		}
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/jmeter.md doesn't name %s", name)
		}
	}
}
