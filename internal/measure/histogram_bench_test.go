package measure

import (
	"math"
	"math/rand/v2"
	"testing"

	"brunt/internal/protocol"
)

func BenchmarkHistogramRecord(b *testing.B) {
	h := NewHistogram()
	var values [1024]int64
	x := uint64(88172645463325252)
	for i := range values {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		values[i] = 50_000 + int64(x%2_000_000)
		h.Record(values[i])
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		h.Record(values[i&1023])
		i++
	}
}

func BenchmarkRecorderRecord(b *testing.B) {
	for _, load := range []struct {
		name string
		lag  float64
	}{{"closed", 0}, {"open", 7_000}} {
		b.Run(load.name, func(b *testing.B) {
			r := NewCollector(4, 2).NewRecorder()
			var samples [1024]Sample
			rnd := rand.New(rand.NewPCG(1, 2))
			for i := range samples {
				samples[i] = Sample{Operation: i & 3, Address: i >> 2 & 1, Intended: 1e9, Attempts: 1,
					Sent: 1e9 + int64(load.lag*math.Exp(0.4*rnd.NormFloat64())), Class: protocol.OK,
					Facts: protocol.Facts{BytesIn: 100}}
				if load.lag > 0 {
					samples[i].Ready = 1
				}
				samples[i].End = samples[i].Sent + int64(250_000*math.Exp(0.4*rnd.NormFloat64()))
				r.Record(&samples[i])
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				r.Record(&samples[i&1023])
				r.Poll()
				i++
			}
		})
	}
}

func BenchmarkCut(b *testing.B) {
	c := NewCollector(4, 2)
	r := c.NewRecorder()
	c.SetWait(func(int) bool { r.Poll(); return true })
	b.ReportAllocs()
	end := int64(0)
	for b.Loop() {
		for i := range 1000 {
			r.Record(&Sample{Operation: i & 3, Sent: 0, End: int64(i) * 7919, Attempts: 1})
		}
		end += 1e9
		c.Cut(end, Meta{})
	}
}
