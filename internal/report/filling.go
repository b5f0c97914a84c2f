package report

import (
	"io"
	"sync"
	"time"

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

// LoadProgress tells how the filling of tables goes. It is safe for concurrent use.
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

// Show draws a line if one is due.
func (p *LoadProgress) Show(f Filling) {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	elapsed := now.Sub(p.began)
	if elapsed < quietFor || (!p.last.IsZero() && now.Sub(p.last) < p.screen.every()) || (!p.screen.o.Live && elapsed < plainEvery) {
		return
	}
	p.last = now
	fields := []cell{{"fill " + units.Clean(f.Table), bold}, {clock(elapsed), plain}}
	if f.AllTotal > 0 && p.screen.o.Live {
		fields = append(fields, cell{gauge(min(float64(f.AllDone)/float64(f.AllTotal), 1), 16), cyan})
	}
	fields = append(fields,
		cell{units.Rate(f.RatePerS) + " rows/s", bold},
		cell{units.Count(f.AllDone) + " of " + units.Count(f.AllTotal) + " rows", plain})
	if f.Left > 0 {
		fields = append(fields, cell{clock(f.Left) + " left", dim})
	}
	p.screen.draw(fields)
}

// Done removes the progress line.
func (p *LoadProgress) Done() { p.screen.clear() }
