package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/record"
	"brunt/internal/units"
	"brunt/internal/verdict"
)

// phases is the table of phases, if there are several.
func phases(p *page, run *record.Run) {
	if len(run.Phases) < 2 {
		return
	}
	p.heading("PHASES", "response time")
	t := &table{columns: []column{
		{head: "phase", left: true}, {head: "load", left: true, priority: 4}, {head: "length"}, {head: "done/s"}, {head: "done", priority: 5}, {head: "failed"},
		{head: "p50"}, {head: "p90", priority: 3}, {head: "p99"}, {head: "p99.9", priority: 2}, {head: "max", priority: 1},
	}}
	for i := range run.Phases {
		ph := &run.Phases[i]
		perS := 0.0
		if ph.DurationNs > 0 {
			perS = float64(ph.Done) / (float64(ph.DurationNs) / 1e9)
		}
		st := plain
		name := units.Clean(ph.Name)
		if ph.WarmUp {
			st = dim
			if !strings.Contains(strings.ToLower(name), "warm") {
				name += " (warm-up)"
			}
		}
		failed := cell{units.Percent(ph.Errors, ph.Done), st}
		if ph.Errors > 0 {
			failed.style = red
		}
		l := &ph.Response
		row := []cell{{name, st}, {phaseLoad(ph), st}, {units.Span(time.Duration(ph.DurationNs)), st}, {units.Rate(perS), st}, {units.Count(ph.Done), st}, failed}
		t.add(append(row, fewQuantiles(l, st)...)...)
	}
	p.grid(t)
}

// fewQuantiles are p50, p90, p99, p99.9 and the maximum.
func fewQuantiles(l *record.Latency, st style) []cell {
	all := quantiles(l, st)
	return []cell{all[1], all[3], all[5], all[6], all[8]}
}

func phaseLoad(ph *record.Phase) string {
	switch ph.Kind {
	case "open":
		s := units.Rate(ph.RateFrom) + "/s"
		if ph.RateTo != ph.RateFrom {
			s = units.Rate(ph.RateFrom) + " → " + units.Rate(ph.RateTo) + "/s"
		}
		if ph.Arrivals == "poisson" {
			s += " poisson"
		}
		return s
	case "closed":
		return units.Plural(ph.Sessions, "session", "sessions")
	}
	return ph.Kind
}

// addresses is the table of addresses, if there are several.
func addresses(p *page, run *record.Run) {
	if len(run.Targets) < 2 {
		return
	}
	p.heading("ADDRESSES", "service time")
	t := &table{columns: []column{
		{head: "address", left: true}, {head: "done"}, {head: "rate/s"}, {head: "failed"}, {head: "reconnects", priority: 3},
		{head: "p50"}, {head: "p90", priority: 2}, {head: "p99"}, {head: "p99.9", priority: 1}, {head: "max", priority: 1},
	}}
	for i := range run.Targets {
		g := &run.Targets[i]
		perS := 0.0
		if run.DurationNs > 0 {
			perS = float64(g.Counts.OK) / (float64(run.DurationNs) / 1e9)
		}
		failed := cell{units.Percent(g.Counts.Failed, g.Counts.Done), plain}
		if g.Counts.Failed > 0 {
			failed.style = red
		}
		row := []cell{{units.Clean(g.Address), plain}, {units.Count(g.Counts.Done), plain}, {units.Rate(perS), plain}, failed, {units.Count(g.Reconnects), plain}}
		t.add(append(row, fewQuantiles(&g.Service, plain)...)...)
	}
	p.grid(t)
}

// mostFailures is how many kinds of failure are shown.
const mostFailures = 10

// failures are the failed attempts by class and code.
func failures(p *page, run *record.Run) {
	if len(run.Failures) == 0 {
		return
	}
	note := "failed attempts, retried ones and connections included"
	if !run.Complete {
		note = "of the samples kept: there were at least so many"
	}
	p.heading("ERRORS", note)
	counts, kinds, codes := 0, 0, 0
	shown := run.Failures[:min(len(run.Failures), mostFailures)]
	for _, f := range shown {
		counts = max(counts, displayWidth(units.Count(f.Count)))
		kinds = max(kinds, displayWidth(f.Class))
		codes = max(codes, displayWidth(units.Clean(f.Code)))
	}
	indent := 2 + counts + 2 + kinds + 2
	if codes > 0 {
		indent += codes + 2
	}
	for _, f := range shown {
		head := "  " + padLeft(units.Count(f.Count), counts) + "  " + p.o.paint(padRight(f.Class, kinds), red) + "  "
		if codes > 0 {
			head += padRight(units.Clean(f.Code), codes) + "  "
		}
		for i, l := range wrap(units.Clean(f.Text), p.columns-indent) {
			if i == 2 {
				p.line(strings.Repeat(" ", indent) + p.o.paint("…", dim))
				break
			}
			if i > 0 {
				head = strings.Repeat(" ", indent)
			}
			p.line(head + cut(l, p.columns-indent))
		}
	}
	if more := len(run.Failures) - len(shown); more > 0 {
		p.line(p.o.paint(fmt.Sprintf("  and %s, see errors.ndjson", units.Plural(more, "other kind", "other kinds")), dim))
	}
}

// thresholds are the rules and what came of them.
func thresholds(p *page, run *record.Run) {
	if len(run.Thresholds) == 0 {
		return
	}
	p.heading("THRESHOLDS", "")
	wide := 0
	for _, t := range run.Thresholds {
		wide = max(wide, displayWidth(cut(units.Clean(t.Text), 50)))
	}
	for _, t := range run.Thresholds {
		mark, st := "✔ ", green
		if !t.Pass {
			mark, st = "✘ ", red
		}
		s := p.o.paint(mark, st) + padRight(cut(units.Clean(t.Text), 50), wide) + "  " + p.o.paint(units.Value(float64(t.Value), t.Unit), st)
		if t.Aborted {
			s += p.o.paint("  ended the run", dim)
		}
		p.line("  " + s)
	}
}

// generator is how brunt itself was.
func generator(p *page, run *record.Run) {
	p.heading("GENERATOR", "")
	h := &run.Health
	var items []item
	if run.LoadModel != "closed" {
		it := item{label: "lag p99", value: units.LatencyInt(h.LagP99Ns), note: "actual send − intended start"}
		if h.OwnLagCount > 0 && h.OwnLagP99Ns != h.LagP99Ns {
			it.note += "; " + units.LatencyInt(h.OwnLagP99Ns) + " of the generator's own"
		}
		items = append(items, it)
		if v := &run.Verdict; run.Total.Unhindered.Count > 0 {
			items = append(items, item{label: "good to", value: "± " + units.LatencyInt(v.AddedP99Ns) + " at p99", note: "± " + units.LatencyInt(v.AddedP50Ns) + " at p50: what the generator's own lag adds to response times"})
		}
	}
	cpu := item{label: "CPU", value: fmt.Sprintf("%.2f cores", h.ProcessCPUMean), note: fmt.Sprintf("%.2f at most, %s per operation", h.ProcessCPUMax, units.Latency(h.CPUNsPerOperation))}
	items = append(items, cpu)
	if h.LoopBusyMax > 0 {
		items = append(items, item{label: "event loops", value: units.Fraction(h.LoopBusyMean) + " busy", note: units.Fraction(h.LoopBusyMax) + " at most"})
	}
	if cores := float64(run.Environment.Cores); cores > 0 && h.OthersCPUMean > 0.01 {
		items = append(items, item{label: "others", value: fmt.Sprintf("%.2f cores", h.OthersCPUMean), note: fmt.Sprintf("%s of those that brunt may use; the hypervisor kept %s", units.Fraction(h.OthersCPUMean/cores), units.Fraction(float64(h.StealNs)/cores/float64(max(run.DurationNs, 1))))})
	}
	if a := run.Awake; a != nil {
		items = append(items, awakeItem(a))
	}
	items = append(items, item{label: "memory", value: units.Size(h.RSSBytesMax), note: fmt.Sprintf("%s, longest pause %s", units.Plural(int(h.GCCycles), "collection", "collections"), units.LatencyInt(h.GCPauseNsMax))})
	note := "requests on average, by Little's law"
	if h.SessionsMean > 0 {
		note += fmt.Sprintf("; %s sessions connected of %d", units.Digits3(h.SessionsMean), run.Sessions)
	}
	items = append(items, item{label: "in flight", value: inFlight(h.InFlightMean), note: note})
	if h.CeilingPerS > 0 {
		items = append(items, item{label: "ceiling", value: units.Rate(h.CeilingPerS) + "/s", note: "this machine's own measured maximum; the run reached " + units.Fraction(run.Total.RatePerS/h.CeilingPerS)})
	}
	if h.CgroupThrottledNs > 0 {
		items = append(items, item{label: "throttled", value: units.LatencyInt(h.CgroupThrottledNs), style: yellow, note: "by the control group's CPU limit"})
	}
	if h.PausedNs > 0 {
		items = append(items, item{label: "stood still", value: units.LatencyInt(h.PausedNs), style: yellow, note: "suspended, stopped or starved"})
	}
	p.tree(items)
}

// awakeItem is what was done to keep the machine awake.
func awakeItem(a *record.Awake) item {
	it := item{label: "cores", value: "may sleep", note: units.Clean(a.ThreadsReason)}
	if a.Threads > 0 {
		it.value, it.note = "kept awake", units.Plural(a.Threads, "thread", "threads")+" of idle priority used what nobody wanted"
	}
	if a.DMALatency {
		it.note += "; deep sleep prevented"
	}
	if a.Nice != 0 {
		it.note += fmt.Sprintf("; brunt ran with nice %d", a.Nice)
	}
	return it
}

func inFlight(x float64) string {
	if x > 0 && x < 0.01 {
		return "< 0.01"
	}
	return units.Digits3(x)
}

// environment is the machine that generated the load, and the servers' settings.
func environment(p *page, run *record.Run) {
	e := &run.Environment
	if e.OS == "" {
		return
	}
	p.heading("ENVIRONMENT", "")
	cores := units.Plural(e.Cores, "core", "cores")
	if e.CPUQuota != "" {
		cores += ", limited to " + e.CPUQuota
	}
	if e.Governor != "" {
		cores += ", governor " + units.Clean(e.Governor)
	}
	system := e.OS + " " + units.Clean(e.Kernel) + " on " + e.Arch
	if e.Container {
		system += ", in a container"
	}
	items := []item{
		{label: "machine", value: strings.TrimPrefix(strings.Join(slices.DeleteFunc([]string{units.Clean(e.Hostname), units.Clean(e.CPU), cores, units.Size(e.MemoryB)}, func(s string) bool { return s == "" }), " · "), " · ")},
		{label: "system", value: system + " · " + units.Clean(e.Go) + " · GOMAXPROCS " + strconv.Itoa(e.MaxProcs)},
	}
	for _, g := range run.Targets {
		if len(g.Settings) == 0 {
			continue
		}
		var parts []string
		for k, v := range g.Settings {
			parts = append(parts, units.Clean(k)+" "+units.Clean(v))
		}
		slices.Sort(parts)
		label := "server"
		if len(run.Targets) > 1 {
			label = units.Clean(g.Address)
		}
		items = append(items, item{label: label, value: strings.Join(parts, " · ")})
	}
	p.tree(items)
}

// warnings are what the reader must know.
func warnings(p *page, run *record.Run) {
	if len(run.Warnings) == 0 {
		return
	}
	p.heading("WARNINGS", "")
	for _, w := range run.Warnings {
		p.paragraph("  ! ", yellow, units.Clean(w.Text)+" ["+w.ID+"]", plain)
		if w.Remedy != "" {
			p.paragraph("    → ", dim, units.Clean(w.Remedy), dim)
		}
	}
}

// lastWord is the verdict.
func lastWord(p *page, run *record.Run) {
	v := &run.Verdict
	if v.Result == "" {
		return
	}
	name, st := " "+strings.ToUpper(v.Result)+" ", map[string]style{verdict.Pass: green, verdict.Fail: red, verdict.Invalid: yellow}[v.Result]
	p.line("")
	rule := strings.Repeat("━", max(p.columns-displayWidth(name)-2, 0))
	if p.o.Color {
		p.line(p.o.paint("━━", st) + p.o.paint(name, badge+";"+st) + p.o.paint(rule, st))
	} else {
		p.line("━━" + name + rule)
	}
	for _, r := range v.Reasons {
		p.paragraph("  ● ", st, units.Clean(r), plain)
	}
}
