package plan

import (
	"cmp"
	"slices"

	"brunt/internal/base/suggest"
)

// given returns how many of the ways to map buckets to nodes are set.
func (m *BucketMap) given() (n int) {
	for _, way := range []bool{m.Source != "", m.SQL != "", m.Eval != "", len(m.Ranges) > 0} {
		if way {
			n++
		}
	}
	return n
}

// buckets checks how requests find the node with the bucket of their key.
func (c *checker) buckets(addresses []string, at func(string) Position) {
	b := &c.plan.Target.Balance
	if b.Per == "session" {
		c.add(at("per"), "remove it, or write per: request", "balance: bucket has no meaning for whole sessions")
	}
	if len(b.By) == 0 {
		c.add(at("mode"), "add by: [NAME], the parameters that make the sharding key", "balance: bucket says no parameter")
	}
	if b.Buckets == 0 {
		c.add(at("mode"), "add buckets, how many the cluster has", "balance: bucket doesn't say how many buckets there are")
	}
	c.oneOf(at("hash_function"), "hash_function", b.HashFunction, BucketHashes()...)
	if b.HashFunction == "" {
		c.add(at("mode"), "add hash_function: murmur3 for Picodata, crc32-mp for vshard's bucket_id_mpcrc32, crc32-text for "+
			"its bucket_id_strcrc32", "balance: bucket says no hash_function")
	}
	for _, name := range b.By {
		for i := range c.plan.Operations {
			if op := &c.plan.Operations[i]; op.HashParam(name) < 0 {
				c.add(at("by"), "name a parameter of the first statement "+name+", as in params: [{name: "+name+", …}]",
					"operation %q has no parameter %q in its first statement for its bucket", op.Name, name)
			}
		}
	}
	for i := range c.plan.Operations {
		if op := &c.plan.Operations[i]; op.Routed() {
			c.add(op.Where.At("route", op.At), "remove route", "route has no meaning with balance: bucket")
		}
	}
	c.bucketMap(addresses, at("mode"))
}

// bucketMap checks how buckets are mapped to addresses.
func (c *checker) bucketMap(addresses []string, mode Position) {
	m := &c.plan.Target.Balance.Map
	at := func(key string) Position { return m.Where.At(key, cmp.Or(m.At, mode)) }
	switch m.given() {
	case 0:
		c.add(mode, "add map: vshard, picodata, {sql: …}, {eval: …} or {ranges: …}",
			"balance: bucket has no map of the buckets")
	case 1:
	default:
		c.add(at("source"), "keep one of source, sql, eval and ranges", "the map of the buckets is said in several ways")
	}
	c.oneOf(at("source"), "map", m.Source, "vshard", "picodata")
	if m.Tier != "" && m.Source != "picodata" {
		c.add(at("tier"), "remove it or use source: picodata", "tier has no meaning with this map")
	}
	if len(m.Ranges) > 0 {
		c.bucketRanges(addresses)
	}
}

// bucketRanges checks that the ranges contain every bucket exactly once, and that their addresses exist.
func (c *checker) bucketRanges(addresses []string) {
	b := &c.plan.Target.Balance
	ranges := slices.Clone(b.Map.Ranges)
	slices.SortStableFunc(ranges, func(x, y BucketRange) int { return cmp.Compare(x.From, y.From) })
	next := 1
	for _, r := range ranges {
		switch {
		case r.From > r.To:
			c.add(r.At, "give the first bucket and the last", "the range of buckets %d to %d is empty", r.From, r.To)
			return
		case r.From < next:
			c.add(r.At, "give each bucket one address", "buckets %d to %d stand in two ranges", r.From, min(r.To, next-1))
		case r.From > next:
			c.add(r.At, "give each bucket an address", "buckets %d to %d stand in no range", next, r.From-1)
		}
		next = max(next, r.To+1)
		if !slices.Contains(addresses, r.Address) && c.plan.Target.Topology.Source == "" {
			c.add(r.At, suggest.DidYouMean(r.Address, addresses), "buckets %d to %d are at %s, which isn't among the addresses",
				r.From, r.To, r.Address)
		}
	}
	if at := b.Map.At; b.Buckets > 0 && next <= b.Buckets {
		c.add(at, "give each bucket an address", "buckets %d to %d stand in no range", next, b.Buckets)
	} else if b.Buckets > 0 && next > b.Buckets+1 {
		c.add(at, "correct the range or buckets", "the ranges end at bucket %d, and there are %d buckets", next-1, b.Buckets)
	}
}
