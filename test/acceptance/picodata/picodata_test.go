package picodata_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"brunt/internal/protocol"
	"brunt/internal/record"
)

const cars = `
config_name: BRUNTPICO
tables_schema:
  - name: brunt_cars
    row_count: 20000
    columns:
      - {name: id, type: Integer, range: [1, 20000], unique: true}
      - {name: brand, type: String, range: [1, 15], distribution: Zipf}
      - {name: stock, type: Boolean}
    primary_keys: [id]
    engine: memtx
    distribution_keys: [id]
    tier: default
    timeout: 30.0
queries:
  - name: look
    sql: select * from "brunt_cars" where "id" = $1::integer
    params: [{type: Reference, table: brunt_cars, column: id}]
    count: 400
`

const keyed = `
config_name: BRUNTKEYS
tables_schema:
  - name: brunt_keys
    row_count: 12000
    columns:
      - {name: id, type: String, range: [20, 20], unique: true}
      - {name: n, type: Integer, range: [0, 9]}
    primary_keys: [id]
    timeout: 30.0
queries:
  - name: look
    sql: select "n" from "brunt_keys" where "id" = $1
    params: [{type: Reference, table: brunt_keys, column: id}]
    count: 200
`

// Tables are created, filled and proved row by row, although a statement may not read a whole table. Queries find the
// loaded rows in both tiers, and the version is that of Picodata.
func TestTablesAndQueries(t *testing.T) {
	onClusters(t, func(t *testing.T, c cluster) {
		for _, text := range []string{cars, keyed} {
			plan := file(t, text)
			o := up(t, c, plan, "--check", "full")
			if o.code != 0 || !strings.Contains(o.out, "checked by full") {
				t.Fatalf("schema up: exit %d", o.code)
			}
			if again := brunt(t, c.with("schema", "up", "-c", plan, "--quiet", "--check", "full", "--checkpoint",
				t.TempDir()+"/load")...); again.code != 0 || !strings.Contains(again.out, "complete") ||
				!strings.Contains(again.out, "checked by full") {
				t.Errorf("schema up on what is there: exit %d", again.code)
			}
			for _, tier := range []string{"codec", "library"} {
				o := load(t, c.with("queue", "-c", plan, "--vu", "4", "--tier", tier)...)
				if !judged(o) || o.run.Total.Failed != 0 || o.run.Total.Missing != 0 {
					t.Fatalf("%s: exit %d", tier, o.code)
				}
				if target := o.run.Targets[0]; target.Product != "Picodata" || target.Version == "" ||
					strings.HasPrefix(target.Version, "15.0") {
					t.Errorf("%s: it is called %s %s", tier, target.Product, target.Version)
				}
			}
		}
		o := load(t, c.with("rate", "-c", file(t, cars), "--rate", "50", "--duration", "2s", "--vu", "4")...)
		if !judged(o) || o.run.Total.OK != 100 {
			t.Errorf("rate: exit %d", o.code)
		}
	})
}

// Rows on replicas that lag behind are counted again, both directly after loading and by a later command.
func TestReplicasThatLag(t *testing.T) {
	t.Parallel()
	c := pgStandIn(t)
	plan := file(t, cars)
	c.behind.Store(3)
	if o := up(t, c, plan); o.code != 0 || !strings.Contains(o.out, "20000 rows") {
		t.Fatalf("schema up: exit %d", o.code)
	}
	c.behind.Store(3)
	if o := up(t, c, plan); o.code != 0 || !strings.Contains(o.out, "complete") {
		t.Errorf("schema up on what is there: exit %d", o.code)
	}
	c.behind.Store(3)
	o := load(t, c.with("queue", "-c", plan, "--vu", "4")...)
	if !judged(o) || warned(o.run, "table-rows") != "" || o.run.Tables[0].Rows != 20000 {
		t.Errorf("queue: exit %d", o.code)
	}
}

// The seed of filled tables is known, and tables that brunt didn't create are left alone.
func TestWhatIsKnownOfTables(t *testing.T) {
	onClusters(t, func(t *testing.T, c cluster) {
		plan := file(t, keyed)
		if o := up(t, c, plan, "--seed", "7"); o.code != 0 {
			t.Fatalf("schema up: exit %d", o.code)
		}
		o := load(t, c.with("queue", "-c", plan, "--seed", "42")...)
		const why = "was filled with seed 7, this plan asks with seed 42"
		if o.run == nil || !strings.Contains(warned(o.run, "table-differs"), why) {
			t.Errorf("no word of the seed: exit %d", o.code)
		}
		if down := brunt(t, c.with("schema", "down", "-c", plan)...); down.code != 0 ||
			!strings.Contains(down.out, "dropped") {
			t.Errorf("schema down: exit %d", down.code)
		}
		if down := brunt(t, c.with("schema", "down", "-c", plan)...); down.code != 0 ||
			!strings.Contains(down.out, "absent") {
			t.Errorf("schema down again: exit %d", down.code)
		}
	})
}

// Dropping the tables also removes the traces of an unfinished load, so that they can be loaded again.
func TestLoadingAgainAfterAFailure(t *testing.T) {
	onClusters(t, func(t *testing.T, c cluster) {
		plan := file(t, cars)
		checkpoint := t.TempDir() + "/load"
		if o := up(t, c, plan); o.code != 0 {
			t.Fatalf("schema up: exit %d", o.code)
		}
		if err := os.WriteFile(checkpoint, nil, 0o600); err != nil { // as if it hadn't come to its end
			t.Fatal(err)
		}
		if o := brunt(t, c.with("schema", "down", "-c", plan, "--checkpoint", checkpoint)...); o.code != 0 ||
			!strings.Contains(o.out, "dropped") {
			t.Fatalf("schema down: exit %d", o.code)
		}
		if _, err := os.Stat(checkpoint); err == nil {
			t.Errorf("the checkpoint is still there")
		}
		if o := brunt(t, c.with("schema", "up", "-c", plan, "--quiet", "--checkpoint", checkpoint)...); o.code != 0 ||
			!strings.Contains(o.out, "created") {
			t.Errorf("schema up again: exit %d", o.code)
		}
	})
}

// A table of markers that belongs to another user and can't be read doesn't prevent dropping tables.
func TestDroppingWithoutMarkers(t *testing.T) {
	t.Parallel()
	c := pgStandIn(t)
	if o := up(t, c, file(t, cars)); o.code != 0 {
		t.Fatalf("schema up: exit %d", o.code)
	}
	c.user = "other"
	plan := file(t, keyed)
	if o := up(t, c, plan); o.code != 0 || !strings.Contains(o.err, "schema down will need --force") {
		t.Fatalf("schema up of another user: exit %d", o.code)
	}
	if o := brunt(t, c.with("schema", "down", "-c", plan)...); o.code != 104 || !strings.Contains(o.err, "--force") {
		t.Errorf("schema down: exit %d, want 104", o.code)
	}
	if o := brunt(t, c.with("schema", "down", "-c", plan, "--force")...); o.code != 0 ||
		!strings.Contains(o.out, "dropped") || o.err != "" {
		t.Errorf("schema down by force: exit %d", o.code)
	}
}

// The server limits the prepared statements of all sessions of a node. Sessions beyond this limit aren't connected.
func TestRoomForStatements(t *testing.T) {
	t.Parallel()
	c := pgStandIn(t)
	plan := file(t, cars)
	if o := up(t, c, plan); o.code != 0 {
		t.Fatalf("schema up: exit %d", o.code)
	}
	c.room.Store(2)
	o := load(t, c.with("queue", "-c", plan, "--vu", "4")...)
	if o.run == nil || o.run.Verdict.Result == "pass" {
		t.Fatalf("exit %d", o.code)
	}
	if why := strings.Join(o.run.Verdict.Texts(), "\n"); !strings.Contains(why, "see the errors of class connect") {
		t.Errorf("%s", why)
	}
	for _, f := range o.run.Failures {
		if f.Class != "connect" || !strings.Contains(f.Text, "pg_statement_max") {
			t.Errorf("%+v", f)
		}
	}
	if len(o.run.Failures) == 0 {
		t.Error("no failure is told")
	}
}

// Plans with transactions are refused, because the server would accept transactions without being able to undo them.
func TestTransactionsAreRefused(t *testing.T) {
	onClusters(t, func(t *testing.T, c cluster) {
		for _, text := range []string{
			"transactions: [{name: two, weight: 1, statements: [{sql: values (1)}, {sql: values (2)}]}]",
			"queries: [{name: open, sql: begin, weight: 1}]",
		} {
			o := brunt(t, c.with("rate", "-c", file(t, text), "--rate", "10", "--duration", "1s", "--results", t.TempDir())...)
			if o.code != 104 || !strings.Contains(o.err, "no transactions") {
				t.Errorf("%s: exit %d, want 104", text, o.code)
			}
		}
	})
}

// A script with transactions fails where one begins.
func TestTransactionsOfScriptsAreRefused(t *testing.T) {
	onClusters(t, func(t *testing.T, c cluster) {
		o := k6(t, c, `
			for (const f of [() => db.begin(), () => db.exec("begin"), () => db.exec("Start transaction"), () => db.exec("rollback")]) {
				const e = caught(f);
				is("class", e.class, "client");
				is("why", /no transactions/.test(e.message), true);
			}`)
		if o.code != 0 {
			t.Errorf("exit %d", o.code)
		}
	})
}

// Statements that the server refuses are found before the load. If an error is expected, it is counted with its
// innermost cause.
func TestRefusedStatements(t *testing.T) {
	onClusters(t, func(t *testing.T, c cluster) {
		const text = "queries: [{name: bad, sql: 'select * from \"brunt_nothere\"', count: 20EXPECTED}]"
		o := brunt(t, c.with("queue", "-c", file(t, strings.Replace(text, "EXPECTED", "", 1)), "--results", t.TempDir())...)
		if o.code != 104 || !strings.Contains(o.err, "bad") ||
			!strings.Contains(o.err, `table with name "brunt_nothere" not found`) {
			t.Errorf("before the load: exit %d, want 104", o.code)
		}
		for _, tier := range []string{"codec", "library"} {
			o := load(t, c.with("queue", "-c", file(t, strings.Replace(text, "EXPECTED", ", expect_error: true", 1)), "--tier",
				tier)...)
			if o.run == nil || o.run.Total.Failed != 20 || o.run.Total.Errors[protocol.Server] != 20 ||
				len(o.run.Failures) != 1 {
				t.Fatalf("%s: exit %d", tier, o.code)
			}
			if f := o.run.Failures[0]; !strings.HasSuffix(f.Code, "/table-with-name-not-found") ||
				strings.Contains(f.Text, "sbroad") {
				t.Errorf("%s: %+v", tier, f)
			}
		}
	})
}

// Misspelled statements and options are found before the load.
func TestMisspelledStatements(t *testing.T) {
	onClusters(t, func(t *testing.T, c cluster) {
		if o := up(t, c, file(t, cars)); o.code != 0 {
			t.Fatalf("schema up: exit %d", o.code)
		}
		for _, text := range []string{
			`selec * from "brunt_cars"`, `copy "brunt_cars" from stdin`, `select "id" from "brunt_cars" option (bogus = 1)`,
		} {
			o := load(t, c.with("queue", "-c", file(t, "queries: [{name: bad, sql: '"+text+"', count: 20}]"))...)
			if o.code != 104 || !strings.Contains(o.err, "bad") {
				t.Errorf("%s: exit %d, want 104: %s", text, o.code, o.err)
			}
		}
	})
}

// Statements without parameters are named: Picodata 25.3 confuses their plans if both protocols send them.
func TestStatementsWithoutParameters(t *testing.T) {
	onClusters(t, func(t *testing.T, c cluster) {
		if o := up(t, c, file(t, cars)); o.code != 0 {
			t.Fatalf("schema up: exit %d", o.code)
		}
		o := load(t, c.with("queue", "-c", file(t,
			"queries: [{name: all of them, sql: 'select count(*) from \"brunt_cars\"', count: 5}]"))...)
		if !judged(o) || c.standIn && !strings.Contains(warned(o.run, "plans-shared"), "all of them") {
			t.Errorf("exit %d, %q", o.code, warned(o.run, "plans-shared"))
		}
	})
}

// A statement that can't work is found before the load over both protocols, also if it has options for the server.
func TestStatementsThatCannotWork(t *testing.T) {
	onClusters(t, func(t *testing.T, c cluster) {
		const broken = `
  - name: look2
    sql: select "id" from "brunt_cars" where "id" = 'one'
    count: 5
`
		const options = `
  - name: look2
    sql: select "id" from "brunt_cars" where "id" = 1 OPTION (sql_vdbe_opcode_max = 90000, sql_motion_row_max = 9000)
    count: 5
`
		if o := up(t, c, file(t, cars)); o.code != 0 {
			t.Fatalf("schema up: exit %d", o.code)
		}
		o := load(t, c.with("queue", "-c", file(t, cars+broken))...)
		if o.code != 104 || !strings.Contains(o.err, "look2") {
			t.Errorf("types that don't fit: exit %d, want 104", o.code)
		}
		if o := load(t, c.with("queue", "-c", file(t, cars+options))...); !judged(o) || o.run.Total.Failed != 0 {
			t.Errorf("options: exit %d", o.code)
		}
	})
}

// Nested errors are shown and counted by their innermost cause.
func TestCauses(t *testing.T) {
	onClusters(t, func(t *testing.T, c cluster) {
		plan := file(t, cars+`
  - name: twice
    sql: insert into "brunt_cars" ("id", "brand", "stock") values (1, 'x', true)
    count: 30
  - name: all
    sql: select * from "brunt_cars"
    count: 2
`)
		if o := up(t, c, plan); o.code != 0 {
			t.Fatalf("schema up: exit %d", o.code)
		}
		o := load(t, c.with("queue", "-c", plan)...)
		if o.run == nil {
			t.Fatalf("exit %d", o.code)
		}
		for _, f := range o.run.Failures {
			if f.Class != "server" {
				t.Errorf("%+v", f)
			}
		}
		for _, want := range []struct {
			count  uint64
			starts []string // whichever of the limits a cluster of its size meets first
		}{
			{30, []string{"Duplicate key exists in unique index"}},
			{2, []string{"Reached a limit on max executed vdbe opcodes", "Exceeded maximum number of rows"}},
		} {
			found := slices.ContainsFunc(o.run.Failures, func(f record.FailureCount) bool {
				starts := func(start string) bool { return strings.HasPrefix(f.Text, start) }
				return f.Count == want.count && slices.ContainsFunc(want.starts, starts)
			})
			if !found {
				t.Errorf("not %d times %q: %+v", want.count, want.starts, o.run.Failures)
			}
		}
	})
}

// With fewer sessions than addresses, some addresses get no load.
func TestFewerSessionsThanAddresses(t *testing.T) {
	onClusters(t, func(t *testing.T, c cluster) {
		if c.standIn {
			c.addresses += "," + strings.Replace(c.addresses, "127.0.0.1", "localhost", 1)
		}
		if !strings.Contains(c.addresses, ",") {
			t.Log("one address was given: nothing to try")
			return
		}
		plan := file(t, cars)
		o := load(t, c.with("queue", "-c", plan, "--vu", "1", "--no-setup")...)
		if o.run == nil {
			if o = up(t, c, plan); o.code != 0 {
				t.Fatalf("schema up: exit %d", o.code)
			}
			o = load(t, c.with("queue", "-c", plan, "--vu", "1")...)
		}
		if o.run == nil || !strings.Contains(warned(o.run, "few-sessions"), "get no load") {
			t.Errorf("no warning: exit %d", o.code)
		}
	})
}

// The commands in docs/picostress.md work under the name of Picostress and with its flags.
func TestPicostressCommands(t *testing.T) {
	onClusters(t, func(t *testing.T, c cluster) {
		plan := file(t, strings.ReplaceAll(cars, "brunt_cars", "brunt_stress"))
		proto := map[string]string{"pg": "pgwire", "iproto": "iproto"}[c.proto]
		flags := append([]string{"-c=" + plan, "-u=" + c.user, "-p=" + c.password, "--proto=" + proto, "-a=" + c.addresses},
			c.flags...)
		if o := call(t, "picostress", append([]string{"schema", "up", "--checkpoint", t.TempDir() + "/load"},
			flags...)...); o.code != 0 || !strings.Contains(o.out, "20000 rows") {
			t.Fatalf("schema up: exit %d", o.code)
		}
		o := call(t, "picostress", append([]string{"queue", "--vu=2", "--bundle", t.TempDir() + "/bundle"}, flags...)...)
		if o.code != 0 && o.code != 98 || !strings.Contains(o.out, "picodataVersion: ") ||
			strings.Contains(o.out, "picodataVersion: 15.0") {
			t.Errorf("queue: exit %d", o.code)
		}
		if o := call(t, "picostress", append([]string{"schema", "down"}, flags...)...); o.code != 0 ||
			!strings.Contains(o.out, "dropped") {
			t.Errorf("schema down: exit %d", o.code)
		}
	})
}

// A drop that never completes, as when a node is down, ends after its timeout, and the other tables are still dropped.
func TestDownEndsByItsTimeout(t *testing.T) {
	t.Parallel()
	c := iprotoStandIn(t)
	var b strings.Builder
	b.WriteString("config_name: STUCK\ntables_schema:\n")
	for _, name := range []string{"brunt_free", "brunt_stuck", "brunt_other"} {
		b.WriteString("  - {name: " + name +
			", row_count: 10, timeout: 0.5, primary_keys: [id], columns: [{name: id, type: Integer, range: [1, 10], unique: true}]}\n")
	}
	b.WriteString("queries: [{name: one, sql: values (1), count: 1}]\n")
	plan := file(t, b.String())
	if o := brunt(t, c.with("schema", "up", "-c", plan, "--quiet", "--checkpoint", t.TempDir()+"/load")...); o.code != 0 {
		t.Fatalf("schema up: exit %d", o.code)
	}
	o := brunt(t, c.with("schema", "down", "-c", plan, "--timeout", "2s")...)
	if o.code != 1 || !strings.Contains(o.err, "brunt_stuck: not done within 500ms") ||
		!strings.Contains(o.err, "schema down again") {
		t.Errorf("exit %d, want 1", o.code)
	}
	if strings.Count(o.out, "dropped") != 2 || !strings.Contains(o.out, "kept") {
		t.Errorf("the other tables weren't dropped:\n%s", o.out)
	}
}

// A session that is given up while the server works for it still sends its final message. The stand-in for the server
// counts the sessions that don't.
func TestSessionsGivenUp(t *testing.T) {
	t.Parallel()
	c := pgStandIn(t)
	plan := file(t, "queries: [{name: slow, sql: select pg_sleep(20)::text, weight: 1}]")
	for _, tier := range []string{"codec", "library"} {
		t.Run(tier, func(t *testing.T) {
			o := load(t, c.with("rate", "-c", plan, "--rate", "8", "--duration", "1s", "--vu", "4", "--timeout", "300ms",
				"--tier", tier)...)
			if o.run == nil || o.run.Total.Errors[protocol.Timeout] == 0 {
				t.Errorf("nothing timed out: exit %d", o.code)
			}
		})
	}
}
