package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"brunt/internal/measure"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// The values of the first five are from SciPy 1.17.1: kendalltau(range(n), y, method="exact") and
// theilslopes(y); those with ties from counting all permutations of y in Python.
func TestMannKendallExact(t *testing.T) {
	for _, c := range []struct {
		y     []float64
		s     int
		p     float64
		slope float64
	}{
		{[]float64{-0.8, -1.22, -0.05, 0.72, 1.54}, 8, 0.08333333333333333, 0.7825},
		{[]float64{0.11, -0.45, -0.58, 1.05, 2.03, 0.77, -0.63, -0.26}, -2, 0.9048611111111111, -0.024250000000000004},
		{[]float64{1.6, 0.3, -1.53, 0.22, -0.76, -0.13, 0.11, -0.01, 1.35, 0.84, 0.41, 1.51}, 16, 0.3108100139957779, 0.1145},
		{[]float64{0.83, -1.54, -0.06, -0.68, 0.23, -0.79, 0.62, 0.66, 0.5, -0.15, 0.6, 0.01, -0.16, 1.52, 0.29, 2.67, 2.32,
			-0.3, 2.07, 0.8}, 58, 0.06380788453418215, 0.09333333333333332},
		{[]float64{0.61, -1.1, -0.12, 0.29, -0.05, 0.45, 1.94, 0.18, -0.46, -0.94, 0.8, 0.75, 1.47, 0.84, 0.92, 0.78, 1.08,
			1.86, 1.42, 2.0, 3.9, 2.58, 0.62, 4.03, 2.75, 1.56, 3.51, 2.72, 2.18, 2.27, 2.01, 3.15, 4.27, 2.97, 3.82, 5.38, 2.39,
			3.96, 3.49, 2.84}, 510, 7.704178190422975e-11, 0.10621428571428572},
		{[]float64{1, 1, 2, 3, 2, 4}, 11, 0.044444444444444446, 0.6},
		{[]float64{3, 3, 3, 1, 2, 2, 5}, -1, 1.0, 0},
		{[]float64{1, 2, 2, 2, 3, 4, 4}, 17, 0.004761904761904762, 0.5},
		{[]float64{5, 5, 5, 5, 5, 6}, 5, 0.3333333333333333, 0},
		{[]float64{1, 1, 0, 2, 3, 3, 3}, 13, 0.05238095238095238, 0.4},
		{[]float64{4, 4, 4, 4}, 0, 1, 0},
		{[]float64{1, 2}, 1, 1, 1},
		{nil, 0, 1, 0},
	} {
		got := MannKendall(c.y)
		if got.S != c.s || math.Abs(got.P-c.p) > 1e-9*c.p || !got.Exact {
			t.Errorf("%v: got %+v, want S %d, p %v", c.y, got, c.s, c.p)
		}
		if slope := TheilSen(c.y); !near(slope, c.slope) {
			t.Errorf("%v: slope %v, want %v", c.y, slope, c.slope)
		}
	}
}

// The values are from pymannkendall 1.4.3: original_test(y).
func TestMannKendallOfLongSeriesIsNormal(t *testing.T) {
	for _, c := range []struct {
		y     []float64
		s     int
		p     float64
		slope float64
	}{
		{[]float64{19, 14, 11, 10, 4, 13, 15, 13, 8, 0, 14, 0, 16, 2, 6, 4, 10, 4, 5, 0, 20, 5, 4, 13, 3, 18, 16, 7, 9, 8, 15,
			9, 6, 14, 3, 16, 9, 19, 6, 8, 19, 16, 2, 8, 2, 18, 10, 6, 16, 19, 4, 12, 9, 16, 20, 12, 16, 8, 13, 11, 17}, 258,
			0.10883429347996354, 0.07142857142857142},
		{[]float64{1, 4, 0, 19, 10, 9, 9, 0, 16, 16, 0, 12, 11, 7, 9, 17, 11, 9, 14, 13, 11, 17, 12, 13, 10, 12, 13, 18, 5, 8,
			12, 7, 14, 17, 4, 2, 20, 11, 15, 16, 21, 2, 7, 21, 10, 9, 7, 2, 2, 21, 2, 4, 6, 7, 19, 8, 5, 9, 15, 10, 7, 5, 4, 12,
			6, 14, 16, 10, 13, 4, 13, 6, 12, 5, 8, 11, 12, 3, 21, 11, 8, 7, 18, 12, 9, 13, 7, 7, 10, 23, 5, 14, 22, 13, 11, 15,
			7, 17, 4, 15}, 262, 0.4360210563226956, 0.014084507042253521},
	} {
		got := MannKendall(c.y)
		if got.S != c.s || !near(got.P, c.p) || got.Exact {
			t.Errorf("n = %d: got %+v, want S %d, p %v", len(c.y), got, c.s, c.p)
		}
		if slope := TheilSen(c.y); !near(slope, c.slope) {
			t.Errorf("n = %d: slope %v, want %v", len(c.y), slope, c.slope)
		}
	}
}

// Exact and approximate P meet where the one takes over from the other.
func TestExactAndNormalAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		v := make([]float64, exactLimit)
		for i := range v {
			v[i] = math.Round(10*r.NormFloat64() + float64(i)/10)
		}
		ties := tieGroups(v)
		exact, normal := exactP(kendallS(v), ties), normalP(kendallS(v), len(v), ties)
		if math.Abs(exact-normal) > 2e-3 {
			t.Errorf("exact %v, normal %v", exact, normal)
		}
	}
}

// The values are from SciPy 1.17.1: t.ppf(p, v).
func TestTQuantile(t *testing.T) {
	for _, c := range []struct{ p, v, want float64 }{
		{.975, 9, 2.262157162798205}, {.95, 9, 1.833112932656237}, {.995, 4, 4.604094871349992},
		{.9, 1, 3.0776835371752544}, {.025, 9, -2.2621571627982053}, {.9995, 29.5, 3.6525572675587332},
		{.6, 100, 0.25402218245822766}, {.99, 2, 6.9645567342832715}, {.5, 3, 0},
	} {
		if got := TQuantile(c.p, c.v); !near(got, c.want) {
			t.Errorf("TQuantile(%v, %v) = %.12f, want %.12f", c.p, c.v, got, c.want)
		}
	}
}

// The limits are from SciPy 1.17.1: t.interval(0.95, 9, mean, s/√n) of the 10 batches' means,
// with n the effective number where NumPy's lag-1 autocorrelation exceeds 0.2.
func TestMeanCI(t *testing.T) {
	pattern := make([]float64, 40)
	for i := range pattern {
		pattern[i] = float64((i*7919)%101) / 10
	}
	for _, c := range []struct {
		v    []float64
		want Interval
	}{
		{v: pattern, want: Interval{Value: 4.9575000000000005, Low: 4.306212485810559, High: 5.608787514189442}},
		{
			v: []float64{7.971, 11.333, 11.591, 8.601, 9.625, 13.539, 13.441, 11.711, 10.664, 12.277, 9.719, 9.81, 8.279,
				10.011, 9.836, 15.547, 9.614, 12.542, 12.641, 9.627, 12.339, 5.646, 10.19, 11.715, 5.204, 7.682, 12.112, 9.486,
				7.804, 9.253, 8.915, 11.449, 10.908, 9.44, 8.669, 9.892, 12.65, 10.698, 11.278, 9.699},
			want: Interval{Value: 10.3352, Low: 9.382688520469099, High: 11.287711479530902, Correlated: true},
		},
		{
			v: []float64{8.708, 7.997, 8.649, 8.752, 7.848, 6.23, 6.341, 6.001, 5.651, 5.321, 5.605, 5.9, 6.862, 7.79, 9.122,
				9.929, 9.593, 9.539, 10.033, 9.723, 10.272, 11.426, 10.624, 8.854, 10.048, 10.065, 10.774, 9.442, 11.175, 11.913,
				11.787, 11.435, 11.549, 11.383, 11.104, 9.984, 11.247, 11.208, 11.282, 11.375},
			want: Interval{Value: 9.313525, Low: 5.922328955677586, High: 12.704721044322415, Correlated: true},
		},
	} {
		got, err := MeanCI(c.v, 0.95)
		if err != nil || !near(got.Value, c.want.Value) || !near(got.Low, c.want.Low) || !near(got.High, c.want.High) ||
			got.Correlated != c.want.Correlated {
			t.Errorf("got %+v, %v; want %+v", got, err, c.want)
		}
	}
	if _, err := MeanCI(pattern[:19], 0.95); err == nil {
		t.Error("19 values gave an interval")
	}
}

// The limits are from NumPy 2 and SciPy 1.17.1: the sections' 950th smallest values around the
// 9500th of all, t.ppf(0.975, 9).
func TestSectioning(t *testing.T) {
	all, quantiles := measure.NewHistogram(), make([]float64, 10)
	for k := range quantiles {
		h := measure.NewHistogram()
		for i := range 1000 {
			h.Record(int64((i*(7+2*k)*13+k*k*37)%1000 + 10*((k*7)%5)))
		}
		all.Merge(h)
		quantiles[k] = float64(h.Quantile(0.95))
	}
	got := BatchCI(quantiles, float64(all.Quantile(0.95)), 0.95)
	if got.Value != 971 || !near(got.Low, 960.3788301659525) || !near(got.High, 981.6211698340475) || got.Correlated {
		t.Errorf("got %+v", got)
	}
}

// Coverage of the interval of the mean under autocorrelation, where s/√n covers 46–73 %.
func TestMeanCICovers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	covered := 0
	const runs = 4000
	for range runs {
		ci, err := MeanCI(noise(r, 600, 0.7), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if ci.Low <= 0 && 0 <= ci.High {
			covered++
		}
	}
	if share := float64(covered) / runs; share < 0.93 || share > 0.97 {
		t.Errorf("covered %v of the runs, want about 0.95", share)
	}
}

func TestEffectiveSize(t *testing.T) {
	for _, c := range []struct {
		n    int
		rho  float64
		want float64
	}{{100, 0, 100}, {100, 0.5, 100.0 / 3}, {100, -0.5, 100}, {10, 1, 1}, {10, 0.95, 1}} {
		if got := EffectiveSize(c.n, c.rho); !near(got, c.want) {
			t.Errorf("EffectiveSize(%d, %v) = %v, want %v", c.n, c.rho, got, c.want)
		}
	}
}

func TestBatches(t *testing.T) {
	v := []float64{1, 3, 2, 4, 9, 5, 7}
	if got := BatchMeans(v, 3); got[0] != 2 || got[1] != 3 || got[2] != 7 {
		t.Errorf("means %v", got)
	}
	if got := BatchMinima(v, 3); got[0] != 1 || got[1] != 2 || got[2] != 5 {
		t.Errorf("minima %v", got)
	}
	if got := BatchMeans(v[:2], 3); len(got) != 2 || got[1] != 3 {
		t.Errorf("short series: %v", got)
	}
}

// noise is a first-order autoregressive series around 0 with variance 1.
func noise(r *rand.Rand, n int, rho float64) []float64 {
	v := make([]float64, n)
	x := r.NormFloat64()
	for i := range v {
		v[i] = x
		x = rho*x + math.Sqrt(1-rho*rho)*r.NormFloat64()
	}
	return v
}
