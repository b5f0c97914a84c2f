package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/page"
	"brunt/internal/render/svg"
	"brunt/internal/render/units"
)

// The limits on the rows of database tables. The record has all rows.
const (
	mostStatements = 15
	mostObjects    = 10
	mostWaits      = 8
	mostPlans      = 6
)

// inspected returns the tables of the servers' own statistics.
func (t *writer) inspected() (out []cell.Table) {
	for i := range t.run.Inspections {
		in := &t.run.Inspections[i]
		if len(in.Windows) == 0 {
			continue
		}
		of := []cell.Table{
			t.database(in), t.statements(in), t.statementsByPhase(in), t.waits(in), t.clients(in), t.blocked(in), t.replicas(in),
			t.serverTables(in), t.serverIndexes(in), t.findings(in),
		}
		of = append(of, t.plans(in)...)
		for _, table := range of {
			if len(table.Rows) == 0 {
				continue
			}
			if i > 0 {
				table.ID += fmt.Sprintf("-%d", i+1)
			}
			out = append(out, table)
		}
	}
	return out
}

// database describes the server, its activity in total, and the cost of the inspection.
func (t *writer) database(in *record.Inspection) cell.Table {
	w := &in.Windows[0]
	out := tree{cell.Table{ID: "database", Title: t.say("DATABASE"),
		Note: t.say("what it said of itself; warm-up excluded"), Kind: cell.Tree}}
	out.add(t.say("server"), cell.Text(units.Clean(in.Product+" "+in.Version)), units.Clean(in.Source))
	v := figures(w, "database")
	if n := v["blks_hit"] + v["blks_read"]; n > 0 {
		out.add(t.say("cache"), cell.Figure(v["blks_hit"]/n, "share"),
			t.say("of %s pages asked for were in it", t.l.Value(n, "count")))
	}
	if n := v["xact_commit"] + v["xact_rollback"]; n > 0 {
		out.add(t.say("transactions"), cell.Figure(n, "count"), t.say("%s rolled back, %s deadlocks",
			t.l.Value(v["xact_rollback"], "count"), t.l.Value(v["deadlocks"], "count")))
	}
	if n := figures(w, "wal")["wal_bytes"]; n > 0 {
		out.add("WAL", cell.Figure(n, "bytes"), "")
	}
	if n := v["temp_bytes"]; n > 0 {
		out.add(t.say("temporary files"), cell.Figure(n, "bytes"), "")
	}
	var settings []string
	which := ""
	for _, s := range in.Settings {
		if s.Default != "" {
			which = t.say("that differ from the defaults")
		}
		settings = append(settings, units.Clean(s.Name+" "+t.l.Figure(units.Setting(s.Value))))
	}
	if len(settings) > 0 {
		out.add(t.say("settings"), cell.Text(strings.Join(settings, " · ")), which)
	}
	out.add(t.say("asking it"), cell.Figure(in.Cost.Share, "share"),
		t.say("of the time at most: %d questions, %d samples; %s after the load", in.Cost.Queries, in.Activity.Samples,
			t.l.Figure(units.Latency(float64(in.Cost.AfterNs)))))
	for _, m := range in.Missing {
		out.add("!", cell.Text(m.Text.In(t.l)).Marked(cell.Warn), m.Remedy.In(t.l))
	}
	return out.Table
}

// figures returns the figures of the first object of a kind.
func figures(w *record.ServerWindow, kind string) map[string]float64 {
	for i := range w.Counters {
		if w.Counters[i].Kind == kind {
			return w.Counters[i].Values
		}
	}
	return nil
}

// statements is the table of the statements that took most of the server's time, each with the operation that caused
// it.
func (t *writer) statements(in *record.Inspection) cell.Table {
	switch in.Counts {
	case record.CountsCommands:
		return t.commands(in, t.say("COMMANDS"), t.say("command"))
	case record.CountsMethods:
		return t.commands(in, t.say("METHODS"), t.say("method"))
	}
	out := cell.Table{ID: "statements", Title: t.say("STATEMENTS"),
		Note: t.say("most of the server's time first; response: the operation's p50")}
	out.Columns = heads(cell.Column{Head: t.say("operation"), Left: true},
		cell.Column{Head: t.say("response"), Priority: 1}, cell.Column{Head: t.say("calls"), Priority: 2},
		cell.Column{Head: t.say("mean")}, cell.Column{Head: "σ", Priority: 4}, cell.Column{Head: t.say("rows"), Priority: 5},
		cell.Column{Head: t.say("pages"), Priority: 3},
		cell.Column{Head: t.say("time")}, cell.Column{Head: t.say("statement"), Left: true, Wrap: true, Short: true})
	list := in.Windows[0].Statements
	guessed := false
	for _, s := range list[:min(len(list), mostStatements)] {
		name, response := t.causes(&s)
		guessed = guessed || s.Match == record.MatchCount
		deviation, pages := cell.None(), cell.None() // only PostgreSQL counts them
		if s.StddevNs > 0 {
			deviation = cell.Time(s.StddevNs)
		}
		if hit, counted := s.More["shared_blks_hit"]; counted {
			pages = cell.Figure((hit+s.More["shared_blks_read"])/max(s.Calls, 1), cell.UnitNumber)
		}
		out.Add(name, response, cell.Figure(s.Calls, "count"), cell.Time(s.MeanNs), deviation,
			cell.Figure(s.Rows/max(s.Calls, 1), cell.UnitNumber), pages, cell.Figure(s.Share, "share"),
			cell.Text(recognizable(s.Text)))
	}
	if more := len(list) + in.Windows[0].Omitted - len(out.Rows); more > 0 {
		out.Foot = append(out.Foot, t.say("and %d more, see %s", more, in.File))
	}
	if guessed {
		out.Foot = append(out.Foot, t.say("≈ the operation was done just as often as the statement was executed"))
	}
	return out
}

// commands is the table of the commands or methods of a server that has no statements. Their times are left out if the
// server doesn't measure them.
func (t *writer) commands(in *record.Inspection, title, head string) cell.Table {
	list := in.Windows[0].Statements
	timed := slices.ContainsFunc(list, func(s record.Statement) bool { return s.TotalNs > 0 })
	out := cell.Table{ID: "statements", Title: title, Note: t.say("response: the operation's p50")}
	if timed {
		out.Note = t.say("most of the server's time first; response: the operation's p50")
	}
	out.Columns = heads(cell.Column{Head: t.say("operation"), Left: true},
		cell.Column{Head: t.say("response"), Priority: 1}, cell.Column{Head: t.say("calls")},
		cell.Column{Head: t.say("mean")}, cell.Column{Head: t.say("failed"), Priority: 2},
		cell.Column{Head: t.say("time")}, cell.Column{Head: head, Left: true})
	for _, s := range list[:min(len(list), mostStatements)] {
		name, response := t.causes(&s)
		mean, share := cell.None(), cell.None()
		if timed {
			mean, share = cell.Time(s.MeanNs), cell.Figure(s.Share, "share")
		}
		out.Add(name, response, cell.Figure(s.Calls, "count"), mean,
			cell.Figure(s.More["failed_calls"]+s.More["rejected_calls"], "count"), share, cell.Text(units.Clean(s.Text)))
	}
	if more := len(list) + in.Windows[0].Omitted - len(out.Rows); more > 0 {
		out.Foot = append(out.Foot, t.say("and %d more, see %s", more, in.File))
	}
	return out
}

// causes returns the operations that caused a statement, and the median response time of the first one.
func (t *writer) causes(s *record.Statement) (name, response cell.Cell) {
	if len(s.Operations) == 0 {
		return cell.Text("–").Marked(cell.Dim), cell.Text("")
	}
	text := strings.Join(s.Operations, ", ")
	if s.Match == record.MatchCount {
		text = "≈ " + text
	}
	name = cell.Text(units.Clean(text))
	for i := range t.run.Operations {
		if o := &t.run.Operations[i]; o.Name == s.Operations[0] && o.Done > 0 {
			return name, cell.Time(o.Response.P50Ns)
		}
	}
	return name, cell.Text("")
}

// recognizable returns a statement as one short line. It is cut in the middle, because generated statements have equal
// beginnings and different ends.
func recognizable(text string) string {
	const first, last = 9, 43
	text = oneLine(text)
	if r := []rune(text); len(r) > first+last {
		return string(r[:first]) + " … " + string(r[len(r)-last:])
	}
	return text
}

func oneLine(text string) string { return units.Clean(strings.Join(strings.Fields(text), " ")) }

// statementsByPhase is the table of the mean times of the heaviest statements by phase, if there are several phases.
func (t *writer) statementsByPhase(in *record.Inspection) cell.Table {
	const most = 8
	out := cell.Table{ID: "statements-phases", Title: t.say("STATEMENTS BY PHASE"), Note: t.say("mean time of a call")}
	var phases []*record.ServerWindow
	for i := range in.Windows[1:] {
		if w := &in.Windows[1+i]; !w.WarmUp && len(w.Statements) > 0 {
			phases = append(phases, w)
		}
	}
	if len(phases) < 2 {
		return out
	}
	phases = phases[max(len(phases)-most, 0):]
	out.Columns = []cell.Column{{Head: t.say("statement"), Left: true, Wrap: true, Short: true}}
	for i, w := range phases {
		out.Columns = append(out.Columns, cell.Column{Head: units.Clean(w.Phase), Priority: len(phases) - i - 1})
	}
	list := in.Windows[0].Statements
	for _, s := range list[:min(len(list), most)] {
		row := []cell.Cell{cell.Text(recognizable(s.Text))}
		for _, w := range phases {
			at := slices.IndexFunc(w.Statements, func(o record.Statement) bool { return o.ID == s.ID })
			if at < 0 {
				row = append(row, cell.None())
			} else {
				row = append(row, cell.Time(w.Statements[at].MeanNs))
			}
		}
		out.Add(row...)
	}
	return out
}

// waits is the table of the wait events of active sessions.
func (t *writer) waits(in *record.Inspection) cell.Table {
	a := &in.Activity
	out := cell.Table{ID: "waits", Title: t.say("WAITS"), Note: t.say("active sessions at a time, by %d samples",
		a.Samples),
		Columns: heads(cell.Column{Head: t.say("class"), Left: true}, cell.Column{Head: t.say("event"), Left: true},
			cell.Column{Head: t.say("sessions")}, cell.Column{Head: t.say("share")}, cell.Column{Left: true})}
	for _, w := range a.Waits[:min(len(a.Waits), mostWaits)] {
		m := cell.Plain
		if w.Class == "Lock" {
			m = cell.Warn
		}
		out.Add(cell.Text(units.Clean(w.Class)).Marked(m), cell.Text(units.Clean(w.Event)),
			cell.Figure(w.Mean, cell.UnitNumber), cell.Figure(w.Share, "share"), cell.Figure(w.Share, cell.UnitBar))
	}
	return out
}

// clients is the table of connections by application.
func (t *writer) clients(in *record.Inspection) cell.Table {
	out := cell.Table{ID: "connections", Title: t.say("CONNECTIONS"),
		Note: t.say("of each application; all at work: share of the samples"),
		Columns: heads(cell.Column{Head: t.say("application"), Left: true}, cell.Column{Head: t.say("address"), Left: true,
			Priority: 3}, cell.Column{Head: t.say("mean")}, cell.Column{Head: t.say("max")},
			cell.Column{Head: t.say("at work")}, cell.Column{Head: t.say("all at work"), Priority: 1},
			cell.Column{Head: t.say("idle in transaction"), Priority: 2})}
	for _, c := range in.Activity.Clients {
		name := cmp.Or(units.Clean(c.Application), "–")
		active, all, inXact := cell.Figure(c.ActiveMean, cell.UnitNumber), cell.Figure(c.AllActive, "share"),
			cell.Figure(c.InXact, cell.UnitNumber)
		if !in.SeesWork() {
			active, all, inXact = cell.None(), cell.None(), cell.None()
		}
		out.Add(cell.Text(name), cell.Text(units.Clean(c.Address)), cell.Figure(c.Mean, cell.UnitNumber), cell.Count(c.Max),
			active, all, inXact)
	}
	return out
}

// blocked is the table of statements that waited for each other.
func (t *writer) blocked(in *record.Inspection) cell.Table {
	const most = 5
	out := cell.Table{ID: "locks", Title: t.say("LOCKS"), Note: t.say("who waited for whom"),
		Columns: heads(cell.Column{Head: t.say("waiting"), Left: true, Wrap: true, Short: true},
			cell.Column{Head: t.say("held by"), Left: true, Wrap: true, Short: true}, cell.Column{Head: t.say("sessions")},
			cell.Column{Head: t.say("longest")}, cell.Column{Head: t.say("lock"), Left: true, Priority: 1})}
	for _, b := range in.Activity.Blocked[:min(len(in.Activity.Blocked), most)] {
		out.Add(cell.Text(oneLine(b.Waiting)), cell.Text(oneLine(b.Holder+" ("+b.HolderState+")")),
			cell.Figure(b.Mean, cell.UnitNumber), cell.Time(b.LongestNs),
			cell.Text(units.Clean(strings.TrimSpace(b.Lock+" "+b.Relation))))
	}
	return out
}

// replicas is the table of the replicas' worst figures.
func (t *writer) replicas(in *record.Inspection) cell.Table {
	out := cell.Table{ID: "replicas", Title: t.say("REPLICAS"), Note: t.say("the worst seen"),
		Columns: heads(cell.Column{Head: t.say("name"), Left: true}, cell.Column{Head: t.say("state"), Left: true},
			cell.Column{Head: t.say("behind")}, cell.Column{Head: t.say("lag")})}
	for _, r := range in.Activity.Replicas {
		out.Add(cell.Text(units.Clean(r.Name)), cell.Text(units.Clean(r.State)), cell.Figure(r.BytesMax, "bytes"),
			cell.Text(t.span(int64(time.Duration(r.LagNsMax)))))
	}
	return out
}

// objects returns a window's counters of one kind, those with most work first.
func objects(in *record.Inspection, kind string, work ...string) (out []record.Counters) {
	sum := func(c *record.Counters) (n float64) {
		for _, name := range work {
			n += c.Values[name]
		}
		return n
	}
	for _, c := range in.Windows[0].Counters {
		if c.Kind == kind && sum(&c) > 0 {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b record.Counters) int { return cmp.Compare(sum(&b), sum(&a)) })
	return out[:min(len(out), mostObjects)]
}

// waitCharts returns charts of the wait events of databases' active sessions over the run.
func (b *builder) waitCharts(r *Result, bands []svg.Band) (out []page.Block) {
	for i := range r.Run.Inspections {
		points := r.Run.Inspections[i].Activity.Points
		classes := map[string]bool{}
		for _, p := range points {
			for c := range p.Classes {
				classes[c] = true
			}
		}
		if len(points) < 2 || len(classes) == 0 {
			continue
		}
		var all []svg.Series
		for _, class := range slices.Sorted(maps.Keys(classes)) {
			s := svg.Series{Name: class}
			for _, p := range points {
				s.X, s.Y = append(s.X, float64(p.AtNs)/1e9), append(s.Y, math.Max(p.Classes[class], 0))
			}
			all = append(all, s)
		}
		f := svg.Frame{Title: b.say("Waits"), X: svg.Axis{Unit: "clock"}, Y: svg.Axis{Unit: "number"}, Height: 180,
			Language: b.l}
		out = append(out, page.Chart{ID: "chart-waits", Title: f.Title,
			Note: b.say("active sessions of the database by what they wait for; CPU: for nothing"),
			SVG:  svg.Stack(f, all, bands)})
	}
	return out
}
