package report

import (
	"io"
	"sync"
	"time"

	"brunt/internal/report/cell"
	"brunt/internal/units"
)

// Filling is how far the filling of tables is. It is an alias of a struct without a name, so that
// the progress that a loader tells of, a struct of these fields, is one as it stands.
type Filling = struct {
	Table    string        // the one that took rows last
	Done     uint64        // its rows in place
	Total    uint64        // its rows in all
	AllDone  uint64        // of all tables
	AllTotal uint64        //
	RatePerS float64       // rows per second so far
	Left     time.Duration // for all tables at that rate; 0 while unknown
}

// LoadProgress tells how the filling of tables and the check of statements go. It is safe for concurrent use.
type LoadProgress struct {
	screen screen
	now    func() time.Time

	mu    sync.Mutex
	began time.Time
	last  time.Time
}

// NewLoadProgress returns the progress of a filling that begins now.
func NewLoadProgress(w io.Writer, o Options) *LoadProgress {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return &LoadProgress{screen: screen{w: w, o: o}, now: now, began: now()}
}

// due says whether a line is to be drawn now, and how long there has been something to tell of.
func (p *LoadProgress) due() (elapsed time.Duration, ok bool) {
	now := p.now()
	elapsed = now.Sub(p.began)
	if elapsed < quietFor || (!p.last.IsZero() && now.Sub(p.last) < p.screen.every()) || (!p.screen.o.Live && elapsed < plainEvery) {
		return 0, false
	}
	p.last = now
	return elapsed, true
}

// ShowCheck draws a line if one is due: the server has checked so many of a plan's statements.
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
