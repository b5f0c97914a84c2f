package keyspace

import "strconv"

const (
	fnvBasis = 0xCBF29CE484222325
	fnvPrime = 1099511628211
)

// Flavor is whose keys are meant: the two implementations hash the bytes of a number in opposite
// orders.
type Flavor string

// The flavors.
const (
	GoYCSB Flavor = "goycsb" // go-ycsb: most significant byte first; also what "" means
	Java   Flavor = "java"   // YCSB: least significant byte first
)

// Hash is FNV-1a 64 over the 8 bytes of n in the flavor's order, as a signed number without its
// sign. (FNV-1a: Fowler, Noll, Vo.)
func (f Flavor) Hash(n int64) int64 {
	h, big := uint64(fnvBasis), f != Java
	for k := range 8 {
		shift := 8 * k
		if big {
			shift = 56 - shift
		}
		h = (h ^ uint64(n)>>shift&0xff) * fnvPrime
	}
	if s := int64(h); s < 0 {
		return -s
	} else {
		return s
	}
}

// Keys writes the keys of numbered records.
type Keys struct {
	Prefix  string
	Ordered bool // the number itself instead of its hash
	Padding int  // least number of digits
	Flavor  Flavor
}

// Append appends the key of record number n to dst.
func (k *Keys) Append(dst []byte, n int64) []byte {
	dst = append(dst, k.Prefix...)
	if !k.Ordered {
		n = k.Flavor.Hash(n)
	}
	width := k.Padding
	if n < 0 {
		dst = append(dst, '-')
		width--
	}
	var digits [20]byte
	d := strconv.AppendUint(digits[:0], magnitude(n), 10)
	for range width - len(d) {
		dst = append(dst, '0')
	}
	return append(dst, d...)
}

// magnitude is |n|; the least number, whose hash keeps its sign, has one too.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}
