package acceptance_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"brunt/test/shell"
	"brunt/test/testserver"
)

const growing = `
config_name: GROWING
tables_schema:
  - name: growing
    row_count: 50
    columns:
      - {name: id, type: Integer, range: [1, 50], unique: true}
      - {name: n, type: Integer, range: [1, 9]}
    primary_keys: [id]
queries:
  - name: one
    sql: insert into growing (n, id) values ($1, $2)
    params: [{type: Integer, range: [1, 9]}, {type: Integer, range: [51, 400], distribution: Sequential}]
    weight: 1
  - name: two
    sql: insert into growing (id, n) values ($1, $2)
    params: [{type: Integer, range: [1001, 1400], unique: true}, {type: Integer, range: [1, 9]}]
    weight: 1
load:
  - closed: {sessions: 4, operations: 200}
`

// Plans with sequences of keys can be run repeatedly on the same tables. On Tarantool, prepared statements expire when
// any table changes, so other tests must not change one.
func TestSequences(t *testing.T) {
	t.Parallel()
	stands := tableStands(t)
	stands["Tarantool"] = of("iproto", testserver.Tarantool(t))
	for name, s := range stands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("repeated", func(t *testing.T) { insertsOfRepeatedRuns(t, s) })
			t.Run("uuids", func(t *testing.T) { uuidsOfRepeatedRuns(t, s) })
			t.Run("foreign", func(t *testing.T) { sequenceAfterForeignTable(t, s) })
		})
	}
}

// A plan that inserts rows can be run again, also from its record, on tables with the rows of earlier runs.
func insertsOfRepeatedRuns(t *testing.T, s stand) {
	path := shell.File(t, "plan.yml", growing)
	point := t.TempDir() + "/load"
	if up := brunt(t, s.with("schema", "up", "--quiet", "-c", path, "--checkpoint", point)...); up.code != 0 {
		t.Fatalf("schema up: exit %d\n%s%s", up.code, up.out, up.err)
	}
	defer brunt(t, s.with("schema", "down", "-c", shell.File(t, "down.yml", growing))...)
	greatest := "50"
	for round := 1; round <= 3; round++ {
		o := load(t, s.with("run", "--quiet", path)...)
		if o.run.Total.Failed != 0 || o.run.Total.OK != 200 {
			t.Fatalf("round %d: exit %d, %d succeeded, failures %+v\n%s", round, o.code, o.run.Total.OK, o.run.Failures, o.err)
		}
		if n := s.rows(t, "SELECT COUNT(*) FROM "+s.quote("growing")); n[0] != strconv.Itoa(50+200*round) {
			t.Fatalf("round %d: %s rows", round, n[0])
		}
		if q := o.run.Sequences; len(q) != 1 || q[0].Greatest == nil || strconv.FormatInt(*q[0].Greatest, 10) != greatest ||
			q[0].First <= *q[0].Greatest {
			t.Errorf("round %d: the record says %+v, the greatest was %s", round, q, greatest)
		}
		greatest = s.rows(t, "SELECT MAX("+s.quote("id")+") FROM "+s.quote("growing"))[0]
		path = o.dir + "/plan.yml"
		kept, err := os.ReadFile(path)
		if first := strconv.FormatInt(o.run.Sequences[0].First, 10); err != nil ||
			strings.Count(string(kept), "began with") != 1 || !strings.Contains(string(kept), "began with "+first+":") {
			t.Errorf("round %d: %v\n%s", round, err, kept)
		}
	}
	again := strings.ReplaceAll(strings.ReplaceAll(growing, "distribution: Sequential",
		"distribution: Sequential, start: range"), "[1001, 1400], unique: true", "[1001, 1400], unique: true, start: range")
	if o := load(t, s.with("run", "--quiet", shell.File(t, "again.yml", again))...); o.run.Total.Failed == 0 ||
		len(o.run.Sequences) != 0 {
		t.Errorf("start: range inserted %d new keys and failed %d times", o.run.Total.OK, o.run.Total.Failed)
	}
}

// A sequence may start after the values in a column of a table that isn't part of the plan, also without set-up. If the
// database can't be asked, the plan isn't run.
func sequenceAfterForeignTable(t *testing.T, s stand) {
	if err := s.exec("CREATE TABLE " + s.quote("foreign_log") + " (" + s.quote("id") +
		" INTEGER NOT NULL PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	defer s.exec("DROP TABLE " + s.quote("foreign_log"))
	text := `
queries:
  - sql: 'insert into ` + s.quote("foreign_log") + ` values ($1)'
    params: [{type: Unsigned, range: [10, 99], unique: true, start: after, table: foreign_log, column: id}]
    count: 50
`
	for round, held := range []string{"", "59"} {
		o := load(t, s.with("run", "--quiet", "--no-setup", shell.File(t, "plan.yml", text))...)
		if o.run.Total.Failed != 0 || o.run.Total.OK != 50 {
			t.Fatalf("round %d: exit %d, %d succeeded, failures %+v\n%s", round, o.code, o.run.Total.OK, o.run.Failures, o.err)
		}
		if q := o.run.Sequences; len(q) != 1 || (q[0].Greatest == nil) != (held == "") || held != "" &&
			strconv.FormatInt(*q[0].Greatest, 10) != held {
			t.Errorf("round %d: %+v, want a greatest of %q", round, q, held)
		}
	}
	if n := s.rows(t, "SELECT COUNT(*) FROM "+s.quote("foreign_log")+" WHERE "+s.quote(
		"id")+" BETWEEN 10 AND 109"); n[0] != "100" {
		t.Errorf("%s rows from 10 to 109", n[0])
	}
	o := brunt(t, s.with("run", "--quiet",
		shell.File(t, "plan.yml", strings.Replace(text, "table: foreign_log", "table: nowhere", 1)))...)
	if o.code != 104 || !strings.Contains(o.err, "key for table nowhere") {
		t.Errorf("a table that isn't there: exit %d\n%s", o.code, o.err)
	}
}

const orders = `
config_name: ORDERS
tables_schema:
  - name: uuid_orders
    row_count: 50
    columns:
      - {name: id, type: UUID, unique: true}
      - {name: n, type: Integer, range: [1, 9]}
    primary_keys: [id]
queries:
  - name: random
    sql: insert into uuid_orders (id, n) values ($1, $2)
    params: [{type: UUID}, {type: Integer, range: [1, 9]}]
    weight: 1
  - name: unique
    sql: insert into uuid_orders (n, id) values ($1, $2)
    params: [{type: Integer, range: [1, 9]}, {type: UUID, unique: true}]
    weight: 1
load:
  - closed: {sessions: 4, operations: 100}
`

// A plan that inserts UUIDs can be run again on tables with the rows of earlier runs. It inserts the same UUIDs if the
// tables are the same.
func uuidsOfRepeatedRuns(t *testing.T, s stand) {
	var first []string
	for attempt := range 2 {
		path := shell.File(t, "orders.yml", orders)
		if up := brunt(t, s.with("schema", "up", "--quiet", "-c", path, "--checkpoint",
			t.TempDir()+"/load")...); up.code != 0 {
			t.Fatalf("schema up: exit %d\n%s%s", up.code, up.out, up.err)
		}
		for round := range 3 {
			o := load(t, s.with("run", "--quiet", path)...)
			if o.run.Total.Failed != 0 || o.run.Total.OK != 100 {
				t.Fatalf("round %d: exit %d, %d succeeded, failures %+v\n%s", round, o.code, o.run.Total.OK, o.run.Failures, o.err)
			}
			if q := o.run.Sequences; len(q) != 1 || q[0].Rows == nil || *q[0].Rows != uint64(100*round) {
				t.Errorf("round %d: the record says %+v", round, q)
			}
			path = o.dir + "/plan.yml"
		}
		rows := s.rows(t, "SELECT "+s.quote("id")+" FROM "+s.quote("uuid_orders")+" ORDER BY "+s.quote("id"))
		if len(rows) != 350 || attempt == 1 && !slices.Equal(rows, first) {
			t.Errorf("attempt %d: %d rows, others than before", attempt, len(rows))
		}
		first = rows
		if attempt == 0 {
			again := strings.ReplaceAll(orders, "type: UUID}", "type: UUID, start: range}")
			again = strings.ReplaceAll(again, "{type: UUID, unique: true}]", "{type: UUID, unique: true, start: range}]")
			if o := load(t, s.with("run", "--quiet", shell.File(t, "again.yml", again))...); o.run.Total.OK != 0 ||
				len(o.run.Sequences) != 0 {
				t.Errorf("start: range inserted %d new keys", o.run.Total.OK)
			}
		}
		if down := brunt(t, s.with("schema", "down", "-c", shell.File(t, "down.yml", orders))...); down.code != 0 {
			t.Fatalf("schema down: exit %d\n%s", down.code, down.err)
		}
	}
}
