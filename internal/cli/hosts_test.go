package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/testserver"
)

// listOf writes a list of lines into a file.
func listOf(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "list")
	put(t, path, strings.Join(lines, "\n")+"\n")
	return path
}

// answering starts a server that answers with a status after a delay.
func answering(t *testing.T, status int, after time.Duration) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(after)
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// targetOf returns the record's entry for an address.
func targetOf(t *testing.T, run *record.Run, address string) *record.Target {
	t.Helper()
	for i := range run.Targets {
		if run.Targets[i].Address == address {
			return &run.Targets[i]
		}
	}
	t.Fatalf("%s isn't in the record: %+v", address, run.Targets)
	return nil
}

// addressLine returns figures from the line of an address in a report: the operations done and the share that failed.
func addressLine(t *testing.T, report, address string) (done, failed string) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^ +` + regexp.QuoteMeta(address) +
		` +(\d+) +\S+(?: [±*]\S*)? +(\S+) %`).FindStringSubmatch(report)
	if m == nil {
		t.Fatalf("no line of %s in\n%s", address, report)
	}
	return m[1], m[2]
}

// The figures of three hosts in a list are kept apart: a fast one, a slow one, and one that always fails.
func TestCookTellsHostsApart(t *testing.T) {
	t.Parallel()
	const slowness = 100 * time.Millisecond
	fast, slow, failing := testserver.Nginx(t).Addr, answering(t, 200, slowness), answering(t, 500, 0)
	list := listOf(t, "http://"+fast+"/", "http://"+slow+"/x", "http://"+failing+"/", "http://"+fast+"/index.html")
	c := cookAs(t, "brunt cook", "-qps", "10", "-concurrency", "8", "-interval", "1s", "-totalRequests", "120", "@"+list)
	if len(c.run.Targets) != 3 {
		t.Fatalf("%+v", c.run.Targets)
	}
	for address, want := range map[string][2]uint64{fast: {60, 0}, slow: {30, 0}, failing: {30, 30}} {
		g := targetOf(t, c.run, address)
		if g.Counts.Done != want[0] || g.Counts.Failed != want[1] {
			t.Errorf("%s: %d done, %d failed, want %v", address, g.Counts.Done, g.Counts.Failed, want)
		}
	}
	for address, want := range map[string][2]string{fast: {"60", "0"}, slow: {"30", "0"}, failing: {"30", "100"}} {
		if done, failed := addressLine(t, c.out, address); done != want[0] || failed != want[1] {
			t.Errorf("%s: %s done, %s %% failed, want %v", address, done, failed, want)
		}
	}
	h, err := targetOf(t, c.run, slow).Service.Histogram()
	if err != nil {
		t.Fatal(err)
	}
	if got := h.CountAbove(int64(slowness) * 99 / 100); got != 30 {
		t.Errorf("%d of the slow host's requests took %s", got, slowness)
	}
	if h, err = targetOf(t, c.run, fast).Service.Histogram(); err != nil {
		t.Fatal(err)
	}
	if got := h.CountAbove(int64(slowness) * 99 / 100); got > 30 {
		t.Errorf("%d of the fast host's 60 requests took %s: they are another's", got, slowness)
	}
	if text, err := os.ReadFile(filepath.Join(c.dir, record.ErrorsFile)); err != nil || strings.Count(string(text),
		failing) == 0 || strings.Contains(string(text), fast) || strings.Contains(string(text), slow) {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestHTTPTellsHostsApart(t *testing.T) {
	t.Parallel()
	good, failing := testserver.Nginx(t).Addr, answering(t, 500, 0)
	list := listOf(t, "GET http://"+good+"/", "", "GET http://"+failing+"/")
	for _, load := range [][]string{{"--rate", "100"}, {"--sessions", "3"}} {
		c := cookAs(t, "brunt http", append(load, list, "--requests", "200", "--quiet")...)
		one, two := targetOf(t, c.run, good), targetOf(t, c.run, failing)
		if one.Counts.Done+two.Counts.Done != 200 || one.Counts.Done < 60 || one.Counts.Failed != 0 ||
			two.Counts.Failed != two.Counts.Done {
			t.Errorf("%v: %+v and %+v", load, one.Counts, two.Counts)
		}
		for i := range c.run.Operations {
			o := &c.run.Operations[i]
			want := one
			if strings.Contains(o.Name, failing) {
				want = two
			}
			if o.Counts.Done != want.Counts.Done {
				t.Errorf("%s: %d done, its address %d", o.Name, o.Counts.Done, want.Counts.Done)
			}
		}
	}
}

// A host that is down fails only its own requests, also with one session and if it is the first host.
func TestAHostThatIsDownCostsItsRequestsOnly(t *testing.T) {
	t.Parallel()
	good := testserver.Nginx(t).Addr
	down := testserver.Nginx(t)
	down.Stop()
	list := listOf(t, "http://"+down.Addr+"/", "http://"+good+"/")
	c := cookAs(t, "brunt cook", "-qps", "40", "-interval", "1s", "-totalRequests", "40", "@"+list)
	one, two := targetOf(t, c.run, down.Addr), targetOf(t, c.run, good)
	if one.Counts.Failed != 20 || one.Counts.Errors[protocol.Connect] != 20 || two.Counts.OK != 20 ||
		two.Counts.Done != 20 {
		t.Errorf("%+v and %+v", one.Counts, two.Counts)
	}
}

// closing starts a server that closes a connection after a number of answers, as servers with a limit of requests per
// connection do.
func closing(t *testing.T, every int64) (address string) {
	t.Helper()
	var answers atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if answers.Add(1)%every == 0 {
			w.Header().Set("Connection", "close")
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// A request right after a connection was closed waits for the next connection and doesn't fail.
func TestHostsThatCloseConnectionsCostNoRequests(t *testing.T) {
	t.Parallel()
	for _, every := range []int64{1, 10} {
		list := listOf(t, "GET http://"+closing(t, every)+"/", "", "GET http://"+closing(t, every)+"/")
		for _, load := range [][]string{{"--rate", "500"}, {"--sessions", "3"}} {
			c := cookAs(t, "brunt http", append(load, list, "--requests", "300", "--quiet")...)
			done := uint64(0)
			for _, g := range c.run.Targets {
				if done += g.Counts.Done; g.Counts.Failed != 0 {
					t.Errorf("closed with every %d, %v: %d of %d requests to %s failed: %v", every, load, g.Counts.Failed,
						g.Counts.Done, g.Address, g.Counts.Errors)
				}
			}
			if done != 300 {
				t.Errorf("closed with every %d, %v: %d done, want 300", every, load, done)
			}
		}
	}
}

// A list may contain hosts with TLS and hosts without.
func TestListWithAndWithoutTLS(t *testing.T) {
	t.Parallel()
	plain, secure := testserver.Nginx(t), testserver.Nginx(t, testserver.TLS())
	list := listOf(t, "http://"+plain.Addr+"/", "https://"+secure.Addr+"/")
	c := cookAs(t, "brunt cook", "-cacert", secure.CAFile, "-qps", "20", "-interval", "1s", "-totalRequests", "20",
		"@"+list)
	for address, protocol := range map[string]string{plain.Addr: "HTTP/1.1", secure.Addr: "HTTP/2.0"} {
		g := targetOf(t, c.run, address)
		if g.Counts.OK != 10 || g.Product != "nginx" || g.Settings["protocol"] != protocol {
			t.Errorf("%s: %+v", address, g)
		}
	}
}
