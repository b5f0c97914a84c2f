package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/test/testserver"
)

const (
	pgbenchScale = 10
	pgSessions   = 16
)

func postgresClosed() group {
	work := "PostgreSQL, pgbench -S, prepared, 16 sessions, closed"
	return group{
		name: "pg-closed",
		goals: []goal{
			{work: work, ours: "brunt", peer: "pgbench -j1", ratio: 1},
			{work: work, ours: "brunt", peer: bareLoop, ratio: besideBare},
			{work: leastPossible, ours: bareLoop, peer: "pgbench -j1"},
			{work: leastByRing, ours: bareRing, peer: bareLoop},
			{work: work, ours: "brunt", peer: "pgconn, a goroutine a session", ratio: 0.62},
			{work: "the same, p99 at saturation", ours: "brunt", peer: "pgbench -l (p99 from its log)", tail: true},
		},
		open: func(s *stand) ([]client, error) {
			pg, pgbench, err := s.pgbench()
			if err != nil {
				return nil, err
			}
			mine := s.postgres(pg, "pg-select")
			url := fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", pg.User, pg.Addr, pg.Database)
			return append([]client{
				mine.client("brunt"),
				{name: "pgbench -j1", turn: func(d time.Duration) (sample, error) {
					return s.pgbenchTurn(pg, pgbench, d, 0, false)
				}},
				s.library("pgconn, a goroutine a session", nil, "pg", url, pgSessions, pgbenchScale*100_000),
				{name: "pgbench -l (p99 from its log)",
					turn: func(d time.Duration) (sample, error) { return s.pgbenchTurn(pg, pgbench, d, 0, true) }},
			}, s.bare("pg", url, pgSessions, 1, pgbenchScale*100_000)...), nil
		},
	}
}

func postgresOpen() group {
	work := "PostgreSQL, the same query, open, 10 000/s"
	return group{
		name: "pg-open",
		slow: true,
		goals: []goal{
			{work: work, ours: "brunt", peer: "pgbench -R", ratio: 0.78, lagP99Us: 35},
			{work: work + ", 200 µs tolerance", ours: "brunt --timing-tolerance 200us", peer: "pgbench -R", ratio: 0.6},
		},
		open: func(s *stand) ([]client, error) {
			pg, pgbench, err := s.pgbench()
			if err != nil {
				return nil, err
			}
			mine := s.postgres(pg, "pg-select")
			mine.rate = 10_000
			return []client{
				mine.client("brunt"), mine.client("brunt --timing-tolerance 200us", "--timing-tolerance", "200us"),
				{name: "pgbench -R", turn: func(d time.Duration) (sample, error) {
					return s.pgbenchTurn(pg, pgbench, d, 10_000,
						false)
				}},
			}, nil
		},
	}
}

// pgbench starts a PostgreSQL server with pgbench's tables. program is the path of pgbench.
func (s *stand) pgbench() (pg *testserver.Server, program string, err error) {
	if program, err = needed("pgbench", "postgresql-contrib"); err != nil {
		return nil, "", err
	}
	if pg, err = s.started(testserver.Postgres(s.tb, testserver.Settings("shared_buffers = 512MB"))); err != nil {
		return nil, "", err
	}
	args := append(pgbenchWhere(pg), "-i", "-q", "-s", strconv.Itoa(pgbenchScale), pg.Database)
	_, err = s.do(nil, program, args...)
	return pg, program, err
}

func pgbenchWhere(pg *testserver.Server) []string {
	return []string{"-h", pg.Host, "-p", strconv.Itoa(pg.Port), "-U", pg.User}
}

func (s *stand) postgres(pg *testserver.Server, plan string) *ours {
	return &ours{s: s, plan: plan, where: []string{"--proto", "pg", "-a", pg.Addr, "-u", pg.User, "--database",
		pg.Database, "--vu", strconv.Itoa(pgSessions)}}
}

// pgbenchTurn runs the select-only script. With log, pgbench writes the time of every transaction. Its quantiles can't
// be obtained otherwise, but the log costs CPU.
func (s *stand) pgbenchTurn(pg *testserver.Server, program string, d time.Duration, rate int, log bool) (sample,
	error) {
	args := append(pgbenchWhere(pg), "-n", "-S", "-M", "prepared", "-c", strconv.Itoa(pgSessions), "-j", "1", "-T",
		strconv.Itoa(int(d.Seconds())))
	if rate > 0 {
		args = append(args, "-R", strconv.Itoa(rate))
	}
	if log {
		args = append(args, "-l", "--log-prefix=pgbench")
	}
	return s.turn(nil, program, append(args, pg.Database), func(out string, p *sample) error {
		p.Requests = find(`transactions actually processed: (\d+)`, out)
		if rate > 0 {
			p.LagP50Us = 1000 * findFloat(`rate limit schedule lag: avg ([\d.]+)`, out)
		}
		if log {
			return s.pgbenchLog(p)
		}
		return nil
	})
}

// pgbenchLog reads and removes pgbench's logs. The third field of a line is the time in µs.
func (s *stand) pgbenchLog(p *sample) error {
	files, _ := filepath.Glob(filepath.Join(s.dir, "pgbench.*"))
	var all []float64
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if fields := strings.Fields(lines.Text()); len(fields) > 2 {
				us, _ := strconv.ParseFloat(fields[2], 64)
				all = append(all, us)
			}
		}
		f.Close()
		os.Remove(name)
	}
	if len(all) == 0 {
		return fmt.Errorf("pgbench left no log")
	}
	slices.Sort(all)
	p.P50Us, p.P99Us = all[len(all)/2], all[len(all)*99/100]
	return nil
}

func find(pattern, text string) uint64 { return uint64(findFloat(pattern, text)) }

// findFloat returns the first group of a pattern's last match as a number, or 0.
func findFloat(pattern, text string) float64 {
	all := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return 0
	}
	f, _ := strconv.ParseFloat(all[len(all)-1][1], 64)
	return f
}
