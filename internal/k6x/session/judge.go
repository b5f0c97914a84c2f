//go:build !nok6

package session

import (
	"brunt/internal/measure"
	"brunt/internal/record"
)

// Dropped counts iterations of a scenario that k6 gave up because no VU was free.
func (s *Session) Dropped(scenario string, n uint64) {
	operation := s.Operation(IterationName(scenario))
	s.dropped.Add(n)
	s.shards[0].Do(func(r *measure.Recorder) { r.GiveUp(operation, measure.UnsentNoSession, n) })
}

// Threw counts an iteration that ended with an exception.
func (s *Session) Threw() { s.threw.Add(1) }

// IterationName is the name of the operation that a scenario's iterations are, where they count as such.
func IterationName(scenario string) string { return "iteration " + scenario }

// counted are the iterations so far.
func (s *Session) counted() *record.Iterations {
	return &record.Iterations{Done: s.iterations.Load(), Dropped: s.dropped.Load(), Threw: s.threw.Load()}
}
