package measure

// Histogram is a log-linear histogram of nanoseconds with the layout of HdrHistogram for 3
// significant digits from 1 ns to 24 h, in fixed memory. Values outside are clamped and counted
// in the end buckets. It is not safe for concurrent use.
type Histogram struct{}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram { return &Histogram{} }

// Record adds one value.
func (h *Histogram) Record(ns int64) { panic("unwritten") }

// RecordN adds a value n times.
func (h *Histogram) RecordN(ns int64, n uint64) { panic("unwritten") }

// Merge adds all of o to h. The result is the same as if all values had been recorded in h.
func (h *Histogram) Merge(o *Histogram) { panic("unwritten") }

// Reset empties h.
func (h *Histogram) Reset() { panic("unwritten") }

// Count is the number of values.
func (h *Histogram) Count() uint64 { panic("unwritten") }

// Min is the least value exactly, 0 if empty.
func (h *Histogram) Min() int64 { panic("unwritten") }

// Max is the greatest value exactly, 0 if empty.
func (h *Histogram) Max() int64 { panic("unwritten") }

// Mean is the exact arithmetic mean (a sum is kept), 0 if empty.
func (h *Histogram) Mean() float64 { panic("unwritten") }

// Quantile returns the value at quantile q in [0, 1]: the highest value equivalent to the
// ⌈q·count⌉-th smallest, never above Max, as HdrHistogram's getValueAtPercentile does.
func (h *Histogram) Quantile(q float64) int64 { panic("unwritten") }

// CountAbove is how many values are in buckets above the one that holds ns.
func (h *Histogram) CountAbove(ns int64) uint64 { panic("unwritten") }

// Each calls f for every bucket that isn't empty, in ascending order, with its lowest and
// highest value and its count, until f returns false.
func (h *Histogram) Each(f func(lo, hi int64, n uint64) bool) { panic("unwritten") }

// EncodeHDR returns the HdrHistogram V2 compressed encoding in base64.
func (h *Histogram) EncodeHDR() string { panic("unwritten") }

// DecodeHDR is the inverse of EncodeHDR; it accepts any V2 encoding whose layout is this one's.
func DecodeHDR(s string) (*Histogram, error) { panic("unwritten") }
