package report

import (
	"maps"
	"math"
	"slices"

	"brunt/internal/report/page"
	"brunt/internal/report/svg"
)

// waitCharts are what databases' active sessions waited for over the run.
func (b *builder) waitCharts(r *Result, bands []svg.Band) (out []page.Block) {
	for i := range r.Run.Inspections {
		points := r.Run.Inspections[i].Activity.Points
		classes := map[string]bool{}
		for _, p := range points {
			for c := range p.Classes {
				classes[c] = true
			}
		}
		if len(points) < 2 || len(classes) == 0 {
			continue
		}
		var all []svg.Series
		for _, class := range slices.Sorted(maps.Keys(classes)) {
			s := svg.Series{Name: class}
			for _, p := range points {
				s.X, s.Y = append(s.X, float64(p.AtNs)/1e9), append(s.Y, math.Max(p.Classes[class], 0))
			}
			all = append(all, s)
		}
		f := svg.Frame{Title: b.say("Waits"), X: svg.Axis{Unit: "clock"}, Y: svg.Axis{Unit: "number"}, Height: 180, Language: b.l}
		out = append(out, page.Chart{ID: "chart-waits", Title: f.Title, Note: b.say("active sessions of the database by what they wait for; CPU: for nothing"), SVG: svg.Stack(f, all, bands)})
	}
	return out
}
