package plan

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"brunt/internal/base/suggest"
	"brunt/internal/protocol"
)

// proxies checks the proxies between servers.
func (c *checker) proxies() {
	p := c.plan
	if len(p.Proxies) > MaxProxies {
		c.add(p.Proxies[0].At, "remove some", "%d proxies, and at most %d are allowed", len(p.Proxies), MaxProxies)
	}
	names, listens := map[string]bool{}, map[string]bool{}
	for i := range p.Proxies {
		x := &p.Proxies[i]
		for _, end := range []struct{ key, address string }{{"listen", x.Listen}, {"to", x.To}} {
			if !hostPort(end.address) {
				c.add(x.Where.At(end.key, x.At), "write host:port", "%s of proxy %q is %q", end.key, x.Name, end.address)
			}
		}
		switch {
		case x.Name == "":
			c.add(x.At, "add name", "a proxy without a name")
		case names[x.Name]:
			c.add(x.At, "rename one", "proxy %q stands twice", x.Name)
		case listens[x.Listen]:
			c.add(x.Where.At("listen", x.At), "give each an address of its own", "two proxies listen at %s", x.Listen)
		}
		names[x.Name], listens[x.Listen] = true, true
	}
}

// faults checks each fault, and that their names are unique.
func (c *checker) faults() {
	p := c.plan
	seen := map[string]bool{}
	for i := range p.Faults {
		f := &p.Faults[i]
		at := func(key string) Position { return f.Where.At(key, f.At) }
		if seen[f.Name] {
			c.add(f.At, "rename one", "fault %q stands twice", f.Name)
		}
		seen[f.Name] = true
		c.oneOf(at("spacing"), "spacing", f.Spacing, "even", "poisson")
		c.oneOf(at("must"), "must", f.Must, MustHappen, MustTry)
		c.oneOf(at("pick"), "pick", f.Pick, "all", "turn", "random")
		if f.Start < 0 || f.For < 0 || f.Every < 0 || f.Jitter < 0 {
			c.add(f.At, "give times ≥ 0", "fault %q has a negative time", f.Name)
		}
		if f.Times < 0 || f.Times > MaxFaultTimes {
			c.add(at("times"), "give a number from 1 to 10000", "fault %q comes %d times", f.Name, f.Times)
		}
		if f.Every == 0 && (f.Times > 1 || f.Spacing != "") {
			c.add(at("times"), "add every: 1m", "fault %q is repeated, and nothing says after what time", f.Name)
		}
		if f.Phase != "" {
			c.faultPhase(f)
		}
		c.faultKind(f)
		c.targetsOf(f, f.Affects, nil)
		if f.For == 0 && f.Every > 0 && f.Heals() {
			c.add(at("every"), "add for: 10s", "fault %q is repeated and never healed", f.Name)
		}
	}
}

func (c *checker) faultPhase(f *Fault) {
	var names []string
	for i := range c.plan.Load {
		names = append(names, c.plan.Load[i].Name)
	}
	if !slices.Contains(names, f.Phase) {
		fix := "add a load"
		if len(names) > 0 {
			fix = suggest.DidYouMean(f.Phase, names)
		}
		c.cross(f.Where.At("phase", f.At), fix, "fault %q counts from unknown phase %q", f.Name, f.Phase)
	}
}

// Heals reports whether the fault has to be undone.
func (f *Fault) Heals() bool {
	switch f.Kind {
	case FaultProcess:
		return f.Process.Do == "stop" || f.Process.Restart != ""
	case FaultCommand:
		return f.Command.Heal != ""
	case FaultHTTP:
		return f.HTTP.Heal.Origin != ""
	case FaultRequest:
		return len(f.Request.Heal) > 0
	}
	return true
}

func (c *checker) faultKind(f *Fault) {
	switch f.Kind {
	case FaultProcess:
		c.processFault(f)
	case FaultCommand:
		if strings.TrimSpace(f.Command.Inject) == "" {
			c.add(f.At, "add inject", "fault %q has no command", f.Name)
		}
	case FaultHTTP:
		for _, w := range []*protocol.Web{&f.HTTP.Inject, &f.HTTP.Heal} {
			if (w.Path != "" || w == &f.HTTP.Inject) && w.Origin == "" {
				c.add(f.At, "add origin: http://host:port", "nothing says where the request of fault %q goes", f.Name)
			}
		}
	case FaultRequest:
		if len(f.Request.Inject) == 0 {
			c.add(f.At, "add inject", "fault %q has no request", f.Name)
		}
		c.targetsOf(f, f.Request.Addresses, nil)
	case FaultNetwork:
		c.networkFault(f)
	case FaultFlood:
		if f.Flood.Connections < 1 || f.Flood.Connections > MaxFloodConnections {
			c.add(f.At, "give connections from 1 to 50000", "fault %q opens %d connections", f.Name, f.Flood.Connections)
		}
		if !(f.Flood.PerS >= 0) {
			c.add(f.At, "give a number above 0", "fault %q opens %v connections a second", f.Name, f.Flood.PerS)
		}
		for _, a := range f.Flood.Addresses {
			if !hostPort(a) {
				c.add(f.At, "write host:port", "fault %q floods %q", f.Name, a)
			}
		}
	default:
		c.add(f.At, "add one of process, command, http, request, network, flood", "fault %q does nothing", f.Name)
	}
}

func (c *checker) processFault(f *Fault) {
	x := &f.Process
	at := func(key string) Position { return x.Where.At(key, f.At) }
	c.oneOf(at("do"), "do", x.Do, "stop", "kill", "signal")
	given := 0
	for _, is := range []bool{x.PID != 0, x.PIDFile != "", x.Match != "", x.CGroup != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		c.add(f.At, "give one of pid, pid_file, match and cgroup", "fault %q names %s", f.Name,
			[]string{"no process", "", "processes in several ways"}[min(given, 2)])
	}
	if _, err := regexp.Compile(x.Match); err != nil {
		c.add(at("match"), "write a regular expression of Go", "match of fault %q: %v", f.Name, err)
	}
	switch {
	case x.PID == 1 || x.PID < 0:
		c.add(at("pid"), "name the server's process", "fault %q is about process %d", f.Name, x.PID)
	case x.Do == "":
		c.add(f.At, "add do: stop, kill or signal", "fault %q doesn't say what to do", f.Name)
	case x.Do == "signal" && x.Signal == "":
		c.add(f.At, "add signal: SIGHUP", "fault %q names no signal", f.Name)
	case x.Do == "stop" && x.Signal != "":
		c.add(at("signal"), "remove it", "a process is stopped by SIGSTOP")
	case x.Do != "kill" && x.Restart != "":
		c.add(at("restart"), "remove it, or use do: kill", "restart has no meaning for do: %s", x.Do)
	}
}

func (c *checker) networkFault(f *Fault) {
	x := &f.Network
	at := func(key string) Position { return x.Where.At(key, f.At) }
	c.oneOf(at("do"), "do", x.Do, NetworkFaults()...)
	c.oneOf(at("direction"), "direction", x.Direction, "both", "to-server", "to-client")
	c.targetsOf(f, x.Addresses, c.plan.Proxies)
	for _, a := range x.Clients {
		if _, err := netip.ParseAddr(a); err == nil {
			continue
		}
		if _, err := netip.ParsePrefix(a); err != nil {
			c.add(at("clients"), "write an IP address, or a prefix such as 10.0.0.0/8", "client %q of fault %q", a, f.Name)
		}
	}
	switch x.Do {
	case "":
		c.add(f.At, "add do", "fault %q doesn't say what to do", f.Name)
	case NetLatency:
		if x.Delay <= 0 && x.Jitter <= 0 {
			c.add(f.At, "add delay: 100ms", "fault %q delays by nothing", f.Name)
		}
	case NetHandshake:
		if x.Delay <= 0 {
			c.add(f.At, "add delay: 100ms", "fault %q delays by nothing", f.Name)
		}
	case NetBandwidth:
		if !(x.BytesPerS > 0) || !finite(x.BytesPerS) {
			c.add(f.At, "add bytes_per_s: 1e6", "fault %q has no bandwidth", f.Name)
		}
	case NetPartition:
		c.partition(f)
	}
	if x.Do != NetPartition && len(x.Between) > 0 {
		c.add(at("between"), "remove it, or use do: partition", "between has no meaning for do: %s", x.Do)
	}
	if x.Do != NetLatency && x.Do != NetBandwidth && x.Do != NetBlackhole && x.Direction != "" {
		c.add(at("direction"), "remove it", "direction has no meaning for do: %s", x.Do)
	}
}

// NetworkFaults returns the values of NetworkFault.Do.
func NetworkFaults() []string {
	return []string{NetLatency, NetBandwidth, NetReset, NetBlackhole, NetHandshake, NetHalfOpen, NetPartition, NetRefuse}
}

// partition checks the groups of a partition: each node must be the name of a proxy's node, an address of the target,
// or the load.
func (c *checker) partition(f *Fault) {
	x := &f.Network
	at := x.Where.At("between", f.At)
	if len(x.Addresses) > 0 {
		c.add(x.Where.At("addresses", f.At), "remove it", "a partition is between nodes, which between names")
	}
	if len(x.Between) < 2 {
		c.add(at, "write for example between: [[a], [b, c]]", "fault %q needs two groups of nodes", f.Name)
	}
	addresses, _ := c.plan.Target.Weighted()
	known := append([]string{LoadNode}, addresses...)
	for i := range c.plan.Proxies {
		known = append(known, c.plan.Proxies[i].BehindIt())
		if from := c.plan.Proxies[i].From; from != "" {
			known = append(known, from)
		}
	}
	seen := map[string]bool{}
	for _, group := range x.Between {
		for _, node := range group {
			switch {
			case seen[node]:
				c.add(at, "name each node once", "node %q stands twice in fault %q", node, f.Name)
			case !slices.Contains(known, node):
				c.cross(at, suggest.DidYouMean(node, known), "fault %q names unknown node %q", f.Name, node)
			}
			seen[node] = true
		}
	}
}

// BehindIt returns the name of the node behind the proxy.
func (x *Proxy) BehindIt() string { return cmp.Or(x.Node, x.Name) }

// targetsOf checks that a fault's addresses are addresses of the target or names of proxies. A plan without addresses
// isn't checked, because the command line may still provide them.
func (c *checker) targetsOf(f *Fault, named []string, proxies []Proxy) {
	known, _ := c.plan.Target.Weighted()
	if len(known) == 0 {
		return
	}
	for i := range proxies {
		known = append(known, proxies[i].Name)
	}
	for _, a := range named {
		if !slices.Contains(known, a) {
			c.cross(f.At, suggest.DidYouMean(a, known), "fault %q is about %q, which is no address of the target", f.Name, a)
		}
	}
}

// hostPort reports whether an address has the form host:port. An IPv6 host must be in brackets.
func hostPort(address string) bool {
	at := strings.LastIndexByte(address, ':')
	if at < 0 || at == len(address)-1 {
		return false
	}
	host := address[:at]
	return !strings.Contains(host, ":") || strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]")
}
