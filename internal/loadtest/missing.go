package loadtest

import "brunt/internal/record"

// countMissing says of lost workers how many operations nobody has sent: the difference between those of the whole
// load and those of all parts, shared among them by how long nobody had their share. Loads that last as long as
// sessions send, of which no number is known, are compared with what the others sent.
func countMissing(parts []*record.Recorded, endless bool) {
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
			passed = max(passed, w.Passed)
		}
	}
	if whole == 0 {
		return
	}
	if endless {
		passed = ofWhole / whole * uint64(len(parts))
	}
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

// gapNs is about for how long nobody had the share of a lost worker.
func gapNs(run *record.Run) int64 {
	until := run.Worker.GivenNs
	if until == 0 {
		until = run.Worker.LostNs * 2 // to the end of the load, which nobody knows
	}
	return max(until-run.DurationNs, 1)
}
