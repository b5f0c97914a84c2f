package jmeter

import (
	"cmp"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The properties of the proxy of all requests.
const (
	proxyHost     = "http.proxyHost"
	proxyPort     = "http.proxyPort"
	proxyScheme   = "http.proxyScheme"
	proxyUser     = "http.proxyUser"
	proxyPass     = "http.proxyPass"
	nonProxyHosts = "http.nonProxyHosts"
)

// reachedOver is how proxies are reached.
const reachedOver = "http"

// proxied is the proxy of a request: HTTPSampler.proxyHost and its neighbours.
type proxied struct{ scheme, host, port, user, password text }

// overallProxy is the proxy of all requests that name none.
type overallProxy struct {
	url  *url.URL
	not  []string // hosts that are reached without it
	ends []string // likewise, how their names end
}

// overallProxy reads the properties of the proxy; nil: there is none.
func (c *compiler) overallProxy() *overallProxy {
	get := func(name string) string {
		v, _ := c.program.property(name)
		return strings.TrimSpace(v)
	}
	u := proxyURL(get(proxyHost), get(proxyPort), get(proxyUser), get(proxyPass))
	if u == nil {
		return nil
	}
	if scheme := get(proxyScheme); scheme != "" && scheme != reachedOver {
		c.faults = append(c.faults, c.plan.fault("-E %s: proxies are reached over http", scheme))
	}
	p := &overallProxy{url: u}
	for host := range strings.SplitSeq(get(nonProxyHosts), "|") {
		if end, ok := strings.CutPrefix(host, "*"); ok {
			p.ends = append(p.ends, end)
		} else if host != "" {
			p.not = append(p.not, host)
		}
	}
	return p
}

// proxyURL returns the URL of a proxy; nil if it lacks a host or a port.
func proxyURL(host, port, user, password string) *url.URL {
	if n, err := strconv.ParseUint(port, 10, 16); host == "" || err != nil || n == 0 {
		return nil
	}
	u := &url.URL{Scheme: reachedOver, Host: net.JoinHostPort(host, port)}
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	return u
}

// proxyOf returns the URL of the proxy through which a request goes; nil: none.
func (r *httpRequest) proxyOf(t *thread, u *url.URL) *url.URL {
	if r.proxy.host.raw != "" {
		if via := proxyURL(strings.TrimSpace(r.proxy.host.eval(t)), strings.TrimSpace(r.proxy.port.eval(t)),
			r.proxy.user.eval(t), r.proxy.password.eval(t)); via != nil {
			return via
		}
	}
	p := t.program.proxy
	if p == nil || slices.Contains(p.not, u.Hostname()) ||
		slices.ContainsFunc(p.ends, func(end string) bool { return strings.HasSuffix(u.Hostname(), end) }) {
		return nil
	}
	return p.url
}

// route returns where the connection of a request leads (protocol.Web.Origin): for http to the proxy, which takes whole
// URLs, for https through it.
func route(u, via *url.URL) string {
	switch {
	case via == nil:
		return originOf(u)
	case u.Scheme == "https":
		return originOf(u) + " via " + via.String()
	}
	return "http://" + via.Host
}

// proxyAuthorization returns the header line that tells a proxy its user; "" if it has none.
func proxyAuthorization(via *url.URL) string {
	if via.User == nil {
		return ""
	}
	password, _ := via.User.Password()
	user := base64.StdEncoding.EncodeToString([]byte(via.User.Username() + ":" + password))
	return "Proxy-Authorization: Basic " + user + "\r\n"
}

// identify adds the user of the proxy to a request, if the answer asks for one that hasn't been told: then it is to be
// sent again. As in JMeter, that is part of the request, and each request is asked.
func (o *outgoing) identify(status int, head headerLines) (again bool) {
	if status != http.StatusProxyAuthRequired || o.proxyUser == "" ||
		!strings.HasPrefix(strings.ToLower(head.get("Proxy-Authenticate")), "basic") {
		return false
	}
	o.head, o.proxyUser = strings.TrimSuffix(o.head, "\r\n")+o.proxyUser+"\r\n", ""
	return true
}

// fixedRoute reports whether the proxy of a request is known before the load.
func (c *compiler) fixedRoute(r *httpRequest) bool {
	p := &r.proxy
	return c.stable(&p.host) && c.stable(&p.port) && c.stable(&p.user) && c.stable(&p.password)
}

// proxied compiles the proxy of a request.
func (c *compiler) proxied(e *Element, get func(name string) text) proxied {
	p := proxied{scheme: get("HTTPSampler.proxyScheme"), host: get("HTTPSampler.proxyHost"),
		port: get("HTTPSampler.proxyPort"), user: get("HTTPSampler.proxyUser"), password: get("HTTPSampler.proxyPass")}
	if scheme := cmp.Or(strings.TrimSpace(p.scheme.raw), reachedOver); p.host.raw != "" && scheme != reachedOver {
		c.fault(e, "the proxy's scheme %s isn't available: proxies are reached over http", scheme)
	}
	return p
}
