package main

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"brunt/test/testserver"
)

// benchmarkLoads compares how fast TPC-C's tables are filled: by several sessions of brunt, by one, and by go-tpc, if
// a program of that name is installed. Keys, indexes and the planner's statistics are part of brunt's time.
func benchmarkLoads(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("tpc", flag.ContinueOnError)
	times := f.Int("rounds", 1, "how often each client has its turn")
	warehouses := f.Int("warehouses", 10, "warehouses")
	return withStand(ctx, f, args, func(s *stand) error {
		g := tpcGroup(*warehouses)
		results, err := s.measure(&g, rounds{least: *times, duration: time.Second})
		if err != nil {
			return err
		}
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
		if _, err := exec.LookPath("go-tpc"); err != nil {
			fmt.Println("go-tpc isn't installed, so it has no turn: build it outside of brunt, and add its folder to PATH")
		}
		return nil
	})
}

// The clients.
const (
	tpcSeveral = "brunt tpcc load"
	tpcOne     = "brunt tpcc load --sessions 1"
	tpcPeer    = "go-tpc tpcc prepare"
)

func tpcGroup(warehouses int) group {
	return group{name: "tpc", open: func(s *stand) ([]client, error) {
		pg, err := s.started(testserver.Postgres(s.tb, testserver.Settings("shared_buffers = 1GB", "max_wal_size = 8GB")))
		if err != nil {
			return nil, err
		}
		clients := []client{
			{name: tpcSeveral, turn: func(time.Duration) (sample, error) { return s.tpccLoad(pg, warehouses, "4") }},
			{name: tpcOne, turn: func(time.Duration) (sample, error) { return s.tpccLoad(pg, warehouses, "1") }},
		}
		if program, err := exec.LookPath("go-tpc"); err == nil {
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
	where := []string{"tpcc", "-d", "postgres", "-H", pg.Host, "-P", strconv.Itoa(pg.Port), "-U", pg.User,
		"-D", pg.Database, "--conn-params", "sslmode=disable", "--warehouses", strconv.Itoa(warehouses), "-T", "4"}
	if _, err := s.do(nil, program, append(where, "cleanup")...); err != nil {
		return sample{}, err
	}
	return s.turn(nil, program, append(where, "prepare", "--no-check"), func(_ string, p *sample) error {
		p.Requests = 5_000_000 * uint64(warehouses) / 10
		return nil
	})
}
