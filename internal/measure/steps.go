package measure

// Steps are the counts of a histogram's values in the buckets of a coarser scale. Only non-empty buckets are listed, in
// ascending order.
type Steps []Step

// Step is the count of one bucket.
type Step struct {
	Index int
	N     uint64
}

// Steps counts the values of h, which may be nil, in a coarser scale. index returns the bucket of the values from lo to
// hi, and must not decrease when they increase.
func (h *Histogram) Steps(index func(lo, hi int64) int) (s Steps) {
	h.Each(func(lo, hi int64, n uint64) bool {
		s = s.Put(index(lo, hi), n)
		return true
	})
	return s
}

// Put adds n values to a bucket, which must be the last one or a later one.
func (s Steps) Put(index int, n uint64) Steps {
	if k := len(s) - 1; k >= 0 && s[k].Index == index {
		s[k].N += n
		return s
	}
	return append(s, Step{index, n})
}

// Add returns the sum of both in new memory.
func (s Steps) Add(o Steps) Steps {
	out := make(Steps, 0, max(len(s), len(o)))
	for len(s)+len(o) > 0 {
		if len(o) == 0 || len(s) > 0 && s[0].Index <= o[0].Index {
			out, s = out.Put(s[0].Index, s[0].N), s[1:]
		} else {
			out, o = out.Put(o[0].Index, o[0].N), o[1:]
		}
	}
	return out
}

// Count returns the number of values.
func (s Steps) Count() (n uint64) {
	for _, step := range s {
		n += step.N
	}
	return n
}
