package cell

import (
	"bufio"
	"io"
	"strings"

	"brunt/internal/render/units"
)

// WriteMarkdown writes tables as GitHub Flavored Markdown, each below a level-three heading, followed by the legend of
// their signs.
func WriteMarkdown(w io.Writer, l units.Language, tables ...Table) error {
	out := bufio.NewWriter(w)
	for i := range tables {
		t := &tables[i]
		if t.Title != "" {
			_, _ = out.WriteString("### " + MarkdownText(t.Title) + "\n\n")
			if t.Note != "" {
				_, _ = out.WriteString(MarkdownText(t.Note) + "\n\n")
			}
		}
		t.markdown(out, l)
		for _, f := range t.Foot {
			_, _ = out.WriteString(MarkdownText(f) + "\n\n")
		}
	}
	for _, f := range Legend(l, tables...) {
		_, _ = out.WriteString(MarkdownText(f) + "\\\n")
	}
	return out.Flush()
}

func (t *Table) markdown(out *bufio.Writer, l units.Language) {
	write := func(s string) { _, _ = out.WriteString(s) }
	if t.Kind == List {
		for _, row := range t.Rows {
			write(strings.Repeat("  ", at(row, 0).Depth) + "- " + at(row, 1).markdown(l) + "\n")
		}
		write("\n")
		return
	}
	columns := t.Columns
	if t.Kind == Tree {
		columns = []Column{{Left: true}, {Left: true}, {Left: true}}
	}
	var use []int
	for i := range columns {
		if len(t.Rows) == 0 || at(t.Rows[0], i).Unit != UnitBar {
			use = append(use, i)
		}
	}
	for _, i := range use {
		write("| " + MarkdownText(columns[i].Head) + " ")
	}
	write("|\n")
	for _, i := range use {
		write(map[bool]string{true: "|---", false: "|---:"}[columns[i].Left])
	}
	write("|\n")
	for _, row := range t.Rows {
		for _, i := range use {
			write("| " + at(row, i).markdown(l) + " ")
		}
		write("|\n")
	}
	write("\n")
}

// markdown returns the cell's text, in bold if it is marked as bad or strong.
func (c Cell) markdown(l units.Language) string {
	s := c.Figure(l)
	if spread := c.Spread(); spread != "" {
		s += " " + spread
	}
	s = MarkdownText(s)
	if c.Link != "" {
		s = "[" + s + "](" + strings.NewReplacer(")", "%29", " ", "%20").Replace(units.Clean(c.Link)) + ")"
	}
	if s != "" && (c.Mark == Bad || c.Mark == Strong) {
		s = "**" + s + "**"
	}
	return s
}

// MarkdownText escapes s so that it has no special meaning in Markdown tables and lines.
func MarkdownText(s string) string {
	return strings.NewReplacer("|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "<", "&lt;", "[", "\\[", "#",
		"\\#").Replace(units.Limited(units.Clean(s), mostText))
}
