// Package verdict decides whether a result is valid and whether it passes: it evaluates thresholds and defaults, and
// finds out whether the generator or the server limited the load. Its functions compute from an account of a run, of
// one phase, or of several machines merged. They print nothing.
package verdict

import (
	"slices"
	"time"

	"brunt/internal/judge/exitcode"
	"brunt/internal/measure"
	"brunt/internal/plan/metric"
	"brunt/internal/protocol"
	"brunt/internal/record"
	"brunt/internal/render/message"
)

// The results of a verdict.
const (
	Pass    = "pass"
	Fail    = "fail"
	Invalid = "invalid"
)

// ExitCode returns the exit code of the program for a run, by how it ended and by its verdict.
func ExitCode(run *record.Run) int {
	switch {
	case run.Interrupted:
		return exitcode.Interrupted
	case run.Verdict.Result == Invalid:
		return exitcode.Invalid
	case run.Verdict.Result == Fail:
		return exitcode.Threshold
	}
	return exitcode.Pass
}

// Judge fills run.Thresholds and run.Verdict from the account of the load, and then appends the warnings of Assess. The
// fields that describe the run must be filled in before: see record.Fill. Judge evaluates the thresholds that are
// listed in run.Thresholds.
func Judge(run *record.Run, load *measure.Account) {
	j := &judge{run: run, load: load, all: load.All()}
	run.Thresholds = j.thresholds()
	v := &run.Verdict
	invalid := j.invalid()
	j.lateAlone = j.open() && len(invalid) > 0 && len(invalid) == len(j.late())
	failed := j.failed()
	switch {
	case len(invalid) > 0 && !j.serversDoing(failed):
		*v = record.Verdict{Result: Invalid, Reasons: append(invalid, messages(failed)...), LateAlone: j.lateAlone &&
			len(failed) == 0}
	case len(failed) > 0:
		*v = record.Verdict{Result: Fail, Reasons: messages(failed)}
		for _, why := range invalid {
			v.Reasons = append(v.Reasons, message.New("verdict.besides", message.Nested("why", why)))
		}
	default:
		*v = record.Verdict{Result: Pass, Reasons: j.passed()}
	}
	if j.open() && j.all.WithoutGenerator.Count() > 0 {
		v.AddedP50Ns, v.AddedP99Ns = record.Ns(j.added(0.5)), record.Ns(j.added(tailOf(&j.all.Counts)))
	}
	if run.Interrupted {
		v.Reasons = append([]message.Message{
			message.New("verdict.interrupted", message.Span("at", time.Duration(run.DurationNs)))}, v.Reasons...)
	}
	run.Warnings = append(run.Warnings, Assess(run)...)
}

// Words returns the words with which reports name the verdict of a run, none if it has no verdict. An interrupted run
// has not passed, whatever held up to then. As in ExitCode, the interruption comes before a failure.
func Words(run *record.Run) []string {
	switch result := run.Verdict.Result; {
	case result == "":
		return nil
	case !run.Interrupted:
		return []string{result}
	case result == Pass:
		return []string{interrupted}
	default:
		return []string{interrupted, result}
	}
}

// interrupted is the word for a run that was interrupted.
const interrupted = "interrupted"

// judge holds the state while one run is judged.
type judge struct {
	run  *record.Run
	load *measure.Account
	all  measure.OperationAccount
	// rules has the parsed rule of each of the run's thresholds; nil for a threshold that doesn't parse.
	rules []*metric.Rule

	lateAlone bool // the only reason for an invalid result is that operations were sent late
	room      bool // operations were sent late, but every rule has a margin larger than the lag; see roomy
}

// open reports whether the run had arrivals that follow a schedule.
func (j *judge) open() bool { return open(j.run) }

func open(run *record.Run) bool { return run.LoadModel != "closed" }

// thresholds evaluates the run's thresholds and fills j.rules. A threshold that ended the load fails. The thresholds of
// k6 scripts, which don't parse here, are returned as k6 judged them.
func (j *judge) thresholds() (out []record.Threshold) {
	for _, was := range j.run.Thresholds {
		rule, err := metric.ParseRule(was.Text)
		if err != nil {
			j.rules = append(j.rules, nil)
			out = append(out, was)
			continue
		}
		j.rules = append(j.rules, &rule)
		if was.Windowed {
			was.Pass = was.Pass && !was.Aborted
			out = append(out, was)
			continue
		}
		o := Evaluate(&rule, j.run.OperationNames(), j.load)
		out = append(out, record.Threshold{
			Text: was.Text, Limit: rule.Limit, Aborted: was.Aborted,
			Value: record.Figure(o.Value), Unit: o.Unit, Pass: o.Pass && !was.Aborted,
		})
	}
	return out
}

// The defaults for a run without thresholds.
const (
	// errorsDefault is the share of failed operations from which on the run fails. Chosen: from there on there is no
	// p99 of the response times, because failed operations have none.
	errorsDefault = 0.01
	// rateDefault is the smallest share of the arrivals that must be sent before the schedule ends. Chosen: what is
	// reported as a rate is then within a twentieth of the one asked for.
	rateDefault = 0.95
	// sessionsDefault is the smallest share of the requested sessions that must be connected on average. Chosen as
	// rateDefault.
	sessionsDefault = 0.95
)

// brokenID is the message id of a verdict's reason that a threshold is broken.
const brokenID = "verdict.broken"

// Broken returns the message that a threshold is broken, with its measured value.
func Broken(t *record.Threshold) message.Message {
	return message.New("threshold.broken", message.Text("threshold", t.Text),
		message.Beside("value", float64(t.Value), t.Limit, t.Unit))
}

// WithoutTables returns a reason of a verdict without its reference to the report's tables. Only the report of a single
// run has those tables.
func WithoutTables(reason message.Message) message.Message {
	if reason.ID == brokenID {
		return message.New("threshold.broken", reason.Args...)
	}
	return reason
}

// failed returns the reasons why the run failed; nil if it didn't.
func (j *judge) failed() (out []failure) {
	c := &j.all.Counts
	nothing := c.OK() == 0 && c.Arrivals() > 0
	broken := false
	for i := range j.run.Thresholds {
		if t := &j.run.Thresholds[i]; !t.Pass {
			broken = true
			out = append(out, failure{text: message.New(brokenID, Broken(t).Args...),
				servers: nothing || j.errorsBreak(j.rules[i]) || j.lateAlone && j.slowAnyway(j.rules[i])})
		}
	}
	if !j.run.Aborted.IsZero() {
		out = append(out, failure{text: message.New("verdict.stopped", message.Nested("why", j.run.Aborted))})
	}
	switch {
	case c.OK() > 0:
		if len(j.run.Thresholds) == 0 {
			out = append(out, j.defaults()...)
		}
	case nothing && !broken:
		out = append(out, failure{servers: true, text: message.New("verdict.nothing-succeeded",
			message.Nested("fates", j.fates()))})
	}
	return slices.Concat(out, j.unreadable(), j.unrecovered(), j.wrongWrites(), j.violated(), j.sessions(),
		j.gaveUp(), j.goals())
}

// gaveUp returns a failure if sessions took no further operations after a failure: what they would have sent is
// missing, however few operations have failed.
func (j *judge) gaveUp() []failure {
	n := 0
	for i := range j.run.Phases { // those of a warm-up are missing afterwards
		n += int(j.run.Phases[i].Aborted)
	}
	if n == 0 {
		return nil
	}
	return []failure{{servers: true, text: message.New("verdict.aborted", message.Count("n", n),
		message.Count("asked", max(j.run.Sessions, n)))}}
}

// unreadable returns a failure if answers made no sense: no share of them is tolerated by a rule about errors, because
// nothing is known of what such requests did, and other answers may have been misread without notice. Scripts of k6 are
// left out: k6 gives errors of any kind that it doesn't know a code which is counted here.
func (j *judge) unreadable() []failure {
	n := j.all.Errors[protocol.Protocol]
	if n == 0 || j.run.Iterations != nil {
		return nil
	}
	return []failure{{servers: true, text: message.New("verdict.unreadable", message.Count("n", n))}}
}

// goals returns a failure for each adaptive phase whose goal the servers didn't keep: most decisions were at the least
// rate that is allowed, or no decision found the goal met. See confidence.Fill.
func (j *judge) goals() (out []failure) {
	for i := range j.run.Phases {
		p := &j.run.Phases[i]
		switch a := p.Adaptive; {
		case p.WarmUp || a == nil:
		case a.AtLeast > record.AtLimit:
			out = append(out, failure{servers: true, text: message.New("adaptive-at-least", message.Text("phase", p.Name),
				message.Rate("least", a.MinPerS))})
		case a.NeverMet:
			out = append(out, failure{servers: true, text: message.New("adaptive-never-met", message.Text("phase", p.Name),
				message.Count("decisions", a.Decisions))})
		}
	}
	return out
}

// unsent returns how many arrivals the schedule's end found unsent, or were given up.
func (j *judge) unsent() uint64 {
	c := &j.all.Counts
	unsent := j.load.Overdue + c.Unsent[measure.UnsentNoConnection]
	if j.load.Overdue == 0 {
		unsent += c.Dropped() - c.Unsent[measure.UnsentNoConnection]
	}
	return unsent
}

// backlog returns a reason for a load that passes although it was not sent in time, because no rule is about that.
func (j *judge) backlog() []message.Message {
	unsent, asked := j.unsent(), j.load.Offered
	about := func(r *metric.Rule) bool {
		return r != nil && slices.Contains([]string{"response", "lag", "rate", "dropped"}, r.Metric)
	}
	if !j.open() || asked == 0 || float64(unsent) <= (1-rateDefault)*float64(asked) ||
		slices.ContainsFunc(j.rules, about) {
		return nil
	}
	sent := float64(asked-min(unsent, asked)) / float64(asked)
	return []message.Message{message.New("verdict.backlog", message.Share("sent", sent),
		message.Span("late", time.Duration(j.all.Lag.Max())))}
}

// defaults checks the defaults of a run without thresholds: the share of failed operations and the share of arrivals
// sent.
func (j *judge) defaults() (out []failure) {
	c := &j.all.Counts
	share := func(n uint64) float64 { return float64(n) / float64(max(c.Done, 1)) }
	if failed := share(c.Failed()); failed >= errorsDefault {
		only := c.OnlyServers(j.refused())
		out = append(out, failure{servers: share(only.Failed()) >= errorsDefault,
			text: message.New("verdict.failures", message.Share("failed", failed), message.Share("limit", errorsDefault),
				message.Nested("allow", j.with("threshold", func(flag message.Arg) message.Message {
					return message.New("verdict.failures.allow", flag)
				})))})
	}
	unsent := j.unsent()
	if asked := j.load.Offered; j.open() && asked > 0 && float64(unsent) > (1-rateDefault)*float64(asked) {
		sent := float64(asked-min(unsent, asked)) / float64(asked)
		out = append(out, failure{text: message.New("verdict.unsent", message.Share("sent", sent),
			message.Share("limit", rateDefault),
			message.Nested("sessions", j.with("sessions", func(flag message.Arg) message.Message {
				return message.New("by-flag", flag)
			})),
			message.Nested("allow", j.with("threshold", func(flag message.Arg) message.Message {
				return message.New("verdict.unsent.allow", flag)
			})))})
	}
	return out
}

// sessions returns a failure if too few of the requested sessions were connected on average.
func (j *judge) sessions() []failure {
	asked := j.run.Sessions
	if asked == 0 || j.run.SessionsAsNeeded || j.run.Reconnect || j.load.LoadNs == 0 ||
		j.load.Pace.SessionsNs == 0 && j.all.Done == 0 {
		return nil
	}
	there := j.load.Pace.SessionsNs / float64(j.load.LoadNs)
	missingNs := float64(asked)*float64(j.load.LoadNs) - j.load.Pace.SessionsNs
	if there >= sessionsDefault*float64(asked) || j.comeBack(missingNs) {
		return nil
	}
	return []failure{{servers: j.refused(), text: message.New("verdict.sessions", message.Count("asked", asked),
		message.Number("there", there), message.Nested("errors", seeErrors(j.run)))}}
}

// comeBackNs is how long a session may be without a connection, on average, before it counts as missing.
// Chosen: far above the round trips of a connection with TLS and authentication.
const comeBackNs = 1e9

// comeBack reports whether the sessions that were missing for missingNs altogether had only been closed by the server
// and were connecting again: no attempt to connect failed, and each took less than comeBackNs. Servers that end
// connections by design (after a number of requests, HTTP/1.0, idle timeouts) do so all the time.
func (j *judge) comeBack(missingNs float64) bool {
	if slices.ContainsFunc(j.run.Failures, record.FailureCount.OfConnecting) {
		return false
	}
	var reconnects uint64
	for i := range j.load.Addresses {
		reconnects += j.load.Addresses[i].Reconnects
	}
	return reconnects > 0 && missingNs < comeBackNs*float64(reconnects)
}

// seeErrors returns the advice where to look when connections are missing: at the connect errors, if there are any.
func seeErrors(run *record.Run) message.Message {
	if slices.ContainsFunc(run.Failures, record.FailureCount.OfConnecting) {
		return message.New("see-errors.connect")
	}
	return message.New("see-errors")
}

// fates returns how many arrivals failed, were not sent and were still in flight.
func (j *judge) fates() message.Message {
	c := &j.all.Counts
	out := []message.Message{message.New("fate.failed", message.Count("n", c.Failed()))}
	if n := c.Dropped(); n > 0 {
		out = append(out, message.New("fate.unsent", message.Count("n", n)))
	}
	if c.Unfinished > 0 {
		out = append(out, message.New("fate.in-flight", message.Count("n", c.Unfinished)))
	}
	return message.List(out...)
}

// with returns a piece of advice with the flag that sets a thing in the command in use. It returns the zero message if
// the command has no such flag.
func (j *judge) with(thing string, advice func(flag message.Arg) message.Message) message.Message {
	return with(j.run, thing, advice)
}

func with(run *record.Run, thing string, advice func(flag message.Arg) message.Message) message.Message {
	flag := run.Flags[thing]
	if flag == "" {
		return message.Message{}
	}
	if thing == "sessions" && run.FilesLimit > 0 {
		flag = "ulimit -n"
	}
	return advice(message.Text("flag", flag))
}

// passed returns the reasons why the run passed.
func (j *judge) passed() (out []message.Message) {
	if n := len(j.run.Thresholds); n > 0 {
		out = append(out, message.New("verdict.thresholds-hold", message.Count("n", n)))
	}
	out = append(out, j.backlog()...)
	switch {
	case !j.open():
		return append(out, message.New("verdict.spare"))
	case j.load.OwnLag.Count() == 0:
		return append(out, message.New("verdict.sessions-set-pace"))
	}
	if j.room {
		out = append(out, message.New("verdict.room"))
	}
	tail := message.Literal("p99")
	if j.all.Arrivals() < 300 {
		tail = message.New("verdict.third-longest")
	}
	if HidesLag(j.run) {
		return append(out, message.New("verdict.sessions-set-pace"))
	}
	return append(out, message.New("verdict.on-schedule", message.Ns("median", j.added(0.5)),
		message.Ns("added", j.added(tailOf(&j.all.Counts))), message.Nested("tail", tail)))
}

// HidesLag reports whether the wait for sessions hides what the generator's own lag adds to the times: it is visible by
// itself, and the times without it are the same.
func HidesLag(run *record.Run) bool {
	return run.Verdict.AddedP99Ns == 0 && run.Health.OwnLagP99Ns > int64(time.Millisecond)
}

// added returns by how many ns the generator's own lag raised a quantile of the response times. It is 0 where the
// quantile lies among arrivals without a good answer: it is infinite with and without the lag.
func (j *judge) added(q float64) int64 {
	unhindered := measure.Answers{Times: j.all.WithoutGenerator, NoAnswer: j.all.NoAnswer()}
	return max(j.all.Answers().Quantile(q)-unhindered.Quantile(q), 0)
}

// tailOf returns the quantile that stands for the tail: 0.99, or, of fewer than 300 values, that of the third largest,
// so that a single slow operation of a short run doesn't decide its result.
func tailOf(c *measure.Counts) float64 {
	n := float64(c.Arrivals())
	if n < 3 {
		return 0.5
	}
	return min(0.99, (n-2)/n)
}
