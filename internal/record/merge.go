package record

import (
	"fmt"
	"math"
	"slices"
	"strings"

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
	if x, y := a.OperationNames(), b.OperationNames(); a.Cut == "" && !slices.Equal(x, y) { // scripts name operations as they come
		return fmt.Errorf("their operations are %q and %q", x, y)
	}
	return nil
}

// OperationNames are the names of the run's operations, in their order.
func (r *Run) OperationNames() (out []string) {
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
		to := run.Iterations
		to.Done, to.Dropped, to.Threw = to.Done+n.Done, to.Dropped+n.Dropped, to.Threw+n.Threw
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
	if slices.Equal(run.OperationNames(), part.OperationNames()) {
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

// OtherOperations is the name of what a script did beyond the most operations that are told apart.
const OtherOperations = "other"

// Iterations are those of a script of k6.
type Iterations struct {
	Done    uint64 `json:"done"`
	Dropped uint64 `json:"dropped"` // because all VUs were busy
	Threw   uint64 `json:"threw"`   // of Done, those that ended with an exception
}

// Aggregate is how a threshold of k6 comes to its value.
type Aggregate struct {
	How    string  `json:"how"`    // k6's word for it: "count", "rate", "avg", "p(95)" …
	Holds  string  `json:"holds"`  // if Value is so to Limit: "<", "<=", ">", ">=", "==", "===" or "!="
	Values float64 `json:"values"` // how many it is of; a counter's sum
}

func (a *Aggregate) holds(value, limit float64) bool {
	switch a.Holds {
	case "<":
		return value < limit
	case "<=":
		return value <= limit
	case ">":
		return value > limit
	case ">=":
		return value >= limit
	case "!=":
		return value != limit
	}
	return value == limit
}

// mergeScripts merges what parts say of a script of k6: its figures, and its thresholds, which k6 has judged of
// each. It says what their records can't tell of the whole.
func mergeScripts(run *Run, parts []*Recorded) {
	whole := Watched{Source: WatchedScript}
	for _, p := range parts {
		for i := range p.Run.Watched {
			if w := &p.Run.Watched[i]; w.Source == WatchedScript {
				whole.merge(w)
			}
		}
	}
	if len(whole.Metrics) > 0 {
		run.Watched = append(run.Watched, whole)
	}
	run.Thresholds = slices.Clone(run.Thresholds)
	var split, bounds []string
	for i := range run.Thresholds {
		t := &run.Thresholds[i]
		if t.Aggregate == nil {
			continue
		}
		var of []Threshold
		for _, p := range parts {
			for _, o := range p.Run.Thresholds {
				if o.Text == t.Text && o.Aggregate != nil && o.Aggregate.Values != 0 {
					of = append(of, o)
				}
			}
		}
		switch exact := t.merge(of, run.DurationNs); {
		case exact:
		case t.Pass == of[0].Pass && !slices.ContainsFunc(of, func(o Threshold) bool { return o.Pass != t.Pass }):
			bounds = append(bounds, t.Text)
		default:
			split = append(split, t.Text)
		}
	}
	if len(bounds) > 0 {
		run.Warnings = append(run.Warnings, Warning{ID: "merge-worst", Text: fmt.Sprintf("all parts agree on the thresholds %s, whose values are those of the worst part: the parts' records don't hold all values of these metrics", strings.Join(bounds, ", "))})
	}
	if len(split) > 0 {
		run.Warnings = append(run.Warnings, Warning{ID: "merge-split", Text: fmt.Sprintf("the thresholds %s hold in some parts and not in others, and count as broken: the parts' records don't hold all values of these metrics", strings.Join(split, ", "))})
	}
	if other := func(p *Recorded) bool { return p.Run.operation(OtherOperations) >= 0 }; run.Iterations != nil && slices.ContainsFunc(parts, other) {
		run.Warnings = append(run.Warnings, Warning{ID: "merge-other", Text: "parts counted operations beyond the most that they tell apart together, each part others: what some operations did is among these"})
	}
}

// Over gives a rule about a counter's rate, which k6 tells nobody once it has judged, its value over a load of that
// length.
func (t *Threshold) Over(durationNs int64) {
	if a := t.Aggregate; a != nil && a.How == "rate" && t.Unit == "per_s" {
		t.Value = Figure(share(a.Values, float64(durationNs)/1e9))
	}
}

// merge makes t what it is over all parts, of which of are those that had values. It reports whether t's value is
// the whole's, and not the worst of the parts'.
func (t *Threshold) merge(of []Threshold, durationNs int64) bool {
	if len(of) == 0 {
		return true
	}
	n, sum, added, held, least, most := 0.0, 0.0, 0.0, 0.0, math.Inf(1), math.Inf(-1)
	pass, aborted := true, false
	for _, o := range of {
		v := float64(o.Value)
		n, sum, added, held = n+o.Aggregate.Values, sum+v*o.Aggregate.Values, added+v, held+math.Round(v*o.Aggregate.Values)
		least, most = min(least, v), max(most, v)
		pass, aborted = pass && o.Pass, aborted || o.Aborted
	}
	exact, value := true, 0.0
	switch how := t.Aggregate.How; {
	case how == "count":
		value = added
	case how == "rate" && t.Unit == "per_s":
		value = share(n, float64(durationNs)/1e9)
	case how == "rate":
		value = held / n
	case how == "avg":
		value = sum / n
	case how == "min":
		value = least
	case how == "max":
		value = most
	case strings.HasPrefix(t.Aggregate.Holds, ">"):
		exact, value = false, least
	default:
		exact, value = false, most
	}
	a := *t.Aggregate
	a.Values = n
	t.Value, t.Aggregate, t.Aborted = Figure(value), &a, aborted
	t.Pass = !aborted && (exact && a.holds(value, t.Limit) || !exact && pass)
	return exact
}

// merge adds the figures of another part: counters add up, means are weighted.
func (w *Watched) merge(part *Watched) {
	w.Samples, w.Missed = w.Samples+part.Samples, w.Missed+part.Missed
	for _, m := range part.Metrics {
		i := slices.IndexFunc(w.Metrics, func(have WatchedMetric) bool { return have.Name == m.Name })
		if i < 0 {
			w.Metrics = append(w.Metrics, m)
			continue
		}
		to := &w.Metrics[i]
		if m.Kind == "counter" {
			to.First, to.Last, to.Min, to.Mean, to.Max = to.First+m.First, to.Last+m.Last, to.Min+m.Min, to.Mean+m.Mean, to.Max+m.Max
			continue
		}
		was, more := float64(to.Values), float64(m.Values)
		mean := func(a, b float64) float64 { return share(a*was+b*more, was+more) }
		to.First, to.Last, to.Mean = mean(to.First, m.First), mean(to.Last, m.Last), mean(to.Mean, m.Mean)
		to.Min, to.Max, to.Values = min(to.Min, m.Min), max(to.Max, m.Max), to.Values+m.Values
	}
}
