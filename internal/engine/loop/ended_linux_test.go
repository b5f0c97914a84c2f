package loop_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"brunt/internal/engine"
	"brunt/internal/load/schedule"
	"brunt/internal/measure"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	httpdriver "brunt/internal/protocol/http"
	"brunt/internal/protocol/mysql"
	"brunt/internal/protocol/postgres"
	"brunt/internal/protocol/redis"
	"brunt/test/testserver"
)

// ending is a server that can be made to end its idle connections.
type ending struct {
	driver  protocol.Driver
	target  protocol.Target
	request protocol.Request
	end     func(t *testing.T) // ends the idle connections of the load; they have ended when it returns
}

// endings returns the servers by name.
func endings() map[string]func(t *testing.T) ending {
	sql := protocol.Request{Verb: protocol.SQL, Text: "SELECT 1"}
	return map[string]func(t *testing.T) ending{
		"PostgreSQL": func(t *testing.T) ending {
			s := servers.Postgres(t)
			target := protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
			return ending{postgres.New(), target, sql, func(t *testing.T) {
				ids := strings.Join(strings.Fields(s.Psql(t, "SELECT pid FROM pg_stat_activity "+
					"WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")), ",")
				s.Psql(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid IN ("+ids+")")
				until(t, func() bool {
					return s.Psql(t, "SELECT pid FROM pg_stat_activity WHERE pid IN ("+ids+")") == ""
				})
			}}
		},
		"MariaDB": func(t *testing.T) ending {
			s := servers.Get(t, "mariadb", func(t testserver.TB) *testserver.Server { return testserver.MariaDB(t) })
			target := protocol.Target{Address: s.Addr, User: s.User, Password: s.Password, Database: s.Database}
			d := mysql.New()
			return ending{d, target, sql, func(t *testing.T) {
				a, err := d.Admin(t.Context(), target)
				if err != nil {
					t.Fatal(err)
				}
				defer a.Close()
				list := func(where string) (ids []string) {
					if err := a.Query(t.Context(), "SELECT CAST(id AS CHAR) FROM information_schema.processlist WHERE "+where,
						func(v []*string) error {
							ids = append(ids, *v[0])
							return nil
						}); err != nil {
						t.Fatal(err)
					}
					return ids
				}
				ids := list("command = 'Sleep' AND id <> CONNECTION_ID()")
				for _, id := range ids {
					a.Exec(t.Context(), "KILL "+id)
				}
				until(t, func() bool { return len(list("id IN ("+strings.Join(ids, ",")+")")) == 0 })
			}}
		},
		"Redis": func(t *testing.T) ending {
			s := servers.Get(t, "redis", func(t testserver.TB) *testserver.Server { return testserver.Redis(t) })
			target := protocol.Target{Address: s.Addr}
			words := func(w ...string) protocol.Request { return protocol.Request{Verb: protocol.Command, Words: w} }
			return ending{redis.New(), target, words("PING"), func(t *testing.T) {
				p := &protocol.Program{Requests: []protocol.Request{words("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")}}
				c, err := redis.New().Dial(t.Context(), target, p)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				var reply protocol.Reply
				if c.Do(t.Context(), &p.Requests[0], nil, &reply); reply.Class != protocol.OK {
					t.Fatal(reply.Failure)
				}
			}}
		},
		"HTTP":   func(t *testing.T) ending { return web(t, false, false) },
		"HTTPS":  func(t *testing.T) ending { return web(t, true, false) },
		"HTTP/2": func(t *testing.T) ending { return web(t, true, true) },
	}
}

func web(t *testing.T, secure, http2 bool) ending {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, r.Proto)
	}))
	s.EnableHTTP2 = http2
	target := protocol.Target{Address: s.Listener.Addr().String()}
	if secure {
		s.StartTLS()
		target.TLS = &tls.Config{InsecureSkipVerify: true}
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	request := protocol.Request{Verb: protocol.HTTP, Web: &protocol.Web{Method: "GET", Path: "/"}}
	return ending{httpdriver.New(), target, request, func(*testing.T) { s.CloseClientConnections() }}
}

// until waits for something that another process does.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for !done() {
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
		time.Sleep(time.Millisecond)
	}
}

// Servers end idle connections by design. No request was sent over them, so none fails, whatever the protocol and
// however it is driven.
func TestConnectionsEndedWhileIdleFailNothing(t *testing.T) {
	const sessions, rounds = 3, 4
	for name, start := range endings() {
		t.Run(name, func(t *testing.T) {
			e := start(t)
			w, err := workload.Compile(&plan.Plan{Operations: []plan.Operation{{Name: "one", Weight: 1,
				Steps: []plan.Step{{Request: e.request}}}}})
			if err != nil {
				t.Fatal(err)
			}
			for _, tier := range []string{"loops", "goroutines"} {
				codec, _ := e.driver.(protocol.CodecDriver)
				if tier == "loops" {
					if codec == nil {
						continue
					} else if _, ok := protocol.LoopsTake(codec, e.target, &w.Program); !ok {
						continue
					}
				}
				t.Run(tier, func(t *testing.T) {
					cfg := engine.FleetConfig{
						Workload: w, Driver: e.driver, Sessions: sessions, OperationTimeout: time.Minute,
						Clock: engine.NewClock(time.Now()), Collector: measure.NewCollector(1, 1),
						OnError: func(e engine.ErrorEvent) {
							// The server also ends connections that a session is only making; no request was sent on those.
							if e.Operation >= 0 || e.Failure.Class != protocol.Connect {
								t.Errorf("%+v", e)
							}
						}, Where: engine.Where{Targets: []protocol.Target{e.target}},
						Dialing: engine.Dialing{ConnectTimeout: time.Minute}, ForLoops: engine.ForLoops{Pipeline: 1},
					}
					fleet := connect(t, &cfg, codec, tier == "loops")
					next := uint64(0)
					for range rounds {
						stage := schedule.Stage{First: next, StartNs: cfg.Clock.Now(), Operations: 10 * sessions}
						if next, err = fleet.Run(context.Background(), nil, stage); err != nil {
							t.Fatal(err)
						}
						time.Sleep(2 * time.Millisecond) // idle for longer than sessions trust a connection unseen
						e.end(t)
					}
					cfg.Collector.Cut(cfg.Clock.Now(), measure.Meta{})
					total := cfg.Collector.Total()
					c := total.Totals()
					if c.Done != rounds*10*sessions || c.Failed() != 0 || c.Retries != 0 {
						t.Errorf("%d done, %d failed, %d retries; want %d, 0, 0", c.Done, c.Failed(), c.Retries,
							rounds*10*sessions)
					}
					if n := total.Addresses[0].Reconnects; n < rounds-1 {
						t.Errorf("%d reconnects, want at least %d", n, rounds-1)
					}
				})
			}
		})
	}
}
