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
	cpuUs []float64 // of the server for each operation
	p99Us []float64
}

// costs sends the load of each healthy row with and without asking, by turns, and prints the server's CPU for an
// operation and the p99 of both, each the median of the rounds.
func (st *stage) costs(ctx context.Context, chosen []row, rounds int, w io.Writer) error {
	fmt.Fprintln(w, "| System, load | Server's CPU for an operation, without | with | p99, without | with |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|")
	for i := range chosen {
		if !chosen[i].healthy() {
			continue
		}
		var sides [2]cost
		for round := range rounds {
			for k := range 2 {
				side := (round + k) % 2
				r := chosen[i]
				if round+k > 0 {
					r.Prepare = nil // it is there
				}
				flags := r.Flags
				if side == 0 {
					r.Flags = func(sc *scene) []string { return without(flags(sc)) }
				}
				before := st.used(&r)
				o, err := st.do(ctx, &r)
				if err != nil {
					return fmt.Errorf("%s: %w", r.name(), err)
				}
				if before < 0 { // the server has just been started
					continue
				}
				used := (st.used(&r) - before) * 1e6
				sides[side].cpuUs = append(sides[side].cpuUs, used/max(o.PerS*st.length.Seconds(), 1))
				sides[side].p99Us = append(sides[side].p99Us, o.P99Us)
			}
		}
		fmt.Fprintf(w, "| %s | %.0f µs | %.0f µs | %.0f µs | %.0f µs |\n", chosen[i].name(), middle(sides[0].cpuUs),
			middle(sides[1].cpuUs), middle(sides[0].p99Us), middle(sides[1].p99Us))
	}
	return nil
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

func middle(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
