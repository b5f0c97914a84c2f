package cell

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"

	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// foldAfter is how many rows of a table are visible at first; the rest can be unfolded.
const foldAfter = 60

// wideColumns is the greatest number of columns for small windows. There, wider rows are stacked vertically.
const wideColumns = 8

// WriteHTML writes tables as sections of an HTML page that uses the style sheet of package page.
func WriteHTML(w io.Writer, l units.Language, tables ...Table) error {
	out := bufio.NewWriter(w)
	for i := range tables {
		t := &tables[i]
		id := ""
		if t.ID != "" {
			id = fmt.Sprintf(` id="%s"`, html.EscapeString(t.ID))
		}
		_, _ = fmt.Fprintf(out, "<section%s>\n", id)
		if t.Title != "" {
			_, _ = fmt.Fprintf(out, "<h2>%s</h2>\n", text(t.Title))
		}
		if t.Note != "" {
			_, _ = fmt.Fprintf(out, "<p class=\"note\">%s</p>\n", text(t.Note))
		}
		t.html(out, l)
		for _, f := range t.Foot {
			_, _ = fmt.Fprintf(out, "<p class=\"note\">%s</p>\n", text(f))
		}
		for _, f := range Legend(l, *t) {
			_, _ = fmt.Fprintf(out, "<p class=\"legend\">%s</p>\n", text(f))
		}
		_, _ = out.WriteString("</section>\n")
	}
	return out.Flush()
}

// text cleans and escapes external text.
func text(s string) string { return html.EscapeString(units.Clean(s)) }

func (t *Table) html(out *bufio.Writer, l units.Language) {
	if len(t.Rows) == 0 {
		return
	}
	if t.Kind == List {
		_, _ = out.WriteString("<ul class=\"list\">\n")
		for _, row := range t.Rows {
			_, _ = fmt.Fprintf(out, "<li class=\"depth%d\"><span class=\"%s\">%s</span> %s</li>\n", min(at(row, 0).Depth, 2),
				at(row, 0).Mark, text(at(row, 0).Text), at(row, 1).html(l))
		}
		_, _ = out.WriteString("</ul>\n")
		return
	}
	seen := t.Rows[:min(len(t.Rows), foldAfter)]
	t.htmlRows(out, l, seen)
	if rest := t.Rows[len(seen):]; len(rest) > 0 {
		_, _ = fmt.Fprintf(out, "<details><summary>%s</summary>\n",
			text(message.Label(l, "and %s", message.Plural(l, uint64(len(rest)), "more row", "more rows"))))
		t.htmlRows(out, l, rest)
		_, _ = out.WriteString("</details>\n")
	}
}

func (t *Table) htmlRows(out *bufio.Writer, l units.Language, rows [][]Cell) {
	columns, class := t.Columns, "grid"
	if t.Kind == Tree {
		columns, class = []Column{{Left: true}, {Left: true}, {Left: true}}, "tree"
	}
	if len(columns) > wideColumns {
		class += " wide"
	}
	// A table that is too wide scrolls; tabindex makes this possible with the keyboard.
	_, _ = fmt.Fprintf(out, "<div class=\"scroll\" tabindex=\"0\"><table class=\"%s\">\n", class)
	g := layout{table: &Table{Columns: columns}}
	if g.headed() {
		_, _ = out.WriteString("<thead><tr>")
		for _, c := range columns {
			_, _ = fmt.Fprintf(out, "<th scope=\"col\"%s>%s</th>", left(c), text(c.Head))
		}
		_, _ = out.WriteString("</tr></thead>\n")
	}
	_, _ = out.WriteString("<tbody>\n")
	for _, row := range rows {
		_, _ = out.WriteString("<tr>")
		for i, c := range columns {
			f := at(row, i)
			switch {
			case i == 0 && c.Left:
				_, _ = fmt.Fprintf(out, "<th scope=\"row\" class=\"l %sdepth%d %s\">%s</th>", wraps(c), min(f.Depth, 2), f.Mark,
					f.html(l))
			case f.Unit == UnitBar:
				_, _ = fmt.Fprintf(
					out, "<td class=\"bar\"><svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"%.2f\" height=\"10\"/></svg></td>", 100*f.Value)
			default:
				class := strings.TrimSpace(map[bool]string{true: "l ", false: ""}[c.Left] + wraps(c) + string(f.Mark))
				_, _ = fmt.Fprintf(out, "<td class=\"%s\"%s>%s</td>", class, headed(c), f.html(l))
			}
		}
		_, _ = out.WriteString("</tr>\n")
	}
	_, _ = out.WriteString("</tbody></table></div>\n")
}

// headed returns an attribute with the column's heading, for narrow windows in which rows are stacked vertically.
func headed(c Column) string {
	if c.Head == "" {
		return ""
	}
	return fmt.Sprintf(` data-head="%s"`, text(c.Head))
}

// wraps returns the CSS class of columns that wrap.
func wraps(c Column) string {
	if c.Wrap {
		return "w "
	}
	return ""
}

func left(c Column) string {
	if c.Left {
		return ` class="l"`
	}
	return ""
}

// html returns the cell's figure and, smaller, its interval, whose ends are shown as a tooltip.
func (c Cell) html(l units.Language) string {
	s := text(c.Figure(l))
	if spread := c.Spread(); spread != "" {
		title := c.Span(l)
		if title == "" && c.Bounds != nil {
			title = c.Bounds.Why.In(l)
		}
		s += fmt.Sprintf(` <small title="%s">%s</small>`, text(title), text(spread))
	}
	if link := units.Clean(c.Link); strings.HasPrefix(link, "#") || strings.HasPrefix(link, "https://") ||
		strings.HasPrefix(link, "http://") || link != "" && !strings.Contains(link, ":") {
		s = fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(link), s)
	}
	return s
}
