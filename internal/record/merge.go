package record

import (
	"fmt"
	"slices"

	"brunt/internal/measure"
)

// Merge returns the run that the parts make together, and its sums: segments of one plan and seed that
// ran at the same time, on one machine or several. Counts and distributions are as if one machine had
// done it all; rates are over the longest part. Every part's intervals are read. Thresholds are not
// judged anew, but those of scripts of k6: see package verdict. Parts that overlap, repeat each other or leave a gap are refused.
func Merge(parts ...*Recorded) (*Run, *measure.Tally, error) {
	if len(parts) == 0 {
		return nil, nil, fmt.Errorf("nothing to merge; name at least one run's folder")
	}
	first := parts[0].Run
	run := *first
	run.Command, run.Warnings, run.Failures = nil, nil, nil
	run.Sessions, run.Targets, run.Watched, run.Phases = 0, nil, nil, slices.Clone(first.Phases)
	run.Stride, run.Offset, run.Cut, run.Iterations = 0, 0, "", nil
	run.Operations = slices.Clone(first.Operations)
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
		sum.Beside(t, operationMap(&run, p.Run), targetMap(&run, p.Run))
	}
	Fill(&run, sum)
	mergeScripts(&run, parts)
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
	texts := func(x, y Threshold) bool { return x.Text == y.Text }
	if a.Cut != "" && !slices.EqualFunc(a.Thresholds, b.Thresholds, texts) {
		return fmt.Errorf("the script's thresholds were judged in one and not in the other: it was killed, or ran with --no-thresholds")
	}
	if a.LoadModel != b.LoadModel {
		return fmt.Errorf("one load was %s, the other %s", a.LoadModel, b.LoadModel)
	}
	if x, y := names(a), names(b); a.Cut == "" && !slices.Equal(x, y) { // scripts name operations as they come
		return fmt.Errorf("their operations are %q and %q", x, y)
	}
	return nil
}

func names(r *Run) (out []string) {
	for i := range r.Operations {
		out = append(out, r.Operations[i].Name)
	}
	return out
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
		if p.Run.Cut != first.Run.Cut {
			return fmt.Errorf("%s is of a load cut at %s, %s of one cut at %s; give all parts the same --execution-segment-sequence", first.Dir, first.Run.Cut, p.Dir, p.Run.Cut)
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
	for i := range part.Operations {
		if run.operation(part.Operations[i].Name) < 0 {
			run.Operations = append(run.Operations, Operation{Name: part.Operations[i].Name})
		}
	}
	if n := part.Iterations; n != nil {
		if run.Iterations == nil {
			run.Iterations = &Iterations{}
		}
		run.Iterations.add(n)
	}
	for _, w := range part.Watched {
		if w.Source != WatchedScript { // see mergeScripts
			run.Watched = append(run.Watched, w)
		}
	}
	for _, t := range part.Targets {
		if run.target(&t) < 0 {
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
		m[i] = run.target(&t)
	}
	return m
}

func (r *Run) target(t *Target) int {
	return slices.IndexFunc(r.Targets, func(have Target) bool { return have.Address == t.Address && have.Protocol == t.Protocol })
}

// operationMap says where in run's operations each of part's is; nil if they are the same.
func operationMap(run, part *Run) []int {
	if slices.Equal(names(run), names(part)) {
		return nil
	}
	m := make([]int, len(part.Operations))
	for i := range part.Operations {
		m[i] = run.operation(part.Operations[i].Name)
	}
	return m
}

func (r *Run) operation(name string) int {
	return slices.IndexFunc(r.Operations, func(have Operation) bool { return have.Name == name })
}
