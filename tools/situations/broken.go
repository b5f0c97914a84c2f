//go:build linux

package main

import (
	"fmt"
	"time"
)

// rulesOrNone returns either no rules or the given ones, which must agree with brunt's default rules.
func rulesOrNone(d *draw, rules ...string) []string {
	if d.IntN(2) == 0 {
		return nil
	}
	return rules
}

// broken returns situations in which the server breaks a rule and the generator has a core to itself.
func broken() []family {
	return []family{
		{"server-stopped", truthFail, 16, serverStopped},
		{"server-hangs", truthFail, 8, serverHangs},
		{"server-killed", truthFail, 10, serverKilled},
		{"server-restarted", truthFail, 8, serverRestarted},
		{"server-slow", truthFail, 10, serverSlow},
		{"sessions-too-few", truthFail, 6, sessionsTooFew},
		{"server-resets", truthFail, 6, serverResets},
		{"server-refuses", truthFail, 6, serverRefuses},
		{"server-rate-limited", truthFail, 6, rateLimited},
		{"server-full", truthFail, 4, serverFull},
		{"server-errors", truthFail, 6, serverErrors},
		{"brown-out", truthFail, 8, brownOut},
		{"network-slow", truthFail, 8, networkSlow},
	}
}

func unreachable() []family {
	return []family{{"server-absent", truthDown, 2, func(d *draw) situation {
		s := d.begin(redis, nginx)
		s.Why = "nothing listens at the address"
		return s
	}}}
}

func serverStopped(d *draw) situation {
	s := d.begin(postgres, redis, tarantool, nginx, web, echo)
	at, length := d.share(0.15, 0.35), d.share(0.3, 0.5)
	s.fault = stopServer(at, length)
	s.ask.thresholds = []string{fmt.Sprintf("response.max < %v", length/2)}
	s.Why = fmt.Sprintf("the server is stopped from %v to %v: what is sent just then takes %v, twice what the rule allows",
		at, at+length, length)
	if s.ask.open {
		s.ask.thresholds = []string{fmt.Sprintf("p(99) < %v", length/2)}
		s.Why = fmt.Sprintf(
			"the server is stopped from %v to %v: of the load's arrivals at least a seventh waits longer than %v, which 1 %% may", at, at+length, length/2)
	}
	return s
}

func serverHangs(d *draw) situation {
	s := d.begin(redis, postgres, tarantool, web)
	at := d.share(0.3, 0.6)
	s.fault = stopServer(at, 0)
	s.ask.timeout = 300 * time.Millisecond
	s.ask.thresholds = rulesOrNone(d, "errors < 1%")
	s.Why = fmt.Sprintf("the server stands still from %v on, and each request gives up after %v", at, s.ask.timeout)
	if !s.ask.open {
		// The 16 sessions fail only a few times each, which may be less than 1 % of all requests.
		s.ask.thresholds = []string{"errors.count < 5"}
	}
	return s
}

func serverKilled(d *draw) situation {
	s := d.begin(redis, postgres, tarantool, nginx, web)
	at := d.share(0.3, 0.6)
	s.fault = killServer(at, 0)
	s.ask.thresholds = rulesOrNone(d, "errors < 1%")
	s.Why = fmt.Sprintf("the server is killed at %v and stays away: 40 %% of the load or more can't be answered", at)
	if !s.ask.open {
		s.ask.thresholds = []string{"errors.count < 5"}
		s.Why = fmt.Sprintf("the server is killed at %v and stays away: each of 16 sessions fails", at)
	}
	return s
}

func serverRestarted(d *draw) situation {
	s := d.begin(redis, postgres, tarantool, nginx)
	s.ask.open = true
	at, length := d.share(0.2, 0.3), d.share(0.2, 0.3)
	s.fault = killServer(at, length)
	s.ask.thresholds = rulesOrNone(d, "errors < 1%")
	s.Why = fmt.Sprintf(
		"the server is away for %v or longer: a fifth of the arrivals fall due meanwhile, and 1 %% may fail", length)
	return s
}

func serverSlow(d *draw) situation {
	s := d.begin(postgres, tarantool, web)
	s.ask.answer = d.between(40*time.Millisecond, 150*time.Millisecond)
	s.ask.rate = one(d, 20.0, 50, 100)
	s.ask.sessions = 4 + int(2*s.ask.rate*s.ask.answer.Seconds())
	s.ask.thresholds = []string{fmt.Sprintf("p(50) < %v", s.ask.answer/2)}
	s.Why = fmt.Sprintf("each answer takes %v or longer, and half of them may take %v", s.ask.answer, s.ask.answer/2)
	return s
}

func sessionsTooFew(d *draw) situation {
	s := d.begin(postgres, tarantool, web)
	s.ask.open = true
	s.ask.answer = d.between(40*time.Millisecond, 100*time.Millisecond)
	s.ask.sessions = one(d, 2, 4, 8)
	most := float64(s.ask.sessions) / s.ask.answer.Seconds()
	s.ask.rate = float64(int(most * (1.5 + 2*d.Float64())))
	s.ask.thresholds = rulesOrNone(d, fmt.Sprintf("rate > %.0f", 0.95*s.ask.rate))
	s.Why = fmt.Sprintf("%d sessions with answers of %v carry at most %.0f of %.0f a second", s.ask.sessions, s.ask.answer,
		most, s.ask.rate)
	return s
}

func serverResets(d *draw) situation {
	s := d.begin(web, echo)
	every := 5 + d.IntN(15)
	s.ask.rate = one(d, 100.0, 300)
	s.ask.thresholds = rulesOrNone(d, "errors < 1%")
	s.Why = fmt.Sprintf("one of %d requests has its connection reset instead of an answer", every)
	if s.server == web {
		s.ask.operation = fmt.Sprintf("http: {path: /reset?every=%d}", every)
	} else {
		// Each session has its own connection, and an answer has 64 bytes.
		s.far = &proxyConfig{cut: 64 * every}
		s.ask.sessions = 4
	}
	return s
}

func serverRefuses(d *draw) situation {
	s := d.begin(redis, postgres, nginx)
	at := d.share(0.3, 0.6)
	s.far, s.fault = &proxyConfig{}, refuseAll(at)
	s.ask.thresholds = rulesOrNone(d, "errors < 1%")
	s.Why = fmt.Sprintf("from %v on every connection is reset and new ones are refused: 40 %% of the load or more", at)
	if !s.ask.open {
		s.ask.thresholds = []string{"errors.count < 5"}
	}
	return s
}

func rateLimited(d *draw) situation {
	s := d.begin(web)
	s.ask.open = true
	s.ask.rate = one(d, 100.0, 300, 1000)
	limit := int(s.ask.rate * (0.3 + 0.5*d.Float64()))
	s.ask.operation = fmt.Sprintf("http: {path: /limit?per_s=%d}", limit)
	s.ask.thresholds = rulesOrNone(d, "errors < 1%")
	s.Why = fmt.Sprintf("beyond %d of %.0f requests a second the server answers 429", limit, s.ask.rate)
	return s
}

func serverFull(d *draw) situation {
	s := d.begin(crowded)
	s.ask.sessions = 40
	s.ask.rate = 200
	s.Why = fmt.Sprintf("40 sessions are asked for and the server takes %d: most of what is asked for isn't there",
		crowdedSessions)
	return s
}

func serverErrors(d *draw) situation {
	s := d.begin(postgres, tarantool, redis)
	s.ask.rate = one(d, 10.0, 100)
	s.ask.operation = map[kind]string{
		postgres: "sql: select 1 / (random() * 0)::integer", tarantool: "eval: error('no')", redis: "command: [GET]",
	}[s.server]
	s.Why = "the server answers every request with an error"
	return s
}

func brownOut(d *draw) situation {
	s := d.begin(postgres, tarantool, web)
	s.ask.answer, s.ask.timeout = time.Second, 100*time.Millisecond
	s.ask.rate = one(d, 50.0, 100)
	s.ask.sessions = 20
	s.ask.thresholds = rulesOrNone(d, "errors < 1%")
	s.Why = "every answer takes 1 s, and requests give up after 100 ms"
	return s
}

func networkSlow(d *draw) situation {
	s := d.begin(postgres, redis, tarantool, nginx, echo)
	s.far = &proxyConfig{delay: d.between(30*time.Millisecond, 100*time.Millisecond)}
	s.ask.rate = one(d, 20.0, 100, 200)
	s.ask.sessions = 4 + int(2*s.ask.rate*s.far.delay.Seconds())
	s.ask.thresholds = []string{fmt.Sprintf("p(50) < %v", s.far.delay/2)}
	s.Why = fmt.Sprintf("the network delays each answer by %v, and half of them may take %v", s.far.delay, s.far.delay/2)
	return s
}
