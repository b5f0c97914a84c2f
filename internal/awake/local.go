package awake

import (
	"context"
	"net"
	"net/url"
	"strings"
	"time"
)

// lookupTimeout is how long names of servers are looked up.
const lookupTimeout = time.Second

// local reports whether one of some addresses (host:port, a URL, or a socket's path) is this machine's own,
// or can't be told. Nothing is sent: the kernel is asked from which address it would.
func local(ctx context.Context, addresses []string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	for _, a := range addresses {
		if u, err := url.Parse(a); err == nil && u.Host != "" {
			a = u.Host
			if u.Port() == "" {
				a = net.JoinHostPort(u.Hostname(), "80")
			}
		}
		if strings.Contains(a, "/") {
			return true
		}
		c, err := (&net.Dialer{}).DialContext(ctx, "udp", a)
		if err != nil {
			return true
		}
		own, other := c.LocalAddr().(*net.UDPAddr), c.RemoteAddr().(*net.UDPAddr)
		c.Close()
		if other.IP.IsLoopback() || own.IP.Equal(other.IP) {
			return true
		}
	}
	return false
}
