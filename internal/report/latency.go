package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// quantileColumns are the columns of a distribution.
func (t *writer) quantileColumns() []cell.Column {
	return []cell.Column{
		{Head: t.say("mean"), Priority: 3}, {Head: "p50"}, {Head: "p75", Priority: 7}, {Head: "p90", Priority: 2},
		{Head: "p95", Priority: 4},
		{Head: "p99"}, {Head: "p99.9", Priority: 1}, {Head: "p99.99", Priority: 6}, {Head: t.say("max")},
	}
}

// beyond is the share of values above each of quantileColumns. A quantile with less than one value beyond it equals the
// maximum, and isn't shown.
var beyond = [...]float64{1, 1, 1, 1, 1, 0.01, 0.001, 0.0001, 1}

// quantiles returns a distribution's cells in the order of quantileColumns.
func quantiles(l *record.Latency, m cell.Mark) []cell.Cell {
	within := l.Within.All()
	out := make([]cell.Cell, len(beyond))
	for i, ns := range []record.Ns{record.Ns(l.MeanNs), l.P50Ns, l.P75Ns, l.P90Ns, l.P95Ns, l.P99Ns, l.P999Ns, l.P9999Ns,
		l.MaxNs} {
		out[i] = cell.Time(ns).Marked(m)
		if i < len(within) {
			out[i] = estimate(out[i], within[i])
		}
		switch all := l.Count + l.NoAnswer; {
		case all == 0 || float64(all)*beyond[i] < 1, i == 0 && l.Count == 0:
			out[i] = cell.None()
		case ns == record.Infinite:
			out[i].Mark, out[i].Bounds = cell.Bad, nil
		}
	}
	return out
}

// estimate adds the range of a figure within the run, if the record has one.
func estimate(c cell.Cell, b *record.Bounds) cell.Cell {
	if b == nil {
		return c
	}
	c.Bounds = &cell.Bounds{Low: b.Low, High: b.High, Confidence: record.Confidence, Correlated: b.Correlated, Why: b.Why}
	return c
}

// latencies is the table of operations, with response and service time below each other.
func (t *writer) latencies() cell.Table {
	run, closed := t.run, t.run.LoadModel == "closed"
	note := t.say("response: from the intended start · service: from the actual send")
	if run.Total.Response.NoAnswer > 0 {
		note = t.say("response: of all arrivals, ∞ without a good answer · service: of successes, from the send")
	}
	if closed {
		note = t.say("closed load: sessions wait for answers, so response = service")
	}
	failed := cell.Column{Head: t.say("failed"), Priority: 5}
	if run.Total.Failed > 0 {
		failed.Priority = 0
	}
	out := cell.Table{ID: "latency", Title: t.say("LATENCY"), Note: note}
	out.Columns = []cell.Column{{Head: t.say("operation"), Left: true}, {Head: t.say("rate")}, failed}
	if !closed {
		out.Columns = append(out.Columns, cell.Column{Head: t.say("time"), Left: true})
	}
	out.Columns = append(out.Columns, t.quantileColumns()...)
	if len(run.Operations) != 1 {
		t.operation(&out, &run.Total, cell.Text(t.say("all")).Marked(cell.Strong))
	}
	first, rest, others := foremost(run, t.most(mostOperations, briefOperations))
	for _, o := range first {
		name := cell.Text(units.Clean(o.Name))
		if len(run.Operations) > 1 {
			name.Depth = 1
		}
		t.operation(&out, o, name)
	}
	if rest != nil {
		name := cell.Text(t.say("and %s", plural(t, others, "other", "others"))).Marked(cell.Dim)
		name.Depth = 1
		t.operation(&out, rest, name)
		out.Foot = append(out.Foot, t.say("those done most often; --output csv has all"))
	}
	return out
}

// operation adds the rows of an operation.
func (t *writer) operation(out *cell.Table, o *record.Operation, name cell.Cell) {
	m := name.Mark
	failed := cell.Share(o.Failed, o.Done)
	if o.Failed > 0 {
		failed.Mark = cell.Bad
	}
	row := []cell.Cell{name, estimate(cell.Rate(o.RatePerS), o.RateWithin).Marked(m), failed}
	if t.run.LoadModel == "closed" {
		out.Add(append(row, quantiles(&o.Service, m)...)...)
		return
	}
	out.Add(append(append(row, cell.Text(t.say("response"))), quantiles(&o.Response, m)...)...)
	if o.Response.NoAnswer > 0 {
		out.Add(append(append(cell.Texts("", "", ""), cell.Text(t.say("of successes")).Marked(cell.Dim)),
			quantiles(&o.ResponseOK, cell.Dim)...)...)
	}
	out.Add(append(append(cell.Texts("", "", ""), cell.Text(t.say("service")).Marked(cell.Dim)),
		quantiles(&o.Service, cell.Dim)...)...)
}

// bucket is a row of the histogram: the values from the previous edge up to, but not including, its own.
type bucket struct {
	fromNs, toNs float64
	count        uint64
}

// histogram draws the distribution of all operations' response times.
func (t *writer) histogram() cell.Table {
	rows := buckets(&t.run.Total.Response)
	if len(rows) < 2 {
		return cell.Table{}
	}
	out := cell.Table{ID: "distribution", Title: t.say("RESPONSE TIME"),
		Note: t.say("share of successful operations, and of all up to there")}
	if t.run.LoadModel == "closed" {
		out.Title = t.say("SERVICE TIME")
	}
	out.Columns = []cell.Column{{}, {Left: true}, {}, {}, {}, {Left: true}}
	var most, total, upTo uint64
	for _, r := range rows {
		most = max(most, r.count)
		total += r.count
	}
	for _, r := range rows {
		upTo += r.count
		out.Add(cell.Text(t.l.Figure(edge(r.fromNs))), cell.Text("–"), cell.Text(t.l.Figure(edge(r.toNs))),
			cell.Share(r.count, total),
			cell.Share(upTo, total).Marked(cell.Dim),
			cell.Figure(float64(r.count)/float64(most), cell.UnitBar).Marked(cell.Accent))
	}
	return out
}

// edge formats a bucket's edge, which has one significant digit.
func edge(ns float64) string {
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

// buckets divides a distribution at 1, 2 and 5 times the powers of ten, from the first value to the last. If that would
// be more than 15 rows, it divides at the powers of ten only.
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

// mostOperations limits the operations with rows of their own in tables for people.
const mostOperations = 40

// foremost returns the most frequent operations, at most so many, in the run's order, and the sum of all others, which
// is nil if there are none.
func foremost(run *record.Run, most int) (first []*record.Operation, rest *record.Operation, others int) {
	all := make([]*record.Operation, len(run.Operations))
	for i := range run.Operations {
		all[i] = &run.Operations[i]
	}
	if len(all) <= most {
		return all, nil, 0
	}
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b *record.Operation) int { return cmp.Compare(b.Done, a.Done) })
	chosen := map[*record.Operation]bool{}
	for _, o := range ranked[:most-1] {
		chosen[o] = true
	}
	rest = &record.Operation{}
	var response, service measure.Answers
	response.Times, service.Times = measure.NewHistogram(), measure.NewHistogram()
	for _, o := range all {
		if chosen[o] {
			first = append(first, o)
			continue
		}
		rest.Done, rest.OK, rest.Failed = rest.Done+o.Done, rest.OK+o.OK, rest.Failed+o.Failed
		rest.RatePerS += o.RatePerS
		merge(&response, &o.Response)
		merge(&service, &o.Service)
	}
	rest.Response, rest.Service = record.AnswersOf(response, nil), record.AnswersOf(service, nil)
	rest.ResponseOK = record.LatencyOf(response.Times, nil)
	return first, rest, len(all) - len(first)
}

// merge adds a distribution if it can be decoded.
func merge(to *measure.Answers, l *record.Latency) {
	if a, err := l.Answers(); err == nil {
		to.Times.Merge(a.Times)
		to.NoAnswer += a.NoAnswer
	}
}

// operationsCSV lists all operations of a run with many operations.
func operationsCSV(run *record.Run) string {
	t := cell.Table{}
	for _, head := range []string{"operation", "done", "failed", "rate_per_s", "p50_ns", "p99_ns", "max_ns"} {
		t.Columns = append(t.Columns, cell.Column{Head: head})
	}
	for i := range run.Operations {
		o := &run.Operations[i]
		t.Add(cell.Text(units.Clean(o.Name)), cell.Count(o.Done), cell.Count(o.Failed), cell.Rate(o.RatePerS),
			cell.Time(o.Response.P50Ns), cell.Time(o.Response.P99Ns), cell.Time(o.Response.MaxNs))
	}
	var b strings.Builder
	// Writes to a Builder never fail.
	_ = cell.WriteCSV(&b, t)
	return b.String()
}
