package export

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"brunt/internal/measure"
	"brunt/internal/record"
)

// counting counts the bytes that are written.
type counting int

// Write implements io.Writer.
func (c *counting) Write(b []byte) (int, error) {
	*c += counting(len(b))
	return len(b), nil
}

// BenchmarkExportOfADay writes 24 hours of intervals of one second with 2 operations in each format. It reports the
// size of the output and the maximum of memory in use, including garbage.
func BenchmarkExportOfADay(b *testing.B) {
	run := &record.Run{ID: "r1", Name: "day", Operations: make([]record.Operation, 2),
		Targets: []record.Target{{Address: "a:1", Protocol: "pg"}}}
	for i := range run.Operations {
		run.Operations[i].Name = "operation " + string(rune('a'+i))
	}
	for _, format := range FileFormats() {
		b.Run(format, func(b *testing.B) {
			var out counting
			var most uint64
			for b.Loop() {
				out = 0
				f, err := NewFile(&out, format, run)
				if err != nil {
					b.Fatal(err)
				}
				iv := testInterval(0, time.Now())
				for len(iv.Operations) < len(run.Operations) {
					iv.Operations = append(iv.Operations, iv.Operations[0])
				}
				for k := range 86_400 {
					iv.Index, iv.StartNs, iv.EndNs = k, int64(k)*1e9, int64(k+1)*1e9
					iv.UnixNs += 1e9
					if err := f.Interval(iv); err != nil {
						b.Fatal(err)
					}
					if k%5000 == 0 {
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						most = max(most, m.HeapInuse)
					}
				}
				if err := f.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(out)/1e6, "MB")
			b.ReportMetric(float64(most)/1e6, "MB-heap-at-most")
		})
	}
}

// BenchmarkInterval measures what an interval of 20 operations with 10 000 values each costs in the goroutine that cuts
// intervals.
func BenchmarkInterval(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	iv := testInterval(0, time.Now())
	for len(iv.Operations) < 20 {
		o := measure.OperationAccount{
			Response: measure.NewHistogram(), Service: measure.NewHistogram(), Lag: measure.NewHistogram(),
			FailedResponse: measure.NewHistogram(),
		}
		for range 10_000 {
			ns := int64(500e3 * math.Exp(r.NormFloat64()))
			o.Response.Record(ns)
			o.Service.Record(ns)
			o.Lag.Record(ns / 100)
		}
		iv.Operations = append(iv.Operations, o)
	}
	e, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = e.Interval(iv)
	}
	b.ReportMetric(float64(newPoint(iv, e.ladders, e.all).bytes()), "B/point")
}
