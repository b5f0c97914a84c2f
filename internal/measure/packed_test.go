package measure

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

// unpacked decodes and restores what a packed encoding doesn't contain.
func unpacked(t testing.TB, b []byte, like *Histogram) *Histogram {
	t.Helper()
	h := record([]int64{1, 2, 3}) // what it held before is discarded
	if err := h.DecodePacked(b); err != nil {
		t.Fatal(err)
	}
	h.Restore(like.Min(), like.Max(), like.Mean())
	return h
}

func TestPackedBothWays(t *testing.T) {
	every := NewHistogram() // a value in each bucket
	for b := range uint32(buckets) {
		lo, _ := bucketRange(b)
		every.Record(lo)
	}
	dense := NewHistogram()
	for i := range int64(5000) {
		dense.RecordN(20_000+i, uint64(i%9+1))
	}
	rows := map[string]*Histogram{
		"nil": nil, "empty": NewHistogram(), "zero": record([]int64{0}), "highest": record([]int64{highestNs}),
		"both ends": record([]int64{0, highestNs}), "spread": record(spread(1, 500)), "many": record(spread(2, 100_000)),
		"every bucket": every, "dense": dense,
	}
	for _, n := range []uint64{1, 2, 3, 4, 5, 8, 9, 16, 17, 64, 65, 256, 257, 258, 1 << 31, 1 << 32, math.MaxUint64} {
		h := NewHistogram()
		h.RecordN(77_777, n)
		if n < 1<<40 {
			for i := range int64(40) {
				h.Record(70_000 + 100*i)
			}
		}
		rows["counts of "+string(rune('a'+len(rows)))] = h
	}
	for k := range uint64(20) { // a few values in a block, and a few more
		r, h := rand.New(rand.NewPCG(k, 1)), NewHistogram()
		for range 1 + k/2 {
			h.RecordN(r.Int64N(2048), 1+r.Uint64N(1<<r.UintN(12)))
		}
		rows["few "+string(rune('a'+k))] = h
	}
	for name, h := range rows {
		t.Run(name, func(t *testing.T) {
			packed := h.AppendPacked([]byte{9})
			if packed[0] != 9 {
				t.Errorf("it doesn't append: % x", packed[:1])
			}
			got := unpacked(t, packed[1:], h)
			want := h
			if h == nil {
				want = NewHistogram()
			}
			mustEqualCounts(t, got, want)
			if b := h.appendPackedBuckets([]byte{9}); !bytes.Equal(b, packed) {
				t.Errorf("bucket by bucket it is % x, else % x", b, packed)
			}
			if got.Min() != want.Min() || got.Max() != want.Max() {
				t.Errorf("range %d to %d, want %d to %d", got.Min(), got.Max(), want.Min(), want.Max())
			}
		})
	}
}

func TestDecodePackedRefuses(t *testing.T) {
	whole := record(spread(1, 300)).AppendPacked(nil)
	for name, b := range map[string][]byte{
		"no buckets":          {0},
		"a bitmap of nothing": {0, 0, 0, 0, 0, 0, 0, 0, 0},
		"no listed bucket":    {1 << 3},
		"bucket of the next":  {1 << 3, 64},
		"buckets descend":     {2 << 3, 7, 3},
		"a bucket twice":      {2 << 3, 7, 7},
		"no counts":           {1<<3 | 4, 7},
		"no varint":           {1<<3 | 7, 7},
		"count beyond 64 bit": {1<<3 | 7, 7, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1},
		"endless varint":      {1<<3 | 7, 7, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1},
		"sum beyond 64 bit": {2<<3 | 7, 7, 8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0,
			255, 255, 255, 255, 255, 255, 255, 255, 255, 0, 1<<3 | 7, 7, 255, 255, 255, 255, 255, 255, 255, 255, 127},
		"no gap":              {7 << 5},
		"block after all":     {7<<5 | 1<<3, 0xd9, 0x04, 0},
		"gap beyond 64 bit":   {7<<5 | 1<<3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0},
		"end in the last one": whole[:len(whole)-1],
	} {
		t.Run(name, func(t *testing.T) {
			h := record([]int64{5})
			if err := h.DecodePacked(b); err == nil {
				t.Errorf("% x is accepted: %d values", b, h.Count())
			}
			if h.Count() != 0 || h.Max() != 0 {
				t.Errorf("%d values, at most %d, are left after an error", h.Count(), h.Max())
			}
		})
	}
	if err := NewHistogram().DecodePacked([]byte{7<<5 | 1<<3, 0xd8, 0x04, 63}); err != nil {
		t.Errorf("the last bucket of all: %v", err)
	}
}

// FuzzDecodePacked: whatever is decoded is encoded again and means the same, in bounded memory.
func FuzzDecodePacked(f *testing.F) {
	f.Add(record(spread(1, 500)).AppendPacked(nil))
	f.Add(record([]int64{1, 5, 5, 1000, 1 << 40}).AppendPacked(nil))
	f.Add([]byte{7<<5 | 1<<3, 0xd8, 0x04, 63})
	f.Fuzz(func(t *testing.T, b []byte) {
		h := NewHistogram()
		if err := h.DecodePacked(b); err != nil {
			return
		}
		if cap(h.few) > 2*buckets {
			t.Fatalf("room for %d buckets", cap(h.few))
		}
		sum := uint64(0)
		for _, f := range h.few {
			sum += f.n
		}
		if sum != h.Count() {
			t.Fatalf("%d values, counted %d", sum, h.Count())
		}
		h.sumBuckets()
		again := unpacked(t, h.AppendPacked(nil), h)
		mustEqualCounts(t, again, h)
	})
}

func BenchmarkDecodePacked(b *testing.B) {
	h := NewHistogram()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2500 {
		h.Record(int64(400_000 * math.Exp(0.6*r.NormFloat64())))
	}
	packed, hdr, into := h.AppendPacked(nil), new(HDREncoder).AppendBytes(nil, h), NewHistogram()
	b.Run("packed", func(b *testing.B) {
		for b.Loop() {
			if err := into.DecodePacked(packed); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(packed)), "B")
		b.ReportMetric(float64(len(into.few)), "buckets")
	})
	b.Run("hdr", func(b *testing.B) {
		var d HDRDecoder
		for b.Loop() {
			if err := d.DecodeInto(into, hdr); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(hdr)), "B")
	})
	b.Run("merge", func(b *testing.B) {
		sum := NewHistogram()
		for b.Loop() {
			sum.Merge(into)
		}
	})
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			packed = h.AppendPacked(packed[:0])
		}
	})
}
