package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"brunt/test/testserver"
)

// sysbenchGoal is the goal for the CPU time of a transaction of oltp_read_write, relative to sysbench's.
const sysbenchGoal = 0.8

// sysbenching compares brunt sysbench with sysbench: oltp_read_write on the same tables of one server, in turns, and
// the time of prepare.
func sysbenching(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("sysbench", flag.ContinueOnError)
	times := f.Int("rounds", 3, "how often each client has its turn")
	events := f.Int("events", 5000, "transactions of a turn: enough that the start counts for little")
	rows := f.Int("rows", 200_000, "rows that are prepared")
	return withStand(ctx, f, args, func(s *stand) error {
		program, err := needed("sysbench", "sysbench")
		if err != nil {
			return err
		}
		mine := filepath.Join(s.dir, "sysbench")
		if err := os.Symlink(s.brunt.program, mine); err != nil {
			return err
		}
		fmt.Println("| server | what | brunt | sysbench | ratio (each round) |\n|---|---|---|---|---|")
		for _, d := range []func(*stand) ([]string, error){sysbenchMySQL, sysbenchPostgres} {
			where, err := d(s)
			if err != nil {
				return err
			}
			c := &sysbenchContest{s: s, where: where, programs: [2]string{mine, program}, rounds: *times}
			if err := c.run(*events, *rows); err != nil {
				return err
			}
		}
		return nil
	})
}

func sysbenchMySQL(s *stand) ([]string, error) {
	my, err := s.started(testserver.MariaDB(s.tb, testserver.Settings("innodb-buffer-pool-size=1G")))
	if err != nil {
		return nil, err
	}
	return []string{"--mysql-host=" + my.Host, fmt.Sprint("--mysql-port=", my.Port), "--mysql-user=" + my.User,
		"--mysql-password=" + my.Password, "--mysql-db=" + my.Database}, nil
}

func sysbenchPostgres(s *stand) ([]string, error) {
	pg, err := s.started(testserver.Postgres(s.tb, testserver.Settings("shared_buffers = 1GB", "max_wal_size = 8GB")))
	if err != nil {
		return nil, err
	}
	return []string{"--db-driver=pgsql", "--pgsql-host=" + pg.Host, fmt.Sprint("--pgsql-port=", pg.Port),
		"--pgsql-user=" + pg.User, "--pgsql-password=" + pg.Password, "--pgsql-db=" + pg.Database}, nil
}

// sysbenchContest is a comparison on one server.
type sysbenchContest struct {
	s        *stand
	where    []string  // options that name the server
	programs [2]string // brunt, sysbench
	rounds   int
	server   string // for the table; "": see name
}

// name is the server's, for the table.
func (c *sysbenchContest) name() string {
	if c.server != "" {
		return c.server
	}
	if c.where[0] == "--db-driver=pgsql" {
		return "PostgreSQL"
	}
	return "MariaDB"
}

func (c *sysbenchContest) run(events, rows int) error {
	for _, threads := range []int{1, 4} {
		options := []string{fmt.Sprint("--table-size=", rows), fmt.Sprint("--threads=", threads)}
		err := c.compare(fmt.Sprintf("prepare of %d rows, %d threads, s", rows, threads), 0, func(program string) (sample,
			error) {
			p, err := c.turn(program, append(options, "prepare"), func(_ string, p *sample) error {
				p.Requests = uint64(rows)
				return nil
			})
			if err == nil {
				_, err = c.turn(program, []string{"cleanup"}, uncounted)
			}
			return p, err
		}, func(p *sample) float64 { return p.WallS })
		if err != nil {
			return err
		}
	}
	tables := []string{"--tables=4", "--table-size=25000"}
	_, err := c.turn(c.programs[0], append(tables, "--threads=2", "prepare"), uncounted)
	if err != nil {
		return err
	}
	for _, threads := range []int{8, 64} {
		options := append(slices.Clone(tables), fmt.Sprint("--threads=", threads), fmt.Sprint("--events=", events),
			"--time=0", "run")
		err := c.compare(fmt.Sprintf("oltp_read_write, %d threads, CPU µs/transaction", threads), sysbenchGoal,
			func(program string) (sample, error) {
				return c.turn(program, options, func(out string, p *sample) error {
					p.Requests = find(`transactions: +(\d+)`, out)
					p.PerS = findFloat(`transactions: +\d+ +\(([\d.]+) per sec`, out)
					return nil
				})
			}, func(p *sample) float64 { return p.CPUUs })
		if err != nil {
			return err
		}
	}
	return nil
}

// uncounted is for turns that aren't measured.
func uncounted(_ string, p *sample) error {
	p.Requests = 1
	return nil
}

// turn runs a command of a program.
func (c *sysbenchContest) turn(program string, args []string, read func(string, *sample) error) (sample, error) {
	words := []string{"oltp_read_write"}
	if program == c.programs[0] {
		words = append(words, "--awake=off") // else the time of idle priority would count
	}
	p, err := c.s.turn(nil, program, slices.Concat(words, c.where, args), read)
	p.Command = c.s.plain(program, args) // without the password
	p.At, p.Group, p.Client, p.Load1 = time.Now().UTC(), "sysbench, "+c.name(), "sysbench", load1()
	if program == c.programs[0] {
		p.Client = "brunt sysbench"
	}
	if err == nil {
		err = c.s.raw.AppendJSON(&p)
	}
	return p, err
}

// compare gives both programs their turns, and prints a line of the table.
func (c *sysbenchContest) compare(what string, goal float64, turn func(program string) (sample, error),
	figure func(*sample) float64) error {
	pairs, err := c.pairs(turn)
	if err == nil {
		c.row(what, goal, pairs, figure)
	}
	return err
}

// pairs gives both programs their turns, the first one alternating. It returns the results of each round in the order
// of the programs.
func (c *sysbenchContest) pairs(turn func(program string) (sample, error)) (pairs [][2]sample, err error) {
	for round := range c.rounds {
		var got [2]sample
		for i := range c.programs {
			k := (i + round) % 2
			time.Sleep(time.Second) // the server's work after the last turn
			if got[k], err = turn(c.programs[k]); err != nil {
				return nil, err
			}
		}
		pairs = append(pairs, got)
	}
	return pairs, nil
}

// row prints a line of the table: a figure of both programs, and their ratio.
func (c *sysbenchContest) row(what string, goal float64, pairs [][2]sample, figure func(*sample) float64) {
	var all [2][]float64
	var ratios []float64
	each := ""
	for i := range pairs {
		a, b := figure(&pairs[i][0]), figure(&pairs[i][1])
		all[0], all[1] = append(all[0], a), append(all[1], b)
		ratios = append(ratios, a/b)
		each += " " + strconv.FormatFloat(a/b, 'f', 2, 64)
	}
	note := ""
	if goal > 0 {
		note = fmt.Sprintf(", goal %.1f", goal)
	}
	fmt.Printf("| %s | %s | %.2f | %.2f | %.2f (%s )%s |\n", c.name(), what, median(all[0]), median(all[1]),
		median(ratios), each, note)
}
