package record

import (
	"brunt/internal/measure"
)

// Interval is one slice of the run as the record has it, or several merged. Its histograms may
// be nil where nothing happened. Operations are indexed as Run.Operations, Addresses as
// Run.Targets.
type Interval struct {
	measure.Interval
	Slices int // how many slices were merged into it; ≥ 1
}

// DurationNs is the interval's length.
func (iv *Interval) DurationNs() int64 { return iv.EndNs - iv.StartNs }

// Totals is the sum of the counts of all operations.
func (iv *Interval) Totals() (c measure.Counts) {
	for i := range iv.Operations {
		c.Add(&iv.Operations[i].Counts)
	}
	return c
}

// Response merges the response times of all operations.
func (iv *Interval) Response() *measure.Histogram {
	h := measure.NewHistogram()
	for i := range iv.Operations {
		mergeInto(&h, iv.Operations[i].Response)
	}
	return h
}

// add merges o, a later interval, into iv, which must own its histograms. Counts and
// distributions add up, gauges are o's, times and means of health cover both.
func (iv *Interval) add(o *Interval) {
	if iv.Slices == 0 {
		iv.Index, iv.StartNs, iv.EndNs, iv.UnixNs = o.Index, o.StartNs, o.StartNs, o.UnixNs
		iv.Phase, iv.WarmUp = o.Phase, o.WarmUp
	}
	addHealth(&iv.Health, iv.DurationNs(), &o.Health, o.DurationNs())
	iv.Slices += o.Slices
	iv.EndNs = o.EndNs
	iv.Sessions, iv.Busy, iv.Backlog = o.Sessions, o.Busy, o.Backlog
	iv.Offered += o.Offered
	mergeInto(&iv.OwnLag, o.OwnLag)
	if room := mostStandstills - len(iv.Standstills); room > 0 {
		iv.Standstills = append(iv.Standstills, o.Standstills[:min(room, len(o.Standstills))]...)
	}
	for len(iv.Operations) < len(o.Operations) {
		iv.Operations = append(iv.Operations, measure.OperationInterval{})
	}
	for i := range o.Operations {
		addOperation(&iv.Operations[i], &o.Operations[i])
	}
	for len(iv.Addresses) < len(o.Addresses) {
		iv.Addresses = append(iv.Addresses, measure.AddressInterval{})
	}
	for i := range o.Addresses {
		to, from := &iv.Addresses[i], &o.Addresses[i]
		to.Counts.Add(&from.Counts)
		mergeInto(&to.Service, from.Service)
		to.Up = from.Up
		to.Reconnects += from.Reconnects
	}
}

func addOperation(to, from *measure.OperationInterval) {
	to.Counts.Add(&from.Counts)
	mergeInto(&to.Response, from.Response)
	mergeInto(&to.Service, from.Service)
	mergeInto(&to.Lag, from.Lag)
	mergeInto(&to.FailedResponse, from.FailedResponse)
}

// addHealth adds the health of an interval of oNs to that of one of ns.
func addHealth(h *measure.Health, ns int64, o *measure.Health, oNs int64) {
	if total := float64(ns + oNs); total > 0 {
		h.ProcessCPU = (h.ProcessCPU*float64(ns) + o.ProcessCPU*float64(oNs)) / total
	}
	h.LoopBusy = max(h.LoopBusy, o.LoopBusy)
	h.CgroupThrottledNs += o.CgroupThrottledNs
	h.RunQueueNs += o.RunQueueNs
	h.LoopRunQueueNs += o.LoopRunQueueNs
	h.StealNs += o.StealNs
	h.OthersNs += o.OthersNs
	h.VoluntarySwitches += o.VoluntarySwitches
	h.InvoluntarySwitches += o.InvoluntarySwitches
	h.GCPauseNsMax = max(h.GCPauseNsMax, o.GCPauseNsMax)
	h.GCCycles += o.GCCycles
	h.SendStalls += o.SendStalls
	h.RSSBytes = max(h.RSSBytes, o.RSSBytes)
	h.PausedNs += o.PausedNs
}
