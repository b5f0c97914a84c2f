package script

import (
	"fmt"
	"slices"
	"strings"

	planscript "brunt/internal/plan/script"
	"brunt/internal/protocol"
)

var metaNames = map[meta]string{metaSet: "set", metaSetShell: "setshell", metaShell: "shell", metaSleep: "sleep",
	metaGset: "gset", metaAset: "aset", metaIf: "if", metaElif: "elif", metaElse: "else", metaEndif: "endif",
	metaStartPipeline: "startpipeline", metaSyncPipeline: "syncpipeline", metaEndPipeline: "endpipeline"}

// evaluationFailed ends the client after an expression that can't be evaluated.
func (s *session) evaluationFailed(c *Command) planscript.Step {
	return s.commandFailedAs(c.word, "evaluation of meta-command failed")
}

// commandFailed ends the client for what a command isn't allowed.
func (s *session) commandFailed(c *Command, why string) planscript.Step {
	s.problem = ""
	return s.commandFailedAs(metaNames[c.meta], why)
}

// commandFailedAs ends the client after a command, given as pgbench names it, that failed for s.problem.
func (s *session) commandFailedAs(command, why string) planscript.Step {
	text := fmt.Sprintf("client %d aborted in command %d (%s) of script %d; %s", s.number, s.pc, command, s.script, why)
	problem := s.problem
	s.problem = ""
	return s.abort(protocol.Failure{Class: protocol.Client, Code: AbortedCode}, problem, text)
}

// aborted ends the client for a reason that isn't a command's.
func (s *session) aborted(why string) planscript.Step {
	return s.abort(protocol.Failure{Class: protocol.Client, Code: AbortedCode},
		fmt.Sprintf("client %d aborted: %s", s.number, why))
}

// abort ends the client with a failure that isn't repeated. The messages are what pgbench prints; empty ones aren't.
func (s *session) abort(f protocol.Failure, messages ...string) planscript.Step {
	messages = slices.DeleteFunc(messages, func(m string) bool { return m == "" })
	if h := s.program.options.Host; h != nil && h.Error != nil {
		for _, m := range messages {
			h.Error(m)
		}
	}
	for i, m := range messages {
		for _, part := range []string{"LINE ", "DETAIL:  ", "HINT:  ", "QUERY:  ", "CONTEXT:  "} {
			m, _, _ = strings.Cut(m, "\n"+part)
		}
		messages[i] = m
	}
	s.gaveUp = true
	f.Text = protocol.Line(strings.Join(messages, "; "), "") // a failure is one line
	return planscript.Step{Move: planscript.End, Failure: f, Quit: true}
}

// Aborted implements planscript.Aborter.
func (s *session) Aborted() bool { return s.gaveUp }

// unfinished ends the client after a script that leaves a transaction open. pgbench counts it as processed; where its
// message can't be shown, it is a failure.
func (s *session) unfinished() planscript.Step {
	step := s.aborted("end of script reached without completing the last transaction")
	if h := s.program.options.Host; h != nil && h.Error != nil {
		step.Failure = protocol.Failure{}
	}
	return step
}

// info says what pgbench says with --verbose-errors.
func (s *session) info(text func() string) {
	if h := s.program.options.Host; s.program.options.Verbose && h != nil && h.Info != nil {
		h.Info(text())
	}
}

// repeated notes that the failed transaction is repeated.
func (s *session) repeated() {
	if s.failed < 0 {
		return
	}
	c := &s.program.counts[s.script][s.failed]
	c.failures.Add(^uint64(0))
	c.retries.Add(1)
	s.info(func() string { return s.try("repeats the transaction after the error") })
	s.failed = -1
}

// ended notes that the failed transaction isn't repeated.
func (s *session) ended() {
	if s.failed < 0 {
		return
	}
	s.info(func() string { return s.try("ends the failed transaction") })
	s.failed = -1
}

// try returns a message with the number of the try.
func (s *session) try(what string) string {
	limit := ""
	if most := s.program.options.MaxTries; most > 0 {
		limit = fmt.Sprintf("/%d", most)
	}
	return fmt.Sprintf("client %d %s (try %d%s)", s.number, what, s.tries, limit)
}
