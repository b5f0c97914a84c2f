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

// murmur is a MurmurHash3_x86_32 under way. Pieces that are written one after the other hash as one text. Values of
// keys are short and of several pieces, which libraries would have us collect in memory first.
type murmur struct {
	hash  uint32
	carry uint32 // bytes that don't make a block yet, the first lowest
	held  uint32 // how many of those, 0 to 3
	size  uint32 // of all pieces
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
