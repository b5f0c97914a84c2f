package balance

import (
	"math"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// pointsPerNode is how many places a node of weight 1 has on the ring. With 160, as ketama has, the shares of nodes
// differ by some 8 %.
const pointsPerNode = 160

// ringOf lays nodes out on a ring by their addresses, so that a node's places don't depend on the others.
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
	slices.SortFunc(ring, func(a, c point) int {
		switch {
		case a.at < c.at:
			return -1
		case a.at > c.at:
			return 1
		}
		return a.node - c.node
	})
	return ring, share
}

// hash is the first node on the ring from the key's place on that is up and has no more under way than Bound times its
// share (consistent hashing with bounded loads, Mirrokni, Thorup and Zadimoghaddam 2018). So a node that is lost moves
// its own keys only, and a key that everybody wants doesn't overrun its node.
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
