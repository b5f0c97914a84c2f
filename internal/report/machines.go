package report

import (
	"strings"

	"brunt/internal/record"
	"brunt/internal/report/cell"
	"brunt/internal/units"
)

// isMachine tells machines from processes and services among what was watched.
func isMachine(w *record.Watched) bool {
	return w.Source == record.WatchedHost || strings.HasPrefix(w.Source, "node:")
}

// machines is the table of the machines that were watched: the generator's, and others.
func (t *teller) machines() cell.Table {
	out := cell.Table{ID: "machines", Title: t.say("MACHINES"), Note: t.say("means without warm-up; processors in cores, the most memory used"), Columns: []cell.Column{
		{Head: t.say("machine"), Left: true}, {Head: t.say("cores")}, {Head: t.say("busy")}, {Head: t.say("at most")},
		{Head: t.say("low priority"), Priority: 3}, {Head: t.say("disk wait"), Priority: 3}, {Head: t.say("stolen"), Priority: 2}, {Head: t.say("memory used"), Priority: 1}, {Head: t.say("memory"), Priority: 6},
		{Head: t.say("disk/s"), Priority: 4}, {Head: t.say("network/s"), Priority: 5}, {Head: t.say("loopback/s"), Priority: 7}, {Head: t.say("load average")},
	}}
	for i := range t.run.Watched {
		w := &t.run.Watched[i]
		if !isMachine(w) || len(w.Metrics) == 0 {
			continue
		}
		name := units.Clean(w.Source)
		if w.Source == record.WatchedHost {
			name = t.say("this one")
		}
		figure := func(unit string, names ...string) cell.Cell { return cell.Figure(meanOf(w, names...), unit) }
		out.Add(cell.Text(name), figure("count", "cores"), figure(cell.UnitNumber, "cpu_busy_seconds"), cell.Figure(w.Metric("cpu_busy_seconds").Max, cell.UnitNumber),
			figure(cell.UnitNumber, "cpu_nice_seconds"), figure(cell.UnitNumber, "cpu_iowait_seconds"), figure(cell.UnitNumber, "cpu_steal_seconds"),
			cell.Figure(max(w.Metric("memory_total_bytes").Last-w.Metric("memory_available_bytes").Min, 0), "bytes"), figure("bytes", "memory_total_bytes"),
			figure("bytes", "disk_read_bytes", "disk_written_bytes"), figure("bytes", "net_received_bytes", "net_sent_bytes"), figure("bytes", "loopback_bytes"),
			figure(cell.UnitNumber, "load_1m"))
	}
	return out
}

// meanOf is the sum of the means of some figures.
func meanOf(w *record.Watched, names ...string) (sum float64) {
	for _, name := range names {
		sum += w.Metric(name).Mean
	}
	return sum
}
