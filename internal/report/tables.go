package report

import (
	"brunt/internal/record"
	"brunt/internal/report/cell"
	"brunt/internal/report/words"
	"brunt/internal/units"
)

// teller turns a record into tables in one language.
type teller struct {
	run  *record.Run
	l    units.Language
	path string // the bundle's folder, if there is one
}

// say is a text in the reader's language.
func (t *teller) say(english string, args ...any) string { return words.In(t.l, english, args...) }

// plural is a number of things.
func plural[N int | uint64](t *teller, n N, one, many string) string {
	return words.Plural(t.l, n, one, many)
}

// sentence is one that the record holds.
func (t *teller) sentence(english string) string {
	return words.Sentence(t.l, units.Clean(english))
}

// Tables are the report of a run, in the order in which it is read. Sections without content are left out.
func Tables(run *record.Run, o Options) []cell.Table {
	t := &teller{run, o.Language, o.Path}
	out := t.all(t.configuration, t.totals, t.latencies, t.histogram, t.phases, t.addresses, t.changes, t.events, t.watched, t.machines)
	out = append(out, t.inspected()...)
	return append(out, t.all(t.failures, t.thresholds, t.generator, t.environment, t.warnings)...)
}

func (t *teller) all(sections ...func() cell.Table) (out []cell.Table) {
	for _, section := range sections {
		if s := section(); len(s.Rows) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// tree collects the rows of a tree.
type tree struct{ cell.Table }

// add appends a label, its value and what it means.
func (t *tree) add(label string, value cell.Cell, note string) {
	t.Add(cell.Text(label), value, cell.Text(note))
}

// heads are columns of figures with these heads and priorities.
func heads(columns ...cell.Column) []cell.Column { return columns }
