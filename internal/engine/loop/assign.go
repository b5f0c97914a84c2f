package loop

import (
	"math"
	"runtime"

	"brunt/internal/balance"
	"brunt/internal/engine"
)

// A loop sends to a loopback echo about 100 000 times a second before it is busy all the time.
// Half of that leaves room for dearer protocols and keeps the lag's tail short. A second loop
// costs 16–20 % more CPU a request, so another is added only when one would not do.
const (
	arrivalsPerLoop = 50_000
	sessionsPerLoop = 1_000
)

// loopCount is how many loops a fleet gets: as many as asked for, or the fewest that carry the
// highest rate and the number of sessions. Never more than sessions; and if chosen here,
// never more than all cores but one, which the rest of the program needs.
func loopCount(cfg *engine.FleetConfig, cores int) int {
	if cfg.Loops > 0 {
		return min(cfg.Loops, cfg.Sessions)
	}
	n := (cfg.Sessions + sessionsPerLoop - 1) / sessionsPerLoop
	n = max(n, int(math.Ceil(cfg.PeakPerS/arrivalsPerLoop)))
	return max(1, min(n, cores-1, cfg.Sessions))
}

// spread says which loop each session belongs to: the loop with the fewest sessions, among those
// the one with the fewest of the session's address, and among those the next in turn for the
// address, so that each loop gets sessions of every address where there are enough. With a router
// every session belongs to all addresses.
func spread(cfg *engine.FleetConfig, route *balance.Route, loops int) (owner []int) {
	count := make([]int, loops)
	ofAddress := make([][]int, cfg.Nodes.Cap()) // by loop
	for i := range ofAddress {
		ofAddress[i] = make([]int, loops)
	}
	turn := make([]int, cfg.Nodes.Cap())
	for id := range cfg.Sessions {
		address := 0
		if route.Router() == nil {
			address = route.Home(id)
		}
		of := ofAddress[address]
		first := (address + turn[address]) % loops
		best := first
		for i := range loops {
			k := (first + i) % loops
			if count[k] < count[best] || count[k] == count[best] && of[k] < of[best] {
				best = k
			}
		}
		turn[address]++
		count[best]++
		of[best]++
		owner = append(owner, best)
	}
	return owner
}

// reserveProcs makes sure that as many goroutines can run next to the loops as the machine has
// use for. A loop that sleeps keeps its place among GOMAXPROCS, so that it needn't ask for it
// when it wakes.
func reserveProcs(loops int) {
	if want := loops + 4; runtime.GOMAXPROCS(0) < want {
		runtime.GOMAXPROCS(want)
	}
}
