// Command bench compares brunt with its peers on this machine. Servers use one half of the cores and clients the other
// half. The clients take turns, one at a time.
//
//	make bench-wire     CPU per request, by protocol and load
//	make bench-load     rows per second into a table
//	make bench-tpc      TPC-C next to go-tpc: loading of its tables, and the load
//	make bench-memory   memory over a run of 100 million requests
//	make bench-soak     memory and pace over an hour at 20 000 requests a second
//	make bench-ycsb     brunt ycsb next to go-ycsb
//	make bench-pgbench  brunt pgbench next to pgbench
//	make bench-sysbench brunt sysbench next to sysbench
//	make bench-etcd     brunt etcd-benchmark next to etcd's own benchmark
//	make bench-grpc     brunt grpc next to ghz and h2load
//	make bench-jmeter   brunt jmeter next to JMeter: CPU and memory of one test plan
//	make bench-scale    a coordinator with 1 000 simulated workers; four workers next to one process
//	make bench-best     the best ratios of all raw runs, with which wire and ycsb compare theirs
//
// docs/benchmarks.md describes what is measured, and how to provide peers that aren't installed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(
			"say what to measure: wire, load, tpc, etcd, grpc, jmeter, memory, soak, ycsb, pgbench, sysbench or scale; or " +
				"best, for the best ratios of all raw runs")
	}
	switch args[0] {
	case "wire":
		return wire(ctx, args[1:])
	case "load":
		return loading(ctx, args[1:])
	case "tpc":
		return benchmarkTPC(ctx, args[1:])
	case "memory":
		return memory(ctx, args[1:])
	case "soak":
		return soak(ctx, args[1:])
	case "ycsb":
		return comparing(ctx, args[1:])
	case "pgbench":
		return pgbenching(ctx, args[1:])
	case "sysbench":
		return sysbenching(ctx, args[1:])
	case "etcd":
		return etcdBenching(ctx, args[1:])
	case "grpc":
		return grpcBenching(ctx, args[1:])
	case "jmeter":
		return jmeterBenching(ctx, args[1:])
	case "scale":
		return scaling(ctx, args[1:])
	case "best":
		return finding(args[1:])
	case coordinatorCommand:
		return coordinate(args[1:])
	case workersCommand:
		return work(args[1:])
	case receiverCommand:
		return receive(args[1:])
	}
	return fmt.Errorf("unknown measurement %q: there are wire, load, tpc, etcd, grpc, jmeter, memory, soak, ycsb, "+
		"pgbench, sysbench, scale and best", args[0])
}

// wire measures all groups in rounds and prints the table of goals.
func wire(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("wire", flag.ContinueOnError)
	quiet := f.Int("rounds", 5, "how many quiet rounds there are to be")
	most := f.Int("most", 12, "how many rounds there are at most")
	lost := f.Float64("stolen", mostStolen,
		"share of all cores' time, taken by the hypervisor, beyond which a round isn't quiet")
	seconds := f.Int("seconds", 4, "length of a turn")
	only := onlyFlag(f)
	older := olderFlag(f)
	return withStand(ctx, f, args, func(s *stand) error {
		s.older = *older
		var lines []line
		for _, g := range groups() {
			if !only.MatchString(g.name) {
				continue
			}
			results, err := s.measure(&g, rounds{least: *quiet, most: *most, stolen: *lost,
				duration: time.Duration(*seconds) * time.Second})
			if err != nil {
				return fmt.Errorf("%s: %w", g.name, err)
			}
			lines = append(lines, judge(&g, results)...)
		}
		printTable(os.Stdout, lines)
		return s.best.compare(os.Stdout, lines)
	})
}

func olderFlag(f *flag.FlagSet) *[]build {
	older := &[]build{}
	f.Func("older", "the path of an older build of brunt, which takes turns with this one; may be repeated",
		func(path string) error {
			b, err := olderBuild(path)
			for _, o := range *older {
				if filepath.Base(o.program) == filepath.Base(path) {
					return fmt.Errorf("another older build is called %s, and the table tells them by that: rename one",
						filepath.Base(path))
				}
			}
			*older = append(*older, b)
			return err
		})
	return older
}

func onlyFlag(f *flag.FlagSet) *regexp.Regexp {
	only := &regexp.Regexp{}
	f.TextVar(only, "only", regexp.MustCompile(""), "measure only the groups whose name matches this regular expression")
	return only
}

// withStand parses the flags of a measurement, creates its stand, runs it, and prints where the raw results are.
func withStand(ctx context.Context, f *flag.FlagSet, args []string, measure func(*stand) error) error {
	out := f.String("out", "docs/bench", "folder for the raw runs")
	if err := f.Parse(args); err != nil {
		return err
	}
	s, err := newStand(ctx, *out, f.Name())
	if err != nil {
		return err
	}
	defer s.close()
	err = measure(s)
	fmt.Printf("\nraw runs: %s\n", s.raw.Name())
	return err
}
