package tpc

import (
	"strings"

	"brunt/internal/judge/verdict"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/cell"
)

// Gaps returns the guarantees of the specifications that a system doesn't give, so that figures from it are not to be
// compared with those of systems that do; none for systems that give all.
func Gaps(f protocol.Flavor) []string {
	switch f {
	case protocol.FlavorPicodata:
		return []string{
			"atomicity: there are no transactions over several statements; what a transaction has changed before it fails stays",
			"rollback: a New-Order with an unused item leaves its order, order lines and stock behind (its effects are those " +
				"of a commit)",
			"isolation: two transactions can read one row and change it both; order numbers can be given twice, and the second " +
				"insert then fails",
			"consistency: the conditions of the specification can be violated by the load",
		}
	case protocol.FlavorTarantool:
		return []string{
			"atomicity: SQL over iproto has no transactions over several statements here; what a transaction has changed " +
				"before it fails stays",
			"rollback: a New-Order with an unused item leaves its order, order lines and stock behind (its effects are those " +
				"of a commit)",
			"isolation: two transactions can read one row and change it both; order numbers can be given twice, and the second " +
				"insert then fails",
			"consistency: the conditions of the specification can be violated by the load",
			"exact amounts: SQL has no decimal type before version 3; amounts are doubles, dates are microseconds",
		}
	case protocol.FlavorSQLite:
		return []string{
			"exact amounts: there is no decimal type; amounts are doubles, dates are texts",
			"concurrency: one transaction at a time writes; further ones wait for it",
		}
	}
	return nil
}

// GapSeparator separates gaps in a record's extra value.
const GapSeparator = " | "

// GapsTable returns the table of gaps, which are in one text; none if it is empty.
func GapsTable(system, gaps string) []cell.Table {
	if gaps == "" {
		return nil
	}
	t := cell.Table{ID: "lacks", Title: "NOT GUARANTEED", Kind: cell.List,
		Note: "by " + system + ", and part of the specification"}
	for one := range strings.SplitSeq(gaps, GapSeparator) {
		t.Add(cell.Text("!"), cell.Text(one))
	}
	return []cell.Table{t}
}

// VerdictRows adds a load's verdict and its reasons to the rows of a tree.
func VerdictRows(t *cell.Table, run *record.Run) {
	mark := cell.Good
	if run.Verdict.Result != verdict.Pass {
		mark = cell.Bad
	}
	note := ""
	for i, reason := range run.Verdict.Reasons {
		if i > 0 {
			note += "; "
		}
		note += reason.String()
	}
	t.Add(cell.Text("verdict of brunt"), cell.Text(string(run.Verdict.Result)).Marked(mark), cell.Text(note))
}
