package keyspace

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"brunt/internal/load/gen"
)

const draws = 200_000

// choice returns the settings for tests of distributions: 1000 records, none inserted.
func choice(distribution string) Choice {
	return Choice{
		Distribution: distribution, Count: 1000, Records: 1000,
		HotData: 0.2, HotOperations: 0.8, Percentile: 95, Fraction: 0.8571428571,
	}
}

func counts(t *testing.T, c Choice, n int) map[int64]float64 {
	t.Helper()
	choose, _, err := NewChooser(c, gen.NewStream(7, "test"), NewInserts(c.Records, 1))
	if err != nil {
		t.Fatal(err)
	}
	out := map[int64]float64{}
	for i := range n {
		out[choose(uint64(i))]++
	}
	return out
}

// chiSquare compares counts with probabilities. Cells with fewer than 10 expected draws are joined. It returns how many
// standard deviations the statistic is above its mean, by Wilson and Hilferty.
func chiSquare(t *testing.T, got map[int64]float64, probability func(k int64) float64, lo, hi int64) float64 {
	t.Helper()
	n := 0.0
	for _, c := range got {
		n += c
	}
	var x2, expected, seen, total float64
	cells := 0.0
	flush := func() {
		if expected > 0 {
			x2 += (seen - expected) * (seen - expected) / expected
			cells++
		}
		expected, seen = 0, 0
	}
	for k := lo; k <= hi; k++ {
		p := probability(k)
		total += p
		expected += p * n
		seen += got[k]
		delete(got, k)
		if expected >= 10 {
			flush()
		}
	}
	flush()
	if len(got) > 0 {
		t.Errorf("numbers out of range: %v", got)
	}
	if math.Abs(total-1) > 1e-6 {
		t.Fatalf("the probabilities add up to %v", total)
	}
	df := cells - 1
	return (math.Cbrt(x2/df) - (1 - 2/(9*df))) / math.Sqrt(2/(9*df))
}

func grayShare(n, zeta float64) func(rank int64) float64 {
	eta := (1 - math.Pow(2/n, 0.01)) / (1 - (1+math.Pow(0.5, 0.99))/zeta)
	// below returns the u below which the rank is less than k.
	below := func(k float64) float64 {
		switch {
		case k <= 0:
			return 0
		case k == 1:
			return 1 / zeta
		case k == 2:
			return (1 + math.Pow(0.5, 0.99)) / zeta
		case k >= n:
			return 1
		}
		u := (math.Pow(k/n, 0.01) - 1 + eta) / eta
		return math.Max(u, (1+math.Pow(0.5, 0.99))/zeta)
	}
	return func(rank int64) float64 { return below(float64(rank)+1) - below(float64(rank)) }
}

// fits is the limit for chiSquare. A wrong distribution is tens of standard deviations above; a correct one exceeds 4
// for one seed in 30 000.
const fits = 4.0

func TestUniformFits(t *testing.T) {
	if z := chiSquare(t, counts(t, choice("uniform"), draws), func(int64) float64 { return 1e-3 }, 0, 999); z > fits {
		t.Errorf("%.1f standard deviations off", z)
	}
}

func TestHotspotFits(t *testing.T) {
	p := func(k int64) float64 {
		if k < 200 {
			return 0.8 / 200
		}
		return 0.2 / 800
	}
	if z := chiSquare(t, counts(t, choice("hotspot"), draws), p, 0, 999); z > fits {
		t.Errorf("%.1f standard deviations off", z)
	}
}

func TestExponentialFits(t *testing.T) {
	gamma := -math.Log(1-0.95) / (1000 * 0.8571428571)
	whole := 1 - math.Exp(-gamma*1000)
	p := func(k int64) float64 {
		back := float64(999 - k)
		return (math.Exp(-gamma*back) - math.Exp(-gamma*(back+1))) / whole
	}
	if z := chiSquare(t, counts(t, choice("exponential"), draws), p, 0, 999); z > fits {
		t.Errorf("%.1f standard deviations off", z)
	}
}

func TestLatestFits(t *testing.T) {
	share := grayShare(1000, Zeta(1000))
	if z := chiSquare(t, counts(t, choice("latest"), draws), func(k int64) float64 { return share(999 - k) }, 0,
		999); z > fits {
		t.Errorf("%.1f standard deviations off", z)
	}
}

// TestZipfianFits compares the draws with the distribution of Gray's ranks after hashing. The probability of the ranks
// beyond the first million, each of which is rare, is spread evenly.
func TestZipfianFits(t *testing.T) {
	const single = 1_000_000
	share := grayShare(scrambledItems, scrambledZeta)
	p := make([]float64, 1000)
	rest := 1.0
	for rank := range int64(single) {
		s := share(rank)
		p[GoYCSB.Hash(rank)%1000] += s
		rest -= s
	}
	for i := range p {
		p[i] += rest / 1000
	}
	if z := chiSquare(t, counts(t, choice("zipfian"), draws), func(k int64) float64 { return p[k] }, 0, 999); z > fits {
		t.Errorf("%.1f standard deviations off", z)
	}
}

// TestDistributionsAreGoYCSBs compares the draws with 20 000 draws of go-ycsb (two-sample chi-square).
func TestDistributionsAreGoYCSBs(t *testing.T) {
	for _, d := range []string{"uniform", "zipfian", "latest", "hotspot", "exponential"} {
		theirs := map[int64]float64{}
		for _, line := range lines(t, "counts-"+d+".txt") {
			key, count, _ := strings.Cut(line, "\t")
			k, err1 := strconv.ParseInt(key, 10, 64)
			n, err2 := strconv.ParseFloat(count, 64)
			if err1 != nil || err2 != nil {
				t.Fatalf("%s: %q", d, line)
			}
			theirs[k] = n
		}
		c := choice(d)
		c.Faults = true
		ours := counts(t, c, 20_000)
		var x2, df, a, b float64
		flush := func() {
			if a+b > 0 {
				x2 += (a - b) * (a - b) / (a + b)
				df++
			}
			a, b = 0, 0
		}
		for k := int64(0); k <= 1000; k++ {
			a, b = a+ours[k], b+theirs[k]
			delete(ours, k)
			if a+b >= 20 {
				flush()
			}
		}
		flush()
		if len(ours) > 0 {
			t.Errorf("%s: numbers that go-ycsb doesn't give: %v", d, ours)
		}
		if z := (math.Cbrt(x2/df) - (1 - 2/(9*df))) / math.Sqrt(2/(9*df)); z > fits {
			t.Errorf("%s: %.1f standard deviations off go-ycsb", d, z)
		}
	}
}

func TestFaultsOnRequestOnly(t *testing.T) {
	c := choice("zipfian")
	c.Count, c.Records = 3, 3
	if counts(t, c, 2000)[3] > 0 {
		t.Error("zipfian chose a record that was never inserted")
	}
	c.Faults = true
	if counts(t, c, 2000)[3] == 0 {
		t.Error("with faults zipfian never chose the record after the last")
	}
	c = choice("latest")
	if counts(t, c, 100_000)[0] == 0 {
		t.Error("latest never chose the first record")
	}
	c.Faults = true
	if counts(t, c, 100_000)[0] > 0 {
		t.Error("with faults latest chose the first record, which go-ycsb can't")
	}
}

func TestSequentialGoesThroughAll(t *testing.T) {
	c := choice("sequential")
	c.First, c.Count, c.Records = 10, 7, 17
	choose, follows, err := NewChooser(c, gen.NewStream(1), NewInserts(17, 1))
	if err != nil || follows {
		t.Fatal(follows, err)
	}
	for i := range uint64(20) {
		if got, want := choose(i), 10+int64(i%7); got != want {
			t.Errorf("operation %d uses %d, want %d", i, got, want)
		}
	}
	c.First, c.Faults = 0, true
	choose, _, _ = NewChooser(c, gen.NewStream(1), NewInserts(17, 1))
	keys := Keys{Prefix: "user", Padding: 1}
	for i, want := range lines(t, "run-sequential.txt") {
		if got := string(keys.Append(nil, choose(uint64(i)))); got != want {
			t.Errorf("operation %d uses %s, go-ycsb %s", i, got, want)
		}
	}
}

func TestChoicesAreReproducible(t *testing.T) {
	for _, d := range []string{"uniform", "zipfian", "latest", "hotspot", "exponential", "sequential"} {
		a, _, _ := NewChooser(choice(d), gen.NewStream(3), NewInserts(1000, 1))
		b, _, _ := NewChooser(choice(d), gen.NewStream(3), NewInserts(1000, 1))
		for i := uint64(999); i < 1000; i-- {
			if x, y := a(i), b(i); x != y {
				t.Errorf("%s: operation %d uses %d and %d", d, i, x, y)
			}
		}
	}
}

func TestUnknownDistributionIsRefused(t *testing.T) {
	if _, _, err := NewChooser(choice("zipf"), gen.NewStream(1), NewInserts(1, 1)); err == nil ||
		!strings.Contains(err.Error(), "zipfian") {
		t.Errorf("got %v", err)
	}
	c := choice("uniform")
	c.Count = 0
	if _, _, err := NewChooser(c, gen.NewStream(1), NewInserts(1, 1)); err == nil {
		t.Error("nothing to choose from was accepted")
	}
}

// A negative hot part, or one larger than all records, would choose records that don't exist.
func TestSharesOfAHotspotAreChecked(t *testing.T) {
	for name, change := range map[string]func(*Choice){
		"data below 0":       func(c *Choice) { c.HotData = -0.5 },
		"data above 1":       func(c *Choice) { c.HotData = 1.5 },
		"data no number":     func(c *Choice) { c.HotData = math.NaN() },
		"operations below 0": func(c *Choice) { c.HotOperations = -1 },
		"operations above 1": func(c *Choice) { c.HotOperations = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			c := choice("hotspot")
			change(&c)
			if _, _, err := NewChooser(c, gen.NewStream(7, "test"), NewInserts(c.Records, 1)); err == nil {
				t.Errorf("%+v was taken", c)
			}
		})
	}
}
