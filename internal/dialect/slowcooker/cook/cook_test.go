package cook_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/cli"
	"brunt/internal/judge/exitcode"
	"brunt/internal/measure"
	"brunt/internal/record/recordtest"
	"brunt/test/shell"
	"brunt/test/testserver"
)

var reportLine = regexp.MustCompile(
	`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d) +(?:(\d+) +)?(\d+)/(\d+)/(\d+) (\d+) +(\d+)% +\S+ +\d+ \[ *\d+ +\d+ +\d+ +\d+ \] +\d+(?: +(\d+))? [-+]*$`)

// sum returns the number of lines and the sum of a column: 2 good, 3 bad, 4 failed, 7 wrong hashes.
func sum(t *testing.T, out string, column int) (lines, sum int) {
	t.Helper()
	for _, m := range reportLine.FindAllStringSubmatch(out, -1) {
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
		c := shell.Run(t, "slow_cooker", "-layout", layout, "-qps", "25", "-concurrency", "10", "-interval", "1s",
			"-totalRequests", "432", "http://"+proxy.Addr+"/")
		lines, good := sum(t, c.Out, 2)
		if c.Code != 0 || good != 432 || lines < 2 || c.Run == nil || c.Run.Total.Done != 432 ||
			c.Run.Total.Status[2] != 432 || c.Run.Tier != "codec" {
			t.Errorf("%s: exit %d, %d lines, %d good", layout, c.Code, lines, good)
		}
		want := map[string]string{"1.0": "FROM    TO #REQUESTS\n   0     2 ", "1.2": "{\n  \"p50\": "}[layout]
		if !strings.Contains(c.Out, want) || strings.Contains(firstReport(c.Out), "+") {
			t.Errorf("%s: %s", layout, c.Out)
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
	c := shell.Run(t, "slow_cooker", "-qps", "20", "-concurrency", strconv.Itoa(sessions), "-interval", "500ms",
		"-iterations", "4", server.URL+"/")
	lines, good := sum(t, c.Out, 2)
	_, goals := sum(t, c.Out, 5)
	if lines != 4 || goals != asked || c.Run == nil {
		t.Fatalf("exit %d, %d lines with %d requests asked for", c.Code, lines, goals)
	}
	total := &c.Run.Total
	// 2 s hold 4 answers a session, and one that was under way; 200 would take 20 s. Nothing else is sent.
	if most := uint64(5 * sessions); total.Done > most || uint64(seen.Load()) != total.Done ||
		uint64(good) != total.Done {
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
// bound holds however busy the machine is. Whether a pause is told from the pauses of a busy machine is up to chance,
// so that up to three loads are sent until it is.
func TestCookShowsPauses(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	var kinds map[string]int
	for range 3 {
		if kinds = cookWithPauses(t, server); kinds["pause"] > 0 && kinds["recovery"] > 0 {
			return
		}
	}
	t.Errorf("hints: %v", kinds)
}

// cookWithPauses sends a load to a server that pauses three times, and returns the number of hints of each kind.
func cookWithPauses(t *testing.T, server *testserver.Server) (kinds map[string]int) {
	t.Helper()
	const rate, pause = 200, time.Second
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
	c := shell.Run(t, "slow_cooker", "-qps", "20", "-concurrency", "10", "-interval", "2s", "-slice", "250ms",
		"-iterations",
		"6", "-summary", "report", "http://"+server.Addr+"/")
	<-done
	lines, good := sum(t, c.Out, 2)
	if c.Code != 0 || lines != 6 || uint64(good) != c.Run.Total.Done || c.Run.Total.Done+c.Run.Total.Dropped != rate*12 {
		t.Fatalf("exit %d, %d lines, %d good", c.Code, lines, good)
	}
	h, err := c.Run.Total.Response.Histogram()
	if err != nil {
		t.Fatal(err)
	}
	silent, longest, began := silence(t, c.Dir)
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
	if s := c.Run.Standstill; whole == 0 || s.Count < whole || time.Duration(s.TotalNs) < stopped*95/100 ||
		time.Duration(s.TotalNs) > silent+2*longest*time.Duration(s.Count) || !strings.Contains(c.Out, "time lost ") {
		t.Errorf("the server was stopped for %v, no answer came for %v: %+v", stopped, silent, s)
	}
	kinds = map[string]int{}
	for _, h := range c.Run.Hints {
		if h.Metric == "throughput" {
			kinds[h.Kind]++
		}
	}
	if told := strings.Contains(c.Out, " pause: nothing succeeded for 250 ms, after "); told != (kinds["pause"] > 0) {
		t.Errorf("hints: %v, and the report says so: %t", kinds, told)
	}
	return kinds
}

// silence returns the total length of the slices without an answer, the length of the longest one, and the beginning of
// the first.
func silence(t *testing.T, dir string) (silent, longest time.Duration, began time.Time) {
	t.Helper()
	for _, iv := range recordtest.Intervals(t, dir) {
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

func TestCookSendsWhatTheFlagsSay(t *testing.T) {
	t.Parallel()
	p := shell.NewService(t)
	c := shell.Run(t, "slow_cooker", "-qps", "60", "-interval", "1s", "-totalRequests", "60", "-host",
		"a.example,b.example",
		"-method", "PUT", "-data", "$1 {}", "-header", "X-A: $2", p.URL+"/x?q=$3")
	if c.Code != 0 || p.Count("PUT /x?q=$3 $2 $1 {}") != 60 {
		t.Errorf("exit %d, %q", c.Code, p.Requests)
	}
	if len(p.Hosts) != 2 || p.Hosts["a.example"] < 10 || p.Hosts["b.example"] < 10 {
		t.Errorf("hosts %v", p.Hosts)
	}
	for i := 1; i <= 60; i++ {
		if p.IDs[strconv.Itoa(i)] != 1 {
			t.Errorf("number %d was sent %d times", i, p.IDs[strconv.Itoa(i)])
		}
	}
}

func TestCookTellsAnswersApart(t *testing.T) {
	t.Parallel()
	p := shell.NewService(t)
	list := filepath.Join(t.TempDir(), "urls")
	text := ""
	for _, path := range []string{"/", "/gone", "/bad", "/moved", "/cut"} {
		text += p.URL + path + "\n"
	}
	shell.Put(t, list, text)
	hash := fnv.New64a()
	hash.Write([]byte("ok"))
	c := shell.Run(t, "slow_cooker", "-qps", "50", "-interval", "1s", "-totalRequests", "50",
		"-hashSampleRate", "1", "-hashValue", fmt.Sprint(hash.Sum64()), "@"+list)
	for column, want := range map[int]int{2: 30, 3: 10, 4: 10, 7: 10} { // a redirect's body is another
		if _, got := sum(t, c.Out, column); got != want {
			t.Errorf("column %d: %d, want %d", column, got, want)
		}
	}
	if p.Count("GET /elsewhere  ") != 0 || !strings.Contains(c.Err, "connect: ") {
		t.Errorf("a redirect was followed, or nothing was told of the failures:\n%s", c.Err)
	}
}

func TestCookReachesSeveralHosts(t *testing.T) {
	t.Parallel()
	one, two := shell.NewService(t), shell.NewService(t)
	list := filepath.Join(t.TempDir(), "urls")
	shell.Put(t, list, one.URL+"/1\n"+two.URL+"/2\n")
	c := shell.Run(t, "brunt cook", "-qps", "40", "-interval", "1s", "-totalRequests", "40", "@"+list)
	if one.Count("GET /1  ") != 20 || two.Count("GET /2  ") != 20 || !strings.Contains(c.Run.TierReason.String(),
		"several hosts") {
		t.Errorf("exit %d, tier %s (%s)", c.Code, c.Run.Tier, c.Run.TierReason)
	}
}

func TestCookWithoutReuse(t *testing.T) {
	t.Parallel()
	p := shell.NewService(t)
	shell.Run(t, "slow_cooker", "-qps", "20", "-interval", "1s", "-totalRequests", "20", "-noreuse", p.URL)
	if p.Opened < 20 || len(p.Requests) != 20 {
		t.Errorf("%d connections for %d requests", p.Opened, len(p.Requests))
	}
}

func TestCookVerifiesCertificates(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t, testserver.TLS())
	url := "https://" + server.Addr + "/"
	args := []string{"-qps", "20", "-interval", "1s", "-totalRequests", "20"}
	if c := shell.Run(t, "slow_cooker", append(args, url)...); c.Code != exitcode.Unreachable ||
		!strings.Contains(c.Err, "turn verification off") {
		t.Errorf("exit %d: %s", c.Code, c.Err)
	}
	for _, more := range [][]string{{"-k"}, {"-compat"}, {"-cacert", server.CAFile}, {"-k", "-http1"}} {
		c := shell.Run(t, "slow_cooker", append(append(args, more...), url)...)
		proto := "HTTP/2.0"
		if more[0] == "-compat" || len(more) == 2 && more[1] == "-http1" {
			proto = "HTTP/1.1"
		}
		if _, good := sum(t, c.Out, 2); good != 20 || c.Run.Targets[0].Settings["protocol"] != proto {
			t.Errorf("%v: exit %d, %d good over %v", more, c.Code, good, c.Run.Targets[0].Settings)
		}
	}
}

func TestCookUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"-qps", "0", "http://a"}, {"-nonsense"}, {"@missing"},
		{"-threshold", "x", "http://a"}, {"ftp://a"}} {
		for name, code := range map[string]int{"slow_cooker": 64, "brunt cook": exitcode.BadPlan} {
			var out, err bytes.Buffer
			got := cli.Main("test", append(strings.Fields(name), args...), strings.NewReader(""), &out, &err)
			if got != code || strings.Count(err.String(), "\n") != 1 || out.Len() > 0 {
				t.Errorf("%s %v: exit %d, want %d\n%s%s", name, args, got, code, out.String(), err.String())
			}
		}
	}
	var out, err bytes.Buffer
	if code := cli.Main("test", []string{"slow_cooker", "-help"}, nil, &out, &err); code != 64 || out.Len() > 0 ||
		!strings.Contains(err.String(), "Usage: slow_cooker") {
		t.Errorf("help: exit %d", code)
	}
	for _, args := range [][]string{{"brunt", "cook", "--help"}, {"brunt", "help", "cook"}} {
		out.Reset()
		if code := cli.Main("test", args, nil, &out, &err); code != 0 || !strings.Contains(out.String(), "-qps n") {
			t.Errorf("%v: exit %d\n%s", args, code, out.String())
		}
	}
}

// Neither the output nor any file of the bundle contains the user's secrets.
func TestCookKeepsSecrets(t *testing.T) {
	t.Parallel()
	p := shell.NewService(t)
	url := strings.Replace(p.URL, "http://", "http://user:hunter2@", 1)
	c := shell.Run(t, "brunt cook", "-qps", "20", "-interval", "1s", "-totalRequests", "20", "-header",
		"X-Token: hunter2", "--header=Cookie: hunter2", url)
	for _, text := range c.Texts(t) {
		if strings.Contains(text, "hunter2") {
			t.Errorf("a secret stands in\n%s", text)
		}
	}
}

func TestCookWritesAHistogramLog(t *testing.T) {
	t.Parallel()
	p := shell.NewService(t)
	path := filepath.Join(t.TempDir(), "run.hlog")
	c := shell.Run(t, "brunt cook", "-qps", "100", "-interval", "1s", "-totalRequests", "200", "-hlog", path, p.URL)
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
	if all.Count() != 200 || all.Quantile(0.5) != int64(c.Run.Total.Response.P50Ns) {
		t.Errorf("%d values, median %d, want %d", all.Count(), all.Quantile(0.5), c.Run.Total.Response.P50Ns)
	}
}

func TestCookFollowsRedirectsIfAsked(t *testing.T) {
	t.Parallel()
	p := shell.NewService(t)
	for _, more := range [][]string{{"-redirects", "2"}, {"-compat"}} {
		c := shell.Run(t, "slow_cooker", append(more, "-qps", "20", "-interval", "1s", "-totalRequests", "20",
			p.URL+"/moved")...)
		if c.Run.Total.Status[2] != 20 || c.Run.Total.Done != 20 {
			t.Errorf("%v: %v", more, c.Run.Total.Status)
		}
	}
	if n := p.Count("GET /elsewhere  "); n != 40 {
		t.Errorf("%d were followed", n)
	}
}
