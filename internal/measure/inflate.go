package measure

import (
	"encoding/binary"
	"errors"
	"hash/adler32"
	"math/bits"
	"slices"
)

// inflater decompresses zlib streams (RFC 1950, RFC 1951) that are completely in memory, such as those of histograms.
// It takes a third of the time of compress/zlib, which reads a stream byte by byte. This matters because a coordinator
// of many workers spends most of its time here. The zero value is ready to use. It is not safe for concurrent use.
type inflater struct {
	in    []byte
	held  uint64 // bits that were read ahead and not used yet
	count uint   // the number of bits in held
	out   []byte
	base  int  // where this stream's contents begin in out
	most  int  // the largest allowed length of the contents, bytes
	full  bool // the contents were longer than that

	literals, distances, lengths huffman
	sizes                        [maxLiterals + maxDistances]uint8
}

// The limits of RFC 1951.
const (
	maxLiterals  = 288
	maxDistances = 32
	maxBits      = 15
	endOfBlock   = 256
)

var (
	errInflate     = errors.New("broken zlib stream")
	errInflateFull = errors.New("the zlib stream holds more than is allowed")
)

// inflate appends the decompressed contents of a stream to to. It fails if they are longer than most bytes.
func (f *inflater) inflate(to, stream []byte, most int) ([]byte, error) {
	if len(stream) < 6 || stream[0]&0xf != 8 || stream[0]>>4 > 7 || stream[1]&0x20 != 0 ||
		binary.BigEndian.Uint16(stream)%31 != 0 {
		return to, errors.New("not a zlib stream")
	}
	f.in, f.held, f.count, f.out, f.base, f.most = stream[2:], 0, 0, to, len(to), len(to)+most
	f.full = false
	for last := false; !last; {
		if !f.need(3) {
			return to, errInflate
		}
		header := f.take(3)
		last = header&1 == 1
		ok := false
		switch header >> 1 {
		case 0:
			ok = f.stored()
		case 1:
			ok = f.fixed() && f.block()
		case 2:
			ok = f.dynamic() && f.block()
		}
		if !ok && f.full {
			return to, errInflateFull
		}
		if !ok {
			return to, errInflate
		}
	}
	rest := f.in // includes whole bytes that were read ahead
	ahead := int(f.count / 8)
	if len(rest)+ahead < 4 {
		return to, errInflate
	}
	f.take(f.count % 8)
	var sum [4]byte
	n := 0
	for ; n < len(sum) && f.count > 0; n++ {
		sum[n] = byte(f.take(8))
	}
	copy(sum[n:], rest)
	if binary.BigEndian.Uint32(sum[:]) != adler32.Checksum(f.out[f.base:]) {
		return to, errInflate
	}
	return f.out, nil
}

// fill reads bits ahead until there are at least 56 of them, or the input ends.
func (f *inflater) fill() {
	if len(f.in) >= 8 {
		f.held |= binary.LittleEndian.Uint64(f.in) << f.count
		n := (63 - f.count) / 8
		f.in = f.in[n:]
		f.count += 8 * n
		f.held &= 1<<f.count - 1
		return
	}
	for f.count <= 56 && len(f.in) > 0 {
		f.held |= uint64(f.in[0]) << f.count
		f.in, f.count = f.in[1:], f.count+8
	}
}

// need reports whether n more bits are available. n must be at most 56.
func (f *inflater) need(n uint) bool {
	if f.count < n {
		f.fill()
	}
	return f.count >= n
}

// take consumes n bits, which must be available, and returns them.
func (f *inflater) take(n uint) uint64 {
	v := f.held & (1<<n - 1)
	f.held >>= n
	f.count -= n
	return v
}

// stored copies a block that is not compressed.
func (f *inflater) stored() bool {
	f.take(f.count % 8)
	if !f.need(32) {
		return false
	}
	n := int(f.take(16))
	if n^0xffff != int(f.take(16)) || !f.room(n) {
		return false
	}
	for ; n > 0 && f.count > 0; n-- {
		f.out = append(f.out, byte(f.take(8)))
	}
	if n > len(f.in) {
		return false
	}
	f.out, f.in = append(f.out, f.in[:n]...), f.in[n:]
	return true
}

// room reports whether n more bytes may be written.
func (f *inflater) room(n int) bool {
	f.full = len(f.out)+n > f.most
	return !f.full
}

// fixed builds the tables of a block that uses the fixed codes.
func (f *inflater) fixed() bool {
	sizes := f.sizes[:maxLiterals]
	for i := range sizes {
		switch {
		case i < 144:
			sizes[i] = 8
		case i < 256:
			sizes[i] = 9
		case i < 280:
			sizes[i] = 7
		default:
			sizes[i] = 8
		}
	}
	ok := f.literals.make(sizes)
	distances := f.sizes[:maxDistances]
	for i := range distances {
		distances[i] = 5
	}
	return ok && f.distances.make(distances)
}

// orderOfLengths is the order in which a block lists the lengths of the codes for code lengths (RFC 1951, 3.2.7).
var orderOfLengths = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamic reads the tables of a block that defines its own codes.
func (f *inflater) dynamic() bool {
	if !f.need(14) {
		return false
	}
	literals, distances, lengths := int(f.take(5))+257, int(f.take(5))+1, int(f.take(4))+4
	if literals > 286 || distances > 30 {
		return false
	}
	clear(f.sizes[:len(orderOfLengths)])
	for _, at := range orderOfLengths[:lengths] {
		if !f.need(3) {
			return false
		}
		f.sizes[at] = uint8(f.take(3))
	}
	if !f.lengths.make(f.sizes[:len(orderOfLengths)]) {
		return false
	}
	for i := 0; i < literals+distances; {
		symbol, ok := f.symbol(&f.lengths)
		if !ok {
			return false
		}
		if symbol < 16 {
			f.sizes[i] = uint8(symbol)
			i++
			continue
		}
		n, size := 0, uint8(0)
		if !f.need(7) && symbol == 18 || !f.need(3) && symbol == 17 || !f.need(2) {
			return false
		}
		switch symbol {
		case 16:
			if i == 0 {
				return false
			}
			n, size = 3+int(f.take(2)), f.sizes[i-1]
		case 17:
			n = 3 + int(f.take(3))
		default:
			n = 11 + int(f.take(7))
		}
		if i+n > literals+distances {
			return false
		}
		for ; n > 0; n-- {
			f.sizes[i] = size
			i++
		}
	}
	return f.sizes[endOfBlock] > 0 && f.literals.make(f.sizes[:literals]) &&
		f.distances.make(f.sizes[literals:literals+distances])
}

// The meaning of the symbols for lengths (from 257 on) and distances: the lowest value, and how many extra bits follow.
var (
	lengthBase = [...]uint16{3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
		163, 195, 227, 258}
	lengthBits = [...]uint8{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}

	distanceBase = [...]uint16{1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537,
		2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577}
	distanceBits = [...]uint8{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12,
		13, 13}
)

// block decompresses the symbols of a block.
func (f *inflater) block() bool {
	for {
		if f.quick() {
			return true
		}
		symbol, ok := f.symbol(&f.literals)
		switch {
		case !ok || symbol < endOfBlock && !f.room(1):
			return false
		case symbol < endOfBlock:
			f.out = append(f.out, byte(symbol))
			continue
		case symbol == endOfBlock:
			return true
		}
		if !f.repeat(int(symbol) - endOfBlock - 1) {
			return false
		}
	}
}

// quickRoom is how much room quick needs: for 4 literal bytes and the longest repetition.
const quickRoom = 4 + 258

// quick decompresses symbols while their codes are short, and the ends of the stream and of the room are not near. This
// covers nearly all of an encoded histogram. It reports whether it has reached the end of the block.
func (f *inflater) quick() (ended bool) {
	in, held, count, n := f.in, f.held, f.count, len(f.out)
	out, table := f.out[:cap(f.out)], &f.literals.table
	for len(in) >= 8 && n+quickRoom <= f.most {
		if len(out)-n < quickRoom {
			f.out = slices.Grow(f.out[:n], max(n, quickRoom))
			out = f.out[:cap(f.out)]
		}
		held |= binary.LittleEndian.Uint64(in) << count
		ahead := (63 - count) / 8
		in, count = in[ahead:], count+8*ahead
		entry := table[held&(1<<tableBits-1)]
		for i := 0; i < 4 && entry != 0 && entry>>4 < endOfBlock; i++ { // 56 bits are enough for 4 short codes and a look
			out[n] = byte(entry >> 4)
			n++
			held >>= entry & 0xf
			count -= uint(entry & 0xf)
			entry = table[held&(1<<tableBits-1)]
		}
		if entry == 0 {
			break
		}
		if entry>>4 < endOfBlock {
			continue
		}
		if entry>>4 == endOfBlock {
			if ended = uint(entry&0xf) <= count; ended {
				held, count = held>>(entry&0xf), count-uint(entry&0xf)
			}
			break
		}
		length, back, bits := f.peek(held, entry)
		if bits == 0 || back > n-f.base {
			break
		}
		if bits > count { // the literal bytes have used up what was read ahead
			continue
		}
		held, count = held>>bits, count-bits
		if back >= length {
			copy(out[n:n+length], out[n-back:])
		} else {
			for i := range length { // the copied range overlaps its own output
				out[n+i] = out[n+i-back]
			}
		}
		n += length
	}
	f.in, f.held, f.count, f.out = in, held&(1<<count-1), count, out[:n]
	return ended
}

// peek decodes a repetition whose length has the entry's code, without consuming its bits. It returns how many they
// are, at most 38; 0 if the code of the distance is long, or one of the symbols has no meaning.
func (f *inflater) peek(held uint64, entry uint16) (length, back int, bits uint) {
	symbol := int(entry>>4) - endOfBlock - 1
	if symbol >= len(lengthBase) {
		return 0, 0, 0
	}
	bits = uint(entry & 0xf)
	extra := uint(lengthBits[symbol])
	length = int(lengthBase[symbol]) + int(held>>bits&(1<<extra-1))
	bits += extra
	distance := f.distances.table[held>>bits&(1<<tableBits-1)]
	if distance == 0 || int(distance>>4) >= len(distanceBase) {
		return 0, 0, 0
	}
	bits += uint(distance & 0xf)
	extra = uint(distanceBits[distance>>4])
	return length, int(distanceBase[distance>>4]) + int(held>>bits&(1<<extra-1)), bits + extra
}

// repeat appends a copy of earlier output, as a length symbol and the following distance symbol say.
func (f *inflater) repeat(symbol int) bool {
	if symbol >= len(lengthBase) || !f.need(uint(lengthBits[symbol])) {
		return false
	}
	n := int(lengthBase[symbol]) + int(f.take(uint(lengthBits[symbol])))
	d, ok := f.symbol(&f.distances)
	if !ok || int(d) >= len(distanceBase) || !f.need(uint(distanceBits[d])) {
		return false
	}
	back := int(distanceBase[d]) + int(f.take(uint(distanceBits[d])))
	if back > len(f.out)-f.base || !f.room(n) {
		return false
	}
	for n > 0 {
		from := f.out[len(f.out)-back:]
		from = from[:min(n, back)] // the copied range may overlap its own output
		f.out = append(f.out, from...)
		n -= len(from)
	}
	return true
}

// tableBits is the length in bits of the longest codes that are decoded by a table lookup.
const tableBits = 9

// huffman is a canonical Huffman code.
type huffman struct {
	table   [1 << tableBits]uint16 // indexed by the next bits: symbol<<4 | code length; 0: longer code
	counts  [maxBits + 1]uint16    // number of codes by length
	symbols [maxLiterals]uint16    // in the order of their codes
	empty   bool
}

// make builds the code from the code lengths of its symbols. It reports whether the lengths form a valid code.
func (h *huffman) make(sizes []uint8) bool {
	h.counts = [maxBits + 1]uint16{}
	longest := uint8(0)
	for _, n := range sizes {
		h.counts[n]++
		longest = max(longest, n)
	}
	h.counts[0] = 0
	clear(h.table[:])
	if h.empty = longest == 0; h.empty {
		return true // a block without repetitions has no code for distances
	}
	var next, offset [maxBits + 2]int // by length: the next code, and its index in symbols
	code := 0
	for n := 1; n <= maxBits; n++ {
		next[n] = code
		code = (code + int(h.counts[n])) << 1
		offset[n+1] = offset[n] + int(h.counts[n])
	}
	if code>>1 != 1<<maxBits && !(longest == 1 && h.counts[1] == 1) {
		return false
	}
	for symbol, n := range sizes {
		if n == 0 {
			continue
		}
		h.symbols[offset[n]] = uint16(symbol)
		offset[n]++
		code := next[n]
		next[n]++
		if n <= tableBits {
			entry := uint16(symbol)<<4 | uint16(n)
			for at := int(bits.Reverse16(uint16(code)) >> (16 - n)); at < len(h.table); at += 1 << n {
				h.table[at] = entry
			}
		}
	}
	return true
}

// symbol decodes the next symbol.
func (f *inflater) symbol(h *huffman) (uint16, bool) {
	if f.count < maxBits {
		f.fill()
	}
	if entry := h.table[f.held&(1<<tableBits-1)]; entry != 0 {
		n := uint(entry & 0xf)
		if n > f.count {
			return 0, false
		}
		f.held >>= n
		f.count -= n
		return entry >> 4, true
	}
	return f.longSymbol(h)
}

// longSymbol decodes a symbol bit by bit. It is used for codes longer than tableBits.
func (f *inflater) longSymbol(h *huffman) (uint16, bool) {
	code, first, at := 0, 0, 0
	for n := uint(1); n <= min(maxBits, f.count); n++ {
		code |= int(f.held >> (n - 1) & 1)
		count := int(h.counts[n])
		if code-first < count {
			f.take(n)
			return h.symbols[at+code-first], true
		}
		at += count
		first, code = (first+count)<<1, code<<1
	}
	return 0, false
}
