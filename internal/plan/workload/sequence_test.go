package workload

import (
	"math"
	"slices"
	"strings"
	"testing"

	"brunt/internal/load/gen"
	"brunt/internal/plan"
	"brunt/internal/protocol"
)

// inserting returns a plan with weighted operations that insert sequences into one key.
func inserting(specs ...gen.Spec) *plan.Plan {
	p := &plan.Plan{Seed: 3, Mix: plan.ByWeight,
		Tables: []plan.Table{{Name: "t", PrimaryKeys: []string{"id"}, Columns: []plan.Column{
			{Name: "id", ValueSpec: plan.ValueSpec{Spec: gen.Spec{Type: gen.TypeInteger, Unique: true}}}}}}}
	for i, s := range specs {
		p.Operations = append(p.Operations, plan.Operation{Name: string(rune('a' + i)), Weight: 1, Steps: []plan.Step{{
			Request: protocol.Request{Verb: protocol.SQL, Text: "insert into t values ($1)"}, Params: []plan.Param{value(s)}}}})
	}
	return p
}

func sequential(lo, hi int64) gen.Spec {
	s := integers(lo, hi)
	s.Distribution = gen.Sequential
	return s
}

func argument(w *Workload, operation int, i uint64) int64 {
	var st State
	return w.Args(&st, operation, 0, i)[0].I
}

// Sequences of one column are moved together, and only if necessary.
func TestSequenceAfter(t *testing.T) {
	scattered := integers(5000, 5999)
	scattered.Unique = true
	w := compile(t, inserting(sequential(1000, 1999), sequential(3000, 3999), scattered))
	if len(w.Sequences) != 1 {
		t.Fatalf("%d sequences, want one of the column", len(w.Sequences))
	}
	before := argument(w, 2, 17)
	for greatest, want := range map[int64]int64{999: 0, -7: 0, 1000: 1, 1010: 11, 5999: 5000,
		math.MaxInt64 - 5000: math.MaxInt64 - 5999} {
		if err := w.Sequences[0].After(greatest, false); err != nil {
			t.Fatal(err)
		}
		if a, b, c := argument(w, 0, 7), argument(w, 1, 7), argument(w, 2, 17); a != 1007+want || b != 3007+want ||
			c != before+want {
			t.Errorf("after %d: %d, %d and %d, want a move by %d", greatest, a, b, c, want)
		}
	}
}

// Machines that query at different times never insert the same key.
func TestSequenceOfDividedLoad(t *testing.T) {
	const machines, operations = 3, 300
	spec := integers(1, operations)
	spec.Unique = true
	seen := map[int64]bool{}
	greatest := int64(40) // existing rows
	for offset := range uint64(machines) {
		w := compile(t, inserting(spec))
		if err := w.Sequences[0].After(greatest, true); err != nil {
			t.Fatal(err)
		}
		for i := offset; i < operations; i += machines {
			key := argument(w, 0, i)
			if key <= 40 || seen[key] {
				t.Fatalf("machine %d inserts %d again", offset, key)
			}
			seen[key] = true
			if offset == 0 && i < operations/2 {
				greatest = max(greatest, key) // the second machine queries at the same time
			}
		}
	}
}

func TestSequenceWithoutRoom(t *testing.T) {
	scattered := integers(1, math.MaxInt64)
	scattered.Unique = true
	for name, c := range map[string]struct {
		spec     gen.Spec
		greatest int64
		divided  bool
		ok       bool
	}{
		"in order to the end of all numbers": {sequential(1, math.MaxInt64), 1e6, false, true},
		"divided":                            {sequential(1, math.MaxInt64), 1e6, true, false},
		"divided, more than half of all":     {sequential(-5, math.MaxInt64-9), -3, true, false},
		"all numbers":                        {sequential(math.MinInt64, math.MaxInt64), 0, true, false},
		"scattered":                          {scattered, 1e6, false, false},
		"nothing behind":                     {sequential(1, 10), math.MaxInt64, false, false},
		"a move longer than any number":      {sequential(math.MinInt64, 0), 5, false, false},
		"the last number":                    {sequential(1, 10), math.MaxInt64 - 1, false, true},
	} {
		q := compile(t, inserting(c.spec)).Sequences[0]
		err := q.After(c.greatest, c.divided)
		if (err == nil) != c.ok || err != nil && (!strings.Contains(err.Error(), "start: range") || q.First() != q.first) {
			t.Errorf("%s: %v, first %d", name, err, q.First())
		}
	}
}

// UUIDs are determined by the seed, the operation and the number of existing rows. They have version 4 and are
// distinct.
func TestUUIDsApart(t *testing.T) {
	p := inserting(gen.Spec{Type: gen.TypeUUID}, gen.Spec{Type: gen.TypeUUID, Unique: true})
	p.Tables[0].Columns[0].Type = gen.TypeUUID
	w := compile(t, p)
	if len(w.Sequences) != 1 || !w.Sequences[0].UUID {
		t.Fatalf("%+v", w.Sequences)
	}
	values := func(rows uint64) (out []string) {
		w.Sequences[0].Apart(rows)
		var st State
		for i := range uint64(100) {
			for operation := range 2 {
				b := w.Args(&st, operation, 0, i)[0].B
				if len(b) != 16 || b[6]>>4 != 4 || b[8]>>6 != 2 {
					t.Fatalf("%x isn't of version 4", b)
				}
				out = append(out, string(b))
			}
		}
		return out
	}
	seen := map[string]bool{}
	plain := values(0)
	for _, rows := range []uint64{0, 1, 2, math.MaxUint64} {
		for _, x := range values(rows) {
			if seen[x] {
				t.Fatalf("%x comes twice, with %d rows", x, rows)
			}
			seen[x] = true
		}
	}
	if again := values(0); !slices.Equal(plain, again) {
		t.Error("the plan's UUIDs are lost")
	}
}
