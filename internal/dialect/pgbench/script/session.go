package script

import (
	"fmt"
	"strings"
	"time"

	"brunt/internal/load/gen"
	planscript "brunt/internal/plan/script"
	"brunt/internal/protocol"
)

// AbortedCode is the code of failures that pgbench aborts a client for and that aren't the server's.
const AbortedCode = "client-aborted"

// SQLSTATEs of failures after which a transaction may be repeated.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
)

// session runs the scripts of a client. It implements planscript.Session and planscript.Chooser.
type session struct {
	machine
	program *Program
	timed   bool // commands that aren't sent are timed
	number  int
	choice  prng

	script int
	pc     int // the current command
	begun  uint64
	saved  prng // the random state that the transaction began with
	tries  uint32

	open     bool     // a transaction block is open
	pipeline *variant // what has been collected; nil outside of pipelines
	failure  protocol.Failure
	failed   int // the command that failed; −1: none, or it is dealt with
	tracing  tracing
	rolling  bool      // the request is the ROLLBACK after a failure
	gaveUp   bool      // the client is aborted
	again    bool      // the transaction begins again after the ROLLBACK
	request  int       // the last one
	began    time.Time // of the current command, if commands are timed

	args []gen.Value
	text []byte // what args refer to
}

var (
	_ planscript.Chooser = (*session)(nil)
	_ planscript.Aborter = (*session)(nil)
)

// Choose returns the script that is begun next.
func (s *session) Choose(uint64) int {
	p := s.program
	if len(p.scripts) == 1 || p.total <= 0 {
		return 0
	}
	if p.shares {
		return s.share()
	}
	w := s.choice.uniform(0, int64(p.total)-1)
	for i, weight := range p.weights {
		if w -= int64(weight); w < 0 {
			return i
		}
	}
	return len(p.weights) - 1
}

// share chooses by weights that aren't whole numbers, which pgbench doesn't have.
func (s *session) share() int {
	w := s.choice.double() * s.program.total
	for i, weight := range s.program.weights {
		if w -= weight; w < 0 {
			return i
		}
	}
	return 0
}

// Begin begins a transaction.
func (s *session) Begin(operation int, _ uint64) planscript.Step {
	s.ended()
	s.script = operation
	s.saved = s.random
	s.begun++
	s.tries = 1
	s.traceBegin()
	return s.start()
}

// Again begins the transaction again, with the random state that it began with.
func (s *session) Again() planscript.Step {
	s.repeated()
	s.random = s.saved
	s.tries++
	return s.start()
}

func (s *session) start() planscript.Step {
	s.pc = 0
	s.open, s.rolling, s.again, s.pipeline, s.failed = false, false, false, nil, -1
	return s.run()
}

// Resume continues after \sleep.
func (s *session) Resume() planscript.Step {
	s.took(s.pc)
	s.pc++
	return s.run()
}

// run runs commands until one of them needs the engine.
func (s *session) run() planscript.Step {
	commands := s.program.scripts[s.script].Commands
	for s.pc < len(commands) {
		c := &commands[s.pc]
		at := s.pc
		if s.timed {
			s.began = time.Now()
		}
		s.traceCommand(c)
		switch c.meta {
		case metaSet:
			if step, ok := s.set(c); !ok {
				return step
			}
		case metaSQL, metaGset, metaAset:
			if step, ok := s.statement(c); !ok {
				return step
			}
		case metaIf:
			if step, ok := s.branch(commands); !ok {
				return step
			}
			s.took(at)
			continue
		case metaElif, metaElse: // after a branch that was taken
			s.pc = c.end
		case metaSleep:
			return s.sleep(c)
		case metaSetShell, metaShell:
			if step, ok := s.shell(c); !ok {
				return step
			}
		case metaStartPipeline, metaSyncPipeline, metaEndPipeline:
			if step, ok := s.pipe(c); !ok {
				return step
			}
		}
		s.took(at)
		s.pc++
	}
	if s.pipeline != nil {
		return s.aborted("end of script reached with pipeline open")
	}
	if s.open {
		return s.unfinished()
	}
	return s.over(protocol.Failure{})
}

// took tells how long a command took that hasn't been sent.
func (s *session) took(command int) {
	if s.timed {
		s.program.options.Host.Timed(s.number, s.script, command, time.Since(s.began))
	}
}

// over ends the transaction.
func (s *session) over(f protocol.Failure) planscript.Step {
	limit := s.program.options.Transactions
	return planscript.Step{Move: planscript.End, Failure: f, Quit: limit > 0 && s.begun >= limit}
}

// send sends a request.
func (s *session) send(request int, last bool) planscript.Step {
	s.request = request
	return planscript.Step{Move: planscript.Send, Request: request, Args: s.args, Last: last}
}

// statement sends a statement, or adds it to the pipeline.
func (s *session) statement(c *Command) (step planscript.Step, collected bool) {
	if s.pipeline != nil {
		if c.meta != metaSQL {
			return s.commandFailed(c, `\`+metaNames[c.meta]+" is not allowed in pipeline mode"), false
		}
		s.collect(&c.statement)
		s.traceSent(c)
		return planscript.Step{}, true
	}
	s.args, s.text = s.args[:0], s.text[:0]
	if len(c.statement.pieces) > 0 {
		s.substitute(&c.statement)
	} else {
		s.bind(&c.statement)
	}
	s.traceSent(c)
	return s.send(c.Request, c.last), false
}

// bind makes the arguments of a statement. A variable that isn't defined is NULL.
func (s *session) bind(st *statement) {
	for _, slot := range st.params {
		v := &s.vars[slot]
		if !v.defined() {
			s.args = append(s.args, gen.Value{Kind: gen.Null})
			continue
		}
		s.args = append(s.args, gen.Value{Kind: gen.String, B: v.content()})
	}
}

// collect adds a statement to the pipeline. Variables may change before the pipeline is sent, so it has copies.
func (s *session) collect(st *statement) {
	first := len(s.args)
	s.bind(st)
	for i := first; i < len(s.args); i++ {
		from := len(s.text)
		s.text = append(s.text, s.args[i].B...)
		if s.args[i].Kind != gen.Null {
			s.args[i].B = s.text[from:len(s.text):len(s.text)]
		}
	}
	s.pipeline = s.pipeline.next[s.pc]
}

// substitute makes the text of a statement in simple mode. References to variables that aren't defined remain.
func (s *session) substitute(st *statement) {
	for i := range st.pieces {
		p := &st.pieces[i]
		s.text = append(s.text, p.text...)
		if p.slot < 0 {
			continue
		}
		if v := &s.vars[p.slot]; v.defined() {
			s.text = append(s.text, v.content()...)
		} else {
			s.text = append(s.text, p.name...)
		}
	}
	s.args = append(s.args, gen.Value{Kind: gen.String, B: s.text})
}

// pipe runs the commands of pipelines.
func (s *session) pipe(c *Command) (step planscript.Step, done bool) {
	switch {
	case c.meta == metaStartPipeline && s.program.options.Mode == Simple:
		return s.commandFailed(c, "cannot use pipeline mode with the simple query protocol"), false
	case c.meta == metaStartPipeline && s.pipeline != nil:
		return s.commandFailed(c, "already in pipeline mode"), false
	case c.meta == metaStartPipeline:
		s.pipeline = c.pipeline
		s.args, s.text = s.args[:0], s.text[:0]
		return step, true
	case s.pipeline == nil:
		return s.commandFailed(c, "not in pipeline mode"), false
	case c.meta == metaSyncPipeline:
		s.traceSync()
		s.pipeline = s.pipeline.next[s.pc]
		return step, true
	}
	s.tracePipeline()
	v := s.pipeline
	s.pipeline = nil
	if v.request < 0 { // no statement: nothing to wait for
		return step, true
	}
	return s.send(v.request, c.last), false
}

// Answered continues after the answer to a request.
func (s *session) Answered(reply *protocol.Reply) planscript.Step {
	if h := s.program.options.Host; len(reply.Notices) > 0 && h != nil && h.Notice != nil {
		for _, n := range reply.Notices {
			h.Notice(ReportText(n, s.sentText(reply)))
		}
	}
	if reply.Class != protocol.OK {
		return s.refused(reply)
	}
	if s.again {
		s.random = s.saved
		return s.start()
	}
	if s.rolling {
		return s.over(s.failure)
	}
	s.open = reply.InBlock
	c := &s.program.scripts[s.script].Commands[s.pc]
	if c.statement.result != metaSQL {
		if problem := s.store(c, reply); problem != "" {
			refused := s.problem
			s.problem = ""
			return s.abort(protocol.Failure{Class: protocol.Client, Code: AbortedCode}, refused, problem)
		}
	}
	s.pc++
	return s.run()
}

// lostAsleep says that the connection was lost during a \sleep. pgbench notices it in the next command for the server.
func (s *session) lostAsleep(failure *protocol.Failure) string {
	commands := s.program.scripts[s.script].Commands
	next := s.pc
	for k := range commands {
		if at := (s.pc + k) % len(commands); commands[at].meta == metaSQL {
			next = at
			break
		}
	}
	if failure.Code == "" {
		return died(s.number, next, s.script)
	}
	return fmt.Sprintf("client %d script %d aborted in command %d query 0: FATAL:  %s", s.number, s.script, next,
		failure.Text)
}

// died says that a connection was lost, and the server hasn't said why.
func died(client, command, script int) string {
	return fmt.Sprintf("client %d aborted in command %d (SQL) of script %d; perhaps the backend died while processing",
		client, command, script)
}

// refused continues after a request that failed.
func (s *session) refused(reply *protocol.Reply) planscript.Step {
	c := &s.program.scripts[s.script].Commands[s.pc]
	failure := reply.Failure
	switch {
	case c.meta == metaSleep && failure.Fatal:
		return s.abort(failure, s.lostAsleep(&failure))
	case c.meta == metaSleep: // the operation's timeout has ended it
		return s.over(failure)
	case s.rolling:
		return s.abort(failure, fmt.Sprintf("client %d aborted while rolling back the transaction after an error; %s",
			s.number, s.message(reply)))
	case failure.Fatal:
		return s.abort(failure, died(s.number, s.pc, s.script))
	case reply.InBlock && s.program.options.Mode == Prepared && strings.Contains(failure.Text, preparedByUs):
		s.again = true
		return s.rollback()
	case failure.Code != serializationFailure && failure.Code != deadlockDetected:
		return s.abort(failure, fmt.Sprintf("client %d script %d aborted in command %d query %d: %s", s.number, s.script,
			s.pc, s.query(reply), s.message(reply)))
	}
	s.failure, s.failed = failure, s.pc
	s.program.counts[s.script][s.pc].failures.Add(1)
	s.info(func() string {
		return fmt.Sprintf("client %d got an error in command %d (SQL) of script %d; %s", s.number, s.pc, s.script,
			s.message(reply))
	})
	if !reply.InBlock {
		return s.over(failure)
	}
	return s.rollback()
}

// preparedByUs is in the server's message that a pooler has given the session another session of the server, where the
// name of a statement stands for nothing yet, or is taken. The protocol's driver then sends no names any more. Outside
// of transactions it sends the request again.
const preparedByUs = `prepared statement "brunt_`

// rollback rolls the open transaction back.
func (s *session) rollback() planscript.Step {
	s.rolling = true
	s.args = s.args[:0]
	return s.send(s.program.rollback[s.script], !s.again)
}

// query returns pgbench's number of the statement that failed. In a pipeline, it counts the synchronization points
// just before the statement.
func (s *session) query(reply *protocol.Reply) (n int) {
	parts := s.program.requests[s.script][s.request].Pipeline
	if len(parts) == 0 {
		return reply.Statements
	}
	succeeded := reply.Statements
	for _, p := range parts {
		if p.Text != "" && succeeded == 0 {
			return n
		}
		if p.Text != "" {
			n = 0
			succeeded--
		}
		if p.Sync {
			n++
		}
	}
	return 0
}

// store stores what \gset or \aset has got. problem says what is wrong with it.
func (s *session) store(c *Command, reply *protocol.Reply) (problem string) {
	place := func() string {
		return fmt.Sprintf("client %d script %d command %d query %d: ", s.number, s.script, s.pc,
			max(c.statement.parts, 1)-1)
	}
	if c.meta == metaGset && reply.Rows != 1 {
		return place() + fmt.Sprintf("expected one row, got %d", reply.Rows)
	}
	for i, column := range reply.Columns {
		if i >= len(reply.Captured) {
			break
		}
		slot, ok := s.program.index[c.statement.prefix+column]
		if !ok {
			if name := c.statement.prefix + column; !validName(name) {
				s.problem = fmt.Sprintf(`%s: invalid variable name: "%s"`, metaNames[c.meta], name)
				return place() + "error storing into variable " + name
			}
			continue // no command uses it
		}
		v := &reply.Captured[i]
		if v.Kind == gen.Null {
			s.vars[slot].setText(nil)
			continue
		}
		s.vars[slot].setText(v.B)
	}
	return ""
}

// set runs \set.
func (s *session) set(c *Command) (step planscript.Step, ok bool) {
	v, ok := s.eval(c.expression)
	if !ok {
		return s.evaluationFailed(c), false
	}
	if !c.valid {
		s.problem = fmt.Sprintf(`%s: invalid variable name: "%s"`, c.word, c.words[0])
		return s.commandFailedAs("set", "assignment of meta-command failed"), false
	}
	s.vars[c.slot].set(v)
	return step, true
}

// branch runs \if, with the \elif that follow, and goes to the branch that is taken.
func (s *session) branch(commands []Command) (step planscript.Step, ok bool) {
	for {
		c := &commands[s.pc]
		v, ok := s.eval(c.expression)
		switch {
		case !ok:
			return s.evaluationFailed(c), false
		case v.truth():
			s.pc++
			return step, true
		}
		s.pc = c.other
		if commands[s.pc].meta != metaElif {
			s.pc++
			return step, true
		}
		s.traceCommand(&commands[s.pc])
	}
}

// sleep runs \sleep.
func (s *session) sleep(c *Command) planscript.Step {
	n := c.sleep.number
	if c.sleep.slot >= 0 {
		v := &s.vars[c.sleep.slot]
		if !v.defined() {
			s.problem = fmt.Sprintf(`%s: undefined variable "%s"`, c.word, c.sleep.name)
			return s.commandFailedAs("sleep", "execution of meta-command failed")
		}
		text := string(v.content())
		if n = toInt(text); n == 0 && (text == "" || !digit(text[0])) {
			s.problem = fmt.Sprintf(`%s: invalid sleep time "%s" for variable "%s"`, c.word, text, c.sleep.name)
			return s.commandFailedAs("sleep", "execution of meta-command failed")
		}
	}
	// The C program computes microseconds in an int.
	pause := time.Duration(n*int32(c.sleep.unit/time.Microsecond)) * time.Microsecond
	return planscript.Step{Move: planscript.Pause, Pause: max(pause, 0)}
}

// shell runs \shell and \setshell.
func (s *session) shell(c *Command) (step planscript.Step, ok bool) {
	words, name := c.words, "shell"
	if c.meta == metaSetShell {
		words, name = c.words[1:], "setshell"
	}
	if s.problem = s.shellCommand(c, words); s.problem != "" {
		return s.commandFailedAs(name, "execution of meta-command failed"), false
	}
	return step, true
}

// maxShellCommand is the size of pgbench's buffer for shell commands.
const maxShellCommand = 256

// shellCommand runs a shell command. problem says what went wrong.
func (s *session) shellCommand(c *Command, words []string) (problem string) {
	var b strings.Builder
	for i, word := range words {
		if slot := c.slots[i]; slot >= 0 && !s.vars[slot].defined() {
			return fmt.Sprintf(`%s: undefined variable "%s"`, words[0], word)
		} else if slot >= 0 {
			word = string(s.vars[slot].content())
		} else {
			word = strings.TrimPrefix(word, ":")
		}
		if i > 0 {
			word = " " + word
		}
		if b.Len()+len(word) >= maxShellCommand-1 {
			return words[0] + ": shell command is too long"
		}
		b.WriteString(word)
	}
	h := s.program.options.Host
	if h == nil || h.Shell == nil {
		return words[0] + ": shell commands can't be run here"
	}
	output, err := h.Shell(b.String(), c.meta == metaSetShell)
	if c.meta == metaShell {
		if err != nil {
			return words[0] + ": could not launch shell command"
		}
		return ""
	}
	return s.setShell(c, words[0], output)
}

// setShell stores the first line of a command's output, which must be an integer.
func (s *session) setShell(c *Command, program, output string) (problem string) {
	const most = 63 // bytes of output that pgbench reads
	first, _, _ := strings.Cut(output, "\n")
	if output == "" {
		return program + ": could not read result of shell command"
	}
	shown := output[:min(len(first)+1, len(output), most)]
	number := strings.TrimRight(shown, " \t\n\v\f\r")
	if digits := strings.TrimLeft(strings.TrimLeft(number, " \t\v\f\r"), "+-"); digits == "" && number != "" ||
		!allDigits([]byte(digits)) {
		return fmt.Sprintf(`%s: shell command must return an integer (not "%s")`, program, shown)
	}
	if !c.valid {
		return fmt.Sprintf(`setshell: invalid variable name: "%s"`, c.words[0])
	}
	s.vars[c.slot].set(intValue(int64(toInt(number))))
	if to := s.tracing.to; to != nil {
		first := "(null)"
		if len(c.words) > 2 {
			first = c.words[2]
		}
		to(fmt.Sprintf(`%s: shell parameter name: "%s", value: "%s"`, program, first, shown))
	}
	return ""
}
