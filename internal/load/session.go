package load

import (
	"context"
	"errors"
	"fmt"

	"brunt/internal/driver"
)

// session is one worker's Admin session. It opens when needed and moves on to the next address
// when its own fails.
type session struct {
	j      *job
	target int
	admin  driver.Admin
}

// newSession spreads workers over the addresses in turn.
func (j *job) newSession(worker int) *session {
	return &session{j: j, target: worker % len(j.c.Targets)}
}

func (s *session) close() {
	if s.admin != nil {
		// Whatever closing says, nothing is left to be lost.
		_ = s.admin.Close()
		s.admin = nil
	}
}

// try calls f with an open session, up to Config.Attempts times: again after failures of the
// connection or such that may pass, at another address; not after the server's refusals, which
// would come again.
func (s *session) try(ctx context.Context, f func(a driver.Admin, attempt int) error) error {
	for attempt := 1; ; attempt++ {
		err := s.once(ctx, attempt, f)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		address := s.j.c.Targets[s.target].Address
		if !passing(err) {
			return fmt.Errorf("%s: %w", address, err)
		}
		s.close()
		s.target = (s.target + 1) % len(s.j.c.Targets)
		if attempt == s.j.c.Attempts {
			return fmt.Errorf("given up after %d tries, the last at %s: %w", attempt, address, err)
		}
		if err := s.j.c.Pause(ctx, attempt); err != nil {
			return err
		}
	}
}

func (s *session) once(ctx context.Context, attempt int, f func(a driver.Admin, attempt int) error) error {
	if s.admin == nil {
		a, err := s.j.c.Driver.Admin(ctx, s.j.c.Targets[s.target])
		if err != nil {
			return err
		}
		s.admin = a
	}
	return f(s.admin, attempt)
}

// passing reports whether another try, maybe at another address, can succeed.
func passing(err error) bool {
	var e *driver.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Class {
	case driver.Connect, driver.Timeout, driver.Retryable, driver.UnknownOutcome, driver.Protocol:
		return true
	}
	return e.Fatal
}
