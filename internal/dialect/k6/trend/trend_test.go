package trend

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"go.k6.io/k6/v2/metrics"
)

func TestTheFieldsOfTrendSinkAreKnown(t *testing.T) {
	if !Supported() {
		t.Fatal("k6 has changed metrics.TrendSink: adapt set")
	}
}

// TestQuantilesAreThoseOfAllValues compares a sink with one that stores every value.
func TestQuantilesAreThoseOfAllValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() float64{
		"exponential":  func() float64 { return r.ExpFloat64() * 10 },
		"heavy tail":   func() float64 { return math.Pow(1-r.Float64(), -1.2) },
		"both signs":   func() float64 { return r.NormFloat64() * 1000 },
		"very small":   func() float64 { return r.Float64() * 1e-9 },
		"one value":    func() float64 { return 42 },
		"zero and one": func() float64 { return float64(r.IntN(2)) },
	} {
		var s sketch
		exact, ours := metrics.NewTrendSink(), metrics.NewTrendSink()
		for range 200_000 {
			v := draw()
			s.add(v)
			exact.Add(metrics.Sample{Value: v})
		}
		Fill(ours, Distribution{N: s.n, Min: s.min, Max: s.max, Sum: s.sum, Each: s.each})
		if ours.Min() != exact.Min() || ours.Max() != exact.Max() {
			t.Errorf("%s: from %g to %g, want %g to %g", name, ours.Min(), ours.Max(), exact.Min(), exact.Max())
		}
		if d := math.Abs(ours.Avg() - exact.Avg()); d > 1e-9*math.Abs(exact.Avg()) {
			t.Errorf("%s: mean %g, want %g", name, ours.Avg(), exact.Avg())
		}
		spread := exact.P(0.75) - exact.P(0.25)
		for _, q := range []float64{0, 0.01, 0.25, 0.4, 0.9, 0.95, 0.99, 0.999, 0.9999, 1} {
			got, want := ours.P(q), exact.P(q)
			if math.Abs(got-want) > 2e-3*math.Abs(want)+1e-3*spread {
				t.Errorf("%s: p(%g) = %g, want %g", name, 100*q, got, want)
			}
		}
	}
}

func TestOrderFollowsValues(t *testing.T) {
	values := []float64{math.Inf(-1), -1e300, -2, -1.0001, -1, -1e-300, 0, 1e-300, 0.5, 1, 1.5, 1e300}
	var orders []int32
	for _, v := range values {
		orders = append(orders, order(v))
		lo, hi := edges(order(v))
		if !math.IsInf(v, 0) && (v < lo || v > hi) {
			t.Errorf("%g is not in its bucket from %g to %g", v, lo, hi)
		}
	}
	if !slices.IsSorted(orders) {
		t.Errorf("order falls: %v", orders)
	}
}

func TestAKeeperLetsTheFirstValuesPassAndThenNone(t *testing.T) {
	registry := metrics.NewRegistry()
	m := registry.MustNewMetric("waiting", metrics.Trend)
	sub, err := m.AddSubmetric("kind:rare")
	if err != nil {
		t.Fatal(err)
	}
	root := registry.RootTagSet()
	k := NewKeeper()
	passed := 0
	add := func(v float64, tags *metrics.TagSet) {
		s := metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m, Tags: tags}, Value: v}
		if !k.Keep(&s) {
			return
		}
		passed++
		m.Sink.Add(s)
		if tags.Contains(sub.Tags) {
			sub.Metric.Sink.Add(s)
		}
	}
	for i := range 3 * Points {
		add(float64(i), root)
	}
	if passed != Points {
		t.Errorf("%d values reached k6, want %d", passed, Points)
	}
	for i := range 10 {
		add(float64(i), root.With("kind", "rare"))
	}
	if passed != Points+1 {
		t.Errorf("the first rare value must reach k6, and no other: %d more did", passed-Points)
	}
	k.Fill(true)
	rare := sub.Metric.Sink.(*metrics.TrendSink)
	if rare.Max() != 9 || rare.Min() != 0 || rare.Avg() != 4.5 {
		t.Errorf("rare values from %g to %g, mean %g", rare.Min(), rare.Max(), rare.Avg())
	}
	if got := m.Sink.(*metrics.TrendSink); got.Count() != Points || got.Max() != 3*Points-1 {
		t.Errorf("%d values kept, up to %g", got.Count(), got.Max())
	}
}

// BenchmarkValues compares the cost of a value in k6's own sink and in brunt's, in time and memory.
func BenchmarkValues(b *testing.B) {
	metric := metrics.NewRegistry().MustNewMetric("duration", metrics.Trend)
	keeper := NewKeeper()
	for name, add := range map[string]func(metrics.Sample){
		"k6":     func(s metrics.Sample) { metric.Sink.Add(s) },
		"keeper": func(s metrics.Sample) { keeper.Keep(&s) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				add(metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: metric}, Value: r.ExpFloat64()})
			}
		})
	}
}
