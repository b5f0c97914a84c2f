package testserver

import (
	"io"
	"sync"
)

// Pool holds the servers that the tests of one package share. Each server is started by the first test that asks for it
// and stopped after the last test. A package uses it like this:
//
//	var servers testserver.Pool
//
//	func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }
//
//	func TestX(t *testing.T) { pg := servers.Postgres(t) }
//
// The zero value is ready to use. A test that pauses, kills or restarts a server should start its own instead.
type Pool struct {
	mu      sync.Mutex
	servers map[string]*Server
	cluster *Cluster
	owner   Standalone
}

// Run runs the tests, stops the servers, and returns the exit code. m is a *testing.M.
func (p *Pool) Run(m interface{ Run() int }) int {
	defer p.owner.Close()
	return m.Run()
}

// borrowed is a TB that reports failures to the test that asked for the server, but runs cleanups when the pool closes.
type borrowed struct {
	TB
	owner *Standalone
}

func (b borrowed) Cleanup(f func()) { b.owner.Cleanup(f) }

// Skip skips the test that asked for the server. It does nothing if the TB can't skip.
func (b borrowed) Skip(args ...any) {
	b.Helper()
	if s, ok := b.TB.(skipper); ok {
		s.Skip(args...)
	}
}

// Get returns the server with this key, and starts it if it doesn't run yet. start must pass the TB that it receives to
// the function that starts the server.
func (p *Pool) Get(t TB, key string, start func(t TB) *Server) *Server {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.servers[key]; s != nil {
		return s
	}
	if p.servers == nil {
		p.servers = make(map[string]*Server)
		p.owner.log = io.Discard
	}
	s := start(borrowed{t, &p.owner})
	p.servers[key] = s
	return s
}

// plain is Get for a server without options.
func (p *Pool) plain(t TB, key string, start func(TB, ...Option) *Server) *Server {
	t.Helper()
	return p.Get(t, key, func(t TB) *Server { return start(t) })
}

// Postgres returns the shared PostgreSQL, without options.
func (p *Pool) Postgres(t TB) *Server { return p.plain(t, "postgres", Postgres) }

// Redis returns the shared Redis, without options.
func (p *Pool) Redis(t TB) *Server { return p.plain(t, "redis", Redis) }

// RedisCluster returns the shared Redis cluster, without options.
func (p *Pool) RedisCluster(t TB) *Cluster {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cluster == nil {
		p.cluster = RedisCluster(borrowed{t, &p.owner})
	}
	return p.cluster
}

// Etcd returns the shared etcd, without options.
func (p *Pool) Etcd(t TB) *Server { return p.plain(t, "etcd", Etcd) }

// Nginx returns the shared nginx, without options.
func (p *Pool) Nginx(t TB) *Server { return p.plain(t, "nginx", Nginx) }

// MariaDB returns the shared MariaDB, without options.
func (p *Pool) MariaDB(t TB) *Server { return p.plain(t, "mariadb", MariaDB) }
