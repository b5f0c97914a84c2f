//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// truth is what a verdict must say, known from how a situation is made.
type truth string

const (
	truthPass    truth = "pass"            // server and generator do what the rules ask for
	truthFail    truth = "fail"            // the server breaks a rule while the generator has all that it needs
	truthInvalid truth = "invalid"         // the generator can't do what it was asked, or is held up, while the server idles
	truthNotPass truth = "fail or invalid" // both are asked for more than they have: only pass is wrong
	truthDown    truth = "unreachable"     // there is no server
)

// The verdicts besides record.Verdict's that a run can end with.
const (
	verdictDown  = "unreachable" // exit code 108
	verdictError = "error"       // no verdict: refused, crashed, or hung
)

// allows reports whether a verdict is right.
func (t truth) allows(verdict string) bool {
	if t == truthNotPass {
		return verdict != "pass"
	}
	return verdict == string(t)
}

// situation is one run of brunt whose verdict is known before.
type situation struct {
	Name   string // family/server/tier/load#number
	Family string
	Truth  truth
	Why    string // the argument for the truth, with the figures of this situation
	Seed   uint64

	ask    ask
	server kind
	far    *proxyConfig // between brunt and the server, if not nil
	wrap   []string     // what starts brunt: taskset, nice
	env    []string
	onBoth bool // brunt and the server share one core; otherwise each has its own
	spread bool // brunt and the server use all cores
	fault  *fault
	// holds says why the construction failed after all, by what was seen from outside; "" if it
	// held. nil if nothing can fail.
	holds func(w *witness) string
}

// ask is the load that brunt is asked for, and the rules.
type ask struct {
	tier       string // codec or library
	command    string // run, or http for servers that speak it
	open       bool
	rate       float64 // open loads, operations a second
	poisson    bool
	sessions   int
	pipeline   int
	think      time.Duration // closed loads
	answer     time.Duration // how long the server is to take on purpose
	operation  string        // YAML of the query; "" means the server's usual one
	timeout    time.Duration
	thresholds []string // none: the rules that hold without any
	load       time.Duration
}

// fault is what happens while the load runs. cause returns when it is over, or when ctx ends with
// the run; heal makes things as they were, always.
type fault struct {
	cause func(ctx context.Context, r *running)
	heal  func(r *running)
}

// plan is the plan's text.
func (s *situation) plan() string {
	a := &s.ask
	var b strings.Builder
	fmt.Fprintf(&b, "config_name: situation\nseed: %d\nsessions: %d\n", s.Seed, a.sessions)
	if a.pipeline > 1 {
		fmt.Fprintf(&b, "pipeline: %d\n", a.pipeline)
	}
	if a.timeout > 0 {
		fmt.Fprintf(&b, "timeouts: {operation: %v}\n", a.timeout)
	}
	fmt.Fprintf(&b, "tier: %s\nretries: 0\nqueries:\n  - name: one\n    weight: 1\n    %s\n", a.tier, s.operation())
	if a.think > 0 {
		fmt.Fprintf(&b, "    think: %v\n", a.think)
	}
	if a.open {
		arrivals := "uniform"
		if a.poisson {
			arrivals = "poisson"
		}
		fmt.Fprintf(&b, "load:\n  - constant: {rate: %.0f, duration: %v, arrivals: %s}\n", a.rate, a.load, arrivals)
	} else {
		fmt.Fprintf(&b, "load:\n  - closed: {sessions: %d, duration: %v}\n", a.sessions, a.load)
	}
	if len(a.thresholds) > 0 {
		fmt.Fprintf(&b, "thresholds:\n  - %s\n", strings.Join(a.thresholds, "\n  - "))
	}
	return b.String()
}

func (s *situation) operation() string {
	if s.ask.operation != "" {
		return s.ask.operation
	}
	return s.server.operation(s.ask.answer)
}

// loadName says which kind of load it is, for names.
func (a *ask) loadName() string {
	if a.open {
		return fmt.Sprintf("open-%.0f", a.rate)
	}
	return fmt.Sprintf("closed-%d", a.sessions)
}
