package record

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"brunt/internal/measure"
)

func openAll(t *testing.T, dirs ...string) (out []*Recorded) {
	t.Helper()
	for _, d := range dirs {
		r, err := Open(OS{}, d)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// parts changes bundles into the parts of one load.
func parts(all []*Recorded) []*Recorded {
	for k, r := range all {
		r.Run.ID, r.Run.Stride, r.Run.Offset = fmt.Sprint("part", k), uint64(len(all)), uint64(k)
	}
	return all
}

func TestMergeRefusesPartsThatAreNoWhole(t *testing.T) {
	for name, c := range map[string]struct {
		take []int // which of three parts
		with func(all []*Recorded)
		want string
	}{
		"the same run twice": {[]int{0, 1, 1}, nil, "are the same run"},
		"a copy of a part": {[]int{0, 1, 2}, func(all []*Recorded) { all[2].Run.Offset = 1 },
			"both part 2 of 3"},
		"a missing part": {[]int{0, 2}, nil, "part 2 of 3 is missing"},
		"parts of different cuts": {[]int{0, 1, 2}, func(all []*Recorded) { all[1].Run.Stride = 4 },
			"one of 3 parts"},
		"two whole runs": {[]int{0, 1}, func(all []*Recorded) {
			all[0].Run.Stride,
				all[1].Run.Stride, all[1].Run.Offset = 0, 0, 0
		}, "both part 1 of 1"},
		"parts of different plans": {[]int{0, 1, 2}, func(all []*Recorded) { all[1].Run.PlanHash = "x" },
			"their plans differ"},
		"a bundle merged with itself, of version 1": {[]int{0, 0}, func(all []*Recorded) { all[0].Run.Schema = 1 },
			"are the same run"},
	} {
		all := parts(openAll(t, write(t, OS{}, nil, true), write(t, OS{}, nil, true), write(t, OS{}, nil, true)))
		if c.with != nil {
			c.with(all)
		}
		var chosen []*Recorded
		for _, k := range c.take {
			chosen = append(chosen, all[k])
		}
		if _, _, err := Merge(chosen...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMergeEqualsOneMachine(t *testing.T) {
	all := samples(999)
	one := rebuildOf(t, write(t, OS{}, intervalsOf(all, everything), true))
	const machines = 3
	var dirs []string
	for k := range machines {
		dirs = append(dirs, write(t, OS{}, intervalsOf(all, func(i int) bool { return i%machines == k }), true))
	}
	merged, _, err := Merge(parts(openAll(t, dirs...))...)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []struct{ a, b *Latency }{{&one.Total.Response, &merged.Total.Response},
		{&one.Total.Lag, &merged.Total.Lag}, {&one.Total.StreamFirst, &merged.Total.StreamFirst}} {
		if l.a.Count == 0 || math.Abs(l.a.MeanNs-l.b.MeanNs) > 1e-9*l.a.MeanNs {
			t.Errorf("mean %g, want %g", l.b.MeanNs, l.a.MeanNs)
		}
	}
	if a, b := withoutMeans(one), withoutMeans(merged); !reflect.DeepEqual(a, b) {
		t.Errorf("merged %+v\nwant %+v", b, a)
	}
	if a, b := one.Health, merged.Health; a.OwnLagCount != 3*999 || b.OwnLagCount != a.OwnLagCount ||
		b.OwnLagP99Ns != a.OwnLagP99Ns || a.OwnLagP99Ns == 0 {
		t.Errorf("own lag: p99 %d ns of %d, want %d ns of %d", b.OwnLagP99Ns, b.OwnLagCount, a.OwnLagP99Ns, a.OwnLagCount)
	}
	if merged.Sessions != machines*one.Sessions || !merged.Complete {
		t.Errorf("%d sessions, complete %v", merged.Sessions, merged.Complete)
	}
}

// withoutMeans returns the operations and phases of a run without their means. The rest must be equal bit by bit; the
// sums behind the means were rounded to a float64 on each machine.
func withoutMeans(r *Run) []Operation {
	out := append([]Operation{r.Total}, r.Operations...)
	for _, p := range r.Phases {
		out = append(out, Operation{Name: p.Name, Counts: Counts{Counts: measure.Counts{Done: p.Done, Attempts: p.Offered},
			Failed: p.Errors}, Response: p.Response})
	}
	for _, g := range r.Targets {
		out = append(out, Operation{Name: g.Address, Counts: g.Counts, Service: g.Service})
	}
	for i := range out {
		for _, l := range []*Latency{&out[i].Response, &out[i].Service, &out[i].Lag, &out[i].FailedResponse,
			&out[i].StreamFirst, &out[i].StreamBetween} {
			l.MeanNs = 0
		}
	}
	return out
}

func TestMergeRefusesStrangers(t *testing.T) {
	parts := parts(openAll(t, write(t, OS{}, nil, true), write(t, OS{}, nil, true)))
	parts[1].Run.Seed = 8
	if _, _, err := Merge(parts...); err == nil || !strings.Contains(err.Error(), "seeds are 7 and 8") {
		t.Errorf("other seed: %v", err)
	}
	parts[1].Run.Seed = 7
	parts[1].Run.Operations[1].Name = "scan"
	if _, _, err := Merge(parts...); err == nil || !strings.Contains(err.Error(), "scan") {
		t.Errorf("other operations: %v", err)
	}
	if _, _, err := Merge(); err == nil {
		t.Error("nothing was merged")
	}
}

func TestMergeOfDifferentAddresses(t *testing.T) {
	ivs := intervalsOf(samples(100), everything)
	parts := parts(openAll(t, write(t, OS{}, ivs, true), write(t, OS{}, ivs, true)))
	parts[1].Run.Targets[0].Address, parts[1].Run.Targets[1].Address = "b:1", "c:1"
	merged, _, err := Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	a, b := parts[0].Run.Targets[0].Counts.Done, parts[0].Run.Targets[1].Counts.Done
	want := []uint64{a, a + b, b}
	if len(merged.Targets) != 3 {
		t.Fatalf("%d targets", len(merged.Targets))
	}
	for i, w := range want {
		if got := merged.Targets[i].Counts.Done; got != w {
			t.Errorf("%s: %d done, want %d", merged.Targets[i].Address, got, w)
		}
	}
}

// cutIntervals removes the second half of a bundle's intervals.
func cutIntervals(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, IntervalsFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	if err := os.WriteFile(path, []byte(strings.Join(lines[:len(lines)/2], "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// If the intervals contain fewer arrivals than run.json counts, there is a warning wherever they are read.
func TestCutIntervalsAreNoticed(t *testing.T) {
	ivs := intervalsOf(samples(100), everything)
	whole, cut := write(t, OS{}, ivs, true), write(t, OS{}, ivs, true)
	cutIntervals(t, cut)
	const want = "holds 100 of the run's 300 arrivals"
	noticed := func(t *testing.T, all []Warning) {
		t.Helper()
		if len(all) != 1 || all[0].ID != "record-damaged" || !strings.Contains(all[0].Text.String(), want) ||
			!strings.HasPrefix(all[0].Text.String(), cut) {
			t.Errorf("warnings %+v, want one: %s", all, want)
		}
	}
	t.Run("merge", func(t *testing.T) {
		merged, _, err := Merge(parts(openAll(t, whole, cut))...)
		if err != nil {
			t.Fatal(err)
		}
		noticed(t, merged.Warnings)
	})
	t.Run("read", func(t *testing.T) {
		r := openAll(t, cut)[0]
		if _, err := r.Tally(); err != nil {
			t.Fatal(err)
		}
		noticed(t, r.Damage())
	})
	t.Run("rebuild", func(t *testing.T) {
		run, _, err := openAll(t, cut)[0].Rebuild()
		if err != nil {
			t.Fatal(err)
		}
		noticed(t, run.Warnings)
	})
	t.Run("whole", func(t *testing.T) {
		r := openAll(t, whole)[0]
		if _, err := r.Tally(); err != nil || len(r.Damage()) > 0 {
			t.Errorf("%v: %+v", err, r.Damage())
		}
	})
}

// The hints of a joined bundle are those of the joined intervals, and no sample of an error is lost.
func TestJoinKeepsEverySampleAndFindsHints(t *testing.T) {
	var dirs []string
	for range 2 {
		b, err := CreateIn(OS{}, t.TempDir(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		run := startedRun()
		if err := b.Start([]byte("name: cars\n"), run); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			b.Failed(&ErrorSample{Class: "timeout", Text: "no answer", Index: uint64(i)})
		}
		run.Complete, run.Hints = true, []Hint{{Metric: "p99"}}
		if err := b.Finish(run); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, b.Dir)
	}
	list := parts(openAll(t, dirs...))
	merged, _, err := Merge(list...)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "whole")
	if err := Join(OS{}, dir, merged, nil, nil, list...); err != nil {
		t.Fatal(err)
	}
	n, joined := 0, openAll(t, dir)[0]
	if err := joined.Errors(func(*ErrorSample) error { n++; return nil }); err != nil || n != 200 {
		t.Errorf("%v: %d samples of errors, want all 200", err, n)
	}
	if len(joined.Run.Failures) != 1 || joined.Run.Failures[0].Count != 200 {
		t.Errorf("failures %+v", joined.Run.Failures)
	}
	if len(joined.Run.Hints) != 0 {
		t.Errorf("hints of no intervals: %+v", joined.Run.Hints)
	}
}

// TestWorkersAddUp checks that the merged record of several workers has the same counts and, byte by byte, the same
// histograms as the record of one machine with the same operations. This must hold however the operations are divided
// among the workers, including when the shares of lost workers went to others.
func TestWorkersAddUp(t *testing.T) {
	all := samples(997)
	one := withoutMeans(rebuildOf(t, write(t, OS{}, intervalsOf(all, everything), true)))
	for _, workers := range []int{2, 3, 4, 8} {
		for _, lost := range []int{0, 1} {
			t.Run(fmt.Sprintf("%d workers, %d lost", workers, lost), func(t *testing.T) {
				owner := func(i int) int {
					k := i % workers
					if k < lost && i > len(all)/3 {
						k = lost + i/workers%(workers-lost)
					}
					return k
				}
				var dirs []string
				for k := range workers {
					dirs = append(dirs, write(t, OS{}, intervalsOf(all, func(i int) bool { return owner(i) == k }), true))
				}
				merged, _, err := Merge(parts(openAll(t, dirs...))...)
				if err != nil {
					t.Fatal(err)
				}
				if got := withoutMeans(merged); !reflect.DeepEqual(got, one) {
					t.Errorf("merged %+v\nwant %+v", got, one)
				}
				for i, o := range merged.Operations {
					if o.Response.HDR == "" || o.Response.HDR != one[i+1].Response.HDR {
						t.Errorf("operation %s has the histogram %q", o.Name, o.Response.HDR)
					}
				}
			})
		}
	}
}

// What the intervals of a part lack is said of the part, so that it can be judged.
func TestMergeCountsWhatIntervalsLack(t *testing.T) {
	all := parts(openAll(t, write(t, OS{}, nil, true), write(t, OS{}, nil, true)))
	all[1].Run.Total.Done += 1000
	run, _, err := Merge(all...)
	if err != nil {
		t.Fatal(err)
	}
	if run.Parts[0].Missing != 0 || run.Parts[1].Missing != 1000 {
		t.Errorf("%d and %d arrivals are missing, want 0 and 1000", run.Parts[0].Missing, run.Parts[1].Missing)
	}
}
