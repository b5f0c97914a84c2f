package cell

import (
	"bufio"
	"io"
	"strings"

	"brunt/internal/units"
)

// Look is how tables are written for a terminal.
type Look struct {
	Columns  int  // 0 means 100
	Color    bool // ANSI colours
	Language units.Language
}

// ansi are the marks' colours.
var ansi = map[Mark]string{Strong: "1", Dim: "2", Bad: "31", Good: "32", Warn: "33", Accent: "36"}

// Paint writes s as m asks for.
func (k Look) Paint(s string, m Mark) string {
	if code := ansi[m]; k.Color && code != "" && s != "" {
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	return s
}

func (k Look) columns() int {
	if k.Columns == 0 {
		return 100
	}
	return k.Columns
}

// WriteText writes tables for a terminal, with an empty line between them, and the legend of their signs.
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
	for _, l := range Legend(k.Language, tables...) {
		_, _ = out.WriteString(k.Paint("  "+l, Dim) + "\n")
	}
	return out.Flush()
}

// Lines lays the table out for a terminal: its title, rows and foot. Lines have no trailing spaces.
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

// at is a row's cell, empty where it has none.
func at(row []Cell, i int) Cell {
	if i < len(row) {
		return row[i]
	}
	return Cell{}
}

// narrowNote is the least width that a note next to something is broken into.
const narrowNote = 32

// beside writes a note right of a line that is used columns wide: in the same lines if it fits there, or
// below, from column indented on, which indent reaches.
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
			line = indent + strings.Repeat(" ", used-indented)
		}
	default:
		out = append(out, line)
		for _, l := range Wrap(note, k.columns()-indented) {
			out = append(out, indent+k.Paint(l, Dim))
		}
	}
	return out
}

// tree writes rows as branches; long values go on in further lines.
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

// list writes rows as paragraphs behind their signs.
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
