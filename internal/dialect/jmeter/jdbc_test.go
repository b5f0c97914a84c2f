package jmeter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// TestDatabasesAreJMeters runs plans of JDBC Requests on PostgreSQL and MariaDB, and compares their results, and the
// variables and texts that are in labels, with those of JMeter 5.6.3 and both drivers, which
// go test -run DatabasesAreJMeters -update ./internal/dialect/jmeter makes.
func TestDatabasesAreJMeters(t *testing.T) {
	testserver.SkipQuick(t)
	for _, c := range []struct {
		name, driver string
		server       *testserver.Server
		properties   map[string]string
	}{
		{"postgresql", "org.postgresql.Driver", testserver.Postgres(t), postgresProperties},
		{"mariadb", "org.mariadb.jdbc.Driver", testserver.MariaDB(t), mariaProperties},
	} {
		args := []string{"-Jdriver=" + c.driver, "-Juser=" + c.server.User, "-Jpassword=" + c.server.Password,
			fmt.Sprintf("-Jserver=%s://%s/%s", c.name, c.server.Addr, c.server.Database)}
		for name, value := range c.properties {
			args = append(args, "-J"+name+"="+value)
		}
		for _, plan := range []string{"jdbc", "jdbc-answers", "jdbc-transactions"} {
			t.Run(c.name+"/"+plan, func(t *testing.T) { asJMeter(t, "testdata/"+plan+".jmx", plan+"-"+c.name, args) })
		}
		t.Run(c.name+"/isolated", func(t *testing.T) {
			isolated := append(args, "-Jisolation=TRANSACTION_SERIALIZABLE")
			asJMeter(t, "testdata/jdbc-transactions.jmx", "jdbc-isolated-"+c.name, isolated)
		})
		t.Run(c.name+"/example", func(t *testing.T) {
			asJMeter(t, "../../../examples/jmeter/accounts.jmx", "jdbc-example-"+c.name, args)
		})
	}
}

// What differs between the databases, in the plans of databases.
var (
	postgresProperties = map[string]string{
		"procedure": "create procedure jm_add(a int, b varchar) language sql as 'insert into jm (id, name) values (a, b)'",
		"stamp":     "timestamp", "real": "real", "binary": "bytea", "sleep": "pg_sleep",
		"outs":     "create function jt_out(a int, out b int, inout c int) language sql as 'select a * 2, c + 1'",
		"function": "create function jt_fun(a int) returns int language sql as 'select a * 2'",
		"rows": "create function jt_rows(a int) returns table (id int, name varchar) language sql as " +
			"'select id, name from jt where id <= a order by id'",
		"mode":  "select current_setting('application_name')",
		"level": "show transaction isolation level",
		"init":  "set application_name = 'of jmeter'",
	}
	mariaProperties = map[string]string{
		"procedure": "create procedure jm_add(a int, b varchar(20)) insert into jm (id, name) values (a, b)",
		"stamp":     "datetime(3)", "real": "float", "binary": "varbinary(10)", "sleep": "sleep",
		"outs":     "create procedure jt_out(a int, out b int, inout c int) begin set b = a * 2; set c = c + 1; end",
		"function": "create function jt_fun(a int) returns int deterministic return a * 2",
		"rows":     "create procedure jt_rows(a int) select id, name from jt where id <= a order by id",
		"mode":     "select @@autocommit, @@lock_wait_timeout",
		"level":    "select @@tx_isolation",
		"init":     "set lock_wait_timeout = 77",
	}
)

// asJMeter runs a plan on a database, and compares its results with the golden ones.
func asJMeter(t *testing.T, path, golden string, args []string) {
	log := filepath.Join(t.TempDir(), "out.jtl")
	plan, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-n", "-t", plan, "-l", log}, args...)
	golden = filepath.Join("testdata", golden+".golden")
	if *update {
		cmd := exec.Command("java", append(testserver.JMeter(t, t.TempDir()), args...)...)
		cmd.Dir = filepath.Dir(log)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "end of run") {
			t.Fatalf("JMeter: %v\n%s", err, out)
		}
		text := strings.Join(databaseSamples(t, log), "\n") + "\n"
		if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	stdout, stderr, err := run(t, args...)
	if err != nil || !strings.Contains(stdout, "end of run") {
		t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	differ(t, strings.Join(databaseSamples(t, log), "\n")+"\n", string(want))
}

// database returns a test plan with a JDBC Request "q" and elements after it. more has properties of the connection,
// fields those of the request.
func database(url, more, fields, after string) string {
	text := around(`<JDBCDataSource testname="d" enabled="true"><stringProp name="dataSource">p</stringProp>` +
		`<stringProp name="dbUrl">` + url + `</stringProp><stringProp name="username">u</stringProp>` + more +
		`</JDBCDataSource><hashTree/>` + "\n" + `<JDBCSampler testname="q" enabled="true">` +
		`<stringProp name="dataSource">p</stringProp>` + fields + `</JDBCSampler><hashTree/>` + "\n" + after)
	before, rest, _ := strings.Cut(text, "<HTTPSamplerProxy")
	_, rest, _ = strings.Cut(rest, "<hashTree/>\n")
	return before + rest
}

// What of a database's test plan can't be carried out is said before anything is sent.
func TestFaultsOfDatabases(t *testing.T) {
	const pg, my = "jdbc:postgresql://127.0.0.1/d", "jdbc:mariadb://127.0.0.1/d"
	query := func(kind, text, more string) string {
		return `<stringProp name="queryType">` + kind + `</stringProp><stringProp name="query">` + text + `</stringProp>` + more
	}
	plain := query("Select Statement", "select 1", "")
	out := `<stringProp name="queryArguments">1</stringProp><stringProp name="queryArgumentsTypes">OUT INTEGER</stringProp>`
	for _, c := range []struct{ name, url, more, fields, after, want string }{
		{"another database", "jdbc:oracle:thin:@h", "", plain, "", `JDBC for "oracle" isn't available`},
		{"no pool", pg, "", `<stringProp name="dataSource">z</stringProp>`, "", `the pool's name "z" in its scope`},
		{"isolation", pg, `<stringProp name="transactionIsolation">TRANSACTION_NONE</stringProp>`, plain, "",
			`JDBCDataSource "d": the transaction isolation TRANSACTION_NONE isn't one of databases`},
		{"another kind", pg, "", query("Batch", "select 1", ""), "", `the query type "Batch" isn't available`},
		{"values", pg, "", query("Prepared Select Statement", "select ?, '?'", ""), "",
			"the statement has 1 parameters and 0 values"},
		{"parameters out", pg, "", query("Callable Statement", "call f(?)", out), "",
			"written as {call NAME(?, ?)} here"},
		{"parameters out of an update", my, "", query("Prepared Update Statement", "delete from t where id = ?", out), "",
			"only a callable statement has parameters that the database sets"},
		{"result of a function", my, "", query("Callable Statement", "{? = call f(1)}",
			`<stringProp name="queryArguments">1</stringProp>`), "", "the first type of a call with a result"},
		{"another escape", my, "", query("Callable Statement", "{fn f(1)}", ""), "", "isn't a call"},
		{"two pools", pg, "", plain, `<JDBCSampler testname="r"><stringProp name="dataSource">other</stringProp>` +
			`<stringProp name="query">select 1</stringProp><stringProp name="queryType"></stringProp></JDBCSampler><hashTree/>` +
			`<JDBCDataSource testname="e" enabled="true"><stringProp name="dataSource">other</stringProp>` +
			`<stringProp name="dbUrl">` + pg + `</stringProp></JDBCDataSource><hashTree/>`,
			`its pool JDBCDataSource "e" isn't the same`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, faults, _ := compiled(database(c.url, c.more, c.fields, c.after), nil)
			if len(faults) == 0 || !strings.Contains(faults[0].Error(), c.want) ||
				!strings.HasPrefix(faults[0].Error(), "x.jmx:") {
				t.Errorf("%v, want %q", faults, c.want)
			}
		})
	}
}

// Calls are sent as the databases' drivers send them.
func TestCalls(t *testing.T) {
	for _, c := range []struct {
		postgres          bool
		call, types, want string
	}{
		{true, "{call f(?, 1)}", "INTEGER", "select * from f($1, 1); 1"},
		{true, "{ call f(?, ?, ?) };", "INTEGER,OUT INTEGER,INOUT INTEGER", "select * from f($1, $2); 3"},
		{true, "{call f(?, ?)}", "OUT INTEGER,INTEGER", "select * from f( $1); 2"},
		{true, "{call f(?,?)}", "OUT INTEGER,OUT INTEGER", "select * from f(); 2"},
		{true, "{? = call f(?)}", "OUT INTEGER,INTEGER", "select * from f($1); 2"},
		{true, "call f(?, '?')", "INTEGER", "call f($1, '?'); 1"},
		{false, "{call f(?, ?, ?)}", "INTEGER,OUT INTEGER,INOUT INTEGER", "call f($1, @brunt_out2, @brunt_out3); 3"},
		{false, "{?= CALL f(?)}", "OUT INTEGER,INTEGER", "select f($1); 2"},
		{false, "call f(?)", "VARCHAR", "call f($1); 1"},
	} {
		r := &jdbcRequest{source: &dataSource{postgres: c.postgres}, kind: callableKind}
		for kind := range strings.SplitSeq(c.types, ",") {
			r.params = append(r.params, jdbcParameter{in: !strings.HasPrefix(kind, "OUT "),
				out: strings.Contains(kind, "OUT ")})
		}
		text, marks, err := r.statement(c.call)
		if got := fmt.Sprintf("%s; %d", text, marks); err != nil || got != c.want {
			t.Errorf("PostgreSQL %v, %s (%s): got %s %v, want %s", c.postgres, c.call, c.types, got, err, c.want)
		}
	}
}

// Numbers and times of answers are shown as Java shows them.
func TestValuesOfDatabases(t *testing.T) {
	for _, c := range []struct {
		kind       protocol.ColumnType
		text, want string
	}{
		{protocol.DoubleColumn, "0", "0.0"}, {protocol.DoubleColumn, "-0.001", "-0.001"},
		{protocol.DoubleColumn, "0.00099", "9.9E-4"}, {protocol.DoubleColumn, "9999999", "9999999.0"},
		{protocol.DoubleColumn, "10000000", "1.0E7"}, {protocol.DoubleColumn, "NaN", "NaN"},
		{protocol.RealColumn, "16777217", "1.6777216E7"}, {protocol.DecimalColumn, "-0.00000012", "-1.2E-7"},
		{protocol.DecimalColumn, "0.000001", "0.000001"}, {protocol.DecimalColumn, "NaN", "NaN"},
		{protocol.TimestampColumn, "infinity", "infinity"},
		{protocol.TimestampColumn, "2026-01-02 03:04:05.120", "2026-01-02 03:04:05.12"},
		{protocol.TimeColumn, "03:04:05.6", "03:04:05"}, {protocol.YearColumn, "2026", "2026-01-01"},
	} {
		v := gen.Value{Kind: gen.String, B: []byte(c.text)}
		if got := javaText(&v, c.kind); got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

// Values with quotation marks may have commas.
func TestValuesOfStatements(t *testing.T) {
	for line, want := range map[string]string{
		`a, b,`: `["a" " b" ""]`, `"a,b","c""d"`: `["a,b" "c\"d"]`,
		`"a" b`: "error", `a"b`: "error", `"a`: "error", `""`: `[""]`,
	} {
		values, err := csvValues(line)
		if got := fmt.Sprintf("%q", values); (err != nil) != (want == "error") || err == nil && got != want {
			t.Errorf("%s: got %s %v, want %s", line, got, err, want)
		}
	}
}

// databaseSamples returns what samples of databases have in common: those of drivers' own have other sizes.
func databaseSamples(t *testing.T, path string) (lines []string) {
	t.Helper()
	rows := csvRows(t, path)
	counts := map[string]int{}
	for _, row := range rows {
		thread := row[5][:max(strings.LastIndexByte(row[5], '-'), 0)]
		if row[7] == "false" && row[8] == "" { // the message and the body have the driver's words
			row[4], row[9] = "", ""
		}
		counts[strings.Join([]string{row[2], row[3], row[4], thread, row[6], row[7], row[8], row[9], row[13]}, " | ")]++
	}
	return counted(counts)
}

// Question marks in texts, names and comments are no parameters.
func TestParametersOfStatements(t *testing.T) {
	for query, want := range map[string]string{
		"select ? -- what?\n, ?":                    "select $1 -- what?\n, $2; 2",
		"select '?' || ?, \"a?\" from `t?` /* ? */": "select '?' || $1, \"a?\" from `t?` /* ? */; 1",
		"select 'it''s ?'":                          "select 'it''s ?'; 0",
	} {
		if text, n := numbered(query); fmt.Sprintf("%s; %d", text, n) != want {
			t.Errorf("%s: got %s; %d, want %s", query, text, n, want)
		}
	}
}
