package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"brunt/examples/internal/example"
	"brunt/test/testserver"

	"github.com/jackc/pgx/v5"
)

// fullRows is the number of rows of the table in plan.yml.
const fullRows = 1_000_000

// programme starts PostgreSQL and runs the campaign with brunt. The campaign fills the table and starts this program
// again as the service. Further arguments are passed to brunt campaign run.
func programme(ctx context.Context, args []string) error {
	p := example.NewProgramme("book", "folder of plan.yml and campaign.yml",
		"shorten all durations: 0.1 makes six minutes of an hour")
	books := p.Flags.Int("rows", fullRows, "books in the table")
	jmx := p.Flags.String("jmx", "", "a test plan of JMeter as the load, such as examples/jmeter/book.jmx, whose folder has "+
		"the campaign")
	if err := p.Parse(args); err != nil {
		return err
	}
	work, err := prepared(p.Files, p.Results, *books)
	if err != nil {
		return err
	}
	// This server makes commits durable, unlike the servers of tests.
	owner := testserver.NewStandalone(os.Stderr)
	defer owner.Close()
	pg := testserver.Postgres(owner, testserver.Settings("fsync = on", "synchronous_commit = on", "full_page_writes = on",
		"shared_preload_libraries = 'pg_stat_statements'", "shared_buffers = 256MB"))
	dsn := fmt.Sprintf("postgres://%s@%s/%s", pg.User, pg.Addr, pg.Database)
	if err := extend(ctx, dsn); err != nil {
		return err
	}
	address := testserver.Address(owner)
	if *jmx != "" {
		if err := withTestPlan(ctx, p.Brunt, *jmx, work, address); err != nil {
			return err
		}
	}
	return p.Run(ctx, filepath.Join(work, "campaign.yml"), filepath.Join(p.Results, "campaign"), address, dsn,
		"BRUNT="+p.Brunt, "BOOK_PG_ADDRESS="+pg.Addr, "BOOK_PG_USER="+pg.User,
		"BOOK_PG_DATABASE="+pg.Database)
}

// extend creates the extensions for statistics of statements and for hypothetical indexes. The latter is optional:
// without it, indexes are built to test them.
func extend(ctx context.Context, dsn string) error {
	conn, err := openAdmin(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "create extension pg_stat_statements"); err != nil {
		return fmt.Errorf("pg_stat_statements: %w", err)
	}
	if _, err := conn.Exec(ctx, "create extension hypopg"); err != nil {
		fmt.Fprintln(os.Stderr, "book: HypoPG isn't installed (Debian: postgresql-15-hypopg)")
	}
	return nil
}

func openAdmin(ctx context.Context, dsn string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", err)
	}
	return conn, nil
}

// prepared copies the plan and the campaign to the folder in which they are run, with the given number of rows.
func prepared(files, results string, rows int) (string, error) {
	if rows < 1000 {
		return "", fmt.Errorf("--rows %d: give at least 1000", rows)
	}
	work := filepath.Join(results, "files")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return "", fmt.Errorf("--results: %w", err)
	}
	smaller := strings.NewReplacer("1_000_000", strconv.Itoa(rows), "1000000", strconv.Itoa(rows), "[0, 10000]",
		fmt.Sprintf("[0, %d]", rows/100))
	for _, name := range []string{"plan.yml", "campaign.yml", "vacuum.sql"} {
		text, err := os.ReadFile(filepath.Join(files, name))
		if err != nil {
			return "", fmt.Errorf("--files: %w", err)
		}
		if err := os.WriteFile(filepath.Join(work, name), []byte(smaller.Replace(string(text))), 0o644); err != nil {
			return "", err
		}
	}
	return work, nil
}
