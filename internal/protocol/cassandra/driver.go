// Package cassandra speaks CQL to Cassandra and ScyllaDB in the library tier: a session of the Apache client
// with one connection for requests (and one for the client itself) to the given address. A record is a row with
// the text key ycsb_key and a text column for each field.
//
// Inserts and updates write a row whether or not it exists; only reads show that a row is missing. Inserts that must
// create their record have IF NOT EXISTS, which needs a consensus of the replicas. Scans return rows from a key on in
// the order of the keys' tokens, as YCSB's do.
//
// Statements in CQL (protocol.Command) have parameters $1 …, and batches of them (protocol.Batch) begin with logged,
// unlogged or counter.
//
// Options of a target:
//
//	consistency         of reads and writes: any, one, two, three, quorum (default), all,
//	                    local_quorum, each_quorum, local_one
//	compression         of requests and answers: none (default), lz4, snappy
//	statements          in CQL are prepared (default) or sent with their values as text
//	replication_factor  of the keyspace when Prepare creates it; 1 by default
package cassandra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"brunt/internal/base/sqltext"
	"brunt/internal/protocol"
	"brunt/internal/protocol/kv"
	"brunt/internal/protocol/socket"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/apache/cassandra-gocql-driver/v2/lz4"
	"github.com/apache/cassandra-gocql-driver/v2/snappy"
)

// Driver is the protocol "cassandra". It is immutable and safe for concurrent use.
type Driver struct{}

var _ protocol.KeyValueAdmin = (*Driver)(nil)

// New returns the driver.
func New() *Driver { return &Driver{} }

// Name returns "cassandra".
func (*Driver) Name() string { return "cassandra" }

// silence is a logger that discards messages; failures are returned as errors as well.
type silence struct{}

func (silence) Error(string, ...gocql.LogField)   {}
func (silence) Warning(string, ...gocql.LogField) {}
func (silence) Info(string, ...gocql.LogField)    {}
func (silence) Debug(string, ...gocql.LogField)   {}

// dialer counts the bytes received.
type dialer struct {
	timeout  time.Duration
	received *socket.Meter
	target   protocol.Target
}

// DialContext implements gocql.Dialer.
func (d dialer) DialContext(ctx context.Context, network, address string) (c net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	if named(d.target) {
		c, err = socket.Dial(socket.With(ctx, d.target.Way), d.target.Address)
	} else {
		c, err = (&net.Dialer{}).DialContext(ctx, network, address)
	}
	if err != nil {
		return nil, err
	}
	c = d.received.Conn(c)
	if _, tcp := c.RemoteAddr().(*net.TCPAddr); !tcp {
		c = local{c}
	}
	return c, nil
}

// local is a connection over a Unix socket. The library takes the address of the other side as TCP's.
type local struct{ net.Conn }

// RemoteAddr returns the address that stands for the socket's.
func (local) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(anywhere)) }

// named reports whether only the target's way may know its address, which the library would look up.
func named(t protocol.Target) bool { return t.Way != nil || socket.Network(t.Address) == "unix" }

// anywhere stands for the address of a target that is named.
const anywhere = "127.0.0.1:9042"

// once is a conviction policy that never marks a host as down.
type once struct{}

func (once) AddFailure(error, *gocql.HostInfo) bool { return false }
func (once) Reset(*gocql.HostInfo)                  {}

// cluster returns the library's configuration for a target, and the replication factor.
func cluster(t protocol.Target, received *socket.Meter) (c *gocql.ClusterConfig, replicas int64,
	refused *protocol.Error) {
	read := protocol.OptionsOf("cassandra", t)
	level := read.Choice("consistency", "quorum", "any", "one", "two", "three", "all", "local_quorum", "each_quorum",
		"local_one")
	compression := read.Choice("compression", "none", "lz4", "snappy")
	read.Choice("statements", "prepared", "text")
	replicas = read.Int("replication_factor", 1, 1, 100)
	if refused := read.Done(); refused != nil {
		return nil, 0, refused
	}
	address, secure := t.Address, t.TLS
	if named(t) {
		if address = anywhere; secure != nil && secure.ServerName == "" {
			secure = secure.Clone()
			secure.ServerName = socket.WithoutZone(socket.Host(t.Address))
		}
	}
	c = gocql.NewCluster(address)
	if err := c.Consistency.UnmarshalText([]byte(strings.ToUpper(level))); err != nil {
		return nil, 0, protocol.Bad("option consistency: %v", err)
	}
	c.Timeout, c.ConnectTimeout, c.WriteTimeout = 24*time.Hour, t.ConnectTime(), t.ConnectTime()
	c.NumConns, c.DisableInitialHostLookup, c.ProtoVersion = 1, true, 4
	c.RetryPolicy, c.ConvictionPolicy, c.ReconnectInterval, c.Logger = nil, once{}, 0, silence{}
	c.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 1, Interval: time.Second}
	c.Events.DisableNodeStatusEvents, c.Events.DisableTopologyEvents, c.Events.DisableSchemaEvents = true, true, true
	c.WriteCoalesceWaitTime = 0
	switch compression {
	case "lz4":
		c.Compressor = &lz4.LZ4Compressor{}
	case "snappy":
		c.Compressor = &snappy.SnappyCompressor{}
	}
	c.Dialer = dialer{t.ConnectTime(), received, t}
	if secure != nil {
		c.SslOpts = &gocql.SslOptions{Config: secure, EnableHostVerification: !secure.InsecureSkipVerify}
	}
	if t.User != "" {
		c.Authenticator = gocql.PasswordAuthenticator{Username: t.User, Password: t.Password}
	}
	return c, replicas, nil
}

// open connects and authenticates within Target.ConnectTimeout. keyspace may be "".
func open(ctx context.Context, t protocol.Target, keyspace string) (c *conn, replicas int64, refused *protocol.Error) {
	c = &conn{secret: t.Password}
	config, replicas, refused := cluster(t, &c.received)
	if refused != nil {
		return nil, 0, refused
	}
	config.Keyspace = keyspace
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	if err := socket.Reach(ctx, t.Address); err != nil {
		return nil, 0, protocol.Unconnected(err)
	}
	var err error
	c.session, err = config.CreateSession()
	if err == nil {
		return c, replicas, nil
	}
	text := protocol.Line(err.Error(), t.Password)
	var answer gocql.RequestError
	code := ""
	if errors.As(err, &answer) {
		code = fmt.Sprintf("0x%04x", answer.Code())
	}
	switch {
	case code == "0x0100", strings.Contains(text, "authentication"), strings.Contains(text, "Provided username"),
		strings.Contains(text, "password"):
		text = fmt.Sprintf("can't connect to %s: %s; check user and password", t.Address, text)
	case strings.Contains(strings.ToLower(text), "keyspace"), keyspace != "" &&
		errors.Is(err, gocql.ErrNoConnectionsStarted):
		text = fmt.Sprintf("can't connect to %s: %s; check the keyspace %s", t.Address, text, keyspace)
	case ctx.Err() != nil, strings.Contains(text, "timeout"), strings.Contains(text, "no response"):
		text = socket.Explain(ctx, t.Address, context.DeadlineExceeded).Error()
	case strings.HasSuffix(text, "EOF"), strings.HasSuffix(text, syscall.ECONNRESET.Error()),
		strings.HasSuffix(text, syscall.EPIPE.Error()): // gocql keeps no more of it
		text = socket.Explain(ctx, t.Address, io.EOF).Error()
	default:
		text = fmt.Sprintf("can't connect to %s: %s", t.Address, text)
	}
	return nil, 0, protocol.ConnectError(text, code, err)
}

func keyspaceOf(t protocol.Target) string { return cmp.Or(t.Database, "test") }

// Dial opens a session. An error is a *protocol.Error: of class Client if the protocol can't run the program,
// Connect if no session could be opened.
func (d *Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	prepared := &conn{}
	for i := range p.Requests {
		if refused := prepared.prepare(&p.Requests[i]); refused != nil {
			return nil, protocol.Bad("request %q: %s", p.Requests[i].Name, refused.Text)
		}
	}
	c, _, refused := open(ctx, t, keyspaceOf(t))
	if refused != nil {
		return nil, refused
	}
	c.Requests, c.statements, c.own = prepared.Requests, prepared.statements, prepared.own
	c.text = t.Options["statements"] == "text"
	return c, nil
}

// prepare adds a request to the session's.
func (c *conn) prepare(req *protocol.Request) *protocol.Error {
	var r kv.Request
	var s *statement
	var refused *protocol.Error
	text := ""
	if inCQL(req) {
		s, refused = parseStatement(req)
	} else if r, refused = kv.Parse(req); refused == nil {
		refused, text = admit(req, &r), statementOf(&r)
	}
	if refused != nil {
		return refused
	}
	c.Requests = protocol.Put(c.Requests, req.ID, r)
	c.statements = protocol.Put(c.statements, req.ID, text)
	c.own = protocol.Put(c.own, req.ID, s)
	return nil
}

// admit refuses batches whose answer must say whether the records are new: Cassandra has conditions only for batches
// on one partition.
func admit(req *protocol.Request, r *kv.Request) *protocol.Error {
	if r.Creates && r.Rows > 1 {
		return protocol.Refused(req, "Cassandra doesn't say whether the records of a batch were there; remove creates, or "+
			"insert them one by one")
	}
	return nil
}

// Describe returns the server's version, partitioner and cluster name.
func (d *Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	c, _, refused := open(ctx, t, "")
	if refused != nil {
		return protocol.ServerInfo{}, refused
	}
	defer c.Close()
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	var version, partitioner, name string
	err := c.session.Query("SELECT release_version, partitioner, cluster_name FROM system.local").Consistency(gocql.One).
		ScanContext(ctx, &version, &partitioner, &name)
	if err != nil {
		return protocol.ServerInfo{}, failure(ctx, nil, err, t.Password)
	}
	partitioner = partitioner[strings.LastIndexByte(partitioner, '.')+1:]
	return protocol.ServerInfo{Product: "Cassandra", Version: version,
		Settings: map[string]string{"partitioner": partitioner, "cluster_name": name}}, nil
}

// Prepare creates the keyspace and the table. With drop, it drops the table first.
func (d *Driver) Prepare(ctx context.Context, t protocol.Target, table string, fields []string, _ int,
	drop bool) error {
	c, replicas, refused := open(ctx, t, "")
	if refused != nil {
		return refused
	}
	defer c.Close()
	// Sessions use the target's keyspace, even if the table is in another one.
	keyspace, own := sqltext.Quote(keyspaceOf(t)), sqltext.Quote(keyspaceOf(t))
	if path := sqltext.Path(table); len(path) > 1 {
		own = sqltext.Quote(path[0])
	}
	name := sqltext.QuoteTable(table)
	if len(sqltext.Path(table)) == 1 {
		name = own + "." + name
	}
	columns := keyColumn + " text PRIMARY KEY"
	for _, f := range fields {
		columns += ", " + sqltext.Quote(f) + " text"
	}
	statements := []string{
		fmt.Sprintf(
			"CREATE KEYSPACE IF NOT EXISTS %s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': %d}",
			keyspace, replicas),
		fmt.Sprintf(
			"CREATE KEYSPACE IF NOT EXISTS %s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': %d}",
			own, replicas),
		"DROP TABLE IF EXISTS " + name,
		fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s)", name, columns),
	}
	for i, s := range statements {
		if i == 1 && own == keyspace || i == 2 && !drop {
			continue
		}
		if err := c.session.Query(s).Consistency(gocql.One).ExecContext(ctx); err != nil {
			f := failure(ctx, nil, err, t.Password)
			f.Text = fmt.Sprintf("prepare table %s: %s", table, f.Text)
			return f
		}
	}
	return nil
}
