package report

import (
	"io"
	"strings"
	"sync"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/render/cell"
	"brunt/internal/render/svg"
	"brunt/internal/render/units"
)

// Progress prints the progress of a run: the phase, the time elapsed and left, and the rate, failures, p99 of response
// time and backlog since the previous line.
type Progress struct {
	screen screen
	planNs int64  // planned length, 0 if unknown
	total  uint64 // planned operations, 0 if unknown

	done   uint64
	lastNs int64 // time of the last line
	counts measure.Counts
	tail   *measure.Histogram
}

var _ measure.Sink = (*Progress)(nil)

// NewProgress returns the progress of a run. Start must be called.
func NewProgress(w io.Writer, o Options) *Progress {
	return &Progress{screen: screen{w: w, o: o}, tail: measure.NewHistogram()}
}

// Start sets the length of the run, from the planned lengths and limits of its phases. It must be called before the
// first interval.
func (p *Progress) Start(run *record.Run) {
	p.planNs, p.total = 0, 0
	unknown := false
	for _, ph := range run.Phases {
		p.planNs += ph.DurationNs
		p.total += ph.Limit
		if ph.DurationNs == 0 && ph.Kind != "pause" {
			unknown = true
		}
	}
	if unknown {
		p.planNs = 0
	} else {
		p.total = 0
	}
}

// Interval implements measure.Sink. It never fails.
func (p *Progress) Interval(iv *measure.Interval) error {
	counts := iv.Totals()
	p.counts.Add(&counts)
	p.done += counts.Done
	for i := range iv.Operations {
		if h := iv.Operations[i].Response; h != nil {
			p.tail.Merge(h)
		}
	}
	since := iv.EndNs - p.lastNs
	if iv.EndNs < int64(quietFor) || (p.planNs > 0 && p.planNs < int64(quietFor)) || since < int64(p.screen.every()) {
		return nil
	}
	p.screen.draw(p.fields(iv, since))
	p.lastNs = iv.EndNs
	p.counts = measure.Counts{}
	p.tail.Reset()
	return nil
}

// Note prints a permanent line above the progress line.
func (p *Progress) Note(text string) { p.screen.note(text) }

// Done removes the progress line.
func (p *Progress) Done() { p.screen.clear() }

func (p *Progress) fields(iv *measure.Interval, sinceNs int64) []field {
	elapsed := time.Duration(iv.EndNs)
	phase := units.Clean(iv.Phase)
	if iv.WarmUp && !strings.Contains(strings.ToLower(phase), "warm") {
		phase += " " + p.screen.say("(warm-up)")
	}
	ok := p.counts.OK()
	failed := field{p.screen.say("%s failed", units.Count(p.counts.Failed())), cell.Dim}
	if p.counts.Failed() > 0 {
		failed = field{p.screen.say("%s failed (%s)", units.Count(p.counts.Failed()),
			units.Percent(p.counts.Failed(), p.counts.Done)), cell.Bad}
	}
	p99 := field{"p99 –", cell.Dim}
	if p.tail.Count() > 0 {
		p99 = field{p.screen.say("p99 %s", units.LatencyInt(p.tail.Quantile(0.99))), cell.Plain}
	}
	part, left := p.part(elapsed)
	fields := []field{{cell.PadRight(phase, 8), cell.Strong}, {clock(elapsed), cell.Plain}}
	if part >= 0 && p.screen.o.Live {
		fields = append(fields, field{gauge(part, 16), cell.Accent})
	}
	fields = append(fields, field{cell.PadLeft(p.screen.say("%s", units.Rate(float64(ok)/(float64(sinceNs)/1e9))+"/s"), 9),
		cell.Strong}, p99, failed)
	if iv.Backlog > 0 {
		fields = append(fields, field{p.screen.say("backlog %s", units.Count(iv.Backlog)), cell.Warn})
	}
	if n := len(iv.Workers); n > 0 {
		there := measure.Left(iv.Workers)
		workers := field{p.screen.say("%s of %s workers", units.Count(uint64(there)), units.Count(uint64(n))), cell.Dim}
		if there < n {
			workers.mark = cell.Bad
		}
		fields = append(fields, workers)
	}
	if left >= 0 {
		fields = append(fields, field{p.screen.say("%s left", clock(left)), cell.Dim})
	}
	return fields
}

// part returns the share of the run that is done and the remaining time; negative if unknown.
func (p *Progress) part(elapsed time.Duration) (part float64, left time.Duration) {
	switch {
	case p.planNs > 0:
		return min(float64(elapsed)/float64(p.planNs), 1), max(time.Duration(p.planNs)-elapsed, 0)
	case p.total > 0:
		part = min(float64(p.done)/float64(p.total), 1)
		return part, remaining(elapsed, part)
	}
	return -1, -1
}

// remaining returns the remaining time at the rate so far; negative if unknown.
func remaining(elapsed time.Duration, part float64) time.Duration {
	if part <= 0 {
		return -1
	}
	left := float64(elapsed) * (1 - part) / part
	if left > float64(1000*24*time.Hour) {
		return -1
	}
	return time.Duration(left)
}

// gauge draws a share of n columns within marks.
func gauge(part float64, n int) string { return "▕" + cell.PadRight(cell.Bar(part, n), n) + "▏" }

// clock formats a duration like a stopwatch: 0:07, 12:34, 1:02:03.
func clock(d time.Duration) string { return svg.Clock(d.Round(time.Second).Seconds()) }

// Filling is the progress of filling tables. It is an alias of an unnamed struct, so that a loader's progress with the
// same fields can be assigned to it without a conversion.
type Filling = struct {
	Table    string // the table that received rows last
	Done     uint64 // number of its rows inserted
	Total    uint64 // total number of its rows
	AllDone  uint64 // rows inserted in all tables
	AllTotal uint64
	RatePerS float64       // rows per second so far
	Left     time.Duration // for all tables at that rate; 0 while unknown
}

// LoadProgress prints the progress of filling tables and of checking statements. It is safe for concurrent use.
type LoadProgress struct {
	screen screen
	now    func() time.Time

	mu    sync.Mutex
	began time.Time
	last  time.Time
}

// NewLoadProgress returns the progress of filling tables, which begins now.
func NewLoadProgress(w io.Writer, o Options) *LoadProgress {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return &LoadProgress{screen: screen{w: w, o: o}, now: now, began: now()}
}

// due reports whether a line must be drawn now, and the time since the beginning.
func (p *LoadProgress) due() (elapsed time.Duration, ok bool) {
	now := p.now()
	elapsed = now.Sub(p.began)
	if elapsed < quietFor || (!p.last.IsZero() && now.Sub(p.last) < p.screen.every()) ||
		(!p.screen.o.Live && elapsed < plainEvery) {
		return 0, false
	}
	p.last = now
	return elapsed, true
}

// ShowCheck draws a line if one is due, with the number of a plan's statements that the server has checked.
func (p *LoadProgress) ShowCheck(done, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if elapsed, ok := p.due(); ok {
		p.screen.draw([]field{{p.screen.say("check"), cell.Strong}, {clock(elapsed), cell.Plain},
			{p.screen.say("%s of %s statements", units.Count(uint64(done)), units.Count(uint64(all))), cell.Plain}})
	}
}

// Show draws a line if one is due.
func (p *LoadProgress) Show(f Filling) {
	p.mu.Lock()
	defer p.mu.Unlock()
	elapsed, ok := p.due()
	if !ok {
		return
	}
	fields := []field{{p.screen.say("fill %s", units.Clean(f.Table)), cell.Strong}, {clock(elapsed), cell.Plain}}
	if f.AllTotal > 0 && p.screen.o.Live {
		fields = append(fields, field{gauge(min(float64(f.AllDone)/float64(f.AllTotal), 1), 16), cell.Accent})
	}
	fields = append(fields,
		field{p.screen.say("%s rows/s", units.Rate(f.RatePerS)), cell.Strong},
		field{p.screen.say("%s of %s rows", units.Count(f.AllDone), units.Count(f.AllTotal)), cell.Plain})
	if f.Left > 0 {
		fields = append(fields, field{p.screen.say("%s left", clock(f.Left)), cell.Dim})
	}
	p.screen.draw(fields)
}

// Done removes the progress line.
func (p *LoadProgress) Done() { p.screen.clear() }
