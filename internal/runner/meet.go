package runner

import (
	"context"
	"slices"
	"sync"
	"time"

	"brunt/internal/driver"
	"brunt/internal/wire"
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

// expand adds the other addresses of clusters that the targets are members of, where event loops
// send each request to the address that serves it: all addresses must be known before the load, for
// the figures of each. What can't be asked now stays as it is.
func expand(ctx context.Context, d driver.Driver, targets []driver.Target, tier string) []driver.Target {
	e, expands := d.(driver.Expander)
	codec, ok := d.(wire.Protocol)
	if !expands || !ok || tier == "library" {
		return targets
	}
	out := slices.Clone(targets)
	for _, t := range targets {
		if _, takes := codec.Takes(t, &driver.Program{}); !takes {
			continue
		}
		members, err := e.Expand(ctx, t)
		if err != nil {
			continue
		}
		for _, m := range members {
			if !slices.ContainsFunc(out, func(have driver.Target) bool { return have.Address == m.Address }) {
				out = append(out, m)
			}
		}
	}
	return out
}
