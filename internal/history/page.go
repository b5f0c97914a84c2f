package history

import (
	"io"
	"slices"

	"brunt/internal/render/cell"
	"brunt/internal/render/page"
	"brunt/internal/render/svg"
	"brunt/internal/render/texts"
	"brunt/internal/units"
)

// Page writes the history as one HTML page that fetches nothing and needs no scripts: what is fresh, the
// changes, and for every series the line of its versions with its levels and changes. Series of single
// operations are folded.
func Page(w io.Writer, l units.Language, all []*Series, o Options) error {
	d := page.Document{Language: l, Title: texts.In(l, "History")}
	d.Blocks = append(d.Blocks, banner(l, all))
	for _, t := range Tables(l, all, o, true) {
		d.Blocks = append(d.Blocks, page.Table(t))
	}
	var folded []page.Block
	for _, s := range all {
		chart := page.Chart{ID: "timeline-" + s.Name + "-" + s.Title(), Title: s.Name + ": " + s.title(l), Note: s.Environment, SVG: timeline(l, s)}
		if s.Operation == "" {
			d.Blocks = append(d.Blocks, chart)
		} else {
			folded = append(folded, chart)
		}
	}
	if len(folded) > 0 {
		d.Blocks = append(d.Blocks, page.Group{Title: texts.In(l, "single operations"), Blocks: folded})
	}
	for _, t := range Tables(l, all, o, false)[2:] {
		d.Blocks = append(d.Blocks, page.Table(t))
	}
	return page.Write(w, &d)
}

func banner(l units.Language, all []*Series) page.Banner {
	b := page.Banner{Text: texts.In(l, "no fresh regression"), Mark: cell.Good}
	for _, s := range all {
		for i := range s.Changes {
			if c := &s.Changes[i]; c.Fresh {
				b.Text, b.Mark = texts.In(l, "REGRESSION"), cell.Bad
				b.Reasons = append(b.Reasons, texts.In(l, "%s of %s since %s: %s → %s", s.title(l), s.Name, c.Version,
					cell.Metric(c.Before, s.Unit).Figure(l), cell.Metric(c.After, s.Unit).Figure(l)))
			}
		}
	}
	return b
}

// timeline draws a series: its versions by number, the levels between its changes, and the changes.
func timeline(l units.Language, s *Series) string {
	n := len(s.Points)
	measured := svg.Series{Name: texts.In(l, "versions"), X: make([]float64, n), Y: make([]float64, n), Dots: true}
	level := svg.Series{Name: texts.In(l, "level"), X: measured.X, Y: make([]float64, n)}
	for i, p := range s.Points {
		measured.X[i], measured.Y[i] = float64(i+1), p.Mean
	}
	var bands []svg.Band
	at := 0
	for _, c := range s.Changes {
		fill(level.Y[at:c.Index], c.Before)
		at = c.Index
		bands = append(bands, svg.Band{From: float64(c.Index) + 0.5, To: float64(c.Index) + 0.5, Label: c.Version, Kind: kindOf(c)})
	}
	series := []svg.Series{measured}
	if len(s.Changes) > 0 {
		fill(level.Y[at:], s.Changes[len(s.Changes)-1].After)
		series = append(series, level)
	}
	most := slices.Max(ends(measured.Y))
	return svg.Lines(svg.Frame{
		Title: s.Name + ": " + s.title(l), Language: l, Height: 220,
		X: svg.Axis{Label: texts.In(l, "number of the version")}, Y: svg.Axis{Unit: s.Unit, Max: 1.1 * most},
	}, series, bands)
}

func fill(v []float64, x float64) {
	for i := range v {
		v[i] = x
	}
}

// kindOf colours a change: a fresh regression as a fault.
func kindOf(c Change) string {
	if c.Fresh {
		return "fault"
	}
	return "change"
}
