package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

const simulations = 2000

// simulate returns the share of runs of 720 samples around 100 in which growth is found.
func simulate(seed uint64, deviation, rho, growth float64, batch func([]float64, int) []float64,
	shape func(r *rand.Rand, v []float64)) float64 {
	r := rand.New(rand.NewPCG(seed, 7))
	found := 0
	for range simulations {
		v := noise(r, 720, rho)
		for i := range v {
			v[i] = 100 + deviation*v[i] + 100*growth*float64(i)/720
		}
		if shape != nil {
			shape(r, v)
		}
		if g := GrowthOf(batch(v, GrowthBatches)); g.Grows() && !g.Levels() &&
			!GrowthOf(BatchMedians(v, GrowthBatches)).Steps() {
			found++
		}
	}
	return float64(found) / simulations
}

func TestSteadySeriesAreNotTakenForLeaks(t *testing.T) {
	for _, c := range []struct{ deviation, rho float64 }{{1, 0}, {5, 0}, {5, 0.8}, {10, 0.5}, {20, 0.9}, {20, 0.95}} {
		if got := simulate(1, c.deviation, c.rho, 0, BatchMeans, nil); got > 0.02 {
			t.Errorf("deviation %v %%, autocorrelation %v: %v of steady runs are leaks, want at most 0.02", c.deviation,
				c.rho, got)
		}
	}
}

// Growth that is 6 times the batches' standard deviation is found.
func TestLeaksAreFound(t *testing.T) {
	for _, c := range []struct{ deviation, rho, growth float64 }{{1, 0, 0.03}, {5, 0, 0.05}, {2, 0.8, 0.1}, {5, 0.8, 0.15},
		{10, 0.5, 0.15}, {20, 0.9, 1}} {
		if got := simulate(2, c.deviation, c.rho, c.growth, BatchMeans, nil); got < 0.95 {
			t.Errorf("deviation %v %%, autocorrelation %v, growth %v: %v found, want at least 0.95", c.deviation, c.rho,
				c.growth, got)
		}
	}
}

// The size of a heap rises between garbage collections. Only its lower bound distinguishes a leak from garbage.
func TestFloorOfHeaps(t *testing.T) {
	sawtooth := func(r *rand.Rand, v []float64) {
		garbage := 0.0
		for i := range v {
			garbage += 6 + 2*r.Float64()
			if garbage > 100 {
				garbage = 0
			}
			v[i] += garbage
		}
	}
	if got := simulate(3, 1, 0, 0, BatchMinima, sawtooth); got > 0.02 {
		t.Errorf("%v of steady heaps are leaks", got)
	}
	if got := simulate(4, 1, 0, 0.1, BatchMinima, sawtooth); got < 0.95 {
		t.Errorf("%v of leaking heaps are found", got)
	}
}

// Growth below the tolerance is no leak, however significant it is.
func TestSmallGrowthIsNoLeak(t *testing.T) {
	if got := simulate(5, 0.1, 0, 0.015, BatchMeans, nil); got > 0.02 {
		t.Errorf("growth of 1.5 %% is a leak in %v of the runs", got)
	}
}

func TestShrinks(t *testing.T) {
	g := GrowthOf([]float64{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1})
	if !g.Shrinks() || g.Grows() || g.Slope != -1 || g.Median != 6.5 || !near(g.Share, -12/6.5) {
		t.Errorf("got %+v", g)
	}
}

// A cache that fills is no leak.
func TestSaturationIsNoLeak(t *testing.T) {
	fill := func(_ *rand.Rand, v []float64) {
		for i := range v {
			v[i] += 100 * (1 - math.Exp(-float64(i)/60))
		}
	}
	if got := simulate(6, 1, 0.5, 0, BatchMeans, fill); got > 0.02 {
		t.Errorf("%v of filling caches are leaks", got)
	}
}

// A single step of memory is rarely regarded as a leak, wherever it is.
func TestOneNoisyStepIsNoLeak(t *testing.T) {
	step := func(r *rand.Rand, v []float64) {
		at := r.IntN(len(v))
		for i := at; i < len(v); i++ {
			v[i] += 20
		}
	}
	if got := simulate(8, 0.5, 0, 0, BatchMeans, step); got > 0.04 {
		t.Errorf("%v of steps are leaks", got)
	}
}

func TestOneStepIsNoLeak(t *testing.T) {
	for at := 1; at < GrowthBatches; at++ {
		v := make([]float64, GrowthBatches)
		for i := range v {
			v[i] = 8
			if i >= at {
				v[i] = 9
			}
		}
		if g := GrowthOf(v); g.Grows() && !g.Levels() {
			t.Errorf("a step at batch %d is a leak: %+v", at, g)
		}
	}
}
