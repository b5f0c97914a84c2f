package gen

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// The keys of a sequence are those of a buffer into which varint after varint is written.
func TestVarintsOfASequence(t *testing.T) {
	for _, c := range []struct{ n, group int }{{1, 1}, {64, 1}, {65, 1}, {100, 3}, {9000, 1}, {9000, 7}} {
		var gens []Generator
		for m := range c.group {
			g, err := New(&Spec{Type: TypeVarint, Distribution: Sequential, HasRange: true, IntHi: int64(c.n) - 1, Size: 8,
				Group: c.group, Member: m}, NewStream(1, "k"), 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			gens = append(gens, g)
		}
		buffer := make([]byte, 8)
		var v Value
		for i := range 3 * c.n {
			binary.PutVarint(buffer, int64(i%c.n))
			gens[i%c.group].Value(&v, uint64(i/c.group))
			if v.Kind != Bytes || !bytes.Equal(v.B, buffer) {
				t.Fatalf("%+v: key %d is %x, want %x", c, i, v.B, buffer)
			}
		}
	}
}

// Random keys have the distribution that a simulation of benchmark has at the same position.
func TestRandomVarints(t *testing.T) {
	const n, rounds = 70, 60_000
	for _, at := range []uint64{0, 1, 5, 40} {
		drawn, simulated := map[string]int{}, map[string]int{}
		r := rand.New(rand.NewPCG(1, at))
		for round := range uint64(rounds) {
			buffer := make([]byte, 3)
			for range at + 1 {
				binary.PutVarint(buffer, int64(r.IntN(n)))
			}
			simulated[string(buffer)]++
			g, err := New(&Spec{Type: TypeVarint, HasRange: true, IntHi: n - 1, Size: 3}, NewStream(round, "k"), 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			var v Value
			g.Value(&v, at)
			drawn[string(v.B)]++
		}
		square, classes := 0.0, 0
		for key, want := range simulated {
			if want >= 20 {
				d := float64(drawn[key] - want)
				square += d * d / float64(2*want) // both counts vary
				classes++
			}
		}
		if limit := float64(classes) + 5*math.Sqrt(2*float64(classes)); square > limit || classes < 60 {
			t.Errorf("at %d: chi-square %v of %d classes", at, square, classes)
		}
	}
}

func TestBadVarints(t *testing.T) {
	for i, s := range []Spec{
		{Size: 0}, {Size: 1, HasRange: true, IntHi: 64}, {Size: 8, HasRange: true, IntLo: -1, IntHi: 4},
		{Size: 8, Distribution: Zipf}, {Size: 8, Unique: true}, {Size: 8, Group: 2, Member: 2}, {Size: MaxVarintSize + 1},
	} {
		s.Type = TypeVarint
		if faults := s.Validate(0); len(faults) == 0 {
			t.Error(fmt.Sprint(i, ": no fault"))
		}
	}
}
