package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"brunt/internal/judge/exitcode"
	"brunt/internal/protocol"
	"brunt/internal/record/recordtest"
	"brunt/test/testserver"
)

// listened is an output that signals when a certain text has been written to it.
type listened struct {
	mu    sync.Mutex
	text  bytes.Buffer
	until string
	heard chan struct{}
}

func listen(until string) *listened { return &listened{until: until, heard: make(chan struct{})} }

func (l *listened) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.until != "" && strings.Contains(l.text.String(), l.until)
	l.text.Write(b)
	if !before && l.until != "" && strings.Contains(l.text.String(), l.until) {
		close(l.heard)
	}
	return len(b), nil
}

// said returns what has been written so far.
func (l *listened) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startLate runs a command line while a server is down, starts the server when out or err has received its text, and
// returns the results of the command.
func startLate(t *testing.T, server *testserver.Server, out, err *listened, command string, args ...string) cooked {
	t.Helper()
	c := cooked{dir: filepath.Join(t.TempDir(), "bundle")}
	ended := make(chan int)
	go func() {
		ended <- Main("test", append(strings.Fields(command), append(args, "--bundle", c.dir)...), strings.NewReader(""),
			out, err)
	}()
	select {
	case <-out.heard:
	case <-err.heard:
	case c.code = <-ended:
		t.Fatalf("exit %d before the server was started\n%s%s", c.code, out.said(), err.said())
	}
	server.Restart()
	c.code = <-ended
	c.out, c.err = out.said(), err.said()
	t.Logf("exit %d\n%s%s", c.code, c.out, c.err)
	c.run = recordtest.Result(t, c.dir)
	return c
}

// slow_cooker starts without a server, counts the failures, and continues when the service is up.
func TestSlowCookerBeginsBeforeTheService(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"slow_cooker": nil, "brunt cook": {"-compat", "-summary", "none"}} {
		server := testserver.Nginx(t)
		server.Stop()
		args = append(args, "-qps", "5", "-concurrency", "10", "-interval", "500ms", "-totalRequests", "400",
			"http://"+server.Addr+"/")
		c := startLate(t, server, listen("  0/0/"), listen(""), name, args...)
		_, good := c.sum(t, 2)
		_, failed := c.sum(t, 4)
		if good == 0 || failed < 10 || good+failed != 400 || name == "slow_cooker" && c.code != exitcode.Pass {
			t.Errorf("%s: exit %d, %d good, %d failed", name, c.code, good, failed)
		}
		g := targetOf(t, c.run, server.Addr)
		if int(g.Counts.OK) != good || int(g.Counts.Errors[protocol.Connect]) != failed {
			t.Errorf("%s: recorded %+v", name, g.Counts)
		}
		if !strings.Contains(c.err, "begins although the service is down") ||
			!strings.Contains(c.err, "connect refused: can't connect to "+server.Addr) {
			t.Errorf("%s: %s", name, c.err)
		}
	}
}

func TestWaitForTheService(t *testing.T) {
	t.Parallel()
	for command, args := range map[string][]string{
		"brunt cook":  {"-wait", "2m", "-qps", "50", "-interval", "1s", "-totalRequests", "50"},
		"brunt http":  {"--wait", "2m", "--requests", "50"},
		"slow_cooker": {"-wait", "2m", "-qps", "50", "-interval", "1s", "-totalRequests", "50"},
	} {
		server := testserver.Nginx(t)
		server.Stop()
		c := startLate(t, server, listen(""), listen("brunt: waiting up to 2m0s: "), command,
			append(args, "http://"+server.Addr+"/")...)
		if c.run.Total.OK != 50 || c.run.Total.Done != 50 || c.run.Tier != "codec" || strings.Count(c.err, "waiting") != 1 {
			t.Errorf("%s: exit %d, %d of %d, tier %s", command, c.code, c.run.Total.OK, c.run.Total.Done, c.run.Tier)
		}
	}
}

// brunt waits for all hosts of a list.
func TestWaitForAllHosts(t *testing.T) {
	t.Parallel()
	up, late := testserver.Nginx(t), testserver.Nginx(t)
	late.Stop()
	list := listOf(t, "http://"+up.Addr+"/", "http://"+late.Addr+"/")
	c := startLate(t, late, listen(""), listen("waiting up to 2m0s: "), "brunt cook", "-wait", "2m", "-qps", "50",
		"-interval", "1s", "-totalRequests", "50", "@"+list)
	for _, s := range []*testserver.Server{up, late} {
		if g := targetOf(t, c.run, s.Addr); g.Counts.OK != 25 || g.Counts.Done != 25 {
			t.Errorf("%+v", g)
		}
	}
}

// A service that doesn't start in time, or that brunt doesn't wait for, is reported as a clear failure.
func TestServiceThatStaysDown(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t)
	server.Stop()
	url := "http://" + server.Addr + "/"
	for _, c := range []cooked{cookAs(t, "brunt cook", url), cookAs(t, "brunt http", url)} {
		if c.code != exitcode.Unreachable || !strings.Contains(c.err, "connection refused") ||
			strings.Count(c.err, "\n") != 1 {
			t.Errorf("exit %d: %s", c.code, c.err)
		}
	}
	for _, c := range []cooked{cookAs(t, "brunt cook", "-wait", "300ms", url),
		cookAs(t, "brunt http", "--wait", "300ms", url)} {
		if c.code != exitcode.Unreachable || !strings.HasPrefix(c.err, "brunt: waiting up to 300ms: ") ||
			strings.Count(c.err, "\n") != 2 {
			t.Errorf("exit %d: %s", c.code, c.err)
		}
	}
	for _, c := range []cooked{cookAs(t, "brunt cook", "-wait", "-1s", url),
		cookAs(t, "brunt http", "--wait", "-1s", url)} {
		if c.code != exitcode.BadPlan || !strings.Contains(c.err, "above zero") {
			t.Errorf("exit %d: %s", c.code, c.err)
		}
	}
}
