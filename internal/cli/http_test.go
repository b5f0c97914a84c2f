package cli

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"brunt/internal/dialect/endpoints"
	"brunt/internal/plan"
	"brunt/internal/testserver"
)

func TestHTTPOneLine(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	c := cookAs(t, "brunt http", server.Addr, "--duration", "1s", "--quiet")
	if c.code != exitPass && c.code != exitInvalid || c.run.Total.Done != 100 || c.run.LoadModel != "open" || !strings.Contains(c.out, "GET /  ") {
		t.Errorf("exit %d, %d done", c.code, c.run.Total.Done)
	}
	c = cookAs(t, "brunt http", "http://"+server.Addr+"/missing", "--sessions", "3", "--requests", "200", "--threshold", "errors < 10%", "--quiet")
	if c.code != exitThreshold && c.code != exitInvalid || c.run.Total.Failed != 200 || c.run.LoadModel != "closed" || c.run.Sessions != 3 {
		t.Errorf("exit %d, %d failed", c.code, c.run.Total.Failed)
	}
	c = cookAs(t, "brunt http", "http://"+server.Addr+"/missing", "--requests", "50", "--rate", "100", "--good", "200-299,404", "--quiet")
	if c.run.Total.OK != 50 || c.run.Total.Done != 50 {
		t.Errorf("%d good of %d", c.run.Total.OK, c.run.Total.Done)
	}
}

func TestHTTPList(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := t.TempDir()
	body, list := filepath.Join(dir, "body"), filepath.Join(dir, "list")
	text := "GET " + p.URL + "/a\nX-A: 1\n\nGET " + p.URL + "/a\nX-A: 2\n\nPOST " + p.URL + "/b\n@" + body + "\n"
	for path, content := range map[string]string{body: "{}", list: text} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := cookAs(t, "brunt http", list, "--rate", "300", "--requests", "300", "--quiet")
	if len(c.run.Operations) != 2 || c.run.Total.Done != 300 {
		t.Fatalf("exit %d, %+v", c.code, c.run)
	}
	for request, n := range map[string][2]int{"GET /a 1 ": {60, 140}, "GET /a 2 ": {60, 140}, "POST /b  {}": {60, 140}} {
		if got := p.count(request); got < n[0] || got > n[1] {
			t.Errorf("%s: %d times", request, got)
		}
	}
}

func TestHTTPUsage(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                                      "accepts 1 arg",
		"nonsense":                              "neither a file nor a URL",
		"http://":                               "missing host",
		"http://a --rate 0":                     "above zero",
		"http://a --sessions 0":                 "at least 1",
		"http://a --duration 0s":                "above zero",
		"http://a --threshold x":                "--threshold",
		"http://a -H nonsense":                  "write Name: value",
		"http://a -d @missing-file":             "no such file",
		"http://a --late never":                 "queue or drop",
		"http://a --output x":                   "use text",
		"http://a -X get":                       "HTTP method",
		"- -X PUT":                              "for a URL",
		"-":                                     "holds no request",
		"http://a --hlog /nonexistent/folder/x": "no such file",
	} {
		c := cookAs(t, "brunt http", strings.Fields(line)...)
		if c.code != exitBadPlan || !strings.Contains(c.err, want) || strings.Count(c.err, "\n") != 1 {
			t.Errorf("%q: exit %d\n%s", line, c.code, c.err)
		}
	}
}

func TestHTTPLoad(t *testing.T) {
	for args, want := range map[string]plan.Phase{
		"":                          {Kind: plan.Open, RateFrom: 100, Duration: 10 * time.Second, Sessions: 10},
		"--rate=5000 --duration=3s": {Kind: plan.Open, RateFrom: 5000, Duration: 3 * time.Second, Sessions: 500},
		"--rate=50000":              {Kind: plan.Open, RateFrom: 50000, Duration: 10 * time.Second, Sessions: 1000},
		"--sessions=4":              {Kind: plan.Closed, Duration: 10 * time.Second, Sessions: 4},
		"--sessions=4 --requests=7": {Kind: plan.Closed, Operations: 7, Sessions: 4},
		"--sessions=4 --requests=7 --duration=1s": {Kind: plan.Closed, Operations: 7, Duration: time.Second, Sessions: 4},
		"--sessions=4 --rate=2 --requests=60":     {Kind: plan.Open, RateFrom: 2, Operations: 60, Duration: 2 * time.Minute, Sessions: 4},
		"--rate=2 --duration=1h -X HEAD":          {Kind: plan.Open, RateFrom: 2, Duration: time.Hour, Sessions: 10},
	} {
		f := &httpFlags{}
		cmd := &cobra.Command{}
		f.bind(cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		ph, sessions, err := f.load()
		if err != nil {
			t.Fatal(err)
		}
		ph.Name, ph.RateTo, ph.Sessions = "", 0, sessions
		if ph.Kind != want.Kind || ph.RateFrom != want.RateFrom || ph.Duration != want.Duration || ph.Operations != want.Operations || ph.Sessions != want.Sessions {
			t.Errorf("%q: %+v, want %+v", args, ph, want)
		}
	}
}

func TestOperationsOfALongList(t *testing.T) {
	var requests []endpoints.Request
	for i := range mostOperations + 1 {
		u, err := url.Parse("http://a/" + strings.Repeat("x", i))
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, endpoints.Request{Method: "GET", URL: u})
	}
	for n, want := range map[int]int{mostOperations: mostOperations, mostOperations + 1: 1} {
		p := &plan.Plan{}
		if err := endpoints.SetTarget(p, requests[:n]); err != nil {
			t.Fatal(err)
		}
		addOperations(p, requests[:n])
		if len(p.Operations) != want {
			t.Errorf("%d requests make %d operations, want %d", n, len(p.Operations), want)
		}
	}
	p := &plan.Plan{}
	if err := endpoints.SetTarget(p, requests); err != nil {
		t.Fatal(err)
	}
	addOperations(p, requests)
	if step := p.Operations[0].Steps[0]; len(step.Variants) != mostOperations+1 || step.Variant(mostOperations+2) != 1 {
		t.Errorf("%d variants", len(step.Variants))
	}
}
