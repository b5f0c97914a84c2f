package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/units"
)

// generator describes the state of brunt itself.
func (t *writer) generator() cell.Table {
	run, h := t.run, &t.run.Health
	out := tree{cell.Table{ID: "generator", Title: t.say("GENERATOR"), Kind: cell.Tree}}
	if run.LoadModel != "closed" {
		t.lateness(&out)
	}
	if !verdict.Short(run) {
		out.add(t.say("CPU"), cell.Figure(h.ProcessCPUMean, "cores"), t.say("%s at most, %s per operation",
			t.l.Figure(fmt.Sprintf("%.2f", h.ProcessCPUMax)), t.time(h.CPUNsPerOperation)))
	}
	if h.LoopBusyMax > 0 {
		out.add(t.say("event loops"), cell.Figure(h.LoopBusyMean, "share").Followed(t.say("busy")),
			t.say("%s at most", t.share(h.LoopBusyMax)))
	}
	if cores := float64(run.Environment.Cores); cores > 0 && h.OthersCPUMean > 0.01 && !verdict.Short(run) {
		out.add(t.say("others"), cell.Figure(h.OthersCPUMean, "cores"),
			t.say("%s of those that brunt may use; the hypervisor kept %s",
				t.share(h.OthersCPUMean/cores), t.share(float64(h.StealNs)/cores/float64(max(run.DurationNs, 1)))))
	}
	if run.Awake != nil {
		t.awake(&out, run.Awake)
	}
	out.add(t.say("memory"), cell.Figure(float64(h.RSSBytesMax), "bytes"),
		t.say("%s, longest pause %s", plural(t, int(h.GCCycles), "collection", "collections"), t.timeInt(h.GCPauseNsMax)))
	note := t.say("requests on average, by Little's law")
	if h.SessionsMean > 0 {
		note += t.say("; %s sessions connected of %d", t.digits(h.SessionsMean), run.Sessions)
	}
	out.add(t.say("in flight"), cell.Text(t.l.Figure(inFlight(h.InFlightMean))), note)
	if h.CeilingPerS > 0 {
		out.add(t.say("ceiling"), cell.Rate(h.CeilingPerS), t.say("this machine's own measured maximum; the run reached %s",
			t.share(run.Total.RatePerS/h.CeilingPerS)))
	}
	if h.CgroupThrottledNs > 0 {
		out.add(t.say("throttled"), cell.Time(float64(h.CgroupThrottledNs)).Marked(cell.Warn),
			t.say("by the control group's CPU limit"))
	}
	if h.PausedNs > 0 {
		out.add(t.say("stood still"), cell.Time(float64(h.PausedNs)).Marked(cell.Warn),
			t.say("suspended, stopped or starved"))
	}
	return out.Table
}

// lateness describes how well an open load's schedule was kept.
func (t *writer) lateness(out *tree) {
	h, v := &t.run.Health, &t.run.Verdict
	note := t.say("actual send − intended start")
	if h.OwnLagCount > 0 && h.OwnLagP99Ns != h.LagP99Ns {
		note += t.say("; %s of the generator's own", t.timeInt(h.OwnLagP99Ns))
	}
	out.add(t.say("lag p99"), cell.Time(float64(h.LagP99Ns)), note)
	switch {
	case t.run.Total.WithoutGenerator.Count == 0:
	case verdict.HidesLag(t.run):
		out.add(t.say("good to"), cell.Text(t.say("not known")),
			t.say("requests waited for sessions for longer than for the generator"))
	default:
		out.add(t.say("good to"), cell.Text(t.say("± %s at p99", t.timeInt(int64(v.AddedP99Ns)))),
			t.say("± %s at p50: what the generator's own lag adds to times", t.timeInt(int64(v.AddedP50Ns))))
	}
}

// awake describes how the machine was kept awake.
func (t *writer) awake(out *tree, a *record.Awake) {
	value, note := t.say("may sleep"), units.Clean(a.ThreadsReason)
	if a.Threads > 0 {
		value, note = t.say("kept awake"), t.say("%s of idle priority used what nobody wanted",
			plural(t, a.Threads, "thread", "threads"))
	}
	if a.DMALatency {
		note += t.say("; deep sleep prevented")
	}
	if a.Nice != 0 {
		note += t.say("; brunt ran with nice %d", a.Nice)
	}
	out.add(t.say("cores"), cell.Text(value), note)
}

func inFlight(x float64) string {
	if x > 0 && x < 0.01 {
		return "< 0.01"
	}
	return units.Digits3(x)
}

// environment describes the machine that generated the load, and the servers' settings.
func (t *writer) environment() cell.Table {
	e := &t.run.Environment
	if e.OS == "" {
		return cell.Table{}
	}
	out := tree{cell.Table{ID: "environment", Title: t.say("ENVIRONMENT"), Kind: cell.Tree}}
	out.add(t.say("machine"), cell.Text(t.machineText(e)), "")
	out.add(t.say("system"), cell.Text(t.systemText(e)), "")
	for i, p := range t.run.Parts {
		if i > 0 { // those of the first part are above
			out.add(t.say("part %d", i+1), cell.Text(t.machineText(&p.Environment)+" · "+t.systemText(&p.Environment)), "")
		}
	}
	for _, g := range t.run.Targets {
		if len(g.Settings) == 0 {
			continue
		}
		var parts []string
		for k, v := range g.Settings {
			parts = append(parts, units.Clean(k)+" "+units.Clean(v))
		}
		slices.Sort(parts)
		label := t.say("server")
		if len(t.run.Targets) > 1 {
			label = units.Clean(g.Address)
		}
		out.add(label, cell.Text(strings.Join(parts, " · ")), "")
	}
	return out.Table
}

// machineText returns a machine's name and hardware.
func (t *writer) machineText(e *record.Environment) string {
	cores := plural(t, e.Cores, "core", "cores")
	if e.CPUQuota != "" {
		cores += t.say(", limited to %s", e.CPUQuota)
	}
	if e.Governor != "" {
		cores += t.say(", governor %s", units.Clean(e.Governor))
	}
	all := []string{units.Clean(e.Hostname), units.Clean(e.CPU), cores, t.l.Figure(units.Size(e.MemoryB))}
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " · ")
}

// systemText returns a machine's operating system.
func (t *writer) systemText(e *record.Environment) string {
	system := t.say("%s %s on %s", e.OS, units.Clean(e.Kernel), e.Arch)
	if e.Container {
		system += t.say(", in a container")
	}
	return system + " · " + units.Clean(e.Go) + " · GOMAXPROCS " + strconv.Itoa(e.MaxProcs)
}

// machines is the table of the watched machines: the generator's, and others.
func (t *writer) machines() cell.Table {
	out := cell.Table{ID: "machines", Title: t.say("MACHINES"),
		Note: t.say("means without warm-up; processors in cores, the most memory used"), Columns: []cell.Column{
			{Head: t.say("machine"), Left: true}, {Head: t.say("cores")}, {Head: t.say("busy")}, {Head: t.say("at most")},
			{Head: t.say("low priority"), Priority: 3}, {Head: t.say("disk wait"), Priority: 3},
			{Head: t.say("stolen"), Priority: 2}, {Head: t.say("memory used"), Priority: 1},
			{Head: t.say("memory"), Priority: 6},
			{Head: t.say("disk/s"), Priority: 4}, {Head: t.say("network/s"), Priority: 5},
			{Head: t.say("loopback/s"), Priority: 7}, {Head: t.say("load average")},
		}}
	for i := range t.run.Watched {
		w := &t.run.Watched[i]
		if !record.IsMachine(w.Source) || len(w.Metrics) == 0 {
			continue
		}
		name := units.Clean(w.Source)
		if w.Source == record.WatchedHost {
			name = t.say("this one")
		}
		figure := func(unit string, names ...string) cell.Cell { return cell.Figure(meanOf(w, names...), unit) }
		out.Add(cell.Text(name), figure("count", "cores"), figure(cell.UnitNumber, "cpu_busy_seconds"),
			cell.Figure(w.Metric("cpu_busy_seconds").Max, cell.UnitNumber),
			figure(cell.UnitNumber, "cpu_nice_seconds"), figure(cell.UnitNumber, "cpu_iowait_seconds"),
			figure(cell.UnitNumber, "cpu_steal_seconds"),
			cell.Figure(max(w.Metric("memory_total_bytes").Last-w.Metric("memory_available_bytes").Min, 0), "bytes"),
			figure("bytes", "memory_total_bytes"),
			figure("bytes", "disk_read_bytes", "disk_written_bytes"), figure("bytes", "net_received_bytes", "net_sent_bytes"),
			figure("bytes", "loopback_bytes"),
			figure(cell.UnitNumber, "load_1m"))
	}
	return out
}

// meanOf returns the sum of the means of some figures.
func meanOf(w *record.Watched, names ...string) (sum float64) {
	for _, name := range names {
		sum += w.Metric(name).Mean
	}
	return sum
}
