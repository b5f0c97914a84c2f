package record

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"brunt/internal/measure"
)

// joinParts writes three parts of a load and joins them.
func joinParts(t *testing.T) (one *Run, joined *Recorded) {
	t.Helper()
	all := samples(999)
	one = rebuildOf(t, write(t, OS{}, intervalsOf(all, everything), true))
	const machines = 3
	var dirs []string
	for k := range machines {
		dirs = append(dirs, write(t, OS{}, intervalsOf(all, func(i int) bool { return i%machines == k }), true))
	}
	observed := filepath.Join(dirs[1], WatchedFolder)
	if err := os.MkdirAll(observed, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(observed, "watch.ndjson"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list := parts(openAll(t, dirs...))
	run, _, err := Merge(list...)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "whole")
	if err := Join(OS{}, dir, run, nil, nil, list...); err != nil {
		t.Fatal(err)
	}
	joined = openAll(t, dir)[0]
	if joined.Run.PlanHash != list[0].Run.PlanHash {
		t.Errorf("the plan's hash is %q, was %q", joined.Run.PlanHash, list[0].Run.PlanHash)
	}
	if _, err := os.Stat(filepath.Join(dir, WatchedFolder, "part-2", "watch.ndjson")); err != nil {
		t.Error(err)
	}
	return one, joined
}

// A joined bundle equals the bundle of one machine with the same samples, in run.json and in the intervals.
func TestJoinEqualsOneMachine(t *testing.T) {
	one, joined := joinParts(t)
	if a, b := withoutMeans(one), withoutMeans(joined.Run); !reflect.DeepEqual(a, b) {
		t.Errorf("joined %+v\nwant %+v", b, a)
	}
	rebuilt, _, err := joined.Rebuild()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := withoutMeans(one), withoutMeans(rebuilt); !reflect.DeepEqual(a, b) {
		t.Errorf("rebuilt %+v\nwant %+v", b, a)
	}
	var intervals, last int
	var offered uint64
	err = joined.Intervals(func(iv *measure.Interval) error {
		if iv.Index != intervals || iv.StartNs < int64(last) {
			t.Errorf("interval %d begins at %d", iv.Index, iv.StartNs)
		}
		intervals, last, offered = intervals+1, int(iv.StartNs), offered+iv.Offered
		return nil
	})
	if err != nil || intervals != 4 || offered != one.Total.Offered+one.Phases[0].Offered {
		t.Errorf("%v: %d intervals, %d offered", err, intervals, offered)
	}
	if math.Abs(rebuilt.Total.Response.MeanNs-one.Total.Response.MeanNs) > 1e-9*one.Total.Response.MeanNs {
		t.Errorf("mean %v, want %v", rebuilt.Total.Response.MeanNs, one.Total.Response.MeanNs)
	}
}

func TestJoinNeedsAnEmptyFolder(t *testing.T) {
	list := parts(openAll(t, write(t, OS{}, nil, true), write(t, OS{}, nil, true)))
	run, _, err := Merge(list...)
	if err != nil {
		t.Fatal(err)
	}
	err = Join(OS{}, list[0].Dir, run, nil, nil, list...)
	if err == nil || !strings.Contains(err.Error(), "already holds a run") {
		t.Errorf("%v", err)
	}
}

// Align passes on the intervals of other sources while one source can't send its next line yet.
func TestAlignPassesOnWhatOthersHave(t *testing.T) {
	run, e := startedRun(), &lineEncoder{}
	lines := func(at ...int) func(func(line, packed []byte) error) error {
		return func(f func(line, packed []byte) error) error {
			for _, k := range at {
				if k < 0 {
					if err := f(nil, nil); err != nil {
						return err
					}
					continue
				}
				iv := newInterval(k + 1)
				iv.Offered = 1
				line, err := e.encode(iv)
				if err != nil {
					return err
				}
				if err := f(line, nil); err != nil {
					return err
				}
			}
			return nil
		}
	}
	var got []uint64
	sources := []Source{{Run: run, Lines: lines(0, -1, -1, 3)}, {Run: run, Lines: lines(0, 1, 2, 3)}}
	err := Align(run, sources, func(iv *measure.Interval) error {
		got = append(got, iv.Offered)
		return nil
	})
	if want := []uint64{2, 1, 1, 2}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("intervals of %v sources each, want %v (%v)", got, want, err)
	}
}

// A source that fails ends Align, although another one goes on.
func TestAlignEndsWithASourceThatFails(t *testing.T) {
	run, e := startedRun(), &lineEncoder{}
	broken := errors.New("the file has become shorter")
	source := func(end error) func(func(line, packed []byte) error) error {
		return func(f func(line, packed []byte) error) error {
			for k := 0; k < 2 || end == nil; k++ {
				line, err := e.encode(newInterval(k + 1))
				if err != nil {
					return err
				}
				if err := f(line, nil); err != nil {
					return err
				}
			}
			return end
		}
	}
	if err := Align(run, []Source{{Run: run, Lines: source(broken)}, {Run: run, Lines: source(nil)}},
		func(*measure.Interval) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("Align returned %v, want %v", err, broken)
	}
}
