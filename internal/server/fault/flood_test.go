package fault

import (
	"context"
	"strings"
	"testing"
	"time"

	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/server/target"
	"brunt/test/testserver"
)

// sessions returns how many sessions a server has, as its own statistics say.
func sessions(t *testing.T, p *plan.Plan) int {
	t.Helper()
	targets, err := target.Targets(p)
	if err != nil {
		t.Fatal(err)
	}
	d := protocols.Of(p.Target.Protocol)
	all, err := d.Doctor.Limits(context.Background(), d.Open(), targets[0])
	if err != nil || len(all) == 0 {
		t.Fatalf("%v, %v", all, err)
	}
	return all[0].Taken
}

// A flood has sessions at a server, not only connections that the server soon ends: it uses up the server's limit.
func TestAFloodLogsIn(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) (s *testserver.Server, protocol string){
		"PostgreSQL": func(t *testing.T) (*testserver.Server, string) {
			return testserver.Postgres(t, testserver.Password("secret"), testserver.Settings("max_connections = 20")), "pg"
		},
		"MariaDB": func(t *testing.T) (*testserver.Server, string) {
			return testserver.MariaDB(t, testserver.Settings("max_connections=20")), "mysql"
		},
		"Redis": func(t *testing.T) (*testserver.Server, string) {
			return testserver.Redis(t, testserver.Password("secret"), testserver.Settings("maxclients 20")), "redis"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, driver := start(t)
			for _, wanted := range []struct {
				connections int
				all         bool
			}{{8, true}, {100, false}} {
				o, l := options(plan.Fault{Name: "x", Kind: plan.FaultFlood, For: time.Hour,
					Flood: plan.FloodFault{Connections: wanted.connections}}), &log{}
				o.Plan.Target = plan.Target{Protocol: driver, Addresses: []string{s.Addr}, User: s.User, Password: s.Password,
					Database: s.Database}
				o.Plan.Settings.ConnectTimeout = 5 * time.Second
				l.join(&o)
				before := sessions(t, o.Plan)
				c := prepared(t, o)
				c.Begin(context.Background())
				l.until(t, "done", func() bool { return len(l.faults) > 1 })
				if wanted.all {
					if n := sessions(t, o.Plan); n < before+wanted.connections {
						t.Errorf("%d sessions, %d before: want %d more", n, before, wanted.connections)
					}
				} else if d := protocols.Of(driver); canDial(t, d, o.Plan) {
					t.Error("there is room for another session")
				}
				faults, _ := c.End()
				if full := strings.Contains(faults[0].Target, "(8 of 8 connections)"); full != wanted.all || faults[0].Error != "" {
					t.Errorf("%+v", faults)
				}
				for range 1000 { // a server ends sessions some time after their clients
					if sessions(t, o.Plan) <= before {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
}

func canDial(t *testing.T, d protocol.Declaration, p *plan.Plan) bool {
	t.Helper()
	targets, err := target.Targets(p)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := d.Open().Dial(context.Background(), targets[0], &protocol.Program{})
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
