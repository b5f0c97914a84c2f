package pgbench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"brunt/test/testserver"
)

// environment makes both programs find the server.
func environment(t *testing.T) *testserver.Server {
	t.Helper()
	s := servers.Postgres(t)
	for name, value := range map[string]string{"PGHOST": s.Host, "PGPORT": fmt.Sprint(s.Port), "PGUSER": s.User,
		"PGDATABASE": s.Database, "PGPASSWORD": s.Password} {
		t.Setenv(name, value)
	}
	return s
}

var (
	fraction = regexp.MustCompile(`-?\d+\.\d+`)
	banner   = regexp.MustCompile(`^pgbench \(.*`)
	blanks   = regexp.MustCompile(` +#`)
)

// masked returns a text without times and rates.
func masked(text string) string {
	text = banner.ReplaceAllString(text, "pgbench (…)")
	text = strings.ReplaceAll(text, "stddev NaN", "stddev #")
	return blanks.ReplaceAllString(fraction.ReplaceAllString(text, "#"), " #")
}

// sorted returns the lines of a text in order: clients are aborted in any order.
func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// loads are command lines whose output has nothing random but times. $D is a folder with scripts.
var loads = []string{
	"-t 5 -Dfoo=bla -c 2 -M simple --builtin=t --connect -n -v -n",
	"-t 4 -c 5 -M extended --builtin=si -C --no-vacuum -s 1",
	"-t 10 -c 7 -j 2 -M prepared -b se",
	"-t 3 -n -r -f $D/conditions.sql -M prepared",
	"-t 3 -n -r -f $D/conditions.sql --max-tries=3 --failures-detailed",
	"-t 1 -n -S@1 -f $D/conditions.sql@2",
	"-t 2 -n -f $D/conditions.sql@0 -S -r -c 2 --random-seed=42",
	"-t 3 -R 1000 -n -S -L 10000 --failures-detailed",
	"-t 3 -R 1000 -n -S -N -L 10000 --max-tries=2 -c 1 --random-seed=1",
	"-t 2 -n -f $D/one.sql -f $D/one.sql -r -M extended --random-seed=3",
	"-t 3 -n -f $D/gset_two.sql -c 2", "-t 3 -n -f $D/zero.sql", "-t 2 -n -f $D/zero.sql --exit-on-abort -f $D/zero.sql",
	"-t 3 -n -f $D/unset.sql", "-t 3 -n -f $D/unset.sql -M prepared", "-t 3 -n -f $D/open.sql",
	"-t 2 -n -f $D/pipeline.sql -M extended -r", "-t 2 -n -f $D/pipeline.sql -M simple", "-t 2 -n -f $D/expression.sql",
	"-t 1 -f $D/one.sql", "-t 1 -n -f $D/aset.sql -M simple", "-t 1 -n -f $D/ddl.sql -M prepared -c 2",
	"-t 2 -n -S no-such-database", "-n -S foo=1", "-n -S postgresql:///?foo=1", "-t 1 -n -f $D/shell.sql", "-t 5 -n -c 5 -M prepared -f $D/types.sql",
	"-t 1 -n -f $D/syntax.sql -M simple", "-t 10 -c 1 -n --exit-on-abort -f $D/counter.sql",
	"-t 5 -n -c 4 -j 2 -M prepared -f $D/serializable.sql", "-t 100 -S --rate=100000 --latency-limit=1000000 -c 2 -n -r",
	"-t 10 -n -S -f $D/one.sql@2 -r -M prepared -j 2", "-t 3 -n -f $D/special.sql -M prepared -s 3",
	"-t 3 -n -f $D/special.sql -M extended -c 2 -D mine=5", "-n -f $D/open.sql", "-t 1 -n -f $D/null.sql",
	"-t 1 -n -f $D/p_set_first.sql -M extended", "-t 1 -n -f $D/p_set_second.sql -M extended",
	"-t 1 -n -f $D/p_reindex_first.sql -M extended", "-t 1 -n -f $D/p_reindex_second.sql -M extended",
	"-t 1 -n -f $D/p_vacuum_first.sql -M extended", "-t 1 -n -f $D/p_vacuum_second.sql -M extended",
	"-t 1 -n -f $D/p_savepoint.sql -M extended", "-t 1 -n -f $D/p_lock_first.sql -M extended",
	"-t 1 -n -f $D/p_lock_second.sql -M extended", "-t 1 -n -f $D/p_open.sql -M extended",
	"-t 2 -n -f $D/p_open.sql -M prepared", "-t 1 -n -f $D/p_empty.sql -M prepared",
	"-t 2 -n -f $D/p_sync.sql -M extended",
	"-t 2 -n -f $D/p_sync_set.sql -M extended", "-t 2 -n -f $D/p_sync_open.sql -M extended",
	"-t 1 -n -f $D/dollars.sql -M extended", "-t 1 -n -f $D/no_shell.sql", "-t 1 -n -f $D/place.sql",
	"-t 1 -n -f $D/place.sql -M extended", "-t 1 -n -f $D/inside.sql", "-t 1 -n -f $D/detail.sql",
	"-t 1 -n -f $D/detail.sql -M prepared", "-t 1 -n -f $D/long.sql", "-t 1 -n -f $D/far.sql", "-t 1 -n -f $D/wide.sql",
	"-t 1 -n -f $D/p_place.sql -M extended", "-t 1 -n -f $D/end.sql", "-t 2 -n -f $D/asleep.sql",
	"-t 1 -n -f $D/comment.sql", "-t 1 -n -f $D/zero.sql --failures-detailed --max-tries=2", "-i -I t",
	"-t 1 -n -f $D/name.sql", "-t 1 -n -f $D/name.sql fallback_application_name=x",
}

// pipeline returns a script of one pipeline.
func pipeline(lines ...string) string {
	return "\\startpipeline\n" + strings.Join(append(lines, "\\endpipeline"), "\n") + "\n"
}

var scripts = map[string]string{
	"name.sql":    "SELECT 1 / (current_setting('application_name') = 'pgbench')::int;\n",
	"comment.sql": "SELECT 1;\n/* nothing */\n",
	"one.sql":     "SELECT 1;\n", "gset_two.sql": "SELECT generate_series(1, 2) AS a \\gset\nSELECT :a;\n",
	"zero.sql": "SELECT 1;\nSELECT 1/0;\n", "unset.sql": "SELECT :nothing;\n", "open.sql": "BEGIN;\nSELECT 1;\n",
	"expression.sql": "\\set x 1 / 0\nSELECT :x;\n", "aset.sql": "SELECT 1 AS a \\; SELECT 2 AS b \\aset\nSELECT :a + :b;\n",
	"pipeline.sql": "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\nSELECT 3;\n",
	"ddl.sql":      "CREATE TEMP TABLE made (i int) ON COMMIT DROP;\nSELECT 1;\n",
	"types.sql":    "CREATE TYPE pg_temp.e AS ENUM ('" + strings.Repeat("l", 40) + "', 'm'); DROP TYPE pg_temp.e;\n",
	"syntax.sql":   "-- not SQL\n  SELECT 1 + ;\n", "copy.sql": "COPY pgbench_branches FROM stdin;\n",
	"place.sql":  "\\set a 1\nSELECT 1,\r\n\t:a,  nothing\n FROM pgbench_tellers;\n",
	"inside.sql": "DO $$ BEGIN\n PERFORM 1;\n EXECUTE 'SELECT  none'; END $$;\n",
	"detail.sql": "CREATE TEMP TABLE u (i int PRIMARY KEY);\nINSERT INTO u VALUES (1), (1);\n",
	"long.sql":   "SELECT 1 AS a_name, nothing, " + strings.Repeat("'a', ", 30) + "1;\n",
	"far.sql":    "SELECT " + strings.Repeat("'a', ", 30) + "nothing, " + strings.Repeat("'a', ", 30) + "1;\n",
	"wide.sql":   "SELECT '日本', 'é', nothing;\n", "end.sql": "SELECT (1\n;\n",
	"asleep.sql":  "SET idle_in_transaction_session_timeout = 50;\nBEGIN;\n\\sleep 1 s\n\\set a 1\nSELECT :a;\nEND;\n",
	"dollars.sql": "\\set a 1\nSELECT $$:a$$;\n", "no_shell.sql": "\\shell no_such_command\nSELECT 1;\n",
	"p_place.sql": pipeline("SELECT 1;", "SELECT  2,  nothing;", "SELECT 3;"),
	"null.sql":    "SELECT NULL AS none, '' AS nothing \\gset\nSELECT ':none', length(':nothing');\n",
	"counter.sql": "SELECT count(*) AS n FROM pgbench_history \\gset\n\\if :n >= 0\n\\set y 1 / 0\n\\endif\n",
	"serializable.sql": "\\startpipeline\nBEGIN ISOLATION LEVEL SERIALIZABLE;\n" + strings.Repeat("SELECT 1;\n", 10) +
		"END;\n\\endpipeline\n",
	"special.sql":          "BEGIN;\n\\set own 1\nSELECT :own::int + :scale::int * :client_id::int;\nCOMMIT;\n",
	"p_set_first.sql":      pipeline("SET LOCAL statement_timeout = '1h';"),
	"p_set_second.sql":     pipeline("SELECT 1;", "SET LOCAL statement_timeout = '1h';"),
	"p_reindex_first.sql":  pipeline("REINDEX TABLE CONCURRENTLY pgbench_tellers;", "SELECT 1;"),
	"p_reindex_second.sql": pipeline("SELECT 1;", "REINDEX TABLE CONCURRENTLY pgbench_tellers;"),
	"p_vacuum_first.sql":   pipeline("VACUUM pgbench_tellers;"),
	"p_vacuum_second.sql":  pipeline("SELECT 1;", "VACUUM pgbench_tellers;"),
	"p_savepoint.sql":      pipeline("SAVEPOINT a;", "SELECT 1;", "ROLLBACK TO SAVEPOINT a;"),
	"p_lock_first.sql":     pipeline("LOCK pgbench_tellers;", "SELECT 1;"),
	"p_lock_second.sql":    pipeline("SELECT 1;", "LOCK pgbench_tellers;"),
	"p_open.sql":           "\\startpipeline\nSELECT 1;\n", "p_empty.sql": pipeline() + pipeline("SELECT 1;", "SELECT 2;"),
	"p_sync.sql":      pipeline("SELECT 1;", "\\syncpipeline", "\\syncpipeline", "SELECT 2;"),
	"p_sync_set.sql":  pipeline("SELECT 1;", "\\syncpipeline", "SET LOCAL statement_timeout = '1h';"),
	"p_sync_open.sql": "\\startpipeline\n\\syncpipeline\n",
	"shell.sql":       "\\setshell n echo 5\n\\shell echo said :n\nSELECT :n;\n",
	"conditions.sql": `\set a 5
\if :a > 3
SELECT 1 AS one, 2 AS two \gset p_
\elif :a > 1
SELECT 2;
\else
SELECT 3;
\endif
\sleep 1 us
SELECT :p_one::int + :p_two::int,
  3;
`,
}

// differences returns the lines that only one of two texts has.
func differences(got, want string) string {
	mine, theirs := strings.Split(got, "\n"), strings.Split(want, "\n")
	var b strings.Builder
	for _, line := range mine {
		if !slices.Contains(theirs, line) {
			b.WriteString(" got  " + line + "\n")
		}
	}
	for _, line := range theirs {
		if !slices.Contains(mine, line) {
			b.WriteString(" want " + line + "\n")
		}
	}
	return b.String()
}

// without drops lines that a version doesn't print for reasons that the page of the dialect names.
func without(text string, drop ...string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return slices.ContainsFunc(drop, func(d string) bool { return strings.Contains(line, d) })
	})
	return strings.Join(lines, "\n")
}

// TestLoads compares exit codes, reports and messages with those of each version, on one server. The lines are partly
// those of PostgreSQL's own suite (001_pgbench_with_server.pl); its scripts are in the language's tests.
func TestLoads(t *testing.T) {
	s := environment(t)
	dir := t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.Psql(t, "DROP TABLE IF EXISTS "+allTables)
	select1 := []string{"-S", "-t", "1"}
	for _, version := range testserver.PgbenchVersions() {
		got, want := ours(version, select1...), original(t, version, select1...)
		want.stderr = without(want.stderr, "LINE ", "   ^") // of a query of the session before the load
		got.out, want.out = masked(got.out), masked(want.out)
		if got != want || got.code != exitError {
			t.Errorf("pgbench %d without tables:\n got %+v\nwant %+v", version, got, want)
		}
	}
	if a := ours(newest, "-i", "-q"); a.code != 0 {
		t.Fatalf("%+v", a)
	}
	for _, version := range testserver.PgbenchVersions() {
		for _, line := range loads {
			if version < 17 && (strings.Contains(line, "--exit-on-abort") || strings.Contains(line, "p_sync")) {
				continue
			}
			args := strings.Fields(strings.ReplaceAll(line, "$D", dir))
			if !strings.Contains(line, "--random-seed") { // chance mustn't choose different scripts
				args = append([]string{"--random-seed=7"}, args...)
			}
			want, got := original(t, version, args...), ours(version, args...)
			if got.code != want.code || masked(got.out) != masked(want.out) {
				t.Errorf("pgbench %d %s: exit codes %d, %d:\n%s", version, line, got.code, want.code,
					differences(masked(got.out), masked(want.out)))
				continue
			}
			drop := []string{"connection to server", "can't connect"} // the library words failures to connect
			theirs, mine := sorted(without(masked(want.stderr), drop...)), sorted(without(masked(got.stderr), drop...))
			if strings.TrimSpace(theirs) != strings.TrimSpace(mine) {
				t.Errorf("pgbench %d %s:\n%s", version, line, differences(mine, theirs))
			}
		}
	}
}

// TestDifferences runs what the page lists as different, so that the list is true.
func TestDifferences(t *testing.T) {
	environment(t)
	dir := t.TempDir()
	page, err := os.ReadFile("../../../docs/pgbench.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ script, mode, theirs, ours, page string }{
		{"syntax.sql", "prepared", `prepared statement "P_0" does not exist`, `0 query 0: ERROR:  syntax error at or near ";"`,
			"a statement that can't be prepared fails once"},
		{"copy.sql", "simple", "COPY is not supported in pgbench, aborting", "COPY", "`COPY` in a script"},
	} {
		file := filepath.Join(dir, c.script)
		if err := os.WriteFile(file, []byte(scripts[c.script]), 0o644); err != nil {
			t.Fatal(err)
		}
		line := []string{"-n", "-t", "1", "-f", file, "-M", c.mode}
		if a := original(t, newest, line...); !strings.Contains(a.stderr, c.theirs) {
			t.Errorf("%s: pgbench says %q, want %q", c.script, a.stderr, c.theirs)
		}
		if a := ours(newest, line...); !strings.Contains(a.stderr, c.ours) || strings.Contains(a.stderr, c.theirs) {
			t.Errorf("%s: brunt says %q, want %q", c.script, a.stderr, c.ours)
		}
		if !strings.Contains(string(page), c.page) {
			t.Errorf("the page doesn't say %q", c.page)
		}
	}
}

// tables describes pgbench's tables: their rows, keys, settings and partitions.
const tables = `select c.relname, c.relkind, c.relpersistence, coalesce(c.reloptions::text, ''), c.relispartition,
	coalesce(pg_get_expr(c.relpartbound, c.oid), ''), (select coalesce(string_agg(a.attname || ' ' || format_type(a.atttypid,
	a.atttypmod) || ' ' || a.attnotnull, ',' order by a.attnum), '') from pg_attribute a where a.attrelid = c.oid and a.attnum > 0),
	(select coalesce(string_agg(conname || pg_get_constraintdef(k.oid), ',' order by conname), '') from pg_constraint k
	where k.conrelid = c.oid) from pg_class c where c.relname like 'pgbench%' order by 1`

const rows = `select md5(string_agg(a::text, ',' order by aid)), count(*), min(length(filler)) from pgbench_accounts a
	union all select md5(string_agg(a::text, ',' order by tid)), count(*), null from pgbench_tellers a
	union all select md5(string_agg(a::text, ',' order by bid)), count(*), null from pgbench_branches a
	union all select 'history', count(*), null from pgbench_history
	union all (select tableoid::regclass::text, count(*), null from pgbench_accounts group by 1 order by 1)`

// initializations are command lines with -i.
var initializations = []string{"-i -s 1", "-i -s 2 -I dtg", "-i -q -s 1 -F 70 --foreign-keys --unlogged-tables",
	"-i --init-steps=dtpvg --scale=1 --unlogged-tables --fillfactor=98 --foreign-keys --quiet --partitions=2 " +
		"--partition-method=hash",
	"-i --init-steps=dtpvGvv --no-vacuum --foreign-keys --unlogged-tables --partitions=3",
	"-i -s 1 --partitions=7 --partition-method=hash -I dtg", "-i -s 2 -q -I g --partitions=2", "-i -s 1 -I dtpfg --partitions=3"}

// TestInitialization compares the tables, their rows and the messages with those of each version.
func TestInitialization(t *testing.T) {
	s := environment(t)
	for _, version := range testserver.PgbenchVersions() {
		for i, line := range initializations {
			if i > 0 && version != newest && (i == 1 || version != oldest) {
				continue
			}
			args := strings.Fields(line)
			want := original(t, version, args...)
			shape, content := s.Psql(t, tables), s.Psql(t, rows)
			got := ours(version, args...)
			if got.code != 0 || got.out != want.out || masked(got.stderr) != masked(want.stderr) {
				t.Errorf("pgbench %d %s:\n got %+v\nwant %+v", version, line, got, want)
			}
			if now := s.Psql(t, tables); now != shape {
				t.Errorf("pgbench %d %s: the tables are\n%s\nwant\n%s", version, line, now, shape)
			}
			if now := s.Psql(t, rows); now != content {
				t.Errorf("pgbench %d %s: the rows are\n%s\nwant\n%s", version, line, now, content)
			}
		}
	}
}

// TestPartitionsAreFrozen checks that the rows of partitions need no vacuum: that all pages are visible to everybody.
func TestPartitionsAreFrozen(t *testing.T) {
	s := environment(t)
	for _, line := range []string{"--partitions=3", "--partitions=3 --partition-method=hash"} {
		if a := ours(newest, append(strings.Fields(line), "-i", "-q", "-s", "2", "-I", "dtg")...); a.code != 0 {
			t.Fatalf("%s: %+v", line, a)
		}
		s.Psql(t, "analyze pgbench_accounts, pgbench_tellers")
		const pages = `select relname, relpages > 0, relpages - relallvisible
			from pg_class where relkind = 'r' and relname ~ 'pgbench_(accounts|tellers)' order by 1`
		want := "pgbench_accounts_1|t|0\npgbench_accounts_2|t|0\npgbench_accounts_3|t|0\npgbench_tellers|t|0"
		if got := s.Psql(t, pages); got != want {
			t.Errorf("%s: pages that not everybody sees:\n%s\nwant\n%s", line, got, want)
		}
	}
}

// logLines returns the lines of the logs with a prefix, by the rest of the files' names, without what differs between
// runs: times, and the order and the sums of what several clients do.
func logLines(t *testing.T, prefix string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(prefix + ".*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no log %s: %v", prefix, err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			for i := range fields {
				if i > 1 && fields[i][0] >= '0' && fields[i][0] <= '9' {
					fields[i] = "#"
				}
			}
			lines = append(lines, strings.Join(fields, " "))
		}
		slices.Sort(lines)
		_, thread, _ := strings.Cut(strings.TrimPrefix(file, prefix+"."), ".")
		all[thread] = strings.Join(lines, "\n")
	}
	return all
}

// logged runs a command line with a log by both programs, one after the other, and returns the prefixes of their logs.
func logged(t *testing.T, version int, args ...string) (theirs, mine string) {
	t.Helper()
	dir := t.TempDir()
	theirs, mine = filepath.Join(dir, "theirs"), filepath.Join(dir, "mine")
	if a := original(t, version, append(args, "-l", "--log-prefix="+theirs)...); a.code != 0 {
		t.Errorf("%+v", a)
	}
	if a := ours(version, append(args, "-l", "--log-prefix="+mine)...); a.code != 0 {
		t.Errorf("%+v", a)
	}
	return theirs, mine
}

func TestLogs(t *testing.T) {
	environment(t)
	if a := ours(newest, "-i", "-q"); a.code != 0 {
		t.Fatalf("%+v", a)
	}
	for i, line := range []string{"-n -S -t 3 -c 3 -j 2", "-n -S -t 3 -c 1 -R 2000 -L 10000 --max-tries=2",
		"-n -N -t 2 -c 2 -M prepared --failures-detailed"} {
		theirs, mine := logged(t, newest, strings.Fields(line)...)
		want, got := logLines(t, theirs), logLines(t, mine)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("line %d: %s:\n got %q\nwant %q", i, line, got, want)
		}
	}
}

// TestDebug compares the lines of --debug. How often pgbench says that it receives depends on when bytes arrive.
func TestDebug(t *testing.T) {
	s := environment(t)
	s.Psql(t, "create sequence tries")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"all.sql": "\\set a 1 + 2\n\\if :a > 4\nSELECT 0;\n\\elif :a > 2\nSELECT 1 AS one \\gset p_\n\\else\nSELECT 2;\n\\endif\n" +
			"\\sleep 1ms\n\\SHELL true :a\n\\setshell b echo 5\n\\if 0\n\\else\nSELECT :a,\n  :p_one;\n\\endif\n",
		"fails.sql": "SELECT nextval('tries') AS n \\gset\nBEGIN;\nDO $$ BEGIN IF currval('tries') % 2 = 1 THEN " +
			"RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END IF; END $$;\nEND;\n",
		"two.sql":  "SELECT 1;\nSELECT 2;\n",
		"pipe.sql": pipeline("SELECT 1;", "\\set a 5", "SELECT :a;") + "SELECT 3;\n" + pipeline(),
		"sync.sql": pipeline("\\syncpipeline", "SELECT 1;", "\\syncpipeline", "\\syncpipeline", "SELECT 2;", "SELECT 3;"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	traced := func(a answer) string {
		return strings.Join(slices.Compact(strings.Split(masked(a.stderr), "\n")), "\n")
	}
	for _, version := range testserver.PgbenchVersions() {
		for _, line := range []string{"-f $D/all.sql -t 2", "-f $D/all.sql -t 2 -M extended",
			"-f $D/all.sql -t 2 -M prepared",
			"-f $D/two.sql@0 -f $D/all.sql -t 1 -R 1000 -M prepared", "-f $D/two.sql -C -t 2 -M prepared",
			"-f $D/fails.sql -t 2 --max-tries=3 -M prepared", "-f $D/fails.sql -t 1 --max-tries=2",
			"-f $D/pipe.sql -t 2 -M prepared", "-f $D/pipe.sql -t 1 -M extended", "-f $D/sync.sql -t 1 -M extended"} {
			if version < 17 && strings.Contains(line, "sync.sql") {
				continue
			}
			s.Psql(t, "alter sequence tries restart")
			args := strings.Fields("--debug -n " + strings.ReplaceAll(line, "$D", dir))
			want := original(t, version, args...)
			s.Psql(t, "alter sequence tries restart")
			got := ours(version, args...)
			if got.code != want.code || traced(got) != traced(want) {
				t.Errorf("pgbench %d %s:\n%s\nwant\n%s", version, line, traced(got), traced(want))
			}
		}
	}
}

// TestSkippedInLogs compares when a client notices that transactions are late: when its own has ended. So the lines of
// those that it skips follow at once, however long it was busy.
func TestSkippedInLogs(t *testing.T) {
	environment(t)
	file := filepath.Join(t.TempDir(), "busy.sql")
	if err := os.WriteFile(file, []byte("\\sleep 400 ms\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	theirs, mine := logged(t, newest, "-n", "-T", "2", "-R", "200", "-L", "30", "-f", file)
	for _, prefix := range []string{theirs, mine} {
		files, _ := filepath.Glob(prefix + ".*")
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		var micros int64
		var rows [][]int64 // when the transactions of a row were skipped, in µs
		before := ""
		for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			fields := strings.Fields(line)
			if len(fields) != 7 || fields[1] != fmt.Sprint(i+1) {
				t.Fatalf("%s, line %d: %q", prefix, i, line)
			}
			fmt.Sscan(fields[4], &micros)
			at := micros * 1e6
			fmt.Sscan(fields[5], &micros)
			if fields[2] == "skipped" && before != "skipped" {
				rows = append(rows, nil)
			}
			if fields[2] == "skipped" {
				rows[len(rows)-1] = append(rows[len(rows)-1], at+micros)
			}
			before = fields[2]
		}
		// A machine that stands still may stretch a row, but not all of them.
		shortest := int64(math.MaxInt64)
		for _, row := range rows {
			if len(row) >= 20 {
				shortest = min(shortest, row[len(row)-1]-row[0])
			}
		}
		if len(rows) < 2 || shortest > 200_000 {
			t.Errorf("%s: %d rows of skipped transactions, the quickest in %d µs", prefix, len(rows), shortest)
		}
	}
}

// TestSampledLogs compares the form of the lines of samples, of which there are about as many as were asked for: of
// 2000 with a probability of 0.4, 6 standard deviations around 800.
func TestSampledLogs(t *testing.T) {
	environment(t)
	script := filepath.Join(t.TempDir(), "one.sql")
	if err := os.WriteFile(script, []byte("\\set one 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, version := range testserver.PgbenchVersions() {
		theirs, mine := logged(t, version, "-n", "-t", "1000", "-c", "2", "-j", "2", "-R", "100000",
			"--sampling-rate=0.4", "--max-tries=3", "-f", script)
		for _, prefix := range []string{theirs, mine} {
			n := 0
			for thread, text := range logLines(t, prefix) {
				for line := range strings.SplitSeq(text, "\n") {
					n++
					if fields := strings.Fields(line); len(fields) != 8 || strings.Join(fields[2:], " ") != "# # # # # #" {
						t.Errorf("pgbench %d, %s, thread %q: the line %q", version, prefix, thread, line)
					}
				}
			}
			if n < 668 || n > 932 {
				t.Errorf("pgbench %d, %s: %d lines of 2000", version, prefix, n)
			}
		}
	}
}

// sums adds up the lines of an aggregated log without the times of their intervals. Columns of times are 1 if they
// aren't 0.
func sums(t *testing.T, prefix string) (sums [14]int64) {
	t.Helper()
	files, err := filepath.Glob(prefix + ".*")
	if err != nil || len(files) != 1 {
		t.Fatalf("logs %v: %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var next int64
	for line := range strings.Lines(string(text)) {
		var at int64
		var v [14]int64
		n, err := fmt.Sscanf(line, "%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", &at, &v[0], &v[1], &v[2], &v[3], &v[4],
			&v[5], &v[6], &v[7], &v[8], &v[9], &v[10], &v[11], &v[12], &v[13])
		if err != nil || n != 15 || next != 0 && at != next {
			t.Errorf("the line %q: %v; want the second %d", line, err, next)
		}
		next = at + 1
		for i := range v {
			if i >= 1 && i <= 8 {
				sums[i] = min(sums[i]+v[i], 1)
			} else {
				sums[i] += v[i]
			}
		}
	}
	return sums
}

// TestAggregatedLogs compares the sums of --aggregate-interval. Their last interval isn't written, so the transactions
// that count end a second before the last one does. A machine that stands still may let more of them end; the loads are
// repeated then.
func TestAggregatedLogs(t *testing.T) {
	environment(t)
	file := filepath.Join(t.TempDir(), "script.sql")
	text := "\\set n :n + 1\nSELECT 1;\n\\if :n = 6\n\\sleep 1100 ms\n\\endif\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string][14]int64{
		"-t 6 -D n=0": {5, 1, 1, 1, 1},
		"-t 6 -D n=0 -R 100000 --max-tries=2 --failures-detailed": {5, 1, 1, 1, 1, 1, 1, 1, 1},
	} {
		for _, version := range testserver.PgbenchVersions() {
			pgs, got := want, want
			for try := 0; try == 0 || try < 5 && (got != want || pgs != want); try++ {
				theirs, mine := logged(t, version, append(strings.Fields(args), "-n", "--aggregate-interval=1", "-f", file)...)
				pgs, got = sums(t, theirs), sums(t, mine)
			}
			if got != want || pgs != want {
				t.Errorf("pgbench %d %s:\n got %v\npgbench %v\nwant %v", version, args, got, pgs, want)
			}
		}
	}
}
