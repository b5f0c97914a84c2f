package stats

import (
	"math"
	"testing"
)

// Golden values are from SciPy 1.17: curve_fit(usl, n, x, bounds=([0, 0, 0], [inf, 1, inf])), and the second from
// least_squares(usl(n) - x, method='lm') with the analytic Jacobian, both with tolerances of 1e-15. The first data are
// the ray tracer's of Gunther 2007, table 5.1.
func TestFitUSLEqualsSciPy(t *testing.T) {
	one := func(last int) (n []float64) {
		for i := 1; i <= last; i++ {
			n = append(n, float64(i))
		}
		return n
	}
	for _, c := range []struct {
		name string
		n, x []float64
		want USL
	}{
		{"ray tracer", []float64{1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64},
			[]float64{20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310},
			USL{21.84884281722013, 0.05777078053614032, 0, 0.990694924054598}},
		{"retrograde", one(20), []float64{955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08, 7219.8,
			7867.61, 8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24, 10097.6, 10240.5, 10532.39, 10798.52},
			USL{932.6117560650596, 0.006545214865726103, 0.0016623921242880316, 0.9993953923337288}},
	} {
		got, err := FitUSL(c.n, c.x)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		near := func(a, b, scale float64) bool { return math.Abs(a-b) <= 1e-7*scale }
		if !near(got.Lambda, c.want.Lambda, c.want.Lambda) || !near(got.Sigma, c.want.Sigma, 0.01) ||
			!near(got.Kappa, c.want.Kappa, 0.001) || !near(got.R2, c.want.R2, 1) {
			t.Errorf("%s: got %+v, SciPy has %+v", c.name, got, c.want)
		}
	}
}

func TestFitUSLFindsTheLawAgain(t *testing.T) {
	law := USL{Lambda: 120, Sigma: 0.02, Kappa: 0.0009}
	n := []float64{0.5, 1, 2, 4, 8, 16, 32, 64}
	var x []float64
	for _, v := range n {
		x = append(x, law.At(v))
	}
	got, err := FitUSL(n, x)
	if err != nil || math.Abs(got.Lambda-120) > 1e-6 || math.Abs(got.Sigma-0.02) > 1e-9 ||
		math.Abs(got.Kappa-0.0009) > 1e-10 {
		t.Errorf("got %+v, %v", got, err)
	}
	if peak := got.Peak(); math.Abs(peak-math.Sqrt(0.98/0.0009)) > 1e-4 {
		t.Errorf("peak at %g", peak)
	}
}

func TestFitUSLRefuses(t *testing.T) {
	for name, c := range map[string][2][]float64{
		"too few":     {{1, 2, 3}, {1, 2, 3}},
		"two loads":   {{1, 1, 2, 2}, {1, 1, 2, 2}},
		"no loads":    {{0, 1, 2, 3}, {0, 1, 2, 3}},
		"not so many": {{1, 2, 3, 4}, {1, 2, 3}},
		"unknown":     {{1, 2, 3, math.NaN()}, {1, 2, 3, 4}},
	} {
		if _, err := FitUSL(c[0], c[1]); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
