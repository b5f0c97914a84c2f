package balance

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// pointsPerNode is the number of points on the ring of a node with weight 1. With 160, as in ketama, the shares
// of nodes differ by about 8 %.
const pointsPerNode = 160

// ringOf places nodes on a ring by the hashes of their addresses, so that a node's points don't depend on other
// nodes.
func (b *Balancer) ringOf(nodes, weights []int) (ring []point, share []float64) {
	share = make([]float64, b.nodes.Cap())
	sum := 0
	for _, w := range weights {
		sum += w
	}
	for k, node := range nodes {
		share[node] = float64(weights[k]) / float64(sum)
		name := []byte(b.nodes.At(node).Address + "#")
		for i := range pointsPerNode * weights[k] {
			ring = append(ring, point{xxhash.Sum64(strconv.AppendInt(name, int64(i), 10)), node})
		}
	}
	slices.SortFunc(ring, func(a, c point) int { return cmp.Or(cmp.Compare(a.at, c.at), a.node-c.node) })
	return ring, share
}

// hash returns the first node on the ring, at or after the key's position, that is in up and whose requests in
// flight don't exceed Bound times its share (consistent hashing with bounded loads, Mirrokni, Thorup and
// Zadimoghaddam 2018). If all exceed it, hash returns the first that is in up. The loss of a node therefore
// moves only that node's keys, and a very popular key doesn't overload its node.
func (b *Balancer) hash(c *choice, key uint64, up Set) (node int, ok bool) {
	lo, hi := 0, len(c.ring)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if c.ring[mid].at < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	all := float64(b.total.Load() + 1)
	found := -1
	for i := range c.ring {
		k := lo + i
		if k >= len(c.ring) {
			k -= len(c.ring)
		}
		node = c.ring[k].node
		if !up.Has(node) {
			continue
		}
		if float64(b.outstanding[node].Load()+1) <= math.Ceil(b.o.Bound*all*c.share[node]) {
			return node, true
		}
		if found < 0 {
			found = node
		}
	}
	return found, found >= 0
}
