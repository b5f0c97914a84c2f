package fill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"brunt/internal/protocol"
)

// session is the Admin session of one worker. It is opened when needed. If it fails, it moves on to the next address.
type session struct {
	j      *job
	target int
	admin  protocol.Admin
}

// newSession assigns the workers to the addresses in turn.
func (j *job) newSession(worker int) *session {
	return &session{j: j, target: worker % len(j.c.Targets)}
}

func (s *session) close() {
	if s.admin != nil {
		// An error of Close loses nothing: each statement has been answered.
		_ = s.admin.Close()
		s.admin = nil
	}
}

// try calls f with an open session, up to Config.Attempts times. After a failure that may pass, such as a lost
// connection, it continues at the next address. It doesn't repeat what the server refused, because the server would
// refuse it again.
func (s *session) try(ctx context.Context, f func(a protocol.Admin, attempt int) error) error {
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

func (s *session) once(ctx context.Context, attempt int, f func(a protocol.Admin, attempt int) error) error {
	if s.admin == nil {
		a, err := s.j.c.Driver.Admin(ctx, s.j.c.Targets[s.target])
		if err != nil {
			return err
		}
		s.admin = a
	}
	return f(s.admin, attempt)
}

// passing reports whether another attempt, possibly at another address, may succeed.
func passing(err error) bool {
	var e *protocol.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Class {
	case protocol.Connect, protocol.Timeout, protocol.Retryable, protocol.UnknownOutcome, protocol.Protocol:
		return true
	}
	return e.Fatal
}

// Progress is the progress of a load.
type Progress struct {
	Table    string        // name of the table that received rows last
	Done     uint64        // rows of this table that are loaded, including those of an earlier run
	Total    uint64        // all rows of this table
	AllDone  uint64        // the same for all tables together
	AllTotal uint64        // of all tables
	RatePerS float64       // rows loaded per second since the load began
	Left     time.Duration // estimated time for the remaining rows of all tables; 0 if unknown
}

// progress counts rows as they are loaded. It is safe for concurrent use, except for resumed.
type progress struct {
	c     *Config
	mu    sync.Mutex
	done  []uint64 // by table
	all   uint64
	total uint64 // of the chunks that this process loads
	sent  uint64 // by this run
	began time.Time
	told  time.Time
}

func newProgress(c *Config) *progress {
	p := &progress{c: c, done: make([]uint64, len(c.Tables)), began: c.Now()}
	p.told = p.began
	return p
}

// resumed adds rows that an earlier run loaded.
func (p *progress) resumed(table int, rows uint64) {
	p.done[table] += rows
	p.all += rows
}

func (p *progress) add(table int, rows int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[table] += uint64(rows)
	p.all += uint64(rows)
	p.sent += uint64(rows)
	if now := p.c.Now(); now.Sub(p.told) >= time.Second {
		p.say(table, now)
	}
}

// tell reports progress even if the last report was less than a second ago.
func (p *progress) tell(table int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say(table, p.c.Now())
}

func (p *progress) say(table int, now time.Time) {
	p.told = now
	if p.c.Progress == nil {
		return
	}
	t := &p.c.Tables[table]
	said := Progress{Table: t.Name, Done: p.done[table], Total: t.Rows, AllDone: p.all, AllTotal: p.total}
	if s := now.Sub(p.began).Seconds(); s > 0 {
		said.RatePerS = float64(p.sent) / s
	}
	if said.RatePerS > 0 {
		said.Left = time.Duration(float64(p.total-p.all) / said.RatePerS * float64(time.Second))
	}
	p.c.Progress(said)
}

// told counts the rows that one attempt at a chunk has reported, so that they can be subtracted if it fails.
type told struct {
	p     *progress
	table int
	mu    sync.Mutex
	rows  uint64
}

func (p *progress) attempt(table int) *told { return &told{p: p, table: table} }

func (t *told) add(rows uint64) {
	t.mu.Lock()
	t.rows += rows
	t.mu.Unlock()
	t.p.add(t.table, int64(rows))
}

func (t *told) takeBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p.add(t.table, -int64(t.rows))
	t.rows = 0
}

// complete adds the rows that the driver hasn't reported.
func (t *told) complete(rows uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p.add(t.table, int64(rows)-int64(t.rows))
	t.rows = rows
}
