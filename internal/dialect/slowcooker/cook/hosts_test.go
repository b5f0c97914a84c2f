package cook_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

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
	fast, slow, failing := testserver.Nginx(t).Addr, shell.Answering(t, 200, slowness), shell.Answering(t, 500, 0)
	list := shell.List(t, "http://"+fast+"/", "http://"+slow+"/x", "http://"+failing+"/", "http://"+fast+"/index.html")
	c := shell.Run(t, "brunt cook", "-qps", "10", "-concurrency", "8", "-interval", "1s", "-totalRequests", "120",
		"@"+list)
	if len(c.Run.Targets) != 3 {
		t.Fatalf("%+v", c.Run.Targets)
	}
	for address, want := range map[string][2]uint64{fast: {60, 0}, slow: {30, 0}, failing: {30, 30}} {
		g := shell.TargetOf(t, c.Run, address)
		if g.Counts.Done != want[0] || g.Counts.Failed != want[1] {
			t.Errorf("%s: %d done, %d failed, want %v", address, g.Counts.Done, g.Counts.Failed, want)
		}
	}
	for address, want := range map[string][2]string{fast: {"60", "0"}, slow: {"30", "0"}, failing: {"30", "100"}} {
		if done, failed := addressLine(t, c.Out, address); done != want[0] || failed != want[1] {
			t.Errorf("%s: %s done, %s %% failed, want %v", address, done, failed, want)
		}
	}
	h, err := shell.TargetOf(t, c.Run, slow).Service.Histogram()
	if err != nil {
		t.Fatal(err)
	}
	if got := h.CountAbove(int64(slowness) * 99 / 100); got != 30 {
		t.Errorf("%d of the slow host's requests took %s", got, slowness)
	}
	if h, err = shell.TargetOf(t, c.Run, fast).Service.Histogram(); err != nil {
		t.Fatal(err)
	}
	if got := h.CountAbove(int64(slowness) * 99 / 100); got > 30 {
		t.Errorf("%d of the fast host's 60 requests took %s: they are another's", got, slowness)
	}
	if text, err := os.ReadFile(filepath.Join(c.Dir, record.ErrorsFile)); err != nil || strings.Count(string(text),
		failing) == 0 || strings.Contains(string(text), fast) || strings.Contains(string(text), slow) {
		t.Errorf("%v\n%s", err, text)
	}
}

// A host that is down fails only its own requests, also with one session and if it is the first host.
func TestAHostThatIsDownCostsItsRequestsOnly(t *testing.T) {
	t.Parallel()
	good := testserver.Nginx(t).Addr
	down := testserver.Nginx(t)
	down.Stop()
	list := shell.List(t, "http://"+down.Addr+"/", "http://"+good+"/")
	c := shell.Run(t, "brunt cook", "-qps", "40", "-interval", "1s", "-totalRequests", "40", "@"+list)
	one, two := shell.TargetOf(t, c.Run, down.Addr), shell.TargetOf(t, c.Run, good)
	if one.Counts.Failed != 20 || one.Counts.Errors[protocol.Connect] != 20 || two.Counts.OK != 20 ||
		two.Counts.Done != 20 {
		t.Errorf("%+v and %+v", one.Counts, two.Counts)
	}
}

// A list may contain hosts with TLS and hosts without.
func TestListWithAndWithoutTLS(t *testing.T) {
	t.Parallel()
	plain, secure := testserver.Nginx(t), testserver.Nginx(t, testserver.TLS())
	list := shell.List(t, "http://"+plain.Addr+"/", "https://"+secure.Addr+"/")
	c := shell.Run(t, "brunt cook", "-cacert", secure.CAFile, "-qps", "20", "-interval", "1s", "-totalRequests", "20",
		"@"+list)
	for address, protocol := range map[string]string{plain.Addr: "HTTP/1.1", secure.Addr: "HTTP/2.0"} {
		g := shell.TargetOf(t, c.Run, address)
		if g.Counts.OK != 10 || g.Product != "nginx" || g.Settings["protocol"] != protocol {
			t.Errorf("%s: %+v", address, g)
		}
	}
}
