package stats

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tigerbeetle returns a series from Otava's own tests.
func tigerbeetle(t *testing.T) (v []float64) {
	t.Helper()
	text, err := os.ReadFile("testdata/otava-tigerbeetle.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if x, err := strconv.ParseFloat(strings.TrimSpace(line), 64); err == nil {
			v = append(v, x)
		}
	}
	return v
}

func series1() []float64 {
	return []float64{1.02, 0.95, 0.99, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55}
}
func series2() []float64 {
	return []float64{2.02, 2.03, 2.01, 2.04, 1.82, 1.85, 1.79, 1.81, 1.80, 1.76, 1.78}
}

// The vectors and the expected indices are those of the tests of Apache Otava 0.8 (tests/analysis_test.py,
// series_test.py, tigerbeetle_test.py).
func TestOtavaFindsTheSame(t *testing.T) {
	single := []float64{1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48, 0.48, 0.55, 0.50,
		0.49, 0.51, 0.50, 0.49}
	zeros := []float64{0, 0, 0, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55}
	long := tigerbeetle(t)
	for name, c := range map[string]struct {
		v    []float64
		o    ChangeOptions
		want []int
	}{
		"single":                  {single, ChangeOptions{Window: 10, P: 0.0001}, []int{10}},
		"series 1":                {series1(), ChangeOptions{}, []int{6}},
		"series 2":                {series2(), ChangeOptions{}, []int{4}},
		"series 1, magnitude 0.2": {series1(), ChangeOptions{Magnitude: 0.2}, []int{6}},
		"series 2, magnitude 0.2": {series2(), ChangeOptions{Magnitude: 0.2}, nil},
		"zeros":                   {zeros, ChangeOptions{}, []int{3, 6}},
		"tigerbeetle":             {long, ChangeOptions{Window: 30, P: 0.01, Magnitude: 0.05}, []int{15, 71}},
		"tigerbeetle, p 0.05":     {long, ChangeOptions{Window: 30, P: 0.05, Magnitude: 0.05}, []int{15, 71}},
		"tigerbeetle, p 0.1":      {long, ChangeOptions{Window: 30, P: 0.1, Magnitude: 0.05}, []int{10, 11, 15, 71, 363}},
		"tigerbeetle, p 0.2":      {long, ChangeOptions{Window: 30, P: 0.2, Magnitude: 0.05}, []int{10, 11, 15, 71}},
		"tigerbeetle, no magnitude, p 0.1": {long, ChangeOptions{Window: 30, P: 0.1},
			[]int{3, 6, 10, 11, 15, 16, 28, 29, 35, 37, 39, 41, 44, 48, 49, 61, 71, 95, 117, 131, 142, 148, 165, 169, 192, 206,
				212, 260, 265, 268, 278, 282, 288, 305, 363}},
		"tigerbeetle, no magnitude, p 0.2": {long, ChangeOptions{Window: 30, P: 0.2},
			[]int{3, 6, 7, 10, 11, 13, 15, 16, 28, 29, 35, 37, 39, 41, 44, 48, 49, 56, 58, 61, 65, 66, 69, 71, 74, 76, 82, 95,
				108, 117, 125, 126, 129, 131, 136, 137, 142, 148, 165, 169, 187, 190, 192, 197, 200, 212, 220, 241, 243, 246, 247,
				249, 250, 260, 265, 266, 268, 278, 282, 288, 305, 306, 325, 330, 337, 338, 340, 347, 349, 363}},
		"constant": {[]float64{5, 5, 5, 5, 5, 5, 5, 5}, ChangeOptions{}, nil},
		"two":      {[]float64{1, 2}, ChangeOptions{}, nil},
		"none":     {nil, ChangeOptions{}, nil},
	} {
		var got []int
		for _, p := range ChangePoints(c.v, c.o) {
			got = append(got, p.Index)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The expected values are the results of compute_change_points of Apache Otava 0.8 with its defaults.
func TestOtavaSaysTheSameOfThem(t *testing.T) {
	long := tigerbeetle(t)
	for name, c := range map[string]struct {
		v    []float64
		want []ChangePoint
	}{
		"series 1": {series1(), []ChangePoint{{6, 9.470438654814039e-08, 0.9966666666666667, 0.504}}},
		"series 2": {series2(), []ChangePoint{{4, 8.236974073947701e-08, 2.025, 1.8014285714285714}}},
		"tigerbeetle": {long, []ChangePoint{
			{15, 3.050715978842001e-07, 26000.666666666668, 23679.782608695652},
			{61, 4.828267491110006e-22, 23679.782608695652, 24514.1},
			{71, 2.7716911396166242e-33, 24514.1, 28431.75}, {95, 1.834128453446682e-22, 28431.75, 27268.272727272728},
			{117, 6.64713341488916e-06, 27268.272727272728, 27711.571428571428},
			{131, 1.2031342307893539e-06, 27711.571428571428, 28639.352941176472},
			{192, 4.2856341133676764e-08, 28485.54098360656, 29006.35},
			{212, 9.179764647766508e-06, 29006.35, 29449.816993464054},
		}},
	} {
		got := ChangePoints(c.v, ChangeOptions{})
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i, want := range c.want {
			g := got[i]
			// Otava does not update the point before one that it has removed.
			if want.Index == 131 {
				g.After, g.P = want.After, want.P
			}
			if g.Index != want.Index || math.Abs(g.P-want.P) > 1e-9*want.P || !near(g.Before, want.Before) ||
				!near(g.After, want.After) {
				t.Errorf("%s: %+v, want %+v", name, g, want)
			}
		}
	}
}

func TestPermutedChangePoints(t *testing.T) {
	// Otava's tests/change_point_divisive_test.py: SEQUENCE and CHANGE_POINTS_INDS.
	v := []float64{0.3, 2.4, 1.5, -0.9, -0.5, 99.7, 98.3, 99.1, 149.0, 149.7, 149.5, 149.1, 148.8, 150.0}
	if got := windowCuts(v, 0.01); !slices.Equal(got, []int{5, 8}) {
		t.Errorf("by t test: %v", got)
	}
	got := PermutedChangePoints(v, ChangeOptions{P: 0.01}, 100, rand.New(rand.NewPCG(1, 1)))
	if len(got) != 2 || got[0].Index != 5 || got[1].Index != 8 || !near(got[0].Before, 0.56) {
		t.Errorf("by permutation: %v", got)
	}
	// tests/analysis_test.py: test_single_series_original.
	single := []float64{1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48, 0.48, 0.55, 0.50,
		0.49, 0.51, 0.50, 0.49}
	if got = PermutedChangePoints(single, ChangeOptions{P: 0.0001}, 100, rand.New(rand.NewPCG(1, 1))); len(got) != 1 ||
		got[0].Index != 10 {
		t.Errorf("by permutation: %v", got)
	}
	if got = PermutedChangePoints(single, ChangeOptions{Magnitude: 2}, 100, rand.New(rand.NewPCG(1, 1))); len(got) != 0 {
		t.Errorf("below the magnitude: %v", got)
	}
	if got = PermutedChangePoints([]float64{1}, ChangeOptions{}, 100, rand.New(rand.NewPCG(1, 1))); len(got) != 0 {
		t.Errorf("of one value: %v", got)
	}
}

// Independent runs at one level rarely have a change. A step of three standard deviations is found.
func TestFalseAndMissedChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	const runs = 300
	found, missed := 0, 0
	for range runs {
		level, step := make([]float64, 60), make([]float64, 60)
		for i := range level {
			level[i] = 100 + 2*r.NormFloat64()
			step[i] = 100 + 2*r.NormFloat64()
			if i >= 45 {
				step[i] -= 6
			}
		}
		if len(ChangePoints(level, ChangeOptions{Magnitude: 0.03})) > 0 {
			found++
		}
		points := ChangePoints(step, ChangeOptions{Magnitude: 0.03})
		if !slices.ContainsFunc(points, func(p ChangePoint) bool { return p.Index >= 43 && p.Index <= 47 }) {
			missed++
		}
	}
	if found > runs*5/100 || missed > runs*5/100 {
		t.Errorf("%d of %d level series have a change; %d steps were missed", found, runs, missed)
	}
}
