package keyspace

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"brunt/internal/gen"
)

// Choice says how operations choose among the records.
type Choice struct {
	Distribution string // uniform, sequential, zipfian, latest, hotspot, exponential

	First, Count int64 // the records that were loaded: numbers First … First+Count−1
	Records      int64 // recordcount: inserts of the run are numbered from here
	NewKeys      int64 // how many inserts the range of zipfian makes room for
	Inserting    bool  // the run inserts

	HotData, HotOperations float64 // hotspot: hot share of the records, and of the operations
	Percentile, Fraction   float64 // exponential: so many per cent of the draws lie in this share

	Flavor Flavor
	// Faults repeats what go-ycsb does: zipfian may choose records that were never inserted,
	// latest computes with the number of records at the start, sequential begins with the second.
	Faults bool
}

// Chooser gives the number of the record that index idx uses.
type Chooser func(idx uint64) int64

// redraws bounds how often a record that isn't there is drawn anew.
const redraws = 200

// Distributions are how operations may choose.
func Distributions() []string {
	return []string{"uniform", "sequential", "zipfian", "latest", "hotspot", "exponential"}
}

func (c *Choice) validate() error {
	switch {
	case c.Count < 1:
		return errors.New("there are no records to choose from; give recordcount or insertcount")
	case !slices.Contains(Distributions(), strings.ToLower(c.Distribution)):
		return fmt.Errorf("unknown request distribution %q; give uniform, sequential, zipfian, latest, hotspot or exponential", c.Distribution)
	case strings.EqualFold(c.Distribution, "exponential") && !(c.Percentile > 0 && c.Percentile < 100 && c.Fraction > 0 && c.Records > 0):
		return errors.New("an exponential choice needs a percentile between 0 and 100, and a fraction and records above 0; give them")
	}
	return nil
}

// NewChooser returns a chooser. follows reports whether it depends on which inserts are done.
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

// sequential goes through the records in turn, counting the operations that choose.
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

// zipfian scatters the ranks of a fixed large number of items over the records.
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

// latest prefers the records inserted last.
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

// hotspot takes most records from the first part.
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

// exponential prefers the records inserted last, less sharply than latest.
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
