package postgres

import (
	"context"
	"slices"
	"time"

	"brunt/internal/inspect"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// snapshot holds the server's statistics at one moment.
type snapshot struct {
	at         time.Time
	statements map[statementKey]tally
	objects    objects
}

// window holds the changes of the statistics during one phase.
type window struct {
	phase      inspect.Phase
	took       time.Duration
	statements map[statementKey]tally
	counters   []record.Counters
}

// snapshot reads the statistics. What can't be read is reported once, as a notice.
func (i *Inspector) snapshot(ctx context.Context) (*snapshot, error) {
	out := &snapshot{at: time.Now()}
	if i.statements.schema != "" {
		all, hidden, err := i.session.readStatements(ctx, i.statements.schema)
		switch {
		case err == nil:
			out.statements = all
			if hidden > 0 {
				i.miss(record.NewWarning("inspect-hidden", message.Text("user", i.config.User)))
			}
		case ctx.Err() != nil || i.session.conn.IsClosed():
			return nil, err
		default:
			i.miss(lacking("pg_stat_statements", i.config.User, err))
		}
	}
	var err error
	out.objects, err = i.session.readViews(ctx, func(what string, err error) { i.miss(lacking(what, i.config.User, err)) })
	return out, err
}

// reset reports whether counters of the database or of statements began from 0 again between two snapshots. Those of
// tables do if one is created anew.
func reset(from, to *snapshot) bool {
	for key, before := range from.statements {
		if t, ok := to.statements[key]; ok && t.calls < before.calls {
			return true
		}
	}
	for name, before := range from.objects {
		for figure, x := range before {
			if name.kind == "database" && to.objects[name][figure] < x && !slices.Contains(gauges[:], figure) {
				return true
			}
		}
	}
	return false
}

// between returns the changes from one snapshot to a later one.
func between(from, to *snapshot, phase inspect.Phase) window {
	w := window{phase: phase, took: to.at.Sub(from.at), statements: map[statementKey]tally{}}
	for k, t := range to.statements {
		if d := t.since(from.statements[k]); d.calls > 0 {
			w.statements[k] = d
		}
	}
	w.counters = to.objects.since(from.objects)
	return w
}

// join combines several phases into one window.
func join(all []window) window {
	var out window
	out.statements = map[statementKey]tally{}
	for _, w := range all {
		out.took += w.took
		for k, t := range w.statements {
			out.statements[k] = out.statements[k].with(t)
		}
		out.counters = add(out.counters, w.counters)
	}
	return out
}

// record returns the window for the record.
func (w *window) record(texts map[string]string) record.ServerWindow {
	return record.ServerWindow{
		Phase: w.phase.Name, WarmUp: w.phase.WarmUp, DurationNs: int64(w.took),
		Statements: statements(w.statements, texts), Counters: w.counters,
	}
}

// windows returns a window of the load without its warm-up and, if there are several phases, one for each of them.
func windows(phases []window, texts map[string]string) []record.ServerWindow {
	var load []window
	for _, p := range phases {
		if !p.phase.WarmUp {
			load = append(load, p)
		}
	}
	all := join(load)
	out := []record.ServerWindow{all.record(texts)}
	if len(phases) > 1 {
		for k := range phases {
			out = append(out, phases[k].record(texts))
		}
	}
	return out
}
