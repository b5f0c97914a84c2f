package wire

import (
	"math"
	"runtime"

	"brunt/internal/plan"
	"brunt/internal/tier"
)

// A loop sends to a loopback echo about 100 000 times a second before it is busy all the time.
// Half of that leaves room for dearer protocols and keeps the lag's tail short. A second loop
// costs 16–20 % more CPU a request, so another is added only when one would not do.
const (
	arrivalsPerLoop = 50_000
	sessionsPerLoop = 1_000
)

// loopCount is how many loops a fleet gets: as many as asked for, or the fewest that carry the
// plan's highest rate and the number of sessions. Never more than sessions; and if chosen here,
// never more than all cores but one, which the rest of the program needs.
func loopCount(cfg *tier.Config, cores int) int {
	if cfg.Loops > 0 {
		return min(cfg.Loops, cfg.Sessions)
	}
	n := (cfg.Sessions + sessionsPerLoop - 1) / sessionsPerLoop
	if cfg.Workload != nil && cfg.Workload.Plan != nil {
		for i := range cfg.Workload.Plan.Load {
			p := &cfg.Workload.Plan.Load[i]
			if p.Kind != plan.Open {
				continue
			}
			rate := math.Max(p.RateFrom, p.RateTo)
			n = max(n, int(math.Ceil(rate/arrivalsPerLoop)))
		}
	}
	return max(1, min(n, cores-1, cfg.Sessions))
}

// addressOf is the target that session number id connects to: round robin.
func addressOf(id, addresses int) int { return id % addresses }

// loopOf is the loop that session number id belongs to. Each run of loops sessions is spread
// over all loops, and each loop gets sessions of every address where there are enough: the plain
// remainder would give a loop the same few addresses for ever when the two counts share a
// divisor, so it moves on by one after each common multiple.
func loopOf(id, addresses, loops int) int {
	return (id + id/lcm(addresses, loops)) % loops
}

func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// reserveProcs makes sure that as many goroutines can run beside the loops as the machine has
// use for. A loop that sleeps keeps its place among GOMAXPROCS, so that it needn't ask for it
// when it wakes.
func reserveProcs(loops int) {
	if want := loops + 4; runtime.GOMAXPROCS(0) < want {
		runtime.GOMAXPROCS(want)
	}
}
