package loadtest

import (
	"errors"
	"os"
	"runtime/debug"
	"slices"

	"brunt/internal/judge/confidence"
	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/failover"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/record"
)

// mergeGCPercent is the target of the garbage collector (GOGC) while workers run and their parts are joined. What is
// kept of each worker is small and stays allocated; everything decoded becomes garbage. With the target that brunt uses
// at its start, the heap for 1 000 workers would be two and a half times as large.
const mergeGCPercent = 100

// boundGC sets the garbage collector's target for joining parts, unless the user has set GOGC. The returned function
// restores the target.
func boundGC() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(mergeGCPercent)
	return func() { debug.SetGCPercent(before) }
}

// Join writes the bundle of the run that consists of the parts. complete adds what only the coordinator knows, and is
// called before the run is judged. If the bundle can't be written, the run is returned with an error.
func Join(dir string, parts []*record.Recorded, complete func(*record.Run)) (*record.Run, error) {
	defer boundGC()()
	run, sums, err := record.Merge(parts...)
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	verdict.MergeScripts(run, parts)
	within := confidence.NewTaker()
	takers := []measure.Sink{within}
	var outages *failover.Taker
	if run.Failover != nil {
		outages = failover.NewTaker(run)
		takers = append(takers, outages)
	}
	windows := verdict.WindowsOf(run)
	if windows != nil {
		takers = append(takers, windows)
	}
	err = record.Join(record.OS{}, dir, run, takers, func() error {
		if outages != nil {
			outages.Fill(run)
		}
		if windows != nil {
			windows.Fill(run)
		}
		complete(run)
		within.Fill(run)
		judgeAgain(run, sums)
		return nil
	}, parts...)
	if _, ok := errors.AsType[*record.FolderError](err); ok {
		return run, exitcode.With(exitcode.Other, err)
	}
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	return run, nil
}

// judgeAgain judges a run that is composed of others. It keeps those of their warnings that judging the run doesn't
// produce, and that its sums can't tell.
func judgeAgain(run *record.Run, sums *measure.Tally) {
	before := run.Warnings
	run.Warnings = nil
	verdict.Judge(run, sums.Total())
	verdict.JudgeIterations(run)
	judged := run.Warnings
	for _, w := range before {
		if !verdict.OfSums(w.ID) && !slices.ContainsFunc(judged, func(have record.Warning) bool { return have.ID == w.ID }) {
			run.Warnings = append(run.Warnings, w)
		}
	}
}
