package report

import (
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// counted is the table of what scripts have counted.
func (t *writer) counted() cell.Table {
	out := cell.Table{ID: "counted", Title: t.say("COUNTED"), Note: t.say("by scripts"), Columns: []cell.Column{
		{Head: t.say("operation"), Left: true}, {Head: t.say("counter"), Left: true}, {Head: t.say("count")},
		{Head: t.say("per operation")},
	}}
	for i := range t.run.Operations {
		o := &t.run.Operations[i]
		for k, name := range o.Counters {
			each := cell.Text("")
			if o.OK > 0 {
				each = cell.Figure(float64(o.Script[k])/float64(o.OK), cell.UnitNumber)
			}
			out.Add(cell.Text(units.Clean(o.Name)), cell.Text(units.Clean(name)), cell.Count(o.Script[k]), each)
		}
	}
	return out
}
