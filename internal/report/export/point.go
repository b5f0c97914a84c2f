package export

import (
	"math"
	"slices"

	"brunt/internal/measure"
	"brunt/internal/render/units"
)

// point is an interval, or the sum of several, in the compact form in which it waits to be sent. The point of an
// interval is immutable.
type point struct {
	startNs, endNs int64
	unixNs         int64 // wall clock at the end, ns since 1970
	phase          string
	sessions, busy int
	backlog        uint64
	offered        uint64
	health         measure.Health // in sums, LoopBusy, ProcessCPU and RSSBytes are unused
	operations     []operationPoint
	addresses      []addressPoint
	slow           slowPoint
	workers        []measure.Worker
}

type operationPoint struct {
	counts measure.Counts
	times  [measure.Distributions]distribution // in the order of measure.Declared; those that aren't exported are empty
}

type addressPoint struct {
	counts     measure.Counts
	service    distribution
	up         int
	reconnects uint64
}

// slowPoint holds the figures for slow_cooker's metrics, summed over all operations.
type slowPoint struct {
	requests, successes uint64
	sumNs               float64
	milli, micro, nano  measure.Steps
}

// newPoint copies an interval, in time proportional to the number of operations and addresses. all is scratch
// space.
func newPoint(iv *measure.Interval, l *ladders, all *measure.Histogram) *point {
	p := &point{
		startNs: iv.StartNs, endNs: iv.EndNs, unixNs: iv.UnixNs + iv.EndNs - iv.StartNs, phase: units.Clean(iv.Phase),
		sessions: iv.Sessions, busy: iv.Busy, backlog: iv.Backlog, offered: iv.Offered, health: iv.Health,
		operations: make([]operationPoint, len(iv.Operations)), addresses: make([]addressPoint, len(iv.Addresses)),
		workers: slices.Clone(iv.Workers),
	}
	all.Reset()
	declared := measure.Declared()
	for i := range iv.Operations {
		o := &iv.Operations[i]
		p.operations[i].counts = o.Counts
		for k, h := range o.Times() {
			if declared[k].Help != "" {
				p.operations[i].times[k] = l.compact(*h)
			}
		}
		p.slow.requests += o.Done
		p.slow.successes += o.OK()
		if o.Response != nil {
			all.Merge(o.Response)
		}
	}
	p.slow.sumNs = all.Sum()
	p.slow.milli, p.slow.micro, p.slow.nano = l.milli.cut(all), l.micro.cut(all), l.nano.cut(all)
	for i := range iv.Addresses {
		a := &iv.Addresses[i]
		p.addresses[i] = addressPoint{a.Counts, l.compact(a.Service), a.Up, a.Reconnects}
	}
	return p
}

// bytes returns roughly how much memory the point uses.
func (p *point) bytes() int {
	const step, distribution = 16, 200
	n := 500 + step*(len(p.slow.milli)+len(p.slow.micro)+len(p.slow.nano))
	for i := range p.operations {
		o := &p.operations[i]
		n += 300 + len(o.times)*distribution
		for k := range o.times {
			n += step * o.times[k].steps()
		}
	}
	for i := range p.addresses {
		n += 300 + distribution + step*p.addresses[i].service.steps()
	}
	return n
}

func (d *distribution) steps() int { return len(d.native) + len(d.classic) }

// add adds the summable figures of another point to p. p must be a sum, not the point of an interval.
func (p *point) add(o *point) {
	p.grow(len(o.operations), len(o.addresses))
	for i := range o.operations {
		to, from := &p.operations[i], &o.operations[i]
		to.counts.Add(&from.counts)
		for k := range to.times {
			to.times[k].add(&from.times[k])
		}
	}
	for i := range o.addresses {
		to, from := &p.addresses[i], &o.addresses[i]
		to.counts.Add(&from.counts)
		to.service.add(&from.service)
		to.reconnects += from.reconnects
	}
	p.offered += o.offered
	p.health.Add(&o.health)
	p.slow.requests += o.slow.requests
	p.slow.successes += o.slow.successes
	p.slow.sumNs += o.slow.sumNs
	p.slow.milli = p.slow.milli.Add(o.slow.milli)
	p.slow.micro = p.slow.micro.Add(o.slow.micro)
	p.slow.nano = p.slow.nano.Add(o.slow.nano)
}

func (p *point) grow(operations, addresses int) {
	p.operations = append(p.operations, make([]operationPoint, max(0, operations-len(p.operations)))...)
	p.addresses = append(p.addresses, make([]addressPoint, max(0, addresses-len(p.addresses)))...)
}

// add adds another distribution, except for its minimum, maximum and quantiles.
func (d *distribution) add(o *distribution) {
	d.count += o.count
	d.zero += o.zero
	d.sumNs += o.sumNs
	d.native, d.classic = d.native.Add(o.native), d.classic.Add(o.classic)
}

// Native histograms have base-2 exponential buckets, with the same layout in Prometheus and OpenTelemetry. Bucket i
// holds the values above 2^((i−1)/8) s and up to 2^(i/8) s, so buckets are 9 % wide.
const (
	nativeSchema = 3
	nativeFirst  = -239 // holds 1 ns
	nativeLast   = 132  // holds 24 h
)

// ladder holds the upper bounds of buckets in nanoseconds, ascending. Values above the last bound have the index
// len(ladder).
type ladder []float64

// ladders are the bucket layouts that distributions are counted in.
type ladders struct {
	native  ladder
	classic ladder
	// The layouts of slow_cooker's histograms in ms, µs and ns; the bounds are in nanoseconds.
	milli, micro, nano ladder
}

func newLadders() *ladders {
	l := &ladders{}
	for i := nativeFirst; i <= nativeLast; i++ {
		l.native = append(l.native, math.Exp2(float64(i)/8)*1e9)
	}
	for power := 1e4; power < 1e11; power *= 10 {
		l.classic = append(l.classic, power, 2*power, 5*power)
	}
	l.classic = append(l.classic, 1e11)
	exponential := func(start, factor, unitNs float64) (out ladder) {
		for k := range 50 {
			out = append(out, start*math.Pow(factor, float64(k))*unitNs)
		}
		return out
	}
	l.milli = exponential(0.5, 1.3, 1e6)
	l.micro = exponential(1, 1.35, 1e3)
	l.nano = exponential(1, 1.5, 1)
	return l
}

// pointQuantiles returns the quantiles that a point stores.
func pointQuantiles() [5]float64 { return [5]float64{0.5, 0.9, 0.95, 0.99, 0.999} }

// distribution is a histogram in the compact form of points.
type distribution struct {
	count        uint64
	sumNs        float64
	minNs, maxNs int64
	quantiles    [5]int64 // see pointQuantiles
	zero         uint64   // number of values of 0 ns, which native buckets can't hold
	native       measure.Steps
	classic      measure.Steps
}

// climber returns a function that finds the bucket for values from lo to hi, by their middle. The values must
// ascend from call to call.
func (l ladder) climber() func(lo, hi int64) int {
	at := 0
	return func(lo, hi int64) int {
		for middle := float64(lo) + float64(hi-lo)/2; at < len(l) && l[at] < middle; {
			at++
		}
		return at
	}
}

// compact returns the distribution of a histogram, computed in one pass.
func (l *ladders) compact(h *measure.Histogram) (d distribution) {
	if h == nil || h.Count() == 0 {
		return d
	}
	d.count, d.sumNs, d.minNs, d.maxNs = h.Count(), h.Sum(), h.Min(), h.Max()
	var ranks [5]uint64 // with the definition of measure.Histogram.Quantile
	for i, q := range pointQuantiles() {
		ranks[i] = max(1, uint64(math.Ceil(math.Nextafter(q, 0)*float64(d.count))))
	}
	native, classic := l.native.climber(), l.classic.climber()
	var seen uint64
	next := 0
	h.Each(func(lo, hi int64, n uint64) bool {
		seen += n
		for next < len(ranks) && seen >= ranks[next] {
			d.quantiles[next] = min(hi, d.maxNs)
			next++
		}
		if hi == 0 {
			d.zero += n
		} else {
			d.native = d.native.Put(native(lo, hi), n)
		}
		d.classic = d.classic.Put(classic(lo, hi), n)
		return true
	})
	return d
}

// cut counts a histogram in the buckets of a ladder.
func (l ladder) cut(h *measure.Histogram) measure.Steps { return h.Steps(l.climber()) }
