package protocol

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Waiting bounds how long set-up sessions wait for a server, and tells about long waits.
type Waiting struct {
	// Limit is how long a session may wait for an answer, for the next row, or for progress of a chunk.
	Limit time.Duration
	// Tell, if not nil, is called while a statement has been waiting, about every tellEvery.
	Tell func(waited time.Duration, statement string)
}

// tellEvery is how often the user is told about a statement that waits.
const tellEvery = 10 * time.Second

// errSilent is the cause that ends a wait that has reached its limit.
var errSilent = errors.New("the server didn't answer in time")

// Of returns a session that waits within the limits. Once a wait has reached the limit, the session can't be used any
// more. Statements that the server has dropped without effect are sent again.
func (w *Waiting) Of(a Admin) Admin { return &waiting{Admin: a, w: w} }

// Driver returns a driver whose sessions wait within the limits.
func (w *Waiting) Driver(d AdminDriver) AdminDriver { return waitingDriver{d, w} }

type waitingDriver struct {
	AdminDriver
	w *Waiting
}

// Admin opens a session.
func (d waitingDriver) Admin(ctx context.Context, t Target) (Admin, error) {
	a, err := d.AdminDriver.Admin(ctx, t)
	if err != nil {
		return nil, err
	}
	return d.w.Of(a), nil
}

type waiting struct {
	Admin
	w      *Waiting
	silent error // the session has reached the limit
}

// Exec runs a statement.
func (a *waiting) Exec(ctx context.Context, statement string) (affected int64, err error) {
	for attempt := 1; ; attempt++ {
		err = a.wait(ctx, statement, func(ctx context.Context, _ func()) (err error) {
			affected, err = a.Admin.Exec(ctx, statement)
			return err
		})
		if attempt == mostDropped || !wasDropped(err) || !Sleep(ctx, min(50*time.Millisecond<<attempt, 2*time.Second)) {
			return affected, err
		}
	}
}

// Query runs a statement that returns rows.
func (a *waiting) Query(ctx context.Context, statement string, row func(values []*string) error) error {
	return a.wait(ctx, statement, func(ctx context.Context, alive func()) error {
		return a.Admin.Query(ctx, statement, func(values []*string) error {
			alive()
			return row(values)
		})
	})
}

// Load inserts a chunk of rows.
func (a *waiting) Load(ctx context.Context, chunk *Chunk, replace bool) (rows int64, err error) {
	err = a.wait(ctx, "rows of "+chunk.Table, func(ctx context.Context, alive func()) (err error) {
		told := *chunk
		told.Row, told.Progress = chunk.Row, func(rows uint64) {
			alive()
			if chunk.Progress != nil {
				chunk.Progress(rows)
			}
		}
		rows, err = a.Admin.Load(ctx, &told, replace)
		return err
	})
	return rows, err
}

// mostDropped is how often a statement is sent that the server drops.
const mostDropped = 10

// wasDropped reports whether a statement failed without effect because of others at the same time, so that it may be
// sent again: Picodata's raft dropped it, or a transaction was chosen as the victim of a deadlock or of a conflict
// (SQLSTATE 40001 and 40P01, MySQL's 1213).
func wasDropped(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (strings.HasSuffix(e.Code, "raft-proposal-dropped") ||
		slices.Contains([]string{"40001", "40P01", "1213"}, e.Code))
}

// mostTold is how many bytes of a statement messages contain.
const mostTold = 80

// wait calls do, and ends it when it has given no sign of life for the limit.
func (a *waiting) wait(ctx context.Context, statement string, do func(ctx context.Context, alive func()) error) error {
	if a.silent != nil {
		return a.silent
	}
	statement = strings.Join(strings.Fields(statement), " ")
	if len(statement) > mostTold {
		statement = strings.ToValidUTF8(statement[:mostTold], "") + "…"
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	began := time.Now()
	var last atomic.Int64 // since began
	alive := func() { last.Store(int64(time.Since(began))) }
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		a.w.watch(done, func() time.Duration { return time.Since(began) - time.Duration(last.Load()) }, statement,
			func() { end(errSilent) })
	}()
	err := do(ctx, alive)
	close(done)
	<-watched
	if err != nil && context.Cause(ctx) == errSilent {
		a.silent = &Error{Class: Timeout, Fatal: true, Text: fmt.Sprintf(
			"no answer within %s to: %s; see that every node of the cluster answers: one that is down can keep statements waiting",
			a.w.Limit, statement)}
		return a.silent
	}
	return err
}

// watch tells about a wait until done is closed. It calls end once the wait has reached the limit. silent returns how
// long there has been no sign of life.
func (w *Waiting) watch(done <-chan struct{}, silent func() time.Duration, statement string, end func()) {
	for {
		left := w.Limit - silent()
		if left <= 0 {
			end()
			return
		}
		timer := time.NewTimer(min(left, tellEvery))
		select {
		case <-done:
			timer.Stop()
			return
		case <-timer.C:
		}
		if waited := silent(); w.Tell != nil && waited >= tellEvery/2 && waited < w.Limit {
			w.Tell(waited, statement)
		}
	}
}
