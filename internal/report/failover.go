package report

import (
	"cmp"
	"fmt"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// mostIncidents and mostStalls limit the incidents and the generator's stalls in the report.
const (
	mostIncidents = 20
	mostStalls    = 5
)

// failover is the account of outages: the effect of each fault.
func (t *writer) failover() cell.Table {
	f := t.run.Failover
	out := cell.Table{ID: "failover", Title: t.say("FAILOVER")}
	if f == nil {
		return out
	}
	out.Note = t.say("an arrival is bad if it doesn't succeed within %s; outages from %s on", t.span(f.DeadlineNs),
		t.span(f.ToleranceNs))
	out.Columns = []cell.Column{
		{Head: t.say("what"), Left: true}, {Head: t.say("at"), Priority: 3}, {Head: t.say("detected"), Priority: 5},
		{Head: t.say("outage")}, {Head: t.say("longest"), Priority: 6}, {Head: t.say("brown-out"), Priority: 4},
		{Head: t.say("recovered")}, {Head: t.say("failed")}, {Head: t.say("unknown"), Priority: 2},
		{Head: t.say("waited"), Priority: 1}, {Head: t.say("unsent"), Priority: 7},
	}
	if !f.Refused.IsZero() {
		out.Add(cell.Text(f.Refused.In(t.l)).Marked(cell.Warn))
		return out
	}
	for i := range f.Incidents[:min(len(f.Incidents), mostIncidents)] {
		t.incident(&out, &f.Incidents[i])
	}
	if more := len(f.Incidents) - mostIncidents; more > 0 {
		out.Foot = append(out.Foot, t.say("and %s, see %s", plural(t, more, "other", "others"), record.RunFile))
	}
	for i := range f.Stalls[:min(len(f.Stalls), mostStalls)] {
		s := &f.Stalls[i]
		out.Foot = append(out.Foot, t.say("no outage: at %s the generator itself was late, for %s (%s)",
			t.span(int64(time.Duration(s.StartNs).Round(time.Millisecond))), t.span(s.EndNs-s.StartNs),
			plural(t, int(s.Arrivals), "arrival", "arrivals")))
	}
	if more := len(f.Stalls) - mostStalls; more > 0 {
		out.Foot = append(out.Foot, t.say("and %s, see %s", plural(t, more, "other", "others"), record.RunFile))
	}
	if len(f.Incidents) == 0 {
		out.Add(cell.Text(t.say("no outage")).Marked(cell.Good))
	}
	return out
}

// incident adds the rows of one incident: of all arrivals, and of the operations and addresses that it affected.
func (t *writer) incident(out *cell.Table, in *record.Incident) {
	for i := range in.Scopes {
		h := &in.Scopes[i]
		name, at, detected, recovered := cell.Text(scopeName(h.Scope)), cell.Text(""), cell.Text(""), cell.Text("")
		name.Depth = 1
		if i == 0 {
			name = cell.Text(t.incidentName(in))
			at = cell.Text(t.l.Figure(units.Span(time.Duration(in.BeginNs).Round(time.Millisecond))))
			recovered = t.recovered(in)
			if in.Fault != "" && in.NoticedNs != 0 {
				detected = cell.Time(in.DetectionNs)
			}
		}
		out.Add(name, at, detected, lasted(h.OutageNs, cell.Bad), lasted(h.OutageLongestNs, cell.Plain),
			lasted(h.BrownOutNs, cell.Warn), recovered, countOrNone(h.Failed), countOrNone(h.Unknown),
			countOrNone(h.Waited), countOrNone(h.Unsent))
	}
}

func (t *writer) incidentName(in *record.Incident) string {
	name := t.say("outage without a fault")
	if in.Fault != "" {
		name = units.Clean(in.Fault)
		if in.Number > 1 {
			name += fmt.Sprintf(" #%d", in.Number)
		}
	}
	if in.Healing {
		name += " " + t.say("(healing)")
	}
	if in.Invalid {
		name += " " + t.say("(invalid: the generator stood still)")
	}
	return name
}

// recovered returns the time until everything was as before.
func (t *writer) recovered(in *record.Incident) cell.Cell {
	switch {
	case !in.Affected:
		return cell.Text(t.say("not affected")).Marked(cell.Good)
	case in.Never:
		return cell.Text(t.say("never")).Marked(cell.Bad)
	case in.RTONs == nil:
		return cell.Text(t.say("not before the next")).Marked(cell.Warn)
	case in.Relapses > 0:
		rto := t.l.Figure(units.Latency(float64(*in.RTONs)))
		return cell.Text(t.say("%s, relapses: %d", rto, in.Relapses)).Marked(cell.Warn)
	}
	return cell.Time(*in.RTONs)
}

func scopeName(s record.Scope) string { return units.Clean(cmp.Or(s.Address, s.Operation)) }

func lasted(ns int64, m cell.Mark) cell.Cell {
	if ns == 0 {
		return cell.Text("–").Marked(cell.Dim)
	}
	return cell.Time(ns).Marked(m)
}

func countOrNone(n uint64) cell.Cell {
	if n == 0 {
		return cell.Text("–").Marked(cell.Dim)
	}
	return cell.Count(n)
}

// failovers returns the spread of faults that were done several times.
func (t *writer) failovers() cell.Table {
	out := cell.Table{ID: "failovers", Title: t.say("FAILOVER, ALL FAULTS"), Note: t.say("least · median · most"),
		Columns: []cell.Column{{Head: t.say("fault"), Left: true}, {Head: t.say("n")}, {Head: t.say("detected"), Priority: 2},
			{Head: t.say("outage")}, {Head: t.say("recovered")}, {Head: t.say("never"), Priority: 1},
			{Head: t.say("invalid"), Priority: 3}}}
	if t.run.Failover == nil {
		return out
	}
	for i := range t.run.Failover.ByFault {
		s := &t.run.Failover.ByFault[i]
		if s.N < 2 {
			continue
		}
		name := units.Clean(cmp.Or(s.Fault, t.say("outage without a fault")))
		out.Add(cell.Text(name), cell.Count(s.N), t.spread(s.Detection), t.spread(s.Outage), t.spread(s.RTO),
			countOrNone(uint64(s.Never)), countOrNone(uint64(s.Invalid)))
	}
	return out
}

func (t *writer) spread(s *record.Spread) cell.Cell {
	if s == nil {
		return cell.Text("–").Marked(cell.Dim)
	}
	text := ""
	for i, ns := range []int64{s.LeastNs, s.MedianNs, s.MostNs} {
		if i > 0 {
			text += " · "
		}
		text += t.l.Figure(units.Latency(float64(ns)))
	}
	return cell.Text(text)
}
