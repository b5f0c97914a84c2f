package jmeter

import (
	"fmt"
	"sync"
	"time"
)

// tally is what the summariser knows of a stretch of samples.
type tally struct {
	count, failed uint64
	sum, min, max int64 // ms
	from          time.Time
}

func (c *tally) add(r *result) {
	v := r.elapsedMs()
	if c.count == 0 || v < c.min {
		c.min = v
	}
	c.max = max(c.max, v)
	c.count++
	c.sum += v
	if !r.success {
		c.failed++
	}
}

// summary prints the summariser's lines.
type summary struct {
	name string
	mu   sync.Mutex
	all  tally
	last tally // since the last line
	told bool
	next time.Time
}

// Sample implements Sink. Transactions aren't counted, unless they hide their samples.
func (s *summary) Sample(r *result) {
	if r.transaction {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.add(r)
	s.last.add(r)
}

// line returns a line of the summariser: total is "=" and a stretch "+".
func (c *tally) line(name, kind string, now time.Time) string {
	elapsed := now.Sub(c.from)
	seconds := int64((elapsed + 500*time.Millisecond) / time.Second)
	rate := "******"
	if elapsed > 0 {
		rate = fmt.Sprintf("%6.1f", float64(c.count)/elapsed.Seconds())
	}
	avg := int64(0)
	share := 0.0
	if c.count > 0 {
		avg = c.sum / int64(c.count)
		share = float64(c.failed) / float64(c.count) * 100
	}
	return fmt.Sprintf("%s %s %6d in %02d:%02d:%02d = %s/s Avg: %5d Min: %5d Max: %5d Err: %5d (%.2f%%)", name, kind,
		c.count,
		seconds/3600, seconds/60%60, seconds%60, rate, avg, c.min, c.max, c.failed, share)
}

// stretch returns the lines about the time since the last ones; "" if nothing was sampled.
func (s *summary) stretch(now time.Time, active, started int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.count == 0 {
		return ""
	}
	out := fmt.Sprintf("%s Active: %d Started: %d Finished: %d\n", s.last.line(s.name, "+", now), active, started,
		started-active)
	if s.told {
		out += s.all.line(s.name, "=", now) + "\n"
	}
	s.told = true
	s.last = tally{from: now}
	return out
}

// end returns the last lines.
func (s *summary) end(now time.Time, active, started int) string {
	out := ""
	if s.told {
		s.mu.Lock()
		count := s.last.count
		s.mu.Unlock()
		if count > 0 {
			return s.stretch(now, active, started)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return out + s.all.line(s.name, "=", now) + "\n"
}
