package cli

import (
	"errors"

	"brunt/internal/verdict"
)

// The exit codes, as documented in docs/exit-codes.md.
const (
	exitPass        = verdict.ExitPass
	exitOther       = 1
	exitRegression  = 97
	exitInvalid     = verdict.ExitInvalid
	exitThreshold   = verdict.ExitFail
	exitBadPlan     = 104
	exitInterrupted = verdict.ExitInterrupted
	exitUnreachable = 108
)

// exitError is an error with an exit code of its own. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// coded is err with an exit code that isn't the usual one, nil if there is nothing to tell.
func coded(code int, err error) error {
	if code == exitPass {
		return err
	}
	return &exitError{code, err}
}

// usage marks an error as the user's: bad flags or a bad plan. One that has an exit code keeps it.
func usage(err error) error {
	var e *exitError
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &exitError{exitBadPlan, err}
}

// exitCode is the process's exit code for what a command returned.
func exitCode(err error) int {
	if err == nil {
		return exitPass
	}
	var e *exitError
	if errors.As(err, &e) {
		return e.code
	}
	return exitOther
}
