package verify_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"brunt/internal/judge/verify"
	"brunt/internal/load/gen"
	"brunt/internal/protocol"
)

// at returns a write with the times at which it was sent and ended.
func at(sent, end int64, value uint64, e protocol.Effect) verify.Write {
	return verify.Write{SentNs: sent, EndNs: end, Value: value, Effect: e}
}

// gone returns a deletion, like at.
func gone(sent, end int64, e protocol.Effect) verify.Write {
	return verify.Write{SentNs: sent, EndNs: end, Absent: true, Effect: e}
}

func has(value uint64) verify.Reading { return verify.Reading{State: verify.Present, Value: value} }

func all(writes ...verify.Write) []verify.Write { return writes }

func from(readings ...verify.Reading) []verify.Reading { return readings }

func TestJudge(t *testing.T) {
	const acked, refused, unsure = protocol.Applied, protocol.NotApplied, protocol.Unsure
	absent, unread := verify.Reading{State: verify.Absent}, verify.Reading{}
	several := verify.Reading{State: verify.Several}
	two := all(at(0, 10, 1, acked), at(20, 30, 2, acked))
	atOnce := all(at(0, 30, 1, acked), at(20, 40, 2, acked))
	deleted := all(at(0, 10, 1, acked), gone(20, 30, acked))
	one := all(at(0, 10, 1, acked))
	for name, row := range map[string]struct {
		writes   []verify.Write
		readings []verify.Reading
		want     verify.Fate
	}{
		"there":                          {one, from(has(1)), verify.OK},
		"gone":                           {one, from(absent), verify.Lost},
		"gone everywhere":                {one, from(absent, absent, absent), verify.Lost},
		"at one address only":            {one, from(absent, has(1)), verify.Stale},
		"gone where somebody answers":    {one, from(absent, unread), verify.Lost},
		"there where somebody answers":   {one, from(has(1), unread), verify.OK},
		"nobody answers":                 {one, from(unread, unread), verify.NeverRead},
		"another value":                  {one, from(has(9)), verify.Unknown},
		"another value at one address":   {one, from(has(1), has(9)), verify.Unknown},
		"twice":                          {one, from(several), verify.Duplicated},
		"the later of two":               {two, from(has(2)), verify.OK},
		"the earlier of two":             {two, from(has(1)), verify.Lost},
		"the earlier at one address":     {two, from(has(2), has(1)), verify.Stale},
		"either of two at the same time": {atOnce, from(has(1)), verify.OK},
		"both of two at the same time":   {atOnce, from(has(1), has(2)), verify.Stale},
		"failed and absent":              {all(at(0, 10, 1, refused)), from(absent), verify.OK},
		"failed and there":               {all(at(0, 10, 1, refused)), from(has(1)), verify.Resurrected},
		"failed over a value": {
			all(at(0, 10, 1, acked), at(20, 30, 2, refused)), from(has(2)), verify.Resurrected},
		"failed over something older":      {all(at(0, 10, 1, refused)), from(has(9)), verify.OK},
		"unknown and absent":               {all(at(0, 10, 1, unsure)), from(absent), verify.OK},
		"unknown and there":                {all(at(0, 10, 1, unsure)), from(has(1)), verify.OK},
		"unknown over a value":             {all(at(0, 10, 1, acked), at(20, 30, 2, unsure)), from(has(2)), verify.OK},
		"unknown under a value":            {all(at(0, 10, 1, unsure), at(20, 30, 2, acked)), from(has(1)), verify.OK},
		"unknown and lost":                 {all(at(0, 10, 1, acked), at(20, 30, 2, unsure)), from(absent), verify.Lost},
		"deleted":                          {deleted, from(absent), verify.OK},
		"deleted and there":                {deleted, from(has(1)), verify.Resurrected},
		"deleted and there at one address": {deleted, from(absent, has(1)), verify.Stale},
		"deletion unknown":                 {all(at(0, 10, 1, acked), gone(20, 30, unsure)), from(absent), verify.OK},
		"deletion failed":                  {all(at(0, 10, 1, acked), gone(20, 30, refused)), from(absent), verify.Lost},
		"an attempt repeated, and a later write": {
			all(at(0, 10, 1, protocol.AppliedAgain), at(20, 30, 2, acked)), from(has(1)), verify.OK},
	} {
		t.Run(name, func(t *testing.T) {
			h := verify.Of(row.writes)
			if j := h.Judge(row.readings, nil); j.Fate != row.want {
				t.Errorf("it is %v, want %v", j.Fate, row.want)
			}
		})
	}
}

// What an address that leads doesn't have is lost, wherever else it still is.
func TestJudgeNodes(t *testing.T) {
	const acked = protocol.Applied
	absent := verify.Reading{State: verify.Absent}
	one := all(at(0, 10, 1, acked))
	two := all(at(0, 10, 1, acked), at(20, 30, 2, acked))
	deleted := all(at(0, 10, 1, acked), gone(20, 30, acked))
	none, primary, later, earlier := verify.Node{}, verify.Node{Primary: true}, verify.Node{AckedSentNs: 40},
		verify.Node{AckedSentNs: 5}
	for name, row := range map[string]struct {
		writes   []verify.Write
		readings []verify.Reading
		nodes    []verify.Node
		want     verify.Fate
		node     int
	}{
		"a replica lags":                      {one, from(has(1), absent), []verify.Node{primary, none}, verify.Stale, 1},
		"a former primary returns without it": {one, from(absent, has(1)), []verify.Node{earlier, later}, verify.Stale, 0},
		"a former primary returns with it":    {one, from(has(1), absent), []verify.Node{earlier, later}, verify.Lost, 1},
		"the primary doesn't have it":         {one, from(has(1), absent), []verify.Node{none, primary}, verify.Lost, 1},
		"two primaries":                       {one, from(has(1), absent), []verify.Node{primary, primary}, verify.Lost, 1},
		"everyone has it":                     {one, from(has(1), has(1)), []verify.Node{primary, primary}, verify.OK, -1},
		"the primary has an older value":      {two, from(has(2), has(1)), []verify.Node{none, primary}, verify.Lost, 1},
		"the primary has what was deleted": {deleted, from(absent, has(1)), []verify.Node{none, primary},
			verify.Resurrected, 1},
		"both values of two at once, two primaries": {all(at(0, 30, 1, acked), at(20, 40, 2, acked)), from(has(1), has(2)),
			[]verify.Node{primary, primary}, verify.Stale, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := verify.Of(row.writes)
			if j := h.Judge(row.readings, row.nodes); j.Fate != row.want || j.Node != row.node {
				t.Errorf("it is %v at %d, want %v at %d", j.Fate, j.Node, row.want, row.node)
			}
		})
	}
}

// Addresses are divided if each has writes that it acknowledged and that the other one lacks.
func TestDivisions(t *testing.T) {
	absent := verify.Reading{State: verify.Absent}
	type key struct {
		by       int
		endNs    int64
		readings []verify.Reading
	}
	for name, row := range map[string]struct {
		keys []key
		want []verify.Division
	}{
		"they agree":                     {[]key{{0, 10, from(has(1), has(1))}, {1, 20, from(has(1), has(1))}}, nil},
		"one lags":                       {[]key{{0, 10, from(has(1), absent)}, {0, 20, from(has(1), absent)}}, nil},
		"a write moved to the other one": {[]key{{0, 10, from(absent, has(1))}, {1, 20, from(absent, has(1))}}, nil},
		"both have their own": {[]key{{0, 10, from(has(1), has(1))}, {0, 20, from(has(1), absent)},
			{1, 30, from(absent, has(1))}, {1, 40, from(absent, has(1))}},
			[]verify.Division{{A: 0, B: 1, OnlyA: 1, OnlyB: 2, SinceNs: 30}}},
		"one doesn't answer": {[]key{{0, 20, from(has(1), verify.Reading{})}, {1, 30, from(absent, has(1))}}, nil},
		"two of three": {[]key{{0, 50, from(has(1), has(1), absent)}, {2, 30, from(has(1), absent, has(1))},
			{2, 40, from(absent, absent, has(1))}},
			[]verify.Division{{A: 0, B: 2, OnlyA: 1, OnlyB: 1, SinceNs: 50}}},
	} {
		t.Run(name, func(t *testing.T) {
			var d verify.Divisions
			for _, k := range row.keys {
				h := verify.Of(all(at(0, k.endNs, 1, protocol.Applied)))
				d.Add(&h, h.About(k.readings), k.by, k.readings)
			}
			if got := d.Found(); !slices.Equal(got, row.want) {
				t.Errorf("divisions %+v, want %+v", got, row.want)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	const acked, unsure = protocol.Applied, protocol.Unsure
	absent := verify.Reading{State: verify.Absent}
	for name, row := range map[string]struct {
		writes  []verify.Write // the verdict on the first write is checked
		reading verify.Reading
		want    verify.Resolved
	}{
		"there":                  {[]verify.Write{at(20, 30, 1, unsure)}, has(1), verify.Applied},
		"absent":                 {[]verify.Write{at(20, 30, 1, unsure)}, absent, verify.NotApplied},
		"not read":               {[]verify.Write{at(20, 30, 1, unsure)}, verify.Reading{}, verify.Untold},
		"the value before it":    {[]verify.Write{at(20, 30, 2, unsure), at(0, 10, 1, acked)}, has(1), verify.NotApplied},
		"a value after it":       {[]verify.Write{at(20, 30, 2, unsure), at(40, 50, 1, acked)}, has(1), verify.Untold},
		"another unknown one":    {[]verify.Write{at(20, 30, 2, unsure), at(0, 10, 1, unsure)}, has(1), verify.Untold},
		"a deletion that was":    {[]verify.Write{gone(20, 30, unsure), at(0, 10, 1, acked)}, absent, verify.Applied},
		"a deletion that wasn't": {[]verify.Write{gone(20, 30, unsure), at(0, 10, 1, acked)}, has(1), verify.NotApplied},
	} {
		t.Run(name, func(t *testing.T) {
			h := verify.Of(row.writes)
			if got := h.Resolve(0, []verify.Reading{row.reading}); got != row.want {
				t.Errorf("it is %d, want %d", got, row.want)
			}
		})
	}
}

// history returns what clients see of a correct register. Each write takes effect at an instant between its send and
// its end. Clients that get no answer don't know whether it did.
func history(r *rand.Rand) (writes []verify.Write, state verify.Reading) {
	type effect struct {
		at int64
		w  int
	}
	var effects []effect
	for i := range 1 + r.IntN(6) {
		sent := r.Int64N(100)
		w := verify.Write{SentNs: sent, EndNs: sent + 1 + r.Int64N(40), Value: uint64(i + 1), Absent: r.IntN(4) == 0,
			Effect: protocol.Applied}
		when := sent + r.Int64N(w.EndNs-sent+1)
		switch r.IntN(5) {
		case 0:
			w.Effect = protocol.NotApplied
		case 1:
			w.Effect = protocol.Unsure
			if when = sent + r.Int64N(500); r.IntN(2) == 0 {
				when = -1
			}
		}
		if w.Effect != protocol.NotApplied && when >= 0 {
			effects = append(effects, effect{when, i})
		}
		writes = append(writes, w)
	}
	state, last := verify.Reading{State: verify.Absent}, int64(-1)
	for _, e := range effects {
		if e.at < last || e.at == last && r.IntN(2) == 0 {
			continue
		}
		last, state = e.at, has(writes[e.w].Value)
		if writes[e.w].Absent {
			state = verify.Reading{State: verify.Absent}
		}
	}
	return writes, state
}

// A correct register is never reported, and every acknowledged write has a fate.
func TestARegisterThatWorksIsFine(t *testing.T) {
	for seed := range uint64(20_000) {
		writes, state := history(rand.New(rand.NewPCG(seed, 1)))
		h := verify.Of(writes)
		j := h.Judge([]verify.Reading{state, state}, nil)
		if j.Fate != verify.OK {
			t.Fatalf("seed %d: %v for %+v of %+v", seed, j.Fate, state, writes)
		}
		for i := range writes {
			if f := h.Fate(i, &j); writes[i].Effect == protocol.Applied && f != verify.OK && f != verify.Overwritten {
				t.Fatalf("seed %d: write %d is %v", seed, i, f)
			}
		}
	}
}

// If a register returns the state before its last write and nothing else explains this, it is reported.
func TestARegisterThatLosesItsLastWriteIsFound(t *testing.T) {
	found := 0
	for seed := range uint64(20_000) {
		writes, _ := history(rand.New(rand.NewPCG(seed, 2)))
		last := int64(0)
		for i := range writes {
			if writes[i].Effect == protocol.Unsure {
				writes[i].Effect = protocol.NotApplied
			}
			last = max(last, writes[i].EndNs)
		}
		before := verify.Reading{State: verify.Absent}
		for i := range writes {
			if writes[i].Effect == protocol.Applied && !writes[i].Absent {
				before = has(writes[i].Value)
			}
		}
		writes = append(writes, at(last+1, last+2, 99, protocol.Applied))
		h := verify.Of(writes)
		j := h.Judge([]verify.Reading{before}, nil)
		if j.Fate != verify.Lost || h.Fate(len(writes)-1, &j) != verify.Lost {
			t.Fatalf("seed %d: %v for %+v of %+v", seed, j.Fate, before, writes)
		}
		found++
	}
	if found == 0 {
		t.Error("no register was tried")
	}
}

func TestEqualValuesHaveOneText(t *testing.T) {
	text := func(s string) gen.Value { return gen.Value{Kind: gen.String, B: []byte(s)} }
	for name, row := range map[string]struct {
		a, b gen.Value
		same bool
	}{
		"number and text":    {gen.Value{Kind: gen.Int, I: 7}, text("7"), true},
		"decimals":           {gen.Value{Kind: gen.Decimal, I: 150, Scale: 2}, text("1.5"), true},
		"decimal and number": {gen.Value{Kind: gen.Decimal, I: 700, Scale: 2}, text("7"), true},
		"null and empty":     {gen.Value{}, text(""), true},
		"others":             {text("a"), text("b"), false},
		"100 and 1":          {text("100"), text("1"), false},
		"versions":           {text("1.2.0"), text("1.2"), false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := verify.AppendText(nil, []gen.Value{row.a}), verify.AppendText(nil, []gen.Value{row.b})
			if same := verify.Hash(a) == verify.Hash(b); same != row.same {
				t.Errorf("%s and %s: the same is %v", fmt.Sprintf("%q", a), fmt.Sprintf("%q", b), same)
			}
		})
	}
}
