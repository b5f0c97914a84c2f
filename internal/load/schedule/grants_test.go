package schedule

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

// closer is a machine that sends a share of closed stages in simulated time.
type closer struct {
	shared  *Redistribution
	numbers *Numbers
	first   uint64 // of the current stage
	stage   int
	ending  bool
	lost    bool // others have its share
	dead    bool
	deaf    bool
	sent    []uint64 // operations of the load
}

// model is a load of closed stages with its coordinator.
type model struct {
	rng      *rand.Rand
	limits   []uint64 // of its stages; 0: by duration
	machines []*closer
	granter  *Granter
	journal  []GrantEvent
}

func (m *model) alive() (n int) {
	for _, c := range m.machines {
		if !c.lost {
			n++
		}
	}
	return n
}

// begin begins the machine's stage.
func (m *model) begin(c *closer) {
	c.numbers = c.shared.Begin(c.stage, c.first, m.limits[c.stage], 1+m.rng.IntN(4))
}

// exchange has a machine say what it wants, perhaps twice, and be answered, perhaps not.
func (m *model) exchange(k int) {
	c := m.machines[k]
	w := c.shared.Request()
	if c.deaf || c.dead || w == nil {
		return
	}
	for range 1 + m.rng.IntN(2) {
		request := *w
		if c.lost {
			request.Number = 0
		}
		g, events := m.granter.Grant(k, &request, m.alive())
		m.journal = append(m.journal, events...)
		if m.rng.IntN(4) > 0 {
			c.shared.Grant(&g)
		}
	}
	if m.rng.IntN(50) == 0 { // the coordinator is killed, and resumed from its journal
		m.granter = NewGranter(len(m.machines))
		for _, e := range m.journal {
			m.granter.Restore(e)
		}
	}
}

// send has a machine take some operations, and end its stage if that is over.
func (m *model) send(c *closer, nowNs int64) {
	if c.stage == len(m.limits) || c.dead {
		return
	}
	limit := m.limits[c.stage]
	if limit == 0 && m.rng.IntN(200) == 0 {
		c.ending = true
	}
	for range m.rng.IntN(200) {
		if c.ending {
			break
		}
		k, what := c.numbers.Take(nowNs)
		if what != Took {
			break
		}
		c.sent = append(c.sent, c.first+k)
	}
	if limit > 0 && c.numbers.Over() {
		c.first += limit
	} else if !c.ending {
		return
	} else {
		if !c.numbers.ended {
			c.numbers.finish(false)
		}
		if c.numbers.ends == 0 {
			return
		}
		c.first += c.numbers.ends
	}
	c.ending = false
	if c.stage++; c.stage < len(m.limits) {
		m.begin(c)
	}
}

// Whichever machines are lost, come back or are answered late, no operation of closed stages is sent twice, and those
// of counted stages are missing only if they were given to a machine that was lost.
func TestGrantedOperationsAreSentOnce(t *testing.T) {
	inherited := 0
	for seed := range uint64(80) {
		m := &model{rng: rand.New(rand.NewPCG(seed, 11))}
		for range 1 + m.rng.IntN(3) {
			m.limits = append(m.limits, uint64(m.rng.IntN(2)*(1+m.rng.IntN(8_000))))
		}
		n := 1 + m.rng.IntN(6)
		m.granter = NewGranter(n)
		for range n {
			c := &closer{shared: NewRedistribution()}
			m.machines = append(m.machines, c)
			m.begin(c)
		}
		for step := range 1500 {
			for k, c := range m.machines {
				if m.alive() > 1 && m.rng.IntN(600) == 0 {
					c.deaf, c.lost, c.dead = true, true, m.rng.IntN(2) == 0
				}
				if c.lost && m.rng.IntN(40) == 0 {
					c.deaf = false
				}
				m.exchange(k)
				m.send(c, int64(step)*50_000_000)
			}
		}
		checkGranted(t, seed, m)
		for _, c := range m.machines {
			if c.lost {
				inherited++
			}
		}
		if t.Failed() {
			return
		}
	}
	if inherited == 0 {
		t.Error("no machine was lost")
	}
}

func checkGranted(t *testing.T, seed uint64, m *model) {
	t.Helper()
	by := map[uint64]int{}
	for k, c := range m.machines {
		for _, number := range c.sent {
			if other, twice := by[number]; twice {
				t.Errorf("seed %d: operation %d is sent by machines %d and %d", seed, number, other, k)
			}
			by[number] = k
			if part := (Part{Of: uint64(len(m.machines)), Takes: []uint64{uint64(k)}}); !c.shared.Has(part, number) {
				t.Errorf("seed %d: operation %d is not the machine's that sent it", seed, number)
			}
		}
		if !c.lost && c.stage < len(m.limits) && m.limits[c.stage] > 0 {
			t.Errorf("seed %d: machine %d never ended stage %d of %v", seed, k, c.stage, m.limits)
		}
	}
	first := uint64(0)
	for stage, limit := range m.limits {
		ofLost := map[uint64]bool{}
		for _, e := range m.journal {
			if e.Stage != stage || e.Block == nil || !m.machines[e.Machine].lost {
				continue
			}
			for i := e.Block.From; i < e.Block.To; i++ {
				ofLost[first+i] = true
			}
		}
		for i := range limit {
			if _, sent := by[first+i]; !sent && !ofLost[first+i] {
				t.Errorf("seed %d: operation %d of stage %d is missing", seed, i, stage)
				return
			}
		}
		if limit > 0 {
			first += limit
			continue
		}
		ends := m.granter.stage(stage).ends
		if ends == 0 {
			return
		}
		first += ends
	}
}

// Operations that run short are divided so that all machines end at about the same time.
func TestTheLastOperationsAreDividedInSmallBlocks(t *testing.T) {
	g := NewGranter(2)
	var sizes []uint64
	var received [2]int
	for i := range 40 {
		w := &Request{Limit: 1000, Number: 10_000, Least: 2}
		machine := i % 2
		w.Blocks = received[machine]
		a, _ := g.Grant(machine, w, 2)
		received[machine] += len(a.Blocks)
		for _, b := range a.Blocks {
			sizes = append(sizes, b.To-b.From)
		}
		if a.Over {
			break
		}
	}
	if sizes[0] != 250 || sizes[len(sizes)-1] > 2 {
		t.Errorf("the blocks have %v operations", sizes)
	}
	var sum uint64
	for i, n := range sizes {
		if sum += n; i > 0 && n > sizes[i-1] {
			t.Errorf("the blocks have %v operations", sizes)
		}
	}
	if sum != 1000 {
		t.Errorf("%d operations were given, want 1000", sum)
	}
}

// A block that arrives after the end of the stage isn't sent. It counts as unneeded, not as missing.
func TestABlockThatArrivesAfterTheEndIsUnneeded(t *testing.T) {
	g, r := NewGranter(1), NewRedistribution()
	n := r.Begin(0, 0, 0, 1)
	first, _ := g.Grant(0, r.Request(), 1)
	r.Grant(&first)
	for range 5 {
		n.Take(0)
	}
	late, _ := g.Grant(0, r.Request(), 1) // under way when the stage ends
	r.OnRequest(func() {})
	ended := make(chan uint64)
	go func() {
		_, unneeded, _ := n.End(t.Context())
		ended <- unneeded
	}()
	for w := r.Request(); w == nil || !w.Ended; w = r.Request() {
		runtime.Gosched()
	}
	r.Grant(&late)
	last, _ := g.Grant(0, r.Request(), 1)
	r.Grant(&last)
	given := late.Blocks[0].To
	if unneeded := <-ended; unneeded != given-5 {
		t.Errorf("%d operations were given, 5 taken, and %d are unneeded", given, unneeded)
	}
	if p := (Part{Of: 1, Takes: []uint64{0}}); r.Has(p, late.Blocks[0].From) {
		t.Error("the machine has an operation that it doesn't send")
	}
}

// A granter keeps only the blocks that a machine hasn't received. Wishes that no machine sends get nothing.
func TestAGranterForgetsWhatWasReceived(t *testing.T) {
	g := NewGranter(1)
	for i := range 100 {
		if a, _ := g.Grant(0, &Request{Number: 10, Least: 1, Blocks: i}, 1); len(a.Blocks) != 1 || a.First != i {
			t.Fatalf("request %d is answered with %+v", i, a)
		}
	}
	if kept := len(g.stage(0).receiver(0).blocks); kept != 1 {
		t.Errorf("%d blocks are kept", kept)
	}
	for _, blocks := range []int{-1, 98, 101} {
		if a, events := g.Grant(0, &Request{Number: 10, Least: 1, Blocks: blocks}, 1); len(a.Blocks)+len(events) > 0 {
			t.Errorf("after %d blocks: %+v, %+v", blocks, a, events)
		}
	}
}

// Receivers share the sessions of lost machines, so that there are as many as before, whoever is lost after whom.
func TestSessionsOfLostMachinesAreInherited(t *testing.T) {
	for name, losses := range map[string][]Loss{
		"none":            nil,
		"one":             {{Machine: 1, Receivers: []uint64{0, 2, 3}}},
		"a receiver, too": {{Machine: 1, Receivers: []uint64{0, 2, 3}}, {Machine: 3, Receivers: []uint64{0, 2}}},
		"all but one": {{Machine: 1, Receivers: []uint64{0, 2, 3}}, {Machine: 3, Receivers: []uint64{0, 2}},
			{Machine: 0, Receivers: []uint64{2}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRedistribution()
			r.Set(1, losses)
			sum := 0
			for k := range uint64(4) {
				sum += r.Sessions(k, 4, 10)
			}
			if sum != 10 {
				t.Errorf("%d sessions, want 10", sum)
			}
			for _, l := range losses {
				if n := r.Sessions(l.Machine, 4, 10); n != 0 {
					t.Errorf("machine %d, which is lost, has %d sessions", l.Machine, n)
				}
			}
		})
	}
}

// A machine whose coordinator answers within 5 ms doesn't wait for operations, except at the beginning of a
// stage, whatever its rate; and it never has more than it sends in 2.5 s.
func TestOperationsAreGrantedAheadOfNeed(t *testing.T) {
	for name, perMs := range map[string]int{"1 000/s": 1, "20 000/s": 20, "500 000/s": 500} {
		t.Run(name, func(t *testing.T) {
			g, r := NewGranter(3), NewRedistribution()
			n := r.Begin(0, 0, 0, 8)
			type answer struct {
				atMs int
				Grant
			}
			var under *answer
			var sent, waited, given, held uint64
			for ms := range 20_000 {
				if under != nil && ms >= under.atMs {
					r.Grant(&under.Grant)
					under = nil
				}
				if w := r.Request(); w != nil && under == nil {
					a, _ := g.Grant(0, w, 3)
					under = &answer{ms + 5, a}
					for _, b := range a.Blocks {
						given += b.To - b.From
					}
				}
				for range perMs {
					if _, what := n.Take(int64(ms) * 1e6); what == Took {
						sent++
					} else if ms > 500 {
						waited++
					}
				}
				held = max(held, given-sent)
			}
			if waited > 0 {
				t.Errorf("the machine waited %d times", waited)
			}
			if most := uint64(perMs * 2500); held > max(most, 2*8*perSession) {
				t.Errorf("the machine had %d operations, more than it sends in 2.5 s, %d", held, most)
			}
		})
	}
}
