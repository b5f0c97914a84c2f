package bucket

import (
	"encoding/binary"
	"math/bits"
)

// murmurSeed is the seed of Tarantool's tuple hashes and of its digest.murmur.
const murmurSeed = 13

// The constants of MurmurHash3_x86_32 (Austin Appleby, public domain).
const (
	murmur1 = 0xcc9e2d51
	murmur2 = 0x1b873593
)

// murmur computes a MurmurHash3_x86_32 incrementally: consecutive pieces have the same hash as their concatenation.
// Libraries would require the pieces to be collected in memory first. Keys consist of several short pieces, so this
// saves a copy for each.
type murmur struct {
	hash  uint32
	carry uint32 // bytes that don't fill a block yet; the first one is the lowest
	held  uint32 // number of bytes in carry, 0 to 3
	size  uint32 // total length of the pieces, bytes
}

func newMurmur() murmur { return murmur{hash: murmurSeed} }

func (m *murmur) write(b []byte) {
	m.size += uint32(len(b))
	for ; m.held != 0 && len(b) > 0; b = b[1:] {
		m.carry |= uint32(b[0]) << (8 * m.held)
		if m.held++; m.held == 4 {
			m.block(m.carry)
			m.carry, m.held = 0, 0
		}
	}
	for ; len(b) >= 4; b = b[4:] {
		m.block(binary.LittleEndian.Uint32(b))
	}
	for _, c := range b {
		m.carry |= uint32(c) << (8 * m.held)
		m.held++
	}
}

func (m *murmur) block(k uint32) {
	k = bits.RotateLeft32(k*murmur1, 15) * murmur2
	m.hash = bits.RotateLeft32(m.hash^k, 13)*5 + 0xe6546b64
}

func (m *murmur) sum() uint32 {
	h := m.hash
	if m.held > 0 {
		h ^= bits.RotateLeft32(m.carry*murmur1, 15) * murmur2
	}
	h ^= m.size
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
