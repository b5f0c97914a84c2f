package target

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"brunt/internal/plan"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/server/connection"
)

// Targets completes the plan's target and returns one protocol.Target per address. An error is one line for the
// user.
func Targets(p *plan.Plan) ([]protocol.Target, error) {
	t := &p.Target
	secure, err := connection.TLS(&t.TLS)
	if err != nil {
		return nil, err
	}
	d := protocols.Of(t.Protocol)
	port := d.Port
	addresses, _ := t.Weighted()
	if len(addresses) == 0 {
		if addresses, err = usualAddress(t.Protocol, &d); err != nil {
			return nil, err
		}
	}
	way, err := t.Way.Compile()
	if err != nil {
		return nil, err
	}
	var out []protocol.Target
	for _, a := range addresses {
		if port != "" {
			if a, err = connection.Complete(a, port); err != nil {
				return nil, err
			}
		}
		out = append(out, protocol.Target{
			Address: a, User: t.User, Password: t.Password, Database: t.Database,
			TLS: secure, Options: t.Options,
			ConnectTimeout: p.Settings.ConnectTimeout, Way: way, Named: t.Named,
		})
	}
	return out, nil
}

// usualAddress returns the default address of a protocol's server.
func usualAddress(name string, d *protocol.Declaration) ([]string, error) {
	switch {
	case d.Port != "":
		return []string{net.JoinHostPort("127.0.0.1", d.Port)}, nil
	case d.Embedded:
		return []string{":memory:"}, nil
	}
	return nil, fmt.Errorf("no address given for protocol %s; name one with -a", name)
}

// Patience says what to do if addresses don't answer before the load.
type Patience struct {
	Wait      time.Duration // how long to wait for all of them to answer
	StartDown bool          // continue even if none answers
	Waiting   func(error)   // called once when waiting begins; may be nil
}

const (
	describesAtOnce = 32
	betweenMeetings = 250 * time.Millisecond
)

// meet asks every address for its product until all have answered or the wait time is over. first is the index
// of one that answered. An error is an *UnreachableError, a *UsageError if the driver doesn't support what the
// plan asks for, or ctx's error.
func (s *System) meet(ctx context.Context, p Patience) (first int, err error) {
	given := s.Targets
	until := time.Now().Add(p.Wait)
	for {
		s.Targets = expand(ctx, s.Driver, given, s.Plan.Settings.Tier)
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
		if p.Waiting != nil {
			p.Waiting(err)
			p.Waiting = nil
		}
		if !protocol.Sleep(ctx, min(left, betweenMeetings)) {
			return 0, ctx.Err()
		}
	}
	if first < 0 && !p.StartDown {
		return 0, unusable(s.Plan, err)
	}
	return max(first, 0), nil
}

// describe asks every address once for its product. first is the index of the first that answered, −1 if none
// did. err is the first failure.
func (s *System) describe(ctx context.Context) (first int, err error) {
	s.Servers = make([]protocol.ServerInfo, len(s.Targets))
	failures := make([]error, len(s.Targets))
	slots := make(chan struct{}, describesAtOnce)
	var all sync.WaitGroup
	for i, t := range s.Targets {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			s.Servers[i], failures[i] = s.Driver.Describe(ctx, t)
		})
	}
	all.Wait()
	first = -1
	for i, failure := range failures {
		switch {
		case failure == nil && first < 0:
			first = i
		case failure != nil && err == nil:
			err = at(s.Targets[i].Address, failure)
		}
	}
	return first, err
}

// expand adds the other addresses of clusters that the targets belong to, if event loops send each request to
// the address that serves it: all addresses must be known before the load, because figures are kept per address.
// Targets that can't be asked now are unchanged.
func expand(ctx context.Context, d protocol.Driver, targets []protocol.Target, tier string) []protocol.Target {
	e, expands := d.(protocol.Expander)
	codec, ok := d.(protocol.CodecDriver)
	if !expands || !ok || tier == plan.TierLibrary {
		return targets
	}
	out := slices.Clone(targets)
	for _, t := range targets {
		if _, takes := protocol.LoopsTake(codec, t, &protocol.Program{}); !takes {
			continue
		}
		members, err := e.Expand(ctx, t)
		if err != nil {
			continue
		}
		for _, m := range members {
			if !slices.ContainsFunc(out, func(have protocol.Target) bool { return have.Address == m.Address }) {
				out = append(out, m)
			}
		}
	}
	return out
}
