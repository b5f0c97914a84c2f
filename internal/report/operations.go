package report

import (
	"cmp"
	"slices"
	"strings"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/report/cell"
	"brunt/internal/units"
)

// mostOperations is how many operations have rows of their own in tables for people.
const mostOperations = 40

// foremost are the operations that were done most often, in the run's order, and the sum of all others,
// nil if there are none.
func foremost(run *record.Run) (first []*record.Operation, rest *record.Operation, others int) {
	all := make([]*record.Operation, len(run.Operations))
	for i := range run.Operations {
		all[i] = &run.Operations[i]
	}
	if len(all) <= mostOperations {
		return all, nil, 0
	}
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b *record.Operation) int { return cmp.Compare(b.Done, a.Done) })
	chosen := map[*record.Operation]bool{}
	for _, o := range ranked[:mostOperations-1] {
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

// merge adds a distribution, as far as it can be read.
func merge(to *measure.Answers, l *record.Latency) {
	if a, err := l.Answers(); err == nil {
		to.Times.Merge(a.Times)
		to.NoAnswer += a.NoAnswer
	}
}

// operationsCSV lists all operations of a run that has many.
func operationsCSV(run *record.Run) string {
	t := cell.Table{}
	for _, head := range []string{"operation", "done", "failed", "rate_per_s", "p50_ns", "p99_ns", "max_ns"} {
		t.Columns = append(t.Columns, cell.Column{Head: head})
	}
	for i := range run.Operations {
		o := &run.Operations[i]
		t.Add(cell.Text(units.Clean(o.Name)), cell.Count(o.Done), cell.Count(o.Failed), cell.Rate(o.RatePerS), cell.Time(o.Response.P50Ns), cell.Time(o.Response.P99Ns), cell.Time(o.Response.MaxNs))
	}
	var b strings.Builder
	// A Builder takes everything.
	_ = cell.WriteCSV(&b, t)
	return b.String()
}
