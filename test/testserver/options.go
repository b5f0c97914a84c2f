package testserver

// Option changes how a server is started. Each option lists the servers that support it.
type Option func(*options)

type options struct {
	password    string
	tls         bool
	settings    []string
	lua         string
	content     []byte
	statements  []string
	locations   string
	workers     int
	connections int
	release     string
	peers       func(member int, listen string) (advertised string)
}

// Password makes the server require this password: PostgreSQL (SCRAM-SHA-256, for the superuser), Tarantool and MariaDB
// (for the user that is created), Redis and RedisCluster (requirepass), Cassandra (see there).
func Password(password string) Option { return func(o *options) { o.password = password } }

// TLS makes the server accept encrypted connections with a certificate for 127.0.0.1 and localhost: PostgreSQL (in
// addition to plain ones), MariaDB (likewise), Redis, Etcd and Nginx (only encrypted ones). Server.TLS trusts the
// certificate, which clients may have, too.
func TLS() Option { return func(o *options) { o.tls = true } }

// Settings adds lines to the server's configuration: PostgreSQL ("work_mem = '8MB'"), Redis
// ("maxmemory 10mb"), MariaDB ("max_connections=50"), Etcd and Tarantool ("readahead = 32000", in
// box.cfg), Prometheus, InfluxDB and VictoriaMetrics (arguments).
func Settings(lines ...string) Option {
	return func(o *options) { o.settings = append(o.settings, lines...) }
}

// Lua runs a program in Tarantool before it listens, and again after Restart. The user exists already and has all
// rights.
func Lua(program string) Option { return func(o *options) { o.lua += program + "\n" } }

// Start makes MariaDB execute statements each time that it starts.
func Start(statements ...string) Option {
	return func(o *options) { o.statements = append(o.statements, statements...) }
}

// Content sets the body of Nginx's response for "/" and "/index.html"; 612 bytes of text by default.
func Content(body []byte) Option { return func(o *options) { o.content = body } }

// Locations adds directives to Nginx's server block.
func Locations(directives string) Option {
	return func(o *options) { o.locations += directives + "\n" }
}

// Workers sets the number of Nginx's worker processes; 1 by default.
func Workers(n int) Option { return func(o *options) { o.workers = n } }

// Connections sets the number of connections of each Nginx worker process, including its internal ones; 4096 by
// default.
func Connections(n int) Option { return func(o *options) { o.connections = n } }

// Release selects the major version of PostgreSQL, such as "17", which is taken from Maven's artifacts (these contain
// no extensions other than pg_stat_statements and the basic ones). "" selects Debian's newest version.
func Release(major string) Option { return func(o *options) { o.release = major } }

// PeersThrough makes the members of an EtcdCluster reach each other through something in between, such as a proxy.
// advertise returns the address that a member, numbered from 0, announces to the others instead of its own.
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
