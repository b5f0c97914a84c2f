package report

import (
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// streams is the table of answers that were streams of messages, if there were any: the times to the first message,
// between messages, and to the end; and the lag of messages that were sent at an interval.
func (t *writer) streams() cell.Table {
	if t.run.Total.Streams == 0 && t.run.Total.StreamLag.Count == 0 {
		return cell.Table{}
	}
	out := cell.Table{ID: "streams", Title: t.say("STREAMS"), Columns: append(heads(
		cell.Column{Head: t.say("operation"), Left: true}, cell.Column{Head: t.say("streams")},
		cell.Column{Head: t.say("messages")}, cell.Column{Head: t.say("time"), Left: true},
	), t.quantileColumns()...)}
	if n := t.run.Total.StreamUnsent; n > 0 {
		out.Note = t.say("%s messages were due and not sent: their streams ended while the server had no room for them",
			t.count(n))
	}
	shown := 0
	for i := range t.run.Operations {
		o := &t.run.Operations[i]
		if o.Streams == 0 && o.StreamLag.Count == 0 || t.brief && shown == briefOperations {
			continue
		}
		shown++
		if o.Streams > 0 && o.StreamFirst.Count == 0 { // there are only means
			out.Columns[4].Priority = 0
		}
		between := o.StreamMessages - o.Streams
		out.Add(append([]cell.Cell{cell.Text(units.Clean(o.Name)), cell.Count(o.Streams), cell.Count(o.StreamMessages),
			cell.Text(t.say("to the first"))}, streamTimes(&o.StreamFirst, o.Streams, o.StreamFirstNs)...)...)
		if between > 0 {
			out.Add(append(append(cell.Texts("", "", ""), cell.Text(t.say("between"))),
				streamTimes(&o.StreamBetween, between, o.StreamBetweenNs)...)...)
		}
		if o.StreamLag.Count > 0 {
			out.Add(append(append(cell.Texts("", "", ""), cell.Text(t.say("message lag"))),
				quantiles(&o.StreamLag, cell.Plain)...)...)
		}
		out.Add(append(append(cell.Texts("", "", ""), cell.Text(t.say("to the end")).Marked(cell.Dim)),
			quantiles(&o.Service, cell.Dim)...)...)
	}
	return out
}

// streamTimes returns the cells of a distribution of n times. Of a record without it, they are the mean only.
func streamTimes(l *record.Latency, n, sumNs uint64) []cell.Cell {
	out := quantiles(l, cell.Plain)
	if l.Count == 0 && n > 0 {
		out[0] = cell.Time(float64(sumNs) / float64(n))
	}
	return out
}
