package acceptance_test

import (
	"strings"
	"testing"
)

const inSchemas = `
config_name: SCHEMAS
tables_schema:
  - name: app.cars
    row_count: 500
    columns:
      - {name: id, type: Unsigned, range: [1, 500], unique: true}
      - {name: n, type: Integer, range: [1, 1000]}
    primary_keys: [id]
  - name: app.registers
    row_count: 1
    columns:
      - {name: id, type: Integer, range: [1, 9000000000000000]}
      - {name: n, type: Integer, range: [1, 9000000000000000]}
    primary_keys: [id]
  - name: '"odd.name"'
    row_count: 10
    columns:
      - {name: id, type: Unsigned, range: [1, 10], unique: true}
      - {name: car, type: Reference, table: app.cars, column: id}
    primary_keys: [id]
indexes:
  - {name: cars_n, table_name: app.cars, columns_names: [n]}
  - {name: odd_car, table_name: '"odd.name"', columns_names: [car]}
queries:
  - {name: look, sql: "select n from app.cars where id = $1", params: [{type: Reference, table: app.cars, column: id}]}
  - {name: odd, sql: 'select car from QUOTED where id = $1', params: [{type: Reference, table: '"odd.name"',
	column: id}]}
  - name: add
    sql: insert into app.cars (id, n) values ($1, 5)
    params: [{type: Unsigned, range: [1001, 9000], unique: true}]
    verify: {read: {sql: select n from app.cars where id = $1}}
registers:
  keys: 2
  write: {sql: "UPSERT"}
  read: {sql: select n from app.registers where id = $1, capture: [n]}
load:
  - constant: {rate: 90, duration: 1s}
`

// The name of a table may begin with its schema, which is created if it is missing. A name with a dot is quoted.
func TestTablesInSchemas(t *testing.T) {
	stands := tableStands(t)
	for _, name := range []string{"PostgreSQL", "MariaDB"} {
		t.Run(name, func(t *testing.T) {
			s, upsert := stands[name], "insert into app.registers (id, n) values ($1, $2) "
			if name == "MariaDB" {
				upsert += "on duplicate key update n = values(n)"
			} else {
				upsert += "on conflict (id) do update set n = excluded.n"
			}
			flags := s.with("-c", file(t, "plan.yml", strings.NewReplacer("QUOTED", s.quote("odd.name"), "UPSERT",
				upsert).Replace(inSchemas)))
			if d := brunt(t, append([]string{"doctor"}, flags...)...); d.code != 0 {
				t.Errorf("doctor: exit %d\n%s%s", d.code, d.out, d.err)
			}
			for round, want := range []string{"created", "complete"} {
				up := brunt(t, append([]string{"schema", "up", "--checkpoint", t.TempDir() + "/load"}, flags...)...)
				if up.code != 0 || !strings.Contains(up.out+up.err, want) {
					t.Fatalf("schema up, round %d: exit %d\n%s%s", round, up.code, up.out, up.err)
				}
			}
			table := s.quote("app") + "." + s.quote("cars")
			if n := s.rows(t, "SELECT COUNT(*) FROM "+table); n[0] != "500" {
				t.Errorf("%s rows", n[0])
			}
			indexes := "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics WHERE table_schema = 'app' AND table_name = 'cars'"
			if name == "PostgreSQL" {
				indexes = "SELECT COUNT(*) FROM pg_indexes WHERE schemaname = 'app' AND tablename = 'cars'"
			}
			if n := s.rows(t, indexes); n[0] != "2" {
				t.Errorf("%s indexes in the schema", n[0])
			}
			if n := s.rows(t, "SELECT COUNT(*) FROM "+s.quote("odd.name")); n[0] != "10" {
				t.Errorf("%s rows of the name with a dot", n[0])
			}
			o := load(t, append([]string{"run", "--quiet"}, flags...)...)
			if o.run.Total.Failed != 0 || o.run.Total.OK != 90 || o.run.Total.Missing != 0 {
				t.Errorf("exit %d, %d succeeded, %d missing, failures %+v\n%s", o.code, o.run.Total.OK, o.run.Total.Missing,
					o.run.Failures, o.err)
			}
			if v := o.run.Verified; v == nil || len(v.Operations) != 1 ||
				v.Operations[0].OK != v.Operations[0].Acknowledged ||
				v.Operations[0].OK == 0 || !v.Reason.IsZero() {
				t.Errorf("what was written is verified as %+v", v)
			}
			if r := o.run.Registers; r == nil || r.Violated > 0 || r.Linearizable == 0 {
				t.Errorf("registers %+v", r)
			}
			if down := brunt(t, append([]string{"schema", "down"}, flags...)...); down.code != 0 {
				t.Errorf("schema down: exit %d\n%s%s", down.code, down.out, down.err)
			}
			left := "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'app' OR table_name = 'odd.name'"
			if n := s.rows(t, left); n[0] != "0" {
				t.Errorf("%s tables are left", n[0])
			}
		})
	}
}
