package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// line is a row of the table.
type line struct {
	goal
	fault              string
	oursUs, peerUs     float64 // medians of CPU a request
	median, least, top float64 // of the rounds' ratios
	oursP99, peerP99   float64 // medians, µs; 0 if not known
	lag, seen          float64 // medians of ours' lag p99, µs; 0 if not known
}

// judge compares the clients of a group round by round.
func judge(g *group, results map[string][]sample) []line {
	var lines []line
	for _, want := range g.goals {
		l := line{goal: want}
		var ratios []float64
		peers := make(map[int]*sample)
		for i := range results[want.peer] {
			p := &results[want.peer][i]
			if l.fault = cmp.Or(l.fault, p.Fault); p.Fault == "" {
				peers[p.Round] = p
			}
		}
		for i := range results[want.ours] {
			o := &results[want.ours][i]
			l.fault = cmp.Or(l.fault, o.Fault)
			if p := peers[o.Round]; p != nil && o.Fault == "" {
				ratios = append(ratios, o.CPUUs/p.CPUUs)
			}
		}
		of := func(client string, f func(*sample) float64) float64 {
			var all []float64
			for i := range results[client] {
				if p := &results[client][i]; p.Fault == "" {
					all = append(all, f(p))
				}
			}
			return median(all)
		}
		cpu := func(p *sample) float64 { return p.CPUUs }
		p99 := func(p *sample) float64 { return p.P99Us }
		l.oursUs, l.peerUs = of(want.ours, cpu), of(want.peer, cpu)
		l.oursP99, l.peerP99 = of(want.ours, p99), of(want.peer, p99)
		l.lag = of(want.ours, func(p *sample) float64 { return p.LagP99Us })
		l.seen = of(want.ours, func(p *sample) float64 { return p.SeenP99Us })
		if len(ratios) > 0 {
			l.median, l.least, l.top = median(ratios), slices.Min(ratios), slices.Max(ratios)
		}
		lines = append(lines, l)
	}
	return lines
}

// median is the middle value, or the mean of the two in the middle; 0 of nothing.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// reached says whether the goal is met; "–" where there is none or nothing to compare.
func (l *line) reached() string {
	missed := []string{}
	if l.ratio > 0 {
		if l.median == 0 {
			return "not measured"
		}
		if l.median > l.ratio {
			missed = append(missed, "CPU")
		}
	}
	if l.lagP99Us > 0 && max(l.lag, l.seen) > l.lagP99Us {
		missed = append(missed, "lag")
	}
	if l.tail && l.peerP99 > 0 && l.oursP99 > l.peerP99 {
		missed = append(missed, "p99")
	}
	switch {
	case len(missed) > 0:
		return "no: " + strings.Join(missed, ", ")
	case l.ratio == 0 && l.lagP99Us == 0 && (!l.tail || l.oursP99 == 0 || l.peerP99 == 0):
		return "–"
	}
	return "yes"
}

func (l *line) wants() string {
	var all []string
	if l.ratio > 0 {
		all = append(all, fmt.Sprintf("≤ %.2f", l.ratio))
	}
	if l.lagP99Us > 0 {
		all = append(all, fmt.Sprintf("lag ≤ %.0f µs", l.lagP99Us))
	}
	if l.tail && l.peerP99 > 0 {
		all = append(all, "p99 ≤ peer's")
	}
	return strings.Join(all, ", ")
}

func number(f float64, digits int) string {
	if f == 0 {
		return "–"
	}
	return fmt.Sprintf("%.*f", digits, f)
}

func printTable(w io.Writer, lines []line) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| work\t| peer\t| ours µs/req\t| peer's µs/req\t| ratio (min–max)\t| p99 ours/peer µs\t| lag p99 own/seen µs\t| goal\t| reached\t|")
	fmt.Fprintln(t, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for i := range lines {
		l := &lines[i]
		ratio := "–"
		if l.median > 0 {
			ratio = fmt.Sprintf("%.2f (%.2f–%.2f)", l.median, l.least, l.top)
		}
		fmt.Fprintf(t, "| %s\t| %s\t| %s\t| %s\t| %s\t| %s / %s\t| %s / %s\t| %s\t| %s\t|\n", l.work, cmp.Or(l.peer, "–"),
			number(l.oursUs, 2), number(l.peerUs, 2), ratio, number(l.oursP99, 0), number(l.peerP99, 0),
			number(l.lag, 1), number(l.seen, 1), l.wants(), l.reached())
	}
	t.Flush()
	for i := range lines {
		if l := &lines[i]; l.fault != "" {
			fmt.Fprintf(w, "%s, %s: %s\n", l.work, cmp.Or(l.peer, l.ours), l.fault)
		}
	}
}
