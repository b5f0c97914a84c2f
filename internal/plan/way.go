package plan

import (
	"net/url"

	"brunt/internal/protocol/socket"
)

// Way says how connections to the addresses of a target are opened, if not directly.
type Way struct {
	// Resolve replaces addresses: each host:port:address, where the address may have a port of its own or be the path of
	// a Unix socket.
	Resolve []string
	// Via is the URL of an HTTP proxy through which all connections go, by CONNECT; "": none. Its password is never
	// printed or stored.
	Via string
	// Announce is the version of the PROXY protocol whose header begins each connection, "v1" or "v2"; "": none.
	Announce string
	// From is this machine's IP address from which connections go; "": the system chooses it.
	From string
}

// Compile returns the way in the form that drivers use; nil for the direct one.
func (w *Way) Compile() (*socket.Way, error) {
	return socket.ParseWay(w.Resolve, w.Via, w.Announce, w.From)
}

// password returns the proxy's password; "" if it has none.
func (w *Way) password() string {
	u, err := url.Parse(w.Via)
	if err != nil || u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return password
}

// way checks the way to the target's addresses.
func (c *checker) way(at func(key string) Position) {
	w := &c.plan.Target.Way
	if _, err := w.Compile(); err == nil {
		return
	}
	for key, one := range map[string]Way{"resolve": {Resolve: w.Resolve}, "via": {Via: w.Via},
		"proxy_protocol": {Announce: w.Announce}, "from": {From: w.From}} {
		if _, err := one.Compile(); err != nil {
			c.add(at(key), "see docs/addresses.md", "%s: %v", key, err)
		}
	}
}
