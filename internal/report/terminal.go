// Package report tells what a run's record says: on a terminal, as JSON, CSV and Markdown; the
// progress lines of a run under way; the lastWord and the warnings. It reads records and knows
// nothing of how a run is made.
package report

import (
	"bufio"
	"io"
	"strings"

	"brunt/internal/record"
	"brunt/internal/units"
)

// Terminal writes the report for people. It holds no control characters but those of Options.
func Terminal(w io.Writer, run *record.Run, o Options) error {
	p := &page{o: o, columns: o.columns(), out: bufio.NewWriter(w)}
	p.title(run)
	for _, section := range []func(*page, *record.Run){
		configuration, totals, latencies, histogram, phases, addresses, changes, watched, failures,
		thresholds, generator, environment, warnings, lastWord,
	} {
		section(p, run)
	}
	return p.out.Flush()
}

// page lays out a report's sections. Errors of writing are kept by out.
type page struct {
	o       Options
	columns int
	out     *bufio.Writer
}

func (p *page) line(s string) { _, _ = p.out.WriteString(strings.TrimRight(s, " ") + "\n") }

// title is the first line: the run's name and when it was, and a rule to the right edge.
func (p *page) title(run *record.Run) {
	left, name := "━━ ", cut(units.Clean(run.Name), p.columns/2)
	when := run.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	right := " brunt " + units.Clean(run.Brunt) + " ━━"
	if run.Brunt == "" {
		right = " brunt ━━"
	}
	used := displayWidth(left) + displayWidth(name) + 2 + displayWidth(when) + 1 + displayWidth(right)
	rule := strings.Repeat("━", max(p.columns-used, 0))
	p.line(p.o.paint(left, dim) + p.o.paint(name, bold) + "  " + when + " " + p.o.paint(rule+right, dim))
}

// heading begins a section: its name and, dimmed, what it means.
func (p *page) heading(name, note string) {
	p.line("")
	s := p.o.paint(name, bold)
	if note != "" {
		s += "  " + p.o.paint(cut(note, p.columns-displayWidth(name)-2), dim)
	}
	p.line(s)
}

// item is a label and its value in a tree.
type item struct {
	label string
	value string
	style style
	note  string // dimmed, after the value
}

// tree writes items as the branches of a section; long values go on in further lines.
func (p *page) tree(items []item) {
	labels := 0
	for _, it := range items {
		labels = max(labels, displayWidth(it.label))
	}
	for i, it := range items {
		mark, next := "├─ ", "│  "
		if i == len(items)-1 {
			mark, next = "└─ ", "   "
		}
		indent := strings.Repeat(" ", labels+2)
		room := p.columns - 3 - labels - 2
		for k, text := range wrap(it.value, room) {
			text = cut(text, room)
			last := p.o.paint(text, it.style)
			if free := room - displayWidth(text) - 2; it.note != "" && k == len(wrap(it.value, room))-1 && free > 8 {
				last += "  " + p.o.paint(cut(it.note, free), dim)
			}
			if k == 0 {
				p.line(p.o.paint(mark, dim) + padRight(it.label, labels+2) + last)
			} else {
				p.line(p.o.paint(next, dim) + indent + last)
			}
		}
	}
}

// grid writes a table indented like a tree's branches.
func (p *page) grid(t *table) {
	for _, l := range t.lines(p.o, p.columns-2) {
		p.line("  " + l)
	}
}

// paragraph writes text wrapped, with a mark before its first line.
func (p *page) paragraph(mark string, markStyle style, text string, st style) {
	indent := displayWidth(mark)
	for i, l := range wrap(text, p.columns-indent) {
		if i == 0 {
			p.line(p.o.paint(mark, markStyle) + p.o.paint(l, st))
		} else {
			p.line(strings.Repeat(" ", indent) + p.o.paint(l, st))
		}
	}
}
