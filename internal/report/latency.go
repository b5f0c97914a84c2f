package report

import (
	"fmt"
	"math"
	"strings"

	"brunt/internal/record"
	"brunt/internal/units"
)

var quantileColumns = []column{
	{head: "mean", priority: 3}, {head: "p50"}, {head: "p75", priority: 7}, {head: "p90", priority: 2}, {head: "p95", priority: 4},
	{head: "p99"}, {head: "p99.9", priority: 1}, {head: "p99.99", priority: 6}, {head: "max"},
}

// beyond is the share of values above each of quantileColumns. A quantile with less than one
// value beyond it is only the maximum again and isn't shown.
var beyond = [...]float64{1, 1, 1, 1, 1, 0.01, 0.001, 0.0001, 1}

// quantiles are a distribution's cells in the order of quantileColumns.
func quantiles(l *record.Latency, st style) []cell {
	out := make([]cell, len(quantileColumns))
	for i, ns := range []record.Ns{record.Ns(l.MeanNs), l.P50Ns, l.P75Ns, l.P90Ns, l.P95Ns, l.P99Ns, l.P999Ns, l.P9999Ns, l.MaxNs} {
		out[i] = cell{units.LatencyInt(ns), st}
		switch all := l.Count + l.NoAnswer; {
		case all == 0 || float64(all)*beyond[i] < 1, i == 0 && l.Count == 0:
			out[i] = cell{"–", dim}
		case ns == record.Infinite:
			out[i].style = red
		}
	}
	return out
}

// latencies is the table of operations: response and service time under each other.
func latencies(p *page, run *record.Run) {
	closed := run.LoadModel == "closed"
	note := "response: from the intended start · service: from the actual send"
	if run.Total.Response.NoAnswer > 0 {
		note = "response: of all arrivals, ∞ without a good answer · service: of successes, from the actual send"
	}
	if closed {
		note = "closed load: sessions wait for answers, so response = service"
	}
	p.heading("LATENCY", note)
	failed := column{head: "failed", priority: 5}
	if run.Total.Failed > 0 {
		failed.priority = 0
	}
	t := &table{columns: append([]column{{head: "operation", left: true}, {head: "rate/s"}, failed, {head: "time", left: true}}, quantileColumns...)}
	if closed {
		t.columns = append(t.columns[:3:3], quantileColumns...)
	}
	add := func(o *record.Operation, name string, st style) {
		failed := cell{units.Percent(o.Failed, o.Done), plain}
		if o.Failed > 0 {
			failed.style = red
		}
		row := []cell{{name, st}, {units.Rate(o.RatePerS), st}, failed}
		if closed {
			t.add(append(row, quantiles(&o.Service, st)...)...)
			return
		}
		t.add(append(append(row, cell{"response", plain}), quantiles(&o.Response, st)...)...)
		if o.Response.NoAnswer > 0 {
			t.add(append(append(cells("", "", ""), cell{"of successes", dim}), quantiles(&o.ResponseOK, dim)...)...)
		}
		t.add(append(append(cells("", "", ""), cell{"service", dim}), quantiles(&o.Service, dim)...)...)
	}
	if len(run.Operations) != 1 {
		add(&run.Total, "all", bold)
	}
	for i := range run.Operations {
		o := &run.Operations[i]
		mark := map[bool]string{true: "└─ ", false: "├─ "}[i == len(run.Operations)-1]
		if len(run.Operations) == 1 {
			mark = ""
		}
		add(o, mark+units.Clean(o.Name), plain)
	}
	p.grid(t)
}

// bucket is a row of the histogram: all values below an edge and not below the one before.
type bucket struct {
	fromNs, toNs float64
	count        uint64
}

// histogram draws the distribution of all operations' response times.
func histogram(p *page, run *record.Run) {
	rows := buckets(&run.Total.Response)
	if len(rows) < 2 {
		return
	}
	name := "RESPONSE TIME"
	if run.LoadModel == "closed" {
		name = "SERVICE TIME"
	}
	p.heading(name, "share of successful operations, and of all up to there")
	var most, total, upTo uint64
	for _, r := range rows {
		most = max(most, r.count)
		total += r.count
	}
	room := p.columns - 2 - 19 - 2 - 2*(9+2) - 2
	for _, r := range rows {
		upTo += r.count
		label := padLeft(edge(r.fromNs), 7) + " – " + padLeft(edge(r.toNs), 7)
		p.line("  " + padLeft(label, 19) + "  " + padLeft(units.Percent(r.count, total), 9) + "  " +
			p.o.paint(padLeft(units.Percent(upTo, total), 9), dim) + "  " + p.o.paint(bar(float64(r.count)/float64(most), room), cyan))
	}
}

// edge writes a bucket's edge, which has one significant digit.
func edge(ns float64) string { return strings.Replace(span1(ns), ".00", "", 1) }

func span1(ns float64) string {
	for _, u := range []struct {
		name string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= u.ns {
			return fmt.Sprintf("%g %s", ns/u.ns, u.name)
		}
	}
	return fmt.Sprintf("%g ns", ns)
}

// bar draws a share of n columns in eighths; what isn't nothing is seen.
func bar(part float64, n int) string {
	eighths := int(math.Round(part * float64(n) * 8))
	if part > 0 {
		eighths = max(eighths, 1)
	}
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return s
}

// buckets cuts a distribution at 1, 2 and 5 times the powers of ten, from the first value to the
// last; at the powers of ten only where that would be more than 15 rows.
func buckets(l *record.Latency) []bucket {
	h, err := l.Histogram()
	if err != nil || h.Count() == 0 {
		return nil
	}
	for _, steps := range [][]float64{{1, 2, 5}, {1}} {
		edges := edgesBetween(float64(h.Min()), float64(h.Max()), steps)
		if len(edges) > 16 && len(steps) > 1 {
			continue
		}
		rows := make([]bucket, len(edges)-1)
		for i := range rows {
			rows[i] = bucket{fromNs: edges[i], toNs: edges[i+1]}
		}
		i := 0
		h.Each(func(lo, hi int64, n uint64) bool {
			for i < len(rows)-1 && float64(lo)/2+float64(hi)/2 >= rows[i].toNs {
				i++
			}
			rows[i].count += n
			return true
		})
		return rows
	}
	return nil
}

// edgesBetween returns the steps of every decade from the last one not above lo to the first one
// above hi.
func edgesBetween(lo, hi float64, steps []float64) (edges []float64) {
	for decade := 1.0; decade <= 1e15; decade *= 10 {
		for _, s := range steps {
			e := s * decade
			if e <= lo {
				edges = edges[:0]
			}
			edges = append(edges, e)
			if e > hi {
				return edges
			}
		}
	}
	return edges
}
