// Package fault injects a plan's faults into servers and networks on a timeline and heals them: at the end of each
// fault's time, at the end of the run or, by a watchdog process, when brunt is killed.
package fault

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
)

// Instant is one occurrence of a fault. Its times count from the start of the load.
type Instant struct {
	Number int           // number of the occurrence of the fault, from 1
	At     time.Duration // when it begins
	Until  time.Duration // when it is healed, at the latest when the load ends; 0 if that time is unknown
}

// stream returns a stream of a fault's random choices. what names the kind of choice.
func stream(seed uint64, name, what string) gen.Stream {
	return gen.NewStream(seed, "faults", name, what)
}

// Begins returns when a plan's phase is planned to begin, counted from the start of the load; 0 if phase is "".
// known is false if there is no such phase or if a phase before it has no fixed duration.
func Begins(p *plan.Plan, phase string) (at time.Duration, known bool) {
	if phase == "" {
		return 0, true
	}
	for i := range p.Load {
		if p.Load[i].Name == phase {
			return at, true
		}
		if p.Load[i].Duration == 0 {
			return 0, false
		}
		at += p.Load[i].Duration
	}
	return 0, false
}

// length returns how long the load is planned to last, or 0 if a phase has no fixed duration.
func length(p *plan.Plan) (sum time.Duration) {
	for i := range p.Load {
		if p.Load[i].Duration == 0 {
			return 0
		}
		sum += p.Load[i].Duration
	}
	return sum
}

// Instants returns the occurrences of a fault, in order. They depend only on the plan and its seed. A fault that is
// repeated until the end of a load of unknown length has plan.MaxFaultTimes occurrences.
func Instants(p *plan.Plan, f *plan.Fault) (all []Instant) {
	start, known := Begins(p, f.Phase)
	if !known {
		return nil
	}
	times, end := max(f.Times, 1), length(p)
	if f.Every > 0 && f.Times == 0 {
		times = plan.MaxFaultTimes
	}
	gaps, jitter := stream(p.Seed, f.Name, "gap"), stream(p.Seed, f.Name, "jitter")
	base := start + f.Start
	for n := range times {
		if n > 0 {
			gap := float64(f.Every)
			if f.Spacing == "poisson" {
				gap *= -math.Log1p(-gaps.Float64(uint64(n)))
			}
			base += time.Duration(gap)
		}
		at := base
		if f.Jitter > 0 {
			at += time.Duration(jitter.Float64(uint64(n)) * float64(f.Jitter))
		}
		if end > 0 && at >= end {
			break
		}
		one := Instant{Number: n + 1, At: at}
		if one.Until = end; f.For > 0 && (end == 0 || at+f.For < end) {
			one.Until = at + f.For
		}
		all = append(all, one)
	}
	return all
}

// Pick returns the indices, out of n processes or addresses, that the number-th occurrence of a fault is done to.
func Pick(p *plan.Plan, f *plan.Fault, number, n int) []int {
	switch {
	case n == 0:
		return nil
	case f.Pick == "turn":
		return []int{(number - 1) % n}
	case f.Pick == "random":
		return []int{int(stream(p.Seed, f.Name, "pick").Uint64n(uint64(number), uint64(n)))}
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Entry is a row of a plan's timetable.
type Entry struct {
	Instant
	Fault *plan.Fault
}

// Timetable returns all occurrences of a plan's faults, in the order in which they begin. Its error is
// plan.Problems: faults that would overlap although they exclude each other, faults that begin after the load's
// end, and faults that count from a phase whose start isn't known.
func Timetable(p *plan.Plan) ([]Entry, error) {
	var all []Entry
	var problems plan.Problems
	for i := range p.Faults {
		f := &p.Faults[i]
		if _, known := Begins(p, f.Phase); !known {
			problems = append(problems, plan.Problem{At: f.Where.At("phase", f.At),
				Text: fmt.Sprintf("fault %q counts from phase %q, which comes after one without a duration", f.Name, f.Phase),
				Fix:  "give the phases before it durations"})
			continue
		}
		instants := Instants(p, f)
		if len(instants) == 0 {
			problems = append(problems, plan.Problem{At: f.Where.At("at", f.At),
				Text: fmt.Sprintf("fault %q comes after the load's end at %v", f.Name, length(p)), Fix: "let it begin earlier"})
		}
		for _, one := range instants {
			all = append(all, Entry{one, f})
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Compare(a.At, b.At) })
	problems = append(problems, conflicts(p, all)...)
	return all, problems.Sort().Err()
}

// until returns when an entry ends, for comparisons: at its start if there is nothing to heal, never if the end
// isn't known.
func (e *Entry) until() time.Duration {
	switch {
	case !e.Fault.Heals():
		return e.At
	case e.Until == 0:
		return math.MaxInt64
	}
	return e.Until
}

// conflicts returns a problem for each pair of faults that exclude each other and overlap, that is, one begins
// before the other has been healed. Each pair is reported once.
func conflicts(p *plan.Plan, all []Entry) (problems plan.Problems) {
	type pair struct{ a, b *plan.Fault }
	seen := map[pair]bool{}
	var open []Entry
	for _, e := range all {
		open = slices.DeleteFunc(open, func(o Entry) bool { return o.until() <= e.At })
		for _, o := range open {
			if seen[pair{o.Fault, e.Fault}] || seen[pair{e.Fault, o.Fault}] || !exclude(p, o.Fault, e.Fault) {
				continue
			}
			seen[pair{o.Fault, e.Fault}] = true
			what := fmt.Sprintf("fault %q at %v begins before %q of %v has been healed, and both are done to one node",
				e.Fault.Name, e.At.Round(time.Millisecond), o.Fault.Name, o.At.Round(time.Millisecond))
			if e.Fault == o.Fault {
				what = fmt.Sprintf("fault %q comes again at %v, before it has been healed", e.Fault.Name,
					e.At.Round(time.Millisecond))
			}
			problems = append(problems, plan.Problem{At: e.Fault.At, Text: what, Fix: "let one begin when the other has ended"})
		}
		open = append(open, e)
	}
	return problems
}

// exclude reports whether two faults, or two occurrences of one fault, must not overlap.
func exclude(p *plan.Plan, a, b *plan.Fault) bool {
	switch {
	case a == b:
		return true
	case a.Kind != b.Kind:
		return false
	case a.Kind == plan.FaultProcess:
		x, y := &a.Process, &b.Process
		return x.PID == y.PID && x.PIDFile == y.PIDFile && x.Match == y.Match && x.CGroup == y.CGroup &&
			x.Do != "signal" && y.Do != "signal"
	case a.Kind == plan.FaultNetwork:
		return cuts(&a.Network) && cuts(&b.Network) && a.Network.Do != b.Network.Do && len(a.Network.Clients) == 0 &&
			len(b.Network.Clients) == 0 && meet(places(p, a), places(p, b))
	}
	return false
}

// cuts reports whether a network fault ends or blocks all traffic, which hides the effect of any other fault.
func cuts(f *plan.NetworkFault) bool {
	return slices.Contains([]string{plan.NetReset, plan.NetBlackhole, plan.NetHalfOpen, plan.NetPartition}, f.Do)
}

func meet(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// places returns the target addresses and the names of the proxies that a network fault is done to.
func places(p *plan.Plan, f *plan.Fault) []string {
	if f.Network.Do != plan.NetPartition {
		if len(f.Network.Addresses) > 0 {
			return f.Network.Addresses
		}
		addresses, _ := p.Target.Weighted()
		return addresses
	}
	group := map[string]int{}
	for i, nodes := range f.Network.Between {
		for _, node := range nodes {
			group[node] = i + 1
		}
	}
	apart := func(a, b string) bool { return group[a] > 0 && group[b] > 0 && group[a] != group[b] }
	var out []string
	addresses, _ := p.Target.Weighted()
	for _, a := range addresses {
		if apart(plan.LoadNode, a) {
			out = append(out, a)
		}
	}
	for i := range p.Proxies {
		if x := &p.Proxies[i]; apart(x.From, x.BehindIt()) {
			out = append(out, x.Name)
		}
	}
	return out
}
