package measure

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
)

// The packed encoding of a histogram contains the counts only, as HdrHistogram's does. It isn't for files: workers send
// it to their coordinator, because it is decoded in a tenth of the time at about the same size. It is a sequence of
// blocks of 64 buckets in ascending order. Blocks without values are left out. A block is
//
//   - a head: bits 0–2 are an index into packedWidths, bits 3–4 the number of buckets with values if it is 1 to 3, and
//     bits 5–7 the number of blocks left out before it
//   - if bits 5–7 are all set: a varint to be added to them
//   - the buckets with values: a byte for each if there are 1 to 3, else a bitmap of 8 bytes, little-endian
//   - their counts minus 1: numbers of packedWidths bits, lowest bits first, filled up to a whole byte; or varints
const (
	packedBlock = 64
	packedFew   = 3 // most buckets that are listed rather than mapped
	packedGap   = 7 // least gap that needs a varint
)

// packedWidths are the lengths in bits of the counts of a block. With 0, each count is 1. packedVarint stands for
// varints.
var packedWidths = [8]uint8{0, 1, 2, 3, 4, 6, 8, packedVarint}

const packedVarint = 64

// packedIndex is the inverse of packedWidths: the index of the least width for numbers of a length in bits.
var packedIndex = [9]uint8{0, 1, 2, 3, 4, 5, 5, 6, 6}

// AppendPacked appends the packed encoding of h, which may be nil.
func (h *Histogram) AppendPacked(b []byte) []byte {
	if h == nil || h.pages == nil || len(h.excess) > 0 {
		return h.appendPackedBuckets(b)
	}
	next := uint32(0)
	for i, p := range h.pages {
		if p == nil {
			continue
		}
		for k := 0; k < octaveSize; k += packedBlock {
			counts := (*[packedBlock]uint32)(p[k:])
			used, all := uint64(0), uint32(0)
			for at, n := range counts {
				if n != 0 {
					used |= 1 << at
					all |= n - 1
				}
			}
			if used != 0 {
				block := uint32(i*octaveSize+k) / packedBlock
				b = appendBlock(b, block-next, used, uint64(all), counts)
				next = block + 1
			}
		}
	}
	return b
}

// appendPackedBuckets is AppendPacked for any histogram.
func (h *Histogram) appendPackedBuckets(b []byte) []byte {
	var counts [packedBlock]uint64
	var used, all uint64
	block, next := uint32(0), uint32(0)
	flush := func() {
		if used != 0 {
			b = appendBlock(b, block-next, used, all, &counts)
			next, used, all = block+1, 0, 0
		}
	}
	h.each(func(i uint32, n uint64) bool {
		if i/packedBlock != block {
			flush()
			block = i / packedBlock
		}
		used |= 1 << (i % packedBlock)
		all |= n - 1
		counts[i%packedBlock] = n
		return true
	})
	flush()
	return b
}

// appendBlock appends a block with gap blocks left out before it. used are its buckets with values, all are the bits
// that their counts minus 1 have together.
func appendBlock[T uint32 | uint64](b []byte, gap uint32, used, all uint64, counts *[packedBlock]T) []byte {
	width := uint8(len(packedWidths) - 1)
	if n := bits.Len64(all); n < len(packedIndex) {
		width = packedIndex[n]
	}
	n := bits.OnesCount64(used)
	head := width | uint8(min(gap, packedGap))<<5
	if n <= packedFew {
		head |= uint8(n) << 3
	}
	b = append(b, head)
	if gap >= packedGap {
		b = binary.AppendUvarint(b, uint64(gap-packedGap))
	}
	if n <= packedFew {
		for rest := used; rest != 0; rest &= rest - 1 {
			b = append(b, uint8(bits.TrailingZeros64(rest)))
		}
	} else {
		b = binary.LittleEndian.AppendUint64(b, used)
	}
	if packedWidths[width] == packedVarint {
		for ; used != 0; used &= used - 1 {
			b = binary.AppendUvarint(b, uint64(counts[bits.TrailingZeros64(used)]-1))
		}
		return b
	}
	return appendCounts(b, used, packedWidths[width], counts)
}

// appendCounts appends the counts of a block, minus 1, as numbers of width bits.
func appendCounts[T uint32 | uint64](b []byte, used uint64, width uint8, counts *[packedBlock]T) []byte {
	if width == 0 {
		return b
	}
	var held uint64
	have := uint8(0)
	for ; used != 0; used &= used - 1 {
		held |= uint64(counts[bits.TrailingZeros64(used)]-1) << have
		if have += width; have >= 32 {
			b = binary.LittleEndian.AppendUint32(b, uint32(held))
			held >>= 32
			have -= 32
		}
	}
	for ; have > 0; have -= min(have, 8) {
		b = append(b, uint8(held))
		held >>= 8
	}
	return b
}

var errPacked = errors.New("broken packed histogram")

// DecodePacked decodes what AppendPacked wrote into the memory of h, whose previous values are discarded. The caller
// must then call Restore, because Mean is 0 until then. After an error h is empty.
func (h *Histogram) DecodePacked(b []byte) error {
	*h = Histogram{few: h.few[:0]}
	if err := h.readPacked(b); err != nil {
		*h = Histogram{few: h.few[:0]}
		return err
	}
	return nil
}

func (h *Histogram) readPacked(b []byte) error {
	few, next, count := h.few, uint64(0), uint64(0)
	for len(b) > 0 {
		head := b[0]
		b = b[1:]
		gap := uint64(head >> 5)
		if gap == packedGap {
			more, n := binary.Uvarint(b)
			if n <= 0 || more > buckets {
				return errPacked
			}
			gap, b = gap+more, b[n:]
		}
		next += gap
		if next >= buckets/packedBlock {
			return errPacked
		}
		used, rest, ok := packedUsed(b, head>>3&packedFew)
		if !ok {
			return errPacked
		}
		from, base := len(few), uint32(next*packedBlock)
		width, sum := packedWidths[head&7], uint64(0)
		if width == packedVarint {
			few, b, ok = packedVarints(few, rest, base, used)
			sum, ok = addUpCounts(few[from:], ok)
		} else {
			few, b, sum, ok = packedCounts(few, rest, base, used, width)
		}
		if count += sum; !ok || count < sum {
			return errPacked
		}
		next++
	}
	h.count, h.few = count, few
	h.spread()
	return nil
}

// packedUsed reads which buckets of a block have values.
func packedUsed(b []byte, listed uint8) (used uint64, rest []byte, ok bool) {
	if listed == 0 {
		if len(b) < 8 {
			return 0, nil, false
		}
		used = binary.LittleEndian.Uint64(b)
		return used, b[8:], used != 0
	}
	if len(b) < int(listed) {
		return 0, nil, false
	}
	for _, at := range b[:listed] {
		if at >= packedBlock || used>>at != 0 { // they ascend
			return 0, nil, false
		}
		used |= 1 << at
	}
	return used, b[listed:], true
}

// packedVarints reads the counts of a block that are varints, and appends them to few.
func packedVarints(few []bucketCount, b []byte, base uint32, used uint64) (_ []bucketCount, rest []byte, ok bool) {
	for ; used != 0; used &= used - 1 {
		c, n := binary.Uvarint(b)
		if n <= 0 || c == math.MaxUint64 {
			return few, nil, false
		}
		few, b = append(few, bucketCount{base + uint32(bits.TrailingZeros64(used)), c + 1}), b[n:]
	}
	return few, b, true
}

// addUpCounts adds up counts. It reports whether they were ok, and their sum has 64 bits.
func addUpCounts(counts []bucketCount, ok bool) (sum uint64, _ bool) {
	for i := range counts {
		sum += counts[i].n
		ok = ok && sum >= counts[i].n
	}
	return sum, ok
}

// packedCounts reads the counts of a block and appends them to few. It returns their sum.
func packedCounts(few []bucketCount, b []byte, base uint32, used uint64, width uint8) (_ []bucketCount, rest []byte,
	sum uint64, ok bool) {
	n := bits.OnesCount64(used)
	size := (n*int(width) + 7) / 8
	if len(b) < size {
		return nil, nil, 0, false
	}
	few = slices.Grow(few, n)[:len(few)+n]
	into := few[len(few)-n:]
	in, held, have, mask := b, uint64(0), uint8(0), uint64(1)<<width-1
	for i := range into {
		if have < width {
			held, have, in = packedFill(held, have, in)
		}
		count := held&mask + 1
		into[i] = bucketCount{base + uint32(bits.TrailingZeros64(used)), count}
		sum += count
		used &= used - 1
		held >>= width
		have -= width
	}
	return few, b[size:], sum, true
}

// packedFill reads ahead up to 63 bits, as many as are there. Bits of held from have on are those that follow.
func packedFill(held uint64, have uint8, in []byte) (uint64, uint8, []byte) {
	if len(in) >= 8 {
		n := (63 - have) / 8
		return held | binary.LittleEndian.Uint64(in)<<have, have + 8*n, in[n:]
	}
	for have <= 48 && len(in) > 0 {
		held |= uint64(in[0]) << have
		in, have = in[1:], have+8
	}
	return held, have, in
}
