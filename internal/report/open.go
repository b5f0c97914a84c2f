package report

import (
	"errors"

	"brunt/internal/base/secret"
	"brunt/internal/judge/compare"
	"brunt/internal/judge/confidence"
	"brunt/internal/judge/result"
	"brunt/internal/judge/result/reader"
	"brunt/internal/judge/verdict"
	"brunt/internal/measure"
	"brunt/internal/measure/timeline"
	"brunt/internal/record"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
)

// Open reads a run from its bundle, and judges it if it was killed before it could do so. A live run has neither
// thresholds nor a verdict: they are for its end.
func Open(b *record.Recorded) (*Result, error) { return open(b, nil) }

// open reads a run, and passes its intervals to sink if that isn't nil.
func open(b *record.Recorded, sink measure.Sink) (*Result, error) {
	run, sums, err := b.Result()
	if err != nil {
		return nil, err
	}
	if b.Live() {
		run.Thresholds, run.Warnings = nil, append(run.Warnings, verdict.UnderWay(run))
	} else if sums != nil {
		if err := reader.Judge(b, run, sums); err != nil {
			return nil, err
		}
	}
	if run.Total.RateWithin == nil {
		if err := confidence.Fill(run, b.Intervals); err != nil {
			return nil, err
		}
	}
	if sink != nil {
		if err := b.Intervals(sink.Interval); err != nil {
			return nil, err
		}
	}
	if run.Complete { // damage is known only after the intervals were read
		run.Warnings = append(run.Warnings, b.Damage()...)
	}
	return &Result{Run: run, Path: b.Dir}, nil
}

// OpenForPage reads a run as Open does, and also what only a page shows: its timeline, plan and machines.
func OpenForPage(b *record.Recorded) (*Result, error) {
	t := timeline.New(0)
	t.Part(MostParts)
	r, err := open(b, t)
	if err != nil {
		return nil, err
	}
	r.Timeline = t
	// A bundle without its plan is still worth a page.
	text, _ := b.Plan()
	r.Plan = []byte(secret.Text(string(text)))
	r.Machines, err = Machines(b)
	return r, err
}

// Compare puts the comparison of runs with others on their page, or the reason why there is none. Without others it
// shows the confidence intervals of the runs.
func (s *Sheet) Compare(runs, others []*result.Result, l units.Language) (err error) {
	if len(others) > 0 {
		var c *compare.Comparison
		if c, err = compare.Runs(runs, others, compare.Options{}); err == nil {
			s.Tables = c.Tables(l)
			s.Verdict, s.Mark, s.Reasons, s.Changes = string(c.Verdict), c.Mark(), c.Reasons(l), c.Chart(l)
		}
	} else {
		var all *compare.Summary
		if all, err = compare.Intervals(runs, compare.Options{}); err == nil {
			s.Tables = all.Tables(l)
		}
	}
	if refused, ok := errors.AsType[*compare.Refused](err); ok {
		s.Remarks = append(s.Remarks, message.Label(l, "The runs are not compared: %s.",
			message.Sentences(refused.Reasons...).In(l)))
		return nil
	}
	return err
}
