package ycsb

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/server/connection"
)

// kvStore uses the verbs of key-value stores, for drivers whose records have named fields.
type kvStore struct{ s *Settings }

// Prepare returns no requests: drivers create what they need themselves.
func (k *kvStore) Prepare(bool) []protocol.Request { return nil }

func (k *kvStore) request(verb protocol.Verb, fields []string, slots ...Slot) []Request {
	return []Request{{Request: protocol.Request{Verb: verb, Text: k.s.Table, Fields: fields}, Slots: slots}}
}

// all returns nil, which means all fields, if fields contains all of them.
func (k *kvStore) all(fields []string) []string {
	if len(fields) == len(k.s.Fields) {
		return nil
	}
	return fields
}

func (k *kvStore) Read(fields []string, check bool) []Request {
	r := k.request(protocol.Read, k.all(fields), KeySlot)
	if check {
		for _, f := range fields {
			r[0].Capture = append(r[0].Capture, protocol.Capture{Name: f})
		}
	}
	return r
}

func (k *kvStore) Scan(fields []string) []Request {
	return k.request(protocol.Scan, k.all(fields), KeySlot, CountSlot)
}

func (k *kvStore) Insert(fields []string) []Request {
	return k.request(protocol.Insert, fields, KeySlot, FieldSlots)
}

func (k *kvStore) Update(fields []string) []Request {
	return k.request(protocol.Update, fields, KeySlot, FieldSlots)
}

func (k *kvStore) Delete() []Request { return k.request(protocol.Delete, nil, KeySlot) }

func (k *kvStore) Batch(verb protocol.Verb, fields []string, rows int) []Request {
	names := map[protocol.Verb]string{protocol.Read: "read", protocol.Insert: "insert", protocol.Update: "update",
		protocol.Delete: "delete"}
	r := Request{Request: protocol.Request{
		Verb: protocol.Batch, Text: fmt.Sprintf("%s %s", names[verb], k.s.Table), Fields: fields, Rows: rows,
	}, Slots: []Slot{KeySlot}}
	if verb == protocol.Insert || verb == protocol.Update {
		r.Slots = append(r.Slots, FieldSlots)
	}
	return []Request{r}
}

func cassandraDatabase() *Database {
	return &Database{
		Names: []string{"cassandra", "scylla"}, About: "Cassandra, ScyllaDB", Protocol: "cassandra", Batches: true,
		Overwrites: true,
		Properties: propertiesOf("cassandra"),
		Translate: func(t *translation) {
			t.cassandra("cassandra", "hosts", "port")
			t.cassandra("scylla", "scylla.hosts", "scylla.port")
		},
		Target: func(set *properties.Reader) plan.Target {
			return plan.Target{
				Protocol: "cassandra", Addresses: list(set.Text("cassandra.cluster", "127.0.0.1:9042")),
				Database: set.Text("cassandra.keyspace", "test"),
				User:     set.Text("cassandra.username", ""), Password: set.Text("cassandra.password", ""),
				TLS: plan.TLS{Enabled: set.Bool("cassandra.useSSL", false)},
				Options: options(set, map[string]string{"cassandra.consistency": "consistency",
					"cassandra.replication": "replication_factor"}),
			}
		},
	}
}

// cassandra replaces the properties of YCSB's bindings for Cassandra and ScyllaDB, which begin with space.
func (t *translation) cassandra(space, hosts, port string) {
	t.addresses(hosts, port, "cassandra.cluster", "9042")
	if !t.has(space + ".keyspace") {
		for _, name := range []string{"keyspace", "username", "password", "useSSL"} {
			t.rename(space+"."+name, "cassandra."+name)
		}
		t.choose(space+".lwt", "", map[string]string{"false": ""})
		t.refuse(space+".local_dc", "each session has one address; name the addresses of the data center")
	}
	t.rename(space+".readconsistencylevel", "cassandra.consistency", space+".writeconsistencylevel",
		"cassandra.consistency")
	t.without(space+".maxconnections", space+".coreconnections", space+".connecttimeoutmillis",
		space+".readtimeoutmillis", space+".useSSL")
	t.choose(space+".tracing", "", map[string]string{"false": ""})
}

func dynamoDatabase() *Database {
	return &Database{
		Names: []string{"dynamodb"}, About: "DynamoDB", Protocol: "dynamodb", Batches: true, BatchesOverwrite: true,
		Properties: propertiesOf("dynamodb"),
		Translate: func(t *translation) {
			t.rename("dynamodb.primaryKey", "dynamodb.primarykey", "dynamodb.consistentReads", "dynamodb.consistent.reads")
			t.choose("dynamodb.primaryKeyType", "", map[string]string{"hash": ""})
			t.without("dynamodb.connectMax", "dynamodb.debug")
			for _, name := range []string{"dynamodb.hashKeyName", "dynamodb.hashKeyValue"} {
				t.refuse(name, "keys of a hash and a range aren't supported")
			}
			t.refuse("dynamodb.awsCredentialsFile", "give dynamodb.access-key and dynamodb.secret-key instead")
		},
		Target: func(set *properties.Reader) plan.Target {
			amazon := fmt.Sprintf("https://dynamodb.%s.amazonaws.com:443", set.Text("dynamodb.region", "us-east-1"))
			addresses, secure := withoutScheme(cmp.Or(set.Text("dynamodb.endpoint", ""), amazon))
			return plan.Target{
				Protocol: "dynamodb", Addresses: addresses, TLS: plan.TLS{Enabled: secure},
				User: set.Text("dynamodb.access-key", ""), Password: set.Text("dynamodb.secret-key", ""),
				Options: options(set, map[string]string{
					"dynamodb.region": "region", "dynamodb.primarykey": "key", "dynamodb.consistent.reads": "consistent_reads",
					"dynamodb.rc.units": "rc_units", "dynamodb.wc.units": "wc_units",
				}),
			}
		},
	}
}

func boltDatabase() *Database {
	return embeddedDatabase(embedded{
		names: []string{"boltdb", "bbolt", "bolt"}, about: "bbolt, inside brunt", protocol: "bbolt",
		prefix: "bolt.", path: "path", standard: "bolt.db",
		options: []string{"timeout", "no_sync", "no_grow_sync", "no_freelist_sync", "freelist_type", "read_only",
			"mmap_flags", "initial_mmap_size"},
	})
}

func badgerDatabase() *Database {
	return embeddedDatabase(embedded{
		names: []string{"badger"}, about: "Badger, inside brunt", protocol: "badger",
		prefix: "badger.", path: "dir", standard: "badger",
		options: []string{
			"valuedir", "sync_writes", "num_versions_to_keep", "max_table_size", "level_size_multiplier", "max_levels",
			"value_threshold",
			"num_memtables", "num_level0_tables", "num_level0_tables_stall", "level_one_size", "value_log_file_size",
			"value_log_max_entries", "num_compactors", "do_not_compact", "table_loading_mode", "value_log_loading_mode",
			"block_cache_size", "compression",
		},
	})
}

func pebbleDatabase() *Database {
	return embeddedDatabase(embedded{
		names: []string{"pebble"}, about: "Pebble, inside brunt", protocol: "pebble",
		prefix: "pebble.", path: "dir", standard: "pebble",
		options: []string{"sync", "disable_wal", "cache_size", "mem_table_size", "max_open_files", "bloom_bits"},
	})
}

// embedded describes a key-value store in a file or folder. Its options are properties with a prefix.
type embedded struct {
	names                  []string
	about, protocol        string
	prefix, path, standard string // path is the property with the file or folder, standard its default
	options                []string
}

func embeddedDatabase(e embedded) *Database {
	list := []Property{{e.prefix + e.path, e.standard, "file or folder of the database"}}
	names := map[string]string{}
	for _, o := range e.options {
		list = append(list, Property{e.prefix + o, "", "option " + o + " of the library"})
		names[e.prefix+o] = o
	}
	return &Database{
		Names: e.names, About: e.about, Protocol: e.protocol, Properties: list, Batches: true,
		Target: func(set *properties.Reader) plan.Target {
			return plan.Target{Protocol: e.protocol, Addresses: []string{set.Text(e.prefix+e.path, e.standard)},
				Options: options(set, names)}
		},
	}
}

func etcdDatabase() *Database {
	return &Database{
		Names: []string{"etcd"}, About: "etcd 3", Protocol: "etcd", Batches: true,
		Properties: propertiesOf("etcd"),
		Target: func(set *properties.Reader) plan.Target {
			t := plan.Target{Protocol: "etcd", User: set.Text("etcd.user", ""), Password: set.Text("etcd.password", "")}
			t.Addresses, t.TLS.Enabled = withoutScheme(set.Text("etcd.endpoints", "localhost:2379"))
			t.TLS.CAFile, t.TLS.CertFile, t.TLS.KeyFile = set.Text("etcd.cacert_file", ""), set.Text("etcd.cert_file", ""),
				set.Text("etcd.key_file", "")
			if set.Bool("etcd.serializable_reads", false) {
				t.Options = map[string]string{"serializable_reads": "true"}
			}
			return t
		},
	}
}

func mongoDatabase() *Database {
	return &Database{
		Names: []string{"mongodb", "mongo"}, About: "MongoDB, FerretDB", Protocol: "mongodb", Batches: true,
		Properties: propertiesOf("mongodb"),
		Target:     mongoTarget,
		Translate: func(t *translation) {
			t.without("mongodb.maxconnections", "mongodb.threadsAllowedToBlockForConnectionMultiplier")
			t.refuse("mongodb.batchsize", "give batch.size instead")
			t.choose("mongodb.readPreference", "", map[string]string{"primary": ""})
			t.choose("mongodb.writeConcern", "mongodb.w", map[string]string{"acknowledged": "", "majority": "majority"})
			t.refuse("mongodb.database", "name the database in mongodb.url")
		},
	}
}

// mongoTarget returns the target for a connection string.
func mongoTarget(set *properties.Reader) plan.Target {
	text := set.Text("mongodb.url", "mongodb://127.0.0.1:27017/ycsb?w=1")
	if _, err := connection.ParseURL(text); err != nil {
		set.Keep(fmt.Errorf("%s: property mongodb.url: %w", set.Where("mongodb.url"), err))
		return plan.Target{}
	}
	u, hosts, ok := mongoURL(text)
	if !ok {
		set.Keep(fmt.Errorf("%s: property mongodb.url: give mongodb://host:port/database", set.Where("mongodb.url")))
		return plan.Target{}
	}
	t := plan.Target{
		Protocol: "mongodb", Addresses: list(hosts), Database: strings.TrimPrefix(u.Path, "/"),
		User: set.Text("mongodb.username", ""), Password: set.Text("mongodb.password", ""),
		Options: map[string]string{},
	}
	for property, option := range map[string]string{"mongodb.authdb": "auth_source", "mongodb.upsert": "upsert",
		"mongodb.replica_set": "replica_set"} {
		if v, ok := set.Get(property); ok {
			t.Options[option] = v
		}
	}
	t.Database = cmp.Or(t.Database, "ycsb")
	if u.User != nil {
		password, _ := u.User.Password()
		if t.User != "" && t.User != u.User.Username() || t.Password != "" && t.Password != password {
			set.Keep(fmt.Errorf("%s: property mongodb.url names another user or password than mongodb.username and "+
				"mongodb.password; keep one of them", set.Where("mongodb.url")))
		}
		t.User, t.Password = u.User.Username(), password
	}
	t.TLS.CAFile = set.Text("mongodb.tls_ca_file", "")
	t.TLS.InsecureSkipVerify = set.Bool("mongodb.tls_skip_verify", false)
	if err := queryOf(u, &t); err != nil {
		set.Keep(fmt.Errorf("%s: property mongodb.url: %w", set.Where("mongodb.url"), err))
	}
	if w, given := set.Get("mongodb.w"); given {
		t.Options["w"] = w
	}
	t.TLS.Enabled = t.TLS.Enabled || t.TLS.CAFile != "" || t.TLS.InsecureSkipVerify
	return t
}

func mysqlDatabase() *Database {
	return &Database{
		Names:    []string{"mysql", "mariadb", "tidb"},
		About:    "MySQL, MariaDB, TiDB",
		Protocol: "mysql", Batches: true,
		Properties: propertiesOf("mysql"),
		Translate:  func(t *translation) { t.jdbc("db", "mysql", []string{"mysql", "mariadb"}, "mysql", "mariadb") },
		Target: func(set *properties.Reader) plan.Target {
			port := set.Int("mysql.port", 3306, 1, 65535)
			t := plan.Target{
				Protocol: "mysql", User: set.Text("mysql.user", "root"), Password: set.Text("mysql.password", ""),
				Database: set.Text("mysql.db", "test"), Addresses: list(set.Text("tidb.instances", "")),
			}
			if len(t.Addresses) == 0 {
				for _, host := range list(set.Text("mysql.host", "127.0.0.1")) {
					t.Addresses = append(t.Addresses, join(host, fmt.Sprint(port)))
				}
			}
			return t
		},
	}
}

func basicDatabase() *Database {
	return &Database{
		Names: []string{"basic"}, About: "no database: says what would be done, with verbose=true", Protocol: "noop", Dry: true,
		Properties: propertiesOf("basic"),
		Translate:  func(t *translation) { t.without("basicdb.verbose") },
		Target: func(set *properties.Reader) plan.Target {
			t := plan.Target{Protocol: "noop", Addresses: []string{"none"}}
			ms, option := set.Int("basicdb.simulatedelay", 0, 0, 3_600_000), "delay"
			if ms == 0 {
				return t
			}
			if set.Bool("basicdb.randomizedelay", true) {
				option = "delay_up_to"
			}
			t.Options = map[string]string{option: (time.Duration(ms) * time.Millisecond).String()}
			return t
		},
	}
}

// basicStore never checks reads, since there are no values.
type basicStore struct{ kvStore }

func (b *basicStore) Read(fields []string, _ bool) []Request { return b.kvStore.Read(fields, false) }

func tarantoolDatabase() *Database {
	return &Database{
		Names: []string{"tarantool"}, About: "Tarantool, by iproto's own requests on a space", Protocol: "iproto",
		Properties: propertiesOf("tarantool"),
		Translate: func(t *translation) {
			t.addresses("tarantool.host", "tarantool.port", "tarantool.addr", "3301")
			t.refuse("tarantool.space", "brunt's space has the name of property table; remove it")
		},
		Target: func(set *properties.Reader) plan.Target {
			return plan.Target{
				Protocol: "iproto", Addresses: list(set.Text("tarantool.addr", "127.0.0.1:3301")),
				User: set.Text("tarantool.user", ""), Password: set.Text("tarantool.password", ""),
			}
		},
	}
}

func newTarantoolStore(s *Settings, set *properties.Reader) Store {
	return &tarantoolStore{kvStore{s: s}, set.Choice("tarantool.engine", "memtx", "memtx", "vinyl")}
}

// tarantoolStore stores records as tuples of the key and an element for each field.
type tarantoolStore struct {
	kvStore
	engine string
}

func (t *tarantoolStore) Prepare(drop bool) []protocol.Request {
	var b strings.Builder
	if drop {
		fmt.Fprintf(&b, "if box.space[%[1]q] then box.space[%[1]q]:drop() end ", t.s.Table)
	}
	fmt.Fprintf(
		&b, "local s = box.schema.space.create(%q, {engine = %q, if_not_exists = true, format = {{'ycsb_key', 'string'}",
		t.s.Table, t.engine)
	for _, f := range t.s.Fields {
		fmt.Fprintf(&b, ", {%q, 'string', is_nullable = true}", f)
	}
	b.WriteString("}}) s:create_index('primary', {parts = {{1, 'string'}}, if_not_exists = true})")
	return []protocol.Request{{Verb: protocol.Eval, Text: b.String()}}
}

// Insert makes a tuple, whose fields have no names.
func (t *tarantoolStore) Insert([]string) []Request {
	return t.request(protocol.Insert, nil, KeySlot, FieldSlots)
}
