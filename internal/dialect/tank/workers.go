package tank

import (
	"errors"
	"fmt"
	"time"

	"brunt/internal/measure"
	"brunt/internal/protocol"
)

// afar makes seconds of the intervals of a load that workers send. What single requests took isn't known then, only how
// many took how long, by tag, class of status and class of failure.
type afar struct {
	generator string
	tags      []string // of each operation
	next      *second
	lengthNs  int64 // of the intervals in next
	busyNs    float64
}

// leastSecondNs is the length from which intervals make a second. They are shorter where phases meet.
const leastSecondNs = 900_000_000

// classCodes are the statuses that stand for their classes.
var classCodes = [...]int{0, 100, 200, 300, 400, 500}

// add adds an interval. It returns a second when it is over, otherwise nil.
func (a *afar) add(iv *measure.Interval) *second {
	if a.next == nil {
		a.next = newSecond(iv.UnixNs / 1e9)
	}
	for i := range iv.Operations {
		a.next.addAccount(a.generator, a.tags[i], &iv.Operations[i])
	}
	a.lengthNs += iv.EndNs - iv.StartNs
	a.busyNs += iv.Pace.InFlightNs
	if a.lengthNs < leastSecondNs {
		return nil
	}
	return a.end()
}

// end returns the second that has begun; nil if it has no requests.
func (a *afar) end() *second {
	s := a.next
	if s != nil && a.lengthNs > 0 {
		s.instances = a.busyNs / float64(a.lengthNs)
	}
	*a = afar{generator: a.generator, tags: a.tags}
	if s == nil || len(s.all.realUs) == 0 {
		return nil
	}
	return s
}

// addAccount adds the requests of an operation, which has a tag.
func (s *second) addAccount(generator, tag string, o *measure.OperationAccount) {
	if o.Done == 0 {
		return
	}
	tag, _ = cutTag(tag)
	if s.tagged[tag] == nil {
		s.tagged[tag] = newFigures()
	}
	s.all.addAccount(generator, o)
	s.tagged[tag].addAccount(generator, o)
}

func (f *figures) addAccount(generator string, o *measure.OperationAccount) {
	for _, h := range []*measure.Histogram{o.Service, o.FailedResponse} {
		h.Each(func(lo, hi int64, n uint64) bool {
			for range n {
				f.realUs = append(f.realUs, (lo+hi)/2000)
			}
			return true
		})
	}
	answered := 0
	for class, n := range o.Status {
		if n > 0 {
			f.proto[classCodes[class]] += int(n)
			answered += int(n)
		}
	}
	if rest := int(o.Done) - answered; rest > 0 {
		f.proto[0] += rest
	}
	failed := 0
	for class, n := range o.Errors {
		if code := netCode(generator, protocol.Class(class), "", false); n > 0 && code != noError {
			f.net[code] += int(n)
			failed += int(n)
		}
	}
	if rest := int(o.Done) - failed; rest > 0 {
		f.net[noError] += rest
	}
}

// coarse returns an error unless a mask of statuses names whole classes.
func (c *codes) coarse() error {
	if c.net || c.form == nil {
		return nil
	}
	for class := 1; class < len(classCodes); class++ {
		first := c.has(classCodes[class])
		for code := classCodes[class]; code < classCodes[class]+100; code++ {
			if c.has(code) != first {
				return fmt.Errorf("with --workers, statuses are known by their first digit; write for example %dxx", class)
			}
		}
	}
	return nil
}

// spread checks whether workers can send the load.
func (c *Config) spread(manual bool) error {
	if manual {
		return errors.New("-m: workers begin at a time that all have agreed on; omit -m or --workers")
	}
	c.note("--workers: there is no %s, which has single requests; the record has the figures of all workers", c.phout)
	first := c.streams[0]
	for _, rule := range c.autostop {
		coded, ok := rule.(interface{ coarse() error })
		switch {
		case ok && first.calls != nil:
			return fmt.Errorf("autostop %s: with --workers, the statuses of gRPC aren't known; use --threshold", rule.source())
		case first.play != nil && rule.kind() != "limit":
			return fmt.Errorf("autostop %s: with --workers, the single requests of scenarios aren't known; use --threshold",
				rule.source())
		case ok:
			if err := coded.coarse(); err != nil {
				return fmt.Errorf("autostop %s: %w", rule.source(), err)
			}
		}
	}
	return nil
}

// afarTags returns the tag of each operation. Operations of several tags have none of their own.
func (p *Program) afarTags() []string {
	if p.Scenarios() {
		tags := make([]string, len(p.scenarios))
		for i, sc := range p.scenarios {
			tags[i] = sc.Name
		}
		return tags
	}
	tags := make([]string, len(p.requests))
	known := make([]bool, len(p.requests))
	for i := range p.ammo.shots {
		switch op, tag := p.operations[i], p.ammo.shots[i].tag; {
		case !known[op]:
			tags[op], known[op] = tag, true
		case tags[op] != tag:
			tags[op] = otherTags
		}
	}
	return tags
}

// secondOver takes a second of a load that workers send. The lock is held.
func (e *execution) secondOver(s *second) {
	if s == nil {
		return
	}
	e.all.merge(s)
	s.elapsedS = time.Since(e.began).Seconds()
	e.judge(s)
}

// merge adds the requests of another second.
func (s *second) merge(o *second) {
	s.all.merge(o.all)
	for tag, f := range o.tagged {
		if s.tagged[tag] == nil {
			s.tagged[tag] = newFigures()
		}
		s.tagged[tag].merge(f)
	}
}

func (f *figures) merge(o *figures) {
	f.realUs = append(f.realUs, o.realUs...)
	for code, n := range o.proto {
		f.proto[code] += n
	}
	for code, n := range o.net {
		f.net[code] += n
	}
}
