package keyspace

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"brunt/internal/load/gen"
)

// Choice says how operations choose among the records.
type Choice struct {
	Distribution string // one of Distributions

	First, Count int64 // the loaded records: numbers First … First+Count−1
	Records      int64 // recordcount: inserts of the run are numbered from here
	NewKeys      int64 // zipfian: number of inserts that the range has room for
	Inserting    bool  // the run inserts records

	HotData, HotOperations float64 // hotspot: hot fraction of the records, and of the operations
	Percentile, Fraction   float64 // exponential: this percentage of draws lies in this fraction of the records

	Flavor Flavor
	// Faults reproduces the behaviour of go-ycsb: zipfian may choose records that were never inserted, latest uses the
	// number of records at the start, and sequential begins with the second record.
	Faults bool
}

// Chooser returns the number of the record for index idx.
type Chooser func(idx uint64) int64

// redraws limits how often a new record is drawn if the chosen one doesn't exist.
const redraws = 200

// Distributions returns the distributions that operations can use.
func Distributions() []string {
	return []string{"uniform", "sequential", "zipfian", "latest", "hotspot", "exponential"}
}

func (c *Choice) validate() error {
	switch {
	case c.Count < 1:
		return errors.New("there are no records to choose from; give recordcount or insertcount")
	case !slices.Contains(Distributions(), strings.ToLower(c.Distribution)):
		return fmt.Errorf(
			"unknown request distribution %q; give uniform, sequential, zipfian, latest, hotspot or exponential", c.Distribution)
	case !within1(c.HotData) || !within1(c.HotOperations):
		return fmt.Errorf("hot data %v and hot operations %v are shares; give numbers from 0 to 1", c.HotData,
			c.HotOperations)
	case strings.EqualFold(c.Distribution, "exponential") && !(c.Percentile > 0 && c.Percentile < 100 && c.Fraction > 0 &&
		c.Records > 0):
		return errors.New(
			"an exponential choice needs a percentile between 0 and 100, and a fraction and records above 0; give them")
	}
	return nil
}

func within1(share float64) bool { return share >= 0 && share <= 1 }

// NewChooser returns a chooser. follows reports whether its choices depend on the inserts done so far.
func NewChooser(c Choice, stream gen.Stream, inserts *Inserts) (choose Chooser, follows bool, err error) {
	if err := c.validate(); err != nil {
		return nil, false, err
	}
	switch strings.ToLower(c.Distribution) {
	case "uniform":
		return func(idx uint64) int64 { return c.First + int64(stream.Uint64n(idx, uint64(c.Count))) }, false, nil
	case "sequential":
		return c.sequential(inserts), false, nil
	case "zipfian":
		return c.zipfian(stream, inserts), c.Inserting && !c.Faults, nil
	case "latest":
		return c.latest(stream, inserts), c.Inserting, nil
	case "hotspot":
		return c.hotspot(stream), false, nil
	}
	return c.exponential(stream, inserts), c.Inserting, nil
}

// sequential goes through the records in order. It counts only the operations that choose a record.
func (c Choice) sequential(inserts *Inserts) Chooser {
	skip := uint64(0)
	if c.Faults {
		skip = 1
	}
	return func(idx uint64) int64 {
		n := idx
		if c.Inserting {
			n -= inserts.Before(idx/inserts.rows) * inserts.rows
		}
		return c.First + int64((n+skip)%uint64(c.Count))
	}
}

// zipfian distributes the ranks of a fixed, large number of items over the records.
func (c Choice) zipfian(stream gen.Stream, inserts *Inserts) Chooser {
	z := newZipf(scrambledItems, scrambledZeta)
	span := c.Count + c.NewKeys
	if c.Faults {
		span++
	}
	spread := func(r *gen.Rand) int64 { return max(c.Flavor.Hash(z.Rank(r.Float64())), 0) % span }
	if c.Faults || !c.Inserting {
		return func(idx uint64) int64 {
			r := stream.At(idx)
			return c.First + spread(&r)
		}
	}
	return func(idx uint64) int64 {
		r := stream.At(idx)
		offset := int64(0)
		for range redraws {
			offset = spread(&r)
			if offset < c.Count {
				return c.First + offset
			}
			if n := c.Records + offset - c.Count; !inserts.Missing(n) {
				return n
			}
		}
		return c.First + offset%c.Count
	}
}

// latest prefers the most recently inserted records.
func (c Choice) latest(stream gen.Stream, inserts *Inserts) Chooser {
	if c.Faults {
		early := math.Pow(2/float64(c.Records-1), 1-theta)
		return func(idx uint64) int64 {
			last := inserts.Last()
			z := Zipf{n: float64(last), zeta: Zeta(max(last, 1))}
			z.eta = (1 - early) / (1 - half/z.zeta)
			return last - z.Rank(stream.Float64(idx))
		}
	}
	return func(idx uint64) int64 {
		last := inserts.Last()
		z := NewZipf(max(last-c.First+1, 1))
		n := last - z.Rank(stream.Float64(idx))
		for n > c.First && inserts.Missing(n) {
			n--
		}
		return n
	}
}

// hotspot chooses most records from the first part of the range.
func (c Choice) hotspot(stream gen.Stream) Chooser {
	hot := uint64(float64(c.Count) * c.HotData)
	cold := uint64(c.Count) - hot
	return func(idx uint64) int64 {
		r := stream.At(idx)
		if r.Float64() < c.HotOperations && hot > 0 || cold == 0 {
			return c.First + int64(r.Uint64n(hot))
		}
		return c.First + int64(hot+r.Uint64n(cold))
	}
}

// exponential prefers the most recently inserted records, less strongly than latest.
func (c Choice) exponential(stream gen.Stream, inserts *Inserts) Chooser {
	gamma := -math.Log1p(-c.Percentile/100) / (float64(c.Records) * c.Fraction)
	least := c.First
	if c.Faults {
		least = 0
	}
	return func(idx uint64) int64 {
		r := stream.At(idx)
		last := inserts.Last()
		for range redraws {
			n := last - int64(min(r.ExpFloat64()/gamma, 1<<62))
			if n >= least && (c.Faults || !inserts.Missing(n)) {
				return n
			}
		}
		return least + int64(r.Uint64n(uint64(max(last-least+1, 1))))
	}
}

// theta is the exponent of all zipfian distributions in YCSB.
const theta = 0.99

// alpha is 1/(1−theta).
const alpha = 1 / (1 - theta)

// Scrambled zipfian ranks are drawn from this number of items, regardless of the table's size, with a precomputed zeta,
// and then hashed into the table's range.
const (
	scrambledItems = 10_000_000_001
	scrambledZeta  = 26.46902820178302
)

// zetaHead is how many terms Zeta sums directly before it uses the Euler–Maclaurin formula.
const zetaHead = 64

// zetaSums are the sums of the first terms, and zetaLast is the last of these terms. They are the same for every draw.
var zetaSums, zetaLast = func() (sums [zetaHead + 1]float64, last float64) {
	for k := 1; k <= zetaHead; k++ {
		last = math.Pow(float64(k), -theta)
		sums[k] = sums[k-1] + last
	}
	return sums, last
}()

// Zeta returns the sum of k^−0.99 for k from 1 to n, accurate to 13 digits, in constant time (Euler–Maclaurin with
// terms up to the third derivative). n must be at least 1.
func Zeta(n int64) float64 {
	if n <= zetaHead {
		return zetaSums[n]
	}
	sum, a, b := zetaSums[zetaHead], float64(zetaHead), float64(n)
	fa, fb := zetaLast, math.Pow(b, -theta)
	sum += (b*fb - a*fa) / (1 - theta)
	sum += (fb - fa) / 2
	sum += theta / 12 * (fa/a - fb/b)
	sum -= theta * (theta + 1) * (theta + 2) / 720 * (fa/(a*a*a) - fb/(b*b*b))
	return sum
}

// Zipf is a distribution of the ranks 0 … n−1, of which lower ones are more frequent. It is immutable. The algorithm is
// exact for ranks 0 and 1 and an approximation beyond (Gray, Sundaresan, Englert, Baclawski, Weinberger: "Quickly
// generating billion-record synthetic databases", SIGMOD 1994).
type Zipf struct {
	n, zeta, eta float64
}

// half is 1 + 0.5^theta: the upper limit of rank 1.
const half = 1.5034777750283594

// NewZipf returns the distribution over n items, n ≥ 1.
func NewZipf(n int64) Zipf { return newZipf(n, Zeta(n)) }

func newZipf(n int64, zeta float64) Zipf {
	return Zipf{
		n: float64(n), zeta: zeta,
		eta: (1 - math.Pow(2/float64(n), 1-theta)) / (1 - half/zeta),
	}
}

// Rank returns the rank for a uniform random number u in [0, 1).
func (z *Zipf) Rank(u float64) int64 {
	uz := u * z.zeta
	switch {
	case uz < 1 || z.n < 2:
		return 0
	case uz < half || z.n < 3:
		return 1
	}
	return min(int64(z.n*math.Pow(z.eta*u-z.eta+1, alpha)), int64(z.n)-1)
}
