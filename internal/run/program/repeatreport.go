package program

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"brunt/internal/plan"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// RunLog is a run of a repetition in a Report.
type RunLog struct {
	Side     string         `json:"side"`
	Dir      string         `json:"dir"` // below the series' folder
	Verdict  string         `json:"verdict"`
	RatePerS float64        `json:"rate_per_s"` // successful operations
	Response record.Latency `json:"response"`
	// StreamFirst and StreamBetween are those of record.Operation, absent without streams.
	StreamFirst   record.Latency `json:"stream_first,omitzero"`
	StreamBetween record.Latency `json:"stream_between,omitzero"`
	Failed        uint64         `json:"failed"`
	Done          uint64         `json:"done"`
}

// RepeatReport returns the report of a repetition of p that began at the given time.
func RepeatReport(p *plan.Plan, done *Repeated, began time.Time) *Report {
	r := &Report{Kind: "repeat", Name: p.Name, Started: began}
	add := func(side string, runs []*Outcome) {
		for _, o := range runs {
			total := o.Run.Total
			total.Response.HDR, total.StreamFirst.HDR, total.StreamBetween.HDR = "", "", ""
			r.Runs = append(r.Runs, RunLog{
				Side: side, Dir: filepath.Base(o.Dir), Verdict: o.Run.Verdict.Result, RatePerS: total.RatePerS,
				Response: total.Response, StreamFirst: total.StreamFirst, StreamBetween: total.StreamBetween,
				Failed: total.Failed, Done: total.Done,
			})
		}
	}
	add(SideA, done.A)
	add(SideB, done.B)
	slices.SortFunc(r.Runs, func(a, b RunLog) int { return strings.Compare(a.Dir, b.Dir) })
	return r
}

func runsTable(l units.Language, runs []RunLog) cell.Table {
	say := func(text string) string { return message.Label(l, text) }
	t := cell.Table{ID: "runs", Title: say("RUNS"), Columns: []cell.Column{
		{Head: say("run"), Left: true}, {Head: say("rate")}, {Head: "p50"}, {Head: "p95"}, {Head: "p99"},
		{Head: say("failed")}, {Head: say("verdict"), Left: true},
	}}
	streams := slices.ContainsFunc(runs, func(r RunLog) bool { return r.StreamFirst.Count > 0 })
	if streams {
		t.Columns = slices.Insert(t.Columns, 5, cell.Column{Head: message.Metric(l, "first.p(99)")},
			cell.Column{Head: message.Metric(l, "between.p(99)")})
	}
	for i := range runs {
		r := &runs[i]
		name := cell.Text(r.Dir)
		name.Link = r.Dir
		row := []cell.Cell{name, cell.Rate(r.RatePerS), cell.Time(r.Response.P50Ns), cell.Time(r.Response.P95Ns),
			cell.Time(r.Response.P99Ns)}
		if streams {
			row = append(row, cell.Time(r.StreamFirst.P99Ns), cell.Time(r.StreamBetween.P99Ns))
		}
		t.Add(append(row, cell.Share(r.Failed, r.Done), cell.Text(say(r.Verdict)))...)
	}
	return t
}
