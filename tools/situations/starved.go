//go:build linux

package main

import (
	"fmt"
	"time"
)

// starved returns situations in which the generator doesn't get the core that it needs, while the server has a core to
// itself and is idle. The thresholds, if any, pass in any case.
func starved() []family {
	fast := func(of int, name string, how func(d *draw, s *situation)) family {
		return family{name, truthInvalid, of, func(d *draw) situation {
			s := d.begin(redis, nginx, postgres, tarantool, echo)
			s.ask.rate = one(d, 1000.0, 2000, 5000)
			s.ask.thresholds = one(d, nil, []string{"p(99) < 20s"})
			how(d, &s)
			return s
		}}
	}
	all := []family{
		fast(8, "starved-by-nice", starvedByNice),
		fast(8, "starved-by-neighbours", starvedByNeighbours),
		fast(14, "stopped-and-continued", stoppedAndContinued),
	}
	if mayHurry() {
		all = append(all, fast(10, "stolen-in-bursts", stolenInBursts))
	}
	if root, _ := groupRoot(); root != "" {
		all = append(all, fast(10, "throttled", throttled), fast(6, "starved-by-group", starvedByGroup))
	}
	return append(all, family{"garbage", truthInvalid, 6, garbage})
}

// starvingHolds checks that there was contention for the core: brunt's threads were ready to run but waited for a core
// for at least 5 % of the time. The kernel measures this, not brunt. It returns "" if that was so, or otherwise what
// was wrong.
func starvingHolds(w *witness) string {
	if w.Waiting < 0.05 {
		return fmt.Sprintf("brunt's threads waited for a core for only %.0f %% of the time", 100*w.Waiting)
	}
	return ""
}

func starvedByNice(d *draw, s *situation) {
	n := 2 + d.IntN(3)
	s.wrap = []string{"nice", "-n", "19"}
	s.fault = burnBeside(n, burner{busy: time.Second, period: time.Second, nice: leastNice()})
	s.holds = starvingHolds
	s.Why = fmt.Sprintf(
		"%d endless loops on brunt's core against brunt at nice 19: its fair share, 15 of %d at best, is less than %.0f requests a second or a closed load need", n, 15+1024*n, s.ask.rate)
}

// leastNice returns the niceness of endless loops: the most favourable value where that is permitted, so that brunt
// can't get ahead of them by raising its own priority.
func leastNice() int {
	if mayHurry() {
		return -20
	}
	return 0
}

func starvedByNeighbours(d *draw, s *situation) {
	n := 3 + d.IntN(3)
	s.fault = burnBeside(n, burner{busy: time.Second, period: time.Second, nice: leastNice()})
	s.holds = starvingHolds
	s.Why = fmt.Sprintf(
		"%d endless loops on brunt's core: after each wake-up others have the core for milliseconds, and the server answers within one", n)
}

func stoppedAndContinued(d *draw, s *situation) {
	period := one(d, 100*time.Millisecond, 250*time.Millisecond, time.Second)
	stopped := (time.Duration(float64(period) * one(d, 0.3, 0.5, 0.8, 0.97))).Round(time.Millisecond)
	s.fault = holdBrunt(stopped, period)
	s.Why = fmt.Sprintf(
		"brunt is stopped for %v of each %v: so much of the schedule is sent late, or of a closed load not at all, and the server answers within a millisecond", stopped, period)
}

func stolenInBursts(d *draw, s *situation) {
	period := one(d, 50*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond)
	busy := (time.Duration(float64(period) * (0.3 + 0.4*d.Float64()))).Round(time.Millisecond)
	s.fault = burnBeside(1, burner{realtime: true, busy: busy, period: period})
	s.holds = starvingHolds
	s.Why = fmt.Sprintf("a real-time process has brunt's core for %v of each %v, as a hypervisor's other guests would",
		busy, period)
}

func throttled(d *draw, s *situation) {
	ms := 1 + d.IntN(4)
	s.ask.rate = one(d, 20_000.0, 50_000)
	s.fault = quota(ms)
	s.Why = fmt.Sprintf(
		"the control group gives brunt %d ms of each 100 ms: %.0f requests a second need 8 ms at the 4 µs of a bare loop, and a closed load takes all there is", ms, s.ask.rate)
}

func starvedByGroup(d *draw, s *situation) {
	n := 1 + d.IntN(2)
	s.fault = together(leastShare(), burnBeside(n, burner{busy: time.Second, period: time.Second}))
	s.holds = starvingHolds
	s.Why = fmt.Sprintf(
		"brunt's control group has the least weight there is next to %d endless loops on its core: 2 of %d parts", n, 2+1024*n)
}

// garbage makes the garbage collector run all the time. With a memory limit below the live heap, it takes half of the
// cores, which is where Go's runtime limits it (see the documentation of GOMEMLIMIT).
func garbage(d *draw) situation {
	s := d.begin(nginx, redis, postgres)
	s.ask.tier = "library"
	s.ask.open = true
	s.ask.rate = one(d, 40_000.0, 60_000)
	s.ask.sessions = 50
	s.env = []string{"GOMEMLIMIT=1MiB", "GOGC=1"}
	s.holds = func(w *witness) string {
		if w.Brunt+w.Waiting < 0.8 {
			return fmt.Sprintf("brunt used only %.0f %% of its core", 100*w.Brunt)
		}
		return ""
	}
	s.Why = fmt.Sprintf(
		"the collector takes up to half of brunt's one core, and %.0f requests a second of 15 µs or more over a client library need more than the rest", s.ask.rate)
	return s
}

// fewFiles returns a command that limits brunt to 100 open files.
func fewFiles() []string { return []string{"prlimit", "--nofile=100:100"} }

// tooMuch returns situations whose load is more than the machine can do.
func tooMuch() []family {
	all := []family{
		{"rate-too-high", truthNotPass, 12, func(d *draw) situation {
			s := d.begin(redis, echo, nginx, postgres, web)
			s.ask.open = true
			s.ask.rate = one(d, 500_000.0, 1_000_000, 2_000_000)
			s.ask.sessions = one(d, 16, 64, 200)
			s.ask.thresholds = one(d, nil, []string{"p(99) < 30s"})
			s.Why = fmt.Sprintf(
				"%.0f requests a second, one at a time on each session, over one core for brunt and one for the server", s.ask.rate)
			return s
		}},
		{"few-descriptors", truthRefused, 6, func(d *draw) situation {
			s := d.begin(redis, nginx, echo)
			s.ask.sessions = one(d, 100, 150, 400)
			s.ask.rate = 200
			s.wrap = fewFiles()
			s.Why = fmt.Sprintf("%d sessions are asked for, and the process may open 100 files", s.ask.sessions)
			return s
		}},
	}
	if root, _ := groupRoot(); root == "" {
		return all
	}
	return append(all, family{"pipeline-too-high", truthInvalid, 6, func(d *draw) situation {
		s := d.begin(redis, tarantool, echo)
		s.ask.tier, s.ask.open = "codec", false
		s.ask.sessions, s.ask.pipeline = 64, one(d, 100, 1000)
		ms := 2 + d.IntN(8)
		s.fault = quota(ms)
		s.Why = fmt.Sprintf(
			"%d requests in flight a session and as many again with each answer, for %d ms of each 100 ms: the server waits for brunt", s.ask.pipeline, ms)
		return s
	}})
}
