package report

import (
	"fmt"
	"math"
	"strings"

	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// serverTables is the table of the activity on tables.
func (t *writer) serverTables(in *record.Inspection) cell.Table {
	out := cell.Table{ID: "tables", Title: t.say("TABLES"), Note: t.say("rows")}
	out.Columns = heads(cell.Column{Head: t.say("table"), Left: true}, cell.Column{Head: t.say("scans")},
		cell.Column{Head: t.say("read by them")}, cell.Column{Head: t.say("by index")},
		cell.Column{Head: t.say("inserted"), Priority: 1}, cell.Column{Head: t.say("updated"), Priority: 2},
		cell.Column{Head: "HOT", Priority: 4}, cell.Column{Head: t.say("deleted"), Priority: 3},
		cell.Column{Head: t.say("alive")}, cell.Column{Head: t.say("dead"), Priority: 5})
	for _, c := range objects(in, "table", "seq_tup_read", "idx_tup_fetch", "n_tup_ins", "n_tup_upd", "n_tup_del") {
		v := c.Values
		n := func(name string) cell.Cell { return cell.Figure(v[name], "count") }
		hot := cell.Text("")
		if v["n_tup_upd"] > 0 {
			hot = cell.Figure(v["n_tup_hot_upd"]/v["n_tup_upd"], "share")
		}
		out.Add(cell.Text(units.Clean(strings.TrimPrefix(c.Name, "public."))), n("seq_scan"), n("seq_tup_read"),
			n("idx_tup_fetch"), n("n_tup_ins"), n("n_tup_upd"), hot, n("n_tup_del"), n("n_live_tup"), n("n_dead_tup"))
	}
	return out
}

// serverIndexes is the table of the use of indexes.
func (t *writer) serverIndexes(in *record.Inspection) cell.Table {
	const pageB = 8192
	out := cell.Table{ID: "indexes", Title: t.say("INDEXES"),
		Columns: heads(cell.Column{Head: t.say("index"), Left: true}, cell.Column{Head: t.say("scans")},
			cell.Column{Head: t.say("entries read")}, cell.Column{Head: t.say("rows")}, cell.Column{Head: t.say("size")})}
	for _, c := range objects(in, "index", "idx_scan", "idx_blks_hit", "idx_blks_read") {
		v := c.Values
		out.Add(cell.Text(units.Clean(strings.TrimPrefix(c.Name, "public."))), cell.Figure(v["idx_scan"], "count"),
			cell.Figure(v["idx_tup_read"], "count"), cell.Figure(v["idx_tup_fetch"], "count"),
			cell.Figure(v["relpages"]*pageB, "bytes"))
	}
	return out
}

// findings is the table of findings, each with its remedy.
func (t *writer) findings(in *record.Inspection) cell.Table {
	out := cell.Table{ID: "findings", Title: t.say("FINDINGS"),
		Note: t.say("● bounds what the server can take · ! costs time, or will · i worth knowing"), Kind: cell.List}
	for _, f := range in.Findings {
		sign := map[string]cell.Cell{
			record.Critical: cell.Text("●").Marked(cell.Bad), record.Serious: cell.Text("!").Marked(cell.Warn),
			record.Minor: cell.Text("i").Marked(cell.Dim),
		}[f.Severity]
		out.Add(sign, cell.Text(units.Clean(f.Subject)+": "+f.Evidence.In(t.l)+" ["+f.ID+"]"))
		arrow := cell.Text("→").Marked(cell.Dim)
		arrow.Depth = 1
		out.Add(arrow, cell.Text(f.Advice.In(t.l)).Marked(cell.Dim))
	}
	return out
}

// plans returns the query plans of statements with findings.
func (t *writer) plans(in *record.Inspection) (out []cell.Table) {
	for i := range in.Plans {
		p := &in.Plans[i]
		if len(out) < mostPlans && noted(p) {
			out = append(out, t.plan(p, len(out)+1))
		}
	}
	return out
}

func noted(p *record.QueryPlan) bool {
	for i := range p.Nodes {
		if !p.Nodes[i].Note.IsZero() {
			return true
		}
	}
	return false
}

// plan is the tree of a query plan with the findings at each step.
func (t *writer) plan(p *record.QueryPlan, number int) cell.Table {
	out := cell.Table{ID: fmt.Sprintf("plan-%d", number), Title: t.say("PLAN %d", number), Note: recognizable(p.Text)}
	out.Columns = heads(cell.Column{Head: t.say("step"), Left: true}, cell.Column{Head: t.say("planned for")},
		cell.Column{Head: t.say("met")}, cell.Column{Head: t.say("discarded")}, cell.Column{Head: t.say("time")},
		cell.Column{Left: true, Wrap: true, Short: true})
	for i := range p.Nodes {
		n := &p.Nodes[i]
		step := cell.Text(units.Clean(n.Text))
		if n.Depth > 0 {
			step.Text = strings.Repeat("  ", n.Depth-1) + "└ " + step.Text
		}
		met, removed, time := cell.Text(""), cell.Text(""), cell.Text("")
		if p.Analyzed {
			met, removed, time = cell.Figure(n.Rows, "count"), cell.Figure(n.Removed, "count"), cell.Time(n.TotalNs)
		}
		remark := cell.Text(units.Clean(n.Detail))
		if !n.Note.IsZero() {
			remark = cell.Text(strings.TrimSuffix("← "+n.Note.In(t.l)+" · "+units.Clean(n.Detail), " · ")).Marked(cell.Warn)
		}
		out.Add(step, cell.Figure(n.Estimate, "count"), met, removed, time, remark)
	}
	switch {
	case p.RolledBack:
		out.Foot = append(out.Foot, t.say("executed, and rolled back"))
	case !p.Analyzed && p.Source == record.ArgumentsNone:
		out.Foot = append(out.Foot, t.say("planned for any arguments, not executed"))
	case !p.Analyzed:
		out.Foot = append(out.Foot, t.say("not executed"))
	}
	switch p.Source {
	case record.ArgumentsWorkload:
		out.Foot = append(out.Foot, t.say("with the load's own arguments: %s", oneLine(strings.Join(p.Arguments, ", "))))
	case record.ArgumentsTable:
		out.Foot = append(out.Foot, t.say("with arguments from a row of the table: %s",
			oneLine(strings.Join(p.Arguments, ", "))))
	}
	return out
}

// Advice returns the tables of proposed indexes, their effects, and the results of those that were tested.
func Advice(proofs []record.Proof, l units.Language) []cell.Table {
	t := &writer{l: l}
	out := cell.Table{ID: "proposals", Title: t.say("PROPOSALS"),
		Note: t.say("share of all statements' costs, as the planner sees them"), Kind: cell.List}
	if len(proofs) == 0 {
		out.Add(cell.Text("✔").Marked(cell.Good), cell.Text(t.say("no index would save enough to be worth it")))
		return []cell.Table{out}
	}
	for i := range proofs {
		p := &proofs[i]
		how := t.say("tried with HypoPG")
		switch p.Proof {
		case record.ProofBuilt:
			how = t.say("tried by building it")
		case record.ProofEstimated:
			how = t.say("estimated: HypoPG doesn't know such indexes, and --build builds them")
		}
		sign := cell.Text("+").Marked(cell.Accent)
		if !p.Why.IsZero() {
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
			remark(t.say("kept: %s", p.Why.In(t.l)))
		case !p.Why.IsZero():
			remark(t.say("not kept: %s", p.Why.In(t.l)))
		}
	}
	return []cell.Table{out, t.effects(proofs)}
}

// effects is the table of the effect of each index on statements.
func (t *writer) effects(proofs []record.Proof) cell.Table {
	out := cell.Table{ID: "effects", Title: t.say("WHO GAINS AND WHO PAYS"),
		Note: t.say("the planner's costs of one call"),
		Columns: heads(cell.Column{Head: t.say("index"), Left: true}, cell.Column{Head: t.say("calls"), Priority: 1},
			cell.Column{Head: t.say("before")}, cell.Column{Head: t.say("after")},
			cell.Column{Head: t.say("change")}, cell.Column{Head: t.say("statement"), Left: true, Wrap: true, Short: true})}
	for i := range proofs {
		p := &proofs[i]
		name := units.Clean(p.Table + " (" + strings.Join(p.Columns, ", ") + ")")
		add := func(list []record.Effect, m cell.Mark) {
			for _, e := range list {
				before, change := math.NaN(), math.NaN()
				if e.Before > 0 { // 0: EXPLAIN failed
					before, change = e.Before, e.After/e.Before-1
				}
				out.Add(cell.Text(name), cell.Figure(e.Calls, "count"), cell.Figure(before, cell.UnitNumber),
					cell.Figure(e.After, cell.UnitNumber), cell.Figure(change, "change").Marked(m),
					cell.Text(recognizable(e.Text)))
				name = ""
			}
		}
		add(p.Gains, cell.Good)
		add(p.Pays, cell.Warn)
	}
	return out
}
