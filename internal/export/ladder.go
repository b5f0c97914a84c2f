package export

import (
	"math"

	"brunt/internal/measure"
)

// Native histograms have base-2 exponential buckets (Prometheus' and OpenTelemetry's layouts are
// the same): bucket i holds what is above 2^((i−1)/8) s up to 2^(i/8) s, so buckets are 9 % wide.
const (
	nativeSchema = 3
	nativeFirst  = -239 // holds 1 ns
	nativeLast   = 132  // holds 24 h
)

// ladder is a row of upper bounds in nanoseconds, ascending. What is above the last has an index
// of its own.
type ladder []float64

// ladders are those that distributions are cut by.
type ladders struct {
	native  ladder
	classic ladder
	// Those of slow_cooker, in its units.
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

// step is how many values fell into a bucket.
type step struct {
	index int
	n     uint64
}

// quantiles that points have.
func pointQuantiles() [5]float64 { return [5]float64{0.5, 0.9, 0.95, 0.99, 0.999} }

// distribution is a histogram in the compact form that points have.
type distribution struct {
	count        uint64
	sumNs        float64
	minNs, maxNs int64
	quantiles    [5]int64 // as pointQuantiles
	zero         uint64   // values of 0 ns, which native buckets can't hold
	native       steps
	classic      steps
}

// climber counts into a ladder's steps while values ascend.
type climber struct {
	ladder ladder
	at     int
	steps  steps
}

func (c *climber) add(ns float64, n uint64) {
	for c.at < len(c.ladder) && c.ladder[c.at] < ns {
		c.at++
	}
	if k := len(c.steps); k > 0 && c.steps[k-1].index == c.at {
		c.steps[k-1].n += n
		return
	}
	c.steps = append(c.steps, step{c.at, n})
}

// compact copies what points need of a histogram in one pass.
func (l *ladders) compact(h *measure.Histogram) (d distribution) {
	if h == nil || h.Count() == 0 {
		return d
	}
	d.count, d.sumNs, d.minNs, d.maxNs = h.Count(), h.Mean()*float64(h.Count()), h.Min(), h.Max()
	var ranks [5]uint64 // as measure.Histogram's Quantile has them
	for i, q := range pointQuantiles() {
		ranks[i] = max(1, uint64(math.Ceil(math.Nextafter(q, 0)*float64(d.count))))
	}
	native, classic := climber{ladder: l.native}, climber{ladder: l.classic}
	var seen uint64
	next := 0
	h.Each(func(lo, hi int64, n uint64) bool {
		seen += n
		for next < len(ranks) && seen >= ranks[next] {
			d.quantiles[next] = min(hi, d.maxNs)
			next++
		}
		middle := float64(lo) + float64(hi-lo)/2
		if hi == 0 {
			d.zero += n
		} else {
			native.add(middle, n)
		}
		classic.add(middle, n)
		return true
	})
	d.native, d.classic = native.steps, classic.steps
	return d
}

// cut counts a histogram into a ladder.
func (l ladder) cut(h *measure.Histogram) steps {
	c := climber{ladder: l}
	if h != nil {
		h.Each(func(lo, hi int64, n uint64) bool {
			c.add(float64(lo)+float64(hi-lo)/2, n)
			return true
		})
	}
	return c.steps
}
