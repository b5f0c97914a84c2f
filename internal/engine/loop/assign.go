package loop

import (
	"math"
	"runtime"

	"brunt/internal/engine"
	"brunt/internal/protocol/balance"
)

// A loop sends about 100 000 requests a second to an echo server on loopback before it is busy all the time. Half of
// that leaves room for more expensive protocols and keeps the tail of the lag short. A second loop costs 16–20 % more
// CPU per request, so another loop is added only if one is not enough.
const (
	arrivalsPerLoop = 50_000
	sessionsPerLoop = 1_000
)

// loopCount returns how many loops a fleet gets: the configured number, or the fewest that carry the highest rate and
// the number of sessions. There are never more loops than sessions. Unless the number is configured, there is at least
// one core without a loop, for the rest of the program.
func loopCount(cfg *engine.FleetConfig, cores int) int {
	if cfg.Loops > 0 {
		return min(cfg.Loops, cfg.Sessions)
	}
	n := (cfg.Sessions + sessionsPerLoop - 1) / sessionsPerLoop
	n = max(n, int(math.Ceil(cfg.PeakPerS/arrivalsPerLoop)))
	return max(1, min(n, cores-1, cfg.Sessions))
}

// spread assigns sessions to loops. A session goes to the loop with the fewest sessions, among those to the one with
// the fewest sessions of its address, and among those to the next in turn for the address. So each loop gets sessions
// of every address if there are enough. With a router every session belongs to all addresses.
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

// reserveProcs raises GOMAXPROCS so that as many goroutines can run next to the loops as the machine has cores for. A
// sleeping loop keeps its place among GOMAXPROCS, so that it need not acquire it when it wakes.
func reserveProcs(loops int) {
	if want := loops + 4; runtime.GOMAXPROCS(0) < want {
		runtime.GOMAXPROCS(want)
	}
}
