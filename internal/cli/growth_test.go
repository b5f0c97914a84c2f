package cli_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// crowded is a listener that limits its connections and closes further ones at once.
type crowded struct {
	net.Listener
	most    int64
	open    atomic.Int64
	peak    atomic.Int64
	refused atomic.Int64
}

func (l *crowded) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if now := l.open.Add(1); now <= l.most {
			l.peak.Store(max(l.peak.Load(), now))
			return &counting{Conn: c, of: l}, nil
		}
		l.open.Add(-1)
		l.refused.Add(1)
		c.Close()
	}
}

type counting struct {
	net.Conn
	of   *crowded
	once sync.Once
}

func (c *counting) Close() error {
	c.once.Do(func() { c.of.open.Add(-1) })
	return c.Conn.Close()
}

// Without -c, as many sessions are opened as the rate needs, and no more than the server accepts.
func TestSessionsOpenAsTheLoadNeedsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		most         int64 // connections that the server accepts
		flags        []string
		least, atMax int // sessions used
		full         bool
	}{
		{"few suffice", 1000, []string{"--rate", "20"}, 10, 10, false},
		// 500/s with answers after 100 ms occupy 50 sessions.
		{"more are needed", 1000, []string{"--rate", "500"}, 40, 500, false},
		{"more than the server takes", 25, []string{"--rate", "500"}, 10, 25, true},
		{"more are needed, library", 1000, []string{"--rate", "500", "--redirects", "1"}, 40, 500, false},
		{"more than the server takes, library", 25, []string{"--rate", "500", "--redirects", "1"}, 10, 25, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				select {
				case <-time.After(100 * time.Millisecond):
				case <-r.Context().Done():
				}
			}))
			limited := &crowded{Listener: server.Listener, most: c.most}
			server.Listener = limited
			server.Start()
			defer server.Close()
			got := shell.Run(t, "brunt http", append([]string{server.URL, "--requests", "1000", "--duration", "2s",
				"--quiet"},
				c.flags...)...)
			run := got.Run
			if run == nil {
				t.Fatalf("exit %d: %s", got.Code, got.Out)
			}
			if !run.SessionsAsNeeded || run.Sessions < c.least || run.Sessions > c.atMax ||
				int64(run.Sessions) < min(limited.peak.Load(), 10) {
				t.Errorf("%d sessions, want %d to %d; the server saw %d at a time", run.Sessions, c.least, c.atMax,
					limited.peak.Load())
			}
			// A session that the server closes fails the request that notices it. The kernel accepts sessions until a busy
			// server closes them, but their number grows by half at a time: without a limit, hundreds would be refused.
			if refused := limited.refused.Load(); run.Total.Failed > uint64(refused) || refused > 100 {
				t.Errorf("%d of %d failed, %d sessions were refused", run.Total.Failed, run.Total.Done, refused)
			}
			told := slices.ContainsFunc(run.Warnings, func(w record.Warning) bool { return w.ID == "sessions-full" })
			if told != c.full {
				t.Errorf("told that the server takes no more: %v, want %v: %+v", told, c.full, run.Warnings)
			}
		})
	}
}

// A typical server makes room for new connections by closing idle ones. The number of sessions then stays below the
// server's limit.
func TestSessionsStayBelowWhatTheServerTakes(t *testing.T) {
	t.Parallel()
	server := testserver.Nginx(t, testserver.Connections(64))
	for _, flags := range [][]string{{"--rate", "3000"}, {"--rate", "3000", "--redirects", "1"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			got := shell.Run(t, "brunt http", append([]string{"http://" + server.Addr + "/", "--duration", "2s", "--quiet"},
				flags...)...)
			if got.Run == nil {
				t.Fatalf("exit %d: %s", got.Code, got.Out)
			}
			// Without a limit, a thousand sessions would fail two fifths of the requests.
			if total := &got.Run.Total; total.Failed > total.Done/20 {
				t.Errorf("%d of %d failed over %d sessions", total.Failed, total.Done, got.Run.Sessions)
			}
		})
	}
}
