package history

import (
	"io"
	"slices"

	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/page"
	"brunt/internal/render/svg"
	"brunt/internal/render/units"
)

// Page writes the history as one HTML page without external resources: fresh regressions, the table of changes, the
// charts of the series that changed, those of the others (folded), and the versions. The page is complete without
// scripts; with scripts it also has a filter.
func Page(w io.Writer, l units.Language, all []*Series, o Options) error {
	d := page.Document{Language: l, Title: message.Label(l, "History"), Filter: true}
	d.Blocks = append(d.Blocks, banner(l, all))
	changed := page.Section{ID: "part-changed", Title: message.Label(l, "Series that changed"), Grid: true}
	still := page.Section{ID: "part-still", Title: message.Label(l, "Series that didn't"), Grid: true}
	for _, s := range all {
		to := &still
		if len(s.Changes) > 0 {
			to = &changed
		}
		to.Blocks = append(to.Blocks, page.Chart{
			ID: "timeline-" + s.Name + "-" + s.Title(), Title: s.Name + ": " + s.title(l), Note: s.Environment,
			SVG: timeline(l, s),
		})
	}
	still.Folded = len(changed.Blocks) > 0
	tables := Tables(l, all, o, false)
	overview := page.Section{ID: "part-changes", Title: message.Label(l, "Changes"),
		Blocks: []page.Block{page.Table(tables[0])}}
	versions := page.Section{ID: "part-versions", Title: message.Label(l, "Versions"),
		Blocks: []page.Block{page.Table(tables[1])}}
	for _, t := range tables[2:] {
		versions.Blocks = append(versions.Blocks, page.Table(t))
	}
	d.Blocks = append(d.Blocks, overview, changed, still, versions)
	return page.Write(w, &d)
}

func banner(l units.Language, all []*Series) page.Banner {
	b := page.Banner{Text: message.Label(l, "no fresh regression"), Mark: cell.Good}
	for _, s := range all {
		for i := range s.Changes {
			if c := &s.Changes[i]; c.Fresh {
				b.Text, b.Mark = message.Label(l, "REGRESSION"), cell.Bad
				b.Reasons = append(b.Reasons, message.Label(l, "%s of %s since %s: %s → %s", s.title(l), s.Name, c.Version,
					cell.Metric(c.Before, s.Unit).Figure(l), cell.Metric(c.After, s.Unit).Figure(l)))
			}
		}
	}
	return b
}

// timeline draws a series over the numbers of its versions, with its levels and changes.
func timeline(l units.Language, s *Series) string {
	n := len(s.Points)
	measured := svg.Series{Name: message.Label(l, "versions"), X: make([]float64, n), Y: make([]float64, n), Dots: true}
	level := svg.Series{Name: message.Label(l, "level"), X: measured.X, Y: make([]float64, n)}
	for i, p := range s.Points {
		measured.X[i], measured.Y[i] = float64(i+1), p.Mean
	}
	var bands []svg.Band
	at := 0
	for _, c := range s.Changes {
		fill(level.Y[at:c.Index], c.Before)
		at = c.Index
		bands = append(bands, svg.Band{From: float64(c.Index) + 0.5, To: float64(c.Index) + 0.5, Label: c.Version,
			Kind: kindOf(c)})
	}
	series := []svg.Series{measured}
	if len(s.Changes) > 0 {
		fill(level.Y[at:], s.Changes[len(s.Changes)-1].After)
		series = append(series, level)
	}
	names := make([]string, n)
	for i, p := range s.Points {
		names[i] = p.Version
	}
	return svg.Lines(svg.Frame{
		Title: s.Name + ": " + s.title(l), Language: l, Height: 220,
		X: svg.Axis{Names: names, Min: 0.5, Max: float64(n) + 0.5}, Y: axis(measured.Y, s.Unit),
	}, series, bands)
}

// axis returns a vertical axis on which a step of 5 % is visible. It starts near the lowest value if all values are
// within a third of the highest, and otherwise at 0.
func axis(means []float64, unit string) svg.Axis {
	drawn := ends(means)
	least, most := slices.Min(drawn), slices.Max(drawn)
	if most <= 0 || least < most*2/3 {
		return svg.Axis{Unit: unit, Max: 1.1 * most}
	}
	room := max((most-least)/4, most/20)
	return svg.Axis{Unit: unit, Min: max(least-room, 0), Max: most + room}
}

func fill(v []float64, x float64) {
	for i := range v {
		v[i] = x
	}
}

// kindOf returns the style of a change's band: a fresh regression is drawn like a fault.
func kindOf(c Change) string {
	if c.Fresh {
		return "fault"
	}
	return "change"
}
