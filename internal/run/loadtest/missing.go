package loadtest

import "brunt/internal/record"

// countMissing estimates for each lost worker how many operations of its share are missing. The number of all missing
// operations is the difference between the operations of the whole load and those of all parts. It is divided among the
// lost workers in proportion to how long nobody sent their share. The number of operations of an endless load or of a
// script isn't known, so it is compared with what the other workers sent on average. unneeded are operations of the
// whole load that no worker was to send.
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
		return // the verdict says that all were lost
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
	countIterations(parts)
}

// countIterations estimates how many iterations of a k6 script were in the share of each lost worker: as many as other
// workers had on average, because all segments of a script are equally large. A worker counts its iterations when it
// ends, so those of a lost one aren't known.
func countIterations(parts []*record.Recorded) {
	var others, all uint64
	for _, p := range parts {
		if n := p.Run.Iterations; n != nil {
			others, all = others+1, all+n.Done+n.Dropped
		}
	}
	for _, p := range parts {
		if w := p.Run.Worker; w != nil && w.LostNs > 0 && p.Run.Iterations == nil && others > 0 {
			w.MissingIterations = all / others
		}
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
