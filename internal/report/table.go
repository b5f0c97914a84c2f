package report

import (
	"strings"
)

// column is a column of a table. Columns of higher priority numbers go first when the table is
// too wide; 0 never goes.
type column struct {
	head     string
	left     bool
	priority int
}

// cell is one field and its emphasis.
type cell struct {
	text  string
	style style
}

func cells(texts ...string) []cell {
	out := make([]cell, len(texts))
	for i, t := range texts {
		out[i].text = t
	}
	return out
}

// table is text in aligned columns. Its first column gives way when nothing else can.
type table struct {
	columns []column
	rows    [][]cell
}

func (t *table) add(row ...cell) { t.rows = append(t.rows, row) }

const gap = 2

// lines lays the table out in at most n columns, its head first.
func (t *table) lines(o Options, n int) []string {
	widths := t.widths()
	shown := t.fit(widths, n)
	head := make([]cell, len(t.columns))
	for i, c := range t.columns {
		head[i] = cell{c.head, dim}
	}
	out := []string{t.line(o, head, widths, shown)}
	for _, r := range t.rows {
		out = append(out, t.line(o, r, widths, shown))
	}
	return out
}

func (t *table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = displayWidth(c.head)
		for _, r := range t.rows {
			if i < len(r) {
				widths[i] = max(widths[i], displayWidth(r[i].text))
			}
		}
	}
	return widths
}

// The least columns that the first column keeps while others can go, and at all.
const (
	nameWidth      = 24
	nameWidthLeast = 12
)

// fit says which columns are shown so that n columns suffice; it may narrow widths[0].
func (t *table) fit(widths []int, n int) []bool {
	shown := make([]bool, len(widths))
	total := -gap
	for i, w := range widths {
		shown[i] = true
		total += w + gap
	}
	narrow := func(least int) {
		if w := max(widths[0]-(total-n), least); w < widths[0] {
			total -= widths[0] - w
			widths[0] = w
		}
	}
	narrow(nameWidth)
	for total > n {
		last := -1
		for i, c := range t.columns {
			if shown[i] && c.priority > 0 && (last < 0 || c.priority >= t.columns[last].priority) {
				last = i
			}
		}
		if last < 0 {
			break
		}
		shown[last] = false
		total -= widths[last] + gap
	}
	narrow(nameWidthLeast)
	return shown
}

func (t *table) line(o Options, row []cell, widths []int, shown []bool) string {
	var b strings.Builder
	for i, c := range t.columns {
		if !shown[i] {
			continue
		}
		var f cell
		if i < len(row) {
			f = row[i]
		}
		text := cut(f.text, widths[i])
		pad := strings.Repeat(" ", max(widths[i]-displayWidth(text), 0))
		if i > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		if c.left {
			b.WriteString(o.paint(text, f.style) + pad)
		} else {
			b.WriteString(pad + o.paint(text, f.style))
		}
	}
	return strings.TrimRight(b.String(), " ")
}
