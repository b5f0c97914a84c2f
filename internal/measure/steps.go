package measure

// Steps are how many values of a histogram fell into the buckets of a coarser scale: those that aren't empty, in
// ascending order.
type Steps []Step

// Step is one of them.
type Step struct {
	Index int
	N     uint64
}

// Steps counts h, which may be nil, into a coarser scale. index is the scale's bucket of the values from lo to hi, and
// must not fall while they rise.
func (h *Histogram) Steps(index func(lo, hi int64) int) (s Steps) {
	h.Each(func(lo, hi int64, n uint64) bool {
		s = s.Put(index(lo, hi), n)
		return true
	})
	return s
}

// Put adds n values to a bucket that is the last one or behind it.
func (s Steps) Put(index int, n uint64) Steps {
	if k := len(s) - 1; k >= 0 && s[k].Index == index {
		s[k].N += n
		return s
	}
	return append(s, Step{index, n})
}

// Add returns the sum of both, in memory of its own.
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

// Count is the number of values.
func (s Steps) Count() (n uint64) {
	for _, step := range s {
		n += step.N
	}
	return n
}
