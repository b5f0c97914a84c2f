package main

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"time"

	"brunt/test/testserver"
)

// loading compares how fast tables are filled. brunt fills its accounts table, and pgbench its own table, which has the
// same columns and row width, in the same server.
func loading(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	times := f.Int("rounds", 3, "how often each client has its turn")
	return withStand(ctx, f, args, func(s *stand) error {
		g := loadGroup()
		results, err := s.measure(&g, rounds{least: *times, duration: time.Second})
		if err != nil {
			return err
		}
		fmt.Printf(
			"| client | rows/s while filling, median (each round) | client CPU µs/row | whole, s |\n|---|---|---|---|\n")
		for _, c := range []string{"brunt schema up", "brunt schema up --workers 1", "pgbench -i -I dtgp"} {
			var perS, cpu, whole []float64
			rounds := ""
			for i := range results[c] {
				p := &results[c][i]
				if p.Fault != "" {
					fmt.Printf("%s: %s\n", c, p.Fault)
					continue
				}
				perS, cpu, whole = append(perS, p.RowsPerS), append(cpu, p.CPUUs), append(whole, p.WallS)
				rounds += fmt.Sprintf(" %.0f", perS[len(perS)-1])
			}
			fmt.Printf("| %s | %.0f (%s ) | %.2f | %.2f |\n", c, median(perS), rounds, median(cpu), median(whole))
		}
		return nil
	})
}

// loadGroup measures the filling of the table as each client reports it, and the run of the whole program, which also
// creates the table and its primary key.
func loadGroup() group {
	return group{name: "load", open: func(s *stand) ([]client, error) {
		program, err := needed("pgbench", "postgresql-contrib")
		if err != nil {
			return nil, err
		}
		pg, err := s.started(testserver.Postgres(s.tb, testserver.Settings("shared_buffers = 1GB", "max_wal_size = 8GB")))
		if err != nil {
			return nil, err
		}
		return []client{
			{name: "brunt schema up", turn: func(time.Duration) (sample, error) { return s.schemaUp(pg) }},
			{name: "brunt schema up --workers 1",
				turn: func(time.Duration) (sample, error) { return s.schemaUp(pg, "--workers", "1") }},
			{name: "pgbench -i -I dtgp", turn: func(time.Duration) (sample, error) {
				args := append(pgbenchWhere(pg), "-i", "-I", "dtgp", "-q", "-s", strconv.Itoa(loadRows/100_000),
					"--unlogged-tables", pg.Database)
				return s.turn(nil, program, args, func(out string, p *sample) error {
					p.Requests = loadRows
					if seconds := findFloat(`client-side generate ([\d.]+) s`, out); seconds > 0 {
						p.RowsPerS = loadRows / seconds
					}
					return nil
				})
			}},
		}, nil
	}}
}

// loadRows is row_count in plans/accounts.yml.
const loadRows = 2_000_000

func (s *stand) schemaUp(pg *testserver.Server, more ...string) (sample, error) {
	plan, err := s.plan("accounts", "")
	if err != nil {
		return sample{}, err
	}
	where := []string{"-c", plan, "--proto", "pg", "-a", pg.Addr, "-u", pg.User, "--database", pg.Database}
	if _, err := s.do(nil, s.brunt.program, append([]string{"schema", "down"}, where...)...); err != nil {
		return sample{}, err
	}
	args := append(append([]string{"schema", "up"}, where...), "--verify", "none", "--quiet")
	return s.turn(nil, s.brunt.program, append(args, more...), func(out string, p *sample) error {
		p.Requests, p.RowsPerS = loadRows, findFloat(`([\d.]+) rows/s`, out)
		return nil
	})
}
