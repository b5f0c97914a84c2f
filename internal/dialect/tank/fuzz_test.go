package tank

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/base/markup"
)

func FuzzLists(f *testing.F) {
	for _, c := range []string{"[Host: h]\n/ tag\n", "5 / t\nhello", "18\nGET /a HTTP/1.0\r\n\r\n",
		`{"uri": "/", "tag": "t"}`,
		"73 0 t\nx", "1.1.1.1 \"GET / HTTP/1.1\" 200"} {
		f.Add([]byte(c))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, kind := range ammoKinds {
			s := source{name: "a", kind: kind, version: "1.0"}
			if a, err := s.read(text); err == nil && a.pass() <= 0 {
				t.Errorf("%s: nothing repeats", kind)
			}
		}
		for _, kind := range pandoraKinds {
			s := pandoraSource{name: "a", kind: kind, host: "h"}
			_, _ = s.read(text)
		}
		_, _, _ = stpd("a", text)
		_, _ = missiles("a", "caseline", "", text)
		_, _ = ParsePhout(text)
	})
}

func FuzzSchedules(f *testing.F) {
	f.Add("line(1,10,10s) const(3,1m) step(1,5,2,1s)")
	f.Add("ramp(5, 4s) wait(5s) ramp(5,0)")
	f.Fuzz(func(t *testing.T, text string) {
		if phases, err := rpsPhases(text); err == nil {
			for _, p := range cut(phases, 7) {
				if p.Duration <= 0 || p.RateFrom < 0 || p.RateTo < 0 {
					t.Errorf("%q: %+v", text, p)
				}
			}
		}
		if at, err := instanceStarts(text); err == nil {
			instancePhases(at, 10, 0)
		}
		_, _ = parseCriterion(text, 3)
	})
}

func FuzzConfigurations(f *testing.F) {
	for _, pattern := range []string{"../../../examples/tank/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Fuzz(func(_ *testing.T, text string) {
		if strings.Contains(text, "file") || strings.Contains(text, "stpd") {
			text = strings.NewReplacer("file", "fyle", "stpd", "stdp").Replace(text) // no file of this machine is read
		}
		path := filepath.Join(os.TempDir(), "nothing")
		n, err := parseYAML([]byte(text))
		if err != nil {
			return
		}
		mark(n, path, 0)
		c := &Config{root: n, reader: reader{file: path}}
		if c.read(); len(c.faults) == 0 {
			_, _ = c.Plan()
		}
		r := reader{file: path}
		if root, err := parseYAML([]byte(text)); err == nil {
			_, _ = r.playbook(root, ".", 0)
		}
	})
}

func FuzzVariables(f *testing.F) {
	f.Add("source.users[next].id", "$.items[0]", "//div[@class='a']/@href", "Authorization|lower|substr(1,2)",
		`{"items":[1]}`)
	f.Fuzz(func(_ *testing.T, path, json, xpath, field, body string) {
		random := rand.New(rand.NewPCG(1, 2))
		vars := map[string]any{"source": map[string]any{"users": []any{map[string]any{"id": 1}}}}
		_, _ = lookup(vars, path, &counters{of: map[string]int{}}, random)
		if !strings.Contains(path, "randString") { // which may be long
			_, _, _ = call(path, vars, &counters{of: map[string]int{}}, random)
		}
		if p, err := parseJSONPath(json); err == nil {
			if v, err := decodeJSON([]byte(body)); err == nil {
				_, _ = p.get(v)
			}
		}
		if doc, err := markup.Parse(body, true); err == nil {
			_, _ = findXPath(doc, xpath)
		}
		if h, err := parseHeaderValue(field); err == nil {
			for _, then := range h.then {
				then(body)
			}
		}
	})
}

func TestXPaths(t *testing.T) {
	doc, err := markup.Parse(`<div class='data'><a href="/x">one</a><a href="/y">two</a></div><div>no</div>`, true)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{"//div[@class='data']/a[2]": "two", "//a[1]/@href": "/x",
		"//div[2]/text()": "no", "//a[contains(@href,'y')]": "two", "//a[text()='one']/following-sibling::a/@href": "/y",
		"string(//a[last()])": "two"} {
		if got, err := findXPath(doc, path); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", path, got, err, want)
		}
	}
	h, err := parseHeaderValue("Authorization|lower|replace(=,)|substr(6)")
	if err != nil {
		t.Fatal(err)
	}
	s := "Basic Ym9zY236Ym9zY28="
	for _, then := range h.then {
		s = then(s)
	}
	if s != "ym9zy236ym9zy28" {
		t.Error(s)
	}
}

// Pandora's requests are those that Go's net/http writes.
func TestPandoraRequests(t *testing.T) {
	for name, c := range map[string]struct{ kind, text, want string }{
		"uri": {"uri", "[Host: x.y]\n[Cookie: a]\n/p?q t\n",
			"GET /p?q HTTP/1.1\r\nHost: x.y\r\nUser-Agent: Go-http-client/1.1\r\nCookie: a\r\n\r\n"},
		"post": {"uripost", "5 /p\nhello",
			"POST /p HTTP/1.1\r\nHost: h\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 5\r\n\r\nhello"},
		"raw": {"raw", "46 t\nGET / HTTP/1.0\r\nHost: r\r\nUser-Agent: shell\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: r\r\nUser-Agent: shell\r\nConnection: close\r\n\r\n"},
		"raw chunks": {"raw", "76 t\nPOST /c HTTP/1.1\nHost: r\nX: 1\nX: 2\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\n\r\n",
			"POST /c HTTP/1.1\r\nHost: r\r\nUser-Agent: Go-http-client/1.1\r\nTransfer-Encoding: chunked\r\n" +
				"X: 1\r\nX: 2\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
		"raw line ends": {"raw", "\r\n26 t\r\nPOST /b HTTP/1.1\nHost: r\n\n",
			"POST /b HTTP/1.1\r\nHost: r\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 0\r\n\r\n"},
		"host of a URI": {"uri", "[Host: x.y]\nhttp://u.v/p t\n",
			"GET /p HTTP/1.1\r\nHost: u.v\r\nUser-Agent: Go-http-client/1.1\r\n\r\n"},
		"host of a field": {"json", `{"uri":"/j","headers":{"Host":"f"}}`,
			"GET /j HTTP/1.1\r\nHost: f\r\nUser-Agent: Go-http-client/1.1\r\n\r\n"},
		"json": {"json", `{"uri":"/j","method":"PUT","host":"j","headers":{"b":"2","Host":"no"},"body":"{}"}`,
			"PUT /j HTTP/1.1\r\nHost: j\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: 2\r\nB: 2\r\n\r\n{}"},
	} {
		s := pandoraSource{name: name, kind: c.kind, host: "h"}
		a, err := s.read([]byte("\ufeff" + c.text)) // with a byte order mark
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := string(a.shots[0].raw); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Without preload, a limit counts the requests that have none of the chosen tags, too.
func TestLimitOfChosenCases(t *testing.T) {
	shots := []shot{{tag: "a"}, {tag: "b"}, {tag: "a"}}
	for limit, want := range map[uint64]uint64{1: 1, 2: 1, 3: 2, 4: 3, 7: 5} {
		if got := chosenOf(shots, []string{"a", "c"}, limit); got != want {
			t.Errorf("limit %d: %d, want %d", limit, got, want)
		}
	}
}

// A byte order mark isn't part of the first request.
func TestListsWithAByteOrderMark(t *testing.T) {
	for kind, text := range map[string]string{"uri": "/a\n", "phantom": "19\nGET /a HTTP/1.0\r\n\r\n"} {
		s := source{name: "a", kind: kind, version: "1.0"}
		if a, err := s.read([]byte("\ufeff" + text)); err != nil || string(a.shots[0].raw) != "GET /a HTTP/1.0\r\n\r\n" {
			t.Errorf("%s: %v, %+v", kind, err, a)
		}
	}
}

func TestPhoutIsRead(t *testing.T) {
	line := "1326453006.582\tt#1\t1510\t934\t52\t384\t140\t1249\t37\t478\t0\t404\n"
	if !isPhout([]byte(line), nil) || isPhout([]byte("a\tb\n"), nil) {
		t.Error("isn't told apart")
	}
	r, err := ParsePhout([]byte(line + "1326453006.592\t\t1000\t0\t0\t900\t100\t1000\t37\t478\t0\t200\n13264"))
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Find("errors", ""); m == nil || m.Value != 0.5 {
		t.Errorf("%+v", m)
	}
	if m := r.Find("response.max", ""); m == nil || m.Value != 1_510_000 {
		t.Errorf("%+v", m)
	}
}
