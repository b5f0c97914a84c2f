package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"brunt/examples/internal/example"
	"brunt/test/testserver"

	"github.com/jackc/pgx/v5"
)

// programme starts PostgreSQL and runs the campaign with brunt. The campaign fills the tables and starts this program
// again as the service. Further arguments are passed to brunt campaign run.
func programme(ctx context.Context, args []string) error {
	p := example.NewProgramme("desk", "folder of plan.yml, campaign.yml and schema.sql",
		"shorten all durations: 0.1 makes seconds of minutes")
	if err := p.Parse(args); err != nil {
		return err
	}
	owner := testserver.NewStandalone(os.Stderr)
	defer owner.Close()
	pg := testserver.Postgres(owner, testserver.Settings("shared_preload_libraries = 'pg_stat_statements'",
		"shared_buffers = 128MB"))
	dsn := fmt.Sprintf("postgres://%s@%s/%s", pg.User, pg.Addr, pg.Database)
	if err := extend(ctx, dsn); err != nil {
		return err
	}
	return p.Run(ctx, filepath.Join(p.Files, "campaign.yml"), p.Results, testserver.Address(owner), dsn)
}

// extend creates the extensions for statistics of statements and for hypothetical indexes.
func extend(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	defer conn.Close(ctx)
	for _, name := range []string{"pg_stat_statements", "hypopg"} {
		if _, err := conn.Exec(ctx, "create extension "+name); err != nil {
			return fmt.Errorf("%s: %w (Debian: postgresql-15 postgresql-15-hypopg)", name, err)
		}
	}
	return nil
}
