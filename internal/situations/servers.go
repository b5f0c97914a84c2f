//go:build linux

package main

import (
	"fmt"
	"os"
	"time"

	"brunt/internal/testserver"
)

// kind is a kind of server.
type kind string

const (
	postgres  kind = "postgres"
	tarantool kind = "tarantool"
	redis     kind = "redis"
	nginx     kind = "nginx"
	web       kind = "web"  // a Go HTTP server: see serveWeb
	echo      kind = "echo" // brunt's own
	crowded   kind = "postgres-of-10"
)

// crowdedSessions is max_connections of the server crowded.
const crowdedSessions = 10

// delays reports whether the server itself can take its time over an answer; for the others a
// proxy does.
func (k kind) delays() bool { return k == postgres || k == tarantool || k == web }

// operation is the YAML of a query that takes the server so long.
func (k kind) operation(answer time.Duration) string {
	slow := answer > 0 && k.delays()
	switch k {
	case postgres, crowded:
		if slow {
			return fmt.Sprintf("sql: select pg_sleep(%v)", answer.Seconds())
		}
		return "sql: select 1"
	case tarantool:
		if slow {
			return fmt.Sprintf("eval: require('fiber').sleep(%v) return 1", answer.Seconds())
		}
		return "eval: return 1"
	case redis:
		return "command: [PING]"
	case echo:
		return "call: echo\n    params: [{type: Integer, range: [1, 1000]}]"
	}
	if slow {
		return fmt.Sprintf("http: {path: /slow?ms=%d}", answer.Milliseconds())
	}
	return "http: {path: /}"
}

func (k kind) protocol() string {
	switch k {
	case postgres, crowded:
		return "pg"
	case tarantool:
		return "iproto"
	case nginx, web:
		return "http"
	}
	return string(k)
}

func (k kind) start(t testserver.TB, self string) *testserver.Server {
	switch k {
	case postgres:
		return testserver.Postgres(t)
	case crowded:
		return testserver.Postgres(t, testserver.Settings(fmt.Sprintf("max_connections = %d", crowdedSessions), "superuser_reserved_connections = 0"))
	case tarantool:
		return testserver.Tarantool(t)
	case redis:
		return testserver.Redis(t)
	case nginx:
		return testserver.Nginx(t)
	}
	return testserver.Program(t, string(k), self, serveCommand, string(k))
}

// flags say where the server is; an address other than its own is a proxy's.
func (k kind) flags(s *testserver.Server, address string) []string {
	flags := []string{"--proto", k.protocol(), "-a", address}
	if s.User != "" {
		flags = append(flags, "-u", s.User)
	}
	if s.Database != "" {
		flags = append(flags, "--database", s.Database)
	}
	return flags
}

// environment has the password, if there is one.
func (k kind) environment(s *testserver.Server) []string {
	if s.Password == "" {
		return os.Environ()
	}
	return append(os.Environ(), "BRUNT_PASSWORD="+s.Password)
}
