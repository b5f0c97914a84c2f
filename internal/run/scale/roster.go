package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"brunt/internal/record"
	"brunt/internal/render/message"
)

// roster is what the coordinator knows of the workers, and how its goroutines and the workers' requests wait until that
// changes.
type roster struct {
	mu      sync.Mutex
	cond    *sync.Cond    // signals that the roster, the end of the load, an inbox or the course has changed
	turn    chan struct{} // closed and replaced when all workers must get an answer at once
	members []*member
}

// member is the coordinator's state of one worker.
type member struct {
	number  int // from 0
	hello   Hello
	process string
	host    string
	state   State // "" until it joins
	seen    time.Time
	joining int // requests of its process that wait for its job
	lost    bool
	lostNs  int64           // when it was lost, by the coordinator's clock
	why     message.Message // why it was lost
	given   bool            // its share was given to other workers
	stopped bool            // it came back after its share was given away
	untilNs int64           // the time until which it may send; see Answer
	gone    string          // how its process ended; "" if that isn't known
	problem *refusal

	rules  []record.AbortRule // see Report
	rows   uint64
	filled json.RawMessage

	asked int // how many times it has asked for phases

	inbox inbox
	// unstored is why its last intervals couldn't be stored; "" if they were
	unstored string
}

// name returns the worker's name in messages: its number from 1 and its host, if known.
func (m *member) name() string {
	if m.host == "" {
		return strconv.Itoa(m.number + 1)
	}
	return fmt.Sprintf("%d (%s)", m.number+1, m.host)
}

// begun reports whether part of the worker's share may have been sent already.
func (m *member) begun() bool { return m.state == Running || m.state == Sent || m.state == Ended }

// sends reports whether a worker may be in its load: it hasn't ended it, and its process isn't known to have ended.
func (m *member) sends() bool { return m.gone == "" && m.state != Sent && m.state != Ended }

// wait blocks until holds returns true or ctx ends; then it returns ctx's error. holds is called with r.mu held.
func (r *roster) wait(ctx context.Context, holds func() bool) error {
	defer context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cond.Broadcast()
	})()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !holds() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.cond.Wait()
	}
	return nil
}

// announce makes the coordinator answer at once all workers that wait for their job or for the start. r.mu must be
// held.
func (r *roster) announce() {
	close(r.turn)
	r.turn = make(chan struct{})
	r.cond.Broadcast()
}

// awaitTurn waits until announce is called, ctx ends, or most has passed, unless most is 0. The caller holds r.mu,
// which is released while it waits.
func (r *roster) awaitTurn(ctx context.Context, most time.Duration) {
	turn := r.turn
	r.mu.Unlock()
	defer r.mu.Lock()
	var late <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-turn:
	case <-ctx.Done():
	case <-late:
	}
}

// Rules returns the thresholds of a script that may end the load, with the values of each worker. It returns nil until
// all workers that aren't lost have reported theirs.
func (r *roster) Rules() (all [][]record.AbortRule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.members {
		if m.rules == nil && !m.lost {
			return nil
		}
		all = append(all, m.rules)
	}
	return all
}

// Rows returns the number of rows that all workers have filled.
func (r *roster) Rows() (rows uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.members {
		rows += m.rows
	}
	return rows
}
