package cli

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/record/recordtest"
	"brunt/test/testserver"
)

// cooked contains the results of a command.
type cooked struct {
	code     int
	out, err string
	run      *record.Run // nil if there is none
	dir      string
}

// cookAs runs a command line in this process, with a bundle in a folder of the test.
func cookAs(t *testing.T, name string, args ...string) cooked {
	t.Helper()
	c := cooked{dir: filepath.Join(t.TempDir(), "bundle")}
	var out, err bytes.Buffer
	args = append(strings.Fields(name), args...)
	if name != "brunt" {
		args = append(args, "--bundle", c.dir)
	}
	c.code = Main("test", args, strings.NewReader(""), &out, &err)
	c.out, c.err = out.String(), err.String()
	t.Logf("%s: exit %d\n%s%s", strings.Join(args, " "), c.code, c.out, c.err)
	if b, err := record.Open(record.OS{}, c.dir); err == nil {
		if c.run, _, err = b.Result(); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// put writes a file.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var reportLine = regexp.MustCompile(
	`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d) +(?:(\d+) +)?(\d+)/(\d+)/(\d+) (\d+) +(\d+)% +\S+ +\d+ \[ *\d+ +\d+ +\d+ +\d+ \] +\d+(?: +(\d+))? [-+]*$`)

// sum returns the number of lines and the sum of a column: 2 good, 3 bad, 4 failed, 7 wrong hashes.
func (c *cooked) sum(t *testing.T, column int) (lines, sum int) {
	t.Helper()
	for _, m := range reportLine.FindAllStringSubmatch(c.out, -1) {
		n, err := strconv.Atoi(m[column])
		if err != nil {
			t.Fatal(err)
		}
		lines++
		sum += n
	}
	return lines, sum
}

// cook works with three nginx servers behind a proxy, as in the article on slow_cooker.
func TestCookThroughAProxy(t *testing.T) {
	t.Parallel()
	var backends []string
	for range 3 {
		backends = append(backends, testserver.Nginx(t).Addr)
	}
	proxy := testserver.HAProxy(t, backends...)
	for _, layout := range []string{"1.0", "1.2"} {
		c := cookAs(t, "slow_cooker", "-layout", layout, "-qps", "25", "-concurrency", "10", "-interval", "1s",
			"-totalRequests", "432", "http://"+proxy.Addr+"/")
		lines, good := c.sum(t, 2)
		if c.code != 0 || good != 432 || lines < 2 || c.run == nil || c.run.Total.Done != 432 ||
			c.run.Total.Status[2] != 432 || c.run.Tier != "codec" {
			t.Errorf("%s: exit %d, %d lines, %d good", layout, c.code, lines, good)
		}
		want := map[string]string{"1.0": "FROM    TO #REQUESTS\n   0     2 ", "1.2": "{\n  \"p50\": "}[layout]
		if !strings.Contains(c.out, want) || strings.Contains(firstReport(c.out), "+") {
			t.Errorf("%s: %s", layout, c.out)
		}
	}
}

func firstReport(out string) string {
	return strings.ReplaceAll(reportLine.FindString(out), "+0", "")
}

// A bounded run against a server that is too slow ends on time, with all its reports and the requested totals. Requests
// not sent by then are given up.
func TestCookEndsOnTime(t *testing.T) {
	t.Parallel()
	const asked, sessions = 200, 5
	var seen atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		select {
		case <-time.After(500 * time.Millisecond):
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	c := cookAs(t, "slow_cooker", "-qps", "20", "-concurrency", strconv.Itoa(sessions), "-interval", "500ms",
		"-iterations", "4", server.URL+"/")
	lines, good := c.sum(t, 2)
	_, goals := c.sum(t, 5)
	if lines != 4 || goals != asked || c.run == nil {
		t.Fatalf("exit %d, %d lines with %d requests asked for", c.code, lines, goals)
	}
	total := &c.run.Total
	// 2 s hold 4 answers a session, and one that was under way; 200 would take 20 s. Nothing else is sent.
	if most := uint64(5 * sessions); total.Done > most || uint64(seen.Load()) != total.Done || uint64(good) != total.Done {
		t.Errorf("the server saw %d requests, at most %d were possible; %d done, %d told", seen.Load(), most,
			total.Done, good)
	}
	if unsent := total.Unsent[measure.UnsentLoadOver] + total.Unsent[measure.UnsentNoSession] +
		total.Unsent[measure.UnsentGenerator]; total.Done+unsent != asked || total.Offered != asked {
		t.Errorf("%d done and %v given up of %d offered, want %d", total.Done, total.Unsent, total.Offered, asked)
	}
}

// The response times show the server's pauses. An arrival at time a within a pause that ends at e is answered at e at
// the earliest. So of the rate·length arrivals of each pause, at least rate·(length − x) − 1 take x or more. This lower
// bound holds however busy the machine is.
func TestCookShowsPauses(t *testing.T) {
	t.Parallel()
	const rate, pause = 200, time.Second
	server := testserver.Nginx(t)
	type span struct{ from, to time.Time }
	var pauses []span
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 {
			time.Sleep(pause)
			server.Pause()
			from := time.Now()
			time.Sleep(pause)
			pauses = append(pauses, span{from, time.Now()})
			server.Resume()
		}
	}()
	c := cookAs(t, "slow_cooker", "-qps", "20", "-concurrency", "10", "-interval", "2s", "-slice", "250ms", "-iterations",
		"6", "-summary", "report", "http://"+server.Addr+"/")
	<-done
	lines, good := c.sum(t, 2)
	if c.code != 0 || lines != 6 || uint64(good) != c.run.Total.Done || c.run.Total.Done+c.run.Total.Dropped != rate*12 {
		t.Fatalf("exit %d, %d lines, %d good", c.code, lines, good)
	}
	h, err := c.run.Total.Response.Histogram()
	if err != nil {
		t.Fatal(err)
	}
	silent, longest, began := c.silence(t)
	for _, x := range []time.Duration{pause / 100, pause / 4, pause / 2, 3 * pause / 4, 9 * pause / 10} {
		var least float64
		for _, p := range pauses {
			// On a busy machine the load may begin within a pause, or after it.
			if p.from.Before(began) {
				p.from = began
			}
			least += max(rate*(p.to.Sub(p.from)-x).Seconds()-1, 0)
		}
		if got := h.CountAbove(int64(x) * 998 / 1000); float64(got) < 0.99*least {
			t.Errorf("%d requests took %v or more, at least %.0f must have", got, x, least)
		}
	}
	var stopped time.Duration
	whole := uint64(0) // pauses before which the server had answered
	for _, p := range pauses {
		if p.from.After(began.Add(pause / 2)) {
			stopped += p.to.Sub(p.from)
			whole++
		}
	}
	// A standstill lasts from one answer to the next, so it covers slices without an answer and parts of the adjacent
	// ones.
	if s := c.run.Standstill; whole == 0 || s.Count < whole || time.Duration(s.TotalNs) < stopped*95/100 ||
		time.Duration(s.TotalNs) > silent+2*longest*time.Duration(s.Count) || !strings.Contains(c.out, "time lost ") {
		t.Errorf("the server was stopped for %v, no answer came for %v: %+v", stopped, silent, s)
	}
	kinds := map[string]int{}
	for _, h := range c.run.Hints {
		kinds[h.Kind]++
	}
	if kinds["pause"] < 1 || kinds["recovery"] < 1 ||
		!strings.Contains(c.out, " pause: nothing succeeded for 250 ms, after ") {
		t.Errorf("hints: %v", kinds)
	}
}

// silence returns the total length of the slices without an answer, the length of the longest one, and the beginning of
// the first.
func (c *cooked) silence(t *testing.T) (silent, longest time.Duration, began time.Time) {
	t.Helper()
	for _, iv := range recordtest.Intervals(t, c.dir) {
		length := time.Duration(iv.DurationNs())
		if began.IsZero() {
			began = time.Unix(0, iv.UnixNs)
		}
		if longest = max(longest, length); iv.Totals().Done == 0 {
			silent += length
		}
	}
	return silent, longest, began
}

// place is a server that records the requests that it receives.
type place struct {
	*httptest.Server
	mu       sync.Mutex
	hosts    map[string]int
	ids      map[string]int
	requests []string
	opened   int
}

func newPlace(t *testing.T) *place {
	p := &place{hosts: map[string]int{}, ids: map[string]int{}}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodHead {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.hosts[r.Host]++
		p.ids[r.Header.Get("Sc-Req-Id")]++
		p.requests = append(p.requests, fmt.Sprintf("%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("X-A"), body))
		switch r.URL.Path {
		case "/bad":
			w.WriteHeader(503)
		case "/gone":
			w.WriteHeader(410)
		case "/cut":
			panic(http.ErrAbortHandler)
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}
		io.WriteString(w, "ok")
	}))
	p.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			p.mu.Lock()
			p.opened++
			p.mu.Unlock()
		}
	}
	p.Start()
	t.Cleanup(p.Close)
	return p
}

func (p *place) count(request string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		if r == request {
			n++
		}
	}
	return n
}

func TestCookSendsWhatTheFlagsSay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := cookAs(t, "slow_cooker", "-qps", "60", "-interval", "1s", "-totalRequests", "60", "-host", "a.example,b.example",
		"-method", "PUT", "-data", "$1 {}", "-header", "X-A: $2", p.URL+"/x?q=$3")
	if c.code != 0 || p.count("PUT /x?q=$3 $2 $1 {}") != 60 {
		t.Errorf("exit %d, %q", c.code, p.requests)
	}
	if len(p.hosts) != 2 || p.hosts["a.example"] < 10 || p.hosts["b.example"] < 10 {
		t.Errorf("hosts %v", p.hosts)
	}
	for i := 1; i <= 60; i++ {
		if p.ids[strconv.Itoa(i)] != 1 {
			t.Errorf("number %d was sent %d times", i, p.ids[strconv.Itoa(i)])
		}
	}
}

func TestCookTellsAnswersApart(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	list := filepath.Join(t.TempDir(), "urls")
	text := ""
	for _, path := range []string{"/", "/gone", "/bad", "/moved", "/cut"} {
		text += p.URL + path + "\n"
	}
	put(t, list, text)
	hash := fnv.New64a()
	hash.Write([]byte("ok"))
	c := cookAs(t, "slow_cooker", "-qps", "50", "-interval", "1s", "-totalRequests", "50",
		"-hashSampleRate", "1", "-hashValue", fmt.Sprint(hash.Sum64()), "@"+list)
	for column, want := range map[int]int{2: 30, 3: 10, 4: 10, 7: 10} { // a redirect's body is another
		if _, got := c.sum(t, column); got != want {
			t.Errorf("column %d: %d, want %d", column, got, want)
		}
	}
	if p.count("GET /elsewhere  ") != 0 || !strings.Contains(c.err, "connect: ") {
		t.Errorf("a redirect was followed, or nothing was told of the failures:\n%s", c.err)
	}
}

func TestRedirectsAreFollowedIfAsked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, c := range []cooked{
		cookAs(t, "slow_cooker", "-redirects", "2", "-qps", "20", "-interval", "1s", "-totalRequests", "20", p.URL+"/moved"),
		cookAs(t, "slow_cooker", "-compat", "-qps", "20", "-interval", "1s", "-totalRequests", "20", p.URL+"/moved"),
		cookAs(t, "brunt http", "--redirects", "2", "--rate", "20", "--requests", "20", p.URL+"/moved"),
	} {
		if c.run.Total.Status[2] != 20 || c.run.Total.Done != 20 {
			t.Errorf("%v", c.run.Total.Status)
		}
	}
	if p.count("GET /elsewhere  ") != 60 {
		t.Errorf("%d were followed", p.count("GET /elsewhere  "))
	}
}

func TestCookReachesSeveralHosts(t *testing.T) {
	t.Parallel()
	one, two := newPlace(t), newPlace(t)
	list := filepath.Join(t.TempDir(), "urls")
	put(t, list, one.URL+"/1\n"+two.URL+"/2\n")
	c := cookAs(t, "brunt cook", "-qps", "40", "-interval", "1s", "-totalRequests", "40", "@"+list)
	if one.count("GET /1  ") != 20 || two.count("GET /2  ") != 20 || !strings.Contains(c.run.TierReason.String(),
		"several hosts") {
		t.Errorf("exit %d, tier %s (%s)", c.code, c.run.Tier, c.run.TierReason)
	}
}

func TestCookWithoutReuse(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cookAs(t, "slow_cooker", "-qps", "20", "-interval", "1s", "-totalRequests", "20", "-noreuse", p.URL)
	if p.opened < 20 || len(p.requests) != 20 {
		t.Errorf("%d connections for %d requests", p.opened, len(p.requests))
	}
}

func TestCookVerifiesCertificates(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t, testserver.TLS())
	url := "https://" + server.Addr + "/"
	args := []string{"-qps", "20", "-interval", "1s", "-totalRequests", "20"}
	if c := cookAs(t, "slow_cooker", append(args, url)...); c.code != exitcode.Unreachable ||
		!strings.Contains(c.err, "turn verification off") {
		t.Errorf("exit %d: %s", c.code, c.err)
	}
	for _, more := range [][]string{{"-k"}, {"-compat"}, {"-cacert", server.CAFile}, {"-k", "-http1"}} {
		c := cookAs(t, "slow_cooker", append(append(args, more...), url)...)
		proto := "HTTP/2.0"
		if more[0] == "-compat" || len(more) == 2 && more[1] == "-http1" {
			proto = "HTTP/1.1"
		}
		if _, good := c.sum(t, 2); good != 20 || c.run.Targets[0].Settings["protocol"] != proto {
			t.Errorf("%v: exit %d, %d good over %v", more, c.code, good, c.run.Targets[0].Settings)
		}
	}
}

func TestCookUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"-qps", "0", "http://a"}, {"-nonsense"}, {"@missing"},
		{"-threshold", "x", "http://a"}, {"ftp://a"}} {
		for name, code := range map[string]int{"slow_cooker": 64, "brunt cook": exitcode.BadPlan} {
			var out, err bytes.Buffer
			got := Main("test", append(strings.Fields(name), args...), strings.NewReader(""), &out, &err)
			if got != code || strings.Count(err.String(), "\n") != 1 || out.Len() > 0 {
				t.Errorf("%s %v: exit %d, want %d\n%s%s", name, args, got, code, out.String(), err.String())
			}
		}
	}
	var out, err bytes.Buffer
	if code := Main("test", []string{"slow_cooker", "-help"}, nil, &out, &err); code != 64 || out.Len() > 0 ||
		!strings.Contains(err.String(), "Usage: slow_cooker") {
		t.Errorf("help: exit %d", code)
	}
	for _, args := range [][]string{{"brunt", "cook", "--help"}, {"brunt", "help", "cook"}} {
		out.Reset()
		if code := Main("test", args, nil, &out, &err); code != 0 || !strings.Contains(out.String(), "-qps n") {
			t.Errorf("%v: exit %d\n%s", args, code, out.String())
		}
	}
}

// Neither the output nor any file of the bundle contains the user's secrets.
func TestCookKeepsSecrets(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	url := strings.Replace(p.URL, "http://", "http://user:hunter2@", 1)
	for _, c := range []cooked{
		cookAs(t, "brunt cook", "-qps", "20", "-interval", "1s", "-totalRequests", "20", "-header", "X-Token: hunter2",
			"--header=Cookie: hunter2", url),
		cookAs(t, "brunt http", "--rate", "20", "--requests", "20", "-H", "Authorization: hunter2", p.URL),
	} {
		files := []string{c.out, c.err}
		entries, err := os.ReadDir(c.dir)
		if err != nil || len(entries) < 3 {
			t.Fatalf("%d files, %v", len(entries), err)
		}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(c.dir, e.Name()))
			if err != nil && !e.IsDir() {
				t.Fatal(err)
			}
			files = append(files, string(text))
		}
		for _, text := range files {
			if strings.Contains(text, "hunter2") {
				t.Errorf("a secret stands in\n%s", text)
			}
		}
	}
}

func TestCookWritesAHistogramLog(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	path := filepath.Join(t.TempDir(), "run.hlog")
	c := cookAs(t, "brunt cook", "-qps", "100", "-interval", "1s", "-totalRequests", "200", "-hlog", path, p.URL)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := measure.NewHistogram()
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if line[0] == '#' || line[0] == '"' {
			continue
		}
		fields := strings.Split(line, ",")
		h := measure.NewHistogram()
		packed, err := base64.StdEncoding.DecodeString(fields[len(fields)-1])
		if err == nil {
			err = new(measure.HDRDecoder).DecodeInto(h, packed)
		}
		if err != nil || len(fields) != 4 {
			t.Fatalf("%s: %v", line, err)
		}
		all.Merge(h)
	}
	if all.Count() != 200 || all.Quantile(0.5) != int64(c.run.Total.Response.P50Ns) {
		t.Errorf("%d values, median %d, want %d", all.Count(), all.Quantile(0.5), c.run.Total.Response.P50Ns)
	}
}
