// Package doctor checks, before a load, whether its plan can be run from this machine: whether the servers can be
// reached, the user has the rights, there are enough connections, and the statements work. It changes nothing:
// everything that it tries in a database is rolled back, and where that isn't possible only reads are tried.
package doctor

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"brunt/internal/engine/machine"
	"brunt/internal/plan"
	"brunt/internal/plan/workload"
	"brunt/internal/protocol"
	"brunt/internal/protocol/protocols"
	"brunt/internal/render/message"
	"brunt/internal/run/runner"
	"brunt/internal/server/target"
)

// Level is the severity of a finding.
type Level int

// The levels, from the best to the worst.
const (
	Fine        Level = iota // nothing is wrong
	Note                     // it couldn't be checked, or may matter
	Problem                  // the load would fail, or its result would mislead
	Unreachable              // a server can't be reached
)

// String returns the level's name in JSON.
func (l Level) String() string {
	return [...]string{"fine", "note", "problem", "unreachable"}[l]
}

// Finding is the result of one check.
type Finding struct {
	Level   Level
	Subject string          // what was checked: an address, a table, an operation, …
	Text    message.Message // the result
	Remedy  message.Message // what to do; the zero value if nothing
}

// Worst returns the level of the worst finding.
func Worst(all []Finding) (worst Level) {
	for _, f := range all {
		worst = max(worst, f.Level)
	}
	return worst
}

// examination holds the state while a plan is checked.
type examination struct {
	plan     *plan.Plan
	declared protocol.Declaration
	driver   protocol.Driver
	targets  []protocol.Target
	servers  []protocol.ServerInfo // by target; the zero value if it didn't answer
	system   *target.System        // nil if no server answers
	work     *workload.Workload    // nil if there is no system
	empty    bool                  // a table that the plan fills doesn't exist yet
	flag     string                // flag that sets the number of sessions, for advice
	all      []Finding
}

// Examine checks everything that a run of the plan needs. sessionsFlag is the flag that sets the number of sessions in
// the command in use. An error is a *target.UsageError about the plan itself, or the error of ctx.
func Examine(ctx context.Context, p *plan.Plan, sessionsFlag string) ([]Finding, error) {
	e := &examination{plan: p, flag: sessionsFlag}
	d, err := protocols.Find(p.Target.Protocol)
	if err != nil {
		return nil, &target.UsageError{Err: err}
	}
	own := *p
	own.Target.Protocol, own.Settings = d.Name(), p.Settings.WithDefaults()
	e.plan, e.declared, e.driver = &own, d, d.Open()
	if e.targets, err = target.Targets(&own); err != nil {
		return nil, &target.UsageError{Err: err}
	}
	e.addresses(ctx)
	if err := e.meet(ctx); err != nil {
		return nil, err
	}
	e.machine()
	if err := e.faults(); err != nil {
		return nil, err
	}
	if e.system != nil {
		e.sessions(ctx)
		e.clock(ctx)
		e.buckets(ctx)
		e.statements(ctx)
	}
	return e.all, ctx.Err()
}

// add adds a finding.
func (e *examination) add(level Level, subject string, text, remedy message.Message) {
	e.all = append(e.all, Finding{level, subject, text, remedy})
}

// addresses queries the product and version of each address.
func (e *examination) addresses(ctx context.Context) {
	e.servers = make([]protocol.ServerInfo, len(e.targets))
	failures := make([]error, len(e.targets))
	took := make([]time.Duration, len(e.targets))
	var all sync.WaitGroup
	for i, t := range e.targets {
		all.Go(func() {
			bounded, cancel := context.WithTimeout(ctx, e.plan.Settings.ConnectTimeout)
			defer cancel()
			began := time.Now()
			e.servers[i], failures[i] = e.driver.Describe(bounded, t)
			took[i] = time.Since(began)
		})
	}
	all.Wait()
	first := -1
	for i, t := range e.targets {
		s := &e.servers[i]
		if failures[i] != nil {
			e.unreached(t.Address, failures[i])
			continue
		}
		e.add(Fine, t.Address, message.New("doctor.answers", message.Text("product", s.Product),
			message.Text("version", s.Version), message.Span("in", took[i])), message.Message{})
		if first < 0 {
			first = i
		} else if f := &e.servers[first]; f.Product != s.Product || f.Version != s.Version {
			e.add(Note, t.Address, message.New("doctor.other-version", message.Text("address", e.targets[first].Address),
				message.Text("version", f.Product+" "+f.Version)), message.New("doctor.other-version.remedy"))
		}
	}
}

// unreached adds the finding that an address doesn't answer or refuses the user.
func (e *examination) unreached(address string, err error) {
	remedy := message.New("doctor.unreachable.remedy")
	var failure *protocol.Error
	// Only servers have codes with digits, such as 28P01.
	if errors.As(err, &failure) && (failure.Class == protocol.Server || strings.ContainsAny(failure.Code, "0123456789")) {
		remedy = message.New("doctor.refused.remedy")
	}
	e.add(Unreachable, address, message.OfError(err), remedy)
}

// meet compiles the plan for the servers that answered.
func (e *examination) meet(ctx context.Context) error {
	s, err := target.Find(ctx, e.plan, target.Patience{})
	var unreachable *target.UnreachableError
	switch {
	case errors.As(err, &unreachable):
		e.add(Note, e.plan.Name, message.New("doctor.no-server"), message.Message{})
		return nil
	case err != nil:
		return err
	}
	w, err := s.Workload()
	if err != nil {
		return err
	}
	e.system, e.work = s, w
	return nil
}

// machine checks this machine: the number of files that sessions need.
func (e *examination) machine() {
	open, most := machine.Files()
	if most == 0 || e.system == nil {
		return
	}
	const subject = "file descriptors"
	own := *e.system.Plan
	system := *e.system
	system.Plan = &own
	if _, err := runner.CheckFiles(&system, e.work, e.flag); err != nil {
		e.add(Problem, subject, message.OfError(err), message.Message{})
		return
	}
	e.add(Fine, subject, message.New("doctor.files", message.Count("sessions", e.plan.MostSessions()),
		message.Count("most", most), message.Count("open", open)), message.Message{})
}

// buckets asks for the map of buckets by which requests are sent to their nodes.
func (e *examination) buckets(ctx context.Context) {
	if e.system.Plan.Target.Balance.Buckets == 0 {
		return
	}
	const subject = "balance"
	if err := runner.CheckBuckets(ctx, e.system); err != nil {
		e.add(Problem, subject, message.OfError(err), message.Message{})
		return
	}
	e.add(Fine, subject, message.New("doctor.buckets"), message.Message{})
}

// sessions compares the requested sessions with what limits their number at each server.
func (e *examination) sessions(ctx context.Context) {
	limits := e.declared.Doctor.Limits
	if limits == nil {
		return
	}
	addresses := len(e.system.Targets)
	each := (e.plan.MostSessions() + addresses - 1) / addresses
	for i, t := range e.system.Targets {
		if e.system.Servers[i].Product == "" {
			continue
		}
		all, _ := limits(ctx, e.driver, t)
		told := map[string]bool{}
		for _, l := range all {
			if told[l.Name] {
				continue
			}
			told[l.Name] = true
			args := []message.Arg{message.Count("sessions", each), message.Count("most", l.Most),
				message.Text("setting", l.Name), message.Count("taken", l.Taken)}
			if each+l.Taken > l.Most {
				e.add(Problem, t.Address, message.New("doctor.sessions-over", args...),
					message.New("doctor.sessions-over.remedy", message.Text("setting", l.Name), message.Text("flag", e.flag),
						message.Count("room", max(l.Most-l.Taken, 0)*addresses)))
			} else {
				e.add(Fine, t.Address, message.New("doctor.sessions", args...), message.Message{})
			}
		}
	}
}

// faults checks whether the plan's faults can be injected from this machine. Nothing is injected.
func (e *examination) faults() error {
	return runner.CheckFaults(e.plan, func(f *plan.Fault, done string, err error) {
		switch {
		case err != nil:
			e.add(Problem, f.Name, message.OfError(err), message.New("doctor.fault.remedy"))
		case done != "":
			e.add(Fine, f.Name, message.New("doctor.fault", message.Text("to", done)), message.Message{})
		default:
			e.add(Note, f.Name, message.New("doctor.fault-untried"), message.New("doctor.fault-untried.remedy"))
		}
	})
}

// number returns a value of a row as an integer; 0 if there is none.
func number(values []*string, i int) int {
	if i >= len(values) || values[i] == nil {
		return 0
	}
	n, err := strconv.ParseFloat(*values[i], 64)
	if err != nil || math.IsNaN(n) {
		return 0
	}
	return int(n)
}

// ask sends a query to one address over a set-up connection.
func (e *examination) ask(ctx context.Context, t protocol.Target, query string, row func(values []*string)) error {
	d, ok := e.driver.(protocol.AdminDriver)
	if !ok {
		return errors.New("no session for set-up")
	}
	a, err := e.system.Waiting.Driver(d).Admin(ctx, t)
	if err != nil {
		return err
	}
	defer a.Close()
	return a.Query(ctx, query, func(values []*string) error {
		row(values)
		return nil
	})
}

// leastClockDifference is the largest difference between two clocks that is acceptable.
const leastClockDifference = time.Second

// clock compares servers' clocks with this machine's.
func (e *examination) clock(ctx context.Context) {
	query := e.declared.Doctor.Clock
	if query == "" {
		return
	}
	for i, t := range e.system.Targets {
		if e.system.Servers[i].Product == "" {
			continue
		}
		var began, ended time.Time
		var seconds float64
		began = time.Now()
		err := e.ask(ctx, t, query, func(values []*string) {
			ended = time.Now()
			if len(values) > 0 && values[0] != nil {
				seconds, _ = strconv.ParseFloat(*values[0], 64)
			}
		})
		if err != nil || seconds == 0 {
			continue
		}
		// The server read its clock some time between the query and the answer.
		span := ended.Sub(began)
		server := time.Unix(0, int64(seconds*1e9))
		difference := server.Sub(began.Add(span / 2)).Abs()
		text := message.New("doctor.clock", message.Span("difference", difference), message.Span("sure", span/2))
		if difference-span/2 > leastClockDifference {
			e.add(Note, t.Address, text, message.New("doctor.clock.remedy"))
		} else {
			e.add(Fine, t.Address, text, message.Message{})
		}
	}
}
