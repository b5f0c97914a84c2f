package loadtest

import (
	"slices"

	"brunt/internal/confidence"
	"brunt/internal/exitcode"
	"brunt/internal/failover"
	"brunt/internal/measure"
	"brunt/internal/record"
	"brunt/internal/verdict"
)

// Join writes the bundle of the run that parts make together; complete adds to it what only the load's coordinator
// knows, before it is judged.
func Join(dir string, parts []*record.Recorded, complete func(*record.Run)) (*record.Run, error) {
	run, sums, err := record.Merge(parts...)
	if err != nil {
		return nil, exitcode.Usage(err)
	}
	verdict.MergeScripts(run, parts)
	together := func(f func(*measure.Interval) error) error { return record.Together(run, parts, f) }
	if err := failover.Fill(run, together); err != nil {
		return nil, err
	}
	if err := verdict.FillWindows(run, together); err != nil {
		return nil, err
	}
	complete(run)
	judgeAgain(run, sums)
	if err := confidence.Fill(run, together); err != nil {
		return nil, err
	}
	return run, exitcode.Usage(record.Join(record.OS{}, dir, run, parts...))
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
