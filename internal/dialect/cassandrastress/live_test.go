package cassandrastress

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/internal/dialect/command"
	"brunt/internal/judge/exitcode"
	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/plan/planfile"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocoltest"
	"brunt/internal/run/loadtest"
	"brunt/internal/server/target"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) {
	script.Register(Language{})
	os.Exit(servers.Run(m))
}

// stress runs a command line on a server and returns what it prints.
func stress(t *testing.T, s *testserver.Server, args ...string) (out string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := newStress(&command.Env{Out: &stdout, Err: &stderr, Args: []string{"brunt"}})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "-node", s.Addr, "--no-record", "--quiet", "--awake", "off"))
	err = cmd.Execute()
	if stderr.Len() > 0 {
		t.Logf("%v: %s", args, stderr.String())
	}
	return stdout.String(), err
}

// rows counts what a statement returns.
func rows(t *testing.T, s *testserver.Server, text string) (n int, first []gen.Value) {
	t.Helper()
	session, err := target.Connect(t.Context(), &plan.Plan{Target: plan.Target{Protocol: "cassandra",
		Addresses: []string{s.Addr}, Database: "system"}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	reply := protocol.Reply{Each: func(_ []string, row []gen.Value) {
		if n++; n == 1 {
			for i := range row {
				first = append(first, row[i].Clone())
			}
		}
	}}
	err = session.Do(protocoltest.Within(t, 30*time.Second), cql(text), nil, &reply)
	if err != nil || reply.Class != protocol.OK {
		t.Fatalf("%s: %v, %+v", text, err, reply.Failure)
	}
	return n, first
}

// expect checks an output's number of operations and errors.
func expect(t *testing.T, out string, err error, count float64) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := ParseResult([]byte(out))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if m := r.Find("count", ""); m == nil || m.Value != count || r.Find("errors", "").Value != 0 {
		t.Errorf("count %+v, errors %+v, want %v\n%s", m, r.Find("errors", ""), count, out)
	}
	if !strings.HasSuffix(out, "\nEND\n") {
		t.Errorf("it doesn't end with END:\n%s", out)
	}
}

func TestOnCassandra(t *testing.T) {
	s := testserver.Cassandra(t)
	t.Run("predefined", func(t *testing.T) { predefined(t, s) })
	t.Run("profile", func(t *testing.T) { profiled(t, s) })
	t.Run("visits", func(t *testing.T) { visited(t, s) })
	t.Run("collections", func(t *testing.T) { collections(t, s) })
	t.Run("modes", func(t *testing.T) { modes(t, s) })
	t.Run("ranges", func(t *testing.T) { tokenRanges(t, s) })
	t.Run("certain", func(t *testing.T) { certain(t, s) })
	t.Run("schema only", func(t *testing.T) { schemaOnly(t, s) })
	t.Run("refused", func(t *testing.T) { refusedProfiles(t, s) })
	t.Run("killed", func(t *testing.T) { killed(t, s) })
	t.Run("converted", func(t *testing.T) { converted(t, s) })
	t.Run("pages of tokens", func(t *testing.T) { pagesOfTokens(t, s) })
}

// pagesOfTokens sends the query of a plan that the documentation gives for token_range_queries.
func pagesOfTokens(t *testing.T, s *testserver.Server) {
	page, err := os.ReadFile("../../../docs/cassandra-stress.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin = "```yaml\ntarget: {protocol: cassandra"
	_, text, _ := strings.Cut(string(page), begin)
	text, _, _ = strings.Cut(begin[len("```yaml\n"):]+text, "```")
	text = strings.NewReplacer("127.0.0.1:9042", s.Addr, "database: stress", "database: keyspace1", "readings",
		"standard1", "sensor = $1", "key = $1", "sensor", "key").Replace(text)
	p, err := planfile.Read("plan.yml", []byte("config_name: tokens\n"+text+"sessions: 2\nload:\n- closed: {operations: 40}\n"))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var out bytes.Buffer
	l := &loadtest.Test{Plan: p, Record: loadtest.Record{None: true}, Quiet: true, Hooks: (&loadtest.Report{}).Hooks}
	err = l.Perform(&out, &out)
	passed := exitcode.Of(err) == exitcode.Pass || exitcode.Of(err) == exitcode.Invalid
	if !passed || strings.Contains(out.String(), "FAILURES") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func predefined(t *testing.T, s *testserver.Server) {
	out, err := stress(t, s, "write", "n=200", "no-warmup", "cl=ONE", "-rate", "threads=4")
	expect(t, out, err, 200)
	if !strings.HasPrefix(out, "Running WRITE with 4 threads for 200 iteration\ntype  ") {
		t.Errorf("it begins with\n%s", out)
	}
	n, first := rows(t, s, `SELECT key, "C0", "C4" FROM keyspace1.standard1`)
	if n != 200 || len(first[0].B) != 10 || strings.Trim(string(first[0].B), "0123456789ABCDEF") != "" ||
		len(first[1].B) != 34 || len(first[2].B) != 34 {
		t.Errorf("%d rows, first %v", n, first)
	}
	// Partitions 1 to 200 are read again, so every one is found.
	out, err = stress(t, s, "read", "n=300", "-pop", "seq=1..200", "-rate", "threads=4", "fixed=500/s")
	expect(t, out, err, 300)
	if !strings.Contains(out, "\nTotal partitions          :        300 [READ: 300]\n") {
		t.Errorf("not every partition is found:\n%s", out)
	}
	out, err = stress(t, s, "mixed", "ratio(write=1,read=3)", "n=100", "-pop", "seq=1..200", "-rate", "threads>=1",
		"threads<=2", "-log", "interval=100ms")
	expect(t, out, err, 100) // of the last number of threads
	if !strings.Contains(out, "Running [READ, WRITE] with 2 threads for 100 iteration") ||
		strings.Count(out, "\nResults:\n") != 2 || !strings.Contains(out, "\n2 threadCount, total, ") {
		t.Errorf("phases:\n%s", out)
	}
	out, err = stress(t, s, "counter_write", "n=50", "no-warmup", "-rate", "threads=2")
	expect(t, out, err, 50)
	out, err = stress(t, s, "counter_write", "n=50", "no-warmup", "-rate", "threads=2")
	expect(t, out, err, 50)
	if n, first := rows(t, s, `SELECT "C0" FROM keyspace1.counter1`); n != 50 || first[0].I != 2 {
		t.Errorf("%d counters, first %v", n, first)
	}
	out, err = stress(t, s, "counter_read", "n=20", "no-warmup", "-rate", "threads=2")
	expect(t, out, err, 20)
}

func profiled(t *testing.T, s *testserver.Server) {
	const file = "../../../examples/cassandra-stress.yaml"
	out, err := stress(t, s, "user", "profile="+file, "ops(insert=1)", "n=100", "no-warmup", "-rate", "threads=4")
	expect(t, out, err, 50) // of two partitions each
	if !strings.Contains(out, "\nTotal partitions          :        100 [insert: 100]\n") {
		t.Errorf("partitions:\n%s", out)
	}
	n, _ := rows(t, s, "SELECT * FROM stress.readings")
	if n < 300 || n > 800 { // 100 partitions of 10.5 rows on average, of which half are written
		t.Errorf("%d rows", n)
	}
	out, err = stress(t, s, "user", "profile="+file, "ops(insert=1,", "latest=2,by_time=1)", "n=200", "-pop", "seq=1..100",
		"-rate", "threads=4")
	if err != nil || !strings.Contains(out, "\nlatest,  ") || !strings.Contains(out, "[by_time, insert, latest]") {
		t.Errorf("%v\n%s", err, out)
	}
	// The same profile without the definition of the table, which is there.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), "table_definition: |")
	_, after, _ := strings.Cut(rest, "\ncolumnspec:")
	short := filepath.Join(t.TempDir(), "short.yaml")
	if err := os.WriteFile(short, []byte(before+"\ncolumnspec:"+after), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = stress(t, s, "user", "profile="+short, "ops(latest=1)", "n=40", "no-warmup", "truncate=never", "-pop",
		"seq=1..100", "-rate", "threads=2")
	expect(t, out, err, 40)
	out, err = stress(t, s, "user", "profile="+file, "ops(insert=1)", "n=2", "truncate=once", "no-warmup", "-rate",
		"threads=1")
	expect(t, out, err, 1)
	if n, _ := rows(t, s, "SELECT * FROM stress.readings"); n == 0 || n > 40 {
		t.Errorf("%d rows after truncate", n)
	}
}

// visited writes the rows of partitions by several inserts, whose rows are those of one insert in the end.
func visited(t *testing.T, s *testserver.Server) {
	const file = "../../../examples/cassandra-stress.yaml"
	count := func(options ...string) int {
		line := append([]string{"user", "profile=" + file, "ops(insert=1)", "no-warmup", "truncate=once"}, options...)
		line = append(line, "partitions=FIXED(1)", "select-ratio=FIXED(1)/1", "-rate", "threads=4")
		out, err := stress(t, s, line...)
		if err != nil || !strings.HasSuffix(out, "\nEND\n") {
			t.Fatalf("%v: %v\n%s", line, err, out)
		}
		n, _ := rows(t, s, "SELECT * FROM stress.readings")
		return n
	}
	whole := count("-pop", "seq=1..60", "no-wrap", "-insert")
	// With one partition at a time, all of them are complete after at most as many inserts as they have rows.
	if n := count("n=1200", "-pop", "seq=1..60", "-insert", "visits=FIXED(20)", "revisit=FIXED(1)"); n != whole {
		t.Errorf("%d rows, want %d", n, whole)
	}
	if n := count("n=60", "-pop", "seq=1..60", "-insert", "visits=FIXED(20)", "revisit=UNIFORM(1..1M)"); n < 60 ||
		n >= whole {
		t.Errorf("%d rows after one insert for each partition, of %d", n, whole)
	}
	// Of quality, level and note, the first by name is written.
	count("n=10", "-insert", "row-population-ratio=FIXED(1)/3")
	if _, first := rows(t, s, "SELECT level, note, quality FROM stress.readings"); first[0].Kind == gen.Null ||
		first[1].Kind != gen.Null || first[2].Kind != gen.Null {
		t.Errorf("a row has %v", first)
	}
}

// modes sends statements as text, and compresses requests.
func modes(t *testing.T, s *testserver.Server) {
	tap := testserver.NewTap(t, s.Addr)
	through := &testserver.Server{Addr: tap.Addr}
	sent := func(mode string) (queries, prepared, compressed int) {
		line := append([]string{"mixed", "n=40", "no-warmup", "-pop", "seq=1..10", "-rate", "threads=1", "-mode"},
			strings.Fields(mode)...)
		out, err := stress(t, through, line...)
		expect(t, out, err, 40)
		for _, client := range tap.Take() {
			const head, query, execute, ownRequests = 9, 7, 10, 40 // the library's own requests aren't longer
			for len(client) >= head {
				n := min(head+int(binary.BigEndian.Uint32(client[5:])), len(client))
				compressed += int(client[1] & 1)
				switch client[4] {
				case query:
					if strings.Contains(string(client[head:n]), "0x") {
						queries++
					}
				case execute:
					if n-head > ownRequests {
						prepared++
					}
				}
				client = client[n:]
			}
		}
		return queries, prepared, compressed
	}
	if q, p, c := sent("native cql3 compression=none"); q > 0 || p < 40 || c > 0 {
		t.Errorf("%d as text, %d prepared, %d compressed", q, p, c)
	}
	if q, p, c := sent("native cql3 unprepared"); q != 40 || p > 0 || c > 0 {
		t.Errorf("unprepared: %d as text, %d prepared, %d compressed", q, p, c)
	}
	for _, name := range []string{"lz4", "SNAPPY"} {
		if q, p, c := sent("native cql3 compression=" + name); q > 0 || p < 40 || c < 40 {
			t.Errorf("%s: %d as text, %d prepared, %d compressed", name, q, p, c)
		}
	}
	folder := t.TempDir()
	log, hdr := filepath.Join(folder, "log"), filepath.Join(folder, "hdr")
	out, err := stress(t, s, "read", "n=10", "no-warmup", "-rate", "threads=1", "-log", "file="+log, "hdrfile="+hdr)
	expect(t, out, err, 10)
	if text, err := os.ReadFile(log); err != nil || string(text) != out {
		t.Errorf("%v: the file has\n%s\nand not\n%s", err, text, out)
	}
	if text, err := os.ReadFile(hdr); err != nil || !strings.HasPrefix(string(text), "#[") {
		t.Errorf("%v: the histograms are\n%s", err, text)
	}
}

// tokenRanges reads all partitions of a table once, page by page, whatever its ranges are split into.
func tokenRanges(t *testing.T, s *testserver.Server) {
	file := filepath.Join(t.TempDir(), "ranges.yaml")
	text := `keyspace: ranged
keyspace_definition: |
  CREATE KEYSPACE IF NOT EXISTS ranged WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}
table: parts
table_definition: CREATE TABLE IF NOT EXISTS parts (a int, b int, c int, v text, PRIMARY KEY ((a, b), c))
columnspec:
  - {name: a, population: SEQ(1..30)}
  - {name: b, population: SEQ(1..30)}
  - {name: c, cluster: FIXED(7), population: SEQ(1..7)}
insert: {partitions: FIXED(1), select: FIXED(1)/1}
token_range_queries:
  everything: {columns: "*", page_size: 10}
  values: {columns: "a, v", page_size: 200}
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := stress(t, s, "user", "profile="+file, "ops(insert=1)", "n=30", "no-warmup", "cl=ONE", "-rate", "threads=2")
	expect(t, out, err, 30)
	n, _ := rows(t, s, "SELECT DISTINCT a, b FROM ranged.parts")
	for _, args := range [][]string{{"ops(everything=1)"}, {"ops(values=1)", "-tokenrange", "split-factor=3"}} {
		line := append([]string{"user", "profile=" + file, args[0], "n=100000", "cl=ONE", "-rate", "threads=3"}, args[1:]...)
		out, err := stress(t, s, line...)
		if err != nil || !strings.Contains(out, fmt.Sprintf("Total partitions          : %10d ", n)) {
			t.Errorf("%v: %v; want %d partitions\n%s", args, err, n, out)
		}
		total := out[strings.Index(out, "\ntotal,"):]
		if fields := strings.Split(total, ","); strings.TrimSpace(fields[1]) == "100000" {
			t.Errorf("%v: the load goes on after the last range\n%s", args, out)
		}
	}
	out, err = stress(t, s, "user", "profile="+file, "ops(everything=1,insert=1)", "n=300", "no-warmup", "cl=ONE", "-rate",
		"threads=2", "-tokenrange", "wrap")
	expect(t, out, err, 300)
	for line, want := range map[string]string{
		"ops(everything=1) n=9 -rate threads=2 fixed=9/s": "add -tokenrange wrap",
		"ops(everything=1) n=9":                           "-rate: ranges of tokens are read once",
		"ops(other=1) n=9":                                "it has insert and everything, values",
	} {
		if _, err := stress(t, s, append([]string{"user", "profile=" + file}, strings.Fields(line)...)...); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", line, err, want)
		}
	}
}

// certain ends loads once their rate is certain, or after as many intervals as there may be.
func certain(t *testing.T, s *testserver.Server) {
	out, err := stress(t, s, "write", "err<0.9", "n>2", "n<1000", "no-warmup", "cl=ONE", "-rate", "threads=2", "-log",
		"interval=50ms")
	if err != nil || !strings.Contains(out, "with 2 threads until stderr of mean < 0.9\n") || !strings.HasSuffix(out,
		"\nEND\n") || strings.Contains(out, "Total operation time      : 00:00:50") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = stress(t, s, "write", "err<0.000001", "n>1", "n<3", "no-warmup", "cl=ONE", "-rate", "threads>=2",
		"threads<=4", "-log", "interval=50ms")
	if err != nil || strings.Count(out, "until stderr of mean < 1e-06\n") != 2 ||
		strings.Count(out, "WARNING: with err<") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
}

// schemaOnly makes the tables without a load, and a page about a run.
func schemaOnly(t *testing.T, s *testserver.Server) {
	out, err := stress(t, s, "write", "n=0", "-schema", "keyspace=only")
	if err != nil || out != "N=0: SCHEMA CREATED, NOTHING ELSE DONE.\n" {
		t.Errorf("%v\n%s", err, out)
	}
	if n, _ := rows(t, s, "SELECT * FROM only.standard1"); n != 0 {
		t.Errorf("%d rows", n)
	}
	var stdout, stderr bytes.Buffer
	dir := t.TempDir()
	cmd := newStress(&command.Env{Out: &stdout, Err: &stderr, Args: []string{"brunt"}})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"write", "n=20", "no-warmup", "cl=ONE", "-rate", "threads=2", "-node", s.Addr, "-schema",
		"keyspace=only", "-graph", "file=" + dir + "/graph.html", "title=x", "--bundle", dir + "/run", "--awake", "off"})
	err = cmd.Execute()
	page, missing := os.ReadFile(dir + "/graph.html")
	if err != nil || missing != nil || !bytes.Contains(page, []byte("</html>")) {
		t.Errorf("%v, %v, page of %d bytes\n%s", err, missing, len(page), stderr.String())
	}
}

func refusedProfiles(t *testing.T, s *testserver.Server) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "p.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for text, want := range map[string]string{
		"keyspace: system\ntable: local\ncolumnspec:\n  - name: nothing\n": "p.yaml:4:11: table local has no column nothing",
		"keyspace: system\ntable: nowhere\n":                               "no table system.nowhere on the server",
		"keyspace: keyspace1\ntable: standard1\ntable_definition: 'CREATE TABLE standard1 (key blob PRIMARY KEY, x int)'\n" +
			"columnspec: [{name: x, size: FIXED(1)}]\n": "p.yaml:4:21: table keyspace1.standard1 on the server has no column x",
		"keyspace: keyspace1\ntable: standard1\nqueries:\n  q: {cql: 'SELECT nothing FROM standard1 WHERE key = ?'}\n":          "p.yaml:4:12: query q: ",
		"keyspace: keyspace1\ntable: standard1\nqueries:\n  q: {cql: 'SELEC key FROM standard1 WHERE key = ?'}\n":               "p.yaml:4:12: query q: ",
		"keyspace: x\nkeyspace_definition: CREATE KEYSPACE x\ntable: t\ntable_definition: CREATE TABLE t (a int PRIMARY KEY)\n": "p.yaml:2:22: CREATE KEYSPACE x: ",
	} {
		ops := "ops(insert=1)"
		if strings.Contains(text, "  q: ") {
			ops = "ops(q=1)"
		}
		_, err := stress(t, s, "user", "profile="+write(text), ops, "n=1", "-rate", "threads=1")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

func collections(t *testing.T, s *testserver.Server) {
	file := filepath.Join(t.TempDir(), "collections.yaml")
	text := `keyspace: collected
keyspace_definition: |
  CREATE KEYSPACE IF NOT EXISTS collected WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}
table: sets
table_definition: |
  CREATE TABLE IF NOT EXISTS sets (id int PRIMARY KEY, numbers list<int>, words set<text>, days frozen<list<date>>,
    nested list<frozen<set<varint>>>)
columnspec:
  - {name: id, population: seq(1..20)}
  - {name: numbers, size: fixed(3)}
  - {name: words, size: fixed(4), population: uniform(1..1000000)}
insert: {partitions: fixed(1)}
`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := stress(t, s, "user", "profile="+file, "ops(insert=1)", "n=20", "no-warmup", "cl=ONE", "-rate", "threads=2")
	expect(t, out, err, 20)
	n, first := rows(t, s, "SELECT numbers, words FROM collected.sets")
	var numbers []int
	var words []string
	err = errors.Join(json.Unmarshal(first[0].B, &numbers), json.Unmarshal(first[1].B, &words))
	if err != nil || n != 20 || len(numbers) != 3 || len(words) != 4 {
		t.Errorf("%d rows, first %q %q, %v", n, first[0].B, first[1].B, err)
	}
}

// converted compares what command lines and their plans send, to the byte.
func converted(t *testing.T, s *testserver.Server) {
	tap := testserver.NewTap(t, s.Addr)
	const file = "../../../examples/cassandra-stress.yaml"
	for _, line := range []string{"write n=100 no-warmup cl=ONE", "mixed ratio(write=1,read=3) n=100 no-warmup -pop seq=1..50",
		"counter_write n=60 no-warmup",
		"user profile=" + file + " ops(insert=1,latest=2,by_time=1) n=100 no-warmup truncate=never",
		"user profile=" + file + " ops(insert=1) n=120 no-warmup -pop seq=1..500 contents=SHUFFLED -insert " +
			"visits=UNIFORM(1..4) revisit=UNIFORM(1..9) row-population-ratio=UNIFORM(1..3)/3",
		"user profile=" + file + " ops(insert=1,latest=1) n=100 no-warmup -pop seq=1..90 read-lookback=UNIFORM(1..9)",
		"write -pop seq=11..90 no-wrap -insert row-population-ratio=FIXED(2)/5"} {
		line += " -rate threads=1 -node " + tap.Addr + " --seed 5 --no-record --quiet --awake off"
		run := func(planOnly bool) (string, error) {
			var stdout, stderr bytes.Buffer
			cmd := newStress(&command.Env{Out: &stdout, Err: &stderr, Args: []string{"brunt"}, PlanOnly: planOnly})
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(strings.Fields(line))
			err := cmd.Execute()
			return stdout.String() + stderr.String(), err
		}
		if out, err := run(false); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		want := frames(tap.Take())
		text, err := run(true)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if !strings.Contains(text, "\n# - cassandra-stress's lines and results: ") ||
			!strings.Contains(text, "\n# - the keyspace and the table, which must exist: ") {
			t.Errorf("%s: what the plan lacks isn't listed:\n%s", line, text)
		}
		p, err := planfile.Read("plan.yml", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, text)
		}
		tap.Take()
		var out bytes.Buffer
		l := &loadtest.Test{Plan: p, Record: loadtest.Record{None: true}, Quiet: true, Hooks: (&loadtest.Report{}).Hooks}
		if err := l.Perform(&out, &out); exitcode.Of(err) != exitcode.Pass && exitcode.Of(err) != exitcode.Invalid {
			t.Fatalf("%s: %v\n%s", line, err, out.String())
		}
		got := frames(tap.Take())
		if len(want) < 50 || !slices.Equal(got, want) {
			i := 0
			for i < min(len(want), len(got))-1 && want[i] == got[i] {
				i++
			}
			t.Errorf("%s: the command sent %d requests and its plan %d; number %d:\n%s\n%s", line, len(want), len(got), i, want[i],
				got[i])
		}
	}
}

// frames returns the frames that the client which has sent most has sent: an opcode and its body, without the time of
// writes.
func frames(clients [][]byte) (most []string) {
	const head, startup, execute, batch, timestamp = 9, 1, 10, 13, 8
	for _, sent := range clients {
		var all []string
		for len(sent) >= head {
			n := min(head+int(binary.BigEndian.Uint32(sent[5:])), len(sent))
			body := sent[head:n]
			if sent[4] == execute || sent[4] == batch {
				body = body[:len(body)-timestamp]
			}
			if sent[4] != startup {
				all = append(all, fmt.Sprintf("%d %q", sent[4], body))
			}
			sent = sent[n:]
		}
		if len(all) > len(most) {
			most = all
		}
	}
	return most
}

// killed ends a write in the middle and starts it again: partitions have their values by their numbers, so that the
// second run completes what the first one has left, and no row is there twice.
func killed(t *testing.T, s *testserver.Server) {
	session, err := target.Connect(t.Context(), &plan.Plan{Target: plan.Target{Protocol: "cassandra",
		Addresses: []string{s.Addr}, Database: "system"}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	err = session.Do(protocoltest.Within(t, 30*time.Second), cql("TRUNCATE keyspace1.standard1"), nil, &protocol.Reply{})
	if err != nil {
		t.Fatal(err)
	}
	// What a run that was killed has written is that of one with fewer operations: they are in the order of their numbers.
	for _, n := range []string{"120", "300"} {
		out, err := stress(t, s, "write", "n="+n, "no-warmup", "cl=ONE", "-rate", "threads=2")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if n, _ := rows(t, s, "SELECT key FROM keyspace1.standard1"); n != 300 {
		t.Errorf("%d rows, want 300", n)
	}
}
