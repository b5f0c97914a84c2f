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
	fmt.Fprintln(w, "| System, cause | Planted | Named first | Evidence |\n|---|---|---|---|")
	for _, o := range all {
		first := orUnknown(o.First)
		switch {
		case o.Healthy && o.Right:
			first = "nothing"
		case !o.Right:
			first = "**" + first + "**"
		}
		evidence := o.Evidence
		if o.Healthy && o.Right {
			evidence = ""
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", o.Name, cell(o.Planted), first, cell(shortened(evidence)))
	}
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

func count(all []*outcome) (t tally) {
	for _, o := range all {
		switch {
		case o.Healthy:
			t.healthy++
			if !o.Right {
				t.false_++
			}
		default:
			t.planted++
			if o.Right {
				t.right++
			}
			if o.First == "" {
				t.unknown++
			}
		}
	}
	return t
}

func printSummary(w io.Writer, all []*outcome) {
	t := count(all)
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

// writeTable replaces the table of a page.
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
	printSummary(&b, all)
	fmt.Fprintln(&b)
	printTable(&b, all)
	return os.WriteFile(path, []byte(before+tableBegins+"\n"+b.String()+"\n"+tableEnds+after), 0o644)
}
