package cell

import (
	"bufio"
	"cmp"
	"io"
	"strings"

	"brunt/internal/render/units"
)

// Look configures the output of tables for a terminal.
type Look struct {
	Columns  int  // width of the terminal; 0 means 100
	Color    bool // ANSI colours
	Language units.Language
}

// ansi maps marks to ANSI colour codes.
var ansi = map[Mark]string{Strong: "1", Dim: "2", Bad: "31", Good: "32", Warn: "33", Accent: "36"}

// Paint returns s in the colour of m, if colours are on.
func (k Look) Paint(s string, m Mark) string {
	if code := ansi[m]; k.Color && code != "" && s != "" {
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	return s
}

func (k Look) columns() int { return cmp.Or(k.Columns, 100) }

// WriteText writes tables for a terminal, separated by empty lines, followed by the legend of their signs.
func WriteText(w io.Writer, k Look, tables ...Table) error {
	out := bufio.NewWriter(w)
	for i := range tables {
		if i > 0 {
			_, _ = out.WriteString("\n")
		}
		for _, l := range tables[i].Lines(k) {
			_, _ = out.WriteString(l + "\n")
		}
	}
	for _, l := range k.Legend(tables...) {
		_, _ = out.WriteString(k.Paint("  "+l, Dim) + "\n")
	}
	return out.Flush()
}

// Legend explains the signs that the tables use on a terminal, whose width may omit some columns.
func (k Look) Legend(tables ...Table) []string {
	var all []Table
	for i := range tables {
		all = append(all, tables[i].fitting(k))
	}
	return Legend(k.Language, all...)
}

// Lines returns the table for a terminal: its title, rows and foot. Lines have no trailing spaces.
func (t *Table) Lines(k Look) (out []string) {
	if t.Title != "" {
		title := units.Clean(t.Title)
		out = append(out, beside(k, k.Paint(title, Strong), "  ", t.Note, Width(title), 2)...)
	}
	switch t.Kind {
	case Tree:
		out = append(out, t.tree(k)...)
	case List:
		out = append(out, t.list(k)...)
	default:
		out = append(out, t.grid(k)...)
	}
	for _, f := range t.Foot {
		for _, l := range Wrap(f, k.columns()-2) {
			out = append(out, "  "+k.Paint(l, Dim))
		}
	}
	for i := range out {
		out[i] = strings.TrimRight(out[i], " ")
	}
	return out
}

// at returns the i-th cell of a row; an empty cell if the row is shorter.
func at(row []Cell, i int) Cell {
	if i < len(row) {
		return row[i]
	}
	return Cell{}
}

// narrowNote is the least width for wrapping a note next to something.
const narrowNote = 32

// beside places a note to the right of a line whose width is used, on the same lines if it fits there, otherwise below,
// indented by indent, which has the width indented.
func beside(k Look, line, indent, note string, used, indented int) []string {
	if note == "" {
		return []string{line}
	}
	free := k.columns() - used - 2
	var out []string
	switch {
	case Width(note) <= free || free >= narrowNote:
		for _, l := range Wrap(note, free) {
			out = append(out, line+"  "+k.Paint(l, Dim))
			line = indent + strings.Repeat(" ", max(used-indented, 0))
		}
	default:
		out = append(out, line)
		for _, l := range Wrap(note, k.columns()-indented) {
			out = append(out, indent+k.Paint(l, Dim))
		}
	}
	return out
}

// tree writes rows as branches of a tree. Long values continue on further lines.
func (t *Table) tree(k Look) (out []string) {
	labels := 0
	for _, row := range t.Rows {
		labels = max(labels, Width(at(row, 0).Text))
	}
	room := k.columns() - 3 - labels - 2
	for i, row := range t.Rows {
		mark, next := "├─ ", "│  "
		if i == len(t.Rows)-1 {
			mark, next = "└─ ", "   "
		}
		head := k.Paint(mark, Dim) + PadRight(at(row, 0).Text, labels+2)
		value, note := at(row, 1), at(row, 2).Text
		text := value.Figure(k.Language)
		lines := Wrap(text, room)
		for n, l := range lines {
			l = Cut(l, room)
			last, used := k.Paint(l, value.Mark), Width(l)
			if s := value.Spread(); s != "" && n == len(lines)-1 {
				last += " " + k.Paint(s, Dim)
				used += 1 + Width(s)
			}
			indent := k.Paint(next, Dim) + strings.Repeat(" ", labels+2)
			if n == len(lines)-1 {
				out = append(out, beside(k, head+last, indent, note, 3+labels+2+used, 3+labels+2)...)
			} else {
				out = append(out, head+last)
			}
			head = indent
		}
	}
	return out
}

// list writes rows as paragraphs, each after its sign.
func (t *Table) list(k Look) (out []string) {
	for _, row := range t.Rows {
		sign, text := at(row, 0), at(row, 1)
		head := strings.Repeat(" ", 2*sign.Depth) + "  " + sign.Text + " "
		indent := Width(head)
		head = k.Paint(head, sign.Mark)
		for _, l := range Wrap(text.Figure(k.Language), k.columns()-indent) {
			out = append(out, head+k.Paint(l, text.Mark))
			head = strings.Repeat(" ", indent)
		}
	}
	return out
}
