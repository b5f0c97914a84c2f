package main

import (
	"cmp"
	"fmt"
	"io"
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
		l.oursPerS, l.oursUs, l.fault = medians(results[ours])
		var fault string
		l.peerPerS, l.peerUs, fault = medians(results[peerName])
		l.fault = cmp.Or(l.fault, fault)
		pairs, _ := (&goal{ours: ours, peer: peerName}).pairs(results)
		for _, p := range pairs {
			l.perS, l.cpu = append(l.perS, p.ours.PerS/p.peer.PerS), append(l.cpu, p.ours.CPUUs/p.peer.CPUUs)
		}
		lines = append(lines, l)
	}
	return lines
}

// medians are of the turns in which a client did its work; fault is what went wrong in another.
func medians(turns []sample) (perS, cpuUs float64, fault string) {
	var rates, costs []float64
	for i := range turns {
		if s := &turns[i]; s.Fault != "" {
			fault = s.Fault
		} else {
			rates, costs = append(rates, s.PerS), append(costs, s.CPUUs)
		}
	}
	return median(rates), median(costs), fault
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
