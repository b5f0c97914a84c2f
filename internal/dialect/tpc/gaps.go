package tpc

import (
	"strings"

	"brunt/internal/judge/verdict"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// Gaps returns the guarantees of the specifications that a system doesn't give, so that figures from it are not to be
// compared with those of systems that do; none for systems that give all. more are those of the benchmark, by system.
func Gaps(f protocol.Flavor, more map[protocol.Flavor][]string) (out []string) {
	if !Transactions(f) {
		out = []string{
			"atomicity: there are no transactions over several statements; what a transaction has changed before it fails stays",
			"isolation: two transactions can read one row and then change it both",
			"consistency: the conditions of the specification can be violated by the load",
		}
	}
	if f == protocol.FlavorSQLite {
		out = []string{"concurrency: one transaction at a time writes; further ones wait for it"}
	}
	return append(out, more[f]...)
}

// GapSeparator separates gaps in a record's extra value.
const GapSeparator = " | "

// GapsTable returns the table of gaps, which are in one text; none if it is empty.
func GapsTable(l units.Language, system, gaps string) []cell.Table {
	if gaps == "" {
		return nil
	}
	t := cell.Table{ID: "lacks", Title: message.Label(l, "NOT GUARANTEED"), Kind: cell.List,
		Note: message.Label(l, "by %s, and part of the specification", system)}
	for one := range strings.SplitSeq(gaps, GapSeparator) {
		t.Add(cell.Text("!"), cell.Text(message.Label(l, one)))
	}
	return []cell.Table{t}
}

// VerdictRows adds a load's verdict and its reasons to the rows of a tree.
func VerdictRows(t *cell.Table, run *record.Run, l units.Language) {
	mark := cell.Good
	if run.Verdict.Result != verdict.Pass {
		mark = cell.Bad
	}
	note := ""
	for i, reason := range run.Verdict.Reasons {
		if i > 0 {
			note += "; "
		}
		note += reason.In(l)
	}
	t.Add(cell.Text(message.Label(l, "verdict of brunt")), cell.Text(string(run.Verdict.Result)).Marked(mark),
		cell.Text(note))
}
