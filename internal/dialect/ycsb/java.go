package ycsb

import (
	"fmt"
	"slices"
	"strings"
)

// JavaArgs turns the arguments of YCSB's own command line into those of load and run: its options have
// one dash (-threads, -target, -s, -db, -l), and its Java client says -load or -t (transactions, the
// default) instead of a command. Others stay as they are. ours reports whether there was anything to
// turn. (site.ycsb.Client and bin/ycsb of YCSB 0.17.)
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
			_, err = value() // no Java here
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

// javaDatabase is the name of the database whose YCSB class is given, as in site.ycsb.db.JdbcDBClient.
func javaDatabase(class string) string {
	names := map[string]string{
		"BasicDB": "basic", "RedisClient": "redis", "CassandraCQLClient": "cassandra", "MongoDbClient": "mongodb", "AsyncMongoDbClient": "mongodb",
		"EtcdClient": "etcd", "TarantoolClient": "tarantool", "DynamoDBClient": "dynamodb", "RestClient": "rest", "PostgreNoSQLDBClient": "pg",
	}
	short := class[strings.LastIndexByte(class, '.')+1:]
	if name := names[short]; name != "" {
		return name
	}
	return short
}

// elsewhere are databases of YCSB and go-ycsb that aren't here, and what stands in for them.
func elsewhere(name string) string {
	switch strings.ToLower(name) {
	case "jdbc", "jdbcdbclient":
		return "YCSB reaches several databases by jdbc; name yours: pg, mysql or sqlite"
	case "tikv", "foundationdb", "fdb", "aerospike", "spanner", "minio", "s3", "rocksdb", "taosdb", "tdengine", "elastic", "elasticsearch", "hbase", "hbase1", "hbase2",
		"couchbase", "couchbase2", "accumulo", "arangodb", "azuretablestorage", "azurecosmos", "cloudspanner", "crail", "geode", "googlebigtable", "googledatastore",
		"griddb", "ignite", "infinispan", "kudu", "memcached", "nosqldb", "orientdb", "riak", "seaweedfs", "solr", "tablestore", "voltdb", "zookeeper", "maprdb":
		return "brunt doesn't speak to it"
	}
	return ""
}
