package plan

import (
	"testing"
	"time"
)

// The sessions of all workers add up to the whole. No worker has more than one session above another, and none has a
// threshold that ends the load.
func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	for workers := 1; workers <= 7; workers++ {
		for sessions := workers; sessions <= 30; sessions++ {
			whole := Plan{Settings: Settings{Sessions: sessions, ErrorThreshold: 5},
				Thresholds: []Threshold{{AbortOnFail: true}},
				Load:       []Phase{{Kind: Closed, Sessions: sessions}, {Kind: Closed}, constant("", 1000, time.Second)}}
			var all, phase, least, most int
			for k := range workers {
				p := whole
				if err := Share(&p, k, workers); err != nil {
					t.Fatalf("%d sessions, worker %d of %d: %v", sessions, k, workers, err)
				}
				n := p.Settings.Sessions
				all, phase = all+n, phase+p.Load[0].Sessions
				if least, most = min(least, n), max(most, n); k == 0 {
					least = n
				}
				if p.Load[1].Sessions != 0 || p.Load[2].RateFrom != 1000 {
					t.Errorf("worker %d of %d: load %+v", k, workers, p.Load)
				}
				if p.Thresholds[0].AbortOnFail || p.Settings.ErrorThreshold != 0 {
					t.Errorf("worker %d of %d would end the load by itself", k, workers)
				}
			}
			if all != sessions || phase != sessions || most-least > 1 {
				t.Errorf("%d sessions over %d workers: %d in all, %d in the phase, from %d to %d", sessions, workers, all, phase,
					least, most)
			}
			if !whole.Thresholds[0].AbortOnFail || whole.Load[0].Sessions != sessions {
				t.Errorf("the whole plan was changed: %+v", whole)
			}
		}
	}
}
