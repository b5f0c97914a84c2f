package export

import (
	"slices"

	"brunt/internal/measure"
)

// point is an interval in compact form, or the sum of some: what is kept for those to whom it is sent.
// That of an interval is never changed once made.
type point struct {
	startNs, endNs int64
	unixNs         int64 // wall clock at its end
	phase          string
	sessions, busy int
	backlog        uint64
	offered        uint64
	health         measure.Health // of sums, LoopBusy, ProcessCPU and RSSBytes are unused
	operations     []operationPoint
	addresses      []addressPoint
	slow           slowPoint
}

type operationPoint struct {
	counts                         measure.Counts
	response, service, lag, failed distribution
}

type addressPoint struct {
	counts     measure.Counts
	service    distribution
	up         int
	reconnects uint64
}

// slowPoint is what slow_cooker's metrics need, over all operations.
type slowPoint struct {
	requests, successes uint64
	sumNs               float64
	milli, micro, nano  steps
}

// newPoint copies an interval. It takes time in proportion to the number of operations and
// addresses.
func newPoint(iv *measure.Interval, l *ladders, all *measure.Histogram) *point {
	p := &point{
		startNs: iv.StartNs, endNs: iv.EndNs, unixNs: iv.UnixNs + iv.EndNs - iv.StartNs, phase: iv.Phase,
		sessions: iv.Sessions, busy: iv.Busy, backlog: iv.Backlog, offered: iv.Offered, health: iv.Health,
		operations: make([]operationPoint, len(iv.Operations)), addresses: make([]addressPoint, len(iv.Addresses)),
	}
	all.Reset()
	for i := range iv.Operations {
		o := &iv.Operations[i]
		p.operations[i] = operationPoint{
			o.Counts, l.compact(o.Response), l.compact(o.Service), l.compact(o.Lag), l.compact(o.FailedResponse),
		}
		p.slow.requests += o.Done
		p.slow.successes += o.OK()
		if o.Response != nil {
			all.Merge(o.Response)
		}
	}
	p.slow.sumNs = all.Mean() * float64(all.Count())
	p.slow.milli, p.slow.micro, p.slow.nano = l.milli.cut(all), l.micro.cut(all), l.nano.cut(all)
	for i := range iv.Addresses {
		a := &iv.Addresses[i]
		p.addresses[i] = addressPoint{a.Counts, l.compact(a.Service), a.Up, a.Reconnects}
	}
	return p
}

// bytes is about how much memory the point takes.
func (p *point) bytes() int {
	const step, distribution = 16, 200
	n := 500 + step*(len(p.slow.milli)+len(p.slow.micro)+len(p.slow.nano))
	for i := range p.operations {
		o := &p.operations[i]
		n += 300 + 4*distribution
		n += step * (o.response.steps() + o.service.steps() + o.lag.steps() + o.failed.steps())
	}
	for i := range p.addresses {
		n += 300 + distribution + step*p.addresses[i].service.steps()
	}
	return n
}

func (d *distribution) steps() int { return len(d.native) + len(d.classic) }

// add adds what can be summed of another point to p, which must not be an interval's.
func (p *point) add(o *point) {
	p.grow(len(o.operations), len(o.addresses))
	for i := range o.operations {
		to, from := &p.operations[i], &o.operations[i]
		to.counts.Add(&from.counts)
		to.response.add(&from.response)
		to.service.add(&from.service)
		to.lag.add(&from.lag)
		to.failed.add(&from.failed)
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
	p.slow.milli.add(o.slow.milli)
	p.slow.micro.add(o.slow.micro)
	p.slow.nano.add(o.slow.nano)
}

func (p *point) grow(operations, addresses int) {
	p.operations = append(p.operations, make([]operationPoint, max(0, operations-len(p.operations)))...)
	p.addresses = append(p.addresses, make([]addressPoint, max(0, addresses-len(p.addresses)))...)
}

// add adds all but the extremes and quantiles.
func (d *distribution) add(o *distribution) {
	d.count += o.count
	d.zero += o.zero
	d.sumNs += o.sumNs
	d.native.add(o.native)
	d.classic.add(o.classic)
}

// steps are how many values fell into which buckets, in the order of these.
type steps []step

func (s *steps) add(more steps) {
	k := 0
	for _, m := range more {
		for k < len(*s) && (*s)[k].index < m.index {
			k++
		}
		if k < len(*s) && (*s)[k].index == m.index {
			(*s)[k].n += m.n
		} else {
			*s = slices.Insert(*s, k, m)
		}
	}
}
