package record

import (
	"fmt"
	"slices"
)

// Merge returns the run that the parts make together: segments of one plan and seed that ran at
// the same time, on one machine or several. Counts and distributions are as if one machine had
// done it all; rates are over the longest part. Every part's intervals are read.
func Merge(parts ...*Recorded) (*Run, error) {
	if len(parts) == 0 {
		return nil, fmt.Errorf("nothing to merge; name at least one run's folder")
	}
	first := parts[0].Run
	run := *first
	run.Command, run.Thresholds, run.Warnings, run.Failures = nil, nil, nil, nil
	run.Sessions, run.Targets, run.Watched = 0, nil, nil
	for _, p := range parts {
		if err := mergeable(first, p.Run); err != nil {
			return nil, fmt.Errorf("%s and %s can't be merged: %w", parts[0].Dir, p.Dir, err)
		}
		mergeIdentity(&run, p.Run)
	}
	sum := NewTally(&run)
	for _, p := range parts {
		t, err := p.Tally()
		if err != nil {
			return nil, err
		}
		sum.merge(t, targetMap(&run, p.Run))
	}
	sum.Fill(&run)
	sortFailures(run.Failures)
	return &run, nil
}

func mergeable(a, b *Run) error {
	if a.Seed != b.Seed {
		return fmt.Errorf("their seeds are %d and %d", a.Seed, b.Seed)
	}
	if a.LoadModel != b.LoadModel {
		return fmt.Errorf("one load was %s, the other %s", a.LoadModel, b.LoadModel)
	}
	names := func(r *Run) (out []string) {
		for i := range r.Operations {
			out = append(out, r.Operations[i].Name)
		}
		return out
	}
	if x, y := names(a), names(b); !slices.Equal(x, y) {
		return fmt.Errorf("their operations are %q and %q", x, y)
	}
	return nil
}

// mergeIdentity adds what a part says of itself to run.
func mergeIdentity(run, part *Run) {
	if part.Started.Before(run.Started) {
		run.Started = part.Started
	}
	if part.Ended.After(run.Ended) {
		run.Ended = part.Ended
	}
	run.Complete = run.Complete && part.Complete
	run.Interrupted = run.Interrupted || part.Interrupted
	if run.Aborted == "" {
		run.Aborted = part.Aborted
	}
	run.Sessions += part.Sessions
	run.Watched = append(run.Watched, part.Watched...)
	for _, t := range part.Targets {
		if !slices.ContainsFunc(run.Targets, func(have Target) bool { return have.Address == t.Address }) {
			run.Targets = append(run.Targets, t)
		}
	}
	for _, f := range part.Failures {
		i := slices.IndexFunc(run.Failures, func(have FailureCount) bool { return have.Class == f.Class && have.Code == f.Code })
		if i < 0 {
			run.Failures = append(run.Failures, f)
		} else {
			run.Failures[i].Count += f.Count
		}
	}
	for _, w := range part.Warnings {
		if !slices.Contains(run.Warnings, w) {
			run.Warnings = append(run.Warnings, w)
		}
	}
}

// targetMap says where in run's targets each of part's is.
func targetMap(run, part *Run) []int {
	m := make([]int, len(part.Targets))
	for i, t := range part.Targets {
		m[i] = slices.IndexFunc(run.Targets, func(have Target) bool { return have.Address == t.Address })
	}
	return m
}

// merge adds o, which ran at the same time; targets says which of t's targets each of o's is.
func (t *Tally) merge(o *Tally, targets []int) {
	for i := range o.total.Operations {
		addOperation(&t.total.Operations[i], &o.total.Operations[i])
	}
	for i := range o.total.Addresses {
		to, from := &t.total.Addresses[targets[i]], &o.total.Addresses[i]
		to.Counts.Add(&from.Counts)
		mergeInto(&to.Service, from.Service)
		to.Reconnects += from.Reconnects
	}
	t.total.Offered += o.total.Offered
	mergeInto(&t.total.OwnLag, o.total.OwnLag)
	addHealth(&t.total.Health, t.health.durationNs, &o.total.Health, o.health.durationNs)
	t.durations.loadNs = max(t.durations.loadNs, o.durations.loadNs)
	t.durations.openNs = max(t.durations.openNs, o.durations.openNs)
	t.lastNs = max(t.lastNs, o.lastNs)
	t.lastUnix = max(t.lastUnix, o.lastUnix)
	t.intervals = max(t.intervals, o.intervals)
	t.health.merge(&o.health)
	t.still.merge(&o.still)
	for i := range o.phases {
		t.mergePhase(&o.phases[i])
	}
}

func (t *Tally) mergePhase(o *phaseTally) {
	if !o.seen {
		return
	}
	p := t.phase(o.phase.Name, o.phase.WarmUp)
	if !p.seen {
		p.seen, p.phase.StartNs, p.phase.DurationNs = true, o.phase.StartNs, 0
	}
	p.phase.StartNs = min(p.phase.StartNs, o.phase.StartNs)
	p.phase.DurationNs = max(p.phase.DurationNs, o.phase.DurationNs)
	p.phase.Offered += o.phase.Offered
	p.phase.Done += o.phase.Done
	p.phase.Errors += o.phase.Errors
	mergeInto(&p.response, o.response)
}

func (h *healthTally) merge(o *healthTally) {
	h.loopNs += o.loopNs
	h.loopBusyNs = max(h.loopBusyNs, o.loopBusyNs)
	h.durationNs += o.durationNs
	h.cpuMax = max(h.cpuMax, o.cpuMax)
	h.busyNs += o.busyNs
	h.saturatedNs = max(h.saturatedNs, o.saturatedNs)
	h.idleBacklogNs = max(h.idleBacklogNs, o.idleBacklogNs)
	h.backlogMax = max(h.backlogMax, o.backlogMax)
}
