package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/plan"
	"brunt/test/testserver"

	"github.com/spf13/cobra"
)

func TestHTTPOneLine(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	c := cookAs(t, "brunt http", server.Addr, "--duration", "1s", "--quiet")
	if c.code != exitcode.Pass && c.code != exitcode.Invalid || c.run.Total.Done != 100 || c.run.LoadModel != "open" ||
		!strings.Contains(c.out, "GET /  ") {
		t.Errorf("exit %d, %d done", c.code, c.run.Total.Done)
	}
	c = cookAs(t, "brunt http", "http://"+server.Addr+"/missing", "--sessions", "3", "--requests", "200", "--threshold",
		"errors < 10%", "--quiet")
	if c.code != exitcode.Threshold && c.code != exitcode.Invalid || c.run.Total.Failed != 200 ||
		c.run.LoadModel != "closed" || c.run.Sessions != 3 {
		t.Errorf("exit %d, %d failed", c.code, c.run.Total.Failed)
	}
	c = cookAs(t, "brunt http", "http://"+server.Addr+"/missing", "--requests", "50", "--rate", "100", "--good",
		"200-299,404", "--quiet")
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
		put(t, path, content)
	}
	c := cookAs(t, "brunt http", list, "--rate", "300", "--requests", "300", "--quiet")
	if len(c.run.Operations) != 2 || c.run.Total.Done != 300 {
		t.Fatalf("exit %d, %+v", c.code, c.run)
	}
	for _, request := range []string{"GET /a 1 ", "GET /a 2 ", "POST /b  {}"} {
		if got := p.count(request); got != 100 {
			t.Errorf("%s: %d times in order, want 100", request, got)
		}
	}
	p = newPlace(t)
	text = strings.ReplaceAll(text, "GET http", "GET  http")
	text = regexp.MustCompile(`http://[^/]*`).ReplaceAllString(text, p.URL)
	put(t, list, text)
	cookAs(t, "brunt http", list, "--rate", "300", "--requests", "300", "--quiet", "--in-order=false")
	for request, n := range map[string][2]int{"GET /a 1 ": {60, 140}, "GET /a 2 ": {60, 140}, "POST /b  {}": {60, 140}} {
		if got := p.count(request); got < n[0] || got > n[1] {
			t.Errorf("%s: %d times", request, got)
		}
	}
}

func TestHTTPUsage(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"":                                      "needs arguments, and there are none",
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
		"- -X PUT":                              "for URLs",
		"http://a --rate 5/x":                   "N/unit",
		"http://a --rate 5/0s":                  "N/unit",
		"http://a -d x --secret-data y":         "give one",
		"http://a --bundle b --no-record":       "exclude each other",
		"http://a --warm-up 0s":                 "--warm-up",
		"-":                                     "holds no request",
		"http://a --hlog /nonexistent/folder/x": "no such file",
	} {
		c := cookAs(t, "brunt http", strings.Fields(line)...)
		if c.code != exitcode.BadPlan || !strings.Contains(c.err, want) || strings.Count(c.err, "\n") != 1 {
			t.Errorf("%q: exit %d\n%s", line, c.code, c.err)
		}
	}
}

func TestHTTPLoad(t *testing.T) {
	for args, want := range map[string]plan.Phase{
		"-n 7 -c 4":                   {Kind: plan.Closed, Operations: 7, Sessions: 4},
		"-c 4 -z 3s --rate 600/m":     {Kind: plan.Open, RateFrom: 10, Duration: 3 * time.Second, Sessions: 4},
		"--rate 50/1s --sessions 1":   {Kind: plan.Open, RateFrom: 50, Duration: 10 * time.Second, Sessions: 1},
		"--rate 1/100ms --sessions 1": {Kind: plan.Open, RateFrom: 10, Duration: 10 * time.Second, Sessions: 1},
		"":                            {Kind: plan.Open, RateFrom: 100, Duration: 10 * time.Second, Sessions: 100},
		"--rate=5000 --duration=3s":   {Kind: plan.Open, RateFrom: 5000, Duration: 3 * time.Second, Sessions: 1000},
		"--rate=50000":                {Kind: plan.Open, RateFrom: 50000, Duration: 10 * time.Second, Sessions: 1000},
		"--sessions=4":                {Kind: plan.Closed, Duration: 10 * time.Second, Sessions: 4},
		"--sessions=4 --requests=7":   {Kind: plan.Closed, Operations: 7, Sessions: 4},
		"--sessions=4 --requests=7 --duration=1s": {Kind: plan.Closed, Operations: 7, Duration: time.Second, Sessions: 4},
		"--sessions=4 --rate=2 --requests=60": {Kind: plan.Open, RateFrom: 2, Operations: 60, Duration: 2 * time.Minute,
			Sessions: 4},
		"--rate=2 --duration=1h -X HEAD": {Kind: plan.Open, RateFrom: 2, Duration: time.Hour, Sessions: 10},
	} {
		f := &httpFlags{}
		cmd := &cobra.Command{}
		f.bind(&command.Env{}, cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		p, err := f.plan(&command.Env{}, []string{"http://a/"})
		if err != nil {
			t.Fatal(err)
		}
		ph := p.Load[0]
		ph.Sessions = p.Settings.Sessions
		if ph.Kind != want.Kind || ph.RateFrom != want.RateFrom || ph.Duration != want.Duration ||
			ph.Operations != want.Operations || ph.Sessions != want.Sessions {
			t.Errorf("%q: %+v, want %+v", args, ph, want)
		}
	}
}

// Requests are sent in the order of the list, repeatedly. A request with a body is a POST, several arguments are one
// list, and the warm-up is not counted.
func TestHTTPOrderAndBodies(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return // brunt asks what the server is
		}
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+r.URL.Path+r.Header.Get("X-N")+string(body))
	}))
	defer server.Close()
	list := filepath.Join(t.TempDir(), "targets.json")
	text := `{"method":"PUT","url":"` + server.URL + `/j","body":"eA==","header":{"X-N":["7"]}}` + "\n\n" +
		`{"method":"GET","url":"` + server.URL + `/a"}` + "\n"
	put(t, list, text)
	for _, c := range []struct {
		args, want string
	}{
		{server.URL + "/a " + server.URL + "/b " + server.URL + "/a -n 7 -c 1", "GET/a GET/b GET/a GET/a GET/b GET/a GET/a"},
		{server.URL + "/a -d x -n 2 -c 1", "POST/ax POST/ax"},
		{server.URL + "/a -d x -X PATCH -n 1 -c 1", "PATCH/ax"},
		{server.URL + "/a --secret-data x -n 1 -c 1", "POST/ax"},
		{list + " " + server.URL + "/b -H X-N:1 -n 4 -c 1", "PUT/j7x GET/a1 GET/b1 PUT/j7x"},
	} {
		seen = nil
		r := cookAs(t, "brunt http", append(strings.Fields(c.args), "--quiet")...)
		got := strings.Join(seen, " ")
		if got != c.want {
			t.Errorf("%s: exit %d, sent %s, want %s\n%s", c.args, r.code, got, c.want, r.err)
		}
	}
	r := cookAs(t, "brunt http", server.URL+"/w", "--rate", "100", "--requests", "20", "--warm-up", "300ms", "--quiet")
	if r.run.Total.Done != 20 || len(r.run.Phases) != 2 || !r.run.Phases[0].WarmUp || r.run.Phases[0].Done == 0 {
		t.Errorf("exit %d: done %d in %+v", r.code, r.run.Total.Done, r.run.Phases)
	}
}
