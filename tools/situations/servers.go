//go:build linux

package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	echoserver "brunt/internal/protocol/echo"
	"brunt/test/testserver"
)

// kind is a kind of server.
type kind string

const (
	postgres  kind = "postgres"
	tarantool kind = "tarantool"
	redis     kind = "redis"
	nginx     kind = "nginx"
	web       kind = "web"  // a Go HTTP server: see serveWeb
	echo      kind = "echo" // brunt's own echo server
	crowded   kind = "postgres-of-10"
	small     kind = "nginx-of-64"
	hasty     kind = "web-hasty" // the Go HTTP server, with hastyIdle

	otherRedis kind = "redis-2"
)

// crowdedSessions is max_connections of the server crowded.
const crowdedSessions = 10

// smallConnections is worker_connections of the server small. nginx uses a few of them itself.
const smallConnections = 64

// delays reports whether the server itself can delay its answers. For other servers a proxy does that.
func (k kind) delays() bool { return k == postgres || k == tarantool || k == web }

// operation returns the YAML of a query that the server answers after the given time, or at once if it is 0.
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
	case nginx, small, web, hasty:
		return "http"
	case otherRedis:
		return "redis"
	}
	return string(k)
}

func (k kind) start(t testserver.TB, self string) *testserver.Server {
	switch k {
	case postgres:
		return testserver.Postgres(t)
	case crowded:
		return testserver.Postgres(t, testserver.Settings(fmt.Sprintf("max_connections = %d", crowdedSessions),
			"superuser_reserved_connections = 0"))
	case tarantool:
		return testserver.Tarantool(t)
	case redis, otherRedis:
		return testserver.Redis(t)
	case nginx:
		return testserver.Nginx(t)
	case small:
		return testserver.Nginx(t, testserver.Connections(smallConnections))
	}
	return testserver.Program(t, string(k), self, serveCommand, string(k))
}

// flags returns the flags for connecting to the server at an address, which may be that of a proxy.
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

// environment returns the environment for brunt, with the server's password if it has one.
func (k kind) environment(s *testserver.Server) []string {
	if s.Password == "" {
		return os.Environ()
	}
	return append(os.Environ(), "BRUNT_PASSWORD="+s.Password)
}

// serveCommand is the argument with which this program starts itself as a server.
const serveCommand = "serve"

// serve is the main function of the servers' process. It serves at an address until it is killed.
func serve(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s needs what and where, such as web 127.0.0.1:8080", serveCommand)
	}
	what, address := args[0], args[1]
	if what == "echo" {
		_, err := echoserver.Listen(address, echoserver.Config{})
		if err != nil {
			return err
		}
		select {}
	}
	s := http.Server{Addr: address, Handler: serveWeb()}
	if kind(what) == hasty {
		s.IdleTimeout = hastyIdle
	}
	return s.ListenAndServe()
}

// serveWeb returns a handler that answers "/" at once, "/slow?ms=N" after that time, "/reset?every=N" by resetting the
// connection of every N-th request, and "/limit?per_s=N" with status 429 for requests beyond that rate.
func serveWeb() http.Handler {
	page := []byte("a page\n")
	number := func(r *http.Request, name string) int {
		n, _ := strconv.Atoi(r.URL.Query().Get(name))
		return max(1, n)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.Write(page) })
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Duration(number(r, "ms")) * time.Millisecond)
		w.Write(page)
	})
	var resets atomic.Int64
	mux.HandleFunc("/reset", func(w http.ResponseWriter, r *http.Request) {
		if resets.Add(1)%int64(number(r, "every")) != 0 {
			w.Write(page)
			return
		}
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	})
	var l limiter
	mux.HandleFunc("/limit", func(w http.ResponseWriter, r *http.Request) {
		if !l.allow(number(r, "per_s"), time.Now()) {
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		w.Write(page)
	})
	return mux
}

// limiter allows a number of requests a second, counted in slices of a tenth of a second.
type limiter struct {
	mu    sync.Mutex
	slice int64
	taken int
}

func (l *limiter) allow(perSecond int, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := now.UnixMilli() / 100; s != l.slice {
		l.slice, l.taken = s, 0
	}
	l.taken++
	return l.taken <= max(1, perSecond/10)
}
