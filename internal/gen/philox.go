package gen

import "math/bits"

// Multipliers and key increments of Philox4x64 (Salmon, Moraes, Dror, Shaw: "Parallel random
// numbers: as easy as 1, 2, 3", SC 2011).
const (
	philoxM0 = 0xD2E7470EE14C6C93
	philoxM1 = 0xCA5A826395121157
	philoxW0 = 0x9E3779B97F4A7C15
	philoxW1 = 0xBB67AE8584CAA73B
)

// philox is the block function of Philox4x64-10: 256 random bits for a 256-bit counter under a
// 128-bit key.
func philox(c0, c1, c2, c3, k0, k1 uint64) (uint64, uint64, uint64, uint64) {
	for range 5 { // two rounds each: the words change places twice
		hi0, lo0 := bits.Mul64(philoxM0, c0)
		hi1, lo1 := bits.Mul64(philoxM1, c2)
		d0, d2 := hi1^c1^k0, hi0^c3^k1
		hi0, c3 = bits.Mul64(philoxM0, d0)
		hi1, c1 = bits.Mul64(philoxM1, d2)
		c0, c2 = hi1^lo1^(k0+philoxW0), hi0^lo0^(k1+philoxW1)
		k0 += 2 * philoxW0 & (1<<64 - 1)
		k1 += 2 * philoxW1 & (1<<64 - 1)
	}
	return c0, c1, c2, c3
}
