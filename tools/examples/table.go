//go:build linux

package main

import (
	"fmt"
	"strings"
	"time"
)

// table contains the results of scripts. Scripts that ended in the same way share a row.
type table struct {
	version   string // of k6
	date      time.Time
	limit     time.Duration
	rows      []row
	scripts   int
	different int
}

// row is a way to end.
type row struct {
	k6, brunt   string // brunt is "" if both ended in the same way
	differences string
	scripts     []string
}

// add adds a script that ended in the given ways with k6 and with brunt.
func (t *table) add(script string, ends [2]ending) {
	t.scripts++
	r := row{k6: ends[0].String(), scripts: []string{"`" + script + "`"}}
	if differences := ends[0].differences(&ends[1]); len(differences) > 0 {
		t.different++
		r.brunt, r.differences = ends[1].String(), strings.Join(differences, "; ")
	}
	for i := range t.rows {
		if o := &t.rows[i]; o.k6 == r.k6 && o.brunt == r.brunt && o.differences == r.differences {
			o.scripts = append(o.scripts, r.scripts...)
			return
		}
	}
	t.rows = append(t.rows, r)
}

// String returns the table in Markdown.
func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "k6 %s, %s, without a network, interrupted after %g s: ", t.version, t.date.Format(time.DateOnly),
		t.limit.Seconds())
	fmt.Fprintf(&b, "of %d scripts %d end alike, %d differently.\n\n", t.scripts, t.scripts-t.different, t.different)
	b.WriteString("| k6 | brunt | Scripts |\n|---|---|---|\n")
	for _, r := range t.rows {
		other := "the same"
		if r.brunt != "" {
			other = r.brunt + ": " + r.differences
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.k6, other, strings.Join(r.scripts, ", "))
	}
	return b.String()
}
