package goycsb_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/internal/cli"
	"brunt/test/testserver"
)

// tool runs brunt in this process. The bundle goes into a folder of the test's.
type tool struct {
	t       *testing.T
	results string
	given   []string // after every command
}

func newTool(t *testing.T, given ...string) *tool {
	return &tool{t: t, results: t.TempDir(), given: given}
}

// do runs brunt ycsb with args and returns the exit code and what it printed.
func (b *tool) do(stdin string, args ...string) (code int, out, err string) {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	args = append(append([]string{"brunt", "ycsb"}, args...), b.given...)
	if args[2] == "load" || args[2] == "run" {
		args = append(args, "--results", b.results)
	}
	code = cli.Main("test", args, strings.NewReader(stdin), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// ok runs brunt ycsb, which must succeed, and returns what it printed.
func (b *tool) ok(args ...string) string {
	b.t.Helper()
	code, out, err := b.do("", args...)
	if code != 0 {
		b.t.Fatalf("%v: exit %d\n%s\n%s", args, code, out, err)
	}
	return out
}

// counts reads the counts of operations from the last lines of a result.
func counts(out string) map[string]int {
	_, result, _ := strings.Cut(out, "Run finished")
	found := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^(\S+) +- Takes\(s\): .*?Count: (\d+)`).FindAllStringSubmatch(result, -1) {
		found[m[1]], _ = strconv.Atoi(m[2])
	}
	return found
}

func (b *tool) want(out, operation string, n int) {
	b.t.Helper()
	if got := counts(out)[operation]; got != n {
		b.t.Errorf("%s: %d, want %d\n%s", operation, got, n, out)
	}
}

func (b *tool) none(out string) {
	b.t.Helper()
	for name := range counts(out) {
		if strings.HasSuffix(name, "_ERROR") {
			b.t.Errorf("there is %s:\n%s", name, out)
		}
	}
}

// workloads loads and runs all workloads of a database. Scans are left out where it has none. YCSB's own workloads have
// fewer records than their files say.
func (b *tool) workloads(database string, scans bool, all string) {
	b.t.Helper()
	b.want(b.ok("load", database, "--workload", "a", "--threads", "4", "-p", "dropdata=true"), "INSERT", 1000)
	const fewer = "recordcount=200"
	for _, flavor := range []string{"", "java/"} {
		for _, letter := range all {
			if letter == 'e' && !scans {
				continue
			}
			run := []string{"run", database, "--workload", flavor + string(letter), "--threads", "4", "-p", "operationcount=200"}
			if flavor == "java/" || letter == 'e' { // workload d has inserted the records that e inserts
				b.ok("load", database, "--workload", "java/a", "--threads", "4", "-p", "dropdata=true", "-p", "zeropadding=3",
					"-p", fewer)
				run = append(run, "-p", fewer)
			}
			out := b.ok(run...)
			b.none(out)
			c := counts(out)
			if done := c["TOTAL"] - c["READ_MODIFY_WRITE"]; done != 200 {
				b.t.Errorf("workload %s%c: %d operations, want 200\n%s", flavor, letter, done, out)
			}
		}
	}
	if scans {
		b.shellScans(database, true)
	}
}

// shellScans reads records by hand. Some databases scan in another order than the keys'.
func (b *tool) shellScans(database string, sorted bool) {
	b.t.Helper()
	code, out, err := b.do(`insert zz1 field0=a field1=b
insert zz2 field0=c field1=d
scan zz1 2
scan zz2 1 field1
delete zz1
delete zz2
`, "shell", database)
	const rule = "--------------------------------\n"
	first, second := rule+"Record 1 zz1\nfield0=\"a\"\nfield1=\"b\"\n", rule+"Record 1 zz2\nfield1=\"d\"\n"+rule
	if sorted {
		first += "Record 2 zz2\nfield0=\"c\"\nfield1=\"d\"\n" + rule
	}
	if code != 0 || !strings.Contains(out, first) || !strings.Contains(out, second) {
		b.t.Errorf("%s: exit %d\n%s%s", database, code, out, err)
	}
}

// databases counts those on the shared PostgreSQL.
var databases atomic.Int64

func redis(t *testing.T, s *testserver.Server, words ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "redis-cli", append([]string{"-h", s.Host, "-p", fmt.Sprint(s.Port)},
		words...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("redis-cli (apt-get install -y redis-tools): %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// postgres returns a database of its own on the shared server.
func postgres(t *testing.T) (*testserver.Server, *tool) {
	shared := servers.Postgres(t)
	s := &testserver.Server{Host: shared.Host, Port: shared.Port, User: shared.User,
		Database: fmt.Sprint("of", databases.Add(1))}
	shared.Psql(t, "CREATE DATABASE "+s.Database)
	return s, newTool(t, "-p", "pg.host="+s.Host, "-p", fmt.Sprint("pg.port=", s.Port), "-p", "pg.user="+s.User, "-p",
		"pg.db="+s.Database)
}

func TestYCSBOnPostgreSQL(t *testing.T) {
	t.Parallel()
	s, b := postgres(t)
	b.workloads("pg", true, "abcdef")
	b.ok("load", "pg", "--workload", "a", "-p", "dropdata=true", "-p", "recordcount=100")
	if n := s.Psql(t, "SELECT count(*), min(length(field0)), max(length(field9)) FROM usertable"); n != "100|100|100" {
		t.Errorf("the table holds %s", n)
	}
	out := b.ok("run", "pg", "--workload", "d", "-p", "recordcount=100", "-p", "operationcount=500", "--threads", "4")
	inserted := counts(out)["INSERT"]
	if n := s.Psql(t, "SELECT count(*) FROM usertable"); n != fmt.Sprint(100+inserted) {
		t.Errorf("%s records after %d inserts", n, inserted)
	}
	b.want(b.ok("load", "postgresql", "-p", "recordcount=100", "-p", "batch.size=10", "--table", "batches"),
		"BATCH_INSERT", 10)
	b.want(b.ok("run", "postgresql", "-p", "recordcount=100", "-p", "batch.size=10", "--table", "batches",
		"-p", "operationcount=200", "-p", "updateproportion=0", "-p", "readproportion=1"), "BATCH_READ", 20)
	before := s.Psql(t, "SELECT field3 FROM batches WHERE ycsb_key = 'user6284781860667377211'")
	b.none(b.ok("run", "postgresql", "-p", "recordcount=100", "-p", "batch.size=10", "--table", "batches", "-p",
		"requestdistribution=sequential",
		"-p", "operationcount=100", "-p", "updateproportion=1", "-p", "readproportion=0"))
	if after := s.Psql(t, "SELECT field3 FROM batches WHERE ycsb_key = 'user6284781860667377211'"); after == before ||
		len(after) != 100 {
		t.Errorf("batches: an update of all records turned %s into %s", before, after)
	}
	if n := s.Psql(t, "SELECT count(*) FROM batches"); n != "100" {
		t.Errorf("batches: %s records", n)
	}
}

func TestYCSBFindsCorruptedValues(t *testing.T) {
	t.Parallel()
	s, b := postgres(t)
	mode := []string{"-p", "recordcount=50", "-p", "dataintegrity=true", "-p", "operationcount=200", "-p",
		"readproportion=1", "-p", "updateproportion=0"}
	b.ok(append([]string{"load", "pg"}, mode...)...)
	b.none(b.ok(append([]string{"run", "pg", "-p", "requestdistribution=sequential"}, mode...)...))
	b.none(b.ok(append([]string{"run", "pg", "-p", "readallfields=false"}, mode...)...))
	b.none(b.ok("run", "pg", "--workload", "f", "-p", "recordcount=50", "-p", "dataintegrity=true"))
	s.Psql(t, "UPDATE usertable SET field3 = 'x' || substr(field3, 2) WHERE ycsb_key = 'user6284781860667377211'")
	code, out, err := b.do("", append([]string{"run", "pg", "-p", "requestdistribution=sequential"}, mode...)...)
	if code != 99 || counts(out)["READ_ERROR"] != 4 || counts(out)["READ"] != 196 {
		t.Errorf("exit %d\n%s", code, out)
	}
	if !strings.Contains(err, `unexpected deterministic value, expect "user6284781860667377211:field3:`) ||
		!strings.Contains(err, `but got "xser6284781860667377211`) {
		t.Errorf("the fault isn't told: %s", err)
	}
}

func TestYCSBOnRedis(t *testing.T) {
	t.Parallel()
	s := servers.Redis(t)
	for _, kind := range []string{"hash", "string"} {
		b := newTool(t, "-p", "redis.addr="+s.Addr, "-p", "redis.datatype="+kind)
		b.workloads("redis", false, "abcdf")
		b.ok("load", "redis", "--workload", "a", "-p", "dropdata=true", "-p", "dataintegrity=true", "-p", "recordcount=20")
		run := []string{"run", "redis", "--workload", "c", "-p", "dataintegrity=true", "-p", "recordcount=20", "-p",
			"operationcount=100", "-p", "requestdistribution=sequential"}
		b.none(b.ok(run...))
		b.none(b.ok("run", "redis", "--workload", "f", "-p", "dataintegrity=true", "-p", "recordcount=20"))
		key := "usertable/user6284781860667377211"
		if kind == "hash" {
			redis(t, s, "HSET", key, "field5", "corrupt")
		} else {
			redis(t, s, "SETRANGE", key, "20", "corrupt")
		}
		if code, out, _ := b.do("", run...); code != 99 || counts(out)["READ_ERROR"] != 5 {
			t.Errorf("%s: exit %d\n%s", kind, code, out)
		}
		code, out, err := b.do("", "run", "redis", "--workload", "e")
		if code != 104 || !strings.Contains(err, "scan") {
			t.Errorf("scans: exit %d\n%s%s", code, out, err)
		}
	}
}

func TestYCSBOnRedisCluster(t *testing.T) {
	t.Parallel()
	s := testserver.RedisCluster(t)
	b := newTool(t, "-p", "redis.addr="+s.Nodes[0].Addr+";"+s.Nodes[1].Addr, "-p", "redis.mode=cluster")
	b.want(b.ok("load", "redis", "--workload", "a", "-p", "recordcount=200", "--threads", "4"), "INSERT", 200)
	b.none(b.ok("run", "redis", "--workload", "a", "-p", "recordcount=200", "--threads", "4"))
}

// YCSB runs against an HTTP service that stores what is put.
func TestYCSBOnHTTP(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	kept := map[string][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch r.Method {
		case http.MethodPut:
			body, err := io.ReadAll(r.Body)
			if err != nil || !json.Valid(body) {
				http.Error(w, "no JSON", http.StatusBadRequest)
				return
			}
			kept[r.URL.Path] = body
		case http.MethodGet:
			body, ok := kept[r.URL.Path]
			if !ok {
				http.NotFound(w, r)
				return
			}
			_, _ = w.Write(body)
		}
	}))
	defer server.Close()
	b := newTool(t, "-p", "http.addr="+server.URL, "-p", "recordcount=50", "-p", "fieldcount=2", "-p",
		"dataintegrity=true", "-p", "writeallfields=true")
	b.want(b.ok("load", "http", "--threads", "2"), "INSERT", 50)
	out := b.ok("run", "http", "--workload", "f", "-p", "operationcount=200", "--threads", "2")
	b.none(out)
	if len(kept) != 50 || kept["/usertable/user6284781860667377211"] == nil {
		t.Errorf("%d records are kept", len(kept))
	}
	mu.Lock()
	for path, body := range kept {
		kept[path] = bytes.Replace(body, []byte(":field1:"), []byte(":field9:"), 1)
	}
	mu.Unlock()
	if code, out, _ := b.do("", "run", "http", "--workload", "c", "-p", "operationcount=20"); code != 99 ||
		counts(out)["READ_ERROR"] != 20 {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestYCSBOnSQLite(t *testing.T) {
	t.Parallel()
	b := newTool(t, "-p", "sqlite.db="+filepath.Join(t.TempDir(), "ycsb.db"), "-p", "sqlite.synchronous=off")
	b.workloads("sqlite", true, "abcdef")
	b.want(b.ok("load", "sqlite", "-p", "recordcount=40", "-p", "batch.size=10", "--table", "batches"), "BATCH_INSERT", 4)
	b.want(b.ok("run", "sqlite", "-p", "recordcount=40", "-p", "batch.size=10", "--table", "batches",
		"-p", "operationcount=200", "-p", "updateproportion=1", "-p", "readproportion=0"), "BATCH_UPDATE", 20)
	b.ok("load", "sqlite", "-p", "recordcount=30", "-p", "dataintegrity=true", "-p", "dropdata=true")
	b.none(b.ok("run", "sqlite", "-p", "recordcount=30", "-p", "dataintegrity=true", "-p", "operationcount=100"))
}

func TestYCSBOnEmbeddedStores(t *testing.T) {
	t.Parallel()
	for database, property := range map[string]string{"boltdb": "bolt.path", "badger": "badger.dir",
		"pebble": "pebble.dir"} {
		b := newTool(t, "-p", property+"="+filepath.Join(t.TempDir(), "store"))
		if database == "boltdb" {
			b.given = append(b.given, "-p", "bolt.no_sync=true")
		}
		b.want(b.ok("load", database, "--workload", "a", "--threads", "4", "-p", "recordcount=200"), "INSERT", 200)
		for _, letter := range "abcdef" {
			b.none(b.ok("run", database, "--workload", string(letter), "--threads", "4", "-p", "operationcount=100", "-p",
				"recordcount=200"))
		}
		b.ok("load", database, "-p", "recordcount=30", "-p", "dataintegrity=true", "-p", "dropdata=true")
		b.none(b.ok("run", database, "-p", "recordcount=30", "-p", "dataintegrity=true", "-p", "operationcount=100"))
		b.want(b.ok("load", database, "-p", "recordcount=40", "-p", "batch.size=10", "--table", "batches"), "BATCH_INSERT",
			4)
		b.shellScans(database, true)
	}
}

func TestYCSBOnMariaDB(t *testing.T) {
	t.Parallel()
	s := servers.MariaDB(t)
	b := newTool(t, "-p", "mysql.host="+s.Host, "-p", fmt.Sprint("mysql.port=", s.Port), "-p", "mysql.user="+s.User, "-p",
		"mysql.password="+s.Password, "-p", "mysql.db="+s.Database)
	b.workloads("mysql", true, "abcdef")
	b.ok("load", "mariadb", "-p", "recordcount=30", "-p", "dataintegrity=true", "-p", "dropdata=true")
	b.none(b.ok("run", "tidb", "-p", "recordcount=30", "-p", "dataintegrity=true", "-p", "operationcount=100"))
	b.want(b.ok("load", "mysql", "-p", "recordcount=40", "-p", "batch.size=10", "--table", "batches"), "BATCH_INSERT", 4)
}

func TestYCSBOnFerretDB(t *testing.T) {
	t.Parallel()
	s := ferretDB(t)
	b := newTool(t, "-p", "mongodb.url=mongodb://"+s.Addr+"/ycsb?w=1")
	b.want(b.ok("load", "mongodb", "--workload", "a", "--threads", "4", "-p", "recordcount=200"), "INSERT", 200)
	for _, letter := range "abcdef" {
		b.none(b.ok("run", "mongodb", "--workload", string(letter), "--threads", "4", "-p", "operationcount=100", "-p",
			"recordcount=200", "--table", "usertable"))
		b.ok("load", "mongodb", "--workload", "a", "--threads", "4", "-p", "recordcount=200", "-p", "dropdata=true")
	}
	b.ok("load", "mongodb", "-p", "recordcount=30", "-p", "dataintegrity=true", "-p", "dropdata=true")
	b.none(b.ok("run", "mongodb", "-p", "recordcount=30", "-p", "dataintegrity=true", "-p", "operationcount=100"))
	b.shellScans("mongodb", true)
}

func TestYCSBOnTarantool(t *testing.T) {
	t.Parallel()
	s := tarantool(t)
	b := newTool(t, "-p", "tarantool.addr="+s.Addr, "-p", "tarantool.user="+s.User, "-p",
		"tarantool.password="+s.Password)
	b.workloads("tarantool", true, "abcdef")
	b.ok("load", "tarantool", "-p", "recordcount=30", "-p", "dataintegrity=true", "-p", "dropdata=true")
	out := b.ok("run", "tarantool", "-p", "recordcount=30", "-p", "dataintegrity=true", "-p", "operationcount=100")
	b.none(out)
	if strings.Contains(out, s.Password) || !strings.Contains(out, `"tarantool.password"="***"`) {
		t.Errorf("the password is shown:\n%s", out)
	}
}

// The commands in the article about etcd work exactly as printed.
func TestYCSBArticle(t *testing.T) {
	t.Parallel()
	s := servers.Etcd(t)
	b := newTool(t, "-p", "etcd.endpoints="+s.Addr)
	b.want(b.ok("load", "etcd", "-P", "workloads/etcd_offcial_workload"), "INSERT", 1)
	out := b.ok("run", "etcd", "-P", "workloads/etcd_offcial_workload", "-p", "operationcount=2000")
	for _, line := range []string{
		"Using request distribution 'sequential' a keyrange of [0 0]\n***************** properties *****************\n",
		"\"command\"=\"run\"\n", "\";\"=\"target=2000\"\n", "\"requestdistribution\"=\"sequential\"\n",
		"\"recordcount\"=\"1\"\n",
		"**********************************************\nRun finished, takes ",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("no %q in\n%s", line, out)
		}
	}
	tail := regexp.MustCompile(
		`READ   - Takes\(s\): [0-9.]+, Count: 2000, OPS: [0-9.]+, Avg\(us\): \d+, Min\(us\): \d+, Max\(us\): \d+, 50th\(us\): \d+, 90th\(us\): \d+, 95th\(us\): \d+, 99th\(us\): \d+, 99.9th\(us\): \d+, 99.99th\(us\): \d+\nTOTAL  - Takes\(s\): .*\n$`)
	if !tail.MatchString(out) {
		t.Errorf("the result isn't the article's:\n%s", out)
	}
	for _, scene := range []string{"write-one-key-1", "put-10k-1", "range-10k-1"} {
		b.ok("load", "etcd", "--workload", "etcd/"+scene, "-p", "recordcount=100", "-p", "dropdata=true")
		b.none(b.ok("run", "etcd", "--workload", "etcd/"+scene, "-p", "operationcount=200", "-p", "recordcount=100"))
	}
	b.shellScans("etcd", true)
}

func TestYCSBAsGoYCSB(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	code := cli.Main("test", []string{"/usr/bin/go-ycsb", "load", "basic", "-p", "recordcount=3", "-p", "verbose=true",
		"-p", "fieldcount=1", "--results", t.TempDir()}, strings.NewReader(""), &stdout, &stderr)
	if code != 0 || strings.Count(stdout.String(), "INSERT usertable user628478") != 3 {
		t.Errorf("exit %d\n%s%s", code, stdout.String(), stderr.String())
	}
}

func TestYCSBShell(t *testing.T) {
	t.Parallel()
	_, b := postgres(t)
	b.ok("load", "pg", "-p", "recordcount=5", "-p", "insertorder=ordered", "-p", "fieldcount=2")
	b.given = append(b.given, "-p", "fieldcount=2")
	code, out, err := b.do(`insert me field0=a field1=b
read me
read me field1
update me field1=c
read me
scan user3 10 field0
table other
table usertable
delete me
read me
read
nonsense
exit
read user0
`, "shell", "pg")
	if code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, err)
	}
	want := []string{
		"Insert me ok\nRead me ok\nfield0=\"a\"\nfield1=\"b\"\nRead me ok\nfield1=\"b\"\nUpdate me ok\nRead me ok\nfield0=\"a\"\nfield1=\"c\"\n",
		"--------------------------------\nRecord 1 user3\nfield0=", "Record 2 user4\nfield0=",
		"\n--------------------------------\nUsing table other\nUsing table usertable\n",
		"Delete me ok\nRead empty for me\nusage: read key", "unknown command \"nonsense\"; help lists the commands\n",
	}
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
	if strings.Contains(out, "user0") {
		t.Error("a command after exit was carried out")
	}
}

// The shell uses the second address of a list if the first one is down.
func TestYCSBShellGoesToWhoAnswers(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	dead := closed.Addr().String()
	r := servers.Redis(t)
	_, pg := postgres(t)
	pg.ok("load", "pg", "-p", "recordcount=3", "-p", "fieldcount=1")
	host := strings.TrimPrefix(pg.given[1], "pg.host=") + ":" + strings.TrimPrefix(pg.given[3], "pg.port=")
	pg.given[1] = "pg.host=" + dead + "," + host
	both := map[string]*tool{"redis": newTool(t, "-p", "redis.addr="+dead+";"+r.Addr, "-p", "redis.db=5"), "pg": pg}
	for database, b := range both {
		b.given = append(b.given, "-p", "fieldcount=1")
		code, out, errs := b.do("insert me field0=a\nread me\ndelete me\n", "shell", database)
		if code != 0 || out != "Insert me ok\nRead me ok\nfield0=\"a\"\nDelete me ok\n" {
			t.Errorf("%s: exit %d\n%s%s", database, code, out, errs)
		}
	}
}

func TestYCSBResumes(t *testing.T) {
	t.Parallel()
	s, b := postgres(t)
	load := []string{"load", "pg", "-p", "recordcount=400", "-p", "fieldcount=1"}
	b.ok(append(load, "-p", "insertcount=150")...)
	file := filepath.Join(b.results, "ycsb-pg-usertable-0.load")
	if _, err := os.Stat(file); err == nil {
		t.Error("a complete load left its checkpoint")
	}
	s.Psql(t, "TRUNCATE usertable")
	// A load that ends after some time stands for one that was interrupted.
	_, out, stderr := b.do("", append(load, "--target", "200", "-p", "maxexecutiontime=1")...)
	done := counts(out)["INSERT"]
	if done < 100 || done > 300 || !strings.Contains(stderr, "resume=true goes on") {
		t.Fatalf("%d records in a second at 200/s\n%s%s", done, out, stderr)
	}
	out = b.ok(append(load, "-p", "resume=true")...)
	b.want(out, "INSERT", 400-done)
	if n := s.Psql(t, "SELECT count(*) FROM usertable"); n != "400" {
		t.Errorf("%s records", n)
	}
	_, _, _ = b.do("", append(load, "--target", "100", "-p", "maxexecutiontime=1")...)
	if code, _, err := b.do("", append(load, "-p", "resume=true", "-p", "seed=5")...); code != 104 ||
		!strings.Contains(err, "other properties") {
		t.Errorf("exit %d: %s", code, err)
	}
}

func TestYCSBWritesFiles(t *testing.T) {
	t.Parallel()
	b := newTool(t, "-p", "recordcount=10", "-p", "operationcount=100", "-p", "basicdb.simulatedelay=1")
	dir := t.TempDir() + "/"
	out := b.ok("run", "basic", "-p", "histogram.percentiles.export=true", "-p",
		"histogram.percentiles.export.filepath="+dir,
		"-p", "hdrhistogram.fileoutput=true", "-p", "hdrhistogram.output.path="+dir, "-p",
		"measurement.output_file="+dir+"result")
	if !strings.HasSuffix(out, "into file: "+dir+"UPDATE-percentiles.txt.\n") {
		t.Errorf("standard output is\n%s", out)
	}
	for name, want := range map[string]string{
		"READ-percentiles.txt": " Value\tPercentile\t", "READ.hlog": "#[Histogram log format version 1.2]",
		"result": "READ   - Takes(s): ",
	} {
		if data, err := os.ReadFile(dir + name); err != nil || !strings.HasPrefix(string(data), want) {
			t.Errorf("%s: %v %.100s", name, err, data)
		}
	}
	b.ok("run", "basic", "-p", "exporter=site.ycsb.measurements.exporter.TextMeasurementsExporter", "-p",
		"exportfile="+dir+"ycsb")
	if data, err := os.ReadFile(dir + "ycsb"); err != nil ||
		!strings.Contains(string(data), "[OVERALL], Throughput(ops/sec), ") {
		t.Errorf("%v %s", err, data)
	}
	raw := b.ok("run", "basic", "-p", "measurementtype=raw", "-p", "warmuptime=0.2")
	_, raw, _ = strings.Cut(raw, "Run finished, takes")
	_, raw, _ = strings.Cut(raw, "\n")
	lines := strings.Split(strings.TrimSpace(raw), "\n")
	if lines[0] != "operation,timestamp_us,latency_us" || strings.Count(raw, "TOTAL,") != 100 || len(lines) != 201 {
		t.Errorf("%d lines, %d of TOTAL", len(lines), strings.Count(raw, "TOTAL,"))
	}
	us, err := strconv.ParseInt(strings.Split(lines[1], ",")[1], 10, 64)
	if at := time.UnixMicro(us); err != nil || at.After(time.Now()) || time.Since(at) > 10*time.Minute {
		t.Errorf("an operation began at %s", at)
	}
}

// A rule for the result decides the exit code, and one that can't be read is refused.
func TestYCSBHasThresholds(t *testing.T) {
	t.Parallel()
	run := []string{"run", "basic", "-p", "recordcount=10", "-p", "operationcount=100", "--threshold"}
	for rule, want := range map[string]string{"errors < 1%": "0 98", "p(99) < 1ns": "99 98", "p(99) < soon": "104"} {
		code, out, err := newTool(t).do("", append(run, rule)...)
		if !strings.Contains(want, strconv.Itoa(code)) {
			t.Errorf("%s: exit %d, want %s\n%s%s", rule, code, want, out, err)
		}
	}
}

// After a warm-up with a target rate, operations begin at that rate and not in a burst.
func TestYCSBWarmUpCausesNoBurst(t *testing.T) {
	t.Parallel()
	b := newTool(t)
	out := b.ok("run", "basic", "-p", "recordcount=10", "-p", "operationcount=200", "--target", "200", "-p",
		"warmuptime=1", "-p", "measurementtype=raw", "-p", "threadcount=4")
	var first, last int64
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^TOTAL,(\d+),`).FindAllStringSubmatch(out, -1) {
		at, _ := strconv.ParseInt(m[1], 10, 64)
		if n++; n == 1 {
			first, last = at, at
		}
		first, last = min(first, at), max(last, at)
	}
	if n != 200 || last-first < 900_000 {
		t.Errorf("%d operations began within %d µs; 200 at 200 a second take a second", n, last-first)
	}
}

func TestYCSBTargetIsKeptAndMeasuredFromIntendedStart(t *testing.T) {
	t.Parallel()
	b := newTool(t)
	out := b.ok("run", "basic", "-p", "recordcount=10", "-p", "operationcount=100", "--target", "200", "-p",
		"basicdb.simulatedelay=20",
		"-p", "basicdb.randomizedelay=false", "-p", "measurement.interval=both", "-p", "updateproportion=0", "-p",
		"warmuptime=0.2")
	b.want(out, "READ", 100)
	b.want(out, "Intended-READ", 100)
	// One session serves 50 a second of the 200 offered, so that the queue grows to a second and a half.
	at := regexp.MustCompile(`(?m)^(Intended-READ|READ  ) .*Max\(us\): (\d+)`).FindAllStringSubmatch(out, -1)
	if len(at) != 2 {
		t.Fatal(out)
	}
	intended, _ := strconv.Atoi(at[0][2])
	op, _ := strconv.Atoi(at[1][2])
	if intended < 1_000_000 || op >= intended {
		t.Errorf("from the intended start at most %d µs, from the send %d µs", intended, op)
	}
}

func TestYCSBRetriesFailuresOnly(t *testing.T) {
	t.Parallel()
	s, b := postgres(t)
	out := b.ok("load", "pg", "-p", "recordcount=20", "-p", "core_workload_insertion_retry_limit=3", "-p",
		"core_workload_insertion_retry_interval=0.05")
	b.want(out, "INSERT", 20)
	s.Psql(t, `CREATE SEQUENCE tries; CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN IF nextval('tries') % 3 <> 0 THEN RAISE 'not now'; END IF; RETURN NEW; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON usertable FOR EACH ROW EXECUTE FUNCTION fail()`)
	load := []string{"load", "pg", "-p", "recordcount=40", "-p", "insertstart=20", "-p", "insertcount=20", "-p",
		"core_workload_insertion_retry_interval=0.01"}
	out = b.ok(append(load, "-p", "core_workload_insertion_retry_limit=2")...)
	b.want(out, "INSERT", 20)
	b.none(out)
	if n := s.Psql(t, "SELECT count(*), currval('tries') FROM usertable, nextval('tries') GROUP BY 2"); n != "40|61" {
		t.Errorf("records and tries are %s, want 40|61", n)
	}
	s.Psql(t, "DELETE FROM usertable")
	code, out, err := b.do("", append(load, "-p", "silence=false")...)
	if code != 0 || counts(out)["INSERT_ERROR"] == 0 || !strings.Contains(out, "operation err: server: ") ||
		!strings.Contains(err, "× server P0001: ") {
		t.Errorf("exit %d\n%s%s", code, out, err)
	}
}

func TestYCSBSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "w")
	if err := os.WriteFile(file, []byte("recordcount=10\n; threadcount=9\nreadproportoin=1\npg.hots=x\nredis.db=3\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	b := newTool(t)
	_, _, err := b.do("", "load", "basic", "-P", file, "-p", "threads=3")
	for _, want := range []string{
		file + ":2: ; doesn't begin a comment",
		file + ":3: unknown property readproportoin is ignored; did you mean readproportion?",
		"-p: unknown property threads is ignored; did you mean threadcount?",
	} {
		if !strings.Contains(err, want) {
			t.Errorf("no %q in\n%s", want, err)
		}
	}
	if strings.Contains(err, "redis.db") {
		t.Errorf("a property of another database is complained of:\n%s", err)
	}
	for _, c := range []struct{ args, want string }{
		{"load nosuch", "unknown database"}, {"load postgre", "did you mean postgres?"},
		{"run basic -p recordcount=3", "operationcount"},
		{"load basic", "recordcount"}, {"load basic -p recordcount=x", "-p: property recordcount"},
		{"load basic --workload z", "no workload"},
		{"load basic -P /nonexistent/file", "property file"},
		{"load basic -p recordcount=5 -p insertstart=3 -p insertcount=9", "record count 5 must be bigger"},
		{"load basic -p recordcount=9 -p dataintegrity=true -p fieldlengthdistribution=uniform", "constant"},
		{"load redis -p recordcount=4 -p batch.size=2", "no batches"}, {"load basic -p x", "name=value"},
		{"run basic -p recordcount=9 -p operationcount=1 -p requestdistribution=zipf", "unknown request distribution"},
		{"load basic -p recordcount=9 -p hash=jav", "goycsb, java"},
	} {
		if code, out, err := b.do("", strings.Fields(c.args)...); code != 104 || !strings.Contains(err, c.want) {
			t.Errorf("%s: exit %d, %s%s; want 104 and %q", c.args, code, out, err, c.want)
		}
	}
	if code, _, _ := b.do("", "load", "pg", "-p", "recordcount=1", "-p", "pg.port=1"); code != 108 {
		t.Errorf("nobody there: exit %d, want 108", code)
	}
}

func TestYCSBLists(t *testing.T) {
	t.Parallel()
	b := newTool(t)
	if out := b.ok("databases"); !strings.Contains(out, "pg           postgresql") || !strings.Contains(out, "etcd ") {
		t.Error(out)
	}
	if out := b.ok("databases", "redis"); !strings.Contains(out, "redis.datatype ") {
		t.Error(out)
	}
	if out := b.ok("workloads"); !strings.Contains(out, "java/workloadf") ||
		!strings.Contains(out, "etcd/read-one-key-64") {
		t.Error(out)
	}
	if out := b.ok("workloads", "e"); !strings.Contains(out, "maxscanlength=1\n") {
		t.Error(out)
	}
}
