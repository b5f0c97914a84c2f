package series

import (
	"context"
	"errors"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/render/message"
	"brunt/internal/render/units"
	"brunt/internal/run/loadtest"
	"brunt/internal/run/program"
)

// Search executes the trials of a search, and prints the result. anyway also judges trials that the generator has
// distorted.
func (t *Series) Search(ctx context.Context, h *program.TargetSearch, anyway bool, f *loadtest.Report) error {
	began := time.Now().UTC()
	h.Drive = t.Drive
	if anyway {
		h.Drive = func(ctx context.Context, load program.Load) (*program.Outcome, error) {
			out, err := t.Drive(ctx, load)
			if err == nil {
				out.AcceptInvalid()
			}
			return out, err
		}
	}
	h.Planned = func(trial program.Trial) {
		t.Say("trial %d: %s, N %s (%s/s), %s", trial.Number, trial.Purpose, program.Scale(trial.N),
			units.Rate(trial.N*h.Options.RatePerS), units.Plural(trial.Sessions, "session", "sessions"))
	}
	h.Done = func(r program.Result) { t.Say("trial %d: %s", r.Number, r.Line()) }
	found, err := h.Run(ctx)
	if err != nil && ctx.Err() == nil {
		if len(found.Results()) > 0 { // keep and print the results until the error
			err = errors.Join(err, t.Conclude(f, program.SearchReport(h.Plan, found, began)))
		}
		return err
	}
	report := program.SearchReport(h.Plan, found, began)
	if anyway {
		report.Note = message.New("note.trials-anyway")
	}
	return searchEnd(report.Search.Bracket, t.Conclude(f, report))
}

// searchEnd returns the error for the exit code of a search. If no bracket was found, it says what to do.
func searchEnd(b program.Bracket, err error) error {
	code, text := exitcode.Invalid, ""
	switch b.End {
	case program.AtLowest:
		code, text = exitcode.Threshold, "the target fails at the lowest load allowed; "+
			"lower --min, or see why the trials failed"
	case program.AtHighest:
		text = "the target passes at the highest load allowed, so its maximum isn't known; raise --max"
	case program.GeneratorLimit:
		text = "the generator, not the target, limited the search: what it couldn't offer is no result; " +
			"free this machine's cores, or use a faster one"
	case program.OutOfTrials:
		text = "the trials ran out before the bracket was settled; " +
			"allow more (--trials), or make them longer (--trial) so that equal loads agree"
	default:
		return err
	}
	return exitcode.With(code, errors.Join(errors.New(text), err))
}
