package record

import (
	"fmt"
	"slices"

	"brunt/internal/measure"
)

// Merge returns the run that the parts make together, and its sums: segments of one plan and seed that
// ran at the same time, on one machine or several. Counts and distributions are as if one machine had
// done it all; rates are over the longest part. Every part's intervals are read. Thresholds are not
// judged anew: see package verdict. Parts that overlap, repeat each other or leave a gap are refused.
func Merge(parts ...*Recorded) (*Run, *measure.Tally, error) {
	if len(parts) == 0 {
		return nil, nil, fmt.Errorf("nothing to merge; name at least one run's folder")
	}
	first := parts[0].Run
	run := *first
	run.Command, run.Warnings, run.Failures = nil, nil, nil
	run.Sessions, run.Targets, run.Watched, run.Phases = 0, nil, nil, slices.Clone(first.Phases)
	run.Stride, run.Offset = 0, 0
	for i := range run.Phases {
		run.Phases[i].Sessions = 0
	}
	for _, p := range parts {
		if err := mergeable(first, p.Run); err != nil {
			return nil, nil, fmt.Errorf("%s and %s can't be merged: %w", parts[0].Dir, p.Dir, err)
		}
		mergeIdentity(&run, p.Run)
	}
	if err := wholeOf(parts); err != nil {
		return nil, nil, err
	}
	sum := &measure.Tally{}
	for _, p := range parts {
		t, err := p.Tally()
		if err != nil {
			return nil, nil, err
		}
		sum.Beside(t, targetMap(&run, p.Run))
	}
	Fill(&run, sum)
	sortFailures(run.Failures)
	return &run, sum, nil
}

func mergeable(a, b *Run) error {
	if a.Seed != b.Seed {
		return fmt.Errorf("their seeds are %d and %d", a.Seed, b.Seed)
	}
	if a.PlanHash != b.PlanHash {
		return fmt.Errorf("their plans differ")
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

// wholeOf refuses parts that aren't each of the segments of one load, once. What version 1 wrote
// doesn't say which segment it is; of that only the same run twice is refused.
func wholeOf(parts []*Recorded) error {
	first := parts[0]
	segments, dirs := max(first.Run.Stride, 1), map[uint64]string{}
	for i, p := range parts {
		for _, q := range parts[:i] {
			if q.Run.ID == p.Run.ID {
				return fmt.Errorf("%s and %s are the same run; name each part once", q.Dir, p.Dir)
			}
		}
	}
	for _, p := range parts {
		if p.Run.Schema < 2 {
			return nil
		}
		if n := max(p.Run.Stride, 1); n != segments {
			return fmt.Errorf("%s is one of %d parts, %s one of %d; merge the parts of one load", first.Dir, segments, p.Dir, n)
		}
		if other, taken := dirs[p.Run.Offset]; taken {
			return fmt.Errorf("%s and %s are both part %d of %d: their operations overlap; merge different parts of one load", other, p.Dir, p.Run.Offset+1, segments)
		}
		dirs[p.Run.Offset] = p.Dir
	}
	for k := range segments {
		if _, there := dirs[k]; !there {
			return fmt.Errorf("part %d of %d is missing; name the folders of all parts", k+1, segments)
		}
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
	for i := range run.Phases {
		if i < len(part.Phases) {
			run.Phases[i].Sessions += part.Phases[i].Sessions
		}
	}
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
