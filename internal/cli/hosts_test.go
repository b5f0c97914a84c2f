package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"brunt/test/shell"
	"brunt/test/testserver"
)

func TestHTTPTellsHostsApart(t *testing.T) {
	t.Parallel()
	good, failing := testserver.Nginx(t).Addr, shell.Answering(t, 500, 0)
	list := shell.List(t, "GET http://"+good+"/", "", "GET http://"+failing+"/")
	for _, load := range [][]string{{"--rate", "100"}, {"--sessions", "3"}} {
		c := shell.Run(t, "brunt http", append(load, list, "--requests", "200", "--quiet")...)
		one, two := shell.TargetOf(t, c.Run, good), shell.TargetOf(t, c.Run, failing)
		if one.Counts.Done+two.Counts.Done != 200 || one.Counts.Done < 60 || one.Counts.Failed != 0 ||
			two.Counts.Failed != two.Counts.Done {
			t.Errorf("%v: %+v and %+v", load, one.Counts, two.Counts)
		}
		for i := range c.Run.Operations {
			o := &c.Run.Operations[i]
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
		list := shell.List(t, "GET http://"+closing(t, every)+"/", "", "GET http://"+closing(t, every)+"/")
		for _, load := range [][]string{{"--rate", "500"}, {"--sessions", "3"}} {
			c := shell.Run(t, "brunt http", append(load, list, "--requests", "300", "--quiet")...)
			done := uint64(0)
			for _, g := range c.Run.Targets {
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
