package ycsb

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"brunt/internal/base/suggest"
	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
)

// Database is a database that workloads can be run against: its names, its properties, its address, and the requests
// for each operation.
type Database struct {
	Names      []string // names in commands, brunt's own first
	About      string   // one line
	Protocol   string   // name in plans
	Properties []Property
	Batches    bool // batch.size may be above 1
	Dry        bool // nothing is stored: verbose=true prints what would be
	// Overwrites says that inserts replace existing records, and that asking whether there were any would make other
	// requests of them.
	Overwrites       bool
	BatchesOverwrite bool // Overwrites is true of batches
	// LoadPipeline is the default of load.pipeline; 0 means 1. Only protocols with a codec, whose servers answer in
	// order, may have more than 1.
	LoadPipeline int
	// Keywords are the properties that say where the database is, by libpq's keywords. What they don't say, the
	// environment variables of the protocol do. They may be nil.
	Keywords map[string]string
	// Target returns the database's address and options.
	Target func(set *properties.Reader) plan.Target
	// Translate replaces YCSB's properties by those in Properties; may be nil.
	Translate func(t *translation)
	// Notes returns lines that go-ycsb prints before the properties; may be nil.
	Notes func(s *Settings) []string
}

// target returns the database's address and options by the properties.
func (d *Database) target(set *properties.Set) (plan.Target, error) {
	r := &properties.Reader{Set: set}
	t := d.Target(r)
	return t, r.Err()
}

// store returns the store that makes the database's requests. Its protocol declares how records are stored.
func (d *Database) store(s *Settings) (Store, error) {
	r := &properties.Reader{Set: s.Set}
	var store Store
	switch protocols.Of(d.Protocol).Records {
	case protocol.RecordsInTables:
		store = &sqlStore{s: s, schemas: true, insert: "INSERT", ignore: " ON CONFLICT DO NOTHING"}
	case protocol.RecordsInSQLite:
		store = &sqlStore{s: s, insert: "INSERT OR IGNORE"}
	case protocol.RecordsByCommands:
		store = newRedisStore(s, r)
	case protocol.RecordsInSpaces:
		store = newTarantoolStore(s, r)
	case protocol.RecordsAsPages:
		store = newHTTPStore(s, r)
	default:
		store = &kvStore{s: s}
	}
	if d.Dry {
		store = &basicStore{kvStore{s: s}}
	}
	return store, r.Err()
}

// Slot is the meaning of a request's parameter.
type Slot uint8

// The kinds of slots.
const (
	KeySlot          Slot = iota // the key of the record
	CountSlot                    // the number of records of a scan
	FieldSlots                   // the values of all fields of the request, one parameter each
	DocumentSlot                 // all fields of the record as JSON, with values in Base64
	TextDocumentSlot             // all fields of the record as JSON, with unencoded values
)

// Request is a request with the meanings of its parameters. Fields of protocol.Request that the Store doesn't need may
// be empty.
type Request struct {
	protocol.Request
	Slots []Slot
}

// Store makes the requests for the operations of the core workload. Each method returns the requests of an operation in
// order, none if the database doesn't support it. fields are the names of the fields to access. If check is set, the
// requests capture the values of those fields, in order, or the whole document as the only value.
type Store interface {
	// Prepare returns the requests to send once before a load. They create the table; if drop is set, they drop an
	// existing one first.
	Prepare(drop bool) []protocol.Request
	Read(fields []string, check bool) []Request
	Scan(fields []string) []Request
	Insert(fields []string) []Request
	Update(fields []string) []Request
	Delete() []Request
}

// Batcher is a Store with operations on several records at once.
type Batcher interface {
	// Batch returns the request of a verb (protocol.Read, Insert or Update) for that many records.
	Batch(verb protocol.Verb, fields []string, rows int) []Request
}

// DocumentStore is a Store whose reads capture a whole document; see DocumentSlot.
type DocumentStore interface{ Documents() bool }

// Lister is a Store whose scans don't return keys. List does, in the first column. Its parameters are those of Scan.
type Lister interface {
	List(fields []string) []Request
}

// Databases returns all databases: those of YCSB and go-ycsb, and the other protocols whose declarations say how
// records are stored.
func Databases() []*Database {
	all := theirs()
	for _, d := range protocols.All() {
		used := slices.ContainsFunc(all, func(o *Database) bool { return d.Has(o.Protocol) })
		if d.Records != protocol.NoRecords && !used {
			all = append(all, declaredDatabase(&d))
		}
	}
	return all
}

// theirs returns the databases that YCSB and go-ycsb have properties for. To add one, write a function like those in
// the list, and its section of properties.txt.
func theirs() []*Database {
	return []*Database{
		postgresDatabase(), sqliteDatabase(), mysqlDatabase(), redisDatabase(), etcdDatabase(), tarantoolDatabase(),
		cassandraDatabase(), mongoDatabase(), dynamoDatabase(), boltDatabase(), badgerDatabase(), pebbleDatabase(),
		httpDatabase(), basicDatabase(),
	}
}

// declaredDatabase returns the database of a protocol that YCSB doesn't know.
func declaredDatabase(d *protocol.Declaration) *Database {
	name := d.Name()
	standard := name
	if d.Port != "" {
		standard = net.JoinHostPort("127.0.0.1", d.Port)
	}
	return &Database{
		Names: d.Names, About: "protocol " + name, Protocol: name,
		Properties: []Property{
			{name + ".addr", standard, "addresses, or the path of an embedded database"},
			{name + ".user", "", "name of the user"},
			{name + ".password", "", "the user's password"},
			{name + ".db", "", "name of the database"},
		},
		Target: func(set *properties.Reader) plan.Target {
			return plan.Target{
				Protocol: name, Addresses: list(set.Text(name+".addr", standard)), User: set.Text(name+".user", ""),
				Password: set.Text(name+".password", ""), Database: set.Text(name+".db", ""),
			}
		},
	}
}

// FindDatabase returns the database with a name. The error lists the known names.
func FindDatabase(name string) (*Database, error) {
	var names []string
	for _, d := range Databases() {
		if slices.Contains(d.Names, strings.ToLower(name)) {
			return d, nil
		}
		names = append(names, d.Names...)
	}
	hint := "there are " + strings.Join(names, ", ")
	if why := elsewhere(name); why != "" {
		return nil, fmt.Errorf("database %q isn't supported: %s; %s", name, why, hint)
	}
	return nil, fmt.Errorf("unknown database %q; %s", name, suggest.Or(name, names, hint))
}

// list splits a list of addresses at commas or semicolons.
func list(text string) []string {
	var out []string
	for _, a := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' }) {
		if a = strings.TrimSpace(a); a != "" {
			out = append(out, a)
		}
	}
	return out
}

// withoutScheme returns the host:port of each address in a list, and whether one of them has the scheme https.
func withoutScheme(text string) (addresses []string, secure bool) {
	for _, a := range list(text) {
		rest, https := strings.CutPrefix(a, "https://")
		addresses, secure = append(addresses, strings.TrimSuffix(strings.TrimPrefix(rest, "http://"), "/")), secure || https
	}
	return addresses, secure
}

// options returns a target's options from the properties that are set. names maps properties to options.
func options(set *properties.Reader, names map[string]string) map[string]string {
	out := map[string]string{}
	for property, option := range names {
		if v, ok := set.Get(property); ok {
			out[option] = strings.TrimSpace(v)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
