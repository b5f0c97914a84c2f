package export

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"brunt/internal/measure"
)

// BenchmarkInterval is what an interval of 20 operations with 10 000 values each costs the load's
// cutting goroutine.
func BenchmarkInterval(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	iv := testInterval(0, time.Now())
	for len(iv.Operations) < 20 {
		o := measure.OperationAccount{
			Response: measure.NewHistogram(), Service: measure.NewHistogram(), Lag: measure.NewHistogram(), FailedResponse: measure.NewHistogram(),
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
