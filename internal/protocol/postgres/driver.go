// Package postgres speaks PostgreSQL's frontend/backend protocol, version 3, to PostgreSQL and to compatible
// servers (Picodata, CockroachDB, YugabyteDB). The library pgconn opens, authenticates and prepares sessions,
// and does set-up. The codec of this package sends requests.
//
// Message formats are from "Frontend/Backend Protocol" in PostgreSQL's manual; the binary formats of values are
// those of the server's receive functions.
package postgres

import (
	"cmp"
	"context"
	"net"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/protocol/blocking"
	"brunt/internal/protocol/socket"

	"github.com/jackc/pgx/v5/pgconn"
)

// Driver is the protocol "pg". It is immutable and safe for concurrent use.
type Driver struct{}

var (
	_ protocol.Driver      = (*Driver)(nil)
	_ protocol.AdminDriver = (*Driver)(nil)
	_ protocol.Checker     = (*Driver)(nil)
	_ protocol.CodecDriver = (*Driver)(nil)
)

// New returns the driver.
func New() *Driver { return &Driver{} }

// Name returns "pg".
func (*Driver) Name() string { return "pg" }

// Dial opens a session within Target.ConnectTimeout and prepares the program's statements. In programs with more
// than a thousand statements, each is prepared along with its first request instead. An error is an
// *protocol.Error: of class Connect if no session could be opened, Client if the protocol can't run the program,
// or according to the server's code if the server refused a statement.
func (d *Driver) Dial(ctx context.Context, t protocol.Target, p *protocol.Program) (protocol.Conn, error) {
	c, err := blocking.Dial(ctx, d, t, p)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// open connects and prepares. If preparing fails, it closes the connection.
func open(ctx context.Context, t protocol.Target, p *protocol.Program) (*pgconn.PgConn, []*statement, error) {
	all := planned(p)
	if all.refused != nil {
		return nil, nil, all.refused
	}
	if all.many() {
		if e := all.describe(ctx, t, nil); e != nil {
			return nil, nil, e
		}
	}
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	pg, err := connect(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	for statement := range protocol.FirstStatements(t) {
		if _, err := pg.Exec(ctx, statement).ReadAll(); err != nil {
			closeNow(pg)
			return nil, nil, connectError(ctx, t, err)
		}
	}
	statements := all.session()
	if !all.many() {
		if e := all.prepare(ctx, pg, t.Password, statements); e != nil {
			closeNow(pg)
			return nil, nil, e
		}
	}
	return pg, statements, nil
}

// connect opens a session, bounded by ctx.
func connect(ctx context.Context, t protocol.Target) (*pgconn.PgConn, error) {
	config, err := configure(t)
	if err != nil {
		return nil, err
	}
	pg, cerr := pgconn.ConnectConfig(ctx, config)
	if cerr != nil {
		return nil, connectError(ctx, t, cerr)
	}
	return pg, nil
}

// closeNow ends a session. It waits for the server for at most one second.
func closeNow(pg *pgconn.PgConn) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return pg.Close(ctx)
}

const defaultPort = 5432

// fixedSettings overrides all connection settings from the environment, so that a plan means the same
// everywhere. The password is a placeholder that keeps the library from searching for a password file; configure
// replaces it.
const fixedSettings = "host=localhost port=5432 user=x password=x dbname=x sslmode=disable sslcertmode=allow " +
	"sslrootcert='' sslcert='' sslkey='' " +
	"target_session_attrs=any connect_timeout=0 channel_binding=prefer " +
	"min_protocol_version=3.0 max_protocol_version=3.0"

// usualConfig returns the library's configuration by fixedSettings. The library would read the service that PGSERVICE
// names, and stop without it, although a target says all.
var usualConfig = sync.OnceValues(func() (*pgconn.Config, error) {
	const variable = "PGSERVICE"
	if service, given := os.LookupEnv(variable); given {
		os.Unsetenv(variable)
		defer os.Setenv(variable, service)
	}
	return pgconn.ParseConfig(fixedSettings)
})

// configure returns the library's configuration for a target. It validates every option.
func configure(t protocol.Target) (*pgconn.Config, error) {
	host, port, err := splitAddress(t.Address)
	if err != nil {
		return nil, err
	}
	params, err := runtimeParams(t.Options)
	if err != nil {
		return nil, err
	}
	usual, perr := usualConfig()
	if perr != nil {
		return nil, protocol.Bad("the environment's PG… variables stop pgconn from starting; unset PGSSLCERTMODE and the like")
	}
	config := usual.Copy()
	config.Host, config.Port = host, port
	config.User, config.Password, config.Database = t.User, t.Password, t.Database
	config.RuntimeParams = params
	config.Fallbacks = nil
	config.RequireAuth, config.SSLNegotiation = "", ""
	config.KerberosSrvName, config.KerberosSpn = "", ""
	if t.TLS != nil {
		config.TLSConfig = t.TLS.Clone()
		if config.TLSConfig.ServerName == "" {
			config.TLSConfig.ServerName = socket.WithoutZone(host)
		}
	}
	if path := socketPath(host); t.Way != nil || path != "" {
		// The way decides which address a name stands for.
		config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
		config.DialFunc = func(ctx context.Context, _, address string) (net.Conn, error) {
			return socket.Dial(socket.With(ctx, t.Way), cmp.Or(path, address))
		}
	}
	if t.Notice != nil {
		config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
			t.Notice(&protocol.Report{Severity: n.Severity, Message: n.Message, Detail: n.Detail, Hint: n.Hint})
		}
	}
	config.OnPgError = func(_ *pgconn.PgConn, e *pgconn.PgError) bool {
		return !fatalSeverity(severity(e))
	}
	return config, nil
}

// socketPath returns the path of a Unix socket if a host is one, and not the folder in which PostgreSQL has it.
func socketPath(host string) string {
	if socket.Network(host) != "unix" {
		return ""
	}
	if about, err := os.Stat(host); err != nil || about.Mode()&os.ModeSocket == 0 {
		return ""
	}
	return host
}

// splitAddress parses "host:port", "host", "[v6]:port", or the folder or path of a Unix socket. The default port is
// 5432.
func splitAddress(address string) (host string, port uint16, err error) {
	if address == "" {
		return "", 0, protocol.Bad("no address given; write host:port")
	}
	host, text, serr := net.SplitHostPort(address)
	if serr != nil {
		bare := strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
		if strings.Contains(bare, ":") && net.ParseIP(bare) == nil {
			return "", 0, badAddress(address)
		}
		return bare, defaultPort, nil
	}
	n, perr := strconv.ParseUint(text, 10, 16)
	if perr != nil || n == 0 || host == "" {
		return "", 0, badAddress(address)
	}
	return host, uint16(n), nil
}

func badAddress(address string) error {
	return protocol.Bad("address %q isn't host:port", address)
}

// picodataOption reports whether Picodata accepts the setting within the start-up parameter "options".
func picodataOption(name string) bool {
	switch name {
	case "sql_motion_row_max", "sql_vdbe_opcode_max", "read_preference", "forward",
		"pico_stmt_invalidation", "pico_query_metadata":
		return true
	}
	return false
}

// runtimeParams converts options into start-up parameters. It joins the settings of Picodata's sessions into
// "options=k=v,…".
func runtimeParams(options map[string]string) (map[string]string, error) {
	params := map[string]string{"application_name": protocol.SessionName}
	var pico []string
	for name, value := range options {
		switch {
		case !validOption(name):
			return nil, protocol.Bad("option %q isn't the name of a setting", name)
		case name == "user" || name == "database" || name == "dbname" || name == "password" || name == "replication":
			return nil, protocol.Bad("option %q can't be set here; use the target's own fields", name)
		case name == initOption:
		case strings.ContainsRune(value, 0):
			return nil, protocol.Bad("option %q holds a zero byte", name)
		case picodataOption(name):
			pico = append(pico, name+"="+value)
		default:
			params[name] = value
		}
	}
	if len(pico) > 0 {
		sort.Strings(pico)
		if given := params["options"]; given != "" {
			pico = append([]string{given}, pico...)
		}
		params["options"] = strings.Join(pico, ",")
	}
	return params, nil
}

// initOption is the option that isn't a setting; see protocol.FirstStatements.
const initOption = protocol.InitOption

func validOption(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '.' && (r < '0' || r > '9')) {
			return false
		}
	}
	return name != ""
}
