package socket

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Way says how connections to addresses are opened, if not directly. It is immutable. Nil means directly.
type Way struct {
	// Resolve has the addresses (host:port) that are used instead of others (host:port). Certificates are verified for
	// the original name, which is also the one that is sent (SNI).
	Resolve map[string]string
	// Via is the HTTP proxy through which connections go, by CONNECT (RFC 9110, 9.3.6); nil: none.
	Via *url.URL
	// Announce is the version of the PROXY protocol whose header begins each connection, 1 or 2; 0: none. See
	// haproxy.org, "The PROXY protocol, versions 1 & 2".
	Announce int
	// From is this machine's address from which connections go; nil: the system chooses it.
	From *net.IPAddr
}

// wayKey is the key of a context's Way.
type wayKey struct{}

// With returns a context in which Dial and Secure take a way.
func With(ctx context.Context, w *Way) context.Context {
	if w == nil {
		return ctx
	}
	return context.WithValue(ctx, wayKey{}, w)
}

// wayOf returns the way of a context; an empty one if it has none.
func wayOf(ctx context.Context) *Way {
	if w, ok := ctx.Value(wayKey{}).(*Way); ok {
		return w
	}
	return &Way{}
}

// ParseWay parses what a plan says: replaced addresses "host:port:address", where the address may have a port of its
// own; the URL of a proxy; "v1" or "v2" of the PROXY protocol; and the IP address from which connections go. It returns
// nil if nothing is said.
func ParseWay(resolve []string, via, announce, from string) (*Way, error) {
	w := &Way{}
	for _, text := range resolve {
		from, to, err := parseResolve(text)
		if err != nil {
			return nil, err
		}
		if w.Resolve == nil {
			w.Resolve = map[string]string{}
		}
		w.Resolve[from] = to
	}
	switch announce {
	case "":
	case "v1", "v2":
		w.Announce = int(announce[1] - '0')
	default:
		return nil, fmt.Errorf("the PROXY protocol has no version %q; use v1 or v2", announce)
	}
	if via != "" {
		u, err := url.Parse(via)
		if err != nil || u.Scheme != "http" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
			return nil, errors.New("the proxy isn't of the form http://host:port or http://user:password@host:port")
		}
		w.Via = u
	}
	if from != "" {
		ip, err := netip.ParseAddr(from)
		if err != nil {
			return nil, fmt.Errorf("%q isn't an IP address of this machine", from)
		}
		w.From = &net.IPAddr{IP: ip.Unmap().AsSlice(), Zone: ip.Zone()}
	}
	if len(resolve) == 0 && via == "" && announce == "" && from == "" {
		return nil, nil
	}
	return w, nil
}

// parseResolve parses host:port:address, in which IPv6 addresses are in brackets.
func parseResolve(text string) (from, to string, err error) {
	wrong := fmt.Errorf("%q isn't of the form host:port:address, such as shop.example:443:127.0.0.1", text)
	host, rest, _ := strings.Cut(text, ":")
	if strings.HasPrefix(text, "[") {
		var ok bool
		if host, rest, ok = strings.Cut(text[1:], "]:"); !ok {
			return "", "", wrong
		}
	}
	port, address, ok := strings.Cut(rest, ":")
	if n, err := strconv.Atoi(port); !ok || err != nil || n < 1 || n > 65535 || host == "" || address == "" {
		return "", "", wrong
	}
	if Network(address) == "unix" {
		return net.JoinHostPort(host, port), address, nil
	}
	if h, p, err := net.SplitHostPort(address); err == nil {
		return net.JoinHostPort(host, port), net.JoinHostPort(h, p), nil
	}
	return net.JoinHostPort(host, port), net.JoinHostPort(strings.Trim(address, "[]"), port), nil
}

// to returns the address that is connected to instead of another one.
func (w *Way) to(address string) string {
	if to, ok := w.Resolve[address]; ok {
		return to
	}
	return address
}

// Hosted returns host:port for the path of a Unix socket, and the way on which it leads there: for libraries that take
// no paths. Other addresses stay as they are.
func (w *Way) Hosted(address, port string) (hosted string, way *Way) {
	if Network(address) != "unix" {
		return address, w
	}
	way = &Way{}
	if w != nil {
		*way = *w
	}
	hosted = net.JoinHostPort("localhost", port)
	way.Resolve = map[string]string{hosted: way.to(address)}
	return hosted, way
}

// dial opens a connection to an address. Its error is explained.
func (w *Way) dial(ctx context.Context, address string) (net.Conn, error) {
	to := w.to(address)
	direct := to
	if w.Via != nil {
		direct = w.proxy()
	}
	c, err := w.plain(ctx, direct)
	if err != nil {
		switch {
		case w.Via != nil:
			return nil, Explain(ctx, "the proxy "+direct, err)
		case to != address:
			return nil, Explain(ctx, address+" at "+to, err)
		}
		return nil, Explain(ctx, address, err)
	}
	if w.Via == nil && w.Announce == 0 {
		return c, nil
	}
	if err := w.prepare(ctx, c, to); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// plain opens a connection to an address itself. A Unix socket whose server has many connections to accept refuses
// further ones at once, with EAGAIN, where TCP waits; so it is tried again until ctx is done.
func (w *Way) plain(ctx context.Context, address string) (c net.Conn, err error) {
	var d net.Dialer
	if w.From != nil && Network(address) == "tcp" {
		d.LocalAddr = &net.TCPAddr{IP: w.From.IP, Zone: w.From.Zone}
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		c, err = d.DialContext(ctx, Network(address), address)
		if !errors.Is(err, syscall.EAGAIN) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// proxy returns the host:port of the proxy.
func (w *Way) proxy() string {
	port := w.Via.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(w.Via.Hostname(), port)
}

// prepare asks the proxy for a tunnel and announces the connection.
func (w *Way) prepare(ctx context.Context, c net.Conn, to string) error {
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(deadline) // a write will fail if it can't be set
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if w.Via != nil {
		if err := w.tunnel(ctx, c, to); err != nil {
			return err
		}
	}
	if w.Announce > 0 {
		if _, err := c.Write(Announcement(w.Announce, c.LocalAddr(), c.RemoteAddr())); err != nil {
			return Explain(ctx, to, err)
		}
	}
	return c.SetDeadline(time.Time{})
}

// maxProxyHead is the greatest head of a proxy's answer.
const maxProxyHead = 16 << 10

// tunnel asks the proxy for a connection to an address.
func (w *Way) tunnel(ctx context.Context, c net.Conn, to string) error {
	named := WithoutZone(to)
	b := fmt.Appendf(nil, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", named, named)
	if w.Via.User != nil {
		password, _ := w.Via.User.Password()
		user := base64.StdEncoding.EncodeToString([]byte(w.Via.User.Username() + ":" + password))
		b = fmt.Appendf(b, "Proxy-Authorization: Basic %s\r\n", user)
	}
	name := "the proxy " + w.proxy()
	if _, err := c.Write(append(b, "\r\n"...)); err != nil {
		return Explain(ctx, name, err)
	}
	var head []byte
	for one := make([]byte, 1); !strings.HasSuffix(string(head), "\r\n\r\n"); head = append(head, one[0]) {
		if _, err := c.Read(one); err != nil {
			return Explain(ctx, name, fmt.Errorf("it closed the connection without an answer: %v", err))
		}
		if len(head) > maxProxyHead {
			return fmt.Errorf("%s doesn't answer CONNECT with HTTP", name)
		}
	}
	line, _, _ := strings.Cut(string(head), "\r\n")
	version, rest, _ := strings.Cut(line, " ")
	status, err := strconv.Atoi(rest[:min(3, len(rest))])
	switch {
	case err != nil || !strings.HasPrefix(version, "HTTP/1."):
		return fmt.Errorf("%s doesn't answer CONNECT with HTTP", name)
	case status == http.StatusProxyAuthRequired:
		return fmt.Errorf("%s wants a user: it answers 407 %s; give http://user:password@host:port", name,
			http.StatusText(status))
	case status/100 != 2:
		return fmt.Errorf("%s refuses to connect to %s: %d %s", name, to, status, http.StatusText(status))
	}
	return nil
}

// signature begins headers of version 2 of the PROXY protocol.
const signature = "\r\n\r\n\x00\r\nQUIT\n"

// Announcement returns the header of the PROXY protocol, of version 1 or 2, for a connection from one address to
// another. For sockets that aren't of TCP it says that the addresses are unknown.
func Announcement(version int, from, to net.Addr) []byte {
	f, ok := from.(*net.TCPAddr)
	t, known := to.(*net.TCPAddr)
	known = known && ok
	if version == 1 {
		if !known {
			return []byte("PROXY UNKNOWN\r\n")
		}
		family := "TCP4"
		if f.IP.To4() == nil {
			family = "TCP6"
		}
		return fmt.Appendf(nil, "PROXY %s %s %s %d %d\r\n", family, f.IP, t.IP, f.Port, t.Port)
	}
	b := append([]byte(signature), 0x21) // version 2, PROXY
	if !known {
		return append(b, 0, 0, 0)
	}
	src, dst, family := f.IP.To4(), t.IP.To4(), byte(0x11) // TCP over IPv4
	if src == nil || dst == nil {
		src, dst, family = f.IP.To16(), t.IP.To16(), 0x21
	}
	b = append(b, family)
	b = binary.BigEndian.AppendUint16(b, uint16(2*len(src)+4))
	b = append(append(b, src...), dst...)
	b = binary.BigEndian.AppendUint16(b, uint16(f.Port))
	return binary.BigEndian.AppendUint16(b, uint16(t.Port))
}
