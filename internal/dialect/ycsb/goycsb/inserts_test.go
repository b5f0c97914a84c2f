package goycsb_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// insertRow is a database whose answers say whether an insert has made a record.
type insertRow struct {
	database string
	batches  bool
	given    func(t *testing.T) []string // properties
}

func insertRows() map[string]insertRow {
	return map[string]insertRow{
		"pg": {"pg", true, func(t *testing.T) []string {
			_, b := postgres(t)
			return b.given
		}},
		"sqlite": {"sqlite", true, func(t *testing.T) []string {
			return []string{"-p", "sqlite.db=" + filepath.Join(t.TempDir(), "ycsb.db"), "-p", "sqlite.synchronous=off"}
		}},
		"mysql": {"mysql", true, func(t *testing.T) []string {
			s := servers.MariaDB(t)
			given := []string{"-p", "mysql.host=" + s.Host, "-p", fmt.Sprint("mysql.port=", s.Port),
				"-p", "mysql.user=" + s.User, "-p", "mysql.password=" + s.Password, "-p"}
			b := newTool(t, append(given, "mysql.db="+s.Database)...)
			b.ok("load", "mysql", "--table", "inserts.first", "-p", "recordcount=1") // makes a database
			return append(given, "mysql.db=inserts")
		}},
		"mongodb": {"mongodb", true, func(t *testing.T) []string {
			return []string{"-p", "mongodb.url=mongodb://" + ferretDB(t).Addr + "/inserts?w=1"}
		}},
		"redis":         {"redis", false, redisOf("hash")},
		"redis strings": {"redis", false, redisOf("string")},
		"redis library": {"redis", false, func(t *testing.T) []string {
			return append(redisOf("hash")(t), "--tier", "library")
		}},
		"etcd": {"etcd", true, func(t *testing.T) []string {
			return []string{"-p", "etcd.endpoints=" + servers.Etcd(t).Addr}
		}},
		"etcd library": {"etcd", false, func(t *testing.T) []string {
			return []string{"-p", "etcd.endpoints=" + servers.Etcd(t).Addr, "--tier", "library"}
		}},
		"bbolt":  {"boltdb", true, inside("bolt.path")},
		"badger": {"badger", true, inside("badger.dir")},
		"pebble": {"pebble", true, inside("pebble.dir")},
		"tarantool": {"tarantool", false, func(t *testing.T) []string {
			s := tarantool(t)
			return []string{"-p", "tarantool.addr=" + s.Addr, "-p", "tarantool.user=" + s.User, "-p",
				"tarantool.password=" + s.Password}
		}},
		"dynamodb": {"dynamodb", false, func(t *testing.T) []string {
			s := dynamoDB(t)
			return []string{"-p", "dynamodb.endpoint=http://" + s.Addr, "-p", "dynamodb.access-key=" + s.User, "-p",
				"dynamodb.secret-key=" + s.Password}
		}},
	}
}

// inside returns the properties of a store in a file or folder.
func inside(property string) func(t *testing.T) []string {
	return func(t *testing.T) []string { return []string{"-p", property + "=" + filepath.Join(t.TempDir(), "db")} }
}

func redisOf(kind string) func(t *testing.T) []string {
	return func(t *testing.T) []string {
		return []string{"-p", "redis.addr=" + servers.Redis(t).Addr, "-p", "redis.datatype=" + kind}
	}
}

// An insert whose record is there already is an error, in loads and runs. Only a load that resumes may meet its own
// records again, and says how many.
func TestYCSBInsertsThatInsertNothing(t *testing.T) {
	t.Parallel()
	for name, row := range insertRows() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := "table=of" + strings.ReplaceAll(name, " ", "")
			b := newTool(t, append(row.given(t), "-p", "fieldcount=2", "--threads", "2", "-p", table)...)
			load := []string{"load", row.database, "-p", "recordcount=30"}
			run := []string{"run", row.database, "-p", "recordcount=30", "-p", "operationcount=20",
				"-p", "insertproportion=1", "-p", "readproportion=0", "-p", "updateproportion=0"}
			b.want(b.ok(load...), "INSERT", 30)
			b.allThere(load, "INSERT", 30)
			b.want(b.ok(run...), "INSERT", 20)
			b.allThere(run, "INSERT", 20)
			b.results = t.TempDir() // without the checkpoint of the load that failed
			resume := []string{"load", row.database, "-p", "recordcount=60", "-p", "resume=true"}
			code, out, err := b.do("", resume...)
			if code != 0 || counts(out)["INSERT"] != 60 ||
				!strings.Contains(err, "note: 50 inserts found their record there") {
				t.Errorf("a load that resumes: exit %d\n%s%s", code, out, err)
			}
			if !row.batches {
				return
			}
			batches := []string{"load", row.database, "-p", "recordcount=30", "-p", "batch.size=10", "--table", "batches"}
			b.want(b.ok(batches...), "BATCH_INSERT", 3)
			b.allThere(batches, "BATCH_INSERT", 3)
			// Of four batches, three are there and one is new.
			b.some(append(batches[:2:2], "-p", "recordcount=40", "-p", "batch.size=10", "--table", "batches"), 1, 3)
		})
	}
}

// allThere runs a command all of whose inserts must fail because their records are there.
func (b *tool) allThere(command []string, operation string, n int) {
	b.t.Helper()
	code, out, err := b.do("", command...)
	if code != 1 || counts(out)[operation] != 0 || counts(out)[operation+"_ERROR"] != n {
		b.t.Errorf("%v again: exit %d\n%s%s", command, code, out, err)
	}
}

// some runs a load of batches of which some succeed and some find their records there.
func (b *tool) some(command []string, ok, failed int) {
	b.t.Helper()
	code, out, err := b.do("", command...)
	if c := counts(out); code != 0 || c["BATCH_INSERT"] != ok || c["BATCH_INSERT_ERROR"] != failed {
		b.t.Errorf("%v: exit %d, want %d and %d\n%s%s", command, code, ok, failed, out, err)
	}
}
