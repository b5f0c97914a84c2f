//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/inspect/process"
	"brunt/internal/protocol"
	"brunt/test/testserver"
)

// asking are the flags of what is measured, each with a value.
var asking = []string{"--inspect", "--watch"}

// without returns flags without those that ask the server or watch its process.
func without(flags []string) (out []string) {
	for i := 0; i < len(flags); i++ {
		if slices.Contains(asking, flags[i]) {
			i++
			continue
		}
		out = append(out, flags[i])
	}
	return out
}

// cost is what one side of a healthy row cost.
type cost struct {
	cpuUs   []float64 // of the server for each operation
	share   []float64 // of a core, of the server, during the load
	aroundS []float64 // CPU of the server before and after that
	p99Us   []float64
	observe []float64 // share of a core that brunt used to observe the server's process
}

// costs sends the load of the first healthy row of each system with and without asking, by turns, and prints the
// server's CPU for an operation, the p99, and what asking takes of a core, each the median of the rounds. The share of
// asking is the median of the differences of neighbouring turns.
func (st *stage) costs(ctx context.Context, chosen []row, rounds int, w io.Writer) error {
	fmt.Fprintln(w, "| System | Server's CPU for an operation, without | with | p99, without | with | Asking during the "+
		"load, of a core of the server | before and after it | Observing, of a core of brunt |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|---:|---:|---:|")
	seen := map[string]bool{}
	for i := range chosen {
		if !chosen[i].healthy() || seen[chosen[i].System] {
			continue
		}
		seen[chosen[i].System] = true
		sides, err := st.costOf(ctx, &chosen[i], rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", chosen[i].name(), err)
		}
		var differences []float64
		for k := range min(len(sides[0].share), len(sides[1].share)) {
			differences = append(differences, sides[1].share[k]-sides[0].share[k])
		}
		fmt.Fprintf(w, "| %s | %.0f µs | %.0f µs | %.0f µs | %.0f µs | %.2f %% | %.0f ms | %.2f %% |\n", chosen[i].System,
			middle(sides[0].cpuUs), middle(sides[1].cpuUs), middle(sides[0].p99Us), middle(sides[1].p99Us),
			100*middle(differences), 1000*(middle(sides[1].aroundS)-middle(sides[0].aroundS)), 100*middle(sides[1].observe))
	}
	return nil
}

// The CPU of a load is read from its first interval, which lasts a second, until some time before its end: what is
// asked right before and after the load isn't part of it.
const (
	firstInterval = time.Second
	endOfLoad     = 500 * time.Millisecond
)

// costOf returns what the two sides of a row cost: without asking, and with it. The turns before the rounds fill the
// server and warm it up.
func (st *stage) costOf(ctx context.Context, chosen *row, rounds int) (sides [2]cost, err error) {
	within := st.length - firstInterval - endOfLoad
	for round := range rounds + 1 {
		for k := range 2 {
			side := (round + k) % 2
			r := *chosen
			if round > 0 {
				r.Prepare = nil // it is there
			} else if k > 0 {
				break
			}
			if side == 0 {
				r.Flags = func(sc *scene) []string { return without(chosen.Flags(sc)) }
			}
			inLoad := 0.0
			r.During = func(ctx context.Context, sc *scene) {
				if sc.recorded(ctx, 1) {
					began := st.ran(&r)
					protocol.Sleep(ctx, within)
					inLoad = st.ran(&r) - began
				}
			}
			before := st.used(&r)
			o, err := st.do(ctx, &r)
			if err != nil {
				return sides, err
			}
			if round == 0 {
				continue
			}
			used, of := st.used(&r)-before, &sides[side]
			of.cpuUs = append(of.cpuUs, used*1e6/max(o.PerS*st.length.Seconds(), 1))
			of.share = append(of.share, inLoad/within.Seconds())
			of.aroundS = append(of.aroundS, used-inLoad)
			of.p99Us, of.observe = append(of.p99Us, o.P99Us), append(of.observe, o.Observe)
		}
	}
	return sides, nil
}

// used returns the processor time of a row's server so far, in s, or -1 if it doesn't run yet.
func (st *stage) used(r *row) (seconds float64) {
	s := st.servers[r.Server]
	if s == nil {
		return -1
	}
	for _, pid := range append([]int{s.PID}, testserver.Descendants(s.PID)...) {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		f := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		// fields 14 to 17, in clock ticks of 10 ms: those of the process and of its children that have ended
		for k := 11; k < 15 && k < len(f); k++ {
			n, _ := strconv.ParseFloat(f[k], 64)
			seconds += n / 100
		}
	}
	return seconds
}

// ran returns for how long the threads of a row's server have run, in s: those that there are, to the nanosecond.
func (st *stage) ran(r *row) (seconds float64) {
	s := st.servers[r.Server]
	if s == nil {
		return 0
	}
	for _, pid := range append([]int{s.PID}, testserver.Descendants(s.PID)...) {
		ns, _ := process.Scheduled(pid, true)
		seconds += ns / 1e9
	}
	return seconds
}

func middle(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
