package report

import (
	"cmp"
	"math"
	"slices"

	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/measure/timeline"
	"brunt/internal/record"
	"brunt/internal/render/page"
	"brunt/internal/render/svg"
	"brunt/internal/render/units"
)

// charts returns a run's charts over time, for print. On the page, a script draws interactive charts in their place.
func (b *builder) charts(r *Result) (out []page.Block) {
	slots := r.Timeline.Slots
	over := page.Section{ID: "part-time", Title: b.say("Over time"), Grid: true}
	if len(slots) == 0 && len(b.all) == 1 && !b.live {
		over.Grid = false
		over.Blocks = []page.Block{page.Paragraph(b.say("The record has no intervals, so there is nothing to draw.")),
			b.curves()}
		return []page.Block{over}
	}
	x := make([]float64, len(slots))
	for i := range slots {
		x[i] = float64(slots[i].StartNs+slots[i].EndNs) / 2e9
	}
	line := func(name string, f func(*timeline.Slot) float64) svg.Series {
		s := svg.Series{Name: name, X: x, Y: make([]float64, len(slots))}
		for i := range slots {
			s.Y[i] = f(&slots[i])
		}
		return s
	}
	var bands []svg.Band
	for _, band := range b.bands(r) {
		bands = append(bands, svg.Band(band))
	}
	to := &over
	add := func(id, kind, title, note string, f svg.Frame, lines ...svg.Series) {
		f.Title, f.X, f.Language = title, svg.Axis{Unit: "clock"}, b.l
		to.Blocks = append(to.Blocks, page.Chart{ID: id, Kind: kind, Title: title, Note: note,
			SVG: svg.Lines(f, lines, bands)})
	}
	b.loadCharts(add, line, slots, r.Run.LoadModel == "closed")
	const leading = 2 // rate and response time; the heat map and the curve of its window follow the first
	at := min(leading, len(over.Blocks))
	over.Blocks = slices.Insert(over.Blocks, at, page.Block(page.Stack{b.heat(r, bands), b.curves()}))
	if n := r.Timeline.StandstillCount; n > len(r.Timeline.Standstills) {
		over.Blocks = append(over.Blocks,
			page.Paragraph(b.say("The longest %d of %d standstills are drawn.", len(r.Timeline.Standstills), n)))
	}
	machine := page.Section{ID: "part-machine", Title: b.say("The generator's machine"), Grid: true}
	to = &machine
	b.machineCharts(add, line, slots)
	machine.Blocks = append(machine.Blocks, b.waitCharts(r, bands)...)
	over.Blocks = append(over.Blocks, b.responseChart(r)...)
	return []page.Block{over, machine}
}

type (
	addChart func(id, kind, title, note string, f svg.Frame, lines ...svg.Series)
	makeLine func(name string, f func(*timeline.Slot) float64) svg.Series
)

// loadCharts returns the charts of rates, times, failures and sessions.
func (b *builder) loadCharts(add addChart, line makeLine, slots []timeline.Slot, closed bool) {
	achieved := line(b.say("achieved"), func(s *timeline.Slot) float64 { return s.RatePerS() })
	if slices.ContainsFunc(slots, func(s timeline.Slot) bool { return s.RateLow != s.RateHigh }) {
		for i := range slots {
			achieved.Low, achieved.High = append(achieved.Low, slots[i].RateLow), append(achieved.High, slots[i].RateHigh)
		}
	}
	offered := line(b.say("offered"), func(s *timeline.Slot) float64 {
		if !s.Open {
			return math.NaN()
		}
		return s.PerS(s.Offered)
	})
	lines := []svg.Series{achieved}
	if slices.ContainsFunc(slots, func(s timeline.Slot) bool { return s.Open }) {
		lines = append(lines, offered)
	}
	add("chart-rate", "rate", b.say("Rate"), b.say("what succeeded, and what fell due"),
		svg.Frame{Y: svg.Axis{Unit: "per_s"}}, lines...)
	response := func(q float64) func(*timeline.Slot) float64 {
		return func(s *timeline.Slot) float64 { return s.Response.Quantile(q, s.NoAnswer) }
	}
	service := func(q float64) func(*timeline.Slot) float64 {
		return func(s *timeline.Slot) float64 { return s.Service.Quantile(q, 0) }
	}
	lines = []svg.Series{
		line("p50", response(.5)), line("p99", response(.99)), line("p90", response(.9)),
		line(b.say("max"), (*timeline.Slot).Max),
	}
	if !closed {
		lines = append(lines, line(b.say("service")+" p99", service(.99)), line(b.say("service")+" p50", service(.5)))
	}
	add("chart-latency", "latency", b.say("Response time"),
		b.say("of all arrivals; without a good answer it is infinite and leaves a gap"),
		svg.Frame{Height: 300, Y: svg.Axis{Unit: "ns", Log: true}}, lines...)
	if b.live || slices.ContainsFunc(slots, timeline.Slot.Streamed) {
		b.streamChart(add, line)
	}
	if b.live || slices.ContainsFunc(slots, func(s timeline.Slot) bool { return s.Failed+s.Dropped > 0 }) {
		add("chart-errors", "errors", b.say("Failures"), b.say("a second, by class"),
			svg.Frame{Height: 180, Y: svg.Axis{Unit: "per_s"}},
			line(b.say("failed"), func(s *timeline.Slot) float64 { return s.PerS(s.Failed) }),
			line(b.say("unsent"), func(s *timeline.Slot) float64 { return s.PerS(s.Dropped) }))
	}
	if !slices.ContainsFunc(slots, func(s timeline.Slot) bool { return s.Busy > 0 || s.Backlog > 0 }) && !b.live {
		return
	}
	add("chart-sessions", "sessions", b.say("Sessions"), b.say("waiting for answers, and arrivals that wait to be sent"),
		svg.Frame{Height: 180},
		line(b.say("sessions waiting for answers"), func(s *timeline.Slot) float64 { return float64(s.Busy) }),
		line(b.say("backlog"), func(s *timeline.Slot) float64 { return float64(s.Backlog) }))
}

// streamChart is the chart of the times of answers that were streams. The page of a run under way hides it until there
// are some.
func (b *builder) streamChart(add addChart, line makeLine) {
	var lines []svg.Series
	for _, of := range []struct {
		name string
		pick func(*timeline.Slot) timeline.Sketch
	}{
		{b.say("to the first"), func(s *timeline.Slot) timeline.Sketch { return s.First }},
		{b.say("between"), func(s *timeline.Slot) timeline.Sketch { return s.Between }},
		{b.say("to the end"), func(s *timeline.Slot) timeline.Sketch { return s.Service }},
	} {
		lines = append(lines,
			line(of.name+" p50", func(s *timeline.Slot) float64 { return of.pick(s).Quantile(.5, 0) }),
			line(of.name+" p99", func(s *timeline.Slot) float64 { return of.pick(s).Quantile(.99, 0) }))
	}
	add("chart-streams", "streams", b.say("Times of streams"), b.say("to the first message, between messages, to the end"),
		svg.Frame{Height: 250, Y: svg.Axis{Unit: "ns", Log: true}}, lines...)
}

// machineCharts returns the charts of the generator's machine.
func (b *builder) machineCharts(add addChart, line makeLine, slots []timeline.Slot) {
	observed := func(ns int64, s *timeline.Slot) float64 { return float64(ns) / float64(max(s.ObservedNs, 1)) }
	add("chart-cpu", "cpu", b.say("Cores in use"),
		b.say("by brunt, by others on this machine, and kept by the hypervisor"), svg.Frame{Height: 180},
		line("brunt", func(s *timeline.Slot) float64 { return s.CPU }),
		line(b.say("hypervisor"), func(s *timeline.Slot) float64 { return observed(s.StealNs, s) }),
		line(b.say("others"), func(s *timeline.Slot) float64 { return observed(s.OthersNs, s) }))
	if b.live || slices.ContainsFunc(slots, func(s timeline.Slot) bool { return s.LoopBusyHigh > 0 }) {
		add("chart-loop", "loop", b.say("Busiest event loop"), "", svg.Frame{Height: 150, Y: svg.Axis{Unit: "share"}},
			line(b.say("busy"), func(s *timeline.Slot) float64 { return s.LoopBusyHigh }))
	}
	add("chart-memory", "memory", b.say("Memory of brunt"), "", svg.Frame{Height: 150, Y: svg.Axis{Unit: "bytes"}},
		line(b.say("memory"), func(s *timeline.Slot) float64 { return float64(s.RSSBytes) }))
}

// heatColumns limits the columns of a printed heat map.
const heatColumns = 180

// heat is the heat map of response times over time.
func (b *builder) heat(r *Result, bands []svg.Band) page.Block {
	const rows = 8 // buckets of a sketch in a row: a quarter of an octave
	slots := r.Timeline.Slots
	h := svg.Heat{}
	low, high := math.MaxInt, 0
	for i := range slots {
		if s := slots[i].Response; len(s) > 0 {
			low, high = min(low, s[0].Index/rows), max(high, s[len(s)-1].Index/rows)
		}
	}
	if low <= high {
		for row := low; row <= high+1; row++ {
			h.Y = append(h.Y, math.Max(float64(timeline.EdgeOf(row*rows)), 1))
		}
		each := (len(slots) + heatColumns - 1) / heatColumns
		for i := range slots {
			if i%each == 0 {
				h.X = append(h.X, float64(slots[i].StartNs)/1e9)
				h.Columns = append(h.Columns, make([]uint64, high-low+1))
			}
			for _, bucket := range slots[i].Response {
				h.Columns[len(h.Columns)-1][bucket.Index/rows-low] += bucket.N
			}
		}
		h.X = append(h.X, float64(slots[len(slots)-1].EndNs)/1e9)
	}
	title := b.say("Where response times lie")
	return page.Chart{ID: "chart-heat", Kind: "heat", Title: title,
		Note: b.say("the stronger the colour, the more answers; choose a window to see its percentiles below"),
		SVG: svg.HeatMap(svg.Frame{Title: title, X: svg.Axis{Unit: "clock"}, Y: svg.Axis{Unit: "ns"}, Language: b.l}, h,
			bands)}
}

// ninesOf returns how many nines a run's percentile curve can have with its number of answers.
func ninesOf(run *record.Run) float64 {
	n := run.Total.Response.Count + run.Total.Response.NoAnswer
	return min(max(math.Log10(float64(max(n, 1))), 1), 6)
}

// curves returns the percentile curves of all runs.
func (b *builder) curves() page.Block {
	var curves []svg.Curve
	for i := range b.all {
		run := b.all[i].Run
		name := ""
		if len(b.all) > 1 {
			name = b.names[i] + ": "
		}
		for _, kind := range []struct {
			name string
			l    *record.Latency
		}{{b.say("response"), &run.Total.Response}, {b.say("service"), &run.Total.Service}} {
			if run.LoadModel == "closed" && kind.l == &run.Total.Response {
				continue
			}
			if a, err := kind.l.Answers(); err == nil {
				curve := curveOf(name+kind.name, a, ninesOf(run))
				curve.Color = b.side(i)
				curves = append(curves, curve)
			}
		}
	}
	title := b.say("Percentiles")
	return page.Chart{ID: "chart-curve", Kind: "curve", Title: title,
		Note: b.say("each further nine takes as much room as the one before; the curve ends where there is no good answer"),
		SVG:  svg.Percentiles(svg.Frame{Title: title, Height: 300, Y: svg.Axis{Unit: "ns"}, Language: b.l}, curves)}
}

func curveOf(name string, a measure.Answers, nines float64) svg.Curve {
	c := svg.Curve{Name: name}
	for k := range int(nines*25) + 1 {
		q := 1 - math.Pow(10, -float64(k)/25)
		v := float64(a.Quantile(q))
		if a.Quantile(q) == measure.Infinite {
			v = math.Inf(1)
		}
		if v > 0 {
			c.Q, c.Values = append(c.Q, q), append(c.Values, v)
		}
	}
	return c
}

// rates returns a chart with the rates of all runs.
func (b *builder) rates() page.Block {
	var lines []svg.Series
	for i := range b.all {
		s := svg.Series{Name: b.names[i], Color: b.side(i)}
		for k := range b.all[i].Timeline.Slots {
			slot := &b.all[i].Timeline.Slots[k]
			s.X, s.Y = append(s.X, float64(slot.StartNs+slot.EndNs)/2e9), append(s.Y, slot.RatePerS())
		}
		lines = append(lines, s)
	}
	title := b.say("Rates of all runs")
	return page.Chart{ID: "chart-rates", Title: title,
		SVG: svg.Lines(svg.Frame{Title: title, X: svg.Axis{Unit: "clock"}, Y: svg.Axis{Unit: "per_s"}, Language: b.l},
			lines, nil)}
}

// classes returns the failures by class.
func (b *builder) classes(run *record.Run) page.Block {
	var bars []svg.Bar
	for _, class := range run.Total.Errors.Sorted() {
		bars = append(bars, svg.Bar{Label: verdict.ClassName(class).In(b.l), Value: float64(run.Total.Errors[class])})
	}
	title := b.say("Failed operations by class")
	if len(bars) == 0 {
		return page.Paragraph(b.say("No operation failed; some attempts did and were repeated."))
	}
	return page.Chart{ID: "chart-classes", Title: title,
		SVG: svg.Bars(svg.Frame{Title: title, X: svg.Axis{Unit: "count"}, Language: b.l}, bars)}
}

// bands returns the marked time spans of a run.
func (b *builder) bands(r *Result) []page.Band {
	out := []page.Band{}
	at := func(ns int64) float64 { return float64(ns) / 1e9 }
	for i := range r.Run.Phases {
		if p := &r.Run.Phases[i]; p.WarmUp {
			out = append(out, page.Band{From: at(p.StartNs), To: at(p.StartNs + p.DurationNs), Label: units.Clean(p.Name),
				Kind: "warm-up"})
		}
	}
	for _, s := range r.Timeline.Standstills {
		out = append(out, page.Band{From: at(s.StartNs), To: at(s.EndNs), Label: b.say("nothing succeeded"),
			Kind: "standstill"})
	}
	if f := r.Run.Failover; f != nil {
		for i := range f.Outages {
			o := &f.Outages[i]
			name := cmp.Or(scopeName(o.Scope), b.say("all"))
			out = append(out, page.Band{From: at(o.StartNs), To: at(o.EndNs), Label: b.say("outage") + ": " + name,
				Kind: "standstill"})
		}
	}
	for i := range r.Run.Hints {
		h := &r.Run.Hints[i]
		out = append(out, page.Band{From: at(beganNs(h)), To: at(beganNs(h)), Label: HintText(h, b.l), Kind: "change"})
	}
	for i := range r.Run.Faults {
		f := &r.Run.Faults[i]
		until := max(f.HealedNs, f.DoneNs)
		if f.HealBeginNs == 0 && until == f.DoneNs && !r.Run.Complete {
			until = max(until, r.Run.DurationNs)
		}
		out = append(out, page.Band{From: at(f.BeginNs), To: at(until), Label: units.Clean(f.Name), Kind: "fault"})
	}
	for i, e := range r.Run.Events {
		band := page.Band{From: at(e.AtNs), To: at(e.AtNs), Label: units.Clean(e.Kind + ": " + e.Text), Kind: "event"}
		if e.Kind == "fault" {
			band.Kind, band.To = "fault", at(healedAt(r, i))
		}
		out = append(out, band)
	}
	return out
}

// healedAt returns when the fault of a run's i-th event ended: at the next healing, or at the end of the run.
func healedAt(r *Result, i int) int64 {
	for _, e := range r.Run.Events[i+1:] {
		if e.Kind == "healed" {
			return e.AtNs
		}
	}
	if n := len(r.Timeline.Slots); n > 0 {
		return r.Timeline.Slots[n-1].EndNs
	}
	return r.Run.Events[i].AtNs
}
