package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"brunt/internal/testserver"

	"github.com/jackc/pgx/v5"
)

// programme starts PostgreSQL and runs the campaign with brunt. The campaign fills the tables and starts this program
// again as the service. Further arguments are passed to brunt campaign run.
func programme(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("desk programme", flag.ContinueOnError)
	brunt := flags.String("brunt", "bin/brunt", "the brunt to run")
	files := flags.String("files", "examples/desk", "folder of plan.yml, campaign.yml and schema.sql")
	results := flags.String("results", "results/desk", "folder for everything that comes of it")
	scale := flags.Float64("time-scale", 1, "shorten all durations: 0.1 makes seconds of minutes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	program, err := filepath.Abs(*brunt)
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		return fmt.Errorf("--brunt: %w; make build makes it", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	address, err := freeAddress()
	if err != nil {
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
	run := []string{"campaign", "run", filepath.Join(*files, "campaign.yml"),
		"--time-scale", strconv.FormatFloat(*scale, 'g', -1, 64), "--results", *results}
	cmd := exec.CommandContext(ctx, program, append(run, flags.Args()...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = append(os.Environ(), "DESK="+self, "DESK_ADDRESS="+address, "DESK_PG="+dsn)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("brunt campaign run: %w", err)
	}
	return nil
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

// freeAddress returns an address on this machine with a port that is currently free.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
