package record

import (
	"brunt/internal/measure"
)

// healthTally sums up the generator's state, and tells time in which arrivals waited for sessions
// from time in which they waited for the generator.
type healthTally struct {
	loopNs        float64
	loopBusyNs    int64 // time in which the busiest loop was busy more than 95 %
	durationNs    int64
	cpuMax        float64
	busyNs        float64 // Σ of the time that requests were in flight
	saturatedNs   int64
	idleBacklogNs int64
	backlogMax    uint64
}

// loopBusyLimit is the share of wall time above which an event loop is as good as full.
const loopBusyLimit = 0.95

func (h *healthTally) add(iv *Interval) {
	if iv.WarmUp {
		return
	}
	ns := iv.DurationNs()
	h.durationNs += ns
	h.loopNs += iv.Health.LoopBusy * float64(ns)
	if iv.Health.LoopBusy > loopBusyLimit {
		h.loopBusyNs += ns
	}
	h.cpuMax = max(h.cpuMax, iv.Health.ProcessCPU)
	h.busyNs += inFlightNs(iv)
	h.backlogMax = max(h.backlogMax, iv.Backlog)
	if backlogMatters(iv) {
		if waitedForSessions(iv) {
			h.saturatedNs += ns
		} else {
			h.idleBacklogNs += ns
		}
	}
}

// inFlightNs is for how long requests were in flight, summed over the operations that ended.
func inFlightNs(iv *Interval) float64 {
	var sum float64
	for i := range iv.Operations {
		sum += sumNs(iv.Operations[i].Service) + sumNs(iv.Operations[i].FailedResponse)
	}
	return sum
}

// backlogMatters reports whether the arrivals that were due and not sent at iv's end are more
// than those of 10 ms.
func backlogMatters(iv *Interval) bool {
	if iv.Backlog < 2 {
		return false
	}
	perNs := float64(max(iv.Offered, iv.Totals().Done)) / float64(max(iv.DurationNs(), 1))
	return float64(iv.Backlog) > perNs*10e6
}

// waitedForSessions reports whether arrivals waited for sessions rather than for the generator:
// whether less than half of the lag was the generator's own. Where nothing was sent it is so if
// requests were in flight, or if nothing was connected.
func waitedForSessions(iv *Interval) bool {
	var lag float64
	for i := range iv.Operations {
		lag += sumNs(iv.Operations[i].Lag)
	}
	if lag == 0 {
		return iv.Busy > 0 || iv.Sessions == 0
	}
	return sumNs(iv.OwnLag) < lag/2
}

// summary returns the run's health. total is the sum of the intervals, all that of the operations,
// loadNs the time under load.
func (h *healthTally) summary(total *Interval, all *measure.OperationInterval, loadNs int64) Health {
	th := &total.Health
	s := Health{
		LagP99Ns: LatencyOf(all.Lag, false).P99Ns, OwnLagCount: countOf(total.OwnLag), OwnLagP99Ns: tailOf(total.OwnLag),
		LoopBusyMax: th.LoopBusy, ProcessCPUMean: th.ProcessCPU, ProcessCPUMax: h.cpuMax,
		CgroupThrottledNs: th.CgroupThrottledNs, GCPauseNsMax: th.GCPauseNsMax,
		GCCycles: th.GCCycles, SendStalls: th.SendStalls, RSSBytesMax: th.RSSBytes,
		PausedNs: th.PausedNs, LoopFullNs: h.loopBusyNs, SaturatedNs: h.saturatedNs,
		IdleBacklogNs: h.idleBacklogNs, BacklogMax: h.backlogMax,
		RunQueueNs: th.RunQueueNs, LoopRunQueueNs: th.LoopRunQueueNs, StealNs: th.StealNs,
		VoluntarySwitches: th.VoluntarySwitches, InvoluntarySwitches: th.InvoluntarySwitches,
	}
	if countOf(total.OwnLag) > 0 {
		s.OwnLagMeanNs = total.OwnLag.Mean()
	}
	if loadNs > 0 {
		s.InFlightMean = h.busyNs / float64(loadNs)
	}
	if h.durationNs > 0 {
		d := float64(h.durationNs)
		s.LoopBusyMean = h.loopNs / d
		s.OthersCPUMean = float64(th.OthersNs) / d
		s.RunQueueShare = float64(th.RunQueueNs) / d
		if all.Done > 0 {
			s.CPUNsPerOperation = th.ProcessCPU * d / float64(all.Done)
		}
	}
	return s
}

// tailOf is the 99th percentile, or the third largest value where there are fewer than 300, so
// that one hiccup of a short run doesn't speak for all of it.
func tailOf(h *measure.Histogram) int64 {
	n := countOf(h)
	if n < 3 {
		return 0
	}
	return h.Quantile(min(0.99, float64(n-2)/float64(n)))
}
