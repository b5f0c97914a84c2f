package web

// FNV-1a with 64 bits, with the parameters that its authors publish (draft-eastlake-fnv).
const (
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x100000001b3
)

// fnv1a continues a hash over b.
func fnv1a(hash uint64, b []byte) uint64 {
	for _, c := range b {
		hash = (hash ^ uint64(c)) * fnvPrime
	}
	return hash
}
