package httpload

import (
	"errors"
	"fmt"

	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/record"
	"brunt/internal/run/loadtest"
)

// Tell prints brunt's verdict and where the record is on standard error.
func Tell(out *loadtest.Outputs, run *record.Run, dir string) {
	where := "no record was kept"
	if dir != "" {
		where = "record in " + dir
	}
	fmt.Fprintf(out.Err, "brunt: %s; %s\n", run.Verdict.Result, where)
	if run.Verdict.Result != verdict.Pass {
		for _, r := range run.Verdict.Reasons {
			fmt.Fprintf(out.Err, "brunt: %s\n", r)
		}
	}
}

// Exit returns the error for the exit code of a load. replacing says that brunt takes the tool's place, whose code is
// 0: only rules that were given change it.
func Exit(run *record.Run, replacing bool) error {
	if replacing && len(run.Thresholds) == 0 {
		return nil
	}
	return exitcode.With(verdict.ExitCode(run), nil)
}

// Refused returns the error of a command line that can't be carried out, with the tool's exit code if brunt takes its
// place. err is nil if what is wrong has been printed.
func Refused(err error, replacing bool, code int) error {
	if c, ok := errors.AsType[*exitcode.Error](err); ok {
		if !replacing {
			return err
		}
		err = c.Err
	}
	if replacing {
		return exitcode.With(code, err)
	}
	return exitcode.With(exitcode.BadPlan, err)
}
