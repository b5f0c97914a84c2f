package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/internal/cli"
	"brunt/internal/judge/exitcode"
	"brunt/internal/record"
	"brunt/test/shell"
	"brunt/test/testserver"

	"github.com/jackc/pgx/v5"
)

const libraryPlan = `config_name: LIBRARY
target: {protocol: pg, addresses: ["%s"], user: brunt, database: postgres}
sessions: 2
tables_schema:
  - name: library.book
    row_count: 20_000
    columns:
      - {name: id, type: Integer, range: [1, 20000], unique: true}
      - {name: author, type: String, range: [10, 24], alphabet: [ru]}
    primary_keys: [id]
queries:
  - name: by author
    sql: select * from library.book where author = $1
    params: [{type: Reference, table: library.book, column: author}]
    rate: 50
load:
  - constant: {duration: 1s}
`

// A database is inspected during a run and reported from the bundle. An index is proposed from the bundle, built,
// measured, and kept or dropped according to the result. No password is printed or stored.
func TestInspectAndAdvise(t *testing.T) {
	t.Parallel()
	pg := testserver.Postgres(t, testserver.Settings("shared_preload_libraries = 'pg_stat_statements'"))
	ctx := context.Background()
	dsn := fmt.Sprintf("postgres://brunt:s3cretword@%s/postgres", pg.Addr)
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, sql := range []string{"create extension pg_stat_statements", "create extension hypopg"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v: run: apt-get install -y postgresql-15-hypopg", sql, err)
		}
	}
	dir := t.TempDir()
	plan := filepath.Join(dir, "library.yml")
	shell.Put(t, plan, fmt.Sprintf(libraryPlan, pg.Addr))
	var all bytes.Buffer
	do := func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		code := cli.Main("test", append([]string{"brunt"}, args...), strings.NewReader(""), &out, &errs)
		all.WriteString(out.String() + errs.String())
		// On busy machines a load may be invalid, or break the default limits.
		load := args[0] == "run" || args[0] == "report"
		busy := code == exitcode.Invalid || load && code == exitcode.Threshold
		if code != want && !(want == exitcode.Pass && busy) {
			t.Fatalf("%q: exit %d, want %d\n%s%s", args, code, want, out.String(), errs.String())
		}
		return out.String()
	}
	bundle := filepath.Join(dir, "bundle")
	do(exitcode.Pass, "run", plan, "--inspect", "pg="+dsn, "--bundle", bundle, "--no-teardown")
	report := do(exitcode.Pass, "report", bundle)
	for _, want := range []string{"DATABASE", "STATEMENTS", "by author", "FINDINGS", "[seq-scan]", "PLAN 1",
		"← discards"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report doesn't say %q:\n%s", want, report)
		}
	}
	if got := do(exitcode.Pass, "advise", "--inspect", "pg="+dsn, bundle); !strings.Contains(got,
		"CREATE INDEX CONCURRENTLY book_author_idx ON library.book (author)") {
		t.Errorf("not proposed:\n%s", got)
	}
	// If the command is killed while an unproven index exists, it can be continued.
	var proofs []record.Proof
	series := filepath.Join(dir, "series")
	apply := []string{"advise", "--inspect", "pg=" + dsn, plan, "--apply", "--times", "3", "--cool-down", "0s",
		"--anyway",
		"--no-teardown", "--output", "json"}
	killed := exec.Command("brunt", append(apply, "--bundle", series)...)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- killed.Wait() }()
	for begun := []string(nil); len(begun) == 0; begun,
		_ = filepath.Glob(filepath.Join(series, "index-1-02-B", record.RunFile)) {
		select {
		case err := <-ended:
			t.Fatalf("ended too early: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	_ = killed.Process.Kill()
	<-ended
	do(exitcode.BadPlan, "advise", "--inspect", "pg="+dsn, "--resume", series)
	got := do(exitcode.Pass, append(apply, "--resume", series)...)
	if err := json.Unmarshal([]byte(got), &proofs); err != nil || len(proofs) != 1 || !proofs[0].Built ||
		proofs[0].Order != "ABBAAB" || proofs[0].Name != "book_author_idx" {
		t.Fatalf("%v: %s", err, got)
	}
	var n int
	if err := conn.QueryRow(ctx, "select count(*) from pg_indexes where indexname = 'book_author_idx'").Scan(
		&n); err != nil || (n == 1) != proofs[0].Kept {
		t.Errorf("%d such indexes, %v, though: %+v", n, err, proofs[0])
	}
	do(exitcode.BadPlan, "advise", bundle)
	do(exitcode.BadPlan, "advise", "--inspect", "pg="+dsn, bundle, "--apply")
	do(exitcode.BadPlan, "run", plan, "--inspect", "oracle=x")
	do(exitcode.Unreachable, "run", plan, "--inspect", "pg=postgres://brunt:s3cretword@127.0.0.1:1/x", "--no-teardown",
		"--results", filepath.Join(dir, "nothing"))
	if left, _ := filepath.Glob(filepath.Join(dir, "nothing", "*")); len(left) > 0 {
		t.Errorf("a run that never began left %q", left)
	}
	if strings.Contains(all.String(), "s3cretword") {
		t.Error("the password was printed")
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if b, _ := os.ReadFile(path); bytes.Contains(b, []byte("s3cretword")) {
			t.Errorf("%s holds the password", path)
		}
		return nil
	})
	b, openErr := record.Open(record.OS{}, bundle)
	if err != nil || openErr != nil || len(b.Run.Inspections) != 1 || b.Run.Inspections[0].File == "" {
		t.Errorf("%v, %v", err, openErr)
	}
}
