// Package verdict says whether a result stands: thresholds and defaults, and whether the generator or
// the server limited what was measured. All of it are pure functions over an account, be it of a run,
// a phase of it, or of several machines. It prints nothing.
package verdict

import (
	"slices"

	"brunt/internal/measure"
	"brunt/internal/message"
	"brunt/internal/metric"
	"brunt/internal/record"
)

// The results of a verdict.
const (
	Pass    = "pass"
	Fail    = "fail"
	Invalid = "invalid"
)

// The exit codes of a run; see ExitCode.
const (
	ExitPass        = 0
	ExitInvalid     = 98
	ExitFail        = 99
	ExitInterrupted = 105
)

// ExitCode is what the program returns for a run: 105 if it was interrupted, otherwise 98 for an
// invalid result, 99 for a failed one and 0 for one that passed.
func ExitCode(run *record.Run) int {
	switch {
	case run.Interrupted:
		return ExitInterrupted
	case run.Verdict.Result == Invalid:
		return ExitInvalid
	case run.Verdict.Result == Fail:
		return ExitFail
	}
	return ExitPass
}

// Judge fills run's Thresholds and Verdict from the account of its load, and then its warnings. What
// run says of itself must be filled in: see record.Fill. Thresholds are those that run names.
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
	run.Warnings = append(run.Warnings, Assess(run)...)
}

// judge is a run being judged.
type judge struct {
	run  *record.Run
	load *measure.Account
	all  measure.OperationAccount
	// rules are those of the run's thresholds; nil where brunt can't read one.
	rules []*metric.Rule

	lateAlone bool // that it sent late is all that speaks against the result
	room      bool // it sent late, and the rules hold with room to spare; see roomy
}

// open reports whether the run had arrivals that follow a schedule.
func (j *judge) open() bool { return open(j.run) }

func open(run *record.Run) bool { return run.LoadModel != "closed" }

// thresholds judges the run's rules, keeps which of them ended it, and makes j.rules. k6 has judged those of scripts.
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

// The defaults that hold for a run without thresholds.
const (
	// errorsDefault is the share of operations from which on failures fail the run.
	errorsDefault = 0.01
	// rateDefault is the least share of the arrivals that must be sent while their schedule lasts.
	rateDefault = 0.95
	// sessionsDefault is the least share of the sessions asked for that must be there on average.
	sessionsDefault = 0.95
)

// brokenID is the id of what a verdict says of a threshold that doesn't hold.
const brokenID = "verdict.broken"

// Broken says of a threshold that does not hold what its value is.
func Broken(t *record.Threshold) message.Message {
	return message.New("threshold.broken", message.Text("threshold", t.Text),
		message.Figure("value", float64(t.Value), t.Unit))
}

// WithoutTables is a reason without its pointer to tables, which a single run's report has.
func WithoutTables(reason message.Message) message.Message {
	if reason.ID == brokenID {
		return message.New("threshold.broken", reason.Args...)
	}
	return reason
}

// failed says why the run failed, if it did.
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
	return append(append(append(out, j.unrecovered()...), j.wrongWrites()...), append(j.violated(), j.sessions()...)...)
}

// defaults are the rules of a run that names none.
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
	unsent := j.load.Overdue + c.Unsent[measure.UnsentNoConnection]
	if j.load.Overdue == 0 {
		unsent += c.Dropped() - c.Unsent[measure.UnsentNoConnection]
	}
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

// sessions says if fewer sessions were there than were asked for.
func (j *judge) sessions() []failure {
	asked := j.run.Sessions
	if asked == 0 || j.run.SessionsAsNeeded || j.load.LoadNs == 0 || j.load.Pace.SessionsNs == 0 && j.all.Done == 0 {
		return nil
	}
	there := j.load.Pace.SessionsNs / float64(j.load.LoadNs)
	if there >= sessionsDefault*float64(asked) {
		return nil
	}
	return []failure{{servers: j.refused(), text: message.New("verdict.sessions", message.Count("asked", asked),
		message.Number("there", there), message.Nested("errors", seeErrors(j.run)))}}
}

// seeErrors tells people which errors to look at when connections are missing.
func seeErrors(run *record.Run) message.Message {
	if slices.ContainsFunc(run.Failures, record.FailureCount.OfConnecting) {
		return message.New("see-errors.connect")
	}
	return message.New("see-errors")
}

// fates says what became of the arrivals.
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

// with is a piece of advice that names what sets a thing in the command in use, or nothing if nothing does.
func (j *judge) with(thing string, advice func(flag message.Arg) message.Message) message.Message {
	return with(j.run, thing, advice)
}

func with(run *record.Run, thing string, advice func(flag message.Arg) message.Message) message.Message {
	flag := run.Flags[thing]
	if flag == "" {
		return message.Message{}
	}
	return advice(message.Text("flag", flag))
}

// passed says what the pass rests on.
func (j *judge) passed() (out []message.Message) {
	if n := len(j.run.Thresholds); n > 0 {
		out = append(out, message.New("verdict.thresholds-hold", message.Count("n", n)))
	}
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
	return append(out, message.New("verdict.on-schedule", message.Ns("median", j.added(0.5)),
		message.Ns("added", j.added(tailOf(&j.all.Counts))), message.Nested("tail", tail)))
}

// added is what the generator's own lag added to a quantile of response times. A quantile among
// arrivals without a good answer is infinite with or without it.
func (j *judge) added(q float64) int64 {
	unhindered := measure.Answers{Times: j.all.WithoutGenerator, NoAnswer: j.all.NoAnswer()}
	return max(j.all.Answers().Quantile(q)-unhindered.Quantile(q), 0)
}

// tailOf is 0.99, or the quantile of the third largest of fewer than 300 values, so that one hiccup
// of a short run doesn't speak for all of it.
func tailOf(c *measure.Counts) float64 {
	n := float64(c.Arrivals())
	if n < 3 {
		return 0.5
	}
	return min(0.99, (n-2)/n)
}
