package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"brunt/internal/record"
	"brunt/internal/units"
	"brunt/internal/verdict"
)

// configuration is what was asked for.
func configuration(p *page, run *record.Run) {
	p.heading("CONFIGURATION", "")
	var items []item
	for _, t := range targetGroups(run) {
		items = append(items, item{label: "target", value: t})
	}
	items = append(items, item{label: "load", value: loadLine(run)})
	if run.Tier != "" {
		it := item{label: "sessions", value: fmt.Sprintf("%d on the %s tier", run.Sessions, run.Tier), note: units.Clean(run.TierReason)}
		if run.Pipeline > 1 {
			it.value += fmt.Sprintf(", up to %d requests in flight each", run.Pipeline)
		}
		items = append(items, it)
	}
	if run.Timing != "" {
		items = append(items, item{label: "timing", value: units.Clean(run.Timing)})
	}
	items = append(items, item{label: "seed", value: fmt.Sprint(run.Seed)})
	if s := run.Setup; s != nil && len(s.Tables) > 0 {
		items = append(items, item{label: "set-up", value: setupLine(s)})
	}
	if len(run.Command) > 0 {
		items = append(items, item{label: "command", value: units.Clean(strings.Join(run.Command, " "))})
	}
	if p.o.Path != "" {
		items = append(items, item{label: "record", value: units.Clean(p.o.Path)})
	}
	p.tree(items)
}

// targetGroups says what the servers are, those of one product and version together.
func targetGroups(run *record.Run) (out []string) {
	groups := map[string][]string{}
	var order []string
	for _, t := range run.Targets {
		what := strings.TrimSpace(units.Clean(t.Product) + " " + units.Clean(t.Version))
		if what == "" {
			what = "server"
		}
		what += " over " + units.Clean(t.Protocol)
		if _, seen := groups[what]; !seen {
			order = append(order, what)
		}
		groups[what] = append(groups[what], units.Clean(t.Address))
	}
	for _, what := range order {
		addresses := groups[what]
		if n := len(addresses); n > 6 {
			addresses = append(slices.Clone(addresses[:5]), fmt.Sprintf("and %d more", n-5))
		}
		out = append(out, what+" at "+strings.Join(addresses, ", "))
	}
	return out
}

func loadLine(run *record.Run) string {
	s := map[string]string{
		"open": "open: arrivals follow the schedule", "closed": "closed: sessions send when they are free",
		"mixed": "open and closed phases",
	}[run.LoadModel]
	if s == "" {
		s = units.Clean(run.LoadModel)
	}
	s += ", " + units.Span(time.Duration(run.DurationNs))
	var warm int64
	for _, ph := range run.Phases {
		if ph.WarmUp {
			warm += ph.DurationNs
		}
	}
	if warm > 0 {
		s += " after " + units.Span(time.Duration(warm)) + " of warm-up"
	}
	return s
}

func setupLine(s *record.Setup) string {
	var rows uint64
	var names []string
	for _, t := range s.Tables {
		rows += t.Rows
		names = append(names, units.Clean(t.Name))
	}
	d := time.Duration(s.DurationNs)
	text := fmt.Sprintf("%s in %s (%s) filled in %s", units.Plural(rows, "row", "rows"), units.Plural(len(names), "table", "tables"), strings.Join(names, ", "), units.Span(d))
	if d > 0 && rows > 0 {
		text += ", " + units.Rate(float64(rows)/d.Seconds()) + " rows/s"
	}
	return text
}

// totals are the run's figures over all operations.
func totals(p *page, run *record.Run) {
	p.heading("TOTAL", "warm-up excluded")
	t := &run.Total
	throughput := item{label: "rate", value: units.Rate(t.RatePerS) + "/s", style: bold, note: "succeeded"}
	if t.OfferedPerS > 0 && run.LoadModel == "open" {
		throughput.note = fmt.Sprintf("succeeded, of %s/s offered (%s)", units.Rate(t.OfferedPerS), units.Fraction(t.RatePerS/t.OfferedPerS))
	}
	items := []item{throughput, {label: "done", value: units.Plural(t.Done, "operation", "operations"), note: "in " + units.Span(time.Duration(run.DurationNs))}}
	if t.Offered > 0 && run.LoadModel == "open" {
		items = append(items, item{label: "due", value: units.Plural(t.Offered, "arrival", "arrivals"), note: fates(t)})
	}
	errors := item{label: "failed", value: units.Count(t.Failed), note: units.Percent(t.Failed, t.Done)}
	if t.Failed > 0 {
		errors.style, errors.note = red, errors.note+": "+strings.Join(verdict.ClassList(&t.Counts), ", ")
	} else {
		errors.value, errors.note = "none", ""
	}
	items = append(items, errors)
	if lost, note := timeLost(run); lost != "" {
		items = append(items, item{label: "time lost", value: lost, style: yellow, note: note})
	}
	if t.Retries > 0 {
		items = append(items, item{label: "retries", value: units.Count(t.Retries), note: units.Count(t.Attempts) + " attempts in all"})
	}
	if t.Dropped > 0 {
		items = append(items, item{label: "unsent", value: units.Count(t.Dropped), style: yellow, note: "arrivals given up without being sent: " + verdict.UnsentList(&t.Counts)})
	}
	if t.Unfinished > 0 {
		items = append(items, item{label: "in flight", value: units.Count(t.Unfinished), style: yellow, note: "sent, and not answered when the load was cut off"})
	}
	if t.Late > 0 && run.LoadModel != "closed" {
		items = append(items, item{label: "late", value: units.Count(t.Late), note: units.Percent(t.Late, t.Done) + " sent more than 1 ms after their intended start"})
	}
	if n := t.Missing + t.MissingUpdates + t.MissingDeletes; n > 0 {
		items = append(items, item{label: "missing", value: units.Count(n), note: units.Percent(n, t.Done) + " found no row or key: " + verdict.MissingList(&t.Counts)})
	}
	if t.BadHash > 0 {
		items = append(items, item{label: "bad hash", value: units.Count(t.BadHash), style: red})
	}
	if len(t.Status) > 0 {
		items = append(items, item{label: "status", value: statusLine(t.Status)})
	}
	if t.BytesIn > 0 && run.DurationNs > 0 {
		items = append(items, item{label: "received", value: units.Size(t.BytesIn), note: units.Size(uint64(float64(t.BytesIn)/(float64(run.DurationNs)/1e9))) + "/s"})
	}
	p.tree(items)
}

// timeLost says for how long nothing succeeded although something should have; "" if that wasn't so.
func timeLost(run *record.Run) (lost, note string) {
	s := &run.Standstill
	if s.Count == 0 {
		return "", ""
	}
	whole := max(run.DurationNs, s.TotalNs)
	lost = fmt.Sprintf("%s of %s (%s)", units.Span(time.Duration(s.TotalNs)), units.Span(time.Duration(whole)), units.Fraction(part(s.TotalNs, whole)))
	return lost, fmt.Sprintf("nothing succeeded: %s, the longest %s", units.Plural(s.Count, "time", "times"), units.Span(time.Duration(s.LongestNs)))
}

func statusLine(status map[string]uint64) string {
	var parts []string
	for _, class := range []string{"1xx", "2xx", "3xx", "4xx", "5xx"} {
		if n := status[class]; n > 0 {
			parts = append(parts, class+" "+units.Count(n))
		}
	}
	return strings.Join(parts, "   ")
}

// fates says what became of the arrivals that fell due. The parts add up to them.
func fates(t *record.Operation) string {
	parts := []string{units.Count(t.OK) + " ok", units.Count(t.Failed) + " failed", units.Count(t.Dropped) + " unsent"}
	if t.Unfinished > 0 {
		parts = append(parts, units.Count(t.Unfinished)+" in flight at the end")
	}
	return strings.Join(parts, " + ")
}

func part(of, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(of) / float64(whole)
}
