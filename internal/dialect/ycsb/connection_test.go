package ycsb

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"brunt/internal/dialect/ycsb/properties"
	"brunt/internal/plan"
)

// targetOf returns the target that properties of a database give, as text.
func targetOf(database string, where string, values ...string) (string, error) {
	d, err := FindDatabase(database)
	if err != nil {
		return "", err
	}
	set := properties.NewSet()
	for _, v := range append(values, "recordcount=1", "operationcount=1") {
		name, value, _ := strings.Cut(v, "=")
		set.Put(name, value, where)
	}
	s, err := Understand(Run, d, set, os.ReadFile)
	if err != nil {
		return "", err
	}
	t, err := d.target(s.Set)
	if err != nil {
		return "", err
	}
	text := strings.Join(t.Addresses, ",")
	for _, one := range []struct{ name, value string }{
		{"user", t.User}, {"password", t.Password}, {"db", t.Database},
	} {
		if one.value != "" {
			text += " " + one.name + "=" + one.value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Options)) {
		text += fmt.Sprintf(" %s=%s", name, t.Options[name])
	}
	if t.TLS != (plan.TLS{}) {
		text += fmt.Sprintf(" tls=%v insecure=%v", t.TLS.Enabled, t.TLS.InsecureSkipVerify)
	}
	return text, nil
}

// Properties that say where and how to connect are those of YCSB as well as of go-ycsb.
func TestConnectionProperties(t *testing.T) {
	for _, c := range []struct {
		database, given, want string
	}{
		{"redis", "redis.host=r1 redis.port=7000", "r1:7000"},
		{"redis", "redis.host=r1", "r1:6379"},
		{"redis", "redis.port=7000", "localhost:7000"},
		{"redis", "redis.host=::1", "[::1]:6379"},
		{"redis", "redis.host=r1 redis.cluster=true redis.password=x redis.timeout=2000", "r1:6379 password=x mode=cluster"},
		{"redis", "redis.host=r1 redis.addr=r1:6379 redis.cluster=false redis.mode=single", "r1:6379"},
		{"cassandra", "hosts=c1,c2 port=9142 cassandra.keyspace=ycsb", "c1:9142,c2:9142 db=ycsb"},
		{"cassandra", "hosts=c1 cassandra.readconsistencylevel=ONE cassandra.writeconsistencylevel=ONE " +
			"cassandra.maxconnections=2 cassandra.useSSL=true", "c1:9042 db=test consistency=ONE tls=true insecure=false"},
		{"scylla", "scylla.hosts=s1 scylla.keyspace=k scylla.username=u scylla.password=p scylla.useSSL=true",
			"s1:9042 user=u password=p db=k tls=true insecure=false"},
		{"tarantool", "tarantool.host=t1 tarantool.port=3302", "t1:3302"},
		{"dynamodb", "dynamodb.endpoint=http://d:8000 dynamodb.primaryKey=id dynamodb.primaryKeyType=HASH " +
			"dynamodb.consistentReads=true", "d:8000 consistent_reads=true key=id"},
		{"pg", "db.url=jdbc:postgresql://p1:5433/shop db.user=u db.passwd=s db.driver=org.postgresql.Driver",
			"p1:5433 user=u password=s db=shop"},
		{"pg", "db.url=jdbc:postgresql://p1,p2:5433/shop?user=u&password=s&sslmode=require",
			"p1:5432,p2:5433 user=u password=s db=shop tls=true insecure=true"},
		{"pg", "postgrenosql.url=jdbc:postgresql://p1/shop postgrenosql.user=u postgrenosql.passwd=s",
			"p1:5432 user=u password=s db=shop"},
		{"mysql", "db.url=jdbc:mysql://m1:3307/shop db.user=u db.passwd=s db.driver=com.mysql.cj.jdbc.Driver",
			"m1:3307 user=u password=s db=shop"},
		{"mysql", "db.url=jdbc:mariadb://m1/shop", "m1:3306 user=root db=shop"},
		{"sqlite", "db.url=jdbc:sqlite:/tmp/a.db", "/tmp/a.db"},
		{"mongodb", "mongodb.url=mongodb://u:p@m1:27018,m2/d?w=majority&authSource=x&replicaSet=rs0&ssl=true",
			"m1:27018,m2 user=u password=p db=d auth_source=x replica_set=true w=majority tls=true insecure=false"},
		{"mongodb", "mongodb.url=mongodb://m1/d?maxPoolSize=5 mongodb.writeConcern=majority", "m1 db=d w=majority"},
		{"basic", "basicdb.verbose=true", "none"},
	} {
		got, err := targetOf(c.database, "w:1", strings.Fields(c.given)...)
		if err != nil || got != c.want {
			t.Errorf("%s %s: %q, %v; want %q", c.database, c.given, got, err, c.want)
		}
	}
}

// A property that says where or how to connect and isn't understood is refused by name, never replaced by a default.
func TestUnknownConnectionProperties(t *testing.T) {
	for _, c := range []struct {
		database, given, want string
	}{
		{"redis", "redis.hots=r1", "redis.hots"}, {"redis", "rediss.addr=r1", "rediss.addr"},
		{"redis", "redis.hst=r1", "did you mean redis.host?"}, {"redis", "hosts=r1", "property hosts"},
		{"redis", "host=r1", "property host"}, {"redis", "db.url=jdbc:x://h", "property db.url"},
		{"redis", "redis.host=r1 redis.addr=r2:6379", "redis.addr (w:1) says something else"},
		{"redis", "redis.cluster=yes", `"yes" isn't understood; give false or true`},
		{"redis", "redis.cluster=true redis.mode=single", "redis.mode (w:1) says something else"},
		{"pg", "pg.hosts=p1", "did you mean pg.host?"}, {"pg", "pg.ssl=true", "property pg.ssl"},
		{"pg", "db.url=jdbc:postgresql://p1/shop?tcpKeepAlive=true", "tcpKeepAlive"},
		{"pg", "db.url=jdbc:mysql://p1/shop", "give one address, jdbc:postgresql://"},
		{"pg", "db.url=jdbc:postgresql://p1/shop pg.host=p2", "pg.host (w:1) says something else"},
		{"pg", "db.driver=com.mysql.jdbc.Driver", "isn't a driver of this database"},
		{"pg", "db.url=jdbc:postgresql://a/x;jdbc:postgresql://b/x", "db.url"},
		{"pg", "jdbc.autocommit=false", "give true"}, {"pg", "db.batchsize=10", "give batch.size instead"},
		{"mysql", "mysql.hostname=m1", "mysql.hostname"}, {"mysql", "db.url=jdbc:mysql://m1/d?useSSL=true", "useSSL"},
		{"mysql", "mysql.socket=/x", "mysql.socket"},
		{"tarantool", "tarantool.uri=t1", "tarantool.uri"}, {"tarantool", "tarantool.space=1024", "table"},
		{"dynamodb", "dynamodb.primaryKeyType=HASH_AND_RANGE", "give hash"},
		{"dynamodb", "dynamodb.hashKeyName=h", "keys of a hash and a range"},
		{"dynamodb", "dynamodb.awsCredentialsFile=f", "dynamodb.access-key"},
		{"dynamodb", "dynamodb.primarykeys=x", "did you mean dynamodb.primaryKey?"},
		{"cassandra", "hosts=c1 cassandra.cluster=c2:9042", "cassandra.cluster (w:1) says something else"},
		{"cassandra", "host=c1", "did you mean hosts?"},
		{"cassandra", "hosts=c1 cassandra.readconsistencylevel=ONE cassandra.writeconsistencylevel=ALL",
			"says something else"},
		{"scylla", "scylla.local_dc=dc1", "addresses of the data center"},
		{"mongodb", "mongodb.url=mongodb://m1/d?retryReads=false", "retryReads isn't understood"},
		{"mongodb", "mongodb.url=mongodb://m1/d?readPreference=secondary", "brunt reads from the primary"},
		{"mongodb", "mongodb.url=mongodb://u:p@m1/d mongodb.username=v", "names another user"},
		{"mongodb", "mongodb.url=mongodb://u:s3c#ret@m1/d", "mongodb.url: it can't be read; write /, ?, #"},
		{"mongodb", "mongodb.uri=mongodb://m1/d", "did you mean mongodb.url?"},
		{"etcd", "etcd.endpoint=e1", "did you mean etcd.endpoints?"}, {"http", "url.prefix=http://h/", "http.addr"},
		{"boltdb", "bolt.file=x", "bolt.file"}, {"badger", "badger.dri=x", "did you mean badger.dir?"},
	} {
		_, err := targetOf(c.database, "w:1", strings.Fields(c.given)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "w:1") {
			t.Errorf("%s %s: %v; want %q", c.database, c.given, err, c.want)
		}
	}
}

// Files are shared by several databases. What is on the command line is meant for this one.
func TestConnectionPropertiesOfOthers(t *testing.T) {
	const given = "mysql.host=m1"
	if got, err := targetOf("pg", "w:1", given); err != nil || got != "127.0.0.1:5432 user=root db=test" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := targetOf("pg", "-p", given); err == nil || !strings.Contains(err.Error(), "mysql.host is of another") {
		t.Errorf("got %v", err)
	}
}
