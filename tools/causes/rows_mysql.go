//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// countingMariaDB starts a MariaDB that counts all statements and has little memory for each.
func countingMariaDB(more ...string) func(st *stage) *testserver.Server {
	return func(st *stage) *testserver.Server {
		return testserver.MariaDB(st.tb, testserver.Settings(append([]string{"performance-schema=ON",
			"performance-schema-consumer-events-statements-current=ON", "innodb-buffer-pool-size=24M",
			"sort-buffer-size=32K", "tmp-memory-table-size=64K", "tmp-table-size=64K"}, more...)...))
	}
}

// mariadb returns a command that executes SQL in the row's database, or reads it from its input if there is none.
func (sc *scene) mariadb(ctx context.Context, text string) *exec.Cmd {
	args := []string{"--no-defaults", "-h", sc.server.Host, "-P", fmt.Sprint(sc.server.Port), "-u", sc.server.User, "-n",
		"-f", sc.database()}
	if text != "" {
		args = append(args, "-e", text)
	}
	cmd := exec.CommandContext(ctx, "mariadb", args...)
	cmd.Env = append(cmd.Environ(), "MYSQL_PWD="+sc.server.Password)
	return cmd
}

// preparedMariaDB returns a Prepare that makes the row's database with some statements.
func preparedMariaDB(statements ...string) func(sc *scene) (func(), error) {
	return func(sc *scene) (func(), error) {
		create := sc.mariadb(context.Background(), "CREATE DATABASE "+sc.database())
		create.Args = append(create.Args[:len(create.Args)-3], create.Args[len(create.Args)-2:]...)
		for _, cmd := range []*exec.Cmd{create, sc.mariadb(context.Background(), strings.Join(statements, "; "))} {
			if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "ERROR") {
				return nil, fmt.Errorf("%s: %w: %s", cmd.Args, err, out)
			}
		}
		return nil, nil
	}
}

func mysqlFlags(sc *scene) []string {
	s := sc.server
	return []string{"--proto", "mysql", "-a", s.Addr, "-u", s.User, "--database", sc.database(),
		"--inspect", fmt.Sprintf("mysql=mysql://%s:%s@%s/%s", s.User, s.Password, s.Addr, sc.database())}
}

const (
	mariaBooks = `CREATE TABLE book (id INT PRIMARY KEY, author VARCHAR(40), name VARCHAR(200), price INT) AS
		SELECT seq AS id, MD5(seq) AS author, REPEAT(MD5(seq DIV 2), 5) AS name, seq % 100 AS price FROM seq_1_to_40000`
	mariaAnalyzed = "ANALYZE TABLE book"
)

// mysqlRow is a row of MariaDB.
func mysqlRow(cause, planted string, want []string, plan string, setup ...string) row {
	return row{System: "mariadb", Cause: cause, Planted: planted, Want: want, Server: "mariadb",
		Start: countingMariaDB(), Prepare: preparedMariaDB(setup...), Plan: plan, Flags: mysqlFlags}
}

func mysqlRows() []row {
	author := "{type: Integer, range: [1, 9]}"
	update := query("sell", "update book set price = price + 1 where id = $1", "{type: Integer, range: [1, 3]}")
	idle := mysqlRow("idle-in-transaction", "another program changes a row every second and commits 700 ms later",
		[]string{"idle-in-transaction"}, "queries:\n"+update+openLoad(8, 60), mariaBooks, mariaAnalyzed)
	idle.During = func(ctx context.Context, sc *scene) {
		sc.talks(ctx, "BEGIN; UPDATE book SET price = 1 WHERE id <= 3;", 700*time.Millisecond, "COMMIT;",
			300*time.Millisecond)
	}
	metadata := mysqlRow("metadata-lock", "a table is altered while another program has read it in an open transaction",
		[]string{"metadata-lock"}, "queries:\n"+lookup+openLoad(8, 100), mariaBooks, mariaAnalyzed)
	metadata.During = alters
	full := mysqlRow("connections", "another program takes all connections (20)", []string{"connections"},
		"queries:\n"+lookup+openLoad(4, 100), mariaBooks, mariaAnalyzed)
	full.Server, full.Start, full.During = "small mariadb", countingMariaDB("max-connections=20"), manyConnections
	flushed := mysqlRow("commit-flush", "each fsync takes 20 ms longer, and each commit waits for one",
		[]string{"commit-flush"}, "queries:\n"+query("price", "update book set price = $2 where id = $1",
			anyBook+", {type: Integer, range: [1, 99]}")+openLoad(8, 30), mariaBooks, mariaAnalyzed)
	flushed.Server, flushed.Start = "flushing mariadb", countingMariaDB("innodb-flush-log-at-trx-commit=1")
	create := flushed.Prepare
	flushed.Prepare = func(sc *scene) (func(), error) {
		if _, err := create(sc); err != nil {
			return nil, err
		}
		return slowed(sc.server.PID, "", 20*time.Millisecond)
	}
	return []row{
		mysqlRow("full-scan", "a fifth of the statements searches a column without an index", []string{"full-scan"},
			"queries:\n"+lookup+"    weight: 4\n"+query("by-author", "select id from book where author = md5($1)", author)+
				"    weight: 1\n"+openLoad(8, 60), mariaBooks, mariaAnalyzed),
		mysqlRow("full-scan-text", "the same as text, without prepared statements", []string{"full-scan"},
			"queries:\n"+query("by-author", "select id from book where author = 'x'", "")+"    simple: true\n"+
				openLoad(8, 20), mariaBooks, mariaAnalyzed),
		mysqlRow("type-mismatch", "a column of texts, with an index, is compared with a number", []string{"type-mismatch"},
			"queries:\n"+query("by-author", "select id from book where author = $1", author)+openLoad(8, 20),
			mariaBooks, "ALTER TABLE book ADD INDEX (author)", mariaAnalyzed),
		mysqlRow("filesort", "a report sorts more than sort_buffer_size (32 kB) holds", []string{"filesort"},
			"queries:\n"+query("report", "select id from book order by name, id limit 39000, 1", "")+openLoad(4, 5),
			mariaBooks, mariaAnalyzed),
		mysqlRow("tmp-disk", "a report groups by a long text", []string{"tmp-disk"},
			"queries:\n"+query("report", "select count(*) from (select name, count(*) from book group by name) x", "")+
				openLoad(4, 4), mariaBooks, mariaAnalyzed),
		mysqlRow("row-locks", "all transactions update one row and keep it for 5 ms", []string{"row-locks"},
			`transactions:
  - name: sell
    statements:
      - sql: update book set price = price + 1 where id = 1
      - sql: select 1
        think: 5ms
`+randomLoad(16, 150), mariaBooks, mariaAnalyzed),
		mysqlRow("deadlocks", "two transactions update two rows in opposite orders", []string{"deadlocks"},
			`transactions:
  - name: there
    statements:
      - sql: update book set price = price + 1 where id = 1
      - sql: update book set price = price + 1 where id = 2
        think: 5ms
  - name: back
    statements:
      - sql: update book set price = price + 1 where id = 2
      - sql: update book set price = price + 1 where id = 1
        think: 5ms
`+randomLoad(8, 60), mariaBooks, mariaAnalyzed),
		idle, metadata, full,
		mysqlRow("cache-misses", "statements read rows of a table that is 10 times the buffer pool (24 MB)",
			[]string{"cache-misses"},
			"queries:\n"+query("lookup", "select v from wide where id = $1", "{type: Integer, range: [1, 250000]}")+
				openLoad(8, 300),
			"CREATE TABLE wide (id INT PRIMARY KEY, v CHAR(250), w CHAR(250), x CHAR(250), y CHAR(250)) AS "+
				"SELECT seq AS id, 'v' AS v, 'w' AS w, 'x' AS x, 'y' AS y FROM seq_1_to_250000"),
		// Its table is small: that of the other rows and this index don't fit the buffer pool together.
		mysqlRow("unused-index", "an index that nothing reads, on a table that is written to", []string{"unused-index"},
			"queries:\n"+query("price", "update book set price = $2, name = 'x' where id = $1",
				"{type: Integer, range: [1, 5000]}, {type: Integer, range: [1, 100000]}")+openLoad(8, 100),
			strings.Replace(mariaBooks, "40000", "5000", 1), "ALTER TABLE book ADD INDEX (name, price)", mariaAnalyzed),
		mysqlRow("cpu-bound", "16 sessions compute at once, on two cores",
			[]string{"cpu-bound", "process-cores", "process-taken"},
			"sessions: 16\nqueries:\n"+query("compute", "select benchmark(200000, md5('x'))", "")+
				"load:\n  - closed: {sessions: 16, duration: {length}}\n"),
		flushed,
		mysqlRow("healthy-reads", "rows are read by their key", nil, "queries:\n"+lookup+openLoad(8, 150), mariaBooks,
			mariaAnalyzed),
		mysqlRow("healthy-writes", "rows are changed by their key", nil,
			"queries:\n"+lookup+query("price", "update book set price = $2 where id = $1",
				anyBook+", {type: Integer, range: [1, 99]}")+openLoad(8, 100), mariaBooks, mariaAnalyzed),
		mysqlRow("healthy-ranges", "a join and a range that indexes support", nil,
			"queries:\n"+query("joined", "select a.name, b.author from book a join book b on b.id = a.id + 1 where a.id between $1 and $1 + 10 order by a.id", anyBook)+
				query("cheap", "select id from book where price = $1 order by id limit 10", "{type: Integer, range: [1, 99]}")+
				openLoad(8, 100), mariaBooks, "ALTER TABLE book ADD INDEX (price)", mariaAnalyzed),
	}
}

// talks sends lines to a session of its own, again and again, with pauses after each.
func (sc *scene) talks(ctx context.Context, first string, open time.Duration, second string, closed time.Duration) {
	cmd := sc.mariadb(ctx, "")
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return
	}
	defer cmd.Wait()
	defer input.Close()
	for ctx.Err() == nil {
		_, _ = io.WriteString(input, first+"\n")
		protocol.Sleep(ctx, open)
		_, _ = io.WriteString(input, second+"\n")
		protocol.Sleep(ctx, closed)
	}
}

// alters alters a table that a transaction of another program has read.
func alters(ctx context.Context, sc *scene) {
	if !sc.underWay(ctx) {
		return
	}
	for n := 0; ctx.Err() == nil; n++ {
		reads, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			sc.talks(reads, "BEGIN; SELECT id FROM book WHERE id = 1;", time.Second, "COMMIT;", time.Hour)
		}()
		protocol.Sleep(ctx, 200*time.Millisecond)
		_ = sc.mariadb(ctx, fmt.Sprintf("ALTER TABLE book ADD COLUMN more_%d INT", n)).Run()
		stop()
		<-done
	}
}

// manyConnections opens more connections than the server allows.
func manyConnections(ctx context.Context, sc *scene) {
	if !sc.underWay(ctx) {
		return
	}
	protocol.Sleep(ctx, time.Second) // until brunt has its own
	for range 25 {
		cmd := sc.mariadb(ctx, "")
		if input, err := cmd.StdinPipe(); err == nil && cmd.Start() == nil {
			defer cmd.Wait()
			defer input.Close()
		}
	}
	<-ctx.Done()
}
