package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/page"
	"brunt/internal/render/svg"
	"brunt/internal/render/units"
)

// timeSign returns the sign of a kind of time in a bar of text.
func timeSign(kind string) string {
	return map[string]string{
		record.TimeOwnLag: "·", record.TimeSession: "┄", record.TimeNetwork: "~", record.TimeExecuting: "█",
		record.TimeCPUWait: "▓", record.TimeDisk: "▒", record.TimeLocks: "▚", record.TimeOther: "░",
		record.TimeServer: "■", record.TimeUnknown: "?",
	}[kind]
}

const (
	barSigns     = 30
	mostSumParts = 3
	mostSums     = 20
)

// responses is the table of what operations' response times are made of.
func (t *writer) responses() cell.Table {
	out := cell.Table{ID: "responses", Title: t.say("RESPONSE"), Note: t.say("what its mean is made of"),
		Columns: []cell.Column{{Head: t.say("operation"), Left: true}, {Head: t.say("mean")}, {Left: true, Priority: 1},
			{Head: t.say("of which"), Left: true, Wrap: true, Short: true}}}
	all := t.run.KnownSums()
	used := map[string]bool{}
	for _, s := range all[:min(len(all), t.most(mostSums, briefOperations))] {
		out.Add(cell.Text(units.Clean(s.Operation)), cell.Time(s.MeanNs), cell.Text(signs(&s, used)),
			cell.Text(t.largest(&s)))
	}
	var legend []string
	for _, kind := range record.TimeKinds() {
		if used[kind] {
			legend = append(legend, timeSign(kind)+" "+t.say(record.TimeName(kind)))
		}
	}
	if len(legend) > 0 && !t.brief {
		out.Foot = append(out.Foot, strings.Join(legend, " · "))
	}
	return out
}

// signs returns a sum as a bar of signs, and notes the kinds that it shows.
func signs(s *record.ResponseSum, used map[string]bool) string {
	var b strings.Builder
	at, drawn := 0.0, 0
	for _, p := range s.Parts {
		at += p.Ns
		n := int(at/s.MeanNs*barSigns+0.5) - drawn
		if n <= 0 {
			continue
		}
		drawn += n
		used[p.Kind] = true
		b.WriteString(strings.Repeat(timeSign(p.Kind), n))
	}
	return b.String()
}

// largest lists the largest parts of a sum.
func (t *writer) largest(s *record.ResponseSum) string {
	parts := slices.Clone(s.Parts)
	slices.SortStableFunc(parts, func(a, b record.TimePart) int { return cmp.Compare(b.Ns, a.Ns) })
	var out []string
	for _, p := range parts[:min(len(parts), mostSumParts)] {
		if p.Ns < s.MeanNs/100 {
			break
		}
		out = append(out, t.time(p.Ns)+" "+t.say(record.TimeName(p.Kind)))
	}
	return strings.Join(out, ", ")
}

// cause names the first finding that limits the server or costs time. It is "" if there is none.
func (t *writer) cause() string {
	for _, f := range t.run.Causes() {
		if f.Severity != record.Minor {
			return units.Clean(f.Subject) + ": " + f.Evidence.In(t.l) + " [" + f.ID + "]"
		}
	}
	return ""
}

// ResponseChart returns a chart of the sums of responses, or "" if nothing is known of what the server did in them. Its
// width is the usual one if it is 0.
func ResponseChart(run *record.Run, l units.Language, width int) string {
	t := &writer{run: run, l: l}
	all := t.run.KnownSums()
	var kinds, names []string
	for _, kind := range record.TimeKinds() {
		if kind == record.TimeUnknown || slices.ContainsFunc(all, func(s record.ResponseSum) bool { return s.Of(kind) > 0 }) {
			kinds, names = append(kinds, kind), append(names, t.say(record.TimeName(kind)))
		}
	}
	if len(all) == 0 {
		return ""
	}
	var wholes []svg.Whole
	for _, s := range all[:min(len(all), mostSums)] {
		w := svg.Whole{Label: units.Clean(s.Operation)}
		for _, kind := range kinds {
			w.Parts = append(w.Parts, s.Of(kind))
		}
		wholes = append(wholes, w)
	}
	return svg.Parts(svg.Frame{Title: t.say("Response"), X: svg.Axis{Unit: "ns"}, Width: width, Language: l},
		names, wholes)
}

// responseChart returns the block of the chart of sums, if there is one.
func (b *builder) responseChart(r *Result) (out []page.Block) {
	if text := ResponseChart(r.Run, b.l, 0); text != "" {
		out = append(out, page.Chart{ID: "chart-responses", Title: b.say("What responses are made of"),
			Note: b.say("means; the rest is unknown"), SVG: text})
	}
	return out
}

// processes returns the tables of the servers' processes.
func (t *writer) processes() (out []cell.Table) {
	for i := range t.run.Processes {
		p := &t.run.Processes[i]
		for _, table := range []cell.Table{t.process(p), t.threads(p)} {
			if i > 0 {
				table.ID += fmt.Sprintf("-%d", i+1)
			}
			out = append(out, table)
		}
	}
	return out
}

func (t *writer) process(p *record.Process) cell.Table {
	out := tree{cell.Table{ID: "process", Title: t.say("PROCESS"), Note: t.say("warm-up excluded"), Kind: cell.Tree}}
	out.add(t.say("process"), cell.Text(units.Clean(p.Command)), t.say("%s, at %s, %s", t.say("PID %d", p.PID),
		units.Clean(p.Source), plural(t, p.Members, "process", "processes")))
	limit := cell.Text(t.say("nothing"))
	note := t.say("none of the tests applies")
	if len(p.Findings) > 0 {
		limit, note = cell.Text(p.Findings[0].Evidence.In(t.l)).Marked(cell.Warn), p.Findings[0].Advice.In(t.l)
	}
	out.add(t.say("limited"), limit, note)
	for _, f := range p.Findings[min(1, len(p.Findings)):] {
		out.add(t.say("besides"), cell.Text(f.Evidence.In(t.l)).Marked(cell.Warn), f.Advice.In(t.l))
	}
	out.add(t.say("processors"), cell.Figure(p.OnCPU, cell.UnitNumber), t.say(
		"%s threads waited for one on average; others used %s of %s", t.digits(p.Queued), t.digits(p.OthersCPU),
		t.digits(p.Cores)))
	disk := t.say("of the samples had a thread that waited for it")
	if !p.IOUnreadable {
		disk += t.say("; %s read and %s written a second", t.l.Value(p.ReadBPerS, "bytes"),
			t.l.Value(p.WrittenBPerS, "bytes"))
	}
	out.add(t.say("disk"), cell.Figure(p.DiskSeen, "share"), disk)
	if p.Connections > 0 {
		out.add(t.say("sockets"), cell.Figure(p.UnreadB, "bytes"), t.say("sent and not taken yet, over %s connections; at most %s",
			t.digits(p.Connections), t.l.Value(p.UnreadMaxB, "bytes")))
	}
	out.add(t.say("observing it"), cell.Figure(p.CostShare, "share"),
		t.say("of a core; %s", plural(t, p.Samples, "sample", "samples")))
	return out.Table
}

// profiles returns the tables of the functions that took services' processor time.
func (t *writer) profiles() (out []cell.Table) {
	const most = 15
	for i := range t.run.Profiles {
		p := &t.run.Profiles[i]
		table := cell.Table{ID: "functions", Title: t.say("FUNCTIONS"), Note: t.say("of %s, which used %s cores",
			units.Clean(p.Source), t.digits(p.OnCPU)),
			Columns: heads(cell.Column{Head: t.say("function"), Left: true, Wrap: true, Short: true},
				cell.Column{Head: t.say("own")}, cell.Column{Head: t.say("with what it calls")})}
		for _, f := range p.Functions[:min(len(p.Functions), most)] {
			table.Add(cell.Text(units.Clean(f.Name)), cell.Figure(f.Own, "share"), cell.Figure(f.With, "share"))
		}
		if i > 0 {
			table.ID += fmt.Sprintf("-%d", i+1)
		}
		out = append(out, table)
	}
	return out
}

// mostThreadRows limits the rows of threads.
const mostThreadRows = 6

func (t *writer) threads(p *record.Process) cell.Table {
	out := cell.Table{ID: "threads", Title: t.say("THREADS"), Note: t.say("the busiest of each name, in cores"),
		Columns: heads(cell.Column{Head: t.say("thread"), Left: true}, cell.Column{Head: t.say("number")},
			cell.Column{Head: t.say("on CPU")}, cell.Column{Head: t.say("waiting for one")},
			cell.Column{Head: t.say("waiting for the disk")})}
	for _, u := range p.Threads[:min(len(p.Threads), mostThreadRows)] {
		if u.OnCPU+u.Queued+u.InDisk < 0.001 {
			continue
		}
		out.Add(cell.Text(units.Clean(u.Name)), cell.Count(u.Number), cell.Figure(u.OnCPU, "share"),
			cell.Figure(u.Queued, "share"), cell.Figure(u.InDisk, "share"))
	}
	return out
}
