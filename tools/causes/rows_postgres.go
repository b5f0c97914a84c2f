//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"brunt/test/testserver"
)

// countingPostgres starts a PostgreSQL that counts statements and has a small cache.
func countingPostgres(st *stage) *testserver.Server {
	return testserver.Postgres(st.tb, testserver.Settings("shared_preload_libraries = 'pg_stat_statements'",
		"shared_buffers = '16MB'", "autovacuum = off", "max_connections = 100"))
}

// database is the name of the row's own database.
func (sc *scene) database() string { return strings.ReplaceAll(sc.Cause, "-", "_") }

// psql returns a command that executes SQL in the row's database.
func (sc *scene) psql(ctx context.Context, text string) *exec.Cmd {
	return exec.CommandContext(ctx, "psql", "-h", sc.server.Host, "-p", fmt.Sprint(sc.server.Port), "-U", sc.server.User,
		"-d", sc.database(), "-XAtqc", text)
}

// prepared returns a Prepare that makes the row's database with some statements.
func prepared(statements ...string) func(sc *scene) (func(), error) {
	return func(sc *scene) (func(), error) {
		sc.server.Psql(sc.tb, "create database "+sc.database())
		for _, s := range append([]string{"create extension pg_stat_statements"}, statements...) {
			if out, err := sc.psql(context.Background(), s).CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%s: %w: %s", s, err, out)
			}
		}
		return nil, nil
	}
}

func postgresFlags(sc *scene) []string {
	s := sc.server
	return []string{"--proto", "pg", "-a", s.Addr, "-u", s.User, "--database", sc.database(),
		"--inspect", fmt.Sprintf("pg=postgres://%s@%s/%s", s.User, s.Addr, sc.database())}
}

const (
	books = "create table book as select g as id, md5(g::text) as author, md5((g / 2)::text) as name, g % 100 as price " +
		"from generate_series(1, 40000) g"
	booksKey = "alter table book add primary key (id)"
	analyzed = "vacuum analyze"
)

// open is the YAML of an open load.
func openLoad(sessions, rate int) string {
	return fmt.Sprintf("sessions: %d\nload:\n  - constant: {rate: %d, duration: {length}}\n", sessions, rate)
}

// randomLoad is openLoad with random arrivals (Poisson), of which some come at once.
func randomLoad(sessions, rate int) string {
	return strings.Replace(openLoad(sessions, rate), "rate:", "arrivals: poisson, rate:", 1)
}

// query is the YAML of a query with its parameters.
func query(name, sql, params string) string {
	return fmt.Sprintf("  - name: %s\n    sql: %s\n    params: [%s]\n", name, sql, params)
}

const anyBook = "{type: Integer, range: [1, 40000]}"

// postgresRow is a row of PostgreSQL.
func postgresRow(cause, planted string, want []string, plan string, setup ...string) row {
	return row{System: "postgresql", Cause: cause, Planted: planted, Want: want, Server: "postgres",
		Start: countingPostgres, Prepare: prepared(setup...), Plan: plan, Flags: postgresFlags}
}

// lookup is a query that any server answers fast.
var lookup = query("lookup", "select name from book where id = $1", anyBook)

func postgresRows() []row {
	all := []row{
		postgresRow("seq-scan", "a fifth of the statements searches a column without an index", []string{"seq-scan"},
			"queries:\n"+lookup+"    weight: 4\n"+
				query("by-author", "select id from book where author = md5($1::text)", "{type: String, range: [3, 9]}")+
				"    weight: 1\n"+openLoad(8, 150), books, booksKey, analyzed),
		postgresRow("count-star", "a fifth of the statements counts a table", []string{"count-star"},
			"queries:\n"+lookup+"    weight: 4\n"+query("count", "select count(*) from book", "")+"    weight: 1\n"+
				openLoad(8, 100), books, booksKey, analyzed),
		postgresRow("deep-offset", "pages are fetched with OFFSET, up to the last", []string{"deep-offset"},
			"queries:\n"+query("page", "select * from book order by id limit 20 offset $1", anyBook)+openLoad(8, 100),
			books, booksKey, analyzed),
		postgresRow("sort-limit", "the first ten of a table are asked for in an order that no index has", []string{"sort-limit"},
			"queries:\n"+query("first", "select id from book order by author limit 10", "")+openLoad(8, 20),
			books, booksKey, analyzed),
		postgresRow("hidden-scan", "a trigger of the table that is changed searches another one without an index",
			[]string{"hidden-scan"},
			"queries:\n"+query("rename", "update book set name = 'x' where id = $1", anyBook)+openLoad(8, 40),
			books, booksKey, "create table audit as select g as id, md5(g::text) as author from generate_series(1, 20000) g",
			"create function note() returns trigger language plpgsql as $$ begin "+
				"perform count(*) from audit where author = new.author; return new; end $$",
			"create trigger noted after update on book for each row execute function note()", analyzed),
		postgresRow("stampede", "four connections of another program execute the same long statement at once, now and then",
			[]string{"stampede"}, "queries:\n"+lookup+openLoad(8, 150), books, booksKey, analyzed),
		postgresRow("pool-too-small", "another program has a pool of one connection, which is always in use",
			[]string{"pool-too-small"}, "queries:\n"+lookup+openLoad(8, 150), books, booksKey, analyzed),
		postgresRow("spill", "a report sorts more than work_mem (64 kB) holds", []string{"spill"},
			"queries:\n"+query("report", "select * from (select * from book order by name, author offset 0) x where id < 0", "")+
				openLoad(4, 10), books, booksKey, analyzed, "alter database spill set work_mem = '64kB'"),
		postgresRow("misestimate", "two columns depend on each other, and a join is planned for a few rows",
			[]string{"misestimate"},
			"queries:\n"+query("places", "select count(*) from place a join place b using (id) where a.city = 7 and a.country = 21", "")+
				openLoad(4, 20),
			"create table place as select g as id, g % 50 as city, (g % 50) * 3 as country from generate_series(1, 80000) g",
			"create index on place (city)", "create index on place (id)", analyzed),
		postgresRow("hot-rows", "all transactions update one row and keep it for 5 ms", []string{"hot-rows", "lock-across-call"},
			`transactions:
  - name: sell
    statements:
      - sql: update counter set n = n + 1 where id = 1
      - sql: select 1
        think: 5ms
`+randomLoad(16, 150), "create table counter (id int primary key, n int)", "insert into counter values (1, 0)", analyzed),
		postgresRow("foreign-key", "rows are deleted to which another table refers without an index",
			[]string{"foreign-key-index"},
			"queries:\n"+query("leave", "delete from customer where id = $1",
				"{type: Integer, range: [2001, 5000], unique: true}")+openLoad(8, 100),
			"create table customer (id int primary key); insert into customer select generate_series(1, 5000)",
			"create table purchase (id int primary key, customer_id int references customer); "+
				"insert into purchase select g, 1 + g % 2000 from generate_series(1, 60000) g", analyzed),
		postgresRow("bloat", "nine of ten versions of a table's rows are dead, and it has no index",
			[]string{"bloat", "seq-scan"},
			"queries:\n"+query("all", "select sum(price) from book", "")+openLoad(4, 20), books, "analyze",
			strings.Repeat("update book set price = price + 1;", 9)),
		postgresRow("cache-misses", "statements read rows of a table that is 20 times shared_buffers (16 MB)",
			[]string{"cache-misses"},
			"queries:\n"+query("lookup", "select text from wide where id = $1", "{type: Integer, range: [1, 300000]}")+
				openLoad(8, 300),
			"create table wide as select g as id, repeat(md5(g::text), 30) as text from generate_series(1, 300000) g",
			"alter table wide add primary key (id)", analyzed),
		postgresRow("stale-statistics", "most rows were added after the last ANALYZE", []string{"stale-statistics", "misestimate"},
			"queries:\n"+lookup+openLoad(8, 150), books, booksKey, analyzed,
			"insert into book select g + 40000, 'a', 'b', 1 from generate_series(1, 60000) g"),
		postgresRow("unused-index", "three indexes that nothing reads, on a table that is written to",
			[]string{"unused-index"},
			"queries:\n"+query("price", "update book set price = price + 1, name = md5($2::text) where id = $1",
				anyBook+", {type: Integer, range: [1, 100000]}")+openLoad(8, 150),
			books, booksKey, "create index on book (name)", "create index on book (author, name)",
			"create index on book (name, price)", analyzed),
		postgresRow("idle-in-transaction", "four connections of another program keep transactions open",
			[]string{"idle-in-transaction"},
			"queries:\n"+lookup+openLoad(8, 150), books, booksKey, analyzed),
		postgresRow("connections", "16 sessions compute at once, on two cores", []string{"connections", "process-cores"},
			"sessions: 16\nqueries:\n"+query("compute", "select count(*) from (select generate_series(1, 100000)) x", "")+
				"load:\n  - closed: {sessions: 16, duration: {length}}\n"),
		postgresRow("healthy-reads", "rows are read by their key", nil,
			"queries:\n"+lookup+openLoad(8, 200), books, booksKey, analyzed),
		postgresRow("healthy-writes", "rows are inserted and changed by their key", nil,
			"queries:\n"+lookup+query("price", "update book set price = $2 where id = $1", anyBook+", {type: Integer, range: [1, 99]}")+
				openLoad(8, 150), books, booksKey, "alter table book set (fillfactor = 70)", "vacuum full book", analyzed),
		postgresRow("healthy-joins", "a join and a sort that indexes support", nil,
			"queries:\n"+query("joined", "select a.name, b.author from book a join book b on b.id = a.id + 1 where a.id between $1::int and $1::int + 10 order by a.id", anyBook)+
				openLoad(8, 150), books, booksKey, analyzed),
	}
	all = append(all, outsideRow())
	during := map[string]func(context.Context, *scene){
		"idle-in-transaction": sessionsOf("forgetful", 4, "begin; select count(*) from book where id < 9;"),
		"stampede":            sessionsOf("shop", 4, "select pg_sleep(0.6) \\watch 2"),
		"pool-too-small":      sessionsOf("shop", 1, strings.Repeat("select pg_sleep(0.2);\n", 100)),
	}
	for i := range all {
		all[i].During = during[all[i].Cause]
	}
	return all
}

// outsideRow is a row of a service one of whose operations waits for something else than its database.
func outsideRow() row {
	r := postgresRow("outside-database", "one of a service's two operations waits 100 ms for something else",
		[]string{"outside-database"},
		"queries:\n  - name: page\n    http: {path: /}\n  - name: call\n    http: {path: /sleep}\n"+openLoad(32, 60),
		books, booksKey, analyzed)
	r.Flags = func(sc *scene) []string {
		service := sc.servers["web"]
		if service == nil {
			service = webServer(sc.stage)
			sc.servers["web"] = service
		}
		flags := postgresFlags(sc)
		return append([]string{"--proto", "http", "-a", service.Addr}, flags[len(flags)-2:]...)
	}
	return r
}

// sessionsOf returns a During in which n sessions of another program execute the lines of a text. They stay until the
// load has ended.
func sessionsOf(program string, n int, lines string) func(context.Context, *scene) {
	return func(ctx context.Context, sc *scene) {
		for range n {
			session := exec.CommandContext(ctx, "psql", "-h", sc.server.Host, "-p", fmt.Sprint(sc.server.Port), "-U",
				sc.server.User, "-d", sc.database(), "-Xqo", os.DevNull)
			session.Env = append(session.Environ(), "PGAPPNAME="+program)
			input, err := session.StdinPipe()
			if err == nil {
				err = session.Start()
			}
			if err != nil {
				return
			}
			defer session.Wait()
			fmt.Fprintln(input, lines)
		}
		<-ctx.Done()
	}
}
