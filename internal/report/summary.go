package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// configuration describes the requested load.
func (t *writer) configuration() cell.Table {
	run := t.run
	out := tree{cell.Table{ID: "configuration", Title: t.say("CONFIGURATION"), Kind: cell.Tree}}
	for _, g := range t.targetGroups() {
		out.add(t.say("target"), cell.Text(g), "")
	}
	out.add(t.say("load"), cell.Text(t.loadLine()), "")
	if run.Tier != "" {
		value := t.say("%d on the %s tier", run.Sessions, t.say(run.Tier))
		if run.Pipeline > 1 {
			value += t.say(", up to %d requests in flight each", run.Pipeline)
		}
		out.add(t.say("sessions"), cell.Text(value), run.TierReason.In(t.l))
	}
	if !run.Timing.IsZero() {
		out.add(t.say("timing"), cell.Text(run.Timing.In(t.l)), "")
	}
	out.add(t.say("seed"), cell.Text(fmt.Sprint(run.Seed)), "")
	if s := run.Setup; s != nil && len(s.Tables) > 0 {
		out.add(t.say("set-up"), cell.Text(t.setupLine(s)), "")
	}
	if len(run.Command) > 0 {
		out.add(t.say("command"), cell.Text(units.CommandLine(run.Command)), "")
	}
	if t.path != "" {
		out.add(t.say("record"), cell.Text(units.Clean(t.path)), "")
	}
	return out.Table
}

// targetGroups describes the servers, grouped by product and version.
func (t *writer) targetGroups() (out []string) {
	groups := map[string][]string{}
	var order []string
	for _, g := range t.run.Targets {
		what := strings.TrimSpace(units.Clean(g.Product) + " " + units.Clean(g.Version))
		what = t.say("%s over %s", cmp.Or(what, t.say("server")), units.Clean(g.Protocol))
		if _, seen := groups[what]; !seen {
			order = append(order, what)
		}
		groups[what] = append(groups[what], units.Clean(g.Address))
	}
	for _, what := range order {
		addresses := groups[what]
		if n := len(addresses); n > 6 {
			addresses = append(slices.Clone(addresses[:5]), t.say("and %d more", n-5))
		}
		out = append(out, t.say("%s at %s", what, strings.Join(addresses, ", ")))
	}
	return out
}

// models describes the load models.
var models = map[string]string{
	"open": "open: arrivals follow the schedule", "closed": "closed: sessions send when they are free",
	"mixed": "open and closed phases",
}

func (t *writer) loadLine() string {
	s := units.Clean(t.run.LoadModel)
	if known := models[s]; known != "" {
		s = t.say(known)
	}
	s += ", " + t.span(t.run.DurationNs)
	var warm int64
	for _, ph := range t.run.Phases {
		if ph.WarmUp {
			warm += ph.LengthNs()
		}
	}
	if warm > 0 {
		s += t.say(" after %s of warm-up", t.span(warm))
	}
	return s
}

// span formats a duration in words.
func (t *writer) span(ns int64) string { return t.l.Figure(units.Span(time.Duration(ns))) }

func (t *writer) setupLine(s *record.Setup) string {
	var rows uint64
	var names []string
	for _, table := range s.Tables {
		rows += table.Rows
		names = append(names, units.Clean(table.Name))
	}
	d := time.Duration(s.DurationNs)
	text := t.say("%s in %s (%s) filled in %s", plural(t, rows, "row", "rows"), plural(t, len(names), "table", "tables"),
		strings.Join(names, ", "), t.span(s.DurationNs))
	if d > 0 && rows > 0 {
		text += t.say(", %s rows/s", t.l.Figure(units.Rate(float64(rows)/d.Seconds())))
	}
	return text
}

// lasted formats how long the load lasted. In closed loads the last answers arrive after the end of the planned time,
// which is included in the rates.
func (t *writer) lasted() string {
	sent := int64(0)
	for i := range t.run.Phases {
		p := &t.run.Phases[i]
		switch {
		case p.Kind == measure.KindPause || p.WarmUp:
		case p.Kind != measure.KindClosed || p.ScheduleNs == 0 || p.OwnNs > 0:
			return t.say("in %s", t.span(t.run.DurationNs))
		default:
			sent += p.ScheduleNs
		}
	}
	const visible = 100 // of the time
	if after := t.run.DurationNs - sent; sent > 0 && after > sent/visible {
		return t.say("in %s, and %s until the last answers", t.span(sent), t.span(after))
	}
	return t.say("in %s", t.span(t.run.DurationNs))
}

// totals returns the run's figures over all operations.
func (t *writer) totals() cell.Table {
	run, all := t.run, &t.run.Total
	out := tree{cell.Table{ID: "total", Title: t.say("TOTAL"), Note: t.say("warm-up excluded"), Kind: cell.Tree}}
	note := t.say("succeeded")
	if all.OfferedPerS > 0 && run.LoadModel == "open" {
		// Operations left over from the warm-up may also succeed: limit the number to all operations.
		note = t.say("succeeded, of %s offered (%s)", t.rate(all.OfferedPerS), t.share(min(all.RatePerS/all.OfferedPerS, 1)))
	}
	isShared := func(w record.Warning) bool { return w.ID == verdict.WarnShared }
	if !verdict.Short(run) && slices.ContainsFunc(run.Warnings, isShared) {
		note += t.say("; others had %s of this machine", t.share(verdict.OthersShare(run)))
	}
	out.add(t.say("rate"), estimate(cell.Rate(all.RatePerS), all.RateWithin).Marked(cell.Strong), note)
	out.add(t.say("done"), cell.Text(plural(t, all.Done, "operation", "operations")),
		t.lasted())
	if all.Offered > 0 && run.LoadModel == "open" {
		out.add(t.say("due"), cell.Text(plural(t, all.Offered, "arrival", "arrivals")), t.fates())
	}
	if all.Failed > 0 {
		out.add(t.say("failed"), cell.Count(all.Failed).Marked(cell.Bad),
			t.percent(all.Failed, all.Done)+": "+message.List(verdict.ClassList(&all.Counts)...).In(t.l))
	} else {
		out.add(t.say("failed"), cell.Text(t.say("none")), "")
	}
	for _, lost := range t.timeLost() {
		out.add(t.say("time lost"), cell.Text(lost.text).Marked(cell.Warn), lost.note)
	}
	t.rarities(&out, all)
	if all.Status != (measure.ByStatus{}) {
		out.add(t.say("status"), cell.Text(t.statusLine(all.Status)), "")
	}
	if cause := t.cause(); cause != "" {
		out.add(t.say("cause"), cell.Text(cause).Marked(cell.Warn), "")
	}
	if all.BytesIn > 0 && run.DurationNs > 0 {
		perS := uint64(float64(all.BytesIn) / (float64(run.DurationNs) / 1e9))
		out.add(t.say("received"), cell.Figure(float64(all.BytesIn), "bytes"), t.l.Figure(units.Size(perS)+"/s"))
	}
	return out.Table
}

// rarities returns the counts that are usually 0.
func (t *writer) rarities(out *tree, all *record.Operation) {
	if all.Retries > 0 {
		out.add(t.say("retries"), cell.Count(all.Retries), t.say("%s attempts in all", t.count(all.Attempts)))
	}
	if all.Dropped > 0 {
		out.add(t.say("unsent"), cell.Count(all.Dropped).Marked(cell.Warn), t.say("arrivals given up without being sent: %s",
			verdict.UnsentList(&all.Counts).In(t.l)))
	}
	if all.Unfinished > 0 {
		out.add(t.say("in flight"), cell.Count(all.Unfinished).Marked(cell.Warn),
			t.say("sent, and not answered when the load was cut off"))
	}
	if all.Late > 0 && t.run.LoadModel != "closed" {
		out.add(t.say("late"), cell.Count(all.Late), t.say("%s sent more than 1 ms after their intended start",
			t.percent(all.Late, all.Done)))
	}
	if n := all.InVain(); n > 0 {
		out.add(t.say("missing"), cell.Count(n), t.say("%s found or changed nothing: %s", t.percent(n, all.Done),
			verdict.MissingList(&all.Counts).In(t.l)))
	}
	if n := all.Misdirected; n > 0 {
		out.add(t.say("misdirected"), cell.Count(n).Marked(cell.Warn), t.say(
			"%s went to an address that doesn't have their key", t.percent(n, all.Done)))
	}
	if n := all.Unmapped; n > 0 {
		out.add(t.say("unmapped"), cell.Count(n).Marked(cell.Warn), t.say(
			"%s went to any address, as nobody knew which has their bucket", t.percent(n, all.Done)))
	}
	if all.BadHash > 0 {
		out.add(t.say("bad hash"), cell.Count(all.BadHash).Marked(cell.Bad), "")
	}
}

// Figures within sentences.
func (t *writer) rate(x float64) string       { return t.l.Value(x, "per_s") }
func (t *writer) share(f float64) string      { return t.l.Value(f, "share") }
func (t *writer) count(n uint64) string       { return t.l.Figure(units.Count(n)) }
func (t *writer) percent(a, of uint64) string { return t.l.Figure(units.Percent(a, of)) }
func (t *writer) time(ns float64) string      { return t.l.Figure(units.Latency(ns)) }
func (t *writer) timeInt(ns int64) string     { return t.l.Figure(units.LatencyInt(ns)) }
func (t *writer) digits(x float64) string     { return t.l.Figure(units.Digits3(x)) }

// timeLost is the time in which no operation succeeded, or none of one kind, although at least one should have.
type timeLost struct {
	text, note string
	ns         int64
}

// mostLosers limits the operations that are listed as having lost time.
const mostLosers = 5

// timeLost returns the time that the load lost, and the times of the operations that lost more, the longest first. An
// operation must have lost more by at least the length of a standstill that counts, because a standstill of the load is
// also one of each operation.
func (t *writer) timeLost() (all []timeLost) {
	run := t.run
	add := func(s *record.Standstill, note string) {
		whole := max(run.DurationNs, s.TotalNs)
		text := t.say("%s of %s (%s)", t.span(s.TotalNs), t.span(whole), t.share(part(s.TotalNs, whole)))
		all = append(all, timeLost{text, note, s.TotalNs})
	}
	if s := &run.Standstill; s.Count > 0 {
		add(s, t.say("nothing succeeded: %s, the longest %s", plural(t, s.Count, "time", "times"), t.span(s.LongestNs)))
	}
	var losers []*record.Operation
	for i := range run.Operations {
		o := &run.Operations[i]
		if s := &o.Standstill; s.Count > 0 && s.TotalNs-run.Standstill.TotalNs >= s.LeastNs {
			losers = append(losers, o)
		}
	}
	slices.SortStableFunc(losers, func(a, b *record.Operation) int {
		return cmp.Compare(b.Standstill.TotalNs, a.Standstill.TotalNs)
	})
	for _, o := range losers[:min(len(losers), mostLosers)] {
		s := &o.Standstill
		add(s, t.say("no %s succeeded: %s, the longest %s", units.Clean(o.Name), plural(t, s.Count, "time", "times"),
			t.span(s.LongestNs)))
	}
	return all
}

func (t *writer) statusLine(status measure.ByStatus) string {
	var parts []string
	for class, n := range status {
		if n > 0 {
			parts = append(parts, strconv.Itoa(class)+"xx "+t.count(n))
		}
	}
	return strings.Join(parts, " · ")
}

// fates returns the fates of the arrivals that fell due. They add up to the number of arrivals.
func (t *writer) fates() string {
	all := &t.run.Total
	s := t.say("%s ok + %s failed + %s unsent", t.count(all.OK), t.count(all.Failed), t.count(all.Dropped))
	if all.Unfinished > 0 {
		s += t.say(" + %s in flight at the end", t.count(all.Unfinished))
	}
	if fates := all.OK + all.Failed + all.Dropped + all.Unfinished; fates > all.Offered {
		s += t.say(", %s of them due in the warm-up", t.count(fates-all.Offered))
	}
	return s
}

func part(of, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(of) / float64(whole)
}
