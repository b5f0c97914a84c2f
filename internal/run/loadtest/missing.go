package loadtest

import "brunt/internal/record"

// countMissing estimates for each lost worker how many operations of its share nobody sent. The number of missing
// operations is the difference between the operations of the whole load and those of all parts. It is divided among the
// lost workers in proportion to how long nobody sent their share. An endless load has no known number of operations, so
// it is compared with what the other workers sent on average. unneeded are operations of the whole load that no worker
// was to send.
func countMissing(parts []*record.Recorded, endless bool, unneeded uint64) {
	var sent, passed, whole, ofWhole uint64
	var gaps int64
	for _, p := range parts {
		arrivals := p.Run.Total.Arrivals()
		sent += arrivals
		if w := p.Run.Worker; w != nil && w.LostNs > 0 {
			gaps += gapNs(p.Run)
			continue
		}
		whole, ofWhole = whole+1, ofWhole+arrivals
		if w := p.Run.Worker; w != nil {
			unneeded += w.Unneeded
			passed = max(passed, w.Passed)
		}
	}
	if whole == 0 {
		return
	}
	if endless {
		passed = ofWhole / whole * uint64(len(parts))
	}
	passed -= min(unneeded, passed)
	left, leftNs := max(passed, sent)-sent, max(gaps, 1)
	for _, p := range parts {
		w := p.Run.Worker
		if w == nil || w.LostNs == 0 {
			continue
		}
		gap := gapNs(p.Run)
		w.Missing = uint64(float64(left) * float64(gap) / float64(leftNs))
		if leftNs -= gap; leftNs <= 0 {
			w.Missing, leftNs = left, 1
		}
		left -= w.Missing
	}
}

// gapNs estimates for how long nobody sent the share of a lost worker.
func gapNs(run *record.Run) int64 {
	until := run.Worker.GivenNs
	if until == 0 {
		until = run.Worker.LostNs * 2 // to the end of the load, which isn't known
	}
	return max(until-run.DurationNs, 1)
}
