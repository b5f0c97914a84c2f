package scale

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"brunt/internal/judge/exitcode"
)

// An Error ends a run before its load, with the exit code Code; see docs/exit-codes.md.
type Error struct {
	Code    int
	Text    string
	Missing bool // workers didn't join, or weren't ready, in time
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Gather waits until all workers have joined, checks that they can run one load, sends them their job, and waits until
// all are ready. It returns ctx's error or an *Error, which names the workers that have not joined or are not ready
// after Options.Patience.
func (c *Coordinator) Gather(ctx context.Context) error {
	if err := c.gather(ctx, Joined, "join"); err != nil {
		return c.refuse(err)
	}
	if err := c.disagreement(); err != nil {
		return c.refuse(err)
	}
	c.mu.Lock()
	c.o.Job.EpochNs = c.clock.Now()
	c.agreed = true
	c.announce()
	c.mu.Unlock()
	if err := c.gather(ctx, Ready, "become ready"); err != nil {
		return c.refuse(err)
	}
	return nil
}

// gather waits until all workers have reached a state, or one of them has failed. verb names the state in the error.
func (c *Coordinator) gather(ctx context.Context, state State, verb string) error {
	timed, cancel := context.WithTimeout(ctx, c.o.Patience)
	defer cancel()
	var failed []*member
	err := c.wait(timed, func() bool {
		all := true
		for _, m := range c.members {
			if m.problem != nil || m.gone != "" {
				failed = append(failed, m)
			}
			all = all && (m.state == state || state == Joined && m.state == Ready)
		}
		return all || len(failed) > 0
	})
	why := ""
	if err != nil && ctx.Err() == nil && c.o.Waiting != nil {
		why = c.o.Waiting(ctx)
	}
	why = cmp.Or(why, fmt.Sprintf("see that they run and can reach port %d of this machine", c.Port()))
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(failed) > 0:
		return failures(failed)
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	var missing []string
	for _, m := range c.members {
		if m.state != state {
			missing = append(missing, m.name())
		}
	}
	return &Error{Code: exitcode.Unreachable, Missing: true, Text: fmt.Sprintf(
		"%d of %d workers didn't %s within %s: %s; %s, or give more time with --join-timeout",
		len(missing), len(c.members), verb, c.o.Patience, strings.Join(missing, ", "), why)}
}

// failures returns an *Error that names workers that have failed before the load, each with its reason. Workers with
// one reason are named together.
func failures(failed []*member) error {
	e := &Error{Code: exitcode.Unreachable}
	if p := failed[0].problem; p != nil {
		e.Code = p.Code
	}
	var reasons []string
	names := map[string][]string{}
	for _, m := range failed {
		why := " ended before the load: " + m.gone
		if m.problem != nil {
			why = ": " + m.problem.Text
		}
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], m.name())
	}
	for i, why := range reasons {
		noun := "worker "
		if len(names[why]) > 1 {
			noun = "workers "
		}
		reasons[i] = noun + strings.Join(names[why], ", ") + why
	}
	e.Text = strings.Join(reasons, "; ")
	return e
}

// Limits of a worker's clock: its offset from the coordinator's, and the uncertainty of that offset.
const (
	mostOffset      = 10 * time.Second
	mostUncertainty = 10 // the uncertainty is at most an interval divided by this
)

// disagreement returns an *Error that lists the reasons why the workers can't run one load; nil if they can.
func (c *Coordinator) disagreement() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var faults []string
	for _, m := range c.members {
		h, offset := &m.hello, time.Duration(m.hello.Offset.Ns).Abs()
		if h.Version != c.o.Version {
			faults = append(faults, fmt.Sprintf("worker %s runs brunt %s, this is %s: give it the same binary", m.name(),
				h.Version, c.o.Version))
		}
		if first := c.members[0]; h.Cores != first.hello.Cores && !c.o.MixedCores {
			faults = append(faults, fmt.Sprintf(
				"worker %s has %d cores, worker %s has %d, and each gets the same share: use equal machines, or allow it with --mixed-cores",
				m.name(), h.Cores, first.name(), first.hello.Cores))
		}
		if offset > mostOffset {
			faults = append(faults, fmt.Sprintf("the clock of worker %s is %s off: set it (NTP)", m.name(),
				offset.Round(time.Millisecond)))
		}
		if u := time.Duration(h.Offset.UncertaintyNs); u > c.o.Interval/mostUncertainty {
			faults = append(faults, fmt.Sprintf(
				"the clock of worker %s is known to %s only, too little for intervals of %s: use a faster network, machines that are less busy, or longer intervals",
				m.name(), u.Round(time.Microsecond), c.o.Interval))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &Error{Code: exitcode.BadPlan, Text: "the workers disagree: " + strings.Join(faults, "; ")}
}

// Start sets the time at which all workers begin to lead from now, and returns it in ns by the coordinator's clock.
// lead must be long enough for every worker to receive the time.
func (c *Coordinator) Start(lead time.Duration) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startNs = c.clock.Now() + int64(lead)
	c.journal.begin(c.o.Journal, c.beginning(), c.course.events())
	c.announce()
	return c.startNs
}
