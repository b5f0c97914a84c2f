package tank

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/internal/dialect/calls"
	"brunt/internal/dialect/endpoints"
	"brunt/internal/plan"
	"brunt/internal/plan/script"
)

// mostTags is how many tags have statistics of their own in brunt's report.
const mostTags = 200

// otherTags is the name of the requests beyond mostTags tags.
const otherTags = "other tags"

// Plan makes the plan of a configuration, which has no faults.
func (c *Config) Plan() (*plan.Plan, error) {
	if len(c.streams) > 1 {
		return c.together()
	}
	s := c.streams[0]
	p := s.target()
	if err := c.load(p, s); err != nil {
		return nil, err
	}
	p.Scripts = plan.Scripts{Language: Language{}.Name(), Options: map[string]string{}}
	if s.limit > 0 {
		p.Scripts.Options["limit"] = strconv.FormatUint(s.limit, 10)
	}
	v := newVeil(p.Scripts.Options)
	if s.play != nil {
		if err := s.play.operations(p, v); err != nil {
			return nil, err
		}
	} else {
		if s.list.first > 0 {
			p.Scripts.Options["first"] = strconv.Itoa(s.list.first)
		}
		s.list.operations(p, v)
	}
	v.Close()
	if s.limit > 0 && p.LoadModel() == "closed" {
		return p, count(p, s.limit)
	}
	return p, nil
}

// target returns a plan with the stream's target.
func (s *stream) target() *plan.Plan {
	p := &plan.Plan{Name: "tank-" + s.address}
	if s.calls != nil {
		p.Target = s.calls.Target()
		return p
	}
	p.Target = plan.Target{Protocol: "http", Addresses: []string{s.address}, Options: s.options,
		Way: plan.Way{Via: s.via}}
	if s.tls.on {
		p.Target.Protocol = "https"
		p.Target.TLS = plan.TLS{Enabled: true, InsecureSkipVerify: true, CertFile: s.tls.cert, KeyFile: s.tls.key}
	}
	if s.generator == "phantom" {
		s.options["http2"] = "off"
	}
	return p
}

// count makes a queue of a closed load that ends after so many operations, whichever phase this is in.
func count(p *plan.Plan, limit uint64) error {
	program, err := p.CompileScripts()
	if err != nil {
		return err
	}
	counts := make([]uint64, len(p.Operations))
	s := program.Session(0).(script.Chooser)
	cycle := program.(*Program).cycle()
	for i := range cycle {
		counts[s.Choose(i)] += limit / cycle
		if i < limit%cycle {
			counts[s.Choose(i)]++
		}
	}
	for i := range p.Operations {
		p.Operations[i].SetCount(counts[i])
	}
	p.Mix = plan.ByCount
	return nil
}

// operations adds an operation for each tag of each stream.
func (a *ammo) operations(p *plan.Plan, v *veil) {
	type kind struct {
		tag    string
		stream int
	}
	texts, kinds := map[kind]*strings.Builder{}, []kind{}
	counts := map[kind]int{}
	for i := range a.shots {
		k := kind{a.shots[i].tag, a.shots[i].stream}
		if texts[k] == nil && len(kinds) >= mostTags {
			k.tag = otherTags
		}
		if texts[k] == nil {
			texts[k] = &strings.Builder{}
			kinds = append(kinds, k)
		}
		texts[k].WriteString(a.shots[i].encode(i, v))
		counts[k]++
	}
	for _, k := range kinds {
		p.Operations = append(p.Operations, plan.Operation{
			Name: unused(p, endpoints.Name(cmp.Or(k.tag, "no tag"))), Weight: float64(counts[k]), Script: texts[k].String()})
	}
}

// unused returns a name that no operation has yet.
func unused(p *plan.Plan, name string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(p.Operations, func(op plan.Operation) bool { return op.Name == name })
	}
	free := name
	for i := 2; taken(free); i++ {
		free = fmt.Sprintf("%s (%d)", name, i)
	}
	return free
}

// operations adds an operation for each scenario.
func (b *playbook) operations(p *plan.Plan, v *veil) error {
	var order []string
	weights := make([]float64, len(b.scenarios))
	for _, k := range b.order {
		order = append(order, strconv.Itoa(k))
		weights[k]++
	}
	p.Scripts.Options["order"] = strings.Join(order, " ")
	p.Scripts.Options["host"], p.Scripts.Options["sources"] = b.host, v.Text(b.sources)
	for i := range b.scenarios {
		text := asJSON(&b.scenarios[i])
		p.Operations = append(p.Operations, plan.Operation{Name: unused(p, endpoints.Name(b.scenarios[i].Name)),
			Weight: weights[i], Script: v.Text(text)})
	}
	return nil
}

// load sets the plan's phases and settings.
func (c *Config) load(p *plan.Plan, s *stream) error {
	p.Settings = plan.Settings{Sessions: s.load.sessions, Retries: -1, OperationTimeout: ms(s.timeoutMs),
		ConnectTimeout: ms(s.connectMs)}
	if p.Settings.LatePolicy = "all"; s.late == "drop" {
		p.Settings.LatePolicy, p.Settings.EndOnTime = "drop", true
	}
	c.instances = s.load.sessions
	switch s.load.kind {
	case "rps":
		phases, err := rpsPhases(s.load.schedule)
		if err != nil {
			return c.wrong(s, err)
		}
		p.Load = phases
	case "instances":
		at, err := instanceStarts(s.load.schedule)
		if err != nil {
			return c.wrong(s, err)
		}
		if s.loops == 0 && s.limit == 0 {
			s.loops = 1
		}
		s.limited()
		p.Load = instancePhases(at, s.limit, 0)
		p.Settings.Sessions, c.instances = len(at), len(at)
		p.Settings.LatePolicy = ""
		return nil
	case "stpd_file":
		return c.stpd(p, s)
	case "pandora":
		if p.Load = s.load.phases; s.load.closed != nil {
			return c.closed(p, s)
		}
	}
	p.Settings.SessionsAsNeeded = true
	c.share(p, s)
	s.limited()
	if s.limit > 0 {
		p.Load = cut(p.Load, s.limit)
	}
	return c.some(p, s)
}

// share spreads the instances over the connections that they share.
func (c *Config) share(p *plan.Plan, s *stream) {
	starts := s.load.startsMs
	switch {
	case s.clients == 0:
		return
	case s.load.closed != nil && starts[len(starts)-1] > 0:
		c.note("pandora: shared-client isn't followed, since instances start bit by bit; each has its connection")
		return
	}
	p.Settings.Sessions, p.Settings.Pipeline = calls.Spread(p.Settings.Sessions, s.clients, s.tls.on, p.Settings.Tier)
	for i := range p.Load {
		if n := &p.Load[i].Sessions; *n > 0 {
			*n = min(*n, p.Settings.Sessions)
		}
	}
}

// closed sets the phases of a pool whose instances send as fast as they can.
func (c *Config) closed(p *plan.Plan, s *stream) error {
	s.limited()
	p.Load = s.load.closed
	for i := range p.Load {
		if n := &p.Load[i].Operations; s.limit > 0 && p.Load[i].Kind == plan.Closed && (*n == 0 || *n > s.limit) {
			*n = s.limit
		}
	}
	p.Settings.Sessions = min(s.load.sessions, len(s.load.startsMs))
	p.Settings.LatePolicy, p.Settings.EndOnTime = "", false
	c.share(p, s)
	return nil
}

// limited computes how many requests the load has, from the passes over the list.
func (s *stream) limited() {
	n := uint64(0)
	switch {
	case s.play != nil:
		n = uint64(len(s.play.order))
	case s.list != nil:
		n = uint64(s.list.pass())
	}
	if most := n * uint64(s.loops); most > 0 && (s.limit == 0 || most < s.limit) {
		s.limit = most
	}
}

// stpd sets the requests and their times from a file that the stepper has made.
func (c *Config) stpd(p *plan.Plan, s *stream) error {
	file := strings.TrimSpace(s.load.schedule)
	text, err := readFile(expand(file))
	if err != nil {
		return c.wrong(s, err)
	}
	list, atMs, err := stpd(file, text)
	if err != nil {
		c.faultOf(s.load.node, file, err)
		return c.faults
	}
	s.list = list
	if !slices.IsSorted(atMs) {
		// The times of a schedule of instances begin with their starts; after these, requests follow each other.
		at := atMs[:1]
		for len(at) < len(atMs) && atMs[len(at)] >= at[len(at)-1] {
			at = atMs[:len(at)+1]
		}
		s.limit = uint64(len(atMs))
		p.Load = instancePhases(at, s.limit, 0)
		p.Settings.Sessions, c.instances = len(at), len(at)
		p.Settings.LatePolicy = ""
		return nil
	}
	times := make([]time.Duration, len(atMs))
	for i, at := range atMs {
		times[i] = ms(at)
	}
	p.Load = []plan.Phase{plan.Listed("stpd_file", times, times[len(times)-1]+time.Millisecond)}
	p.Settings.SessionsAsNeeded = true
	s.limit = uint64(len(atMs))
	return nil
}

// wrong returns the fault of the schedule.
func (c *Config) wrong(s *stream, err error) error {
	c.fault(s.load.node, "%v", err)
	return c.faults
}

// some returns a fault if the load sends nothing.
func (c *Config) some(p *plan.Plan, s *stream) error {
	for i := range p.Load {
		if expected(&p.Load[i]) > 0 {
			return nil
		}
	}
	return c.wrong(s, fmt.Errorf("the schedule has no request: it is too short for its rates"))
}
