package main

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"brunt/test/testserver"
)

// benchmarkTPC compares TPC-C with go-tpc, if a program of that name is installed: first how fast the tables are
// filled, by several sessions of brunt, by one, and by go-tpc, then the load on these tables. Keys, indexes and the
// planner's statistics are part of brunt's time for filling.
func benchmarkTPC(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("tpc", flag.ContinueOnError)
	times := f.Int("rounds", 1, "how often each client fills its tables")
	warehouses := f.Int("warehouses", 10, "warehouses")
	turns := f.Int("turns", 2, "how often each client sends the load")
	seconds := f.Int("seconds", 30, "length of such a turn")
	terminals := f.Int("terminals", 8, "terminals, without keying and think times")
	return withStand(ctx, f, args, func(s *stand) error {
		if *times < 1 {
			return fmt.Errorf("-rounds %d: the load needs tables", *times)
		}
		program, err := exec.LookPath("go-tpc")
		if err != nil {
			fmt.Println("go-tpc isn't installed, so it has no turn: build it outside of brunt, and add its folder to PATH")
		}
		pg, err := s.started(testserver.Postgres(s.tb, testserver.Settings("shared_buffers = 1GB", "max_wal_size = 8GB")))
		if err != nil {
			return err
		}
		c := newTPCContest(s, pg, program, *warehouses, *terminals)
		if _, err := c.psql(pg.Database, "CREATE DATABASE "+tpcPeerDatabase); err != nil {
			return err
		}
		g := s.tpcGroup(pg, program, *warehouses)
		results, err := s.measure(&g, rounds{least: *times, duration: time.Second})
		if err != nil {
			return err
		}
		printFilling(results)
		for name, all := range results {
			if last := all[len(all)-1]; last.Fault != "" {
				return fmt.Errorf("%s: %s", name, last.Fault)
			}
		}
		return c.run(*turns, time.Duration(*seconds)*time.Second)
	})
}

func printFilling(results map[string][]sample) {
	fmt.Printf("| client | whole, s (median) | of brunt's | client CPU, s |\n|---|---|---|---|\n")
	own := 0.0
	for _, c := range []string{tpcSeveral, tpcOne, tpcPeer} {
		var whole, cpu []float64
		for i := range results[c] {
			p := &results[c][i]
			if p.Fault != "" {
				fmt.Printf("%s: %s\n", c, p.Fault)
				continue
			}
			whole, cpu = append(whole, p.WallS), append(cpu, p.CPUUs*float64(p.Requests)/1e6)
		}
		if len(whole) == 0 {
			continue
		}
		if own == 0 {
			own = median(whole)
		}
		fmt.Printf("| %s | %.1f | %.2f | %.1f |\n", c, median(whole), median(whole)/own, median(cpu))
	}
	fmt.Println()
}

// The clients.
const (
	tpcSeveral = "brunt tpcc load"
	tpcOne     = "brunt tpcc load --sessions 1"
	tpcPeer    = "go-tpc tpcc prepare"
)

// tpcPeerDatabase is go-tpc's database.
const tpcPeerDatabase = "gotpc"

func (s *stand) tpcGroup(pg *testserver.Server, program string, warehouses int) group {
	return group{name: "tpc", open: func(*stand) ([]client, error) {
		clients := []client{
			{name: tpcOne, turn: func(time.Duration) (sample, error) { return s.tpccLoad(pg, warehouses, "1") }},
			{name: tpcSeveral, turn: func(time.Duration) (sample, error) { return s.tpccLoad(pg, warehouses, "4") }},
		}
		if program != "" {
			clients = append(clients, client{name: tpcPeer, turn: func(time.Duration) (sample, error) {
				return s.goTPC(pg, program, warehouses)
			}})
		}
		return clients, nil
	}}
}

func (s *stand) tpccLoad(pg *testserver.Server, warehouses int, sessions string) (sample, error) {
	where := []string{"--proto", "pg", "-a", pg.Addr, "-u", pg.User, "--database", pg.Database}
	if _, err := s.do(nil, s.brunt.program, append([]string{"tpcc", "drop", "--force"}, where...)...); err != nil {
		return sample{}, err
	}
	args := append([]string{"tpcc", "load", "--quiet", "--warehouses", strconv.Itoa(warehouses), "--sessions", sessions},
		where...)
	return s.turn(nil, s.brunt.program, args, func(out string, p *sample) error {
		rows := findFloat(`(\d+) rows in`, out)
		p.Requests, p.RowsPerS = uint64(rows), findFloat(`included: (\d+) rows/s`, out)
		return nil
	})
}

// goTPC has go-tpc load the same tables with as many threads, without its check.
func (s *stand) goTPC(pg *testserver.Server, program string, warehouses int) (sample, error) {
	where := goTPCWhere(pg, warehouses, 4)
	if _, err := s.do(nil, program, append(where, "cleanup")...); err != nil {
		return sample{}, err
	}
	return s.turn(nil, program, append(where, "prepare", "--no-check"), func(_ string, p *sample) error {
		p.Requests = 5_000_000 * uint64(warehouses) / 10
		return nil
	})
}

// goTPCWhere returns go-tpc's arguments that name its database and the size of the load.
func goTPCWhere(pg *testserver.Server, warehouses, threads int) []string {
	return slices.Clip([]string{"tpcc", "-d", "postgres", "-H", pg.Host, "-P", strconv.Itoa(pg.Port), "-U", pg.User,
		"-D", tpcPeerDatabase, "--conn-params", "sslmode=disable", "--warehouses", strconv.Itoa(warehouses), "-T",
		strconv.Itoa(threads)})
}
