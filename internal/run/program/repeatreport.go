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
	Failed   uint64         `json:"failed"`
	Done     uint64         `json:"done"`
}

// RepeatReport returns the report of a repetition of p that began at the given time.
func RepeatReport(p *plan.Plan, done *Repeated, began time.Time) *Report {
	r := &Report{Kind: "repeat", Name: p.Name, Started: began}
	add := func(side string, runs []*Outcome) {
		for _, o := range runs {
			total := &o.Run.Total
			response := total.Response
			response.HDR = ""
			r.Runs = append(r.Runs, RunLog{
				Side: side, Dir: filepath.Base(o.Dir), Verdict: o.Run.Verdict.Result, RatePerS: total.RatePerS,
				Response: response, Failed: total.Failed, Done: total.Done,
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
	for i := range runs {
		r := &runs[i]
		name := cell.Text(r.Dir)
		name.Link = r.Dir
		t.Add(name, cell.Rate(r.RatePerS), cell.Time(r.Response.P50Ns), cell.Time(r.Response.P95Ns),
			cell.Time(r.Response.P99Ns), cell.Share(r.Failed, r.Done), cell.Text(say(r.Verdict)))
	}
	return t
}
