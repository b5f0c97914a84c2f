package record

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"brunt/internal/measure"
)

// Merge combines parts of a load into one run, and returns it with its sums. The parts must be the segments of one plan
// and seed that ran at the same time, on one machine or several. Counts and distributions are as if one machine had
// generated the whole load; rates refer to the duration of the longest part. Merge reads all intervals and adds a
// warning if any are missing. It doesn't judge thresholds (package verdict does) and doesn't add hints (Join does). It
// fails if parts overlap, are repeated or leave a gap.
func Merge(parts ...*Recorded) (*Run, *measure.Tally, error) {
	if len(parts) == 0 {
		return nil, nil, fmt.Errorf("nothing to merge; name at least one run's folder")
	}
	for _, p := range parts {
		if err := mergeable(parts[0].Run, p.Run); err != nil {
			return nil, nil, fmt.Errorf("%s and %s can't be merged: %w", parts[0].Dir, p.Dir, err)
		}
	}
	if err := wholeOf(parts); err != nil {
		return nil, nil, err
	}
	run := &Run{}
	for i, p := range parts {
		mergeFields(reflect.ValueOf(run).Elem(), reflect.ValueOf(relocated(p.Run, partFolder(i))).Elem(), i == 0)
	}
	sum := &measure.Tally{}
	for _, p := range parts {
		t, err := p.Tally()
		if err != nil {
			return nil, nil, err
		}
		sum.AddParallel(t, operationMap(run, p.Run), targetMap(run, p.Run))
		run.Warnings = append(run.Warnings, p.Damage()...)
	}
	Fill(run, sum)
	run.Thresholds = slices.Clone(parts[0].Run.Thresholds)
	for _, merge := range []func(*Run, []*Recorded){mergeCeiling, mergeWatched, mergeParts, mergeFailover, mergeFaults,
		mergeFailures} {
		merge(run, parts)
	}
	return run, sum, nil
}

// DropDistributions removes the histograms and confidence intervals of all figures, which are most of a run.json. Merge
// and Join compute those of the whole from intervals, so that parts needn't keep theirs.
func (r *Run) DropDistributions() {
	r.Total.dropDistributions()
	for i := range r.Operations {
		r.Operations[i].dropDistributions()
	}
	for i := range r.Targets {
		r.Targets[i].Service.HDR, r.Targets[i].Service.Within = "", nil
	}
	for i := range r.Phases {
		r.Phases[i].Response.HDR, r.Phases[i].Response.Within = "", nil
	}
}

func (o *Operation) dropDistributions() {
	times := o.Times()
	for _, l := range append(times[:], &o.ResponseOK) {
		l.HDR, l.Within = "", nil
	}
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
		return fmt.Errorf(
			"the script's thresholds were judged in one and not in the other: it was killed, or ran with --no-thresholds")
	}
	if a.LoadModel != b.LoadModel {
		return fmt.Errorf("one load was %s, the other %s", a.LoadModel, b.LoadModel)
	}
	// scripts add operations as they are first used, so the lists may differ
	if x, y := a.OperationNames(), b.OperationNames(); a.Cut == "" && !slices.Equal(x, y) {
		return fmt.Errorf("their operations are %q and %q", x, y)
	}
	return nil
}

// OperationNames returns the names of the run's operations in their order.
func (r *Run) OperationNames() (out []string) {
	for i := range r.Operations {
		out = append(out, r.Operations[i].Name)
	}
	return out
}

// wholeOf fails unless each segment of one load occurs exactly once in parts. Records of version 1 don't name their
// segment; for these it fails only if the same run occurs twice.
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
			return fmt.Errorf(
				"%s is of a load cut at %s, %s of one cut at %s; give all parts the same --execution-segment-sequence", first.Dir,
				first.Run.Cut, p.Dir, p.Run.Cut)
		}
		if other, taken := dirs[p.Run.Offset]; taken {
			return fmt.Errorf("%s and %s are both part %d of %d: their operations overlap; merge different parts of one load",
				other, p.Dir, p.Run.Offset+1, segments)
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

// mergeCeiling sums up the maximum rates of the machines; 0, unknown, if that of any part is unknown.
func mergeCeiling(run *Run, parts []*Recorded) {
	run.Health.CeilingPerS = 0
	for _, p := range parts {
		if p.Run.Health.CeilingPerS == 0 {
			run.Health.CeilingPerS = 0
			return
		}
		run.Health.CeilingPerS += p.Run.Health.CeilingPerS
	}
}

// mergeWatched keeps what each part observed, and combines the metrics of k6 scripts.
func mergeWatched(run *Run, parts []*Recorded) {
	script := Watched{Source: WatchedScript}
	for i, p := range parts {
		for _, w := range relocated(p.Run, partFolder(i)).Watched {
			if w.Source == WatchedScript {
				script.merge(&w)
			} else {
				w.Source = partSource(partFolder(i), w.Source)
				run.Watched = append(run.Watched, w)
			}
		}
	}
	if len(script.Metrics) > 0 {
		run.Watched = append(run.Watched, script)
	}
}

// mergeParts adds a Part for each part.
func mergeParts(run *Run, parts []*Recorded) {
	for _, p := range parts {
		r := p.Run
		run.Parts = append(run.Parts, Part{
			ID: r.ID, Offset: r.Offset, Brunt: r.Brunt, Command: r.Command, Started: r.Started, Ended: r.Ended,
			Sessions: r.Sessions, Done: r.Total.Done, Environment: r.Environment, Awake: r.Awake, Worker: r.Worker,
			DurationNs: r.DurationNs, Missing: uint64(max(p.arrivals, 0)),
		})
		if r.Worker != nil {
			run.Parts[len(run.Parts)-1].asWorker(r)
		}
		if r.Worker != nil && r.Worker.LostNs == 0 && r.Total.Arrivals() > 0 && r.Verdict.Result == invalidResult {
			run.Parts[len(run.Parts)-1].Invalid = r.Verdict.Reasons
		}
	}
}

// asWorker adds figures of the worker's record r to its part.
func (p *Part) asWorker(r *Run) {
	times := &r.Total.Response
	if times.Count+times.NoAnswer == 0 {
		times = &r.Total.Service
	}
	p.ResponseP99Ns, p.Verdict = times.P99Ns, r.Verdict.Result
	p.DonePerS = PerSecond(r.Total.Done, r.DurationNs)
}

// invalidResult is the verdict on figures that the generator itself distorted; see package verdict.
const invalidResult = "invalid"

// partFolder names the subfolder of a merged bundle's observe folder that holds the files of part i.
func partFolder(i int) string { return "part-" + strconv.Itoa(i+1) }

// relocated returns a copy of run whose file names are those in a merged bundle.
func relocated(run *Run, folder string) *Run {
	moved := *run
	move := func(file *string) {
		if name, ok := strings.CutPrefix(*file, WatchedFolder+"/"); ok {
			*file = path.Join(WatchedFolder, folder, name)
		}
	}
	moved.Watched, moved.Inspections = slices.Clone(run.Watched), slices.Clone(run.Inspections)
	for i := range moved.Watched {
		move(&moved.Watched[i].File)
	}
	for i := range moved.Inspections {
		move(&moved.Inspections[i].File)
	}
	return &moved
}

// targetMap returns for each of part's targets its index in run's targets.
func targetMap(run, part *Run) []int {
	m := make([]int, len(part.Targets))
	for i, t := range part.Targets {
		m[i] = run.target(&t)
	}
	return m
}

func (r *Run) target(t *Target) int {
	return slices.IndexFunc(r.Targets, func(have Target) bool {
		return have.Address == t.Address &&
			have.Protocol == t.Protocol
	})
}

// operationMap returns for each of part's operations its index in run's operations; nil if the lists are equal.
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
