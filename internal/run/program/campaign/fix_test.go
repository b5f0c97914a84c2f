package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"brunt/test/testserver"

	"github.com/jackc/pgx/v5"
)

const library = `campaign: library
plan: plan.yml
inspect: pg=postgres://brunt@%s/postgres
steps:
  - prepare: {schema: true, sql: [extensions.sql]}
  - analyse: {at: 1, warm_up: 0}
  - fix: {advisor: true, warm_up: 0, repetitions: 3}
`

const books = `config_name: library
target: {protocol: pg, addresses: [%q], user: brunt, database: postgres}
tables_schema:
  - name: book
    row_count: 20_000
    columns:
      - {name: id, type: Integer, range: [1, 20000], unique: true}
      - {name: author, type: String, range: [10, 24]}
    primary_keys: [id]
queries:
  - {name: by author, sql: "select * from book where author = $1", params: [{type: Reference, table: book,
	column: author}], rate: 50}
`

// TestKilledInTheAdvisorsFix kills a campaign while the server builds an index for it, which the server continues, and
// again while an index exists that isn't judged yet. After the campaign is resumed, no invalid index and no unproven
// index remains.
func TestKilledInTheAdvisorsFix(t *testing.T) {
	pg := testserver.Postgres(t, testserver.Settings("shared_preload_libraries = 'pg_stat_statements'"))
	file := files(t, fmt.Sprintf(library, pg.Addr), "")
	for name, text := range map[string]string{"plan.yml": fmt.Sprintf(books, pg.Addr),
		"extensions.sql": "create extension if not exists pg_stat_statements; create extension if not exists hypopg"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "campaign")
	ctx := context.Background()
	connect := func() *pgx.Conn {
		c, err := pgx.Connect(ctx, fmt.Sprintf("postgres://brunt@%s/postgres", pg.Addr))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(ctx) })
		return c
	}
	client := connect()
	number := func(sql string, args ...any) (n int) {
		t.Helper()
		if err := client.QueryRow(ctx, sql, args...).Scan(&n); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return n
	}
	// Transactions that write to the table make the build of the index wait half-way.
	writer := connect()
	var held bool
	const builder = "from pg_stat_activity where query like 'CREATE INDEX CONCURRENTLY%' and wait_event_type = 'Lock'"
	killWhen(t, file, dir, func() bool {
		if _, err := os.Stat(filepath.Join(dir, "02-analyse")); err != nil {
			return false
		}
		if !held {
			held = true
			for _, sql := range []string{"begin", "lock table book in row exclusive mode"} {
				if _, err := writer.Exec(ctx, sql); err != nil {
					t.Fatal(err)
				}
			}
		}
		return number("select count(*) "+builder) == 1
	})
	pid := number("select pid " + builder)
	const invalid = "select count(*) from pg_index where not indisvalid"
	if n := number(invalid); n != 1 {
		t.Fatalf("%d indexes are half-built after the kill", n)
	}
	// The resumed campaign first ends the build that the server continues. Only then does the writer end.
	second := filepath.Join(dir, "03-fix", "index-1-02-B", "run.json")
	killWhen(t, file, dir, func() bool {
		if held && number("select count(*) from pg_stat_activity where pid = $1", pid) == 0 {
			held = false
			if _, err := writer.Exec(ctx, "commit"); err != nil {
				t.Fatal(err)
			}
		}
		_, err := os.Stat(second)
		return err == nil
	})
	if n := number(
		"select count(*) from pg_index where indexrelid = to_regclass('book_author_idx') and indisvalid"); n != 1 {
		t.Errorf("%d indexes are there after a kill under load", n)
	}
	c, err := Resume(dir, readPlan, options(dir))
	if err != nil {
		t.Fatal(err)
	}
	c.least = 300 * time.Millisecond
	if err := errors.Join(c.Run(ctx), c.Close()); err != nil {
		t.Fatal(err)
	}
	proofs := lastOf(c.results, "fix").Fix.Proofs
	if len(proofs) != 1 || !proofs[0].Built || proofs[0].Order != "ABBAAB" || proofs[0].Name != "book_author_idx" {
		t.Fatalf("%+v", proofs)
	}
	if n := number("select count(*) from pg_index where indrelid = 'book'::regclass and not indisprimary"); (n == 1) != proofs[0].Kept || n > 1 || number(invalid) > 0 {
		t.Errorf("%d indexes are left, though %+v", n, proofs[0])
	}
}
