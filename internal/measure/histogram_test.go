package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// peer returns the same histogram by an independent implementation.
func peer(t testing.TB, values []int64) *hdr.Histogram {
	t.Helper()
	p := hdr.New(1, highestNs, significance)
	for _, v := range values {
		if err := p.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// spread returns random values of all magnitudes.
func spread(seed uint64, n int) []int64 {
	r := rand.New(rand.NewPCG(seed, 1))
	values := make([]int64, n)
	for i := range values {
		values[i] = min(int64(math.Exp(r.Float64()*math.Log(highestNs))), highestNs)
	}
	return values
}

func record(values []int64) *Histogram {
	h := NewHistogram()
	for _, v := range values {
		h.Record(v)
	}
	return h
}

func TestBucketsTileTheRange(t *testing.T) {
	next := int64(0)
	for b := range uint32(buckets) {
		lo, hi := bucketRange(b)
		if lo != next || hi < lo {
			t.Fatalf("bucket %d is %d–%d, its predecessor ends before %d", b, lo, hi, next)
		}
		if lo <= highestNs && (bucketOf(lo) != b || bucketOf(min(hi, highestNs)) != b) {
			t.Fatalf("bucket %d is %d–%d, but these are in %d and %d", b, lo, hi, bucketOf(lo), bucketOf(hi))
		}
		if float64(hi-lo) > float64(lo)/1000 {
			t.Fatalf("bucket %d, %d–%d, is wider than 3 digits", b, lo, hi)
		}
		next = hi + 1
	}
	if next <= highestNs {
		t.Fatalf("buckets end at %d", next)
	}
}

func TestAgreesWithHdrHistogram(t *testing.T) {
	for seed := range uint64(10) {
		n := 1 + int(seed)*997
		values := spread(seed, n)
		h, p := record(values), peer(t, values)
		for rank := 1; rank <= n; rank += 1 + n/500 {
			q := float64(rank) / float64(n)
			if got, want := h.Quantile(q), p.ValueAtPercentile(q*100); got != min(want, slices.Max(values)) {
				t.Fatalf("seed %d: quantile %g is %d, want %d", seed, q, got, want)
			}
		}
		var bars []hdr.Bar
		for _, bar := range p.Distribution() {
			if bar.Count != 0 {
				bars = append(bars, bar)
			}
		}
		i := 0
		h.Each(func(lo, hi int64, n uint64) bool {
			if bar := bars[i]; bar.From != lo || bar.To != hi || uint64(bar.Count) != n {
				t.Fatalf("seed %d: bucket %d is %d–%d with %d, want %+v", seed, i, lo, hi, n, bar)
			}
			i++
			return true
		})
		if i != len(bars) {
			t.Fatalf("seed %d: %d buckets, want %d", seed, i, len(bars))
		}
	}
}

func TestExactFigures(t *testing.T) {
	values := spread(3, 5000)
	h := record(values)
	var sum float64
	for _, v := range values {
		sum += float64(v)
	}
	if h.Count() != 5000 || h.Min() != slices.Min(values) || h.Max() != slices.Max(values) {
		t.Errorf("count %d, min %d, max %d", h.Count(), h.Min(), h.Max())
	}
	if got, want := h.Mean(), sum/5000; math.Abs(got-want) > want*1e-12 {
		t.Errorf("mean %g, want %g", got, want)
	}
	if h.Quantile(1) != h.Max() || h.Quantile(2) != h.Max() {
		t.Error("the last quantile isn't the maximum")
	}
}

func TestEmpty(t *testing.T) {
	for _, h := range []*Histogram{NewHistogram(), {}} {
		if h.Count() != 0 || h.Min() != 0 || h.Max() != 0 || h.Mean() != 0 || h.Quantile(0.5) != 0 || h.CountAbove(0) != 0 {
			t.Error("an empty histogram isn't all zeros")
		}
		h.RecordN(7, 0)
		h.Merge(NewHistogram())
		if h.Count() != 0 {
			t.Error("nothing was added, and yet it isn't empty")
		}
		h.Record(9)
		if h.Min() != 9 || h.Max() != 9 {
			t.Errorf("one value: %d–%d", h.Min(), h.Max())
		}
	}
}

func TestQuantileRanks(t *testing.T) {
	h := NewHistogram()
	for v := int64(1); v <= 100; v++ {
		h.Record(v)
	}
	for _, c := range []struct {
		q    float64
		want int64
	}{{-1, 1}, {0, 1}, {0.001, 1}, {0.01, 1}, {0.011, 2}, {0.07, 7}, {0.14, 14}, {0.29, 29}, {0.5, 50}, {0.57, 57},
		{0.99, 99}, {0.991, 100}, {1, 100}} {
		if got := h.Quantile(c.q); got != c.want {
			t.Errorf("quantile %g is %d, want %d", c.q, got, c.want)
		}
	}
}

func TestClamping(t *testing.T) {
	h := NewHistogram()
	h.Record(-5)
	h.Record(math.MinInt64)
	h.Record(math.MaxInt64)
	h.RecordN(2*highestNs, 2)
	if h.Count() != 5 || h.Min() != 0 || h.Max() != highestNs || h.CountAbove(0) != 3 || h.CountAbove(-9) != 3 ||
		h.CountAbove(math.MaxInt64) != 0 {
		t.Errorf("count %d, %d–%d, above 0: %d", h.Count(), h.Min(), h.Max(), h.CountAbove(0))
	}
}

func TestCountAbove(t *testing.T) {
	values := spread(4, 2000)
	h := record(values)
	for _, limit := range values[:200] {
		_, hi := bucketRange(bucketOf(limit))
		want := uint64(0)
		for _, v := range values {
			if v > hi {
				want++
			}
		}
		if got := h.CountAbove(limit); got != want {
			t.Errorf("above %d: %d, want %d", limit, got, want)
		}
	}
}

func TestMergeIsLossless(t *testing.T) {
	values := spread(5, 6000)
	whole, merged := record(values), NewHistogram()
	for i := range 3 {
		merged.Merge(record(values[i*2000 : (i+1)*2000]))
	}
	merged.Merge(NewHistogram())
	mustEqual(t, merged, whole)
	merged.Reset()
	merged.Merge(whole)
	mustEqual(t, merged, whole)
}

func mustEqual(t testing.TB, got, want *Histogram) {
	t.Helper()
	if got.Count() != want.Count() || got.Min() != want.Min() || got.Max() != want.Max() || got.Mean() != want.Mean() {
		t.Fatalf("count %d, %d–%d, mean %g; want count %d, %d–%d, mean %g",
			got.Count(), got.Min(), got.Max(), got.Mean(), want.Count(), want.Min(), want.Max(), want.Mean())
	}
	mustEqualCounts(t, got, want)
}

func mustEqualCounts(t testing.TB, got, want *Histogram) {
	t.Helper()
	type bucket struct {
		b uint32
		n uint64
	}
	list := func(h *Histogram) (all []bucket) {
		h.each(func(b uint32, n uint64) bool {
			all = append(all, bucket{b, n})
			return true
		})
		return all
	}
	if a, b := list(got), list(want); !slices.Equal(a, b) {
		t.Fatalf("counts differ: %v, want %v", a, b)
	}
}

func TestCountsBeyond32Bits(t *testing.T) {
	const n = 1<<32 - 2
	h := NewHistogram()
	h.RecordN(5000, n)
	for range 5 {
		h.Record(5000)
	}
	h.Record(7)
	twice := NewHistogram()
	twice.Merge(h)
	twice.Merge(h)
	twice.RecordN(5000, 1<<40)
	for _, c := range []struct {
		h    *Histogram
		want uint64
	}{{h, n + 5}, {twice, 2*(n+5) + 1<<40}} {
		if got := c.h.CountAbove(7); got != c.want {
			t.Errorf("%d values of 5000, want %d", got, c.want)
		}
		back, err := decodeHDR(encodeHDR(c.h))
		if err != nil {
			t.Fatal(err)
		}
		mustEqualCounts(t, back, c.h)
	}
	h.Reset()
	h.Record(5000)
	if h.CountAbove(7) != 1 || h.Count() != 1 {
		t.Error("Reset left something behind")
	}
}

func TestSumBeyond64Bits(t *testing.T) {
	h := NewHistogram()
	h.RecordN(highestNs, 1<<40)
	for range 10 {
		h.Record(highestNs)
	}
	if got := h.Mean(); math.Abs(got-highestNs) > 1 {
		t.Errorf("mean %g, want %d", got, int64(highestNs))
	}
}

func TestRecordDoesNotAllocateOnceWarm(t *testing.T) {
	h := record(spread(6, 10_000))
	h.Reset()
	if n := testing.AllocsPerRun(1000, func() { h.Record(123_456); h.Record(1); h.RecordN(99_999_999, 3) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// A histogram with few values uses little memory, and has the same contents as one with pages.
func TestFewValuesTakeNoPages(t *testing.T) {
	few, many := NewHistogram(), NewHistogram()
	many.paginate()
	for i := range int64(1000) {
		v := i % fewBuckets * 1_000_000
		few.Record(v)
		many.Record(v)
	}
	if few.pages != nil || many.pages == nil {
		t.Fatalf("pages: %v and %v, want those of the second only", few.pages != nil, many.pages != nil)
	}
	check := func(what string) {
		t.Helper()
		if encodeHDR(few) != encodeHDR(many) || few.Mean() != many.Mean() || few.Quantile(0.99) != many.Quantile(0.99) {
			t.Errorf("%s: %s against %s", what, encodeHDR(few), encodeHDR(many))
		}
	}
	check("a list")
	merged := NewHistogram()
	merged.Merge(few)
	if merged.Merge(many); merged.pages == nil || merged.Count() != 2000 || merged.Quantile(0.5) != many.Quantile(0.5) {
		t.Errorf("merged: %d values", merged.Count())
	}
	few.Record(1 << 40)
	many.Record(1 << 40)
	if check("pages"); few.pages == nil {
		t.Error("no pages after the ninth value")
	}
	few.Reset()
	if few.Record(7); few.Count() != 1 || few.Max() != 7 {
		t.Errorf("after Reset: %d values, max %d", few.Count(), few.Max())
	}
}
