//go:build linux

package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// draw makes the choices of one situation: those that must be covered evenly by its number, the
// others by its seed.
type draw struct {
	*rand.Rand
	number int
	load   time.Duration
}

// one takes one of a list at random.
func one[T any](d *draw, list ...T) T { return list[d.IntN(len(list))] }

// between draws a time, evenly.
func (d *draw) between(a, b time.Duration) time.Duration {
	return (a + time.Duration(d.Int64N(int64(b-a)+1))).Round(time.Millisecond)
}

// share draws a part of the load's length.
func (d *draw) share(a, b float64) time.Duration {
	return (time.Duration((a + (b-a)*d.Float64()) * float64(d.load))).Round(time.Millisecond)
}

// begin is a situation with what a family's number decides: server, tier, open or closed.
func (d *draw) begin(kinds ...kind) situation {
	n := d.number
	s := situation{Seed: d.Uint64() >> 32}
	s.ask = ask{command: "run", load: d.load, timeout: 10 * time.Second, sessions: 16}
	// Four numbers in a row have all four of tier and load; kinds go round beside them.
	s.ask.tier = []string{"codec", "library"}[n%2]
	s.ask.open = n/2%2 == 0
	s.server = kinds[(n+n/4)%len(kinds)]
	s.ask.rate = one(d, 100.0, 300, 1000, 2000)
	return s
}

// family is a kind of situation.
type family struct {
	name  string
	truth truth
	// of is how many of the situations are of this family if they are as many as makes fullCount.
	of   int
	make func(d *draw) situation
}

// situations are count situations (fullCount if 0), the same for the same seed, each load so long.
func situations(seed uint64, count int, load time.Duration) []situation {
	all := families()
	full := 0
	for _, f := range all {
		full += f.of
	}
	if count == 0 {
		count = full
	}
	var out []situation
	before, done := 0, 0
	for _, f := range all {
		before += f.of
		// Rounding sums, not numbers, gives just count of them.
		for k := 0; done < before*count/full; k++ {
			out = append(out, f.situation(seed, k, load))
			done++
		}
	}
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// situation is number k of the family.
func (f *family) situation(seed uint64, k int, load time.Duration) situation {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s#%d", f.name, k)
	s := f.make(&draw{Rand: rand.New(rand.NewPCG(seed, h.Sum64())), number: k, load: load})
	s.Family, s.Truth = f.name, f.truth
	s.Name = fmt.Sprintf("%s/%s/%s/%s#%d", f.name, s.server, s.ask.tier, s.ask.loadName(), k)
	return s
}

func families() []family {
	var all []family
	for _, part := range [][]family{healthy(), broken(), unreachable(), starved(), tooMuch()} {
		all = append(all, part...)
	}
	return all
}
