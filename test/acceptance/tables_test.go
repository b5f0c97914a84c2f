package acceptance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"
)

// tableStands returns servers whose databases only these tests use.
func tableStands(t *testing.T) map[string]stand {
	return map[string]stand{
		"PostgreSQL": of("pg", servers.Get(t, "postgres of tables",
			func(tb testserver.TB) *testserver.Server { return testserver.Postgres(tb) })),
		"Tarantool": of("iproto", servers.Get(t, "tarantool of tables",
			func(tb testserver.TB) *testserver.Server { return testserver.Tarantool(tb) })),
		"MariaDB": of("mysql", servers.Get(t, "mariadb of tables",
			func(tb testserver.TB) *testserver.Server { return testserver.MariaDB(tb) })),
		"SQLite": sqlite(t),
	}
}

func onAllServers(t *testing.T, test func(t *testing.T, s stand)) {
	t.Parallel()
	for name, s := range tableStands(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func (s stand) quote(name string) string {
	if s.proto == "mysql" {
		return "`" + name + "`"
	}
	return `"` + name + `"`
}

// keyed returns a plan whose keys depend on the seed, so that rows of another seed aren't found.
func keyed(table string, rows int) string {
	return fmt.Sprintf(`
config_name: KEYED
tables_schema:
  - name: %[1]s
    row_count: %[2]d
    columns:
      - {name: id, type: UUID, unique: true}
      - {name: n, type: Integer, range: [1, 1000]}
      - {name: brand, type: String, range: [1, 15]}
    primary_keys: [id]
indexes:
  - {name: %[1]s_n, table_name: %[1]s, columns_names: [n]}
queries:
  - {name: look, sql: "select n from %[1]s where id = $1", count: 300, params: [{type: Reference, table: %[1]s, column: id}]}
`, table, rows)
}

func warned(run *record.Run, id string) string {
	for _, w := range run.Warnings {
		if w.ID == id {
			return w.Text.String() + " ↳ " + w.Remedy.String()
		}
	}
	return ""
}

// A run whose tables were filled with another seed says so before its load, and afterwards explains why its lookups
// found nothing.
func TestTablesOfAnotherSeed(t *testing.T) {
	onAllServers(t, func(t *testing.T, s stand) {
		plan := shell.File(t, "plan.yml", keyed("seeds", 500))
		flags := s.with("-c", plan)
		point := t.TempDir() + "/load"
		if up := brunt(t, append([]string{"schema", "up", "--quiet", "--seed", "7", "--check", "full", "--checkpoint",
			point}, flags...)...); up.code != 0 || strings.Contains(up.err, "brunt_tables") {
			t.Fatalf("schema up: exit %d\n%s%s", up.code, up.out, up.err)
		}
		same := load(t, append([]string{"queue", "--quiet", "--seed", "7"}, flags...)...)
		if u := same.run.Tables; len(u) != 1 || !u[0].Differs.IsZero() || u[0].Origin != "brunt" || u[0].Rows != 500 ||
			u[0].Seed == nil || *u[0].Seed != 7 {
			t.Errorf("tables of the same seed: %+v", u)
		}
		for _, id := range []string{"table-differs", "table-rows", "reference-missing"} {
			if w := warned(same.run, id); w != "" {
				t.Errorf("the same seed: %s", w)
			}
		}
		const why = "table seeds was filled with seed 7, this plan asks with seed 42"
		for _, more := range [][]string{nil, {"--no-setup"}} {
			other := load(t, append(append([]string{"queue", "--seed", "42"}, flags...), more...)...)
			if w := warned(other.run, "table-differs"); !strings.Contains(w, why) || !strings.Contains(w, "schema down") {
				t.Errorf("%v: no warning of the seed: %q", more, w)
			}
			if u := other.run.Tables; len(u) != 1 || u[0].Differs.String() != why {
				t.Errorf("%v: %+v", more, u)
			}
			w := warned(other.run, "reference-missing")
			if other.run.Operations[0].Missing == 0 {
				t.Logf("%s doesn't count rows that are missing", s.proto)
			} else if !strings.Contains(w, why) || !strings.Contains(w, "look: ") {
				t.Errorf("%v: the cause isn't said: %q", more, w)
			}
		}
		up := brunt(t, append([]string{"schema", "up", "--quiet", "--seed", "42", "--checkpoint", point}, flags...)...)
		if up.code != 0 || !strings.Contains(up.out, "complete") || !strings.Contains(up.err, why) {
			t.Errorf("schema up with another seed: exit %d\n%s%s", up.code, up.out, up.err)
		}
		if down := brunt(t, append([]string{"schema", "down"}, flags...)...); down.code != 0 ||
			!strings.Contains(down.out, "dropped") {
			t.Errorf("schema down: exit %d\n%s", down.code, down.out)
		}
	})
}

// A proof of an existing table finds a single row that differs from the generated one.
func TestFullProofOfAnExistingTable(t *testing.T) {
	onAllServers(t, func(t *testing.T, s stand) {
		flags := s.with("-c", shell.File(t, "plan.yml", keyed("proved", 7000)), "--quiet", "--check", "full", "--checkpoint",
			t.TempDir()+"/load")
		up := append([]string{"schema", "up"}, flags...)
		for _, action := range []string{"created", "complete"} {
			if o := brunt(t, up...); o.code != 0 || !strings.Contains(o.out, action+", 7000 rows") ||
				!strings.Contains(o.out, "checked by full") {
				t.Fatalf("%s: exit %d\n%s%s", action, o.code, o.out, o.err)
			}
		}
		row := s.rows(t, "SELECT "+s.quote("id")+" FROM "+s.quote("proved")+" LIMIT 1")
		if err := s.exec("UPDATE " + s.quote("proved") + " SET " + s.quote("n") + " = 5000 WHERE " + s.quote("id") + " = '" +
			row[0] + "'"); err != nil {
			t.Fatal(err)
		}
		o := brunt(t, up...)
		if o.code == 0 || !strings.Contains(o.err, "not as generated") {
			t.Errorf("a changed row: exit %d\n%s%s", o.code, o.out, o.err)
		}
		brunt(t, s.with("schema", "down", "-c", shell.File(t, "plan.yml", keyed("proved", 7000)))...)
	})
}

// Filled tables are analyzed, so that the first statements of a load are planned with statistics.
func TestFilledTablesAreAnalyzed(t *testing.T) {
	onAllServers(t, func(t *testing.T, s stand) {
		flags := append(s.with("-c", shell.File(t, "plan.yml", keyed("looked_at", 2000))), "--quiet")
		known := map[string]string{ // a number that grows when a table is analyzed
			"pg":     "SELECT count(*) FROM pg_stats WHERE tablename = 'looked_at' AND n_distinct <> 0",
			"mysql":  "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Com_analyze'",
			"sqlite": "SELECT count(*) FROM sqlite_stat1 WHERE tbl = 'looked_at' AND stat LIKE '2000 %'",
		}[s.proto]
		before := "0"
		if s.proto == "mysql" {
			before = s.rows(t, known)[0]
		}
		up := brunt(t, append([]string{"schema", "up", "--checkpoint", t.TempDir() + "/load"}, flags...)...)
		if up.code != 0 || strings.Contains(up.out, ", analyzed") != (known != "") {
			t.Fatalf("schema up: exit %d\n%s%s", up.code, up.out, up.err)
		}
		if known != "" && s.rows(t, known)[0] == before {
			t.Errorf("%s: the server knows nothing of it", s.proto)
		}
		brunt(t, append([]string{"schema", "down"}, flags...)...)
	})
}

// Tables that brunt didn't create are neither filled nor dropped unless that is forced.
func TestTablesOfSomebodyElse(t *testing.T) {
	onAllServers(t, func(t *testing.T, s stand) {
		plan := shell.File(t, "plan.yml", keyed("theirs", 100))
		flags := s.with("-c", plan)
		point := t.TempDir() + "/load"
		id := "UUID"
		if s.proto != "pg" {
			id = "VARCHAR(36)"
		}
		create := fmt.Sprintf("CREATE TABLE %s (%s %s NOT NULL PRIMARY KEY, %s INTEGER, %s VARCHAR(15))", s.quote("theirs"),
			s.quote("id"), id, s.quote("n"), s.quote("brand"))
		if err := s.exec(create); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{"schema", "up", "--checkpoint", point}, {"schema", "down"}, {"queue"}} {
			o := brunt(t, append(command, flags...)...)
			if o.code != 104 || !strings.Contains(o.err, "theirs") || !strings.Contains(o.err, "--force") {
				t.Errorf("%v: exit %d, want 104\n%s", command, o.code, o.err)
			}
		}
		if n := s.rows(t, "SELECT COUNT(*) FROM "+s.quote("theirs")); n[0] != "0" {
			t.Errorf("it was filled: %s rows", n[0])
		}
		up := brunt(t, append([]string{"schema", "up", "--force", "--checkpoint", point}, flags...)...)
		if up.code != 0 || !strings.Contains(up.out, "filled, 100 rows") {
			t.Errorf("schema up --force: exit %d\n%s%s", up.code, up.out, up.err)
		}
		if o := load(t, append([]string{"queue", "--quiet"}, flags...)...); !judged(o.code) || o.run.Total.Missing != 0 {
			t.Errorf("a run on what was filled by force: exit %d\n%s", o.code, o.err)
		}
		if o := brunt(t, append([]string{"schema", "down"}, flags...)...); o.code != 104 ||
			!strings.Contains(o.err, "filled it, but didn't create it") {
			t.Errorf("schema down of what was filled by force: exit %d\n%s", o.code, o.err)
		}
		if o := brunt(t, append([]string{"schema", "down", "--force"}, flags...)...); o.code != 0 ||
			!strings.Contains(o.out, "dropped") {
			t.Errorf("schema down --force: exit %d\n%s%s", o.code, o.out, o.err)
		}
	})
}

// A run drops exactly what it created, and leaves no marker tables behind.
func TestRunLeavesNoTrace(t *testing.T) {
	onAllServers(t, func(t *testing.T, s stand) {
		flags := s.with("-c", shell.File(t, "plan.yml", keyed("passing", 100)))
		o := load(t, append([]string{"queue", "--quiet"}, flags...)...)
		if !judged(o.code) || o.run.Total.OK != 300 || len(o.run.Tables) != 1 || o.run.Tables[0].Origin != "run" {
			t.Fatalf("exit %d\n%s", o.code, o.err)
		}
		for _, w := range o.run.Warnings {
			if strings.HasPrefix(w.ID, "table") {
				t.Errorf("%s: %s", w.ID, w.Text)
			}
		}
		if down := brunt(t, append([]string{"schema", "down"}, flags...)...); down.code != 0 ||
			!strings.Contains(down.out, "absent") {
			t.Errorf("it left its table: exit %d\n%s%s", down.code, down.out, down.err)
		}
	})
}

// A killed load leaves its table marked as unfinished. Runs refuse it, messages to people say so, and the load can be
// continued.
func TestKilledLoadLeavesItsTableUnfinished(t *testing.T) {
	onAllServers(t, func(t *testing.T, s stand) {
		rows := 200_000
		if s.proto == "sqlite" {
			rows = 40_000 // which take it as long under the race detector
		}
		plan := shell.File(t, "plan.yml", keyed("halves", rows))
		flags := s.with("-c", plan)
		folder := t.TempDir()
		point := filepath.Join(folder, "load")
		up := append([]string{"schema", "up", "--quiet", "--workers", "1", "--checkpoint", point}, flags...)
		c := spawn(t, folder, up...)
		shell.Until(t, "a chunk is in", func() bool {
			b, _ := os.ReadFile(point)
			return strings.Contains(string(b), `"done":true`)
		})
		c.cmd.Process.Signal(syscall.SIGKILL)
		<-c.done
		state := func() []string {
			return s.rows(t, "SELECT "+s.quote("state")+", "+s.quote("origin")+" FROM "+s.quote(
				"brunt_tables")+" WHERE "+s.quote("name")+" = 'halves'")
		}
		if got := state(); !slices.Equal(got, []string{"unfinished | created"}) {
			t.Errorf("after the kill: %v", got)
		}
		o := load(t, append([]string{"queue", "--quiet"}, flags...)...)
		if w := warned(o.run, "table-differs"); !strings.Contains(w, "unfinished") {
			t.Errorf("a run on it doesn't warn: %q", w)
		}
		lost := brunt(t, append([]string{"schema", "up", "--quiet", "--checkpoint", filepath.Join(folder, "other")},
			flags...)...)
		if lost.code != 104 || !strings.Contains(lost.err, "unfinished") || !strings.Contains(lost.err, "--checkpoint") {
			t.Errorf("without its checkpoint: exit %d\n%s", lost.code, lost.err)
		}
		on := brunt(t, up...)
		if on.code != 0 || !strings.Contains(on.out, fmt.Sprintf("resumed, %d rows (", rows)) {
			t.Errorf("going on: exit %d\n%s%s", on.code, on.out, on.err)
		}
		if got := state(); !slices.Equal(got, []string{"complete | created"}) {
			t.Errorf("at the end: %v", got)
		}
		if down := brunt(t, append([]string{"schema", "down"}, flags...)...); down.code != 0 ||
			!strings.Contains(down.out, "dropped") {
			t.Errorf("schema down: exit %d\n%s%s", down.code, down.out, down.err)
		}
	})
}

// A table of the user's may have the name of brunt's own table of markers. It is left alone, and brunt says so.
func TestUsersTableOfTheMarkersName(t *testing.T) {
	t.Parallel()
	for _, s := range []stand{of("pg", testserver.Postgres(t)), of("mysql", testserver.MariaDB(t)), sqlite(t)} {
		name := s.quote("name")
		for _, text := range []string{
			"CREATE TABLE brunt_tables (" + name + " VARCHAR(40) PRIMARY KEY, price INT)",
			"INSERT INTO brunt_tables VALUES ('users', 1), ('other', 2)",
		} {
			if err := s.exec(text); err != nil {
				t.Fatal(err)
			}
		}
		flags := s.with("-c", shell.File(t, "plan.yml", keyed("users", 50)))
		up := brunt(t, append([]string{"schema", "up", "--checkpoint", t.TempDir() + "/load"}, flags...)...)
		if up.code != 0 || !strings.Contains(up.out+up.err, "brunt_tables") {
			t.Errorf("schema up: exit %d\n%s%s", up.code, up.out, up.err)
		}
		if down := brunt(t, append([]string{"schema", "down", "--force"}, flags...)...); down.code != 0 {
			t.Errorf("schema down: exit %d\n%s%s", down.code, down.out, down.err)
		}
		if n := s.rows(t, "SELECT COUNT(*) FROM brunt_tables"); n[0] != "2" {
			t.Errorf("%s rows are left of the user's 2", n[0])
		}
		own := s.with("-c", shell.File(t, "own.yml", keyed("brunt_tables", 50)))
		if o := brunt(t, append([]string{"schema", "up"}, own...)...); o.code != 104 ||
			!strings.Contains(o.err, "keeps a table of this name itself") {
			t.Errorf("a plan's table of that name: exit %d\n%s%s", o.code, o.out, o.err)
		}
	}
}
