package picodata

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"brunt/internal/inspect"
	"brunt/internal/inspect/inspecttest"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/test/testserver"
)

var servers testserver.Pool

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// executing is what the stand-in does with statements about the table "sold": it executes them as Tarantool's own.
// Indexes are dropped by their name alone, and plans are lines of one column.
const executing = `
function real_sql(q)
	local explained = q:match('^EXPLAIN%s+%(RAW[^)]*%)(.*)')
	local ddl = q:match('^(%u+%s+INDEX%s+.-)%s+OPTION%s+%(TIMEOUT = %d+%)%s*$')
	if q:find('INDEX%s+"') and not ddl then error('no option in ' .. q) end
	if ddl then q = ddl:gsub('%s+USING TREE', '') end
	if q:find('^DROP%s+INDEX') then q = q .. ' ON "sold"' end
	local r, err = box.execute(explained and 'EXPLAIN QUERY PLAN ' .. explained or q)
	if err then error(tostring(err)) end
	if not explained then return r end
	local rows = {{'Query (STORAGE):'}}
	for _, row in ipairs(r.rows) do table.insert(rows, {row[4]}) end
	return {metadata = {{name = 'QUERY PLAN', type = 'string'}}, rows = rows}
end
`

// stand makes a Tarantool answer as Picodata does, as far as the inspector asks: its version, and plans of statements
// in the form of the documentation.
const stand = `
box.schema.func.create('.proc_version_info', {body = [[function() return {picodata_version = '25.3.1'} end]]})
box.execute([[CREATE TABLE IF NOT EXISTS "sold" ("id" INT PRIMARY KEY, "book" INT)]])
if box.space.sold:len() == 0 then for i = 1, 5000 do box.space.sold:insert{i, i % 700} end end
box.execute([[CREATE VIEW IF NOT EXISTS "_pico_table" AS SELECT "id", "name" FROM "_vspace"]])
box.execute([[CREATE VIEW IF NOT EXISTS "_pico_index" AS SELECT "id" AS "table_id", "name" FROM "_vindex"]])
box.schema.func.create('.proc_sql_dispatch', {body = [[function(q)
	if q:find('sold') and not q:find('BUCKETS') then return real_sql(q) end
	local plans = {
		fan = {'Query (STORAGE):', 'SELECT ... FROM "book"', 'WHOLE STORAGE', 'SEARCH TABLE book USING PRIMARY KEY (id=?) (~1 row)'},
		scan = {'CONST-FILTERED STORAGE 1/2', 'SCAN TABLE book (~1048576 rows)', 'USE TEMP B-TREE FOR ORDER BY'},
		small = {'CONST-FILTERED STORAGE 1/2', 'SCAN TABLE tiny (~1048576 rows)'},
		good = {'CONST-FILTERED STORAGE 1/2', 'SEARCH TABLE book USING PRIMARY KEY (id=?) (~1 row)'},
	}
	if not q:find('EXPLAIN%s+%(RAW, BUCKETS%)') then error('not a plan: ' .. q) end
	if q:find('sold') then return real_sql(q) end
	local name = q:match('/%* (%a+) %*/') or q:match("'(%a+)'")
	if not plans[name] then error('sbroad: table with name "' .. q .. '" not found') end
	local rows = {}
	for i, line in ipairs(plans[name]) do rows[i] = {line} end
	return {metadata = {{name = 'QUERY PLAN', type = 'string'}}, rows = rows}
end]]})
`

func standIn(t testing.TB) *testserver.Server {
	t.Helper()
	return servers.Get(t, "stand-in", func(t testserver.TB) *testserver.Server {
		return testserver.Tarantool(t, testserver.Lua(executing+stand))
	})
}

// metrics serves metrics as an instance does, one text after the other; the last again and again.
func metrics(t testing.TB, texts ...string) (address string) {
	t.Helper()
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprint(w, texts[min(n, len(texts)-1)])
		n++
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// text returns metrics in the types that Picodata gives them.
func text(queries, misses, casErrors, loopMs, term int) string {
	return fmt.Sprintf(`# TYPE pico_sql_query_duration histogram
pico_sql_query_duration_bucket{le="+Inf"} %[1]d
pico_sql_query_duration_sum 5
pico_sql_query_duration_count %[1]d
# TYPE pico_router_cache_misses_total counter
pico_router_cache_misses_total %[2]d
# TYPE pico_cas_errors_total counter
pico_cas_errors_total %[3]d
# TYPE tnt_ev_loop_time gauge
tnt_ev_loop_time{alias="i1"} %[4]d
# TYPE pico_raft_term gauge
pico_raft_term %[5]d
# TYPE pico_table_len gauge
pico_table_len{table="book"} 20000
pico_table_len{table="tiny"} 12
`, queries, misses, casErrors, loopMs, term)
}

func urlOf(s *testserver.Server, metrics ...string) string {
	return fmt.Sprintf("picodata://%s:%s@%s?sql=call&metrics=%s", s.User, s.Password, s.Addr, strings.Join(metrics, ","))
}

func statement(name, text string) inspect.Operation {
	return inspect.Operation{Name: name, Done: 10, Statements: []string{text},
		Requests: []*protocol.Request{{Verb: protocol.SQL, Text: text}}}
}

func inspected(t testing.TB, url string, operations ...inspect.Operation) *record.Inspection {
	t.Helper()
	i, err := New(url)
	if err != nil {
		t.Fatal(err)
	}
	return inspecttest.Run(t, i, func(i *Inspector) { inspecttest.Sample(t, i, 2*metricsEvery) }, operations...)
}

func TestFindings(t *testing.T) {
	s := standIn(t)
	calm := text(100, 0, 0, 1, 2)
	for _, row := range []struct {
		name    string
		metrics []string
		sql     string
		want    []string
		says    string
	}{
		{"healthy", []string{calm, text(500, 3, 0, 1, 2)}, "SELECT 'good'", nil, ""},
		{"small table", []string{calm, text(500, 3, 0, 1, 2)}, "SELECT 'small'", nil, ""},
		{"fan-out", []string{calm}, "SELECT 'fan'", []string{FindFanOut}, "op: SELECT 'fan'"},
		{"scan", []string{calm}, "SELECT 'scan'", []string{FindScan, FindSort}, "20,000 rows"},
		{"plan cache", []string{calm, text(500, 200, 0, 1, 2)}, "SELECT 'good'", []string{FindPlanCache}, "50"},
		{"loop", []string{text(100, 0, 0, 40, 2)}, "SELECT 'good'", []string{FindBlockingSQL}, "sql_preemption"},
		{"global writes", []string{calm, text(500, 0, 7, 1, 2)}, "SELECT 'good'", []string{FindGlobalWrites}, "7 writes"},
		{"election", []string{calm, text(500, 0, 0, 1, 4)}, "SELECT 'good'", []string{FindRaft}, "2 elections"},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := inspected(t, urlOf(s, metrics(t, row.metrics...)), statement("op", row.sql))
			var got []string
			said := ""
			for _, f := range in.Findings {
				got = append(got, f.ID)
				said += fmt.Sprint(f.Subject, " ", f.Evidence, " ", f.Advice, "\n")
			}
			if fmt.Sprint(got) != fmt.Sprint(row.want) || !strings.Contains(said, row.says) {
				t.Errorf("%v, want %v: %s", got, row.want, said)
			}
			if in.Product != "Picodata" || in.Version != "25.3.1" || len(in.Missing) > 0 || in.Plans[0].Failed != "" {
				t.Errorf("%+v", in)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	s := standIn(t)
	for _, row := range []struct{ name, metrics, want string }{
		{"no metrics", "", "the addresses of the instances' metrics aren't given"},
		{"not there", "127.0.0.1:1", "127.0.0.1:1"},
		{"not metrics", metrics(t, "<html>"), "isn't in Prometheus' text format"},
		{"other folder", metrics(t, "x 1") + "/other", "status is 404"},
	} {
		t.Run(row.name, func(t *testing.T) {
			in := inspected(t, urlOf(s, row.metrics), statement("op", "SELECT 'fan'"), statement("bad", "SELECT 'unknown'"))
			if len(in.Missing) != 1 || !strings.Contains(in.Missing[0].Text.String(), row.want) {
				t.Errorf("%+v", in.Missing)
			}
			if len(in.Findings) != 1 || in.Plans[1].Failed == "" {
				t.Errorf("%+v %+v", in.Findings, in.Plans)
			}
		})
	}
	// Another product, and nobody.
	plain := servers.Get(t, "tarantool", func(t testserver.TB) *testserver.Server { return testserver.Tarantool(t) })
	for address, want := range map[string]string{plain.Addr: "write tarantool=", "127.0.0.1:1": "connect"} {
		i, err := New(fmt.Sprintf("picodata://%s:%s@%s", plain.User, plain.Password, address))
		if err != nil {
			t.Fatal(err)
		}
		if err = i.Begin(context.Background()); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), plain.Password) {
			t.Errorf("%v, want %s", err, want)
		}
		i.Close()
	}
}

func FuzzMetrics(f *testing.F) {
	f.Add(text(1, 2, 3, 4, 5))
	f.Add("# TYPE a histogram\na_bucket{le=\"1\"} x")
	f.Fuzz(func(t *testing.T, text string) {
		families, err := parse(strings.NewReader(text))
		if err != nil {
			return
		}
		out := &inspect.Reading{Objects: map[inspect.Object]map[string]float64{}}
		for name, family := range families {
			add(map[string]float64{}, map[string]float64{}, name, family)
			addTables(out, family)
		}
	})
}
