package acceptance_test

import (
	"strings"
	"testing"

	"brunt/internal/testserver"
)

// shim makes a Tarantool look like a Picodata: it says that it is one, keeps a catalogue of
// tables, takes SQL by CALL alone, notes the DDL that it was sent, and runs it without the tail
// that only Picodata understands.
const shim = `
box.schema.space.create('_pico_table', {if_not_exists = true, format = {{'name', 'string'}}})
box.space._pico_table:create_index('pk', {if_not_exists = true, parts = {1, 'string'}})
box.schema.space.create('sent', {if_not_exists = true, format = {{'n', 'unsigned'}, {'text', 'string'}}})
box.space.sent:create_index('pk', {if_not_exists = true, sequence = true})
box.schema.func.create('.proc_version_info', {if_not_exists = true, body = [[function() return {picodata_version = '25.3.1', rpc_api_version = '1.0.0'} end]]})
box.schema.func.create('.proc_sql_dispatch', {if_not_exists = true, body = [[function(q, p)
  if q:match('^CREATE') or q:match('^DROP') then box.space.sent:insert{box.NULL, q} end
  local table = q:match('^CREATE TABLE.-"([^"]+)"')
  q = q:gsub(' OPTION %(TIMEOUT = [%d.]+%)', ''):gsub(' DISTRIBUTED BY %b()', ''):gsub(' DISTRIBUTED GLOBALLY', ''):gsub(' IN TIER "[^"]*"', ''):gsub(' USING memtx', '')
  q = q:gsub(' USING TREE', ''):gsub(' WITH %b()', ''):gsub(' DATETIME', ' INTEGER')
  q = q:gsub('^(DROP INDEX.-"[^"]+")$', '%1 ON "cars"')
  q = q:gsub('^(INSERT)(.-) ON CONFLICT DO REPLACE$', '%1 OR REPLACE%2')
  q = q:gsub('(%$%d+)::(%w+)', 'CAST(%1 AS %2)')
  local r, err = box.execute(q, p)
  if r == nil then error(err) end
  if table ~= nil then box.space._pico_table:replace{table} end
  local dropped = q:match('^DROP TABLE.-"([^"]+)"')
  if dropped ~= nil then box.space._pico_table:delete(dropped) end
  return r
end]]})
`

const picodataPlan = `
config_name: PICO
tables_schema:
  - name: cars
    row_count: 500
    columns:
      - {name: id, type: Integer, range: [1, 500], unique: true}
      - {name: brand, type: String, range: [1, 15], distribution: Zipf}
      - {name: stock, type: Boolean}
    primary_keys: [id]
    engine: memtx
    distribution_keys: [id]
    tier: default
    timeout: 3.0
queries:
  - sql: select * from "cars" where "id" = $1::integer
    params: [{type: Reference, table: cars, column: id}]
    count: 200
`

// A server that says that it is Picodata gets Picodata's DDL, rows by INSERT, and its statements by
// its own procedure.
func TestPicodata(t *testing.T) {
	server := testserver.Tarantool(t, testserver.Lua(shim))
	s := of("iproto", server)
	plan := file(t, "pico.yml", picodataPlan)
	flags := s.with("-c", plan, "-o", "sql=call")
	up := brunt(t, append([]string{"schema", "up", "--checkpoint", t.TempDir() + "/load"}, flags...)...)
	if up.code != 0 || !strings.Contains(up.out, "500 rows") {
		t.Fatalf("schema up: exit %d\n%s%s", up.code, up.out, up.err)
	}
	if n := s.rows(t, `SELECT count(*) FROM "cars"`); n[0] != "500" {
		t.Errorf("the table holds %s rows", n[0])
	}
	ddl := strings.Join(s.rows(t, `SELECT "text" FROM "sent" ORDER BY "n"`), "\n")
	for _, want := range []string{`USING memtx`, `DISTRIBUTED BY ("id")`, `IN TIER "default"`, `OPTION (TIMEOUT = 3.0)`} {
		if !strings.Contains(ddl, want) {
			t.Errorf("the DDL lacks %q:\n%s", want, ddl)
		}
	}
	for _, tier := range []string{"codec", "library"} {
		o := load(t, append([]string{"queue", "--quiet", "--vu", "2", "--tier", tier}, flags...)...)
		if !judged(o.code) || o.run == nil || o.run.Total.OK != 200 || o.run.Total.Missing != 0 {
			t.Fatalf("%s: exit %d\n%s%s", tier, o.code, o.out, o.err)
		}
		if o.run.Targets[0].Product != "Picodata" || o.run.Targets[0].Version != "25.3.1" {
			t.Errorf("%s: it is called %s %s", tier, o.run.Targets[0].Product, o.run.Targets[0].Version)
		}
	}
	down := brunt(t, append([]string{"schema", "down"}, flags...)...)
	if down.code != 0 || !strings.Contains(down.out, "dropped") {
		t.Errorf("schema down: exit %d\n%s", down.code, down.out)
	}
}
