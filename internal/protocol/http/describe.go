package http

import (
	"context"
	"strings"
	"sync"
	"time"

	"brunt/internal/protocol"
)

// anonymous is the product of a server that hasn't named itself.
const anonymous = "HTTP server"

// closesWithin is the time to wait for an immediate close. Something that accepts connections on behalf of a
// server that isn't running, such as a container's proxy, closes them within this time.
const closesWithin = 20 * time.Millisecond

// Describe connects but sends nothing: the server reveals itself in its answers to the load, see Learned. If the
// connection is closed at once, Describe reports that the server isn't running.
func (d *Driver) Describe(ctx context.Context, t protocol.Target) (protocol.ServerInfo, error) {
	ctx, cancel := t.Connecting(ctx)
	defer cancel()
	plan, refused := d.prepare(t, &protocol.Program{})
	if refused != nil {
		return protocol.ServerInfo{}, refused
	}
	c := newConn(d, t, plan)
	defer c.Close()
	own := origin{c.scheme, t.Address}
	if refused := c.connect(ctx, own); refused != nil {
		return protocol.ServerInfo{}, refused
	}
	protocol.Sleep(ctx, closesWithin)
	if err := c.client(own).Err(); err != nil {
		return protocol.ServerInfo{},
			protocol.ConnectError(t.Address+" closes connections at once; is the server running behind it?", "", err)
	}
	return protocol.ServerInfo{Product: anonymous}, nil
}

// Learned implements protocol.Learner with the Server header and the protocol of the first answer.
func (d *Driver) Learned(t protocol.Target) (protocol.ServerInfo, bool) {
	info, ok := d.heard.by.Load(t.Address)
	if !ok {
		return protocol.ServerInfo{}, false
	}
	return info.(protocol.ServerInfo), true
}

// heard holds what servers have revealed about themselves, by address. It is safe for concurrent use.
type heard struct{ by sync.Map }

// note keeps the first answer's Server header and protocol.
func (h *heard) note(address, server, proto string) {
	product, version, _ := strings.Cut(server, "/")
	version, _, _ = strings.Cut(version, " ")
	if product == "" {
		product = anonymous
	}
	h.by.LoadOrStore(address, protocol.ServerInfo{Product: product, Version: version,
		Settings: map[string]string{"protocol": proto}})
}
