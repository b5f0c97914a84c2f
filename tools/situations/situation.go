//go:build linux

package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// truth is what a verdict must say, known from how a situation is made.
type truth string

const (
	truthPass truth = "pass" // server and generator do what the rules ask for
	truthFail truth = "fail" // the server breaks a rule while the generator has all that it needs
	// the generator can't do what it was asked, or is held up, while the server idles
	truthInvalid truth = "invalid"
	truthNotPass truth = "fail or invalid" // both are asked for more than they have: only pass is wrong
	truthDown    truth = "unreachable"     // there is no server
	truthRefused truth = "refused"         // the machine's limits can't hold what is asked for, which is known before
)

// The verdicts besides record.Verdict's that a run can end with.
const (
	verdictDown    = "unreachable" // exit code 108
	verdictRefused = "refused"     // exit code 104: nothing was sent
	verdictError   = "error"       // no verdict: crashed, or hung
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
	warns  string // the id of a warning that the report must have; "" if none must
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
	sessions   int // 0 with http: as many as the load needs
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
	fmt.Fprintf(&b, "config_name: situation\nseed: %d\nsessions: %d\n", s.Seed, max(a.sessions, 1))
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

// draw makes the choices of one situation: those that must be covered evenly by its number, the
// others by its seed.
type draw struct {
	*rand.Rand
	number int
	load   time.Duration
}

// one takes one of a list at random.
func one[T any](d *draw, list ...T) T { return list[d.IntN(len(list))] }

// between draws a time, evenly.
func (d *draw) between(a, b time.Duration) time.Duration {
	return (a + time.Duration(d.Int64N(int64(b-a)+1))).Round(time.Millisecond)
}

// share draws a part of the load's length.
func (d *draw) share(a, b float64) time.Duration {
	return (time.Duration((a + (b-a)*d.Float64()) * float64(d.load))).Round(time.Millisecond)
}

// begin is a situation with what a family's number decides: server, tier, open or closed.
func (d *draw) begin(kinds ...kind) situation {
	n := d.number
	s := situation{Seed: d.Uint64() >> 32}
	s.ask = ask{command: "run", load: d.load, timeout: 10 * time.Second, sessions: 16}
	// Four numbers in a row have all four of tier and load; kinds go round next to them.
	s.ask.tier = []string{"codec", "library"}[n%2]
	s.ask.open = n/2%2 == 0
	s.server = kinds[(n+n/4)%len(kinds)]
	s.ask.rate = one(d, 100.0, 300, 1000, 2000)
	return s
}

// family is a kind of situation.
type family struct {
	name  string
	truth truth
	// of is how many of the situations are of this family if they are as many as makes fullCount.
	of   int
	make func(d *draw) situation
}

// situations are count situations (fullCount if 0), the same for the same seed, each load so long.
func situations(seed uint64, count int, load time.Duration) []situation {
	all := families()
	full := 0
	for _, f := range all {
		full += f.of
	}
	if count == 0 {
		count = full
	}
	var out []situation
	before, done := 0, 0
	for _, f := range all {
		before += f.of
		// Rounding sums, not numbers, gives just count of them.
		for k := 0; done < before*count/full; k++ {
			out = append(out, f.situation(seed, k, load))
			done++
		}
	}
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// situation is number k of the family.
func (f *family) situation(seed uint64, k int, load time.Duration) situation {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s#%d", f.name, k)
	s := f.make(&draw{Rand: rand.New(rand.NewPCG(seed, h.Sum64())), number: k, load: load})
	s.Family, s.Truth = f.name, f.truth
	s.Name = fmt.Sprintf("%s/%s/%s/%s#%d", f.name, s.server, s.ask.tier, s.ask.loadName(), k)
	return s
}

func families() []family {
	var all []family
	for _, part := range [][]family{healthy(), broken(), unreachable(), starved(), tooMuch()} {
		all = append(all, part...)
	}
	return all
}
