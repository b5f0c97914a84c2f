package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"brunt/internal/base/suggest"
)

// balance checks how the load is spread over the target's addresses.
func (c *checker) balance(addresses []string) {
	b := &c.plan.Target.Balance
	at := func(key string) Position { return b.Where.At(key, b.At) }
	c.oneOf(at("mode"), "balance", b.Mode, BalanceModes()...)
	c.oneOf(at("per"), "per", b.Per, "session", "request")
	for _, k := range []struct {
		key, mode string
		given     bool
	}{
		{"hash", "hash", b.Hash != ""}, {"bound", "hash", b.Bound != 0}, {"window", "nearest", b.Window != 0},
		{"zone", "nearest", b.Zone != ""}, {"zones", "nearest", len(b.Zones) > 0},
		{"slow_start", "weighted", b.SlowStart != 0}, {"by", "bucket", len(b.By) > 0}, {"buckets", "bucket", b.Buckets != 0},
		{"hash_function", "bucket", b.HashFunction != ""}, {"map", "bucket", b.Map.given() > 0},
	} {
		if k.given && b.Mode != k.mode {
			c.add(at(k.key), "remove it or use mode: "+k.mode, "%s has no meaning with balance: %s", k.key, b.word())
		}
	}
	if b.Mode == "hash" && b.Bound != 0 && b.Bound <= 1 {
		c.add(at("bound"), "write a number above 1, such as 1.25", "bound is %g", b.Bound)
	}
	if b.SlowStart != 0 && b.Per == "session" {
		c.add(at("slow_start"), "add per: request", "slow_start has no meaning for whole sessions")
	}
	if b.Mode == "hash" && b.Per == "request" {
		c.hashed(at("hash"))
	} else if b.Hash != "" {
		c.add(at("hash"), "add per: request", "hash has no meaning for whole sessions: they are hashed by their numbers")
	}
	if b.Mode == "bucket" {
		c.buckets(addresses, at)
	}
	c.zones(addresses, at)
}

// word returns the mode, with the default's name for "".
func (b *Balance) word() string { return cmp.Or(b.Mode, "round-robin") }

// zones checks the zones of addresses.
func (c *checker) zones(addresses []string, at func(string) Position) {
	b := &c.plan.Target.Balance
	found := false
	for _, a := range slices.Sorted(maps.Keys(b.Zones)) {
		found = found || b.Zones[a] == b.Zone
		if !slices.Contains(addresses, a) && c.plan.Target.Topology.Source == "" {
			fix := suggest.DidYouMean(a, addresses)
			c.add(at("zones"), fix, "zones names the address %s, which isn't listed", a)
		}
	}
	switch {
	case b.Zone == "" && len(b.Zones) > 0:
		c.add(at("zones"), "add zone, the generator's own", "zones without zone")
	case b.Zone != "" && len(b.Zones) == 0 && c.plan.Target.Topology.Source == "":
		c.add(at("zone"), "add zones, the zone of each address", "zone without zones")
	case b.Zone != "" && len(b.Zones) > 0 && !found && c.plan.Target.Topology.Source == "":
		c.add(at("zone"), "use one of "+strings.Join(slices.Compact(slices.Sorted(maps.Values(b.Zones))), ", "),
			"no address is in the zone %s", b.Zone)
	}
}

// hashed checks that every operation has the hashed parameter.
func (c *checker) hashed(at Position) {
	b := &c.plan.Target.Balance
	if b.Hash == "" {
		c.add(at, "add hash, the name of a parameter", "balance: hash per request says no parameter")
		return
	}
	for i := range c.plan.Operations {
		op := &c.plan.Operations[i]
		if op.HashParam(b.Hash) >= 0 {
			continue
		}
		c.add(at, fmt.Sprintf("name a parameter of the first statement %s, as in params: [{name: %s, …}]", b.Hash, b.Hash),
			"operation %q has no parameter %q in its first statement to hash", op.Name, b.Hash)
	}
}

// HashParam returns the index of the parameter of the operation's first statement that has the given name and is either
// generated or a part of a record; −1 if there is none.
func (op *Operation) HashParam(name string) int {
	if len(op.Steps) == 0 {
		return -1
	}
	return slices.IndexFunc(op.Steps[0].Params, func(p Param) bool { return p.Name == name && !p.earlier() })
}

// topology checks how nodes are discovered.
func (c *checker) topology() {
	t := &c.plan.Target.Topology
	at := func(key string) Position { return t.Where.At(key, t.At) }
	c.oneOf(at("source"), "source", t.Source, TopologySources()...)
	c.oneOf(at("leaving"), "leaving", t.Leaving, "drain", "drop")
	if named := t.Source == "srv" || t.Source == "sentinel"; named && t.Name == "" {
		c.add(at("source"), "add name", "topology: %s says no name", t.Source)
	} else if t.Name != "" && !named {
		c.add(at("name"), "remove it", "name has no meaning with topology: %s", t.Source)
	}
	if t.Resolver != "" && t.Source != "dns" && t.Source != "srv" {
		c.add(at("resolver"), "remove it", "resolver has no meaning with topology: %s", t.Source)
	}
	if t.Source == "sentinel" && len(t.From) == 0 {
		c.add(at("source"), "add from: host:26379", "topology: sentinel says no address of a Sentinel")
	}
	if t.Source == "patroni" && len(t.From) == 0 {
		c.add(at("source"), "add from: http://host:8008", "topology: patroni says no address of Patroni's REST API")
	}
	for i := range c.plan.Operations {
		op := &c.plan.Operations[i]
		c.oneOf(op.Where.At("route", op.At), "route", op.Route, "primary", "replica", "any")
		if c.plan.Target.Balance.Per == "session" && op.Routed() {
			c.add(op.Where.At("route", op.At), "use per: request, or remove route",
				"route has no effect with balance per session")
		}
	}
}

// Routed reports whether only nodes of one role may serve the operation.
func (op *Operation) Routed() bool { return op.Route == "primary" || op.Route == "replica" }

// ByRequest reports whether every operation chooses its own address: because of the target's balance, or because an
// operation is for nodes of one role.
func (p *Plan) ByRequest() bool {
	return p.Target.Balance.Per == "request" || p.Target.Balance.Mode == "bucket" || p.Routed()
}

// Routed reports whether an operation is for nodes of one role.
func (p *Plan) Routed() bool {
	return slices.ContainsFunc(p.Operations, func(op Operation) bool { return op.Routed() })
}
