//go:build linux

package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"brunt/internal/record"
)

// truth is the verdict that brunt must reach in a situation. It is known from the situation's construction.
type truth string

const (
	truthPass truth = "pass" // server and generator keep the rules
	truthFail truth = "fail" // the server breaks a rule while the generator has all that it needs
	// the generator can't send the requested load, or is held up, while the server is idle
	truthInvalid truth = "invalid"
	truthNotPass truth = "fail or invalid" // both are overloaded: only pass is wrong
	truthDown    truth = "unreachable"     // there is no server
	truthRefused truth = "refused"         // the load exceeds the machine's limits, which is known before it
)

// The verdicts that a run can end with in addition to those of record.Verdict.
const (
	verdictDown    = "unreachable" // exit code 108
	verdictRefused = "refused"     // exit code 104: nothing was sent
	verdictError   = "error"       // no verdict: brunt crashed or hung
)

// allows reports whether a verdict is right.
func (t truth) allows(verdict string) bool {
	if t == truthNotPass {
		return verdict != "pass"
	}
	return verdict == string(t)
}

// situation is a run of brunt whose correct verdict is known beforehand.
type situation struct {
	Name   string // family/server/tier/load#number
	Family string
	Truth  truth
	Why    string // the argument for the truth, with the figures of this situation
	Seed   uint64

	ask    ask
	server kind
	far    *proxyConfig // a proxy between brunt and the server; nil: none
	wrap   []string     // command that starts brunt, such as nice
	env    []string
	onBoth bool     // brunt and the server share one core; otherwise each has its own
	spread bool     // brunt and the server use all cores
	flags  []string // further flags
	also   kind     // a second server of the load; "" for none
	fault  *fault
	// after is called when the run has ended, with its command line; nil for nothing. It may change what is judged.
	after func(ctx context.Context, r *running, f *finished, args []string) error
	warns string // the id of a warning that the report must contain; "" if none
	// told returns what is wrong in the record besides the verdict, or "". It is nil if there is nothing to check.
	told func(run *record.Run) string
	// holds returns why the situation was not as constructed, by the measurements of the witness, or "" if it was. It
	// is nil if there is nothing to check.
	holds func(w *witness) string
}

// ask is the load that brunt is asked to send, and its thresholds.
type ask struct {
	tier       string // codec or library
	command    string // run, or http for HTTP servers
	open       bool
	rate       float64 // open loads, operations a second
	poisson    bool
	sessions   int // with command http, 0 means as many as the load needs
	pipeline   int
	think      time.Duration // closed loads
	answer     time.Duration // intended delay of the server's answers
	operation  string        // YAML of the query; "" means the server's usual one
	timeout    time.Duration
	thresholds []string // nil means brunt's default rules
	load       time.Duration
	faults     string // YAML; "" for none
	more       string // YAML of further keys of the plan
	phases     string // YAML of the list of phases; "" for one phase
}

// fault is an action while the load runs. cause returns when the action is over, or when ctx ends with the run. heal
// restores the previous state, and is always called.
type fault struct {
	cause func(ctx context.Context, r *running)
	heal  func(r *running)
}

// plan returns the text of the plan.
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
	switch {
	case a.phases != "":
		b.WriteString("load:\n" + a.phases)
	case a.open:
		arrivals := "uniform"
		if a.poisson {
			arrivals = "poisson"
		}
		fmt.Fprintf(&b, "load:\n  - constant: {rate: %.0f, duration: %v, arrivals: %s}\n", a.rate, a.load, arrivals)
	default:
		fmt.Fprintf(&b, "load:\n  - closed: {sessions: %d, duration: %v}\n", a.sessions, a.load)
	}
	if len(a.thresholds) > 0 {
		fmt.Fprintf(&b, "thresholds:\n  - %s\n", strings.Join(a.thresholds, "\n  - "))
	}
	b.WriteString(a.more + a.faults)
	return b.String()
}

func (s *situation) operation() string {
	if s.ask.operation != "" {
		return s.ask.operation
	}
	return s.server.operation(s.ask.answer)
}

// loadName returns the kind and size of the load, for names.
func (a *ask) loadName() string {
	if a.open {
		return fmt.Sprintf("open-%.0f", a.rate)
	}
	return fmt.Sprintf("closed-%d", a.sessions)
}

// draw makes the choices of one situation. Choices that must be covered evenly depend on the situation's number, and
// the others on its seed.
type draw struct {
	*rand.Rand
	number int
	load   time.Duration
}

// one returns a random element of a list.
func one[T any](d *draw, list ...T) T { return list[d.IntN(len(list))] }

// between returns a uniformly distributed random time, rounded to ms.
func (d *draw) between(a, b time.Duration) time.Duration {
	return (a + time.Duration(d.Int64N(int64(b-a)+1))).Round(time.Millisecond)
}

// share returns a random part of the load's length, between the fractions a and b.
func (d *draw) share(a, b float64) time.Duration {
	return (time.Duration((a + (b-a)*d.Float64()) * float64(d.load))).Round(time.Millisecond)
}

// begin returns a situation with the properties that depend on its number in the family: the server, the tier, and
// whether the load is open.
func (d *draw) begin(kinds ...kind) situation {
	n := d.number
	s := situation{Seed: d.Uint64() >> 32}
	s.ask = ask{command: "run", load: d.load, timeout: 10 * time.Second, sessions: 16}
	// Four consecutive numbers have all four combinations of tier and load. The kinds of servers take turns
	// independently of these.
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
	// of is the number of situations in the family when no count is given.
	of   int
	make func(d *draw) situation
}

// situations returns count situations, or those of the families' own numbers if count is 0, with loads of the given
// length. They depend only on the seed.
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
		// Rounding the cumulative sums instead of each family's share yields exactly count situations.
		for k := 0; done < before*count/full; k++ {
			out = append(out, f.situation(seed, k, load))
			done++
		}
	}
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// situation returns the k-th situation of the family.
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
	for _, part := range [][]family{healthy(), broken(), unreachable(), outages(), several(), starved(), tooMuch()} {
		all = append(all, part...)
	}
	return all
}
