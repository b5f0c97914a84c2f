package http

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"brunt/internal/protocol"
	"brunt/internal/protocol/socket"
)

// proxyPorts are the ports of proxies whose URL names none, as in net/http.
var proxyPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// proxyOf returns the address of the proxy through which connections to an origin go, without its user; "" if they go
// there directly.
func (c *conn) proxyOf(to origin) string {
	if c.transport.Proxy == nil {
		return ""
	}
	u, err := c.transport.Proxy(&http.Request{URL: &url.URL{Scheme: to.scheme, Host: to.address}})
	if err != nil || u == nil {
		return ""
	}
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), proxyPorts[u.Scheme])
}

// proxyAnswer is an answer of a proxy to CONNECT that isn't 200.
type proxyAnswer struct{ status int }

func (e *proxyAnswer) Error() string { return fmt.Sprint(e.status, " ", http.StatusText(e.status)) }

// takeAnswer makes a proxy's refusal of CONNECT an error of its own. It is Transport.OnProxyConnectResponse.
func takeAnswer(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyAnswer{answer.StatusCode}
}

// proxySource says where a proxy comes from, if the target doesn't say it.
func (c *conn) proxySource() string {
	if c.plan.options.via {
		return ""
	}
	return "; HTTP_PROXY, HTTPS_PROXY and NO_PROXY say which proxy is used"
}

// unproxied returns the failure to open a connection to an origin through a proxy.
func (c *conn) unproxied(ctx context.Context, to origin, proxy string, err error) *protocol.Error {
	var refusal *proxyAnswer
	if errors.As(err, &refusal) {
		text := fmt.Sprintf("the proxy %s refuses to connect to %s: %s", proxy, to.address, refusal)
		return protocol.ConnectError(text+c.proxySource(), fmt.Sprint(refusal.status), err)
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "proxyconnect" {
		if fault := tlsFault("the proxy "+proxy, op.Err); fault != nil {
			return fault
		}
		return protocol.ConnectError(socket.Explain(ctx, "the proxy "+proxy, op.Err).Error()+c.proxySource(), "", op.Err)
	}
	return unconnected(ctx, to.address+" through the proxy "+proxy, err)
}

// answeredBy returns the address of the proxy that gave an answer in place of the server, whatever statuses are good:
// 407 asks for a user of the proxy (RFC 9110, section 15.5.8). It returns "" for the server's answers, which include
// all that come through a tunnel.
func (c *conn) answeredBy(to origin, status int) string {
	if status != http.StatusProxyAuthRequired || to.scheme != "http" {
		return ""
	}
	return c.proxyOf(to)
}
