package script

import (
	"fmt"
	"strings"
)

// tracing is what a session remembers for the lines that pgbench prints with --debug.
type tracing struct {
	to       func(line string) // nil: they aren't printed
	prepared map[int]bool      // numbers of the statements that the connection has prepared
	syncs    int               // of the pipeline that is sent
	answers  []bool            // what its answer consists of: true for a statement, false for a synchronization point
}

// trace prints a line about the client.
func (s *session) trace(format string, values ...any) {
	if s.tracing.to != nil {
		s.tracing.to(fmt.Sprintf("client %d ", s.number) + fmt.Sprintf(format, values...))
	}
}

// traceBegin prints that a script is begun.
func (s *session) traceBegin() {
	if s.tracing.to == nil {
		return
	}
	if s.program.options.Host.Each {
		clear(s.tracing.prepared)
	}
	s.trace(`executing script "%s"`, s.program.scripts[s.script].Name)
}

// traceCommand prints that a backslash command is executed.
func (s *session) traceCommand(c *Command) {
	if s.tracing.to == nil || c.SQL || c.meta == metaGset || c.meta == metaAset {
		return
	}
	s.trace("%s", strings.Join(append([]string{`executing \` + c.word}, c.words...), " "))
	if t := &s.tracing; c.meta == metaStartPipeline {
		t.syncs, t.answers = 0, t.answers[:0]
		for at := s.pc + 1; s.program.options.Mode == Prepared && at < len(s.program.scripts[s.script].Commands); at++ {
			next := &s.program.scripts[s.script].Commands[at]
			if next.meta == metaEndPipeline {
				break
			}
			s.tracePrepared(next)
		}
	}
}

// tracePrepared prints that a statement is prepared, if it is one that isn't yet.
func (s *session) tracePrepared(c *Command) {
	if t := &s.tracing; c.number > 0 && !t.prepared[c.number] {
		t.prepared[c.number] = true
		s.trace("preparing P_%d", c.number-1)
	}
}

// traceSent prints that a statement is sent, and waited for unless it is one of a pipeline.
func (s *session) traceSent(c *Command) {
	if s.tracing.to == nil {
		return
	}
	text := c.statement.text
	switch {
	case s.program.options.Mode == Prepared:
		s.tracePrepared(c)
		text = fmt.Sprintf("P_%d", c.number-1)
	case len(c.statement.pieces) > 0:
		text = string(s.text)
	}
	s.trace("sending %s", text)
	if s.pipeline != nil {
		s.tracing.answers = append(s.tracing.answers, true)
		return
	}
	s.traceReceiving()
}

// traceReceiving prints that an answer is waited for, and that it has come.
func (s *session) traceReceiving() {
	s.trace("receiving")
	s.trace("receiving")
}

// traceSync notes a synchronization point.
func (s *session) traceSync() {
	s.tracing.syncs++
	s.tracing.answers = append(s.tracing.answers, false)
}

// tracePipeline prints how the answers of a pipeline are received: up to the end of each statement's.
func (s *session) tracePipeline() {
	if s.tracing.to == nil {
		return
	}
	s.traceSync()
	s.trace("receiving")
	for begun, i := false, 0; i < len(s.tracing.answers); i++ {
		if !begun {
			s.trace("receiving")
		}
		if begun = !s.tracing.answers[i]; !begun {
			continue
		}
		line := "pipeline ending"
		if s.program.options.Version >= syncVersion {
			line += fmt.Sprintf(", ongoing syncs: %d", s.tracing.syncs)
		}
		s.trace("%s", line)
		s.tracing.syncs--
	}
}
