package proxy

import (
	"net/netip"
	"slices"
	"time"
)

// Rule describes what a proxy does to connections while the rule is set. Rules are combined: delays add up, the
// lowest bandwidth applies, and a direction is blocked if any rule blocks it.
type Rule struct {
	Clients []netip.Prefix // the clients to whose connections it applies; empty means all
	ToServer,
	ToClient bool // the directions to which Delay, Jitter, BytesPerS and Block apply

	Delay, Jitter time.Duration // data arrives later by Delay plus a uniformly random time from 0 to Jitter
	BytesPerS     float64       // limit per connection and direction; 0 means none
	Block         bool          // nothing arrives until the rule is cleared, then everything does
	Handshake     time.Duration // how long a new connection waits before the proxy dials the server
	Reset         bool          // existing and new connections end by RST at once
	Refuse        bool          // new connections end by RST
	HalfOpen      bool          // see Proxy
}

// of reports whether the rule applies to a client's connections.
func (r *Rule) of(client netip.Addr) bool {
	return len(r.Clients) == 0 || slices.ContainsFunc(r.Clients, func(p netip.Prefix) bool { return p.Contains(client) })
}

// shape is the combined effect of rules on one direction of a connection.
type shape struct {
	delay, jitter time.Duration
	bytesPerS     float64
	block         bool
}

// plain reports whether data passes unchanged.
func (s *shape) plain() bool { return *s == shape{} }

// rules are a proxy's rules at one time. They are immutable: changed is closed when other rules replace them.
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

// opening returns what happens to a new connection: whether it is reset at once and, if not, how long it waits
// before the server is dialled.
func (r *rules) opening(client netip.Addr) (reset bool, wait time.Duration) {
	for _, rule := range r.all {
		if rule.of(client) {
			reset = reset || rule.Reset || rule.Refuse
			wait += rule.Handshake
		}
	}
	return reset, wait
}
