package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// fewestQuiet is the number of quiet rounds from which on a row uses only these.
const fewestQuiet = 3

// line is a row of the table.
type line struct {
	goal
	group            string // name of the group
	fault            string
	rounds, quiet    int       // measured rounds; quiet rounds if only these are used, otherwise 0
	oursUs, peerUs   float64   // medians of CPU per request, µs
	ratios           []float64 // ratios of CPU per request, by round
	oursP99, peerP99 float64   // medians of p99, µs; 0 if unknown
	oursPS, peerPS   float64   // medians of operations per second; 0 if unknown
	rates            []float64 // ratios of operations per second, by round
	lag, seen        float64   // medians of our p99 of lag: our own, and the receiver's; µs; 0 if unknown
}

// pair contains the turns of one round that a goal compares.
type pair struct{ ours, peer *sample }

func (p pair) quiet() bool { return p.ours.Quiet && p.peer.Quiet }

// pairs returns the turns of rounds in which both clients of a goal succeeded. A goal without a peer compares ours with
// itself. possible is false if one of the clients can't take part.
func (g *goal) pairs(results map[string][]sample) (all []pair, possible bool) {
	turns := make(map[int]*sample)
	possible = true
	of := func(client string, take func(s *sample)) {
		for i := range results[client] {
			s := &results[client][i]
			possible = possible && s.Round > 0
			if s.Fault == "" {
				take(s)
			}
		}
	}
	of(cmp.Or(g.peer, g.ours), func(s *sample) { turns[s.Round] = s })
	of(g.ours, func(s *sample) {
		if p := turns[s.Round]; p != nil {
			all = append(all, pair{s, p})
		}
	})
	return all, possible
}

// judge compares the clients of a group round by round. It uses only the quiet rounds if there are enough of them.
func judge(g *group, results map[string][]sample) []line {
	var lines []line
	for _, want := range g.goals {
		l := line{goal: want, group: g.name}
		for _, client := range []string{want.peer, want.ours} {
			for i := range results[client] {
				l.fault = cmp.Or(l.fault, results[client][i].Fault)
			}
		}
		pairs, _ := want.pairs(results)
		l.rounds = len(pairs)
		if quiet := slices.DeleteFunc(slices.Clone(pairs),
			func(p pair) bool { return !p.quiet() }); len(quiet) >= fewestQuiet {
			pairs, l.quiet = quiet, len(quiet)
		}
		of := func(f func(pair) float64) float64 {
			all := make([]float64, 0, len(pairs))
			for _, p := range pairs {
				all = append(all, f(p))
			}
			return median(all)
		}
		l.oursUs, l.oursP99, l.oursPS = of(func(p pair) float64 { return p.ours.CPUUs }),
			of(func(p pair) float64 { return p.ours.P99Us }), of(func(p pair) float64 { return p.ours.PerS })
		l.lag, l.seen = of(func(p pair) float64 { return p.ours.LagP99Us }),
			of(func(p pair) float64 { return p.ours.SeenP99Us })
		if want.peer != "" && len(pairs) > 0 {
			l.peerUs, l.peerP99, l.peerPS = of(func(p pair) float64 { return p.peer.CPUUs }),
				of(func(p pair) float64 { return p.peer.P99Us }), of(func(p pair) float64 { return p.peer.PerS })
			for _, p := range pairs {
				l.ratios, l.rates = append(l.ratios, p.ours.CPUUs/p.peer.CPUUs), append(l.rates, p.ours.PerS/p.peer.PerS)
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// basis describes which rounds a row uses.
func (l *line) basis() string {
	if l.quiet == 0 {
		return fmt.Sprintf("%d, noisy", l.rounds)
	}
	return fmt.Sprintf("%d of %d", l.quiet, l.rounds)
}

// spread formats values as their median, minimum and maximum.
func spread(v []float64) string {
	if len(v) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", median(v), slices.Min(v), slices.Max(v))
}

// median returns the middle value, or the mean of the two middle values; 0 if there are none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// reached describes whether the goal is met. It returns "–" if there is no goal or nothing to compare.
func (l *line) reached() string {
	missed := []string{}
	if (l.ratio > 0 || l.rate > 0) && len(l.ratios) == 0 {
		return "not measured"
	}
	if l.rate > 0 && median(l.rates) < l.rate {
		missed = append(missed, "rate")
	}
	if l.ratio > 0 && median(l.ratios) > l.ratio {
		missed = append(missed, "CPU")
	}
	if l.costUs > 0 && l.oursUs > l.costUs {
		missed = append(missed, "CPU")
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
	case l.ratio == 0 && l.rate == 0 && l.costUs == 0 && l.lagP99Us == 0 && (!l.tail || l.oursP99 == 0 || l.peerP99 == 0):
		return "–"
	}
	return "yes"
}

func (l *line) wants() string {
	var all []string
	if l.rate > 0 {
		all = append(all, fmt.Sprintf("rate ≥ %.1f", l.rate))
	}
	if l.ratio > 0 {
		all = append(all, fmt.Sprintf("CPU ≤ %.2f", l.ratio))
	}
	if l.costUs > 0 {
		all = append(all, fmt.Sprintf("CPU ≤ %.0f µs", l.costUs))
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

// printLines prints the cells that row returns for each line as a Markdown table, followed by the faults.
func printLines(w io.Writer, lines []line, row func(*line) []string, heads ...string) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	put := func(cells []string) { fmt.Fprintf(t, "| %s\t|\n", strings.Join(cells, "\t| ")) }
	put(heads)
	fmt.Fprintf(t, "%s|\n", strings.Repeat("|---\t", len(heads)))
	for i := range lines {
		put(row(&lines[i]))
	}
	t.Flush()
	for i := range lines {
		if l := &lines[i]; l.fault != "" {
			fmt.Fprintf(w, "%s, %s: %s\n", l.work, cmp.Or(l.peer, l.ours), l.fault)
		}
	}
}

// printTable prints the results of groups: CPU, latency and lag.
func printTable(w io.Writer, lines []line) {
	both := func(a, b float64, digits int) string { return number(a, digits) + " / " + number(b, digits) }
	printLines(w, lines, func(l *line) []string {
		return []string{l.work, cmp.Or(l.peer, "–"), number(l.oursUs, 2), number(l.peerUs, 2), spread(l.ratios), l.basis(),
			both(l.oursPS, l.peerPS, 0), both(l.oursP99, l.peerP99, 0), both(l.lag, l.seen, 1), l.wants(), l.reached()}
	}, "work", "peer", "ours µs/req", "peer's µs/req", "ratio (min–max)", "quiet rounds", "per s ours/peer",
		"p99 ours/peer µs", "lag p99 own/seen µs", "goal", "reached")
}

// printRates prints the results of contests: operations per second and CPU.
func printRates(w io.Writer, lines []line) {
	printLines(w, lines, func(l *line) []string {
		return []string{l.work, l.ours, l.peer, number(l.oursPS, 0), number(l.peerPS, 0), spread(l.rates), l.basis(),
			number(l.oursUs, 1), number(l.peerUs, 1), spread(l.ratios), l.wants(), l.reached()}
	}, "work", "client", "peer", "ops/s", "peer's ops/s", "rate ratio (min–max)", "quiet rounds", "CPU µs/op",
		"peer's µs/op", "CPU ratio (min–max)", "goal", "reached")
}
