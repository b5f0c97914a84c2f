package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/test/testserver"
)

// pgbenchLoadGoal is the goal for the time of -i, relative to pgbench's.
const pgbenchLoadGoal = 1 / 1.5

// pgbenching compares brunt pgbench with pgbench on one server, in turns: the client's CPU time of a transaction, the
// lag with -R, and the time of -i.
func pgbenching(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("pgbench", flag.ContinueOnError)
	rounds := f.Int("rounds", 3, "how often each client has its turn")
	seconds := f.Int("seconds", 5, "length of a turn")
	scale := f.Int("scale", 20, "scale of the tables")
	rate := f.Int("rate", 2000, "transactions a second with -R")
	return withStand(ctx, f, args, func(s *stand) error {
		pg, program, err := s.pgbench()
		if err != nil {
			return err
		}
		mine := filepath.Join(s.dir, "pgbench")
		if err := os.Symlink(s.brunt.program, mine); err != nil {
			return err
		}
		c := &pgbenchContest{s: s, pg: pg, programs: [2]string{mine, program}, rounds: *rounds}
		fmt.Println("| what | brunt | pgbench | ratio (each round) | goal |\n|---|---|---|---|---|")
		wall := func(p *sample) float64 { return p.WallS }
		size := strconv.Itoa(*scale)
		for _, line := range []string{"-i -s " + size, "-i -s " + size + " --partitions=4"} {
			if err := c.compare(line+", s", pgbenchLoadGoal, wall, append(strings.Fields(line), "-q")...); err != nil {
				return err
			}
			c.sayServer(line)
		}
		length := strconv.Itoa(*seconds)
		for _, line := range []string{"-S -c 16", "-S -c 16 -M prepared", "-c 8", "-c 8 -M prepared"} {
			args := append(strings.Fields(line), "-n", "-T", length)
			if err := c.perTransaction(line, args); err != nil {
				return err
			}
		}
		lag := func(p *sample) float64 { return p.LagP99Us }
		return c.compare(fmt.Sprintf("-S -c 16 -R %d, lag p99 µs", *rate), 1, lag, "-S", "-c", "16", "-R",
			strconv.Itoa(*rate), "-n", "-T", length, "-l", "--log-prefix="+filepath.Join(s.dir, "lag"))
	})
}

// pgbenchContest is a comparison on one server.
type pgbenchContest struct {
	s        *stand
	pg       *testserver.Server
	programs [2]string // brunt, pgbench
	rounds   int
	medians  [2]float64   // of the last comparison
	server   [2][]float64 // CPU time of the server in the last comparison, in seconds
}

// sayServer prints the CPU time that the server had for what was compared last. It is the least that a client can reach
// on one core, however little it does itself.
func (c *pgbenchContest) sayServer(what string) {
	mine, theirs := median(c.server[0]), median(c.server[1])
	fmt.Printf("| %s, the server's CPU s | %.2f | %.2f | %.2f | |\n", what, mine, theirs, mine/theirs)
}

// perTransaction compares the CPU time of a transaction, and prints that of a run of one transaction of each client:
// what a run costs besides, such as the record that brunt keeps. It isn't part of the former.
func (c *pgbenchContest) perTransaction(line string, args []string) error {
	whole := func(p *sample) float64 { return (p.UserS + p.SysS) * 1000 }
	short := append(strings.Fields(line), "-n", "-t", "1")
	if err := c.compare(line+" -t 1, CPU ms", 0, whole, short...); err != nil {
		return err
	}
	constant := map[string]float64{"brunt pgbench": c.medians[0], "pgbench": c.medians[1]} // by client
	each := func(p *sample) float64 { return (whole(p) - constant[p.Client]) * 1000 / float64(p.Requests) }
	return c.compare(line+", CPU µs/transaction", 1, each, args...)
}

// compare runs a command line by both programs in turns, and prints the medians and the ratios of a figure.
func (c *pgbenchContest) compare(what string, goal float64, of func(*sample) float64, args ...string) error {
	var figures [2][]float64
	var ratios []string
	c.server = [2][]float64{}
	for range c.rounds {
		for i, program := range c.programs {
			before := serverSeconds(c.pg.PID)
			p, err := c.turn(program, args)
			if err != nil {
				return err
			}
			figures[i] = append(figures[i], of(&p))
			c.server[i] = append(c.server[i], serverSeconds(c.pg.PID)-before)
		}
		last := len(figures[0]) - 1
		ratios = append(ratios, fmt.Sprintf("%.2f", figures[0][last]/figures[1][last]))
	}
	mine, theirs := median(figures[0]), median(figures[1])
	c.medians = [2]float64{mine, theirs}
	wanted := ""
	if goal > 0 {
		wanted = fmt.Sprintf("≤ %.2f", goal)
	}
	fmt.Printf("| %s | %.2f | %.2f | %.2f (%s) | %s |\n", what, mine, theirs, mine/theirs, strings.Join(ratios, ", "),
		wanted)
	return nil
}

// turn runs a command line of a program.
func (c *pgbenchContest) turn(program string, args []string) (sample, error) {
	args = slices.Concat(pgbenchWhere(c.pg), args, []string{c.pg.Database})
	p, err := c.s.turn(nil, program, args, func(out string, p *sample) error {
		p.Requests = 1
		if !slices.Contains(args, "-i") {
			p.Requests = find(`transactions actually processed: (\d+)`, out)
		}
		if slices.Contains(args, "-l") {
			return c.lag(p)
		}
		return nil
	})
	p.Command = c.s.plain(program, args)
	p.At, p.Group, p.Client, p.Load1 = time.Now().UTC(), "pgbench", "pgbench", load1()
	if program == c.programs[0] {
		p.Client = "brunt pgbench"
	}
	if err == nil {
		err = c.s.raw.AppendJSON(&p)
	}
	return p, err
}

// lag reads and removes the logs. The last field of a line is the lag in µs.
func (c *pgbenchContest) lag(p *sample) error {
	files, _ := filepath.Glob(filepath.Join(c.s.dir, "lag.*"))
	var all []float64
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			us, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			if err != nil {
				return err
			}
			all = append(all, us)
		}
		os.Remove(name)
	}
	if len(all) == 0 {
		return fmt.Errorf("no log of transactions")
	}
	slices.Sort(all)
	p.LagP50Us, p.LagP99Us = all[len(all)/2], all[len(all)*99/100]
	return nil
}
