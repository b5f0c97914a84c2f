package report

import (
	"bufio"
	"io"
	"strings"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// Terminal writes the report for people. It contains no control characters except those of Options.
func Terminal(w io.Writer, run *record.Run, o Options) error {
	p := &printer{o: o, columns: o.columns(), out: bufio.NewWriter(w)}
	p.title(run)
	p.tables(Tables(run, o))
	p.lastWord(run)
	return p.out.Flush()
}

// The limits of what a brief report lists, so that it fits a screen.
const (
	briefOperations = 6
	briefFailures   = 3
	briefThresholds = 6
)

// Brief writes a short report for people, which fits a screen: what was done, how long it took, what failed, the
// verdict, and the warnings that matter most.
func Brief(w io.Writer, run *record.Run, o Options) error {
	p := &printer{o: o, columns: o.columns(), out: bufio.NewWriter(w)}
	t := &writer{run: run, l: o.Language, path: o.Path, brief: true}
	p.title(run)
	p.tables(t.all(t.totals, t.latencies, t.streams, t.responses, t.failures, t.thresholds))
	p.lastWord(run)
	for _, list := range t.all(t.gist, t.whereabouts) {
		p.lines(list)
	}
	return p.out.Flush()
}

// printer lays out a report for a terminal. out keeps write errors.
type printer struct {
	o       Options
	columns int
	out     *bufio.Writer
}

func (p *printer) line(s string) { _, _ = p.out.WriteString(strings.TrimRight(s, " ") + "\n") }

func (p *printer) lines(t cell.Table) {
	for _, l := range t.Lines(p.o.Look()) {
		p.line(l)
	}
}

// tables writes tables with an empty line before each. The legend of their signs follows the first table with
// latencies, which uses all of them.
func (p *printer) tables(all []cell.Table) {
	legend := p.o.Look().Legend(all...)
	for i := range all {
		p.line("")
		p.lines(all[i])
		if all[i].ID == "latency" {
			for _, l := range legend {
				for _, part := range cell.Wrap(l, p.columns-2) {
					p.line(p.o.paint("  "+part, cell.Dim))
				}
			}
		}
	}
}

// title writes the first line: the run's name and time, and a rule to the right edge.
func (p *printer) title(run *record.Run) {
	left, name := "━━ ", cell.Shorten(units.Clean(run.Name), p.columns/2)
	when := run.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	right := " brunt " + units.Clean(run.Brunt) + " ━━"
	if run.Brunt == "" {
		right = " brunt ━━"
	}
	used := cell.Width(left) + cell.Width(name) + 2 + cell.Width(when) + 1 + cell.Width(right)
	rule := strings.Repeat("━", max(p.columns-used, 0))
	p.line(p.o.paint(left, cell.Dim) + p.o.paint(name, cell.Strong) + "  " + when + " " + p.o.paint(rule+right, cell.Dim))
}

// verdictMark returns the mark of a verdict.
func verdictMark(result string) cell.Mark {
	return map[string]cell.Mark{verdict.Pass: cell.Good, verdict.Fail: cell.Bad, verdict.Invalid: cell.Warn}[result]
}

// verdictOf returns the verdict of a run as in verdict.Words, and its mark; "" if it has none.
func verdictOf(run *record.Run, l units.Language) (string, cell.Mark) {
	var words []string
	for _, word := range verdict.Words(run) {
		words = append(words, message.Label(l, word))
	}
	mark := verdictMark(run.Verdict.Result)
	if run.Interrupted && mark == cell.Good {
		mark = cell.Warn
	}
	return strings.Join(words, ", "), mark
}

// lastWord writes the verdict.
func (p *printer) lastWord(run *record.Run) {
	name, mark := verdictOf(run, p.o.Language)
	if name == "" {
		return
	}
	name = " " + strings.ToUpper(name) + " "
	p.line("")
	rule := strings.Repeat("━", max(p.columns-cell.Width(name)-2, 0))
	if p.o.Color {
		p.line(p.o.paint("━━", mark) + p.o.badge(name, mark) + p.o.paint(rule, mark))
	} else {
		p.line("━━" + name + rule)
	}
	p.lines(reasons(run, p.o.Language))
}

// reasons writes the reasons for the verdict.
func reasons(run *record.Run, l units.Language) cell.Table {
	t := cell.Table{ID: "reasons", Kind: cell.List}
	_, mark := verdictOf(run, l)
	for _, r := range run.Verdict.Reasons {
		t.Add(cell.Text("●").Marked(mark), cell.Text(r.In(l)))
	}
	return t
}
