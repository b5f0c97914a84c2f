package protocol

import (
	"context"
	"strings"
	"testing"
	"time"
)

// stuck is a server that answers nothing, or drops statements.
type stuck struct {
	Admin
	dropped int // how many statements it drops before it answers
	asked   int
}

func (s *stuck) Exec(ctx context.Context, _ string) (int64, error) {
	s.asked++
	if s.asked <= s.dropped {
		return 0, &Error{Class: Retryable, Code: "XX000/raft-proposal-dropped", Text: "raft: proposal dropped"}
	}
	if s.dropped > 0 {
		return 7, nil
	}
	<-ctx.Done()
	return 0, Unanswered(ctx, nil, ctx.Err(), "")
}

func (s *stuck) Query(ctx context.Context, _ string, row func([]*string) error) error {
	for range 3 { // rows are signs of life
		if err := row(nil); err != nil {
			return err
		}
	}
	_, err := s.Exec(ctx, "")
	return err
}

func (s *stuck) Load(ctx context.Context, c *Chunk, _ bool) (int64, error) {
	c.Progress(1)
	return s.Exec(ctx, "")
}

// Every wait of a set-up session has a limit, and its error names what was waited for. The session isn't used again.
func TestWaitsOfSetUpHaveLimits(t *testing.T) {
	for name, do := range map[string]func(Admin) error{
		"a statement": func(a Admin) error {
			_, err := a.Exec(t.Context(), "create\n table  car")
			return err
		},
		"a query": func(a Admin) error {
			return a.Query(t.Context(), "create table car", func([]*string) error { return nil })
		},
		"a chunk": func(a Admin) error {
			_, err := a.Load(t.Context(), &Chunk{Table: "create table car"}, false)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stuck{}
			a := (&Waiting{Limit: time.Millisecond}).Of(s)
			err := do(a)
			if err == nil || !strings.Contains(err.Error(), "no answer within 1ms to: ") ||
				!strings.Contains(err.Error(), "create table car") {
				t.Errorf("the error is %v", err)
			}
			asked := s.asked
			if again := do(a); again != err || s.asked != asked {
				t.Errorf("the session was used again: %v", again)
			}
		})
	}
}

// An interrupt ends a wait as before: it isn't told as a server that doesn't answer.
func TestAnInterruptEndsAWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := (&Waiting{Limit: time.Hour}).Of(&stuck{}).Exec(ctx, "create table car")
	if err == nil || strings.Contains(err.Error(), "no answer within") {
		t.Errorf("the error is %v", err)
	}
}

// A wait is told about before it has reached its limit.
func TestWaitsOfSetUpAreTold(t *testing.T) {
	told := make(chan string, 8)
	w := &Waiting{Limit: 2 * tellEvery, Tell: func(waited time.Duration, statement string) { told <- statement }}
	now := []time.Duration{tellEvery - time.Millisecond, tellEvery, 2 * tellEvery}
	ended := false
	w.watch(nil, func() time.Duration {
		next := now[0]
		if len(now) > 1 {
			now = now[1:]
		}
		if next == tellEvery-time.Millisecond {
			next = 2*tellEvery - time.Millisecond // a millisecond is left
		}
		return next
	}, "create table car", func() { ended = true })
	if !ended || len(told) != 1 || <-told != "create table car" {
		t.Errorf("ended %v, told %d times", ended, len(told))
	}
}

// What a server has dropped without effect is sent again.
func TestDroppedStatementsAreSentAgain(t *testing.T) {
	s := &stuck{dropped: 2}
	n, err := (&Waiting{Limit: time.Minute}).Of(s).Exec(t.Context(), "create table car")
	if n != 7 || err != nil || s.asked != 3 {
		t.Errorf("%d, %v after %d tries", n, err, s.asked)
	}
	if e := Picodata("sbroad: raft: proposal dropped"); e.Group != "raft-proposal-dropped" || !e.Passing {
		t.Errorf("the error's group is %q", e.Group)
	}
}
