package record

import (
	"math"

	"brunt/internal/measure"
)

// healthTally sums up the generator's state, and tells lag that sessions caused (all of them were
// waiting for the server) from lag that the generator caused (some were free).
type healthTally struct {
	sessions int // as configured
	pipeline int // requests in flight that a session may have

	ownLag        *measure.Histogram // of intervals in which waiting for a session can't explain the lag
	loopNs        float64
	loopBusyNs    int64 // time in which the busiest loop was busy more than 95 %
	durationNs    int64
	cpuMax        float64
	busyNs        float64 // Σ of the time that requests were in flight
	saturatedNs   int64
	idleBacklogNs int64
	backlogMax    uint64

	before intervalLoad // of the interval before
}

// intervalLoad is what of one interval bears on the next one's lag.
type intervalLoad struct {
	queued bool // it ended with a backlog that the sessions explain
	slow   slowCounts
}

// slowCounts are how many requests took longer than shortestStallNs·2^i.
type slowCounts [24]uint64

// shortestStallNs keeps ordinary service times from explaining ordinary lag.
const shortestStallNs = 2_500_000

func slowOf(iv *Interval) (c slowCounts) {
	for i := range c {
		for j := range iv.Operations {
			o := &iv.Operations[j]
			for _, h := range [2]*measure.Histogram{o.Service, o.FailedResponse} {
				if countOf(h) > 0 && h.Max() > shortestStallNs<<i {
					c[i] += h.CountAbove(shortestStallNs << i)
				}
			}
		}
	}
	return c
}

// above is how many requests took longer than ns, ns rounded down to a known limit; 0 for an ns
// too short for a stall.
func (c *slowCounts) above(ns int64) (n uint64) {
	for i := range c {
		if ns < shortestStallNs<<i {
			break
		}
		n = c[i]
	}
	return n
}

// loopBusyLimit is the share of wall time above which an event loop is as good as full.
const loopBusyLimit = 0.95

func (h *healthTally) add(iv *Interval) {
	slow := slowOf(iv)
	explained := h.sessionsExplainLag(iv, &slow)
	h.before = intervalLoad{queued: explained && iv.Backlog > 0, slow: slow}
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
		if explained {
			h.saturatedNs += ns
		} else {
			h.idleBacklogNs += ns
		}
	}
	if !explained {
		for i := range iv.Operations {
			mergeInto(&h.ownLag, iv.Operations[i].Lag)
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

// sessionsExplainLag reports whether all sessions may have been busy while arrivals fell due, so
// that lag is the server's doing (or of too few sessions) and not the generator's. It is so when
//   - a session was down, or all were busy at the end with arrivals waiting;
//   - such a backlog was left by the interval before;
//   - the mean number of requests in flight (Little's law: the sum of service times over the
//     interval's length) is within three standard deviations, as of a Poisson variable, of what
//     the sessions can carry;
//   - at least half of the sessions saw a request of at least half of the lag's p99 in this
//     interval or the one before: a stall of the server.
func (h *healthTally) sessionsExplainLag(iv *Interval, slow *slowCounts) bool {
	if iv.Sessions < h.sessions || h.before.queued || (iv.Backlog > 0 && iv.Busy >= iv.Sessions) {
		return true
	}
	capacity := float64(max(iv.Sessions, 1) * h.pipeline)
	inFlight := inFlightNs(iv) / float64(max(iv.DurationNs(), 1))
	if inFlight+3*math.Sqrt(inFlight) >= capacity {
		return true
	}
	var half int64
	for i := range iv.Operations {
		if lag := iv.Operations[i].Lag; countOf(lag) > 0 {
			half = max(half, lag.Quantile(0.99)/2)
		}
	}
	stuck := slow.above(half) + h.before.slow.above(half)
	return float64(stuck) >= capacity/2 && stuck > 0
}

// summary returns the run's health. total is the sum of the intervals' health, all the sum of
// the operations, loadNs the time under load.
func (h *healthTally) summary(total measure.Health, all *measure.OperationInterval, loadNs int64) Health {
	s := Health{
		LagP99Ns: LatencyOf(all.Lag, false).P99Ns, OwnLagCount: countOf(h.ownLag), OwnLagP99Ns: tailOf(h.ownLag),
		LoopBusyMax: total.LoopBusy, ProcessCPUMean: total.ProcessCPU, ProcessCPUMax: h.cpuMax,
		CgroupThrottledNs: total.CgroupThrottledNs, GCPauseNsMax: total.GCPauseNsMax,
		GCCycles: total.GCCycles, SendStalls: total.SendStalls, RSSBytesMax: total.RSSBytes,
		PausedNs: total.PausedNs, LoopFullNs: h.loopBusyNs, SaturatedNs: h.saturatedNs,
		IdleBacklogNs: h.idleBacklogNs, BacklogMax: h.backlogMax,
	}
	if loadNs > 0 {
		s.InFlightMean = h.busyNs / float64(loadNs)
	}
	if h.durationNs > 0 {
		d := float64(h.durationNs)
		s.LoopBusyMean = h.loopNs / d
		s.RunQueueShare = float64(total.RunQueueNs) / d
		if all.Done > 0 {
			s.CPUNsPerOperation = total.ProcessCPU * d / float64(all.Done)
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
