package tools_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"brunt/test/shell"
	"brunt/test/testserver"
)

// installed returns the path of a program of Debian's.
func installed(t *testing.T, program, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%s isn't installed: apt-get install -y --no-install-recommends %s", program, pkg)
	}
	return path
}

// peer builds a load generator in the version that benchmarks are made with.
func peer(t *testing.T, name, module string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	goTool(t, "build", "-C", "../../../tools/peers/module", "-o", path, module)
	return path
}

func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}

var (
	figures = regexp.MustCompile(`-?[0-9][0-9.]*(us|µs|ms|s|k|K|M|G)?B?`)
	bars    = regexp.MustCompile(`■+`)
	blanks  = regexp.MustCompile(` +`)
	doubts  = regexp.MustCompile(`(?m)^(WARNING|ERROR): The median and mean for .*\n.*\n`)
)

// shape returns a report without its figures, its bars, and ab's doubts about times, which depend on how fast the
// machine happened to be.
func shape(report string) string {
	report = doubts.ReplaceAllString(report, "")
	report = strings.ReplaceAll(report, "-nan%", "1%")
	return blanks.ReplaceAllString(figures.ReplaceAllString(bars.ReplaceAllString(report, ""), "N"), " ")
}

// same compares two reports by their shape, and the lines that match exact to the byte.
func same(t *testing.T, got, want, exact string) {
	t.Helper()
	if shape(got) != shape(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if exact == "" {
		return
	}
	lines := regexp.MustCompile(exact)
	if g, w := lines.FindAllString(got, -1), lines.FindAllString(want, -1); !slices.Equal(g, w) || len(g) == 0 {
		t.Errorf("got %q, want %q", g, w)
	}
}

// flagsKnown types each flag of a tool's own help, and fails if brunt doesn't know it. Flags may be refused by name.
func flagsKnown(t *testing.T, help string, as ...string) {
	t.Helper()
	flags := regexp.MustCompile(`(?m)^ +(--?[A-Za-z0-9][A-Za-z0-9-]*)(?:, (--[a-z_]+))?\b`).FindAllStringSubmatch(help, -1)
	if len(flags) < 8 {
		t.Fatalf("%s", help)
	}
	unknown := regexp.MustCompile(`invalid option|not defined|unrecognized|unknown`)
	for _, found := range flags {
		for _, flag := range found[1:] {
			if flag == "" {
				continue
			}
			o := shell.Run(t, "brunt", slices.Concat([]string{"as"}, as, []string{flag, "1"})...)
			if unknown.MatchString(o.Out + o.Err) {
				t.Errorf("%v %s: %s%s", as, flag, o.Out, o.Err)
			}
		}
	}
}

// help returns what a tool prints about its flags.
func help(program string, args ...string) string {
	out, _ := exec.Command(program, args...).CombinedOutput() // tools exit with all kinds of codes
	return string(out)
}

// serverNames compares the names that ab and brunt tell a server before TLS.
func serverNames(t *testing.T, as func(string, ...string) string, ab string) {
	t.Helper()
	named := make(chan string, 8)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.TLS = &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		named <- h.ServerName
		return nil, nil
	}}
	secure.StartTLS()
	defer secure.Close()
	address := "https://localhost:" + secure.URL[strings.LastIndex(secure.URL, ":")+1:] + "/"
	for _, line := range []string{"-n 1 -I", "-n 1 -f all"} {
		args := append(strings.Fields(line), address)
		output(t, ab, args...)
		want := <-named
		as("ab --no-record", args...)
		for got := <-named; ; got = <-named {
			if got != want {
				t.Errorf("%s: SNI %q, want %q", line, got, want)
			}
			if len(named) == 0 {
				break
			}
		}
	}
}

// The reports of brunt, called by a tool's name, are those of the tool on the same server.
func TestReportsAreTheirTools(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	url := "http://" + testserver.Nginx(t).Addr + "/"
	as := func(line string, args ...string) string {
		return output(t, "brunt", append(append([]string{"as"}, strings.Fields(line)...), args...)...)
	}
	t.Run("wrk", func(t *testing.T) {
		args := []string{"-t2", "-c", "4", "-d", "1s", "--latency", url}
		theirs := output(t, installed(t, "wrk", "wrk"), args...)
		flagsKnown(t, help("wrk"), "wrk")
		same(t, as("wrk --no-record", args...), theirs, "(?m)^(Running|  2 threads).*$")
	})
	t.Run("ab", func(t *testing.T) {
		ab := installed(t, "ab", "apache2-utils")
		flagsKnown(t, help(ab, "-h"), "ab")
		for _, line := range []string{"-n 40 -c 2", "-n 40 -c 4 -k", "-n 4 -i -d", "-n 4 -S", "-n 4 -b 4096"} {
			args := append(strings.Fields(line), url)
			_, got, _ := strings.Cut(as("ab --no-record", args...), "Benchmarking")
			_, want, _ := strings.Cut(output(t, ab, args...), "Benchmarking")
			same(t, got, want, "(?m)^(Server|Document|Concurrency|Complete|Failed|Keep|Total tr|HTML).*$")
		}
		body := filepath.Join(t.TempDir(), "body")
		if err := os.WriteFile(body, []byte("a=1"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"-n 4 -w", "-n 160 -q -k -z x=1 -x border=1 -y y", "-n 160 -l -w -p " + body} {
			args := append(strings.Fields(line), url)
			_, got, _ := strings.Cut(as("ab --no-record", args...), "</p>")
			_, want, _ := strings.Cut(output(t, ab, args...), "</p>")
			same(t, got, want, "(?m)^(<table.*|.*(Server|Document|Complete|Failed|Non-2|Keep|Total tr|HTML).*|[^T<].*)$")
		}
		serverNames(t, as, ab)
		for _, line := range []string{"-i -p " + body, "-p " + body + " -i", "-u " + body + " -p " + body, "-m PUT -i"} {
			args := append(strings.Fields(line), url)
			theirs, _ := exec.Command(ab, args...).CombinedOutput()
			o := shell.Run(t, "brunt", append([]string{"as", "ab", "--no-record"}, args...)...)
			if o.Code != 1 || strings.TrimSpace(strings.TrimPrefix(o.Err, "brunt: ")) != strings.TrimSpace(string(theirs)) {
				t.Errorf("%s: got %q and exit code %d, want %q", line, o.Err, o.Code, theirs)
			}
		}
		args := []string{"-n", "3", "-k", "-S", url + "missing"} // no warnings, which three times may or may not call for
		_, got, _ := strings.Cut(as("ab --no-record", args...), "Benchmarking")
		_, want, _ := strings.Cut(output(t, ab, args...), "Benchmarking")
		same(t, got, want, "(?m)^(Complete|Failed|Non|Keep|Total tr|HTML).*$")
	})
	t.Run("hey", func(t *testing.T) {
		hey := peer(t, "hey", "github.com/rakyll/hey")
		flagsKnown(t, help(hey), "hey")
		args := []string{"-n", "200", "-c", "4", url}
		same(t, as("hey --no-record", args...), output(t, hey, args...), `(?m)^  (Total data|Size|\[).*$`)
		csv := append([]string{"-o", "csv"}, args...)
		same(t, as("hey --no-record", csv...), output(t, hey, csv...), "")
		form := append([]string{"-o", `{{.NumRes}} {{len .Lats}} {{len .Offsets}} {{jsonify .StatusCodeDist}} {{.SizeTotal}} ` +
			`{{.SizeReq}} {{range .LatencyDistribution}}{{.Percentage}} {{end}}{{range .Histogram}}. {{end}}`}, args...)
		if got, want := as("hey --no-record", form...), output(t, hey, form...); got != want {
			t.Errorf("a template: got %q, want %q", got, want)
		}
	})
	t.Run("vegeta", func(t *testing.T) {
		vegeta := peer(t, "vegeta", "github.com/tsenart/vegeta/v12")
		flagsKnown(t, help(vegeta, "attack", "-h"), "vegeta", "attack")
		dir := t.TempDir()
		file := func(name string) string { return filepath.Join(dir, name) }
		list := "GET " + url + "\nGET " + url + "missing\n"
		if err := os.WriteFile(file("list"), []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"attack", "-rate", "40", "-duration", "1s", "-name", "x", "-targets", file("list"), "-output"}
		as("vegeta", slices.Concat(args, []string{file("ours"), "--no-record"})...)
		output(t, vegeta, append(args, file("theirs"))...)
		for _, kind := range []string{"text", "json", "hist[0,1ms,10ms]"} {
			for _, results := range []string{"ours", "theirs"} {
				report := []string{"report", "-type", kind, file(results)}
				same(t, as("vegeta", report...), output(t, vegeta, report...), "")
			}
		}
		counts := "(?m)^(Bytes|Success|Status|[0-9]+ Not).*$"
		same(t, as("vegeta report", file("ours")), output(t, vegeta, "report", file("theirs")), counts)
		for _, results := range []string{"ours", "theirs"} {
			encode := []string{"encode", "-to", "csv", file(results)}
			if got, want := as("vegeta", encode...), output(t, vegeta, encode...); got != want {
				t.Errorf("%s in CSV: got\n%s\nwant\n%s", results, got, want)
			}
		}
		mixed := []string{"encode", "-to", "csv", file("ours"), file("theirs"), file("ours")}
		if got, want := as("vegeta", mixed...), output(t, vegeta, mixed...); got != want {
			t.Errorf("several files in CSV: got\n%s\nwant\n%s", got, want)
		}
		attacksAlike(t, vegeta, file)
		// An attack that is killed leaves its results.
		killed, _ := shell.Start(t, nil, slices.Concat([]string{"brunt", "as", "vegeta"}, args,
			[]string{file("killed"), "-duration", "1h", "--no-record"})...)
		shell.Until(t, "results are written", func() bool {
			f, err := os.Stat(file("killed"))
			return err == nil && f.Size() > 0
		})
		shell.Kill(t, killed)
		report := []string{"report", file("killed")}
		same(t, as("vegeta", report...), output(t, vegeta, report...), "(?m)^(Bytes|Success|Status|[0-9]+ Not).*$")
	})
}

// attacksAlike compares what servers get from attacks, and their results: of a body in chunks from an address of its
// own, of redirects without an end, and of a server that is down.
func attacksAlike(t *testing.T, vegeta string, file func(string) string) {
	t.Helper()
	got := make(chan string, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		from, _, _ := strings.Cut(q.RemoteAddr, ":")
		got <- fmt.Sprint(q.Method, q.TransferEncoding, q.ContentLength, string(body), from, q.Header["Accept-Encoding"])
		if q.Method == http.MethodGet {
			http.Redirect(w, q, q.URL.Path, http.StatusFound)
		}
	}))
	if err := os.WriteFile(file("body"), []byte("a body"), 0o600); err != nil {
		t.Fatal(err)
	}
	attack := func(line, target string, program ...string) (sent []string, report string) {
		if err := os.WriteFile(file("list"), []byte(target), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append(program[1:], "-targets", file("list"), "-rate", "1", "-duration", "500ms", "-output", file("results"))
		output(t, program[0], append(args, strings.Fields(line)...)...)
		for len(got) > 0 {
			sent = append(sent, <-got)
		}
		report = output(t, vegeta, "report", file("results"))
		return sent, report[strings.Index(report, "Success"):strings.Index(report, "Error Set:")]
	}
	alike := func(line, target string) {
		t.Helper()
		sent, report := attack(line, target, "brunt", "as", "vegeta", "attack", "--no-record")
		wantSent, wantReport := attack(line, target, vegeta, "attack", "-prometheus-addr=")
		if !slices.Equal(sent, wantSent) || report != wantReport {
			t.Errorf("%s: got %q\n%s\nwant %q\n%s", line, sent, report, wantSent, wantReport)
		}
	}
	alike("-chunked -laddr 127.0.0.7 -workers 2", "POST "+server.URL+"/\n@"+file("body")+"\n")
	alike("-redirects 3", "GET "+server.URL+"/\n")
	alike("-redirects 0", "GET "+server.URL+"/\n")
	alike("-redirects -1", "GET "+server.URL+"/\n")
	server.Close()
	alike("-max-connections 2", "GET "+server.URL+"/\n")
}

// requests records the first requests that a server gets.
type requests struct {
	mu   sync.Mutex
	text []string
}

func (r *requests) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	var fields []string
	for name, values := range q.Header {
		fields = append(fields, name+": "+strings.Join(values, ","))
	}
	slices.Sort(fields)
	w.Header().Set("X-Token", "t"+q.URL.Path)
	fmt.Fprint(w, "body of ", q.URL.Path)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.text) < 4 {
		r.text = append(r.text, fmt.Sprintf("%s %s %v %s", q.Method, q.URL, fields, body))
	}
}

// The scripts do what wrk's own examples show: a fixed request, one for each call, an answer that is used, a pause,
// several requests at once, functions of setup, an address of each thread, what threads have counted, and a thread that
// stops.
var scripts = map[string]string{
	"post":    `wrk.method = "POST" wrk.body = "a=1&b=2" wrk.headers["Content-Type"] = "text/x"`,
	"counter": `n = 0 function request() n = n + 1 wrk.headers["X-N"] = n return wrk.format(nil, "/" .. n) end`,
	"auth": `local path, token = "/first" function request() return wrk.format("GET", path) end
		function response(status, headers, body)
			if not token and status == 200 then
				token = headers["X-Token"] path = "/then" wrk.headers["X-Token"] = token wrk.headers["X-Body"] = body
			end
		end`,
	"delay": `function delay() return math.random(10, 30) end`,
	"together": `function init(args)
			local all = {} for i, name in ipairs({"a", "b", "c"}) do all[i] = wrk.format(nil, "/?" .. name) end
			text = table.concat(all)
		end
		function request() return text end`,
	"setup": `local n, threads = 0, {}
		function setup(thread) n = n + 1 thread:set("id", n) table.insert(threads, thread) end
		function init(args) print(("thread %d has %s and %d arguments: %s"):format(id, tostring(wrk.thread.addr) ~= "", #args, args[1])) end
		function done(summary, latency, requests)
			for i, thread in ipairs(threads) do io.write(string.format("thread %d is %d\n", i, thread:get("id"))) end
		end`,
	"addr": `local addrs
		function setup(thread)
			if not addrs then
				addrs = wrk.lookup(wrk.host, wrk.port or "http")
				for i = #addrs, 1, -1 do if not wrk.connect(addrs[i]) then table.remove(addrs, i) end end
			end
			thread.addr = addrs[math.random(#addrs)]
			local closed = wrk.lookup("127.0.0.1", "1")
			print(#addrs, #closed, tostring(closed[1]), wrk.connect(closed[1]))
		end
		function init(args) print("goes to " .. tostring(wrk.thread.addr)) end`,
	"counts": `local threads = {}
		function setup(thread) thread:set("given", "a text") table.insert(threads, thread) end
		function init(args) sent, answered, last = 0, 0, nil end
		function request() sent = sent + 1 return wrk.request() end
		function response(status, headers, body) answered = answered + 1 last = status end
		function done(summary, latency, requests)
			for i, thread in ipairs(threads) do
				local sent, answered = thread:get("sent"), thread:get("answered")
				print(i, thread:get("given"), sent >= answered, answered > 3, thread:get("last"), thread:get("missing"))
			end
		end`,
	"stop": `local n = 0 function response() n = n + 1 if n == 3 then wrk.thread:stop() end end
		function done(summary) print(summary.requests, summary.errors.status, summary.duration > 0) end`,
	"done": `function done(summary, latency, requests)
			print(latency.min <= latency:percentile(50), latency.max >= latency.mean, latency.stdev >= 0, #latency > 0)
			local value, count = latency(1) print(value == latency.min, count > 0, requests.max >= requests.min)
		end`,
}

// Scripts send the same requests, and print the same, as under wrk.
func TestScriptsDoWhatTheyDoUnderWrk(t *testing.T) {
	t.Parallel()
	testserver.SkipQuick(t)
	wrk := installed(t, "wrk", "wrk")
	for name, text := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "script.lua")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			run := func(program ...string) (printed string, first []string) {
				var r requests
				server := httptest.NewServer(&r)
				defer server.Close()
				args := append(program[1:], "-t1", "-c1", "-d1s", "-s", file, server.URL+"/p?q", "--", "one")
				out := output(t, program[0], args...)
				before, rest, _ := strings.Cut(out, "Running ")
				_, after, _ := strings.Cut(rest, "Transfer/sec:")
				_, after, _ = strings.Cut(after, "\n")
				for i := range r.text {
					r.text[i] = strings.ReplaceAll(r.text[i], server.Listener.Addr().String(), "ADDRESS")
				}
				return strings.ReplaceAll(before+after, server.Listener.Addr().String(), "ADDRESS"), r.text
			}
			gotPrinted, got := run("brunt", "as", "wrk", "--no-record")
			wantPrinted, want := run(wrk)
			n := min(len(got), len(want))
			if gotPrinted != wantPrinted || n < 3 || !slices.Equal(got[:n], want[:n]) {
				t.Errorf("printed %q, sent\n%s\nwant %q\n%s", gotPrinted, strings.Join(got, "\n"), wantPrinted,
					strings.Join(want, "\n"))
			}
		})
	}
}
