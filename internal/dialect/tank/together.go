package tank

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/load/schedule"
	"brunt/internal/plan"
)

// mostTogether is the greatest number of requests of streams that send at once.
const mostTogether = 1_000_000

// checkTogether adds the faults of streams that can't send at once.
func (c *Config) checkTogether() {
	first := c.streams[0]
	for _, s := range c.streams {
		switch {
		case s.calls != nil && first.calls == nil || s.calls == nil && first.calls != nil,
			s.calls != nil && s.address != first.address:
			c.fault(s.node, "several streams send at once, and not all of them send gRPC to one address; start brunt for each")
		case s.play != nil:
			c.fault(s.node, "several pools send at once, and this one plays scenarios; start brunt for each")
		case s.load.kind == "instances" || s.load.kind == "stpd_file" || s.load.closed != nil:
			c.fault(s.node, "several streams send at once, and this one has no schedule of requests; "+
				"give it a schedule of rps, or start brunt for each")
		case s.tls != first.tls || s.via != first.via || s.clients != first.clients || s.late != first.late ||
			!maps.Equal(s.options, first.options):
			c.fault(s.node, "several streams send at once, and this one's connections differ from those of the first "+
				"(generator, TLS, redirects, keep-alive, discard_overflow); start brunt for each")
		}
	}
}

// arrival is a request of one of several streams.
type arrival struct {
	at     time.Duration
	stream int
}

// together makes the plan of several streams: the requests of all in one list, and the order in which they are due.
func (c *Config) together() (*plan.Plan, error) {
	first := c.streams[0]
	p := first.target()
	p.Scripts = plan.Scripts{Language: Language{}.Name(), Options: map[string]string{}}
	apart := slices.ContainsFunc(c.streams, func(s *stream) bool { return s.address != first.address })
	var due []arrival
	var lasts time.Duration
	list := &ammo{}
	begins := make([]int, len(c.streams)) // position in list of each stream's first request
	sessions := 0
	for i, s := range c.streams {
		one := s.target()
		if err := c.load(one, s); err != nil {
			return nil, err
		}
		all, end := dueTimes(one.Load)
		for _, at := range all {
			due = append(due, arrival{at, i})
		}
		if len(due) > mostTogether {
			return nil, c.wrong(s, fmt.Errorf("streams that send at once have more than %d requests; start brunt for each",
				mostTogether))
		}
		lasts = max(lasts, end)
		sessions += s.load.sessions
		one.Settings.OperationTimeout = max(one.Settings.OperationTimeout, p.Settings.OperationTimeout)
		one.Settings.ConnectTimeout = max(one.Settings.ConnectTimeout, p.Settings.ConnectTimeout)
		p.Settings = one.Settings
		begins[i] = len(list.shots)
		for _, sh := range s.list.shots {
			if sh.stream = i; apart {
				sh.origin = p.Target.Protocol + "://" + s.address
			}
			list.shots = append(list.shots, sh)
		}
	}
	p.Settings.Sessions, c.instances = min(sessions, mostInstances), sessions
	slices.SortStableFunc(due, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	var sequence strings.Builder
	times := make([]time.Duration, len(due))
	numbers := make([]uint64, len(c.streams))
	for k, d := range due {
		times[k] = d.at
		at := begins[d.stream] + c.streams[d.stream].list.at(numbers[d.stream])
		numbers[d.stream]++
		sequence.WriteString(strconv.Itoa(at) + " ")
	}
	p.Load = []plan.Phase{plan.Listed(fmt.Sprintf("%d streams", len(c.streams)), times, lasts)}
	p.Scripts.Options["sequence"] = strings.TrimSpace(sequence.String())
	v := newVeil(p.Scripts.Options)
	list.operations(p, v)
	v.Close()
	return p, nil
}

// dueTimes returns when the requests of phases are due, and when the last phase ends.
func dueTimes(phases []plan.Phase) (all []time.Duration, end time.Duration) {
	for i := range phases {
		ph := &phases[i]
		if ph.Kind == plan.Open {
			segment, exact := ph.Segment()
			shape, err := schedule.NewExactShape([]schedule.Segment{segment}, []schedule.Exact{exact}, 0)
			if err != nil {
				return all, end
			}
			next := shape.Arrivals(schedule.Uniform, 0)
			for len(all) <= mostTogether {
				at, ok := next.Next()
				if !ok {
					break
				}
				all = append(all, end+time.Duration(at))
			}
		}
		end += ph.Duration
	}
	return all, end
}
