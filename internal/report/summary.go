package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"brunt/internal/record"
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
		it := item{label: "sessions", value: fmt.Sprintf("%d on the %s tier", run.Sessions, run.Tier), note: clean(run.TierReason)}
		if run.Pipeline > 1 {
			it.value += fmt.Sprintf(", up to %d requests in flight each", run.Pipeline)
		}
		items = append(items, it)
	}
	if run.Timing != "" {
		items = append(items, item{label: "timing", value: clean(run.Timing)})
	}
	items = append(items, item{label: "seed", value: fmt.Sprint(run.Seed)})
	if s := run.Setup; s != nil && len(s.Tables) > 0 {
		items = append(items, item{label: "set-up", value: setupLine(s)})
	}
	if len(run.Command) > 0 {
		items = append(items, item{label: "command", value: clean(strings.Join(run.Command, " "))})
	}
	if p.o.Path != "" {
		items = append(items, item{label: "record", value: clean(p.o.Path)})
	}
	p.tree(items)
}

// targetGroups says what the servers are, those of one product and version together.
func targetGroups(run *record.Run) (out []string) {
	groups := map[string][]string{}
	var order []string
	for _, t := range run.Targets {
		what := strings.TrimSpace(clean(t.Product) + " " + clean(t.Version))
		if what == "" {
			what = "server"
		}
		what += " over " + clean(t.Protocol)
		if _, seen := groups[what]; !seen {
			order = append(order, what)
		}
		groups[what] = append(groups[what], clean(t.Address))
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
		s = clean(run.LoadModel)
	}
	s += ", " + span(time.Duration(run.DurationNs))
	var warm int64
	for _, ph := range run.Phases {
		if ph.WarmUp {
			warm += ph.DurationNs
		}
	}
	if warm > 0 {
		s += " after " + span(time.Duration(warm)) + " of warm-up"
	}
	return s
}

func setupLine(s *record.Setup) string {
	var rows uint64
	var names []string
	for _, t := range s.Tables {
		rows += t.Rows
		names = append(names, clean(t.Name))
	}
	d := time.Duration(s.DurationNs)
	text := fmt.Sprintf("%s in %s (%s) filled in %s", plural(rows, "row", "rows"), plural(len(names), "table", "tables"), strings.Join(names, ", "), span(d))
	if d > 0 && rows > 0 {
		text += ", " + rate(float64(rows)/d.Seconds()) + " rows/s"
	}
	return text
}

// totals are the run's figures over all operations.
func totals(p *page, run *record.Run) {
	p.heading("TOTAL", "warm-up excluded")
	t := &run.Total
	throughput := item{label: "rate", value: rate(t.RatePerS) + "/s", style: bold, note: "succeeded"}
	if t.OfferedPerS > 0 && run.LoadModel == "open" {
		throughput.note = fmt.Sprintf("succeeded, of %s/s offered (%s)", rate(t.OfferedPerS), fraction(t.RatePerS/t.OfferedPerS))
	}
	items := []item{throughput, {label: "done", value: plural(t.Done, "operation", "operations"), note: "in " + span(time.Duration(run.DurationNs))}}
	errors := item{label: "failed", value: count(t.Failed), note: percent(t.Failed, t.Done)}
	if t.Failed > 0 {
		errors.style, errors.note = red, errors.note+": "+strings.Join(classList(&t.Counts), ", ")
	} else {
		errors.value, errors.note = "none", ""
	}
	items = append(items, errors)
	if lost, note := timeLost(run); lost != "" {
		items = append(items, item{label: "time lost", value: lost, style: yellow, note: note})
	}
	if t.Retries > 0 {
		items = append(items, item{label: "retries", value: count(t.Retries), note: count(t.Attempts) + " attempts in all"})
	}
	if t.Dropped > 0 {
		items = append(items, item{label: "dropped", value: count(t.Dropped), style: yellow, note: "arrivals given up without being sent"})
	}
	if t.Late > 0 && run.LoadModel != "closed" {
		items = append(items, item{label: "late", value: count(t.Late), note: percent(t.Late, t.Done) + " sent more than 1 ms after their intended start"})
	}
	if t.Missing > 0 {
		items = append(items, item{label: "missing", value: count(t.Missing), note: percent(t.Missing, t.Done) + " found no row or key"})
	}
	if t.BadHash > 0 {
		items = append(items, item{label: "bad hash", value: count(t.BadHash), style: red})
	}
	if len(t.Status) > 0 {
		items = append(items, item{label: "status", value: statusLine(t.Status)})
	}
	if t.BytesIn > 0 && run.DurationNs > 0 {
		items = append(items, item{label: "received", value: size(t.BytesIn), note: size(uint64(float64(t.BytesIn)/(float64(run.DurationNs)/1e9))) + "/s"})
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
	lost = fmt.Sprintf("%s of %s (%s)", span(time.Duration(s.TotalNs)), span(time.Duration(whole)), fraction(share(s.TotalNs, whole)))
	return lost, fmt.Sprintf("nothing succeeded: %s, the longest %s", plural(s.Count, "time", "times"), span(time.Duration(s.LongestNs)))
}

// classList writes the failed operations by class, the most frequent first.
func classList(c *record.Counts) []string {
	classes := sortedClasses(c)
	for i, name := range classes {
		classes[i] = count(c.Errors[name]) + " " + name
	}
	return classes
}

func sortedClasses(c *record.Counts) []string {
	names := make([]string, 0, len(c.Errors))
	for name := range c.Errors {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if x, y := c.Errors[a], c.Errors[b]; x != y {
			return map[bool]int{true: -1, false: 1}[x > y]
		}
		return strings.Compare(a, b)
	})
	return names
}

func statusLine(status map[string]uint64) string {
	var parts []string
	for _, class := range []string{"1xx", "2xx", "3xx", "4xx", "5xx"} {
		if n := status[class]; n > 0 {
			parts = append(parts, class+" "+count(n))
		}
	}
	return strings.Join(parts, "   ")
}
