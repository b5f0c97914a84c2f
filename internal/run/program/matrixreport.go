package program

import (
	"slices"
	"strings"

	"brunt/internal/judge/verdict"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// FigureCell returns the cell for a value of the figure by; see ParseFigure.
func FigureCell(by string, v float64) cell.Cell {
	if by == "rate" {
		return cell.Rate(v)
	}
	return cell.Time(v)
}

// tables returns the cells with their intervals. The best and the recommended cell are marked.
func (m *MatrixLog) tables(l units.Language) []cell.Table {
	say := func(text string, args ...any) string { return message.Label(l, text, args...) }
	t := cell.Table{ID: "matrix", Title: say("SETTINGS"), Note: say("each measured %d times at N %s, in shuffled order",
		m.Options.Repetitions, l.Figure(Scale(m.Options.N))), Columns: []cell.Column{
		{Head: say("settings"), Left: true, Wrap: true}, {Head: m.Options.By}, {Head: say("asked"), Priority: 2},
		{Head: say("rate")}, {Head: "p50"}, {Head: "p99"}, {Head: say("failed")}, {Left: true, Wrap: true},
	}}
	invalid := 0
	for i := range m.Cells {
		c := &m.Cells[i]
		value := FigureCell(m.Options.By, float64(c.Mean))
		switch {
		case c.High > 0:
			value = value.Between(float64(c.Low), float64(c.High), confidence)
		case len(c.Values) < 2:
			value = value.Without(message.New("interval.two-repetitions"))
		}
		note, mark := "", cell.Plain
		switch {
		case i == m.Advised && i == m.Best:
			note, mark = say("best, and advised"), cell.Good
		case i == m.Advised && m.Alike:
			note, mark = say("advised: the smallest"), cell.Good
		case i == m.Advised:
			note, mark = say("advised: the smallest within %s of the best", l.Figure(units.Fraction(m.Options.Tolerance))),
				cell.Good
		case i == m.Best:
			note, mark = say("best"), cell.Good
		case len(c.Slower) > 0:
			note = say("slower: %s", strings.Join(c.Slower, ", "))
		case !c.Differs:
			note = say("not to be told from the best")
		}
		if failed := c.ended(verdict.Fail); failed > 0 {
			note, mark = strings.TrimPrefix(note+"; "+say("fails in %d of %d runs", failed, len(c.Verdicts)), "; "), cell.Bad
		}
		invalid += c.ended(verdict.Invalid)
		asked := cell.None()
		if m.AskedPerS > 0 {
			asked = cell.Rate(m.AskedPerS)
		}
		name := cell.Text(c.Settings.String())
		if len(c.Dirs) > 0 {
			name.Link = c.Dirs[0]
		}
		t.Add(name, value, asked, cell.Rate(c.RatePerS), cell.Time(float64(c.P50Ns)), cell.Time(float64(c.P99Ns)),
			cell.Figure(c.Errors, "share"), cell.Text(note).Marked(mark))
	}
	switch {
	case m.Best < 0:
	case m.Advised < 0:
		t.Foot = append(t.Foot, say("No settings keep the thresholds in all of their runs."))
	case m.Alike && m.Failing() > 0:
		t.Foot = append(t.Foot, say("%d of the settings fail; the others can't be told apart. The smallest that pass: %s.",
			m.Failing(), m.Cells[m.Advised].Settings))
	case m.Alike:
		t.Foot = append(t.Foot, say("The settings can't be told apart. The smallest that pass: %s.",
			m.Cells[m.Advised].Settings))
	}
	if invalid > 0 {
		t.Foot = append(t.Foot, say(
			"runs that the generator spoiled each time they were tried, and that count all the same: %d", invalid))
	}
	return append([]cell.Table{t}, m.operations(l)...)
}

// operations is the table of the operations' median response times in each cell; none if there is only one operation.
func (m *MatrixLog) operations(l units.Language) []cell.Table {
	say := func(text string, args ...any) string { return message.Label(l, text, args...) }
	if m.Best < 0 || len(m.Cells[m.Best].Operations) < 2 {
		return nil
	}
	t := cell.Table{ID: "matrix-operations", Title: say("OPERATIONS BY SETTINGS"), Note: say("p50, and p95 in brackets"),
		Columns: []cell.Column{{Head: say("settings"), Left: true, Wrap: true}}}
	names := m.Cells[m.Best].Operations
	for _, o := range names {
		t.Columns = append(t.Columns, cell.Column{Head: o.Name})
	}
	for i := range m.Cells {
		c := &m.Cells[i]
		row := []cell.Cell{cell.Text(c.Settings.String())}
		for _, o := range names {
			k := slices.IndexFunc(c.Operations, func(x CellOperation) bool { return x.Name == o.Name })
			if k < 0 {
				row = append(row, cell.None())
				continue
			}
			x := &c.Operations[k]
			one := cell.Text(l.Figure(units.Latency(float64(x.P50Ns))) + " (" + l.Figure(units.Latency(float64(x.P95Ns))) + ")")
			if slices.Contains(c.Slower, o.Name) {
				one.Mark = cell.Bad
			}
			row = append(row, one)
		}
		t.Add(row...)
	}
	return []cell.Table{t}
}

// ended returns how many runs of the cell have this verdict.
func (c *CellLog) ended(result string) (runs int) {
	for _, v := range c.Verdicts {
		if v == result {
			runs++
		}
	}
	return runs
}

// Grid returns the cells' means as rows and columns, if the cells are all combinations of two settings' values.
func (m *MatrixLog) Grid() (rows, columns []string, values [][]float64, ok bool) {
	index := func(list *[]string, v string) int {
		if i := slices.Index(*list, v); i >= 0 {
			return i
		}
		*list = append(*list, v)
		return len(*list) - 1
	}
	for i := range m.Cells {
		s := m.Cells[i].Settings
		if len(s) != 2 {
			return nil, nil, nil, false
		}
		r, k := index(&rows, s[0].Name+" "+s[0].shown().Value), index(&columns, s[1].Name+" "+s[1].shown().Value)
		for len(values) <= r {
			values = append(values, nil)
		}
		for len(values[r]) <= k {
			values[r] = append(values[r], 0)
		}
		values[r][k] = float64(m.Cells[i].Mean)
	}
	return rows, columns, values, len(m.Cells) > 0 && len(rows)*len(columns) == len(m.Cells)
}
