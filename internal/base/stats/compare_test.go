package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	moremath "github.com/aclements/go-moremath/stats"
)

func base() []float64 { return []float64{1021.5, 998.2, 1010.7, 1033.9, 987.1} }
func next() []float64 { return []float64{930.2, 941.8, 925.5, 960.3, 915.0, 938.8} }

func same(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s is %.17g, want %.17g", what, got, want)
	}
}

// The values are from SciPy 1.17.1: t.interval(c, n-1, mean, s/√n) of the values and of their logarithms.
func TestStudentIntervals(t *testing.T) {
	for _, c := range []struct {
		of         func([]float64, float64) (Interval, error)
		confidence float64
		want       Interval
	}{
		{TInterval, 0.95, Interval{Value: 1010.28, Low: 987.3242551582622, High: 1033.2357448417379}},
		{TInterval, 0.99, Interval{Value: 1010.28, Low: 972.2131832291585, High: 1048.3468167708418}},
		{LogInterval, 0.95, Interval{Value: 1010.1446729057026, Low: 987.4498903344139, High: 1033.3610547611672}},
	} {
		got, err := c.of(base(), c.confidence)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "value", got.Value, c.want.Value)
		same(t, "low", got.Low, c.want.Low)
		same(t, "high", got.High, c.want.High)
	}
	for name, v := range map[string][]float64{"one value": {1}, "infinite": {1, math.Inf(1)}} {
		if _, err := TInterval(v, 0.95); err == nil {
			t.Errorf("%s gave an interval", name)
		}
	}
	for _, v := range [][]float64{{1, 0}, {1, -2}, {1, math.NaN()}} {
		if _, err := LogInterval(v, 0.95); err == nil {
			t.Errorf("%v gave an interval on logarithms", v)
		}
	}
}

// The values are from SciPy 1.17.1: ttest_ind(equal_var=False) and its confidence_interval, of logarithms and
// of the values; g by its formula in NumPy.
func TestWelch(t *testing.T) {
	c, err := Welch(base(), next(), 0.95)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "p", c.P, 7.428077943632947e-05)
	same(t, "degrees of freedom", c.DF, 8.262838248553697)
	same(t, "ratio", c.Ratio.Value, 0.9257673218967578)
	same(t, "low", c.Ratio.Low, 0.9034736850743237)
	same(t, "high", c.Ratio.High, 0.9486110646613807)
	same(t, "effect", c.Effect, -4.056844920267782)
	d, err := WelchDifference(base(), next(), 0.99)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "p", d.P, 9.822364911935417e-05)
	same(t, "low", d.Difference.Low, -110.12171900926575)
	same(t, "high", d.Difference.High, -39.90494765740089)
	same(t, "effect", d.Effect, -4.050055740125564)
	tiny, err := Welch([]float64{100.0, 100.1, 100.2, 99.9, 100.05, 100.02},
		[]float64{150.0, 150.1, 149.9, 150.2, 150.05, 149.98}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "tiny p", tiny.P, 6.5026909023722e-23)
}

func TestWelchWithoutVariance(t *testing.T) {
	if c, err := Welch([]float64{5, 5}, []float64{5, 5, 5}, 0.95); err != nil || c.P != 1 || c.Ratio.Low != 1 ||
		c.Ratio.High != 1 || c.Effect != 0 {
		t.Errorf("equal: %+v, %v", c, err)
	}
	if c, err := Welch([]float64{5, 5}, []float64{10, 10}, 0.95); err != nil || c.P != 0 || !near(c.Ratio.Low, 2) ||
		!math.IsInf(c.Effect, 1) {
		t.Errorf("different: %+v, %v", c, err)
	}
	for _, v := range [][]float64{{1}, {1, 0}, {1, math.Inf(1)}} {
		if _, err := Welch(base(), v, 0.95); err == nil {
			t.Errorf("%v was compared", v)
		}
	}
}

func twenty() (a, b []float64) {
	return []float64{9.06, 10.91, 10.02, 9.38, 9.37, 9.01, 10.05, 11.07, 9.67, 10.42, 11.88, 8.79, 10.26, 9.69, 8.94, 8.97,
			9.98, 10.43, 9.47, 10.06},
		[]float64{11.52, 11.1, 11.67, 11.26, 11.29, 12.63, 11.42, 10.93, 11.51, 9.88, 10.46, 11.59, 11.43, 12.35, 10.81, 9.34,
			12.75, 11.89, 9.74, 12.18}
}

// The values are from SciPy 1.17.1: 2·t.sf(|d|/√(s²·(1/n + 1/m)), df) of logarithms, s² being the variance within all
// groups in NumPy; with only two groups it is ttest_ind(equal_var=True).
func TestPooledP(t *testing.T) {
	groups := [][]float64{{102, 98.5, 110.2}, {120.1, 131, 126.4}, {99, 104.8, 101.3, 108}}
	odd := append(slices.Clone(groups), nil, []float64{50}, []float64{0, 100}, []float64{100, math.Inf(1)})
	for _, c := range []struct {
		groups        [][]float64
		first, second int
		p             float64
	}{
		{groups, 0, 1, 0.001250167110902115},
		{groups, 0, 2, 0.9504454299826907},
		{groups, 2, 1, 0.0007943730098956377},
		{groups[:2], 0, 1, 0.009403335488686165},
		{odd, 0, 1, 0.001250167110902115},
		{[][]float64{{5, 5}, {5, 5}}, 0, 1, 1},
		{[][]float64{{5, 5}, {6, 6}}, 0, 1, 0},
	} {
		p, ok := PooledP(c.groups, c.first, c.second)
		if !ok || !near(p, c.p) {
			t.Errorf("%v, %d and %d: %v, %v, want %v", c.groups, c.first, c.second, p, ok, c.p)
		}
	}
	for second := 3; second < len(odd); second++ {
		if p, ok := PooledP(odd, 0, second); ok != (len(odd[second]) == 1) {
			t.Errorf("%v next to %v: %v, %v", odd[0], odd[second], p, ok)
		}
	}
	if p, ok := PooledP([][]float64{{1}, {2}}, 0, 1); ok {
		t.Errorf("one value each: %v", p)
	}
}

// Expected values without ties are from SciPy 1.17.1: mannwhitneyu(second, first, method="exact"). Those with ties were
// computed by enumerating all assignments of the values in Python.
func TestMannWhitney(t *testing.T) {
	a, b := twenty()
	for _, c := range []struct {
		first, second []float64
		u, p          float64
	}{
		{base(), next(), 0, 0.004329004329004329},
		{[]float64{1, 2, 2, 3, 5, 5}, []float64{2, 4, 5, 5, 6, 7, 7}, 34, 0.06701631701631702},
		{[]float64{3, 3, 3, 4}, []float64{3, 4, 4, 9, 9}, 16.5, 0.14285714285714285},
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 9, 0.1},
		{[]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 16, 0.02857142857142857},
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 25, 0.007936507936507936},
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, math.Inf(1)}, 25, 0.007936507936507936},
		{a, b, 348, 2.1376497654487687e-05},
		{[]float64{7, 7}, []float64{7, 7, 7}, 3, 1},
		{nil, []float64{1}, 0, 1},
	} {
		got := MannWhitney(c.first, c.second)
		if !got.Exact || got.U != c.u || math.Abs(got.P-c.p) > 1e-9*c.p {
			t.Errorf("%v, %v: %+v, want U %v, p %v", c.first, c.second, got, c.u, c.p)
		}
	}
	if d := MannWhitney(base(), next()).Delta; d != -1 {
		t.Errorf("delta %v, want -1", d)
	}
}

// go-moremath computes the distribution by another algorithm: each tail separately, for both orders of the samples.
func TestMannWhitneyAgreesWithMoremath(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, levels := range []float64{3, 8, 20, 1e9} {
		for _, size := range [][2]int{{1, 4}, {3, 5}, {10, 10}, {10, 60}, {25, 25}} {
			t.Run(fmt.Sprintf("%v levels, %d and %d values", levels, size[0], size[1]), func(t *testing.T) {
				first, second := make([]float64, size[0]), make([]float64, size[1])
				for i := range first {
					first[i] = math.Floor(r.Float64() * levels)
				}
				for i := range second {
					second[i] = math.Floor((r.Float64() + 0.2) * levels)
				}
				got := MannWhitney(first, second)
				ties := tieGroups(slices.Concat(first, second))
				mean := float64(len(first)*len(second)) / 2
				tail := mean - math.Abs(got.U-mean)
				d := moremath.UDist{N1: len(second), N2: len(first), T: ties}
				want := d.CDF(tail)
				slices.Reverse(d.T)
				want = min(want+d.CDF(tail), 1)
				same(t, "p", got.P, want)
			})
		}
	}
}

// SciPy 1.17.1: mannwhitneyu(second, first, method="asymptotic") = 1928.5, 0.01012284005451591.
func TestMannWhitneyOfManyIsNormal(t *testing.T) {
	first := []float64{-0.8, -1.3, -0.2, 0.4, 1.1, 0.1, -0.6, -0.8, 0.7, 1.6, 0.3, -1.2, -1.0, 1.6, 0.2, -1.7, -0.1, -1.2,
		-0.6, -0.5, -0.7, 0.6, -0.1, -0.6, 0.4, 0.8, -1.6, -0.3, -1.0, -0.2, -1.3, 0.0, 0.0, -0.3, -1.0, -0.4, -1.1, -1.4,
		0.2, -1.1, 1.2, 0.7, -2.0, 0.3, -1.1, 0.0, 0.0, -2.0, -0.2, -0.3, 1.0, -1.2, 0.7, -1.1, -0.3, -0.8, 1.4, 0.6,
		2.4, 0.6}
	second := []float64{1.2, 1.2, -0.2, 0.3, 1.8, 0.0, 0.6, 0.4, 1.0, 0.0, 0.2, 0.6, 0.5, -0.5, 1.3, -0.9, -0.8, -0.9, 1.4,
		0.0, -0.6, -0.7, 0.8, -0.7, -0.9, 1.0, -0.8, 0.1, 0.4, 0.0, 0.3, 1.7, -0.1, -0.9, -1.4, 0.2, 0.0, 0.7, -0.1, -0.1,
		-0.3, -0.1, 0.6, 0.0, 0.5, 2.3, 0.9, -1.2, 2.1, 0.7}
	got := MannWhitney(first, second)
	if got.Exact || got.U != 1928.5 {
		t.Errorf("%+v", got)
	}
	same(t, "p", got.P, 0.01012284005451591)
}

// Benjamini and Hochberg's are from SciPy 1.17.1: false_discovery_control(p, method="bh"); Holm's from its
// definition.
func TestAdjustedP(t *testing.T) {
	p := []float64{0.01, 0.04, 0.03, 0.005, 0.2, 0.04}
	for name, c := range map[string]struct{ got, want []float64 }{
		"Holm":                   {Holm(p), []float64{0.05, 0.12, 0.12, 0.03, 0.2, 0.12}},
		"Benjamini and Hochberg": {BenjaminiHochberg(p), []float64{0.03, 0.048, 0.048, 0.03, 0.2, 0.048}},
	} {
		for i := range c.want {
			if !near(c.got[i], c.want[i]) {
				t.Errorf("%s: %v, want %v", name, c.got, c.want)
				break
			}
		}
	}
	if len(Holm(nil)) != 0 || len(BenjaminiHochberg(nil)) != 0 {
		t.Error("of no tests there are some")
	}
}

// The limits are Hettmansperger and Sheather's formula with SciPy 1.17.1's binom.cdf.
func TestMedianInterval(t *testing.T) {
	six := []float64{10.2, 11.5, 9.8, 10.9, 12.4, 10.1}
	eleven := []float64{3.1, 2.7, 4.4, 3.9, 2.2, 5.0, 3.3, 3.6, 2.9, 4.1, 3.0}
	for _, c := range []struct {
		v          []float64
		confidence float64
		want       Interval
	}{
		{six, 0.95, Interval{Value: 10.55, Low: 9.907142857142858, High: 12.07857142857143}},
		{eleven, 0.95, Interval{Value: 3.3, Low: 2.8835587929240374, High: 4.124661810613944}},
		{eleven, 0.99, Interval{Value: 3.3, Low: 2.690654205607477, High: 4.411214953271028}},
	} {
		got, err := MedianInterval(c.v, c.confidence)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "median", got.Value, c.want.Value)
		same(t, "low", got.Low, c.want.Low)
		same(t, "high", got.High, c.want.High)
	}
	if _, err := MedianInterval(six[:5], 0.95); err == nil {
		t.Error("5 values gave an interval of 95 %")
	}
	if n := RunsForMedian(0.95); n != 6 {
		t.Errorf("95 %% needs %d runs", n)
	}
	if n := RunsForMedian(0.99); n != 8 {
		t.Errorf("99 %% needs %d runs", n)
	}
}

// The values are those of a loop over n with SciPy 1.17.1's t.ppf.
func TestNeededRuns(t *testing.T) {
	for _, c := range []struct {
		v     []float64
		share float64
		conf  float64
		want  int
	}{{base(), 0.01, 0.95, 16}, {base(), 0.03, 0.95, 4}, {next(), 0.005, 0.99, 78}, {base()[:1], 0.1, 0.95, 0}} {
		if got := RunsForWidth(c.v, c.share, c.conf); got != c.want {
			t.Errorf("for ±%v: %d runs, want %d", c.share, got, c.want)
		}
	}
	other := []float64{1000, 990, 1012, 1005, 1020}
	for _, c := range []struct {
		second    []float64
		tolerance float64
		want      int
	}{{next(), 0.05, 9}, {next(), 0.03, 4}, {other, 0.03, 7}} {
		if got := RunsToSettle(base(), c.second, c.tolerance, 0.95); got != c.want {
			t.Errorf("tolerance %v: %d runs, want %d", c.tolerance, got, c.want)
		}
	}
	if got := RunsToSettleDifference([]float64{0, 0}, []float64{0, 0}, 0.001, 0.95); got != 2 {
		t.Errorf("of what never varies: %d runs", got)
	}
}

// NumPy 2: the least Σ(y − ȳ)²/n² over the batches of 5 from d on is at d = 11.
func TestMSER5(t *testing.T) {
	v := []float64{37.59, 45.53, 44.24, 55.24, 60.44, 59.09, 64.9, 67.27, 68.01, 69.07, 67.83, 80.24, 77.78, 87.26, 83.79,
		83.64, 82.21, 89.63, 85.09, 92.39, 87.47, 90.13, 85.84, 98.2, 91.6, 91.37, 95.56, 91.0, 96.48, 91.13, 96.71, 92.34,
		90.32, 94.38, 92.08, 98.41, 97.08, 98.78, 97.75, 96.61, 97.94, 101.19, 97.64, 96.05, 95.56, 97.92, 96.45, 104.45,
		95.37, 95.74, 98.15, 101.09, 98.41, 96.4, 96.91, 98.33, 102.36, 96.55, 99.25, 97.72, 100.57, 100.82, 95.26, 106.85,
		100.28, 98.21, 97.07, 99.0, 99.89, 101.59, 99.84, 101.29, 95.02, 97.61, 96.85, 100.38, 101.27, 95.5, 99.41, 102.09,
		102.67, 96.58, 101.62, 100.96, 98.64, 105.84, 96.6, 99.13, 101.33, 100.69, 99.45, 104.1, 104.31, 102.71, 102.98,
		99.81, 96.49, 106.54, 97.11, 106.67, 99.6, 100.68, 99.48, 102.86, 98.47, 105.52, 101.6, 100.52, 98.28, 100.83, 99.98,
		105.69, 102.8, 95.32, 104.58, 92.88, 104.62, 94.34, 100.0, 102.43, 99.97, 96.7, 103.7, 94.66, 95.62, 104.15, 97.4,
		100.74, 102.43, 99.68, 100.83, 100.36, 100.64, 103.56, 102.8, 100.97, 102.75, 98.37, 97.71, 96.99, 102.35, 104.87,
		100.25, 94.06, 98.47, 101.4, 100.89, 100.28, 102.97, 102.78}
	if cut, steady := MSER5(v); cut != 55 || !steady {
		t.Errorf("cut %d, steady %v; want 55", cut, steady)
	}
	rising := make([]float64, 200)
	for i := range rising {
		rising[i] = float64(i)
	}
	if _, steady := MSER5(rising); steady {
		t.Error("what rises all the time is steady")
	}
	if cut, steady := MSER5(v[:49]); cut != 0 || !steady {
		t.Errorf("a short series is cut by %d", cut)
	}
}

// coverage returns how often an interval of n samples contains the true value.
func coverage(t *testing.T, seed uint64, n int, truth float64, draw func(r *rand.Rand) float64,
	of func([]float64, float64) (Interval, error)) float64 {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 99))
	covered := 0
	const runs = 1500
	for range runs {
		v := make([]float64, n)
		for i := range v {
			v[i] = draw(r)
		}
		i, err := of(v, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if i.Low <= truth && truth <= i.High {
			covered++
		}
	}
	return float64(covered) / runs
}

func TestIntervalsCover(t *testing.T) {
	normal := func(r *rand.Rand) float64 { return 100 + 5*r.NormFloat64() }
	skewed := func(r *rand.Rand) float64 { return math.Exp(0.3 * r.NormFloat64()) }
	for name, got := range map[string]float64{
		"mean of 5, normal":           coverage(t, 1, 5, 100, normal, TInterval),
		"mean of 20, normal":          coverage(t, 2, 20, 100, normal, TInterval),
		"geometric mean of 5, skewed": coverage(t, 3, 5, 1, skewed, LogInterval),
		"geometric mean of 3, skewed": coverage(t, 4, 3, 1, skewed, LogInterval),
		"median of 6, skewed":         coverage(t, 5, 6, 1, skewed, MedianInterval),
		"median of 11, skewed":        coverage(t, 6, 11, 1, skewed, MedianInterval),
		"median of 30, normal":        coverage(t, 7, 30, 100, normal, MedianInterval),
		"ratio of 5 and 5":            ratioCoverage(t, 8, 5, 5, 0.1, 0.1),
		"ratio of 4 and 9, unequal":   ratioCoverage(t, 9, 4, 9, 0.05, 0.2),
	} {
		if got < 0.93 || got > 0.97 {
			t.Errorf("%s: covered %v, want 0.93 to 0.97", name, got)
		}
	}
}

func ratioCoverage(t *testing.T, seed uint64, n, m int, sA, sB float64) float64 {
	r := rand.New(rand.NewPCG(seed, 5))
	first := func(k int, mean, s float64) []float64 {
		v := make([]float64, k)
		for i := range v {
			v[i] = mean * math.Exp(s*r.NormFloat64())
		}
		return v
	}
	return coverage(t, seed, 1, 0.92, func(*rand.Rand) float64 { return 0 }, func([]float64, float64) (Interval, error) {
		c, err := Welch(first(n, 100, sA), first(m, 92, sB), 0.95)
		return c.Ratio, err
	})
}

// The number of runs that RunsToSettle returns is enough in most cases.
func TestNeededRunsAreEnough(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	draw := func(n int, mean float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = mean * math.Exp(0.03*r.NormFloat64())
		}
		return v
	}
	pilotA, pilotB := draw(200, 100), draw(200, 92)
	n := RunsToSettle(pilotA, pilotB, 0.05, 0.95)
	settled := 0
	const runs = 1000
	for range runs {
		if c, err := Welch(draw(n, 100), draw(n, 92), 0.95); err == nil && c.Ratio.High < 0.95 {
			settled++
		}
	}
	if share := float64(settled) / runs; share < 0.7 || share > 0.95 {
		t.Errorf("%d runs settle %v of the comparisons, want about 0.8", n, share)
	}
}
