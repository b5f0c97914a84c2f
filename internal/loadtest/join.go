package loadtest

import (
	"os"
	"runtime/debug"
	"slices"

	"brunt/internal/confidence"
	"brunt/internal/failover"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/verdict"
	"brunt/internal/verdict/exitcode"
)

// mergeGCPercent is the garbage collector's target while workers are led and their parts are joined. What is kept of
// each is small and stays, and all that is decoded is garbage: with the target of a start, the heap of 1 000 workers
// would be two and a half times as large.
const mergeGCPercent = 100

// boundGC sets the collector's target for merging, unless the user has set GOGC. The returned function restores the
// target.
func boundGC() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(mergeGCPercent)
	return func() { debug.SetGCPercent(before) }
}

// Join writes the bundle of the run that parts make together; complete adds to it what only the load's coordinator
// knows, before it is judged.
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
	err = record.JoinAnd(record.OS{}, dir, run, takers, func() error {
		if outages != nil {
			outages.Fill(run)
		}
		if windows != nil {
			windows.Fill(run)
		}
		complete(run)
		judgeAgain(run, sums)
		within.Fill(run)
		return nil
	}, parts...)
	return run, exitcode.Usage(err)
}

// judgeAgain judges a run made of others. Of the warnings that these had, it keeps what judging doesn't
// say again.
func judgeAgain(run *record.Run, sums *measure.Tally) {
	before := run.Warnings
	run.Warnings = nil
	verdict.Judge(run, sums.Total())
	verdict.JudgeIterations(run)
	judged := run.Warnings
	for _, w := range before {
		if !slices.ContainsFunc(judged, func(have record.Warning) bool { return have.ID == w.ID }) {
			run.Warnings = append(run.Warnings, w)
		}
	}
}
