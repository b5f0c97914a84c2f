package cell

import "strings"

// gap is the number of spaces between columns.
const gap = 2

// The least width of the first column before other columns are omitted, its least width in any case, the least width of
// a column that wraps, and the greatest number of lines of a Short column.
const (
	nameWidth      = 24
	nameWidthLeast = 12
	wrapLeast      = 24
	shortLines     = 2
)

// drawn is a cell prepared for output: its text, and the text to the right of it.
type drawn struct {
	text, side string
	mark       Mark
	bar        float64 // fraction that the bar shows, if drawn
	drawn      bool
}

// layout is a grid being laid out.
type layout struct {
	table *Table
	look  Look
	rows  [][]drawn
	main  []int // widths of the columns' figures
	side  []int // widths of the texts next to them; 0 means that there are none
	shown []bool
	names bool // the first column wraps, because shortened names would be ambiguous
}

// grid returns the lines of the table, indented by two, in the width given by k.
func (t *Table) grid(k Look) []string {
	if len(t.Rows) == 0 {
		return nil
	}
	g := t.layout(k)
	var out []string
	if g.headed() {
		head := make([]drawn, len(t.Columns))
		for i, c := range t.Columns {
			head[i] = drawn{text: c.Head, mark: Dim}
		}
		out = append(out, g.lines(head)...)
	}
	for _, row := range g.rows {
		out = append(out, g.lines(row)...)
	}
	return out
}

// layout lays the grid out in the width given by k.
func (t *Table) layout(k Look) *layout {
	g := &layout{table: t, look: k, main: make([]int, len(t.Columns)), side: make([]int, len(t.Columns)),
		shown: make([]bool, len(t.Columns))}
	g.draw()
	g.fit(k.columns() - 2)
	return g
}

// fitting returns t without the cells for which there is no room in the width given by k.
func (t *Table) fitting(k Look) Table {
	if t.Kind != Grid {
		return *t
	}
	g, out := t.layout(k), *t
	out.Rows = nil
	for _, row := range t.Rows {
		var kept []Cell
		for i := range row {
			if i >= len(g.shown) || g.shown[i] {
				kept = append(kept, row[i])
			}
		}
		out.Rows = append(out.Rows, kept)
	}
	return out
}

func (g *layout) headed() bool {
	for _, c := range g.table.Columns {
		if c.Head != "" {
			return true
		}
	}
	return false
}

// draw formats all cells and measures them.
func (g *layout) draw() {
	for i, c := range g.table.Columns {
		g.main[i] = Width(c.Head)
	}
	for r, row := range g.table.Rows {
		line := make([]drawn, len(g.table.Columns))
		for i := range line {
			c := at(row, i)
			line[i] = drawn{text: branch(g.table.Rows, r, i) + c.Figure(g.look.Language), side: c.Spread(), mark: c.Mark,
				bar: c.Value, drawn: c.Unit == UnitBar}
			g.side[i] = max(g.side[i], Width(line[i].side))
			if c.Unit != UnitBar {
				g.main[i] = max(g.main[i], Width(line[i].text))
			}
		}
		g.rows = append(g.rows, line)
	}
}

// branch returns the tree mark before a nested name. It depends on whether another child of the same parent follows.
func branch(rows [][]Cell, r, i int) string {
	if at(rows[r], i).Depth == 0 {
		return ""
	}
	for _, later := range rows[r+1:] {
		switch c := at(later, i); {
		case c.Depth > 0:
			return "├─ "
		case c.Text != "":
			return "└─ "
		}
	}
	return "└─ "
}

func (g *layout) width(i int) int {
	if g.side[i] > 0 {
		return g.main[i] + 1 + g.side[i]
	}
	return g.main[i]
}

// fit chooses the columns to show so that the table is at most n columns wide. It may narrow the first column and those
// that wrap. Bars get the remaining width.
func (g *layout) fit(n int) {
	total := -gap
	bars := -1
	for i := range g.table.Columns {
		g.shown[i] = true
		total += g.width(i) + gap
		if len(g.table.Rows) > 0 && at(g.table.Rows[0], i).Unit == UnitBar {
			bars = i
		}
	}
	narrow := func(i, least int) {
		if w := max(g.main[i]-(total-n), least); w < g.main[i] {
			total -= g.main[i] - w
			g.main[i] = w
		}
	}
	wrap := func(least int) {
		for total > n {
			widest := -1
			for i, c := range g.table.Columns {
				if c.Wrap && g.shown[i] && g.main[i] > least && (widest < 0 || g.main[i] > g.main[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				return
			}
			g.main[widest]--
			total--
		}
	}
	wrap(wrapLeast)
	name := func(least int) {
		if !g.table.Columns[0].Wrap {
			narrow(0, least)
		}
	}
	name(nameWidth)
	for total > n {
		last := -1
		for i, c := range g.table.Columns {
			if g.shown[i] && c.Priority > 0 && (last < 0 || c.Priority >= g.table.Columns[last].Priority) {
				last = i
			}
		}
		if last < 0 {
			break
		}
		g.shown[last] = false
		total -= g.width(last) + gap
	}
	wrap(nameWidthLeast)
	name(nameWidthLeast)
	g.names = g.ambiguous()
	if bars >= 0 && g.shown[bars] {
		g.main[bars] = max(n-total+g.main[bars], 0)
	}
}

// ambiguous reports whether different names of the first column become equal when shortened.
func (g *layout) ambiguous() bool {
	if len(g.main) == 0 || g.table.Columns[0].Wrap {
		return false
	}
	of := map[string]string{}
	for _, row := range g.rows {
		name, short := row[0].text, Shorten(row[0].text, g.main[0])
		if other, ok := of[short]; ok && other != name {
			return true
		}
		of[short] = name
	}
	return false
}

// lines formats a row. It takes several lines if columns wrap.
func (g *layout) lines(row []drawn) (out []string) {
	folded, most := make([][]string, len(row)), 1
	for i, c := range g.table.Columns {
		if !g.shown[i] || !c.Wrap && !(i == 0 && g.names) {
			continue
		}
		all := fold(row[i].text, g.main[i])
		if c.Short && len(all) > shortLines {
			all = append(all[:shortLines-1:shortLines-1], Cut(all[shortLines-1]+" …", g.main[i]))
		}
		folded[i], most = all, max(most, len(all))
	}
	for n := range most {
		line := make([]drawn, len(row))
		for i := range row {
			switch {
			case n < len(folded[i]):
				line[i] = drawn{text: folded[i][n], mark: row[i].mark}
				if n == 0 {
					line[i].side = row[i].side
				}
			case n == 0:
				line[i] = row[i]
			}
		}
		out = append(out, g.line(line))
	}
	return out
}

func (g *layout) line(row []drawn) string {
	var b strings.Builder
	b.WriteString("  ")
	first := true
	for i, c := range g.table.Columns {
		if !g.shown[i] {
			continue
		}
		if !first {
			b.WriteString(strings.Repeat(" ", gap))
		}
		first = false
		f := row[i]
		text := Cut(f.text, g.main[i])
		if i == 0 {
			text = Shorten(f.text, g.main[i])
		}
		if f.drawn {
			text = Bar(f.bar, g.main[i])
		}
		pad := strings.Repeat(" ", max(g.main[i]-Width(text), 0))
		if c.Left {
			b.WriteString(g.look.Paint(text, f.mark) + pad)
		} else {
			b.WriteString(pad + g.look.Paint(text, f.mark))
		}
		if g.side[i] > 0 {
			b.WriteString(" " + g.look.Paint(f.side, Dim) + strings.Repeat(" ", g.side[i]-Width(f.side)))
		}
	}
	return b.String()
}
