package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// ratioLine is a row of the table beside go-ycsb.
type ratioLine struct {
	work, ours, fault  string
	oursPerS, peerPerS float64 // medians of operations a second
	oursUs, peerUs     float64 // medians of CPU an operation
	perS, cpu          []float64
	leastPerS, mostCPU float64 // goals; 0 means none
}

// judge compares the clients of a contest round by round.
func (c *contest) judge(results map[string][]sample) []ratioLine {
	var lines []ratioLine
	for _, ours := range []string{oursName, oneByOneName} {
		if len(results[ours]) == 0 {
			continue
		}
		l := ratioLine{work: c.work, ours: ours}
		if l.leastPerS, l.mostCPU = 1, 0.6; c.load {
			l.leastPerS, l.mostCPU = 1.5, 0
		}
		peers := make(map[int]*sample)
		var all [4][]float64
		for i := range results[peerName] {
			p := &results[peerName][i]
			if p.Fault != "" {
				l.fault = p.Fault
				continue
			}
			peers[p.Round] = p
			all[1], all[3] = append(all[1], p.PerS), append(all[3], p.CPUUs)
		}
		for i := range results[ours] {
			o := &results[ours][i]
			if o.Fault != "" {
				l.fault = o.Fault
				continue
			}
			all[0], all[2] = append(all[0], o.PerS), append(all[2], o.CPUUs)
			if p := peers[o.Round]; p != nil {
				l.perS, l.cpu = append(l.perS, o.PerS/p.PerS), append(l.cpu, o.CPUUs/p.CPUUs)
			}
		}
		l.oursPerS, l.peerPerS, l.oursUs, l.peerUs = median(all[0]), median(all[1]), median(all[2]), median(all[3])
		lines = append(lines, l)
	}
	return lines
}

func (l *ratioLine) reached() string {
	switch {
	case len(l.perS) == 0:
		return "not measured"
	case median(l.perS) < l.leastPerS:
		return "no: rate"
	case l.mostCPU > 0 && median(l.cpu) > l.mostCPU:
		return "no: CPU"
	}
	return "yes"
}

func spread(v []float64) string {
	if len(v) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", median(v), slices.Min(v), slices.Max(v))
}

func printRatios(w io.Writer, lines []ratioLine) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| work\t| client\t| ops/s\t| go-ycsb's ops/s\t| rate ratio (min–max)\t| CPU µs/op\t| go-ycsb's µs/op\t| CPU ratio (min–max)\t| goal\t| reached\t|")
	fmt.Fprintln(t, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for i := range lines {
		l := &lines[i]
		goal := fmt.Sprintf("rate ≥ %.1f", l.leastPerS)
		if l.mostCPU > 0 {
			goal += fmt.Sprintf(", CPU ≤ %.1f", l.mostCPU)
		}
		fmt.Fprintf(t, "| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t| %s\t|\n", l.work, l.ours, number(l.oursPerS, 0), number(l.peerPerS, 0),
			spread(l.perS), number(l.oursUs, 1), number(l.peerUs, 1), spread(l.cpu), goal, l.reached())
	}
	t.Flush()
	for i := range lines {
		if lines[i].fault != "" {
			fmt.Fprintf(w, "%s: %s\n", lines[i].work, lines[i].fault)
		}
	}
}
