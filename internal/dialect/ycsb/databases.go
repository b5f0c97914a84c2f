package ycsb

import (
	"fmt"
	"slices"
	"strings"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/suggest"
)

// Database is a database that workloads can be run against: its names, its properties, where it
// is, and how each operation is asked of it.
type Database struct {
	Names      []string // as commands name it, its own first
	About      string   // one line
	Protocol   string   // as plans name it
	Properties []Property
	Batches    bool // batch.size may be above 1
	// LoadPipeline is the default of load.pipeline; 0 means 1. Above 1 it is for protocols with a
	// codec whose servers answer in order.
	LoadPipeline int
	// Target says where the database is.
	Target func(set *properties.Reader) plan.Target
	// Store says how operations are asked; nil: by the verbs of key-value stores.
	Store func(s *Settings, set *properties.Reader) Store
	// Notes are lines that go-ycsb prints before the properties; may be nil.
	Notes func(s *Settings) []string
}

// target is where the database is by the properties.
func (d *Database) target(set *properties.Set) (plan.Target, error) {
	r := &properties.Reader{Set: set}
	t := d.Target(r)
	return t, r.Err()
}

// store is how operations are asked of the database.
func (d *Database) store(s *Settings) (Store, error) {
	if d.Store == nil {
		return &kvStore{s: s}, nil
	}
	r := &properties.Reader{Set: s.Set}
	store := d.Store(s, r)
	return store, r.Err()
}

// Slot is what a parameter of a request stands for.
type Slot uint8

// The slots.
const (
	KeySlot          Slot = iota // the record's key
	CountSlot                    // how many records a scan asks for
	FieldSlots                   // the contents of all fields of the request, one parameter each
	DocumentSlot                 // all fields of the record as JSON, the contents in Base64
	TextDocumentSlot             // all fields of the record as JSON, the contents as they are
)

// Request is a request and what its parameters stand for. Fields of its protocol.Request may stay
// empty where the Store needs none.
type Request struct {
	protocol.Request
	Slots []Slot
}

// Store says how the operations of the core workload are asked of a database. Each gives the
// requests of an operation in order, or none if the database can't do it. fields are the names of
// the fields meant. check asks for captures of those fields' contents, in order, or of the document
// as the only one.
type Store interface {
	// Prepare gives the requests to send once before a load: creating the table, after dropping
	// what is there if drop.
	Prepare(drop bool) []protocol.Request
	Read(fields []string, check bool) []Request
	Scan(fields []string) []Request
	Insert(fields []string) []Request
	Update(fields []string) []Request
	Delete() []Request
}

// Batcher is a Store with operations on several records at once.
type Batcher interface {
	// Batch gives the request of a verb (protocol.Read, Insert or Update) for rows records.
	Batch(verb protocol.Verb, fields []string, rows int) []Request
}

// DocumentStore is a Store whose reads capture a whole document; see DocumentSlot.
type DocumentStore interface{ Documents() bool }

// Lister is a Store whose scans don't return keys: List does, as the first column, and takes a key and a
// count as scans do.
type Lister interface {
	List(fields []string) []Request
}

// Databases are all databases. To add one, write a function like those listed here.
func Databases() []*Database {
	return []*Database{
		postgresDatabase(), sqliteDatabase(), mysqlDatabase(), redisDatabase(), etcdDatabase(), tarantoolDatabase(),
		cassandraDatabase(), mongoDatabase(), dynamoDatabase(), boltDatabase(), badgerDatabase(), pebbleDatabase(),
		httpDatabase(), basicDatabase(),
	}
}

// FindDatabase returns the database with a name. The error lists the names that there are.
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
	if best := suggest.Nearest(name, names); best != "" {
		hint = "did you mean " + best + "?"
	}
	return nil, fmt.Errorf("unknown database %q; %s", name, hint)
}

// list parts a list of addresses at commas or semicolons.
func list(text string) []string {
	var out []string
	for _, a := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' }) {
		if a = strings.TrimSpace(a); a != "" {
			out = append(out, a)
		}
	}
	return out
}

// withoutScheme are the host:port of a list of addresses, and whether one of them asks for TLS.
func withoutScheme(text string) (addresses []string, secure bool) {
	for _, a := range list(text) {
		rest, https := strings.CutPrefix(a, "https://")
		addresses, secure = append(addresses, strings.TrimSuffix(strings.TrimPrefix(rest, "http://"), "/")), secure || https
	}
	return addresses, secure
}

// options copies properties into a target's options under other names, where they are set.
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
