package measure

import "math"

// Count is the number of values. It, Min, Max, Mean, Quantile, CountAbove, Each and Sum may be called
// on nil, which holds none.
func (h *Histogram) Count() uint64 {
	if h == nil {
		return 0
	}
	return h.count
}

// Sum is the sum of all values, ns.
func (h *Histogram) Sum() float64 { return h.Mean() * float64(h.Count()) }

// Min is the least value exactly, 0 if empty.
func (h *Histogram) Min() int64 {
	if h == nil {
		return 0
	}
	return h.min
}

// Max is the greatest value exactly, 0 if empty.
func (h *Histogram) Max() int64 {
	if h == nil {
		return 0
	}
	return h.max
}

// Mean is the exact arithmetic mean (a sum is kept), 0 if empty.
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

// rankOf is which of n values in ascending order, from 1, the quantile q is.
func rankOf(q float64, n uint64) uint64 {
	switch {
	case q >= 1:
		return n
	case q <= 0:
		return 1
	}
	return max(1, uint64(math.Ceil(math.Nextafter(q, 0)*float64(n))))
}

// atRank is the highest value equivalent to the rank-th smallest, never above Max.
func (h *Histogram) atRank(rank uint64) int64 {
	if rank >= h.count {
		return h.max
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

// CountAbove is how many values are in buckets above the one that holds ns.
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

// Each calls f for every bucket that isn't empty, in ascending order, with its lowest and
// highest value and its count, until f returns false.
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
	for i, p := range h.pages {
		if p == nil {
			continue
		}
		base := uint32(i) << octaveBits
		for k, c := range p {
			n := uint64(c)
			if len(h.excess) > 0 {
				n += h.excess[base+uint32(k)] << 32
			}
			if n != 0 && !f(base+uint32(k), n) {
				return
			}
		}
	}
}
