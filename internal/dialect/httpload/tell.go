package httpload

import (
	"errors"

	"brunt/internal/judge/exitcode"
	"brunt/internal/judge/verdict"
	"brunt/internal/record"
)

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
