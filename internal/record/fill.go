package record

import (
	"math"
	"slices"

	"brunt/internal/measure"
)

// Fill copies the figures of t into run: DurationNs, those of Operations and Targets, Total, Phases, Health, Standstill
// and Events. Names, versions and limits in run are kept.
func Fill(run *Run, t *measure.Tally) {
	hdr := &measure.HDREncoder{}
	fillWindow(run, t.Total(), hdr)
	if run.Sessions == 0 { // a k6 script doesn't declare how many it needs
		run.Sessions, run.SessionsAsNeeded = int(math.Ceil(run.Health.SessionsMean)), true
	}
	run.Events = nil
	openNs := int64(0)
	for i := range t.Phases() {
		p := &t.Phases()[i]
		k := slices.IndexFunc(run.Phases, func(have Phase) bool { return have.Name == p.Name })
		if k < 0 {
			k = len(run.Phases)
			run.Phases = append(run.Phases, Phase{Name: p.Name, Kind: p.Kind, WarmUp: p.WarmUp})
		}
		run.Phases[k].fill(&p.Account, hdr)
		if !p.WarmUp {
			openNs += run.Phases[k].offeredNs(p.OpenNs)
		}
		run.Events = append(run.Events, p.Events...)
	}
	run.Total.OfferedPerS = PerSecond(run.Total.Offered, openNs)
}

// offeredNs returns for how long arrivals were scheduled. An interval that was cut late extends beyond the schedule.
func (p *Phase) offeredNs(openNs int64) int64 {
	if p.ScheduleNs > 0 {
		return min(openNs, p.ScheduleNs)
	}
	return openNs
}

// fillWindow copies the figures of the whole load into run.
func fillWindow(run *Run, a *measure.Account, hdr *measure.HDREncoder) {
	run.DurationNs = a.LoadNs
	run.Operations = slices.Clone(run.Operations)
	for i := range run.Operations {
		o := measure.OperationAccount{}
		if i < len(a.Operations) {
			o = a.Operations[i]
		}
		run.Operations[i].fill(&o, a.LoadNs, hdr)
		run.Operations[i].Standstill = Standstill{}
		if s := standstillOf(o.StandstillLengths, a.LoadNs, o.OK()); s.Count > 0 {
			run.Operations[i].Standstill = s
		}
	}
	all := a.All()
	all.Script = measure.ByScript{} // operations count different things
	run.Total.Name = allOperations
	run.Total.fill(&all, a.LoadNs, hdr)
	run.Total.Offered, run.Total.Overdue = a.Offered, a.Overdue
	run.Targets = slices.Clone(run.Targets)
	for i := range run.Targets {
		from := &measure.AddressAccount{}
		if i < len(a.Addresses) {
			from = &a.Addresses[i]
		}
		run.Targets[i].Counts = CountsOf(&from.Counts)
		run.Targets[i].Counts.Script = measure.ByScript{}
		run.Targets[i].Service = LatencyOf(from.Service, hdr)
		run.Targets[i].Reconnects = from.Reconnects
	}
	ceiling := run.Health.CeilingPerS
	run.Health = healthOf(a, &all)
	run.Health.CeilingPerS = ceiling
	run.Standstill = standstillOf(a.StandstillLengths, a.LoadNs, all.OK())
}

func (p *Phase) fill(a *measure.Account, hdr *measure.HDREncoder) {
	all := a.All()
	p.StartNs, p.DurationNs, p.OwnNs = a.StartNs, a.DurationNs(), 0
	if a.LengthNs < p.DurationNs {
		p.OwnNs = a.LengthNs
	}
	p.Offered, p.Overdue = a.Offered, a.Overdue
	p.Done, p.Errors, p.Unsent, p.Unfinished = all.Done, all.Failed(), all.Dropped(), all.Unfinished
	p.Aborted = all.Aborted
	p.Response = AnswersOf(all.Answers(), hdr)
}

func (o *Operation) fill(p *measure.OperationAccount, loadNs int64, hdr *measure.HDREncoder) {
	o.Counts = CountsOf(&p.Counts)
	o.RatePerS = PerSecond(o.OK, loadNs)
	o.Response, o.ResponseOK = AnswersOf(p.Answers(), hdr), LatencyOf(p.Response, nil)
	o.WithoutGenerator = AnswersOf(measure.Answers{Times: p.WithoutGenerator, NoAnswer: p.NoAnswer()}, nil)
	o.Service = LatencyOf(p.Service, hdr)
	o.Lag, o.FailedResponse = LatencyOf(p.Lag, hdr), LatencyOf(p.FailedResponse, hdr)
	o.StreamFirst, o.StreamBetween = LatencyOf(p.StreamFirst, hdr), LatencyOf(p.StreamBetween, hdr)
	o.StreamLag = LatencyOf(p.StreamLag, hdr)
}

// FillSoFar copies the figures of an operation so far into o. Unlike Fill it leaves out whole distributions, which cost
// more.
func (o *Operation) FillSoFar(p *measure.OperationAccount, loadNs int64) {
	o.Counts = CountsOf(&p.Counts)
	o.RatePerS = PerSecond(o.OK, loadNs)
	o.Response, o.ResponseOK = AnswersOf(p.Answers(), nil), LatencyOf(p.Response, nil)
	o.Service = LatencyOf(p.Service, nil)
	o.StreamFirst, o.StreamBetween = LatencyOf(p.StreamFirst, nil), LatencyOf(p.StreamBetween, nil)
	o.StreamLag = LatencyOf(p.StreamLag, nil)
}

// healthOf summarises the generator's state.
func healthOf(a *measure.Account, all *measure.OperationAccount) Health {
	h, p := &a.Health, &a.Pace
	s := Health{
		LagP99Ns: int64(LatencyOf(all.Lag, nil).P99Ns), OwnLagCount: a.OwnLag.Count(), OwnLagP99Ns: tailOf(a.OwnLag),
		LoopBusyMax: h.LoopBusyMax, LoopBusyMean: h.LoopBusy, LoopFullNs: h.LoopFullNs,
		ProcessCPUMean: h.ProcessCPU, ProcessCPUMax: h.ProcessCPUMax,
		CgroupThrottledNs: h.CgroupThrottledNs, GCPauseNsMax: h.GCPauseNsMax, GCCycles: h.GCCycles,
		SendStalls: h.SendStalls, RSSBytesMax: h.RSSBytes, PausedNs: h.PausedNs, HeldNs: h.HeldNs, WakeWaitNs: h.WakeWaitNs,
		GCCPUNs:     h.GCCPUNs,
		SaturatedNs: p.SaturatedNs, IdleBacklogNs: p.IdleBacklogNs, BacklogMax: p.BacklogMax,
		WaitingOwnShare: share(p.WaitingOwnNs, p.WaitingOwnNs+p.WaitingServiceNs),
		InFlightMean:    share(p.InFlightNs, float64(a.LoadNs)),
		SessionsMean:    share(p.SessionsNs, float64(a.LoadNs)),
		RunQueueNs:      h.RunQueueNs, LoopRunQueueNs: h.LoopRunQueueNs, StealNs: h.StealNs,
		VoluntarySwitches: h.VoluntarySwitches, InvoluntarySwitches: h.InvoluntarySwitches,
		OthersCPUMean: share(float64(h.OthersNs), float64(h.ObservedNs)),
		RunQueueShare: share(float64(h.RunQueueNs), float64(h.ObservedNs)),
	}
	if a.OwnLag.Count() > 0 {
		s.OwnLagMeanNs = a.OwnLag.Mean()
	}
	if turnaround := a.Turnaround.Sum(); turnaround > 0 {
		s.TurnaroundMeanNs = a.Turnaround.Mean()
		s.TurnaroundShare = share(turnaround, turnaround+p.InFlightNs)
	}
	if all.Done > 0 {
		s.CPUNsPerOperation = h.ProcessCPU * float64(h.ObservedNs) / float64(all.Done)
	}
	return s
}

// tailOf returns the 99th percentile, or the third largest value if there are fewer than 300, so that a single outlier
// doesn't dominate a short run. It returns 0 for fewer than three values.
func tailOf(h *measure.Histogram) int64 {
	n := h.Count()
	if n < 3 {
		return 0
	}
	return h.Quantile(min(0.99, float64(n-2)/float64(n)))
}

// PerSecond returns n per second of a time in ns; 0 if the time isn't positive.
func PerSecond[N uint64 | float64](n N, ns int64) float64 { return share(float64(n), float64(ns)/1e9) }

func share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}

// Standstill sums up the times in which no operation succeeded although some should have; see measure.Standstill.
// Warm-up is excluded.
type Standstill struct {
	TotalNs   int64  `json:"total_ns"`
	Count     uint64 `json:"count"`
	LongestNs int64  `json:"longest_ns"`
	LeastNs   int64  `json:"least_ns"` // the shortest that is counted
}

// standstillOf counts the standstills of a load, or of one of its operations, by their lengths. Only those are counted
// that are long compared with the mean time between successes (ok of them) outside standstills.
func standstillOf(lengths *measure.Histogram, loadNs int64, ok uint64) Standstill {
	var s Standstill
	for {
		s.LeastNs = measure.LeastStandstillNs(loadNs, s.TotalNs, ok)
		if lengths == nil {
			return s
		}
		before := s.Count
		s.Count = 0
		total := 0.0
		lengths.Each(func(lo, hi int64, n uint64) bool {
			if hi >= s.LeastNs {
				s.Count += n
				total += float64(n) * (float64(lo) + float64(hi)) / 2
			}
			return true
		})
		if s.Count > 0 {
			s.LongestNs = lengths.Max()
		}
		if s.Count == lengths.Count() {
			total = lengths.Sum()
		}
		s.TotalNs = int64(min(math.Round(total), float64(maxNs)))
		if s.Count == before {
			return s
		}
	}
}
