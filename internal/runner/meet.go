package runner

import (
	"context"
	"sync"
	"time"

	"brunt/internal/driver"
)

// patience says what to do about addresses that don't answer before the load.
type patience struct {
	wait    time.Duration // for all of them to answer
	anyway  bool          // go on although none does
	waiting func(error)   // told once that there is something to wait for; may be nil
}

const (
	describesAtOnce = 32
	betweenMeetings = 250 * time.Millisecond
)

// meet asks every address what it is until all have answered or the patience is at its end. first is
// one that answered. An error is an *UnreachableError or ctx's.
func (s *stand) meet(ctx context.Context, p patience) (first int, err error) {
	given := s.targets
	until := time.Now().Add(p.wait)
	for {
		s.targets = expand(ctx, s.driver, given, s.plan.Settings.Tier)
		first, err = s.describe(ctx)
		if err == nil {
			return first, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		left := time.Until(until)
		if left <= 0 {
			break
		}
		if p.waiting != nil {
			p.waiting(err)
			p.waiting = nil
		}
		if !driver.Sleep(ctx, min(left, betweenMeetings)) {
			return 0, ctx.Err()
		}
	}
	if first < 0 && !p.anyway {
		return 0, &UnreachableError{err}
	}
	return max(first, 0), nil
}

// describe asks every address once what it is. first is the first that answered, −1 if none did, err
// the first failure.
func (s *stand) describe(ctx context.Context) (first int, err error) {
	s.servers = make([]driver.ServerInfo, len(s.targets))
	failures := make([]error, len(s.targets))
	slots := make(chan struct{}, describesAtOnce)
	var all sync.WaitGroup
	for i, t := range s.targets {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			s.servers[i], failures[i] = s.driver.Describe(ctx, t)
		})
	}
	all.Wait()
	first = -1
	for i, failure := range failures {
		switch {
		case failure == nil && first < 0:
			first = i
		case failure != nil && err == nil:
			err = at(s.targets[i].Address, failure)
		}
	}
	return first, err
}
