package proxy

import (
	"net/netip"
	"slices"
	"time"
)

// Rule is what a proxy does to connections while it is set. Rules add up: delays are summed, the lowest bandwidth
// holds, and a direction is blocked if any rule blocks it.
type Rule struct {
	Clients []netip.Prefix // of the connections that it is for; nil means all
	ToServer,
	ToClient bool // the directions of Delay, Jitter, BytesPerS and Block

	Delay, Jitter time.Duration // what is sent arrives later by Delay, and a uniform draw from 0 to Jitter
	BytesPerS     float64       // most of a connection, each direction by itself; 0 means no limit
	Block         bool          // nothing arrives until the rule is gone, then all of it
	Handshake     time.Duration // how long a new connection waits before the server is dialled
	Reset         bool          // connections that are there end by RST at once, and new ones too
	Refuse        bool          // new connections end by RST
	HalfOpen      bool          // see Proxy
}

// of reports whether the rule is for a client's connections.
func (r *Rule) of(client netip.Addr) bool {
	return len(r.Clients) == 0 || slices.ContainsFunc(r.Clients, func(p netip.Prefix) bool { return p.Contains(client) })
}

// shape is what rules come to for one direction of one connection.
type shape struct {
	delay, jitter time.Duration
	bytesPerS     float64
	block         bool
}

// plain reports whether data passes as it comes.
func (s *shape) plain() bool { return *s == shape{} }

// rules are the rules of a proxy at a time. They are never changed: changed is closed when others take their place.
type rules struct {
	all     []*Rule
	changed chan struct{}
}

func (r *rules) shape(client netip.Addr, toServer bool) (s shape) {
	for _, rule := range r.all {
		if !rule.of(client) || toServer && !rule.ToServer || !toServer && !rule.ToClient {
			continue
		}
		s.delay += rule.Delay
		s.jitter += rule.Jitter
		if b := rule.BytesPerS; b > 0 && (s.bytesPerS == 0 || b < s.bytesPerS) {
			s.bytesPerS = b
		}
		s.block = s.block || rule.Block
	}
	return s
}

// opening says what happens to a new connection: whether it is reset at once, how long it waits, and whether it waits
// until a rule that blocks both directions is gone.
func (r *rules) opening(client netip.Addr) (reset bool, wait time.Duration) {
	for _, rule := range r.all {
		if rule.of(client) {
			reset = reset || rule.Reset || rule.Refuse
			wait += rule.Handshake
		}
	}
	return reset, wait
}
