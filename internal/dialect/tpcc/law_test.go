package tpcc

import (
	"math"
	"testing"
	"time"

	"brunt/internal/load/gen"
)

func TestLastNames(t *testing.T) {
	for n, want := range map[int64]string{0: "BARBARBAR", 371: "PRICALLYOUGHT", 40: "BARPRESBAR", 999: "EINGEINGEING"} {
		if got := string(AppendLastName(nil, n)); got != want {
			t.Errorf("last name %d is %s, want %s", n, got, want)
		}
	}
}

// The constants of a load depend on the population's: their distance is from 65 to 119, and neither 96 nor 112.
// Constants that are drawn independently would be so in a third of the cases.
func TestConstantsBelongTogether(t *testing.T) {
	different := map[int64]bool{}
	for seed := range uint64(500) {
		c := RunConstants(seed, loadConstant(seed*31))
		d := c.LastName - c.LastNameLoad
		if d = max(d, -d); d < 65 || d > 119 || d == 96 || d == 112 {
			t.Errorf("seed %d: constants %d and %d", seed, c.LastNameLoad, c.LastName)
		}
		if c != RunConstants(seed, c.LastNameLoad) {
			t.Errorf("seed %d gives other constants the second time", seed)
		}
		if c.LastName < 0 || c.LastName > 255 || c.Customer < 0 || c.Customer > 1023 || c.Item < 0 || c.Item > 8191 {
			t.Errorf("seed %d: %+v", seed, c)
		}
		different[c.LastName] = true
	}
	if len(different) < 100 {
		t.Errorf("only %d constants of 500 seeds", len(different))
	}
}

func TestThinkTimes(t *testing.T) {
	const n, mean = 200_000, 12 * time.Second
	s := gen.NewStream(1, "think")
	sum, most := 0.0, time.Duration(0)
	for i := range uint64(n) {
		r := s.At(i)
		d := thinkTime(&r, mean)
		sum += float64(d)
		most = max(most, d)
	}
	// A cut exponential distribution has the mean 1 − e^−10; the standard error is about mean/√n.
	if got := sum / n; math.Abs(got/float64(mean)-1) > 5/math.Sqrt(n) {
		t.Errorf("mean %v, want %v", time.Duration(got), mean)
	}
	if most > 10*mean {
		t.Errorf("a think time of %v", most)
	}
}

// A deck has ten New-Orders in 23 cards, so that terminals reach 12.6 New-Orders a minute and warehouse; with the least
// shares of the others it is the specification's 12.86.
func TestPossible(t *testing.T) {
	if got := possiblePerWarehouse(); math.Abs(got-12.605) > 0.01 {
		t.Errorf("%.3f, want 12.605", got)
	}
	cycle := 0.0
	for _, p := range profiles {
		cycle += p.weight / 100 * (p.keying + p.think).Seconds()
	}
	if got := 10 * 0.45 * 60 / cycle; math.Abs(got-maxPerWarehouse) > 0.01 {
		t.Errorf("the shares 45, 43, 4, 4, 4 give %.3f, want %g", got, maxPerWarehouse)
	}
}

// possiblePerWarehouse returns the greatest number of New-Orders a minute that ten terminals reach if each answer takes
// no time, by the mean length of a deck of 23.
func possiblePerWarehouse() float64 {
	var cycle time.Duration
	for _, p := range profiles {
		mean := float64(p.think) * (1 - math.Exp(-10)) // of the distribution that is cut
		cycle += time.Duration(p.cards) * (p.keying + time.Duration(mean))
	}
	return Districts * float64(profiles[NewOrder].cards) / cycle.Minutes()
}
