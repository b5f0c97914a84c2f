package report

import (
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// streams is the table of answers that were streams of messages, if there were any: mean times to the first message,
// between messages, and to the end.
func (t *writer) streams() cell.Table {
	if t.run.Total.Streams == 0 {
		return cell.Table{}
	}
	out := cell.Table{ID: "streams", Title: t.say("STREAMS"), Note: t.say("mean times"), Columns: heads(
		cell.Column{Head: t.say("operation"), Left: true}, cell.Column{Head: t.say("streams")},
		cell.Column{Head: t.say("messages")}, cell.Column{Head: t.say("to the first")}, cell.Column{Head: t.say("between")},
		cell.Column{Head: t.say("to the end")},
	)}
	for i := range t.run.Operations {
		o := &t.run.Operations[i]
		if o.Streams == 0 {
			continue
		}
		between := cell.None()
		if n := o.StreamMessages - o.Streams; n > 0 {
			between = cell.Time(float64(o.StreamBetweenNs) / float64(n))
		}
		out.Add(cell.Text(units.Clean(o.Name)), cell.Count(o.Streams), cell.Count(o.StreamMessages),
			cell.Time(float64(o.StreamFirstNs)/float64(o.Streams)), between, cell.Time(o.Service.MeanNs))
	}
	return out
}
