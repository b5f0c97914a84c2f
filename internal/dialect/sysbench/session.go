package sysbench

import (
	"sync/atomic"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// Counters count what a session does. The session writes them, and the report reads them.
type Counters struct {
	reads, writes, other, errors, reconnects atomic.Uint64

	events  atomic.Uint64
	busyNs  atomic.Int64 // time in events that have ended
	leastNs atomic.Int64
	mostNs  atomic.Int64

	_ [56]byte // sessions of different threads don't share cache lines
}

// Totals are the counters of a time, of one session or of all.
type Totals struct {
	Reads, Writes, Other, Errors, Reconnects uint64
	Events                                   uint64
	BusyNs                                   int64
}

func (c *Counters) totals() Totals {
	return Totals{c.reads.Load(), c.writes.Load(), c.other.Load(), c.errors.Load(), c.reconnects.Load(),
		c.events.Load(), c.busyNs.Load()}
}

// plus returns the sum of two times.
func (t Totals) plus(o Totals) Totals {
	return Totals{t.Reads + o.Reads, t.Writes + o.Writes, t.Other + o.Other, t.Errors + o.Errors,
		t.Reconnects + o.Reconnects, t.Events + o.Events, t.BusyNs + o.BusyNs}
}

// minus returns what was added since an earlier time.
func (t Totals) minus(o Totals) Totals {
	return Totals{t.Reads - o.Reads, t.Writes - o.Writes, t.Other - o.Other, t.Errors - o.Errors,
		t.Reconnects - o.Reconnects, t.Events - o.Events, t.BusyNs - o.BusyNs}
}

// queries returns how many statements were executed.
func (t Totals) queries() uint64 { return t.Reads + t.Writes + t.Other }

// add adds to a counter that only this goroutine writes, without a locked instruction.
func add(c *atomic.Uint64, n uint64) { c.Store(c.Load() + n) }

// session runs events.
type session struct {
	*program
	number   int
	counters *Counters
	test     *compiled
	rng      random
	index    uint64
	done     uint64 // events of the session
	began    time.Time
	again    uint32 // how often the event was begun again
	fresh    uint32 // unique ids drawn for events that were begun again

	at      int // the part
	left    int // repetitions of it that are to be begun
	table   int // from 0
	drawn   bool
	insert  bool // deleteInserts: the INSERT is next
	rolling bool // the answer to a ROLLBACK is awaited, after which the event is begun again
	dying   bool // … after which the session ends, because of cause
	cause   protocol.Failure
	row     int64  // bulk_insert: the last row
	rows    uint64 // bulk_insert: of the event
	id, k   int64
	request int
	args    [4]gen.Value
	many    []gen.Value
}

// Begin implements script.Session.
func (s *session) Begin(operation int, index uint64) script.Step {
	s.test, s.index, s.again = &s.compiled[operation], index, 0
	s.rng = seeded(s.seed, index)
	s.began = time.Now()
	return s.restart()
}

// Again implements script.Session: an event that is begun again draws new numbers, as in sysbench.
func (s *session) Again() script.Step { return s.restart() }

// Resume implements script.Session; nothing pauses.
func (s *session) Resume() script.Step { return s.next() }

// restart begins the event.
func (s *session) restart() script.Step {
	s.at, s.drawn, s.insert, s.rolling = 0, false, false, false
	return s.next()
}

// next returns the next request of the event, or its end.
func (s *session) next() script.Step {
	for s.at < len(s.test.parts) {
		p := &s.test.parts[s.at]
		if !s.drawn {
			s.drawn, s.left = true, p.count
			if s.table = 0; s.events.tables > 1 && p.block != begin && p.block != commit {
				s.table = int(s.rng.uniform(1, uint32(s.events.tables))) - 1
			}
		}
		if s.insert {
			s.insert = false
			return s.send(p.tail+s.table, s.row4(), false)
		}
		if s.left == 0 {
			s.at, s.drawn = s.at+1, false
			continue
		}
		s.left--
		return s.request1(p)
	}
	return s.over()
}

// request1 returns the next request of a part.
func (s *session) request1(p *part) script.Step {
	last := s.at+1 == len(s.test.parts) && s.left == 0
	switch p.block {
	case begin, commit:
		return s.send(p.first, nil, last)
	case pointSelects, indexUpdates, deletes:
		s.args[0].SetInt(s.draw())
		return s.send(p.first+s.table, s.args[:1], last)
	case simpleRanges, sumRanges, orderRanges, distinctRanges:
		id := s.draw()
		s.args[0].SetInt(id)
		s.args[1].SetInt(id + int64(s.events.rangeSize) - 1)
		return s.send(p.first+s.table, s.args[:2], last)
	case nonIndexUpdates:
		s.digits(&s.args[2], groupsOfC)
		s.args[3].SetInt(s.draw())
		return s.send(p.first+s.table, s.args[2:4], last)
	case deleteInserts:
		s.id, s.k, s.insert = s.draw(), s.draw(), true
		s.args[0].SetInt(s.id)
		return s.send(p.first+s.table, s.args[:1], false)
	case insertRows:
		return s.send(p.first+s.table, s.newRow(), last)
	case randomPoints, randomRanges:
		return s.send(p.first, s.segment(p.block), last)
	}
	size := s.bulkSize(s.index)
	return s.send(p.first+s.number%s.sessions*s.bulkSizes()+size, s.bulkRow(rowsOfBulk>>size), last)
}

func (s *session) send(request int, args []gen.Value, last bool) script.Step {
	s.request = request
	return script.Step{Move: script.Send, Request: request, Args: args, Last: last}
}

// draw returns an id by the law of --rand-type.
func (s *session) draw() int64 { return int64(s.law.draw(&s.rng, 1, uint32(s.events.tableSize))) }

func (s *session) digits(v *gen.Value, groups int) {
	v.Kind, v.B = gen.String, s.rng.digitGroups(v.B[:0], groups)
}

// row4 returns the values of an INSERT after a DELETE.
func (s *session) row4() []gen.Value {
	s.args[0].SetInt(s.id)
	s.args[1].SetInt(s.k)
	s.digits(&s.args[2], groupsOfC)
	s.digits(&s.args[3], groupsOfPad)
	return s.args[:4]
}

// newRow returns the values of a row of oltp_insert.
func (s *session) newRow() []gen.Value {
	s.id, s.k = 0, s.draw()
	if !s.events.autoInc {
		n := uint32(s.index)
		if s.again > 0 { // of numbers far behind those of events
			s.fresh++
			n = 1<<31 + uint32(s.number)<<16 + s.fresh
		}
		s.id = int64(s.unique.at(n)) - 1<<31
	}
	values := s.row4()
	if !s.mysql && s.events.autoInc {
		return values[1:]
	}
	return values
}

// segment returns the values of a SELECT of select_random_points or select_random_ranges, which are in the session's
// own part of the table.
func (s *session) segment(b block) []gen.Value {
	length := float64(s.events.tableSize) / float64(s.sessions)
	low := length * float64(s.number%s.sessions)
	draw := func() int64 { return int64(s.law.draw(&s.rng, uint32(low), uint32(low+length))) }
	if b == randomPoints {
		s.room(s.events.points)
		for i := range s.many {
			s.many[i].SetInt(draw())
		}
		return s.many
	}
	s.room(2 * s.events.ranges)
	for i := 0; i < len(s.many); i += 2 {
		from := draw()
		s.many[i].SetInt(from)
		s.many[i+1].SetInt(from + int64(s.events.delta))
	}
	return s.many
}

// bulkRow returns the values of an INSERT of bulk_insert: the next rows of the session.
func (s *session) bulkRow(rows int) []gen.Value {
	s.rows = uint64(rows)
	s.room(2 * rows)
	for i := 0; i < len(s.many); i += 2 {
		s.row++
		s.many[i].SetInt(s.row)
		s.many[i+1].SetInt(s.row)
	}
	return s.many
}

func (s *session) room(n int) {
	if len(s.many) != n {
		s.many = make([]gen.Value, n)
	}
}

// Answered implements script.Session.
func (s *session) Answered(r *protocol.Reply) script.Step {
	switch {
	case s.dying:
		return s.died()
	case r.Class != protocol.OK:
		return s.failed(r)
	case s.rolling:
		return s.restart()
	}
	c := s.counters
	switch {
	case s.reads(r):
		add(&c.reads, 1)
	case r.Affected > 0:
		add(&c.writes, 1)
	default:
		add(&c.other, 1)
	}
	return s.next()
}

// reads reports whether an answer has rows, which sysbench tells from the result and not from the statement.
func (s *session) reads(*protocol.Reply) bool {
	b := s.test.parts[min(s.at, len(s.test.parts)-1)].block
	return b <= distinctRanges || b == randomPoints || b == randomRanges
}

// failed continues after a failure: with the event's next try, or with the end of the load.
func (s *session) failed(r *protocol.Reply) script.Step {
	c := s.counters
	lost := r.Fatal || r.Class == protocol.Connect || r.Class == protocol.UnknownOutcome
	switch {
	case s.leaving.Load():
		return script.Step{Failure: r.Failure, Quit: true}
	case lost && s.reconnects():
		add(&c.reconnects, 1)
		return script.Step{Failure: r.Failure}
	case !lost && !s.rolling && s.repeats(&r.Failure) && s.fatal.Load() == nil:
		add(&c.errors, 1)
		s.again++
		if !s.mysql {
			s.rolling = true
			return s.send(s.test.rollback, nil, false)
		}
		return s.restart()
	}
	add(&c.errors, 1)
	request := &s.test.requests[s.request]
	s.cause = r.Failure
	s.fail(&fatalError{failure: r.Failure, request: request, simple: request.Simple})
	if lost || s.test.parts[0].block != begin {
		return s.died()
	}
	// Others may wait for the locks of the transaction, and the load for them.
	s.dying = true
	return s.send(s.test.rollback, nil, true)
}

// died ends the session after an error that ends the load.
func (s *session) died() script.Step {
	s.dying = false
	return script.Step{Failure: s.cause, Quit: true}
}

// Aborted implements script.Aborter: an error of the session has ended the load.
func (s *session) Aborted() bool { return s.cause.Class != protocol.OK }

// over ends the event.
func (s *session) over() script.Step {
	c := s.counters
	n := uint64(1)
	if s.test.parts[0].block == bulkRows {
		n = s.rows
	}
	ns := int64(time.Since(s.began))
	if least := c.leastNs.Load(); least == 0 || ns < least {
		c.leastNs.Store(ns)
	}
	if ns > c.mostNs.Load() {
		c.mostNs.Store(ns)
	}
	c.busyNs.Store(c.busyNs.Load() + ns)
	add(&c.events, n)
	s.done++
	every := uint64(s.events.reconnect)
	return script.Step{Quit: s.fatal.Load() != nil, Renew: every > 0 && s.done%every == 0}
}
