package ycsb

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"brunt/internal/base/secret"
	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/dialect/ycsb/workloads"
)

// Given are the properties on a command line.
type Given struct {
	Workload string   // name of a built-in workload; may be ""
	Files    []string // property files; later ones override earlier ones
	Values   []string // name=value; override the files
	Flags    map[string]string
}

// Gather reads all properties, and replaces references in them. Flags override values, values override files, and files
// override the workload. If a file doesn't exist, but there is a built-in workload with its base name, that is used.
// notes are messages for the user.
func (g Given) Gather(readFile ReadFile, environment func(string) (string, bool)) (set *properties.Set, notes []string,
	err error) {
	set = properties.NewSet()
	if g.Workload != "" {
		text, name, err := workloads.Find(g.Workload)
		if err != nil {
			return nil, nil, err
		}
		if _, err := put(set, "workload "+name, text); err != nil {
			return nil, nil, err
		}
	}
	for _, file := range g.Files {
		text, err := readFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			ours, name, e := workloads.Find(filepath.Base(file))
			if e != nil {
				return nil, nil, fmt.Errorf("property file: %w", err)
			}
			text, err = ours, nil
			notes = append(notes, fmt.Sprintf("%s isn't there: using the workload %s that comes with brunt", file, name))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("property file: %w", err)
		}
		blanks, err := put(set, file, text)
		if err != nil {
			return nil, nil, err
		}
		notes = append(notes, blanks...)
	}
	for _, v := range g.Values {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, nil, fmt.Errorf("-p %s: not of the form name=value", secret.Value(v, v))
		}
		set.Put(name, value, "-p")
	}
	for name, value := range g.Flags {
		if measured, ok := set.Get(name); ok && name == "measurement.interval" &&
			!strings.ContainsAny(measured, "0123456789") {
			name = "status.interval" // the property says what is measured
		}
		set.Put(name, value, "--"+name)
	}
	return set, notes, set.Expand(environment)
}

// put adds the properties of a file. notes say which values had blanks at their end that matter in YCSB.
func put(set *properties.Set, name string, text []byte) (notes []string, err error) {
	pairs, err := properties.Parse(name, text)
	for _, p := range pairs {
		where := fmt.Sprintf("%s:%d", name, p.Line)
		set.Put(p.Key, p.Value, where)
		if p.Blanks && slices.Contains([]string{"insertorder", "keyprefix", "table"}, p.Key) {
			notes = append(notes, fmt.Sprintf("%s: property %s: blanks at the end of %q are left out; YCSB takes them for part of "+
				"the value", where, p.Key, p.Value))
		}
	}
	return notes, err
}

// JavaArgs converts the arguments of YCSB's own command line to those of load and run. YCSB's options have one dash
// (-threads, -target, -s, -db, -l), and its Java client has -load or -t (transactions, the default) instead of a
// command. Other arguments are unchanged. ours reports whether there was anything to convert. (site.ycsb.Client and
// bin/ycsb of YCSB 0.17.)
func JavaArgs(args []string) (out []string, ours bool, err error) {
	command, database := "", ""
	for i := 0; i < len(args); i++ {
		a := args[i]
		value := func() (string, error) {
			if i+1 == len(args) {
				return "", fmt.Errorf("%s: its value is missing", a)
			}
			i++
			return args[i], nil
		}
		v := ""
		switch a {
		case "-threads", "-target":
			v, err = value()
			out = append(out, "-"+a, v)
		case "-db":
			v, err = value()
			database = javaDatabase(v)
		case "-l", "-label":
			v, err = value()
			out = append(out, "-p", "label="+v)
		case "-cp", "-jvm-args":
			_, err = value() // Java isn't used
		case "-s":
		case "-load", "-t":
			command = map[string]string{"-load": string(Load), "-t": string(Run)}[a]
		default:
			if strings.HasPrefix(a, "-jvm-args=") {
				ours = true
				continue
			}
			out = append(out, a)
			continue
		}
		ours = true
		if err != nil {
			return nil, true, err
		}
	}
	first := len(out) > 0 && slices.Contains([]string{string(Load), string(Run), "l", "r"}, out[0])
	switch {
	case !ours:
		return args, false, nil
	case database == "" && (first || command == ""):
		return out, true, nil
	case first:
		return append([]string{out[0], database}, out[1:]...), true, nil
	case database == "":
		return nil, true, fmt.Errorf("-load and -t need -db with the database's name or class")
	case command == "":
		command = string(Run)
	}
	return append([]string{command, database}, out...), true, nil
}

// javaDatabase returns the name of the database for a class of YCSB, such as site.ycsb.db.JdbcDBClient.
func javaDatabase(class string) string {
	names := map[string]string{
		"BasicDB": "basic", "RedisClient": "redis", "CassandraCQLClient": "cassandra", "MongoDbClient": "mongodb",
		"AsyncMongoDbClient": "mongodb",
		"EtcdClient":         "etcd", "TarantoolClient": "tarantool", "DynamoDBClient": "dynamodb", "RestClient": "rest",
		"PostgreNoSQLDBClient": "pg",
	}
	short := class[strings.LastIndexByte(class, '.')+1:]
	if name := names[short]; name != "" {
		return name
	}
	return short
}

// elsewhere returns, for a database of YCSB or go-ycsb that isn't supported, the reason and a substitute if there is
// one.
func elsewhere(name string) string {
	switch strings.ToLower(name) {
	case "jdbc", "jdbcdbclient":
		return "YCSB reaches several databases by jdbc; name yours: pg, mysql or sqlite"
	case "tikv", "foundationdb", "fdb", "aerospike", "spanner", "minio", "s3", "rocksdb", "taosdb", "tdengine", "elastic",
		"elasticsearch", "hbase", "hbase1", "hbase2",
		"couchbase", "couchbase2", "accumulo", "arangodb", "azuretablestorage", "azurecosmos", "cloudspanner", "crail",
		"geode", "googlebigtable", "googledatastore",
		"griddb", "ignite", "infinispan", "kudu", "memcached", "nosqldb", "orientdb", "riak", "seaweedfs", "solr",
		"tablestore", "voltdb", "zookeeper", "maprdb":
		return "brunt doesn't speak to it"
	}
	return ""
}
