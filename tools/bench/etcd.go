package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"brunt/test/testserver"
)

// etcdBenching compares brunt etcd-benchmark with etcd's own benchmark: the same commands on one etcd, in turns.
func etcdBenching(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("etcd", flag.ContinueOnError)
	times := f.Int("rounds", 4, "how often each client has its turn")
	program := f.String("benchmark", "", "etcd's benchmark: go build ./tools/benchmark in its sources")
	return withStand(ctx, f, args, func(s *stand) error {
		theirs, missing := tool(*program, "benchmark",
			"build it in etcd's sources (go build ./tools/benchmark), and name it with -benchmark")
		if missing != "" {
			return fmt.Errorf("%s", missing)
		}
		mine := filepath.Join(s.dir, "benchmark")
		if err := os.Symlink(s.brunt.program, mine); err != nil {
			return err
		}
		server, err := s.started(testserver.Etcd(s.tb))
		if err != nil {
			return err
		}
		c := &sysbenchContest{s: s, where: []string{"--endpoints=" + server.Addr, "--conns=8", "--clients=64"},
			programs: [2]string{mine, theirs}, rounds: *times, server: "etcd"}
		fmt.Println("| server | what | brunt | benchmark | ratio (each round) |\n|---|---|---|---|---|")
		for _, words := range []string{
			"put --total=30000 --key-space-size=10000 --val-size=64", "range foo --consistency=s --total=40000",
			"txn-put --txn-ops=4 --key-space-size=1000 --total=10000", "stm --keys=1000 --keys-per-txn=2 --total=4000",
		} {
			if err := c.etcd(strings.Fields(words)); err != nil {
				return err
			}
		}
		return nil
	})
}

// etcd compares a command of benchmark by the CPU time of a request.
func (c *sysbenchContest) etcd(words []string) error {
	_, total, _ := strings.Cut(words[len(words)-1], "--total=")
	for _, w := range words {
		if n, ok := strings.CutPrefix(w, "--total="); ok {
			total = n
		}
	}
	requests, err := strconv.ParseUint(total, 10, 64)
	if err != nil {
		return err
	}
	return c.compare(words[0]+", 64 clients over 8 connections, CPU µs/request", 0, func(program string) (sample, error) {
		args := append(append([]string{}, c.where...), words...)
		if program == c.programs[0] {
			args = append(args, "--no-record", "--quiet", "--awake=off")
		}
		return c.s.turn(nil, program, args, func(out string, p *sample) error {
			p.Requests, p.PerS = requests, findFloat(`Requests/sec:\s+([\d.]+)`, out)
			return nil
		})
	}, func(p *sample) float64 { return p.CPUUs })
}
