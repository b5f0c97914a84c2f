package reader

import (
	"testing"

	"brunt/internal/judge/result"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/plan/metric"
	"brunt/internal/protocol"
	"brunt/internal/record"
)

// Metrics mean the same in thresholds, comparisons and histories.
func TestMetricsMeanTheSameInRulesAndComparisons(t *testing.T) {
	counts := measure.Counts{
		Done: 100, Errors: measure.ByClass{protocol.Server: 7, protocol.Timeout: 3}, Attempts: 100,
		Unsent: measure.ByReason{measure.UnsentNoSession: 20}, Unfinished: 5,
		Streams: 2, StreamMessages: 5, StreamFirstNs: 300, StreamBetweenNs: 60,
	}
	times := func(all ...int64) *measure.Histogram {
		h := measure.NewHistogram()
		for _, ns := range all {
			h.Record(ns)
		}
		return h
	}
	tally := &measure.Tally{}
	iv := &measure.Interval{Kind: measure.KindOpen, Account: measure.Account{
		EndNs: 2e9, Offered: 125, Operations: []measure.OperationAccount{{Counts: counts, Response: times(700, 900),
			StreamFirst: times(100, 200), StreamBetween: times(10, 20, 30)}},
	}}
	iv.Settle()
	if err := tally.Interval(iv); err != nil {
		t.Fatal(err)
	}
	run := &record.Run{LoadModel: "open", Operations: []record.Operation{{Name: "one"}}}
	record.Fill(run, tally)
	compared := result.Of(run)
	for _, m := range metric.All {
		if m.Tolerance == 0 {
			continue
		}
		name, aggregate := m.Name, m.Compared()
		if m.Times {
			name, aggregate = m.Name+".avg", "avg"
		}
		t.Run(m.Name, func(t *testing.T) {
			rule, err := metric.ParseRule(m.Name + "." + aggregate + " > 0")
			if err != nil {
				t.Fatal(err)
			}
			want := verdict.Evaluate(&rule, run.OperationNames(), tally.Total()).Value
			got := compared.Find(name, "")
			if got == nil || got.Value != want || want == 0 {
				t.Errorf("compared as %+v, judged as %g", got, want)
			}
		})
	}
}
