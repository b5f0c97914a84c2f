package measure

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"brunt/internal/protocol"
)

// The layout is that of HdrHistogram (hdrhistogram.org) with lowest discernible value 1, highest
// trackable value 24 h in ns and 3 significant digits: values below 2048 have a bucket each, and
// every further octave is cut into 1024 buckets of equal width.
const (
	octaveBits   = protocol.TimeBits - 1
	octaveSize   = 1 << octaveBits
	octaveMask   = octaveSize - 1
	highestNs    = 24 * 3600 * 1_000_000_000
	octaves      = 38 // ⌈log₂(highestNs / 2048)⌉ + 2
	buckets      = octaves * octaveSize
	significance = 3
)

// page holds the counts of one octave. It exists from the first value in the octave on.
type page [octaveSize]uint32

// Histogram is a log-linear histogram of nanoseconds with the layout of HdrHistogram for 3 significant digits from 1 ns
// to 24 h, in fixed memory. Values outside this range are clamped: values below 1 count as 0 in the lowest bucket,
// values above 24 h count as 24 h. It is not safe for concurrent use.
//
// The first few distinct values are kept in a list. After that, each octave allocates 4 KiB with its first value
// and keeps them over Reset, so recording allocates nothing once the load's range has been seen. There are at most 38
// octaves (152 KiB). A decoded histogram of any length is a list until a value is added: 16 bytes for each bucket with
// values.
type Histogram struct {
	pages  *[octaves]*page // nil until there are more than a few distinct values
	few    []bucketCount   // the values until then, by bucket, ascending
	count  uint64
	sumLo  uint64 // 128-bit sum
	sumHi  uint64
	min    int64 // 0 if empty
	max    int64
	excess map[uint32]uint64 // counts of buckets beyond 32 bits, as multiples of 2^32
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return new(Histogram) }

// bucketOf returns the index of the bucket of a value in [0, highestNs].
func bucketOf(ns int64) uint32 {
	octave := uint32(bits.Len64(uint64(ns)|(2*octaveSize-1))) - (octaveBits + 1)
	return octave<<octaveBits + uint32(uint64(ns)>>octave)
}

// bucketRange returns the lowest and the highest value of a bucket.
func bucketRange(b uint32) (lo, hi int64) {
	if b < 2*octaveSize {
		return int64(b), int64(b)
	}
	octave := b>>octaveBits - 1
	sub := int64(b&octaveMask | octaveSize)
	return sub << octave, (sub+1)<<octave - 1
}

// clamp limits a value to the range of the histogram.
func clamp(ns int64) int64 { return min(max(ns, 0), highestNs) }

// Record adds one value.
func (h *Histogram) Record(ns int64) {
	ns = clamp(ns)
	h.countIn(bucketOf(ns), 1)
	if ns < h.min || h.count == 0 {
		h.min = ns
	}
	if ns > h.max {
		h.max = ns
	}
	h.count++
	var overflow uint64
	h.sumLo, overflow = bits.Add64(h.sumLo, uint64(ns), 0)
	h.sumHi += overflow
}

// countIn adds n, which is below 2^32, to bucket b.
func (h *Histogram) countIn(b uint32, n uint64) {
	var p *page
	if h.pages != nil {
		p = h.pages[b>>octaveBits]
	}
	if p == nil {
		h.addBucket(b, n)
		return
	}
	c := &p[b&octaveMask]
	*c += uint32(n)
	if *c < uint32(n) {
		h.carry(b, 1)
	}
}

// RecordN adds a value n times.
func (h *Histogram) RecordN(ns int64, n uint64) {
	if n == 0 {
		return
	}
	ns = clamp(ns)
	h.addBucket(bucketOf(ns), n)
	h.addRange(ns, ns)
	h.count += n
	hi, lo := bits.Mul64(uint64(ns), n)
	h.addSum(hi, lo)
}

// addTimes adds all of t.
func (h *Histogram) addTimes(t *protocol.Times) {
	if t.N == 0 {
		return
	}
	for _, s := range t.Steps { // rounding down doesn't change the bucket: see protocol.TimeBits
		h.addBucket(bucketOf(clamp(s.Ns)), s.N)
	}
	h.addRange(clamp(t.MinNs), clamp(t.MaxNs))
	h.count += t.N
	h.addSum(0, t.SumNs)
}

func (h *Histogram) grow(b uint32) *page {
	p := new(page)
	h.pages[b>>octaveBits] = p
	return p
}

func (h *Histogram) carry(b uint32, n uint64) {
	if h.excess == nil {
		h.excess = make(map[uint32]uint64)
	}
	h.excess[b] += n
}

// bucketCount is the number of values in a bucket.
type bucketCount struct {
	bucket uint32
	n      uint64
}

// fewBuckets is the length of the list of buckets that is used before pages. The histograms of an interval with fewer
// values are added up much faster so: a page has a thousand buckets.
const fewBuckets = 32

// list adds to the list of buckets. If the list is full, it converts the list to pages and returns false.
func (h *Histogram) list(b uint32, n uint64) bool {
	if len(h.few) > fewBuckets { // it was decoded
		h.paginate()
		return false
	}
	at, known := slices.BinarySearchFunc(h.few, b,
		func(have bucketCount, b uint32) int { return cmp.Compare(have.bucket, b) })
	if known {
		h.few[at].n += n
		return true
	}
	if len(h.few) < fewBuckets {
		h.few = slices.Insert(h.few, at, bucketCount{b, n})
		return true
	}
	h.paginate()
	return false
}

// paginate converts the list to pages.
func (h *Histogram) paginate() {
	few := h.few
	h.few, h.pages = nil, new([octaves]*page)
	for _, f := range few {
		h.addBucket(f.bucket, f.n)
	}
}

func (h *Histogram) addBucket(b uint32, n uint64) {
	if h.pages == nil && h.list(b, n) {
		return
	}
	p := h.pages[b>>octaveBits]
	if p == nil {
		p = h.grow(b)
	}
	sum := uint64(p[b&octaveMask]) + n&math.MaxUint32
	p[b&octaveMask] = uint32(sum)
	if over := sum>>32 + n>>32; over != 0 {
		h.carry(b, over)
	}
}

// addRange extends the range of values seen. It must be called before count grows.
func (h *Histogram) addRange(least, greatest int64) {
	if least < h.min || h.count == 0 {
		h.min = least
	}
	h.max = max(h.max, greatest)
}

func (h *Histogram) addSum(hi, lo uint64) {
	var overflow uint64
	h.sumLo, overflow = bits.Add64(h.sumLo, lo, 0)
	h.sumHi += hi + overflow
}

// Merge adds all of o, which may be nil, to h. The result is the same as if all values had been recorded in h.
func (h *Histogram) Merge(o *Histogram) {
	if o.Count() == 0 {
		return
	}
	h.mergeFew(o.few)
	if o.pages != nil {
		h.mergePages(o)
	}
	for b, n := range o.excess {
		if h.pages == nil {
			h.paginate()
		}
		if h.pages[b>>octaveBits] == nil {
			h.grow(b)
		}
		h.carry(b, n)
	}
	h.addRange(o.min, o.max)
	h.count += o.count
	h.addSum(o.sumHi, o.sumLo)
}

// mergeFew adds a list of buckets, which is long if it was decoded.
func (h *Histogram) mergeFew(few []bucketCount) {
	if h.pages == nil && len(few) > fewBuckets {
		h.paginate()
	}
	for _, f := range few {
		if h.pages == nil || f.n > math.MaxUint32 {
			h.addBucket(f.bucket, f.n)
			continue
		}
		p := h.pages[f.bucket>>octaveBits]
		if p == nil {
			p = h.grow(f.bucket)
		}
		sum := p[f.bucket&octaveMask] + uint32(f.n)
		p[f.bucket&octaveMask] = sum
		if sum < uint32(f.n) {
			h.carry(f.bucket, 1)
		}
	}
}

func (h *Histogram) mergePages(o *Histogram) {
	if h.pages == nil {
		h.paginate()
	}
	for i, from := range o.pages {
		if from == nil {
			continue
		}
		base := uint32(i) << octaveBits
		to := h.pages[i]
		for at := from.used(0); at < octaveSize; at = from.used(at + blockSize) {
			if to == nil {
				to = h.grow(base)
			}
			for k, n := range from[at : at+blockSize] {
				c := &to[at+k]
				if *c += n; *c < n {
					h.carry(base+uint32(at+k), 1)
				}
			}
		}
	}
}

// blockSize is how many buckets are looked at together: most have no values.
const blockSize = 8

// used returns where the first block with values begins at or after a block; octaveSize if there is none.
func (p *page) used(at int) int {
	for ; at < octaveSize; at += blockSize {
		b := (*[blockSize]uint32)(p[at:])
		if b[0]|b[1]|b[2]|b[3]|b[4]|b[5]|b[6]|b[7] != 0 {
			break
		}
	}
	return at
}

// Reset empties h and keeps its memory.
func (h *Histogram) Reset() {
	if h.count == 0 {
		return
	}
	if h.pages != nil {
		for _, p := range h.pages {
			if p != nil {
				clear(p[:])
			}
		}
	}
	clear(h.excess)
	h.few = h.few[:0]
	h.count, h.sumLo, h.sumHi, h.min, h.max = 0, 0, 0, 0, 0
}

// Count returns the number of values. It, Min, Max, Mean, Quantile, CountAbove, Each and Sum may be called on nil,
// which has no values.
func (h *Histogram) Count() uint64 {
	if h == nil {
		return 0
	}
	return h.count
}

// Sum returns the sum of all values, ns.
func (h *Histogram) Sum() float64 {
	if h == nil {
		return 0
	}
	return float64(h.sumHi)*(1<<64) + float64(h.sumLo)
}

// Min returns the exact least value, or 0 if h is empty.
func (h *Histogram) Min() int64 {
	if h == nil {
		return 0
	}
	return h.min
}

// Max returns the exact greatest value, or 0 if h is empty.
func (h *Histogram) Max() int64 {
	if h == nil {
		return 0
	}
	return h.max
}

// Mean returns the exact arithmetic mean (a sum is kept), or 0 if h is empty.
func (h *Histogram) Mean() float64 {
	if h.Count() == 0 {
		return 0
	}
	return (float64(h.sumHi)*(1<<64) + float64(h.sumLo)) / float64(h.count)
}

// Quantile returns the value at quantile q in [0, 1]: the highest value equivalent to the
// ⌈q·count⌉-th smallest, never above Max, as HdrHistogram's getValueAtPercentile does. As there,
// q is taken one unit in the last place lower, so that the 0.07 quantile of 100 values is the
// 7th although 0.07·100 > 7 in binary.
func (h *Histogram) Quantile(q float64) int64 {
	if h.Count() == 0 {
		return 0
	}
	return h.atRank(rankOf(q, h.count))
}

// rankOf returns the rank of quantile q among n values in ascending order, from 1.
func rankOf(q float64, n uint64) uint64 {
	switch {
	case q >= 1:
		return n
	case q <= 0:
		return 1
	}
	return max(1, uint64(math.Ceil(math.Nextafter(q, 0)*float64(n))))
}

// atRank returns the highest value equivalent to the rank-th smallest, never above Max.
func (h *Histogram) atRank(rank uint64) int64 {
	if rank >= h.count {
		return h.max
	}
	if h.pages != nil && len(h.excess) == 0 {
		return h.atRankOfPages(rank)
	}
	value := h.max
	var seen uint64
	h.Each(func(_, hi int64, n uint64) bool {
		seen += n
		if seen < rank {
			return true
		}
		value = hi
		return false
	})
	return min(value, h.max)
}

// atRankOfPages is atRank for histograms in which no bucket has more than 32 bits. Pages before the rank are only
// summed.
func (h *Histogram) atRankOfPages(rank uint64) int64 {
	var seen uint64
	for i, p := range h.pages {
		if p == nil {
			continue
		}
		var all uint64
		for _, n := range p {
			all += uint64(n)
		}
		if seen+all < rank {
			seen += all
			continue
		}
		for k, n := range p {
			if seen += uint64(n); seen >= rank {
				_, hi := bucketRange(uint32(i)<<octaveBits + uint32(k))
				return min(hi, h.max)
			}
		}
	}
	return h.max
}

// CountAbove returns how many values are in buckets above the bucket of ns.
func (h *Histogram) CountAbove(ns int64) uint64 {
	limit, _ := bucketRange(bucketOf(clamp(ns)))
	below := uint64(0)
	h.Each(func(lo, _ int64, n uint64) bool {
		if lo > limit {
			return false
		}
		below += n
		return true
	})
	return h.Count() - below
}

// Each calls f for every non-empty bucket in ascending order, with its lowest and highest value and its count, until f
// returns false.
func (h *Histogram) Each(f func(lo, hi int64, n uint64) bool) {
	h.each(func(b uint32, n uint64) bool {
		lo, hi := bucketRange(b)
		return f(lo, hi, n)
	})
}

func (h *Histogram) each(f func(b uint32, n uint64) bool) {
	if h == nil {
		return
	}
	for _, few := range h.few {
		if !f(few.bucket, few.n) {
			return
		}
	}
	if h.pages == nil {
		return
	}
	large := len(h.excess) > 0
	for i, p := range h.pages {
		if p == nil {
			continue
		}
		base := uint32(i) << octaveBits
		if !large {
			for at := p.used(0); at < octaveSize; at = p.used(at + blockSize) {
				for k, n := range p[at : at+blockSize] {
					if n != 0 && !f(base+uint32(at+k), uint64(n)) {
						return
					}
				}
			}
			continue
		}
		for k, c := range p {
			if n := uint64(c) + h.excess[base+uint32(k)]<<32; n != 0 && !f(base+uint32(k), n) {
				return
			}
		}
	}
}
