package testserver

// Option changes how a server is started. Each says which servers heed it.
type Option func(*options)

type options struct {
	password    string
	tls         bool
	settings    []string
	lua         string
	content     []byte
	locations   string
	workers     int
	connections int
	release     string
	peers       func(member int, listen string) (advertised string)
}

// Password makes the server ask for this password: PostgreSQL (SCRAM-SHA-256, of the superuser),
// Tarantool and MariaDB (of the user that is made), Redis and RedisCluster (requirepass), Cassandra
// (see there).
func Password(password string) Option { return func(o *options) { o.password = password } }

// TLS makes the server take encrypted connections with a certificate made for 127.0.0.1 and
// localhost: PostgreSQL (next to plain ones), Redis, Etcd and Nginx (only those). Server.TLS trusts it.
func TLS() Option { return func(o *options) { o.tls = true } }

// Settings adds lines to the server's configuration: PostgreSQL ("work_mem = '8MB'"), Redis
// ("maxmemory 10mb"), MariaDB ("max_connections=50"), Etcd and Tarantool ("readahead = 32000", in
// box.cfg), Prometheus, InfluxDB and VictoriaMetrics (arguments).
func Settings(lines ...string) Option {
	return func(o *options) { o.settings = append(o.settings, lines...) }
}

// Lua runs a program in Tarantool before it listens. The user exists and may do everything.
// It runs again at Restart.
func Lua(program string) Option { return func(o *options) { o.lua += program + "\n" } }

// Content is what Nginx answers for "/" and "/index.html"; 612 bytes of text by default.
func Content(body []byte) Option { return func(o *options) { o.content = body } }

// Locations adds directives to Nginx's server block.
func Locations(directives string) Option {
	return func(o *options) { o.locations += directives + "\n" }
}

// Workers is Nginx's number of worker processes; 1 by default.
func Workers(n int) Option { return func(o *options) { o.workers = n } }

// Connections is how many connections a worker process of Nginx takes; 4096 by default. Some of them are its own.
func Connections(n int) Option { return func(o *options) { o.connections = n } }

// Release is the major number of the PostgreSQL that is started, such as "17", from Maven's artifacts
// (without other extensions than pg_stat_statements and what belongs to it); "" is Debian's newest.
func Release(major string) Option { return func(o *options) { o.release = major } }

// PeersThrough has members of an EtcdCluster reach each other through something, such as a proxy: it returns the
// address that a member, numbered from 0, tells the others, for the one at which it listens.
func PeersThrough(advertise func(member int, listen string) (advertised string)) Option {
	return func(o *options) { o.peers = advertise }
}

func collect(opts []Option) options {
	var o options
	for _, f := range opts {
		f(&o)
	}
	return o
}
