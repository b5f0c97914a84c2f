package jmeter

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The values of HTTPSampler.ipSourceType.
const (
	sourceAddress = "0" // a host's name or an address
	sourceDevice  = "1" // an interface, with any address
	sourceIPv4    = "2"
	sourceIPv6    = "3"
)

// source is the local address of requests: HTTPSampler.ipSource and its type.
type source struct{ name, kind text }

// sourced is what is known of a local address.
type sourced struct {
	addresses []string
	kind      string // Java's exception, if there is none
	text      string
}

// hostTable is a DNS Cache Manager: the addresses of hosts.
type hostTable map[string]string

// names compiles a DNS Cache Manager.
func (c *compiler) names(e *Element) hostTable {
	if m, ok := c.made[e].(hostTable); ok {
		return m
	}
	m := hostTable{}
	c.made[e] = m
	if e.flag("DNSCacheManager.isCustomResolver") {
		for _, s := range e.list("DNSCacheManager.servers") {
			if s.text != "" {
				c.fault(e, "the DNS server %s isn't asked, this machine resolves names; list hosts with addresses", s.text)
			}
		}
	}
	for _, h := range e.list("DNSCacheManager.hosts") {
		name := strings.ToLower(strings.TrimSpace(c.now(e, h.value("StaticHost.Name"))))
		var all []string
		for address := range strings.SplitSeq(c.now(e, h.value("StaticHost.Address")), ",") {
			found, err := addressesOf(strings.TrimSpace(address))
			if err != nil {
				c.fault(e, "the address %q of the host %s can't be resolved", strings.TrimSpace(address), name)
			}
			all = append(all, found...)
		}
		m[name] = strings.Join(all, ",")
	}
	return m
}

// now evaluates a text before the load.
func (c *compiler) now(e *Element, raw string) string {
	x := c.textOf(e, "value", raw)
	return x.eval(c.dry())
}

// addressesOf returns the IP addresses of a host.
func addressesOf(host string) ([]string, error) {
	if net.ParseIP(host) != nil {
		return []string{host}, nil
	}
	return net.LookupHost(host)
}

// way adds to the route of a request what else is known of its connection. Its own way is that of a session without an
// address (protocol.Web.Origin).
func (r *httpRequest) way(t *thread, o *outgoing, via *url.URL) {
	if !t.program.roams {
		return
	}
	var words strings.Builder
	host := o.url.Hostname()
	if via != nil {
		host = via.Hostname()
	}
	if at := r.names[strings.ToLower(host)]; at != "" && (via == nil || o.url.Scheme == "http") {
		words.WriteString(" at " + at)
	}
	if name := strings.TrimSpace(r.source.name.eval(t)); name != "" {
		s := t.program.sourceOf(name, cmp.Or(strings.TrimSpace(r.source.kind.eval(t)), sourceAddress))
		if len(s.addresses) == 0 {
			o.refused = s
			return
		}
		words.WriteString(" from " + s.fitting(cmp.Or(r.names[strings.ToLower(host)], host)))
	}
	if d := duration(ms(t, &r.connectTimeout)); d > 0 {
		words.WriteString(" within " + d.String())
	}
	if words.Len() > 0 {
		before, after, through := strings.Cut(o.origin, " ")
		if o.origin = before + words.String(); through {
			o.origin += " " + after
		}
	}
}

// fitting returns the first address that is of the same family as a host's, if that is known.
func (s *sourced) fitting(host string) string {
	if i := slices.IndexFunc(s.addresses, func(a string) bool {
		return strings.Contains(a, ":") == strings.Contains(host, ":")
	}); i >= 0 {
		return s.addresses[i]
	}
	return s.addresses[0]
}

// sourceOf finds the local addresses that a request names.
func (p *Program) sourceOf(name, kind string) *sourced {
	key := kind + " " + name
	p.mu.Lock()
	s := p.sources[key]
	p.mu.Unlock()
	if s != nil {
		return s
	}
	s = findSource(name, kind)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sources[key] = s
	return s
}

func findSource(name, kind string) *sourced {
	unknown := func(format string, args ...any) *sourced {
		return &sourced{kind: "java.net.UnknownHostException", text: fmt.Sprintf(format, args...)}
	}
	if kind == sourceAddress {
		all, err := addressesOf(name)
		if err != nil || len(all) == 0 {
			return unknown("%s: Name or service not known", name)
		}
		return &sourced{addresses: all}
	}
	device, err := net.InterfaceByName(name)
	if err != nil {
		return unknown("Cannot find interface %s", name)
	}
	own, err := device.Addrs()
	if err != nil {
		return unknown("Cannot find interface %s", name)
	}
	s := &sourced{}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && (kind == sourceDevice || (n.IP.To4() != nil) == (kind == sourceIPv4)) {
			s.addresses = append(s.addresses, n.IP.String())
		}
	}
	if len(s.addresses) == 0 {
		class := map[string]string{sourceIPv4: "Inet4Address", sourceIPv6: "Inet6Address"}[kind]
		return unknown("Interface %s does not have address of type %s", name, cmp.Or(class, "InetAddress"))
	}
	return s
}

// localAddress compiles the local address of a request.
func (c *compiler) localAddress(e *Element, get func(name string) text) source {
	s := source{name: get("HTTPSampler.ipSource"), kind: get("HTTPSampler.ipSourceType")}
	switch kind := strings.TrimSpace(s.kind.raw); {
	case kind == "", !s.kind.fixed(), s.name.raw == "":
	case !slices.Contains([]string{sourceAddress, sourceDevice, sourceIPv4, sourceIPv6}, kind):
		c.fault(e, "the type of its source address is %q, which isn't known", kind)
	}
	return s
}

// connecting finds out how long connecting may take, if that is the same for all requests. Otherwise, and where
// requests say more about their connections, these are opened by the requests.
func (c *compiler) connecting() {
	p, first := c.program, true
	for _, s := range p.samplers {
		if s.kind != httpSampler {
			continue
		}
		h := s.http
		d := duration(ms(c.dry(), &h.connectTimeout))
		if !c.stable(&h.connectTimeout) || !first && d != p.connectTime || h.source.name.raw != "" || len(h.names) > 0 {
			p.roams = true
		}
		p.connectTime, first = d, false
	}
}

// silence is the response timeout of a request: how long its server may send nothing.
func (r *httpRequest) silence(t *thread) time.Duration { return duration(ms(t, &r.responseTimeout)) }
