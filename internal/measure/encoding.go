package measure

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// The V2 encoding of HdrHistogram (its class Histogram's encodeIntoCompressedByteBuffer): a
// cookie and the length of the zlib stream; inside, a header of 40 bytes and the counts as
// ZigZag LEB128 numbers of at most 9 bytes, where a negative number stands for so many zeros.
const (
	cookieV2           = 0x1c849303 | 0x10
	cookieV2Compressed = 0x1c849304 | 0x10
	headerSize         = 40
	maxVarint          = 9
	maxPayload         = headerSize + buckets*maxVarint
	maxEncoded         = 1 << 20 // bytes; maxPayload needs a third of it
)

// HDREncoder encodes histograms and keeps its buffers between them. It is not safe for
// concurrent use. The zero value is ready.
type HDREncoder struct {
	raw         []byte
	long, short packer
}

// packer compresses, and caches its last input and output: in a closed load, response times, service times and those of
// the only address are the same.
type packer struct {
	raw    []byte
	packed bytes.Buffer
	zip    *zlib.Writer
}

// Append appends the HdrHistogram V2 compressed encoding of h in base64 to dst.
func (e *HDREncoder) Append(dst []byte, h *Histogram) []byte {
	return base64.StdEncoding.AppendEncode(dst, e.pack(h))
}

// AppendBytes is like Append without base64.
func (e *HDREncoder) AppendBytes(dst []byte, h *Histogram) []byte { return append(dst, e.pack(h)...) }

// shortRaw is the length in bytes up to which a search for repetitions costs a hundred times what it saves.
const shortRaw = 96

// pack returns h compressed, until the next call.
func (e *HDREncoder) pack(h *Histogram) []byte {
	e.raw = appendRaw(e.raw[:0], h)
	p, level := &e.long, zlib.DefaultCompression
	if len(e.raw) <= shortRaw {
		p, level = &e.short, zlib.HuffmanOnly
	}
	if !bytes.Equal(e.raw, p.raw) {
		e.raw, p.raw = p.raw, e.raw
		p.compress(level)
	}
	return p.packed.Bytes()
}

func (p *packer) compress(level int) {
	p.packed.Reset()
	p.packed.Write(make([]byte, 8))
	if p.zip == nil {
		p.zip, _ = zlib.NewWriterLevel(&p.packed, level) // both levels exist
	} else {
		p.zip.Reset(&p.packed)
	}

	_, _ = p.zip.Write(p.raw)
	_ = p.zip.Close()
	b := p.packed.Bytes()
	binary.BigEndian.PutUint32(b, cookieV2Compressed)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-8))
}

func appendRaw(b []byte, h *Histogram) []byte {
	b = append(b, make([]byte, headerSize)...)
	next := uint32(0)
	h.each(func(i uint32, n uint64) bool {
		if i > next {
			b = appendZigZag(b, -int64(i-next))
		}
		b = appendZigZag(b, int64(min(n, math.MaxInt64)))
		next = i + 1
		return true
	})
	binary.BigEndian.PutUint32(b[0:], cookieV2)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-headerSize))
	binary.BigEndian.PutUint32(b[8:], 0) // normalizing index offset
	binary.BigEndian.PutUint32(b[12:], significance)
	binary.BigEndian.PutUint64(b[16:], 1)
	binary.BigEndian.PutUint64(b[24:], highestNs)
	binary.BigEndian.PutUint64(b[32:], math.Float64bits(1))
	return b
}

// AppendCompact appends the exact contents of h, in two or three bytes for each distinct value. The format is for
// memory, not for files.
func (h *Histogram) AppendCompact(b []byte) []byte {
	if h.Count() == 0 {
		return b
	}
	for _, v := range []uint64{uint64(h.min), uint64(h.max), h.sumHi, h.sumLo} {
		b = binary.AppendUvarint(b, v)
	}
	next := uint32(0)
	h.each(func(i uint32, n uint64) bool {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(i-next)), n)
		next = i
		return true
	})
	return b
}

// MergeCompact adds a histogram written by AppendCompact.
func (h *Histogram) MergeCompact(b []byte) {
	if len(b) == 0 {
		return
	}
	read := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	h.addRange(int64(read()), int64(read()))
	h.addSum(read(), read())
	for i := uint32(0); len(b) > 0; {
		i += uint32(read())
		n := read()
		h.addBucket(i, n)
		h.count += n
	}
}

// appendZigZag appends v as ZigZag LEB128; unlike encoding/binary's, a ninth byte has 8 bits.
func appendZigZag(b []byte, v int64) []byte {
	u := uint64(v<<1) ^ uint64(v>>63)
	for range maxVarint - 1 {
		if u < 0x80 {
			return append(b, byte(u))
		}
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// readZigZag reads a number and returns the rest; ok is false if b ends within it.
func readZigZag(b []byte) (v int64, rest []byte, ok bool) {
	var u uint64
	for i := range maxVarint {
		if i >= len(b) {
			return 0, nil, false
		}
		c := b[i]
		if i == maxVarint-1 {
			u |= uint64(c) << 56
		} else {
			u |= uint64(c&0x7f) << (7 * i)
		}
		if c < 0x80 || i == maxVarint-1 {
			return int64(u>>1) ^ -int64(u&1), b[i+1:], true
		}
	}
	return 0, nil, false
}

// HDRDecoder decodes histograms and keeps its buffers between them. It is not safe for concurrent use.
// The zero value is ready.
type HDRDecoder struct{ zip inflater }

// DecodeInto is the inverse of HDREncoder.AppendBytes, into the memory of h, whose previous values are discarded. It
// accepts any V2 encoding with the layout of this package: lowest discernible value 1, 3 significant digits, any
// highest value up to what 24 h needs. It uses at most about 1 MiB for any input. The encoding contains the counts
// only. The caller must then call Restore, because Min and Max are those of the buckets and Mean is 0 until then. After
// an error h is empty.
func (d *HDRDecoder) DecodeInto(h *Histogram, b []byte) error {
	*h = Histogram{few: h.few[:0]}
	if err := d.decode(h, b); err != nil {
		*h = Histogram{few: h.few[:0]}
		return fmt.Errorf("decode HdrHistogram: %w", err)
	}
	return nil
}

func (d *HDRDecoder) decode(h *Histogram, b []byte) error {
	if len(b) > maxEncoded {
		return fmt.Errorf("%d bytes are more than a histogram can need (%d)", len(b), maxEncoded)
	}
	if len(b) < 8 || binary.BigEndian.Uint32(b) != cookieV2Compressed {
		return errors.New("not in the V2 compressed encoding")
	}
	if n := binary.BigEndian.Uint32(b[4:]); uint64(n) != uint64(len(b)-8) {
		return fmt.Errorf("%d compressed bytes, %d announced", len(b)-8, n)
	}
	raw, err := d.zip.inflate(b[8:], maxPayload)
	if err != nil {
		if errors.Is(err, errInflateFull) {
			err = errors.New("more counts than 24 h at 3 digits have buckets")
		}
		return err
	}
	counts, err := readHeader(raw)
	if err != nil {
		return err
	}
	return h.readCounts(counts)
}

func readHeader(raw []byte) (counts []byte, err error) {
	if len(raw) < headerSize || binary.BigEndian.Uint32(raw) != cookieV2 {
		return nil, errors.New("no V2 header inside")
	}
	counts = raw[headerSize:]
	if n := binary.BigEndian.Uint32(raw[4:]); uint64(n) != uint64(len(counts)) {
		return nil, fmt.Errorf("%d bytes of counts, %d announced", len(counts), n)
	}
	offset, digits := binary.BigEndian.Uint32(raw[8:]), binary.BigEndian.Uint32(raw[12:])
	lowest := binary.BigEndian.Uint64(raw[16:])
	ratio := math.Float64frombits(binary.BigEndian.Uint64(raw[32:]))
	if offset != 0 || digits != significance || lowest != 1 || ratio != 1 {
		return nil, fmt.Errorf("layout differs: offset %d, %d digits, lowest %d, ratio %g; need 0, %d, 1, 1",
			int32(offset), int32(digits), int64(lowest), ratio, significance)
	}
	return counts, nil
}

var errBeyond = fmt.Errorf("counts beyond bucket %d", buckets-1)

// readCounts reads counts into an empty histogram.
func (h *Histogram) readCounts(b []byte) error {
	next, count, few := int64(0), uint64(0), h.few
	for len(b) > 0 {
		var sum uint64
		from := len(few)
		few, b, next, sum = readShort(few, b, next)
		if next > buckets || len(few) > from && few[len(few)-1].bucket >= buckets {
			return errBeyond
		}
		if len(b) > 0 {
			v, rest, ok := readZigZag(b)
			switch {
			case !ok:
				return errors.New("the last count is cut off")
			case v <= 0 && v < next-buckets || v > 0 && next >= buckets:
				return errBeyond
			case v <= 0:
				next += max(-v, 1)
			default:
				few = append(few, bucketCount{uint32(next), uint64(v)})
				if sum += uint64(v); sum < uint64(v) {
					return errSum
				}
				next++
			}
			b = rest
		}
		if count += sum; count < sum {
			return errSum
		}
	}
	h.count, h.few = count, few
	h.spread()
	return nil
}

var errSum = errors.New("counts add up to more than 64 bits hold")

// readShort reads numbers of one byte, which nearly all are, from bucket next on, and appends the counts to few. It
// ends at a longer number, or when there may be no bucket left. It returns the sum of the counts. It has no branches
// that depend on whether a number is a count or stands for zeros: those alternate without a pattern.
func readShort(few []bucketCount, b []byte, next int64) (_ []bucketCount, rest []byte, _ int64, sum uint64) {
	most := int(min(int64(len(b)), max(buckets-next, 0)))
	few = slices.Grow(few, most)[:len(few)+most]
	at := len(few) - most
	for i, c := range b[:most] {
		if c >= 0x80 {
			return few[:at], b[i:], next, sum
		}
		v, zeros := uint64(c>>1), uint64(c&1) // a negative number is odd, and one less than twice its amount
		few[at] = bucketCount{uint32(next), v}
		at += int((v + 127) >> 7 &^ zeros)
		sum += v &^ -zeros
		next += int64(1 + v&-zeros)
	}
	return few[:at], b[most:], next, sum
}

// spread sets the least and the greatest value of a decoded histogram to those of its buckets.
func (h *Histogram) spread() {
	if n := len(h.few); n > 0 {
		h.min, _ = bucketRange(h.few[0].bucket)
		_, hi := bucketRange(h.few[n-1].bucket)
		h.max = min(hi, highestNs)
	}
}

// sumBuckets sets the sum of a decoded histogram from the middle values of its buckets.
func (h *Histogram) sumBuckets() {
	h.sumHi, h.sumLo = 0, 0
	h.Each(func(lo, hi int64, n uint64) bool {
		hi = min(hi, highestNs)
		h.addSum(bits.Mul64(uint64(min(lo+(hi-lo+1)/2, highestNs)), n))
		return true
	})
}

// Restore sets the values that an encoding doesn't contain: the exact least and greatest value, clamped to their
// buckets, and the mean. It ignores a negative or non-finite mean, and does nothing on an empty histogram.
func (h *Histogram) Restore(minNs, maxNs int64, meanNs float64) {
	if h.count == 0 {
		return
	}
	lo, hi := bucketRange(bucketOf(h.min))
	h.min = min(max(minNs, lo), hi)
	lo, hi = bucketRange(bucketOf(h.max))
	h.max = min(max(maxNs, lo), hi, highestNs)
	if meanNs < 0 || meanNs > highestNs || math.IsNaN(meanNs) {
		if h.sumHi == 0 && h.sumLo == 0 {
			h.sumBuckets()
		}
		return
	}
	// mean = whole + part; the sum is whole·count + part·count, exact to the mean's own precision.
	whole, part := math.Modf(meanNs)
	h.sumHi, h.sumLo = bits.Mul64(uint64(whole), h.count)
	h.addSum(0, uint64(math.Round(part*float64(h.count))))
}
