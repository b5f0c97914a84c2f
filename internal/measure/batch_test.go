package measure

import (
	"math/rand/v2"
	"testing"
)

func TestBatchCountsWhatAHistogramWould(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, batchValues - 1, batchValues, batchValues + 1, 10*batchValues + 7} {
		var b batch
		h := NewHistogram()
		for range n {
			ns := rnd.Int64N(1 << rnd.IntN(62))
			if rnd.IntN(10) == 0 {
				ns = -ns
			}
			for range 1 + rnd.IntN(3) {
				b.Record(ns)
				h.Record(ns)
			}
		}
		b.flush()
		if got, want := string(b.AppendCompact(nil)), string(h.AppendCompact(nil)); got != want {
			t.Errorf("%d values: the counts, the extremes or the sum differ from those of a histogram", n)
		}
		b.Reset()
		b.flush()
		if b.Count() != 0 {
			t.Errorf("%d values: %d left after a reset", n, b.Count())
		}
	}
}

func TestRecordersHandOverEverySample(t *testing.T) {
	for _, c := range []struct {
		name   string
		sample Sample
	}{
		{"closed", Sample{Attempts: 1, Intended: 10, Sent: 10, End: 20, Ready: 5}},
		{"arrival without lag", Sample{Open: true, Attempts: 1, Intended: 10, Sent: 10, End: 20, Ready: 5}},
		{"arrival with own lag", Sample{Open: true, Attempts: 1, Intended: 10, Sent: 12, End: 20, Ready: 5}},
		{"arrival that waited", Sample{Open: true, Attempts: 1, Intended: 10, Sent: 18, End: 20, Ready: 16}},
	} {
		t.Run(c.name, func(t *testing.T) {
			col := NewCollector(1, 1)
			r := col.NewRecorder()
			col.SetWait(func(int) bool { r.Poll(); return true })
			for range batchValues + 3 {
				r.Record(&c.sample)
			}
			if got := col.Cut(100, Meta{}).Operations[0].Response.Count(); got != batchValues+3 {
				t.Errorf("the first interval has %d values, want %d", got, batchValues+3)
			}
			for range 5 {
				r.Record(&c.sample)
			}
			r.Close()
			iv := col.Cut(200, Meta{})
			if got := iv.Operations[0].Response.Count(); got != 5 {
				t.Errorf("%d values were handed over by Close, want 5", got)
			}
			if got, want := iv.Operations[0].Lag.Count(), uint64(5); got != want {
				t.Errorf("%d lags were handed over by Close, want %d", got, want)
			}
		})
	}
}
