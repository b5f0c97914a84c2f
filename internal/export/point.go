package export

import (
	"brunt/internal/measure"
)

// point is an interval in compact form: what is kept of it for those to whom it is sent. It is
// never changed once made.
type point struct {
	startNs, endNs int64
	unixNs         int64 // wall clock at its end
	phase          string
	sessions, busy int
	backlog        uint64
	offered        uint64
	health         measure.Health
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
	milli, micro, nano  []step
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

// sums is the sum of points.
type sums struct {
	operations []operationSums
	addresses  []addressSums
	offered    uint64
	health     measure.Health // LoopBusy, ProcessCPU and RSSBytes are unused
	slow       slowSums
}

type operationSums struct {
	counts                         measure.Counts
	response, service, lag, failed tally
}

type addressSums struct {
	counts     measure.Counts
	service    tally
	reconnects uint64
}

type slowSums struct {
	requests, successes uint64
	sumNs               float64
	milli, micro, nano  []uint64
}

// tally is a sum of distributions.
type tally struct {
	count, zero     uint64
	sumNs           float64
	native, classic []uint64 // the last of classic is above the ladder
}

// add adds a point. l is where the point's steps come from.
func (s *sums) add(p *point, l *ladders) {
	s.grow(len(p.operations), len(p.addresses))
	for i := range p.operations {
		to, from := &s.operations[i], &p.operations[i]
		to.counts.Add(&from.counts)
		to.response.add(&from.response, l)
		to.service.add(&from.service, l)
		to.lag.add(&from.lag, l)
		to.failed.add(&from.failed, l)
	}
	for i := range p.addresses {
		to, from := &s.addresses[i], &p.addresses[i]
		to.counts.Add(&from.counts)
		to.service.add(&from.service, l)
		to.reconnects += from.reconnects
	}
	s.offered += p.offered
	s.health.Add(&p.health)
	s.slow.requests += p.slow.requests
	s.slow.successes += p.slow.successes
	s.slow.sumNs += p.slow.sumNs
	s.slow.milli = addSteps(s.slow.milli, p.slow.milli, len(l.milli))
	s.slow.micro = addSteps(s.slow.micro, p.slow.micro, len(l.micro))
	s.slow.nano = addSteps(s.slow.nano, p.slow.nano, len(l.nano))
}

func (s *sums) grow(operations, addresses int) {
	for len(s.operations) < operations {
		s.operations = append(s.operations, operationSums{})
	}
	for len(s.addresses) < addresses {
		s.addresses = append(s.addresses, addressSums{})
	}
}

func (t *tally) add(d *distribution, l *ladders) {
	t.count += d.count
	t.zero += d.zero
	t.sumNs += d.sumNs
	t.native = addSteps(t.native, d.native, len(l.native))
	t.classic = addSteps(t.classic, d.classic, len(l.classic))
}

// addSteps adds steps to counts, which has one more than bounds.
func addSteps(counts []uint64, steps []step, bounds int) []uint64 {
	if counts == nil && len(steps) > 0 {
		counts = make([]uint64, bounds+1)
	}
	for _, s := range steps {
		counts[s.index] += s.n
	}
	return counts
}

// merge adds o, which isn't used afterwards.
func (s *sums) merge(o *sums) {
	s.grow(len(o.operations), len(o.addresses))
	for i := range o.operations {
		to, from := &s.operations[i], &o.operations[i]
		to.counts.Add(&from.counts)
		to.response.merge(&from.response)
		to.service.merge(&from.service)
		to.lag.merge(&from.lag)
		to.failed.merge(&from.failed)
	}
	for i := range o.addresses {
		to, from := &s.addresses[i], &o.addresses[i]
		to.counts.Add(&from.counts)
		to.service.merge(&from.service)
		to.reconnects += from.reconnects
	}
	s.offered += o.offered
	s.health.Add(&o.health)
	s.slow.requests += o.slow.requests
	s.slow.successes += o.slow.successes
	s.slow.sumNs += o.slow.sumNs
	s.slow.milli = addCounts(s.slow.milli, o.slow.milli)
	s.slow.micro = addCounts(s.slow.micro, o.slow.micro)
	s.slow.nano = addCounts(s.slow.nano, o.slow.nano)
}

func (t *tally) merge(o *tally) {
	t.count += o.count
	t.zero += o.zero
	t.sumNs += o.sumNs
	t.native = addCounts(t.native, o.native)
	t.classic = addCounts(t.classic, o.classic)
}

func addCounts(to, from []uint64) []uint64 {
	if to == nil {
		return append([]uint64(nil), from...)
	}
	for i, n := range from {
		to[i] += n
	}
	return to
}

// clone copies s so that it can be read while s goes on.
func (s *sums) clone() *sums {
	out := &sums{}
	out.merge(s)
	return out
}
