//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// The goals: see docs/causes.md.
const leastRight = 0.9 // of the planted causes, named first

// printTable prints the rows in Markdown.
func printTable(w io.Writer, all []*outcome) {
	fmt.Fprintln(w, tableHead)
	for _, o := range all {
		fmt.Fprintln(w, lineOf(o))
	}
}

const (
	tableHead = "| System, cause | Planted | Named first | Evidence |\n|---|---|---|---|"
	wrong     = "**" // around what was named first by mistake
)

// lineOf returns the table's line of a row.
func lineOf(o *outcome) string {
	first := orUnknown(o.First)
	switch {
	case o.Healthy && o.Right:
		first = "nothing"
	case !o.Right:
		first = wrong + first + wrong
	}
	evidence := o.Evidence
	if o.Healthy && o.Right {
		evidence = ""
	}
	return fmt.Sprintf("| %s | %s | %s | %s |", o.Name, cell(o.Planted), first, cell(shortened(evidence)))
}

// cell returns a text that doesn't end a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", "$", "\\$").Replace(text)
}

// shortened returns the evidence without its id and severity, and without more than a few sentences.
func shortened(evidence string) string {
	const most = 220
	_, text, _ := strings.Cut(evidence, "): ")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + " …"
	}
	return text
}

// tally counts the outcomes.
type tally struct{ planted, right, unknown, healthy, false_ int }

func (t *tally) add(o *outcome) {
	if o.Healthy {
		t.healthy++
		if !o.Right {
			t.false_++
		}
		return
	}
	t.planted++
	if o.Right {
		t.right++
	}
	if o.First == "" {
		t.unknown++
	}
}

func count(all []*outcome) (t tally) {
	for _, o := range all {
		t.add(o)
	}
	return t
}

func printSummary(w io.Writer, t tally) {
	fmt.Fprintf(w, "%d of %d planted causes named first", t.right, t.planted)
	if t.planted > 0 {
		fmt.Fprintf(w, " (%.0f %%)", 100*float64(t.right)/float64(t.planted))
	}
	fmt.Fprintf(w, "; unknown said of %d, another cause named of %d; false causes on %d of %d healthy servers.\n",
		t.unknown, t.planted-t.right-t.unknown, t.false_, t.healthy)
}

// goals returns an error that names the goals that are not reached.
func goals(all []*outcome) error {
	t := count(all)
	var missed []error
	if float64(t.right) < leastRight*float64(t.planted) {
		missed = append(missed, fmt.Errorf("only %d of %d planted causes are named first", t.right, t.planted))
	}
	if t.false_ > 0 {
		missed = append(missed, fmt.Errorf("%d healthy servers have a cause", t.false_))
	}
	return errors.Join(missed...)
}

// The comments between which writeTable replaces a page's text.
const (
	tableBegins = "<!-- make causes -->\n"
	tableEnds   = "<!-- end -->"
)

// writeTable replaces those lines of a page's table that belong to rows that were run.
func writeTable(path string, all []*outcome) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(page), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !ok || !ends {
		return fmt.Errorf("%s has no place for the table", path)
	}
	var b bytes.Buffer
	lines, t := merged(rest, all)
	printSummary(&b, t)
	fmt.Fprintf(&b, "\n%s\n%s\n", tableHead, strings.Join(lines, "\n"))
	return os.WriteFile(path, []byte(before+tableBegins+"\n"+b.String()+"\n"+tableEnds+after), 0o644)
}

// merged returns the lines of a table in the order of the rows: those of rows that were run, and of the others those
// that the table has. It counts what they say.
func merged(table string, all []*outcome) (lines []string, t tally) {
	has := map[string]string{}
	for line := range strings.Lines(table) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok && strings.Contains(name, "/") {
			has[name] = strings.TrimSpace(line)
		}
	}
	for _, o := range all {
		has[o.Name] = lineOf(o)
	}
	for _, r := range rows() {
		line := has[r.name()]
		if line == "" {
			continue
		}
		lines = append(lines, line)
		first := strings.Split(line, " | ")[2]
		o := outcome{Healthy: r.healthy(), Right: !strings.HasPrefix(first, wrong), First: strings.Trim(first, "*")}
		if o.First == orUnknown("") {
			o.First = ""
		}
		t.add(&o)
	}
	return lines, t
}
