//go:build linux

package main

import (
	"fmt"
	"time"
)

// The names of the healthy families that the goals refer to.
const (
	healthyApart    = "healthy-apart"
	healthySpread   = "healthy-spread"
	healthyTogether = "healthy-together"
)

// generous returns thresholds that are met unless a server breaks down.
func generous() []string { return []string{"p(99) < 2s", "errors < 1%"} }

// healthy returns situations in which server and generator have little to do.
func healthy() []family {
	light := func(kinds ...kind) func(*draw) situation {
		return func(d *draw) situation { return smallLoad(d, kinds...) }
	}
	all := []kind{postgres, redis, tarantool, nginx, web, echo}
	return []family{
		{healthyApart, truthPass, 36, light(all...)},
		{healthyTogether, truthPass, 24, func(d *draw) situation {
			s := light(all...)(d)
			s.onBoth = true
			s.warns = "machine-shared"
			return s
		}},
		{healthySpread, truthPass, 12, func(d *draw) situation {
			s := light(all...)(d)
			s.spread = true
			return s
		}},
		{"healthy-few-descriptors", truthPass, 6, func(d *draw) situation {
			s := light(redis, nginx, echo)(d)
			s.wrap = fewFiles()
			s.ask.sessions = min(s.ask.sessions, 16)
			s.Why += "; the process may open 100 files, which 16 sessions leave room in"
			return s
		}},
		{"healthy-small-server", truthPass, 8, smallServer},
		{"healthy-slow", truthPass, 10, slowButGood},
		{"healthy-far", truthPass, 10, farButGood},
		{"healthy-after-a-stop", truthPass, 6, stoppedWithinRules},
	}
}

// smallLoad returns a situation with an open load of 1 to 5 000 requests a second, or a closed load with think time.
func smallLoad(d *draw, kinds ...kind) situation {
	s := d.begin(kinds...)
	s.ask.thresholds = one(d, nil, generous())
	if s.ask.open {
		s.ask.rate = one(d, 1.0, 10, 50, 100, 300, 1000, 2000, 5000)
		s.ask.poisson = d.IntN(4) == 0
		s.ask.sessions = one(d, 4, 16, 50)
		if (s.server == nginx || s.server == web) && d.IntN(3) == 0 && !s.ask.poisson {
			s.ask.command = "http"
		}
		s.Why = fmt.Sprintf(
			"%.0f requests a second of the cheapest kind: less than half of a core for both sides together, a few sessions busy",
			s.ask.rate)
		return s
	}
	s.ask.sessions = one(d, 1, 2, 4)
	s.ask.think = d.between(5*time.Millisecond, 20*time.Millisecond)
	s.Why = fmt.Sprintf("%d sessions that think %v between requests of the cheapest kind: at most 800 a second",
		s.ask.sessions, s.ask.think)
	return s
}

// smallServer returns a situation with a server that accepts few connections, and a load that needs few and doesn't set
// a number of sessions.
func smallServer(d *draw) situation {
	s := d.begin(small)
	s.ask.command, s.ask.tier, s.ask.open, s.ask.sessions = "http", "codec", true, 0
	s.ask.rate = one(d, 200.0, 1000, 2000)
	s.ask.thresholds = one(d, nil, generous())
	s.Why = fmt.Sprintf("%.0f requests a second of the cheapest kind keep a few connections busy, and the server takes %d",
		s.ask.rate, smallConnections)
	return s
}

// slowButGood returns a situation with a slow server and enough sessions for it.
func slowButGood(d *draw) situation {
	s := d.begin(postgres, tarantool, web)
	s.ask.answer = d.between(20*time.Millisecond, 150*time.Millisecond)
	s.ask.rate = one(d, 20.0, 50, 100)
	s.ask.sessions = 4 + int(2*s.ask.rate*s.ask.answer.Seconds())
	s.ask.thresholds = generous()
	s.Why = fmt.Sprintf("each answer takes %v, twice the sessions are there that this needs, and the rules allow it",
		s.ask.answer)
	return s
}

// farButGood returns a situation with network delay.
func farButGood(d *draw) situation {
	s := d.begin(postgres, redis, tarantool, nginx, echo)
	s.far = &proxyConfig{delay: d.between(10*time.Millisecond, 80*time.Millisecond)}
	s.ask.rate = one(d, 20.0, 100, 200)
	s.ask.sessions = 4 + int(2*s.ask.rate*s.far.delay.Seconds())
	s.ask.thresholds = generous()
	s.Why = fmt.Sprintf(
		"the network delays each answer by %v, twice the sessions are there that this needs, and the rules allow it",
		s.far.delay)
	return s
}

// stoppedWithinRules returns a situation in which the server stops for less than the thresholds allow.
func stoppedWithinRules(d *draw) situation {
	s := d.begin(redis, postgres, nginx)
	s.ask.rate = one(d, 50.0, 100, 200)
	at, length := d.share(0.2, 0.3), d.share(0.1, 0.15)
	s.fault = stopServer(at, length)
	s.ask.thresholds = []string{"response.max < 5s", "errors < 1%"}
	s.Why = fmt.Sprintf("the server stands still for %v, every request is answered, and the rules allow 5 s", length)
	return s
}
