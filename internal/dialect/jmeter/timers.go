package jmeter

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// timer compiles a timer.
func (c *compiler) timer(e *Element) any {
	switch e.Class {
	case "ConstantTimer", "UniformRandomTimer", "GaussianRandomTimer", "PoissonRandomTimer":
		return &delayTimer{class: e.Class, delay: c.text(e, "ConstantTimer.delay"), spread: c.text(e, "RandomTimer.range")}
	case "ConstantThroughputTimer":
		return c.throughputTimer(e)
	case "PreciseThroughputTimer":
		return &preciseTimer{rate: c.text(e, "throughput"), period: c.text(e, "throughputPeriod")}
	case "SyncTimer":
		return &syncTimer{size: c.text(e, "groupSize"), timeout: c.text(e, "timeoutInMs")}
	case "JSR223Timer":
		if s := c.scripted(e); s.code != nil {
			return scriptTimer{s}
		}
	}
	return nil
}

// ms evaluates a number of milliseconds.
func ms(t *thread, x *text) float64 {
	number := strings.TrimSpace(x.eval(t))
	if number == "" { // the usual response timeout; an error of ParseFloat is allocated
		return 0
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(v) {
		return 0
	}
	return v
}

func duration(ms float64) time.Duration {
	return time.Duration(min(max(ms, 0), 1e12)) * time.Millisecond
}

// delayTimer is a timer whose delay doesn't depend on others: org.apache.jmeter.timers.
type delayTimer struct {
	class         string
	delay, spread text
}

func (d *delayTimer) wait(t *thread, _ *sampler) (time.Duration, bool) {
	v := math.Trunc(ms(t, &d.delay))
	switch d.class {
	case "UniformRandomTimer":
		v = math.Abs(t.random.Float64()*ms(t, &d.spread)) + v
	case "GaussianRandomTimer":
		v = t.random.NormFloat64()*ms(t, &d.spread) + v
	case "PoissonRandomTimer":
		v += poisson(t.random, ms(t, &d.spread))
	}
	return duration(v), true
}

// poisson draws from a Poisson distribution: by Knuth's method below 30, above it from the normal distribution that
// is close to it.
func poisson(r *rand.Rand, lambda float64) float64 {
	if lambda <= 0 {
		return 0
	}
	if lambda > 30 {
		return math.Max(0, math.Round(lambda+math.Sqrt(lambda)*r.NormFloat64()))
	}
	limit, p, k := math.Exp(-lambda), 1.0, 0.0
	for p *= r.Float64(); p > limit; p *= r.Float64() {
		k++
	}
	return k
}

// throughputMode is how a Constant Throughput Timer shares its rate.
type throughputMode int

// The modes, as JMeter numbers them.
const (
	thisThread throughputMode = iota
	allThreads
	allThreadsOfGroup
	allShared
	groupShared
)

// throughputTimer is ConstantThroughputTimer: samples a minute. It only slows down.
type throughputTimer struct {
	rate text
	mode throughputMode
	mu   sync.Mutex
	last map[*group]time.Time // shared modes: when the last one was due; nil: of all groups
}

func (c *compiler) throughputTimer(e *Element) any {
	modes := map[string]throughputMode{"this thread only": thisThread, "all active threads": allThreads,
		"all active threads in current thread group": allThreadsOfGroup, "all active threads (shared)": allShared,
		"all active threads in current thread group (shared)": groupShared,
		"calcMode.1": thisThread, "calcMode.2": allThreads, "calcMode.3": allThreadsOfGroup, "calcMode.4": allShared,
		"calcMode.5": groupShared}
	raw := strings.TrimSpace(number0(e, "calcMode"))
	mode, ok := modes[raw]
	if !ok {
		n, err := strconv.Atoi(raw)
		if raw != "" && (err != nil || n < 0 || n > int(groupShared)) {
			c.fault(e, "the mode %q isn't known", raw)
		}
		mode = throughputMode(n)
	}
	rate := c.text(e, "throughput")
	return &throughputTimer{rate: rate, mode: mode, last: map[*group]time.Time{}}
}

func (d *throughputTimer) wait(t *thread, _ *sampler) (time.Duration, bool) {
	rate := ms(t, &d.rate)
	if rate <= 0 {
		return 0, true
	}
	each := time.Duration(float64(time.Minute) / rate)
	now := t.program.now()
	switch d.mode {
	case allShared, groupShared:
		key := t.group
		if d.mode == allShared {
			key = nil
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		due := now
		if last, ok := d.last[key]; ok && last.Add(each).After(now) {
			due = last.Add(each)
		}
		d.last[key] = due
		return due.Sub(now), true
	case allThreads:
		each *= time.Duration(max(t.program.activeThreads(nil), 1))
	case allThreadsOfGroup:
		each *= time.Duration(max(t.program.activeThreads(t.group), 1))
	}
	last, _ := t.own[d].(time.Time)
	due := now
	if !last.IsZero() && last.Add(each).After(now) {
		due = last.Add(each)
	}
	t.own[d] = due
	return due.Sub(now), true
}

// preciseTimer is Precise Throughput Timer: in each period exactly so many samples begin, at random times.
type preciseTimer struct {
	rate, period text
	mu           sync.Mutex
	due          []time.Time
	next         time.Time // when the next period begins
	random       *rand.Rand
}

const mostInPeriod = 10_000_000

func (d *preciseTimer) wait(t *thread, _ *sampler) (time.Duration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := t.program.now()
	if d.random == nil {
		d.random, d.next = newRandom(t.program.seed, 1<<41), now
	}
	rate := ms(t, &d.rate)
	period := time.Duration(max(ms(t, &d.period), 1) * float64(time.Second))
	if rate <= 0 {
		return 0, true
	}
	for len(d.due) == 0 {
		n := int(min(rate, mostInPeriod))
		if rate < 1 {
			n, period = 1, time.Duration(float64(period)/rate)
		}
		for range n {
			d.due = append(d.due, d.next.Add(time.Duration(d.random.Float64()*float64(period))))
		}
		slices.SortFunc(d.due, time.Time.Compare)
		d.next = d.next.Add(period)
	}
	at := d.due[0]
	d.due = d.due[1:]
	return max(at.Sub(now), 0), true
}

// syncTimer is Synchronizing Timer: threads wait until so many of them do.
type syncTimer struct {
	size, timeout text
	mu            sync.Mutex
	waiting       int
	generation    int
}

// lookAgain is how long a thread waits before it looks again for others.
const lookAgain = 2 * time.Millisecond

// arrival is a thread that waits at a syncTimer.
type arrival struct {
	generation int
	since      time.Time
}

func (d *syncTimer) wait(t *thread, _ *sampler) (time.Duration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, here := t.own[d].(arrival)
	if here && at.generation != d.generation {
		delete(t.own, d)
		return 0, true
	}
	if !here {
		d.waiting++
		at = arrival{d.generation, t.program.now()}
		t.own[d] = at
	}
	size := int(ms(t, &d.size))
	if size <= 0 {
		size = t.group.threads
	}
	late := false
	if limit := ms(t, &d.timeout); limit > 0 {
		late = t.program.now().Sub(at.since) >= duration(limit)
	}
	if d.waiting >= size || late || t.program.stopped(t.group) {
		d.waiting = 0
		d.generation++
		delete(t.own, d)
		return 0, true
	}
	return lookAgain, false
}
