package jmeter

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// requestTo returns an HTTP Request to a server; more has pairs of a property's name and its value.
func requestTo(s *httptest.Server, name, path string, more ...string) string {
	host, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	all := append([]string{"HTTPSampler.domain", host, "HTTPSampler.port", port, "HTTPSampler.path", path}, more...)
	var b strings.Builder
	b.WriteString(`<HTTPSamplerProxy testname="` + name + `">`)
	for pair := range slices.Chunk(all, 2) {
		kind := "stringProp"
		if pair[1] == "true" {
			kind = "boolProp"
		}
		b.WriteString("<" + kind + ` name="` + pair[0] + `">` + pair[1] + "</" + kind + ">")
	}
	b.WriteString("</HTTPSamplerProxy><hashTree/>")
	return b.String()
}

// alone returns a test plan with elements below a thread group, without the sampler of around.
func alone(elements string) string {
	before, rest, _ := strings.Cut(around(elements), `<HTTPSamplerProxy testname="h"`)
	_, rest, _ = strings.Cut(rest, "<hashTree/>")
	return before + rest
}

// sent runs a plan of one thread group, and returns label, code, message and success of its results.
func sent(t *testing.T, elements string) (lines []string) {
	t.Helper()
	dir := t.TempDir()
	plan, log := filepath.Join(dir, "plan.jmx"), filepath.Join(dir, "plan.jtl")
	if err := os.WriteFile(plan, []byte(alone(elements)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := run(t, "-n", "-t", plan, "-l", log); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	for _, row := range csvRows(t, log) {
		lines = append(lines, strings.Join([]string{row[2], row[3], row[4], row[7]}, " | "))
	}
	return lines
}

// Each request has its own response timeout on event loops, too: the next one goes over a new connection.
func TestTimeoutsOnEventLoops(t *testing.T) {
	s := newSite(t)
	const rt = "HTTPSampler.response_timeout"
	elements := requestTo(s.Server, "in time", "/hello", rt, "60000") + requestTo(s.Server, "late", "/late", rt, "100") +
		requestTo(s.Server, "after", "/hello") + requestTo(s.Server, "late after a redirect", "/away", rt, "100",
		"HTTPSampler.follow_redirects", "true") + requestTo(s.Server, "end", "/hello", rt, "60000")
	if p, faults, _ := compiled(alone(elements), nil); len(faults) > 0 || p.roams {
		t.Fatalf("it isn't a plan for event loops: %v", faults)
	}
	const late = " | Non HTTP response code: java.net.SocketTimeoutException | " +
		"Non HTTP response message: Read timed out | false"
	want := []string{"in time | 200 | OK | true", "late" + late, "after | 200 | OK | true",
		"late after a redirect" + late, "late after a redirect-0 | 302 | Found | true", "late after a redirect-1" + late,
		"end | 200 | OK | true"}
	if got := sent(t, elements); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Requests with different connect timeouts open their connections themselves; with one timeout, it is the load's.
func TestConnectTimeouts(t *testing.T) {
	s := newSite(t)
	const ct = "HTTPSampler.connect_timeout"
	for name, c := range map[string]struct {
		elements string
		roams    bool
	}{
		"the same":  {requestTo(s.Server, "a", "/hello", ct, "500") + requestTo(s.Server, "b", "/hello", ct, "500"), false},
		"different": {requestTo(s.Server, "a", "/hello", ct, "500") + requestTo(s.Server, "b", "/hello"), true},
		"variable":  {requestTo(s.Server, "a", "/hello", ct, "${__Random(1,9)}"), true},
		"a source":  {requestTo(s.Server, "a", "/hello", "HTTPSampler.ipSource", "127.0.0.2"), true},
	} {
		p, faults, _ := compiled(alone(c.elements), nil)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		plan, err := p.toPlan("x", nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if p.roams != c.roams || !c.roams && plan.Settings.ConnectTimeout.Milliseconds() != 500 {
			t.Errorf("%s: roams %t, connect timeout %s", name, p.roams, plan.Settings.ConnectTimeout)
		}
	}
}

// No more resources are fetched at once than the plan says.
func TestResourcesAtOnce(t *testing.T) {
	var mu sync.Mutex
	now, most, all := 0, 0, 0
	two := &gate{width: 2}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, `<img src="/1"><img src="/2"><img src="/3"><img src="/4"><img src="/5"><img src="/6">`)
			return
		}
		mu.Lock()
		now, all = now+1, all+1
		most = max(most, now)
		mu.Unlock()
		two.pass()
		mu.Lock()
		now--
		mu.Unlock()
	}))
	t.Cleanup(s.Close)
	got := sent(t, requestTo(s, "page", "/page", "HTTPSampler.image_parser", "true", "HTTPSampler.concurrentDwn", "true",
		"HTTPSampler.concurrentPool", "2"))
	if len(got) != 8 || most != 2 || all != 6 {
		t.Errorf("%d requests, at most %d at once; results %q", all, most, got)
	}
}

// Requests say what of their plan's addresses can't be used.
func TestAddressFaults(t *testing.T) {
	names := func(inner string) string {
		return around(`<DNSCacheManager testname="d">` + inner + `</DNSCacheManager><hashTree/>`)
	}
	for _, c := range []struct{ text, want string }{
		{names(`<boolProp name="DNSCacheManager.isCustomResolver">true</boolProp>` +
			`<collectionProp name="DNSCacheManager.servers"><stringProp name="1">192.0.2.53</stringProp></collectionProp>`),
			`x.jmx:8: DNSCacheManager "d": the DNS server 192.0.2.53 isn't asked`},
		{names(`<collectionProp name="DNSCacheManager.hosts"><elementProp name="h" elementType="StaticHost">` +
			`<stringProp name="StaticHost.Name">shop</stringProp><stringProp name="StaticHost.Address">no host</stringProp>` +
			`</elementProp></collectionProp>`), `the address "no host" of the host shop can't be resolved`},
		{around(`<HTTPSamplerProxy testname="s"><stringProp name="HTTPSampler.ipSource">lo</stringProp>` +
			`<intProp name="HTTPSampler.ipSourceType">7</intProp></HTTPSamplerProxy><hashTree/>`),
			`the type of its source address is "7"`},
	} {
		_, faults, _ := compiled(c.text, nil)
		if len(faults) != 1 || !strings.Contains(faults[0].Error(), c.want) {
			t.Errorf("got %v, want %s", faults, c.want)
		}
	}
}

func TestReadQuoted(t *testing.T) {
	show := func(rows [][]string) string {
		var b strings.Builder
		for _, r := range rows {
			b.WriteString("[" + strings.Join(r, "|") + "]")
		}
		return b.String()
	}
	for _, c := range []struct{ text, quoted, plain string }{
		{"", "", ""},
		{"a,b\nc\n", "[a|b][c]", "[a|b][c]"},
		{"a,b\r\nc,\r\n", "[a|b][c|]", "[a|b][c|]"},
		{"\n\na", "[][][a]", "[][][a]"},
		{",", "[|]", "[|]"},
		{`"a,""b""` + "\nc\",d", `[a,"b"` + "\nc|d]", `["a|""b""][c"|d]`},
		{"x\"y\nz", "[][y][z]", `[x"y][z]`},
		{`"a" b`, "[][b]", `["a" b]`},
		{`"open`, "[]", `["open]`},
		{`""`, "[]", `[""]`},
		{"é,ü", "[é|ü]", "[é|ü]"},
	} {
		if got := show(readQuoted(c.text, ',')); got != c.quoted {
			t.Errorf("%q, quoted: %s, want %s", c.text, got, c.quoted)
		}
		if got := show(readPlain(c.text, ',')); got != c.plain {
			t.Errorf("%q: %s, want %s", c.text, got, c.plain)
		}
	}
}
