package measure

// batchValues is how many values a batch keeps. With 32 of them the cache misses of counting one overlap with the
// next one's, and they take two percent of the memory of a histogram with four pages.
const batchValues = 32

// batch is a Histogram that counts its values in batches. Between two answers the kernel's work evicts the histogram's
// pages from the nearest cache, so counting each value by itself would wait for memory each time. flush must be called
// before the Histogram is read.
type batch struct {
	Histogram
	kept   int // of values
	values [batchValues]int64
}

// Record adds one value.
func (b *batch) Record(ns int64) {
	b.values[b.kept%batchValues] = ns
	if b.kept++; b.kept == batchValues {
		b.flush()
	}
}

// flush counts the values that are kept.
func (b *batch) flush() {
	if b.kept > 0 {
		b.recordAll(b.values[:b.kept])
		b.kept = 0
	}
}

// recordAll adds values. Their sum must be below 2^64 ns, which holds for 200 000 values. Pipelined requests have equal
// times, so equal neighbours are counted together.
func (h *Histogram) recordAll(values []int64) {
	var sum uint64
	least, greatest := int64(highestNs), int64(0)
	for i := 0; i < len(values); {
		from, value := i, values[i]
		for i++; i < len(values) && values[i] == value; i++ {
		}
		ns, n := clamp(value), uint64(i-from)
		h.countIn(bucketOf(ns), n)
		least, greatest = min(least, ns), max(greatest, ns)
		sum += n * uint64(ns)
	}
	h.addRange(least, greatest)
	h.count += uint64(len(values))
	h.addSum(0, sum)
}
