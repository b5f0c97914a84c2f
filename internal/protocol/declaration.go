package protocol

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/base/lazyregexp"
)

// Declaration says of a protocol what the rest of brunt needs to know of it by name. Nothing else compares the names of
// protocols, so a new protocol is a package with a Driver and a Declaration, and one line in package protocols. Fields
// that aren't needed may be zero.
type Declaration struct {
	// Names are the names by which plans, flags and scripts may refer to the protocol. The first is the canonical one,
	// which the driver and records have.
	Names []string
	// Open returns a new driver. It doesn't connect.
	Open func() Driver
	// Port is appended to an address without a port. It is "" for protocols whose addresses aren't host:port.
	Port string
	// Embedded says that the server runs inside brunt. Its address is then the path of a file or folder.
	Embedded bool
	// SharesFile says of an embedded server that several processes may open its file at the same time.
	SharesFile bool
	// Notation is how connection strings are written; nil if addresses are host:port only.
	Notation *Notation
	// Text is the verb of a request of which only a text is given: SQL, Command (its words) or HTTP (a path).
	Text Verb
	// SQL lists the servers that may answer and understand SQL.
	SQL []SQLServer
	// Picodata is the type of connection under which Picodata lists the addresses of this protocol in the table
	// _pico_peer_address; "" if Picodata doesn't speak it.
	Picodata string
	// Records is how the records of key-value loads such as YCSB's are stored.
	Records Records
	// Doctor is what brunt doctor asks the server.
	Doctor Doctor
	// SelfTest is how brunt selftest measures the protocol; nil if it doesn't.
	SelfTest *SelfTest
}

// Notation is how connection strings are written, such as URLs with a user and a database.
type Notation struct {
	// Schemes are those of URLs. The value says whether the scheme stands for TLS with a verified certificate.
	Schemes map[string]bool
	// Database is the parameter of URLs that names the database instead of the path; "" if none does.
	Database string
	// Parameters are names that the protocol's other clients have for parameters of URLs, with libpq's. If they name a
	// certificate or a key, and no mode, connections use TLS.
	Parameters map[string]string
	// Modes are the names that these clients have for libpq's values of sslmode.
	Modes map[string]string
	// Pairs says that keyword-value pairs such as "host=db port=5432" are understood, too, as by libpq.
	Pairs bool
	// Variables are the environment variables that supply what an address and a plan don't. The keys are host, hostaddr,
	// port, user, password, dbname, sslmode, sslrootcert, sslcert, sslkey, and service and passfile, which name libpq's
	// files.
	Variables map[string]string
	// Settings are the environment variables that supply options of a target which a plan doesn't have, by the options'
	// names.
	Settings map[string]string
	// Refused are environment variables that other clients of the protocol understand and brunt doesn't. They decide
	// where or how to connect, or what statements mean, so a run stops if one is set, except to one of the values here,
	// which say what brunt does anyway.
	Refused map[string][]string
}

// SQLServer is a server that understands SQL.
type SQLServer struct {
	Product string // as in ServerInfo; letter case doesn't matter. "" stands for all that aren't listed.
	Flavor  Flavor
	// KeyFirst says that tables need their primary key from the start, because rows are stored by it.
	KeyFirst bool
	// Without is what versions begin with that have no SQL; "" if all have it.
	Without string
}

// Flavor is a flavor of SQL. Statements of plans are translated to it.
type Flavor uint8

// The flavors, named by the products that they belong to.
const (
	FlavorPostgreSQL Flavor = iota
	FlavorPicodata
	FlavorTarantool
	FlavorSQLite
	FlavorMySQL // also MariaDB and TiDB
)

// String returns the product's name as in ServerInfo.
func (f Flavor) String() string {
	return [...]string{"PostgreSQL", "Picodata", "Tarantool", "SQLite", "MySQL"}[f]
}

// Records is how records with a key and named fields are stored, and so which requests read and write them.
type Records uint8

// The ways to store records.
const (
	NoRecords         Records = iota
	RecordsByVerb             // by the verbs Read, Scan, Insert, Update and Delete; the driver creates what it needs
	RecordsInTables           // rows of a table of SQL, by INSERT … ON CONFLICT DO NOTHING
	RecordsInSQLite           // rows of a table of SQL, by INSERT OR IGNORE
	RecordsByCommands         // by Redis' commands for hashes, strings and JSON
	RecordsInSpaces           // tuples of a space of Tarantool
	RecordsAsPages            // JSON documents at the paths of an HTTP service
)

// Doctor is what to ask a server before a load.
type Doctor struct {
	// Clock is a query for the server's time, in seconds since 1970; "" if there is none.
	Clock string
	// Limits returns what limits the number of a user's sessions at a server; nil if that can't be found out. The first
	// of several limits of the same name counts.
	Limits func(ctx context.Context, d Driver, t Target) ([]SessionLimit, error)
}

// SessionLimit limits the number of sessions at a server.
type SessionLimit struct {
	Name  string // of the setting
	Most  int
	Taken int // by other sessions, or reserved for other users
}

// LimitsBy returns a function for Doctor.Limits that asks queries. Each row is a SessionLimit. Queries that fail,
// because other products or versions of the server understand them, are passed over.
func LimitsBy(queries ...string) func(context.Context, Driver, Target) ([]SessionLimit, error) {
	return func(ctx context.Context, d Driver, t Target) (all []SessionLimit, err error) {
		admin, ok := d.(AdminDriver)
		if !ok {
			return nil, nil
		}
		a, err := admin.Admin(ctx, t)
		if err != nil {
			return nil, err
		}
		defer a.Close()
		for _, query := range queries {
			_ = a.Query(ctx, query, func(v []*string) error {
				if len(v) < 3 || v[0] == nil || v[1] == nil || v[2] == nil {
					return nil
				}
				most, err := strconv.Atoi(*v[1])
				taken, e := strconv.Atoi(*v[2])
				if err == nil && e == nil {
					all = append(all, SessionLimit{*v[0], most, max(taken, 0)})
				}
				return nil
			})
		}
		return all, nil
	}
}

// SelfTest is a server that gives the same answer to every request, and does as little as a server can, so that the
// generator is the bottleneck.
type SelfTest struct {
	// Request is what is sent. Its parameter is a number.
	Request Request
	// Greeting is what the server sends to a new connection.
	Greeting string
	// Answers returns the function that answers the requests of a connection.
	Answers func() AnswerFunc
}

// AnswerFunc answers the requests at the start of in: it appends the answers to out and returns how many bytes it
// consumed. The remaining bytes are the beginning of an incomplete request. A malformed request is an error.
type AnswerFunc func(out, in []byte) (answers []byte, consumed int, err error)

// Name returns the canonical name, "" if there is none.
func (d *Declaration) Name() string {
	if len(d.Names) == 0 {
		return ""
	}
	return d.Names[0]
}

// Has reports whether name is one of the protocol's names. Letter case doesn't matter.
func (d *Declaration) Has(name string) bool { return slices.Contains(d.Names, strings.ToLower(name)) }

// names are written in URLs, in front of "://" (RFC 3986, section 3.1).
var nameForm = lazyregexp.New(`^[a-z][a-z0-9+.-]*$`)

// Check returns an error if the declaration can't be used: one line that says what to change.
func (d *Declaration) Check() error {
	if len(d.Names) == 0 {
		return fmt.Errorf("a protocol has no name")
	}
	for i, name := range d.Names {
		if !nameForm().MatchString(name) {
			return fmt.Errorf("protocol %q: a name begins with a letter and has lower-case letters, digits, +, - and . only",
				name)
		}
		if slices.Contains(d.Names[:i], name) {
			return fmt.Errorf("protocol %s: it names %s twice", d.Name(), name)
		}
	}
	if d.Open == nil {
		return fmt.Errorf("protocol %s: it has no driver", d.Name())
	}
	driver := d.Open()
	if driver == nil {
		return fmt.Errorf("protocol %s: it has no driver", d.Name())
	}
	if driver.Name() != d.Name() {
		return fmt.Errorf("protocol %s: its driver calls itself %q", d.Name(), driver.Name())
	}
	return nil
}
