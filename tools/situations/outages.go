//go:build linux

package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"brunt/internal/protocol"
	"brunt/internal/record"
)

// outages returns situations in which the account of outages, or the plan's faults, decide what the result means.
func outages() []family {
	return []family{
		{"fault-missing", truthInvalid, 4, faultMissing},
		{"server-flaps", truthFail, 4, serverFlaps},
		{"generator-stalls", truthInvalid, 4, generatorStalls},
	}
}

// accounted adds an account of outages to a load whose arrivals are dense enough for it.
func accounted(s *situation) {
	s.ask.rate = max(s.ask.rate, 300)
	s.ask.more = "account: {deadline: 100ms, tolerance: 100ms, hold: 500ms}\n"
}

func faultMissing(d *draw) situation {
	s := d.begin(redis, postgres, nginx, tarantool)
	at := d.share(0.2, 0.6)
	s.ask.faults = fmt.Sprintf("faults: [{name: miss, at: %v, command: {inject: exit 3}}]\n", at)
	s.ask.thresholds = []string{"errors < 1%"}
	s.Why = fmt.Sprintf("the fault at %v fails, so that the rule says nothing about servers under it", at)
	return s
}

// flaps is how often the server of serverFlaps is away.
const flaps = 3

func serverFlaps(d *draw) situation {
	s := d.begin(redis, nginx, echo)
	accounted(&s)
	s.ask.timeout = 100 * time.Millisecond
	away := d.between(200*time.Millisecond, 300*time.Millisecond)
	s.fault = &fault{
		cause: func(ctx context.Context, r *running) {
			r.until(ctx, d.load/5)
			for range flaps {
				r.server.Pause()
				protocol.Sleep(ctx, away)
				r.server.Resume()
				protocol.Sleep(ctx, d.load/5-away)
			}
		},
		heal: func(r *running) { r.server.Resume() },
	}
	s.ask.thresholds = []string{"errors.count < 5"}
	s.Why = fmt.Sprintf("the server is stopped %d times for %v, and requests give up after %v", flaps, away, s.ask.timeout)
	s.told = func(run *record.Run) string {
		n := 0
		for _, o := range run.Failover.Outages {
			if o.Scope == (record.Scope{}) {
				n++
			}
		}
		if n != flaps {
			return fmt.Sprintf("%d outages, want %d", n, flaps)
		}
		return ""
	}
	return s
}

func generatorStalls(d *draw) situation {
	s := d.begin(redis, nginx, postgres, tarantool)
	accounted(&s)
	at, length := d.share(0.3, 0.6), 350*time.Millisecond
	s.fault = &fault{
		cause: func(ctx context.Context, r *running) {
			r.until(ctx, at)
			syscall.Kill(r.pid, syscall.SIGSTOP)
			protocol.Sleep(ctx, length)
			syscall.Kill(r.pid, syscall.SIGCONT)
		},
		heal: func(r *running) { syscall.Kill(r.pid, syscall.SIGCONT) },
	}
	s.Why = fmt.Sprintf("brunt is stopped at %v for %v, a tenth of the load, while the server is idle", at, length)
	s.told = func(run *record.Run) string {
		if n := len(run.Failover.Outages); n > 0 {
			return fmt.Sprintf("%d outages of a server that was there all the time", n)
		}
		return ""
	}
	return s
}
