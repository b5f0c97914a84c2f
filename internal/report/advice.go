package report

import (
	"strings"

	"brunt/internal/inspect"
	"brunt/internal/inspect/advise"
	"brunt/internal/report/cell"
	"brunt/internal/units"
)

// Advice is what indexes are proposed, what they change, and what came of those that were tried.
func Advice(proofs []advise.Proof, l units.Language) []cell.Table {
	t := &teller{l: l}
	out := cell.Table{ID: "proposals", Title: t.say("PROPOSALS"), Note: t.say("share of all statements' costs, as the planner sees them"), Kind: cell.List}
	if len(proofs) == 0 {
		out.Add(cell.Text("✔").Marked(cell.Good), cell.Text(t.say("no index would save enough to be worth it")))
		return []cell.Table{out}
	}
	for i := range proofs {
		p := &proofs[i]
		how := t.say("tried with HypoPG")
		if p.Proof == inspect.ProofBuilt {
			how = t.say("tried by building it")
		}
		sign := cell.Text("+").Marked(cell.Accent)
		if p.Why != "" {
			sign = map[bool]cell.Cell{true: cell.Text("✔").Marked(cell.Good), false: cell.Text("✘").Marked(cell.Bad)}[p.Kept]
		}
		out.Add(sign, cell.Text(units.Clean(p.DDL)).Marked(cell.Strong))
		remark := func(text string) {
			arrow := cell.Text("→").Marked(cell.Dim)
			arrow.Depth = 1
			out.Add(arrow, cell.Text(text))
		}
		remark(t.say("saves %s, takes %s; %s", t.l.Value(p.Saves, "share"), t.l.Value(p.SizeB, "bytes"), how))
		switch {
		case p.Kept:
			remark(t.say("kept: %s", units.Clean(p.Why)))
		case p.Why != "":
			remark(t.say("not kept: %s", units.Clean(p.Why)))
		}
	}
	return []cell.Table{out, t.effects(proofs)}
}

// effects is what each index changes for which statements.
func (t *teller) effects(proofs []advise.Proof) cell.Table {
	out := cell.Table{ID: "effects", Title: t.say("WHO GAINS AND WHO PAYS"), Note: t.say("the planner's costs of one call"),
		Columns: heads(cell.Column{Head: t.say("index"), Left: true}, cell.Column{Head: t.say("calls"), Priority: 1}, cell.Column{Head: t.say("before")}, cell.Column{Head: t.say("after")},
			cell.Column{Head: t.say("change")}, cell.Column{Head: t.say("statement"), Left: true, Wrap: true})}
	for i := range proofs {
		p := &proofs[i]
		name := units.Clean(p.Table + " (" + strings.Join(p.Columns, ", ") + ")")
		add := func(list []inspect.Effect, m cell.Mark) {
			for _, e := range list {
				out.Add(cell.Text(name), cell.Figure(e.Calls, "count"), cell.Figure(e.Before, cell.UnitNumber), cell.Figure(e.After, cell.UnitNumber), cell.Figure(e.After/max(e.Before, 1e-9)-1, "change").Marked(m), cell.Text(recognizable(e.Text)))
				name = ""
			}
		}
		add(p.Gains, cell.Good)
		add(p.Pays, cell.Warn)
	}
	return out
}
