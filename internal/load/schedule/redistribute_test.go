package schedule

import (
	"math/rand/v2"
	"testing"
)

// machine is one that sends a share of a load in simulated time: in each step it takes what is due, by as many
// PartArrivals as it has workers, and counts it by others.
type machine struct {
	shared  *Redistribution
	ahead   []PartArrivals
	due     []PartArrivals
	sent    map[uint64]int64 // arrivals by number: when they were intended
	fell    int
	heardNs int64 // when it last heard of its coordinator
	deaf    bool  // it hears nothing
	dead    bool  // it sends nothing
	untilNs int64
}

// step sends what is due at a time; a machine may be behind by lagNs.
func (m *machine) step(nowNs, lagNs int64) {
	for i := range m.ahead {
		for a := &m.ahead[i]; a.Known() && !a.Over && a.IntendedNs <= nowNs-lagNs; a.Advance() {
			m.sent[a.Number] = a.IntendedNs
		}
		for d := &m.due[i]; d.Known() && !d.Over && d.IntendedNs <= nowNs; d.Advance() {
			m.fell++
		}
	}
}

// Whichever machines are lost, and however they are delayed, no arrival is sent twice, and none is missing but those
// of lost machines between their last and the time from which others have them.
func TestRedistributedArrivalsAreSentOnce(t *testing.T) {
	moved := 0
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 7))
		machines := 2 + rng.IntN(6)
		const lasts, step = int64(20e9), int64(1e8)
		process := Process(rng.IntN(2))
		segments := []Segment{{DurationNs: lasts / 2, RateFrom: 30 + rng.Float64()*200, RateTo: 30 + rng.Float64()*200},
			{DurationNs: lasts / 2, RateFrom: 50, RateTo: 50}}
		var all []*machine
		var first Stage
		for k := range machines {
			shape, err := NewShape(segments, 0)
			if err != nil {
				t.Fatal(err)
			}
			m := &machine{shared: NewRedistribution(), sent: map[uint64]int64{}}
			part := Part{Of: uint64(machines), Takes: []uint64{uint64(k)}, Shared: m.shared}
			s := Stage{Shape: shape, Process: process, Seed: seed, Part: part, StartNs: 0, OffsetNs: 3e9}
			n := uint64(1 + rng.IntN(3))
			for i := range n {
				a, d := s.Arrivals(s.Part.Worker(i, n), 1<<60)
				m.ahead, m.due = append(m.ahead, a), append(m.due, d)
			}
			all = append(all, m)
			first = s
		}
		losses := simulate(rng, all, lasts, step, first.OffsetNs)
		first.Part = Part{}
		moved += check(t, seed, all, losses, &first)
		if t.Failed() {
			return
		}
	}
	if moved == 0 {
		t.Error("no arrival was redistributed")
	}
}

// simulate has machines send for so long, of which some die or are cut off, and returns the losses that their
// coordinator decided.
func simulate(rng *rand.Rand, all []*machine, lasts, step, offset int64) (losses []Loss) {
	const lease, silence = int64(1_500_000_000), int64(1_000_000_000)
	given := map[int]bool{}
	for now := int64(0); now <= lasts+10*step; now += step {
		for k, m := range all {
			if !given[k] && len(given)+1 < len(all) && rng.IntN(400) == 0 {
				m.deaf, m.dead = true, rng.IntN(2) == 0
			}
			if m.deaf && !m.dead && !given[k] && rng.IntN(12) == 0 {
				m.deaf = false // its connection is mended in time, or not
			}
			if !m.deaf && !given[k] && rng.IntN(4) > 0 {
				m.heardNs, m.untilNs = now, now+lease+offset
				m.shared.Set(m.untilNs, losses)
			}
			if now-m.heardNs > silence && !given[k] && len(given)+1 < len(all) {
				given[k] = true
				l := Loss{Machine: uint64(k), FromNs: m.untilNs}
				for h := range all {
					if !given[h] {
						l.Receivers = append(l.Receivers, uint64(h))
					}
				}
				losses = append(losses, l)
			}
		}
		for _, m := range all {
			if !m.dead {
				m.step(now, rng.Int64N(5)*step)
			}
		}
	}
	for _, m := range all {
		if !m.dead {
			m.step(lasts*2, 0)
		}
	}
	return losses
}

func check(t *testing.T, seed uint64, all []*machine, losses []Loss, whole *Stage) (redistributed int) {
	t.Helper()
	by := map[uint64]int{}
	for k, m := range all {
		for number := range m.sent {
			if other, twice := by[number]; twice {
				t.Errorf("seed %d: arrival %d is sent by machines %d and %d; losses %+v", seed, number, other, k, losses)
			}
			by[number] = k
		}
		if !m.dead && m.fell != len(m.sent) {
			t.Errorf("seed %d: machine %d counted %d arrivals as due and sent %d", seed, k, m.fell, len(m.sent))
		}
	}
	for a, _ := whole.Arrivals(whole.Part.Worker(0, 1), 1<<60); !a.Over; a.Advance() {
		at := whole.OffsetNs + a.IntendedNs
		owner, turn, sinceNs := a.Number%uint64(len(all)), a.Number/uint64(len(all)), int64(0)
		for _, l := range losses {
			if n := uint64(len(l.Receivers)); l.Machine == owner && at >= l.FromNs {
				owner, turn, sinceNs = l.Receivers[turn%n], turn/n, max(sinceNs, l.FromNs)
			}
		}
		by, sent := by[a.Number]
		alive := !all[owner].deaf && !all[owner].dead
		switch {
		case !sent:
			if alive && (owner == a.Number%uint64(len(all)) || at > max(sinceNs, whole.OffsetNs)+newsNs) {
				t.Errorf("seed %d: arrival %d of machine %d, intended at %d, is missing; losses %+v", seed, a.Number, owner, at,
					losses)
			}
		case by != int(owner):
			t.Errorf("seed %d: arrival %d of machine %d was sent by %d", seed, a.Number, owner, by)
		case owner != a.Number%uint64(len(all)):
			redistributed++
		}
	}
	if len(losses) == 0 && redistributed > 0 {
		t.Errorf("seed %d: %d arrivals are redistributed without a loss", seed, redistributed)
	}
	return redistributed
}

// newsNs is how long it takes until all machines act on a loss.
const newsNs = 3_000_000_000
