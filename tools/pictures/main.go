//go:build linux

// Command pictures makes the pictures of reports in docs/images. It runs a load on its own PostgreSQL server, which is
// stopped for a while, and takes pictures of the report, the page and the page of a live run in a headless Chromium.
//
//	make pictures
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"brunt/test/testserver"
)

func main() {
	program := flag.String("program", "bin/brunt", "brunt")
	out := flag.String("out", "docs/images", "folder of the pictures")
	only := flag.String("only", "", "make only the picture of a system that is inspected: postgresql, mysql, … or service")
	seconds := flag.Int("seconds", 40, "length of the load")
	serving := flag.Bool("serve", false, "be the service of a picture; for this program itself")
	flag.Parse()
	if *serving {
		fmt.Fprintln(os.Stderr, serve())
		return
	}
	tb := testserver.NewStandalone(os.Stderr)
	defer tb.Close()
	p := &pictures{tb: tb, program: *program, out: *out, seconds: *seconds}
	p.make(*only)
}

// pictures contains what is needed to make the pictures.
type pictures struct {
	tb      *testserver.Standalone
	program string
	out     string
	dir     string   // folder for bundles and pages
	env     []string // of loads that ask servers
	seconds int
	browser *testserver.Browser
}

func (p *pictures) fail(err error) {
	if err != nil {
		p.tb.Fatalf("pictures: %v", err)
	}
}

func (p *pictures) make(only string) {
	dir, err := os.MkdirTemp("", "brunt-pictures-")
	p.fail(err)
	p.tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	p.dir = dir
	p.browser = testserver.NewBrowser(p.tb, filepath.Join(dir, "profile"))
	if p.asked(only); only != "" {
		return
	}
	server := testserver.Postgres(p.tb)
	terminal := p.load(server)
	p.terminal(terminal)
	for _, lang := range []string{"en", "ru"} {
		p.run(nil, "report", filepath.Join(dir, "bundle"), "--html", filepath.Join(dir, lang+".html"), "--lang", lang,
			"--quiet")
	}
	for _, one := range []struct {
		name, lang, media, scheme string
		width, height             int
		part                      string // of the page, at the top of the picture
	}{
		{"page-light.png", "en", "screen", "light", 1400, 1500, ""},
		{"page-dark.png", "en", "screen", "dark", 1400, 1300, "part-time"},
		{"page-ru.png", "ru", "screen", "light", 1400, 1500, ""},
		{"page-narrow.png", "en", "screen", "light", 390, 1300, ""},
		{"page-narrow-table.png", "ru", "screen", "dark", 390, 1300, "latency"},
		{"page-print.png", "en", "print", "light", 794, 1123, "part-figures"},
	} {
		p.browser.Look(one.width, one.height, one.media, one.scheme)
		p.browser.Open("file://" + filepath.Join(dir, one.lang+".html"))
		p.browser.Wait("document.documentElement.dataset.drawn")
		if one.part != "" {
			p.browser.Eval(fmt.Sprintf("document.getElementById(%q).scrollIntoView()", one.part), nil)
		}
		p.picture(one.name)
	}
	p.versions()
}

// versions makes the pictures of a comparison of two versions, and of a history in which one version is slower.
func (p *pictures) versions() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	p.fail(err)
	var delay atomic.Int64
	service := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		time.Sleep(time.Duration(delay.Load()))
	})}
	go service.Serve(l)
	p.tb.Cleanup(func() { _ = service.Close() })
	measure := func(slower time.Duration, bundle string) string {
		delay.Store(int64(4*time.Millisecond + slower))
		dir := filepath.Join(p.dir, bundle)
		p.run(nil, "http", "http://"+l.Addr().String()+"/", "--rate", "200", "--poisson", "-z", "3s", "--quiet",
			"--bundle", dir)
		return dir
	}
	const versions, slowerFrom, sides = 14, 9, 5
	step := 400 * time.Microsecond
	store := filepath.Join(p.dir, "history")
	for v := range versions {
		slower := time.Duration(0)
		if v >= slowerFrom {
			slower = step
		}
		version := fmt.Sprintf("v1.%d", v)
		p.run(nil, "history", "add", "--store", store, "--version", version, "--series", "pages", "--anyway",
			measure(slower, version+"-a"), measure(slower, version+"-b"))
	}
	history, err := exec.Command(p.program, "history", "show", "--store", store, "--output", "html").Output()
	p.fail(err)
	p.fail(os.WriteFile(filepath.Join(p.dir, "history.html"), history, 0o644))
	args := []string{"report", "--quiet", "--html", filepath.Join(p.dir, "change.html")}
	for i := range sides {
		args = append(args, measure(0, fmt.Sprintf("before-%d", i)))
	}
	args = append(args, "--")
	for i := range sides {
		args = append(args, measure(step, fmt.Sprintf("after-%d", i)))
	}
	p.run(nil, args...)
	for _, one := range []struct {
		name, page    string
		width, height int
	}{
		{"change.png", "change.html", 1400, 1300}, {"change-narrow.png", "change.html", 390, 1300},
		{"history.png", "history.html", 1400, 1100}, {"history-narrow.png", "history.html", 390, 1100},
	} {
		p.browser.Look(one.width, one.height, "screen", "light")
		p.browser.Open("file://" + filepath.Join(p.dir, one.page))
		p.browser.Wait("document.readyState === 'complete'")
		p.picture(one.name)
	}
}

// load runs the load and returns what brunt printed, in colour.
func (p *pictures) load(server *testserver.Server) string {
	args := []string{
		"rate", "-c", "examples/cars.yml", "--proto", "pg", "-a", server.Addr, "-u", server.User, "--database",
		server.Database, "--vu", "8", "--rate", "800", "--poisson",
		"--warm-up", "5s", "--duration", strconv.Itoa(p.seconds) + "s", "--threshold", "response.p(99) < 50ms", "--bundle",
		filepath.Join(p.dir, "bundle"), "--ui",
	}
	addresses := make(chan string, 1)
	done := make(chan string)
	go func() {
		var text bytes.Buffer
		// script runs brunt in a terminal, so that it prints in colour.
		cmd := exec.Command("script", "-qec", "stty cols 100; "+priority()+shell(append([]string{p.program}, args...)),
			"/dev/null")
		cmd.Env = append(os.Environ(), "PGPASSWORD="+server.Password, "BRUNT_PASSWORD="+server.Password, "TERM=xterm")
		cmd.Stdout = &watching{to: &text, found: addresses}
		err := cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != 0 && code != 98 && code != 99 {
			p.tb.Fatalf("pictures: %v: %s", err, text.String())
		}
		done <- text.String()
	}()
	url := <-addresses
	time.Sleep(time.Duration(p.seconds) * time.Second / 2)
	server.Pause()
	time.Sleep(2 * time.Second)
	server.Resume()
	time.Sleep(time.Duration(p.seconds) * time.Second / 4)
	p.browser.Look(1180, 1100, "screen", "light")
	p.browser.Open(url)
	p.browser.Wait(`document.getElementById("live").textContent !== ""`)
	p.picture("page-live.png")
	return <-done
}

// watching forwards text to a writer and finds the address of the page in it.
type watching struct {
	to    *bytes.Buffer
	found chan<- string
	told  bool
}

var address = regexp.MustCompile(`follow the run at (http://\S+)`)

// Write implements io.Writer.
func (w *watching) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if m := address.FindSubmatch(w.to.Bytes()); m != nil && !w.told {
		w.told = true
		w.found <- string(m[1])
	}
	return n, err
}

// priority returns a command prefix that raises brunt's priority, if that is permitted, so that other processes don't
// affect the pictures.
func priority() string {
	if os.Geteuid() == 0 {
		return "nice -n -15 "
	}
	return ""
}

func shell(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// run runs brunt to its end.
func (p *pictures) run(env []string, args ...string) {
	cmd := exec.Command(p.program, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		p.fail(err)
	}
}

func (p *pictures) picture(name string) {
	p.fail(os.WriteFile(filepath.Join(p.out, name), p.browser.Picture(), 0o644))
}

// Colours of a readable terminal, as CSS by ANSI code.
var colours = map[string]string{"1": "font-weight:700", "2": "color:#8b949e", "31": "color:#ff7b72",
	"32": "color:#56d364", "33": "color:#e3b341", "36": "color:#76c7e8"}

var escape = regexp.MustCompile("\x1b\\[([0-9;]*)([A-Za-z])")

// terminal makes the picture of the report in the terminal.
func (p *pictures) terminal(printed string) {
	_, report, found := strings.Cut(strings.ReplaceAll(printed, "\r", ""), "━━ ")
	if !found {
		p.tb.Fatalf("pictures: no report in %q", printed)
	}
	var html strings.Builder
	html.WriteString(
		"<!DOCTYPE html><meta charset=utf-8><body style='margin:0;background:#0d1117;color:#e6edf3'><pre style='display:inline-block;margin:0;padding:16px 20px;font:14px/1.35 DejaVu Sans Mono,monospace'>")
	open, at, inverse := 0, 0, false
	text := "━━ " + report
	clean := strings.NewReplacer("&", "&amp;", "<", "&lt;")
	for _, m := range escape.FindAllStringSubmatchIndex(text, -1) {
		html.WriteString(clean.Replace(text[at:m[0]]))
		at = m[1]
		if text[m[4]:m[5]] != "m" {
			continue
		}
		codes := text[m[2]:m[3]]
		if codes == "" || codes == "0" {
			html.WriteString(strings.Repeat("</span>", open))
			open = 0
			continue
		}
		var styles []string
		for _, code := range strings.Split(codes, ";") {
			style := colours[code]
			if inverse {
				style, inverse = "background:"+strings.TrimPrefix(style, "color:")+";color:#0d1117", false
			}
			inverse = inverse || code == "7"
			styles = append(styles, style)
		}
		fmt.Fprintf(&html, "<span style='%s'>", strings.Join(styles, ";"))
		open++
	}
	html.WriteString(clean.Replace(text[at:]) + "</pre>")
	file := filepath.Join(p.dir, "terminal.html")
	p.fail(os.WriteFile(file, []byte(html.String()), 0o644))
	p.browser.Open("file://" + file)
	var size struct{ W, H float64 }
	p.browser.Eval(`(r => ({w: r.width, h: r.height}))(document.querySelector("pre").getBoundingClientRect())`, &size)
	p.browser.Look(cmp.Or(int(size.W), 900), cmp.Or(int(size.H), 900), "screen", "dark")
	p.picture("report.png")
}
